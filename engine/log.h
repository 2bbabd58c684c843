/* SPDX-License-Identifier: MIT */
/*
 * Notes (-v) and traces (SBINJECT_TRACE) for people who ask for them, on stderr. The libraries
 * print nothing else; cmd/ prints results and errors.
 */
#ifndef ENGINE_LOG_H
#define ENGINE_LOG_H

#include "engine/err.h"

#include <stdbool.h>

enum sb_topic {
	SB_NOTE = 1 << 0,	/* -v */
	SB_TRACE_HTTP = 1 << 1, /* one line per request: "http: GET /path -> 200 (1.2 ms)" */
	SB_TRACE_TAR = 1 << 2,
	SB_TRACE_EXEC = 1 << 3,
};

/* Turn topics on. Call before starting threads. */
void sb_log_enable(unsigned topics);

/*
 * Turn on the topics of a comma-separated list ("http,tar,exec", "all"); NULL is the empty list.
 * An unknown word is an error.
 */
int sb_log_enable_list(const char *list, struct sb_err *err) sb_must_check;

/*
 * Pass lines (without a newline) to `sink` instead of writing them to stderr, because cmd/ writes
 * there, too. Call before starting threads.
 */
void sb_log_to(void (*sink)(const char *line));

/* One line, escaped, written at once. Does nothing while the topic is off. */
void sb_log(enum sb_topic topic, const char *fmt, ...) sb_printf(2, 3);

#endif
