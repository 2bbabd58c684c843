/* SPDX-License-Identifier: MIT */
/*
 * Tolerant access to JSON that an engine wrote. Absent, null and of the wrong type are all the same
 * to these getters: "unknown". Everything returned is borrowed from the document.
 */
#ifndef ENGINE_JSON_H
#define ENGINE_JSON_H

#include "engine/err.h"

#include <jansson.h>
#include <stdbool.h>

/*
 * Parse one document (a new reference), or NULL with *err filled; `what` names it in the message,
 * which quotes nothing of it.
 */
json_t *sb_json_parse(
	const char *data, size_t len, const char *what, struct sb_err *err) sb_must_check;

/* The member reached by a dotted path ("State.Running"), or NULL. */
json_t *sb_json_at(const json_t *doc, const char *path);

/* The text of a string; NULL for anything else, and for a string with a NUL in it. */
const char *sb_json_text(const json_t *value);

const char *sb_json_str(const json_t *doc, const char *path);		     /* or NULL */
long long sb_json_int(const json_t *doc, const char *path, long long other); /* or other */
bool sb_json_bool(const json_t *doc, const char *path);			     /* or false */

#endif
