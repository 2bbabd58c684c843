/* SPDX-License-Identifier: MIT */
/*
 * JSON text spelled anew, as Python's json.dumps() would spell it: ", " and ": " between things,
 * lower case digits in escapes. Numbers stay as they were written. What is spelled in one step is
 * lexical, so that any range of checked text can be, cut between two tokens. Pure; all but where it
 * says otherwise return 0, -ENOMEM or -EMSGSIZE.
 */
#ifndef PAYLOADS_SANDBOX_TOOLS_MODEL_PROXY_SPELL_H
#define PAYLOADS_SANDBOX_TOOLS_MODEL_PROXY_SPELL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "payloads/lib/buf.h"
#include "payloads/lib/jsontext.h"

enum spelling {
	SPELL_ASCII, /* everything else as \uXXXX */
	SPELL_UTF8,
};

/* A range that is spelled little by little. */
struct spell {
	const char *at, *end;
	enum spelling spelling;
	bool quoted; /* inside a string */
};

/* Goes on until 'out' has 'enough' bytes, or a few more, or all is spelled: at == end. */
int spell_some(struct spell *spell, struct buf *out, size_t enough);

/* A value; null for what is absent. */
int spell_value(struct buf *out, enum spelling spelling, const struct jsontext *value);
/* One character as it stands within quotes; also half a surrogate pair, as an escape. */
int spell_char(struct buf *out, enum spelling spelling, uint32_t c);
/* A string of text that need not be UTF-8: then U+FFFD is in the place of what is not. */
int spell_text(struct buf *out, enum spelling spelling, const char *text, size_t len);
/* A string of bytes that are characters of ISO 8859-1. */
int spell_latin1(struct buf *out, const char *text, size_t len);

/* What is left of the inside of a string, and how many characters of it make one piece. */
struct spell_pieces {
	const char *at, *end;
	size_t count;
};

/* None of what is no string. */
struct spell_pieces spell_pieces(const struct jsontext *string, size_t count);
/* The next piece, with quotes around it. */
int spell_piece(struct buf *out, enum spelling spelling, struct spell_pieces *pieces);

/* Where in an object a member's value is, or would be: to write the object with another one. */
struct spell_split {
	const char *before, *before_end, *after, *after_end;
	const char *comma; /* to be written between, in front of a name; NULL where there is one */
};

/* The object has to be one; of members of the same name, it is the last. */
struct spell_split spell_split(const struct jsontext *object, const char *name);
/* The object with that value, which is JSON, for the member. With 'add' also if it had none. */
int spell_with(struct buf *out, enum spelling spelling, const struct jsontext *object,
	const char *name, const char *value, bool add);

/* Appends the content of a string, as UTF-8; nothing if it is none. */
int spell_content(struct buf *out, const struct jsontext *string);
/* Whether Python would take it for true. */
bool spell_is_true(const struct jsontext *value);
/* Whether it is a string with more than blanks in it. */
bool spell_is_word(const struct jsontext *value);

#endif
