/* SPDX-License-Identifier: MIT */
/*
 * JSON as text: checked, looked into and copied without being turned into objects. A relay needs no
 * more, keeps numbers of any size as they were written, and a message of 100 MB costs no memory
 * beyond its own text. Pure.
 *
 * Accepted beyond the standard: NaN, Infinity and -Infinity, and half surrogate pairs in strings;
 * careless servers write both. The copy has null and U+FFFD in their place. Bytes are expected to
 * be UTF-8; what is not is copied as U+FFFD.
 */
#ifndef PAYLOADS_LIB_JSONTEXT_H
#define PAYLOADS_LIB_JSONTEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "payloads/lib/buf.h"

#define JSONTEXT_DEPTH_MAX 1000

enum jsontext_kind {
	JSONTEXT_ABSENT,
	JSONTEXT_OBJECT,
	JSONTEXT_ARRAY,
	JSONTEXT_STRING,
	JSONTEXT_INTEGER,
	JSONTEXT_REAL,
	JSONTEXT_BOOLEAN,
	JSONTEXT_NULL, /* also NaN and the infinities */
};

/* A value inside a checked text, from its first to its last character; borrows. */
struct jsontext {
	const char *at;
	size_t len;
	enum jsontext_kind kind;
};

/* Is this exactly one value, blanks around it aside? Then that is it in 'ret'. */
bool jsontext_read(const char *text, size_t len, struct jsontext *ret);

/* Walks through the members of an object: start with *cursor == NULL. False: no more, or no
   object. */
bool jsontext_next(const struct jsontext *object, const char **cursor, struct jsontext *key,
	struct jsontext *value);
/* The same with the values of an array. */
bool jsontext_item(const struct jsontext *array, const char **cursor, struct jsontext *value);
/* The last member of that (ASCII) name; ABSENT when there is none or it is no object. */
struct jsontext jsontext_get(const struct jsontext *object, const char *name);
/* Is it a string with this content (ASCII)? */
bool jsontext_is(const struct jsontext *value, const char *content);

/* How many digits the longest integer in it has, however deep inside; not of those in strings. */
size_t jsontext_digits(const struct jsontext *value);

/* The character at *at, which moves on, inside the quotes of a string; before 'end'. Half a
   surrogate pair stands for itself, and U+FFFD for what is not UTF-8. */
uint32_t jsontext_char(const char **at, const char *end);

/* Appends the value as ASCII JSON without blanks: 0, -ENOMEM, -EMSGSIZE. */
int jsontext_copy(const struct jsontext *value, struct buf *out);

#endif
