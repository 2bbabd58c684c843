/* SPDX-License-Identifier: MIT */
/*
 * All printing. Results go to stdout, everything else to stderr. A failure is one line on stderr
 * and, with --json, one object on stdout, too. Safe to call from several threads.
 */
#ifndef CMD_OUT_H
#define CMD_OUT_H

#include "engine/err.h"

#include <jansson.h>
#include <stdbool.h>

/* Called once, before the rest. */
void out_init(bool json, bool quiet);

/*
 * A result: the object with --json, else the line (escaped). Takes a reference to neither. An
 * object that could not be made (NULL) or written makes out_finish fail.
 */
void out_result(const char *line, const json_t *json);

/*
 * A JSON string (a new reference, for json_pack's "o") of text that may not be UTF-8, such as a
 * path or an argument: what JSON cannot hold is escaped.
 */
json_t *out_string(const char *text);

/* A line of stdout as it is, from text of our own. */
void out_line(const char *fmt, ...) sb_printf(1, 2);

/*
 * Bytes from a container: escaped on a terminal, as they are elsewhere. -1: cannot be written, or
 * interrupted while the reader did not read.
 */
int out_foreign(const char *data, size_t len, struct sb_err *err) sb_must_check;

/* A failure about `subject` (a container; or NULL). */
void out_error(const char *subject, const struct sb_err *err);

/* A note about `subject` on stderr: not a failure, but worth reading. Not with --quiet. */
void out_note(const char *subject, const char *fmt, ...) sb_printf(2, 3);

/* A temporary line on stderr, on a terminal only; the next output, or the end, wipes it. */
void out_progress(const char *fmt, ...) sb_printf(1, 2);

/* A table: rows of cells (printed escaped), columns as wide as needed. `cells` is row-major. */
void out_table(const char *const *cells, size_t columns, size_t rows);

/* Flush stdout; an error (disk full, closed pipe, a lost result) must not pass for success. */
int out_finish(struct sb_err *err) sb_must_check;

#endif
