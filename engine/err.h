/* SPDX-License-Identifier: MIT */
/*
 * Errors: a fixed-size value owned by the caller, so that reporting one never allocates.
 *
 * A function that can fail returns 0 for success, -1 for failure with *err filled, and, where its
 * contract says so, a positive number for an expected outcome with *err untouched. The code is the
 * exit status that the failure ends in; only cmd/ prints.
 *
 * Message grammar: lower case, no full stop, one line: what failed, on what (subject in single
 * quotes), why; then "; " and what to do where we know it. Bytes of foreign origin may be passed as
 * arguments as they are: setting an error escapes everything unprintable.
 */
#ifndef ENGINE_ERR_H
#define ENGINE_ERR_H

#include "engine/base.h"

enum sb_code {
	SB_OK = 0,
	SB_FAILED = 1,	      /* anything without a code of its own */
	SB_USAGE = 2,	      /* command line or configuration */
	SB_NO_ENGINE = 3,     /* the engine cannot be reached, or died */
	SB_NO_CONTAINER = 4,  /* no such container, or not running */
	SB_UNSUPPORTED = 5,   /* no rule, or a container that cannot take the payload */
	SB_MISMATCH = 6,      /* integrity or version */
	SB_NO_SERVICE = 7,    /* the service did not come up */
	SB_SOME_FAILED = 8,   /* some of several containers failed */
	SB_INTERRUPTED = 130, /* SIGINT or SIGTERM; what was begun has been undone */
};

struct sb_err {
	enum sb_code code;
	char text[768];
};

#define SB_ERR_INIT       \
	{                 \
		SB_OK, "" \
	}

/* Fill *err (the first cause is kept if it is already set) and return -1. */
int sb_err_set(struct sb_err *err, enum sb_code code, const char *fmt, ...) sb_printf(3, 4);

/* Put "<prefix>: " in front of the text of a set error and return -1. */
int sb_err_wrap(struct sb_err *err, const char *fmt, ...) sb_printf(2, 3);

/* Append to the text of a set error and return -1. */
int sb_err_add(struct sb_err *err, const char *fmt, ...) sb_printf(2, 3);

/* The out-of-memory error. Returns -1. */
int sb_err_nomem(struct sb_err *err);

void sb_err_clear(struct sb_err *err);

/* The name of a code as `--json` prints it: "no-engine", "unsupported" and so on. */
const char *sb_code_name(enum sb_code code);

#endif
