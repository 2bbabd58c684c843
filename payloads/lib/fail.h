/* SPDX-License-Identifier: MIT */
/*
 * Why something failed: a fixed-size record on the caller's stack. Nothing to allocate, nothing to
 * free, so running out of memory can be reported too. It prints nothing.
 */
#ifndef PAYLOADS_LIB_FAIL_H
#define PAYLOADS_LIB_FAIL_H

#include "payloads/lib/wire.h"

/* What can fail besides the commands of wire.h: requests to tools. */
enum { FAIL_PARAMS = 1000, FAIL_TOOL };

struct fail {
	int error;	/* errno value, 0 when none fits */
	int code;	/* for programs: enum wire_failure, or of the above; 0 if none was given */
	char text[400]; /* one line: what failed then why; subject in single quotes */
};

#define FAIL_INIT        \
	{                \
		0, 0, "" \
	}

/* Both overwrite 'fail' and return -1, so that `return fail_set(…)` reads well. */
int fail_set(struct fail *fail, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The same with ': <text of error>' appended; 'error' is positive or negative errno. */
int fail_sys(struct fail *fail, int error, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* The same with a code of the caller's choice. */
int fail_code(struct fail *fail, int code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* The words for an errno value that callers know: those of glibc, where musl has others. */
const char *fail_error_text(int error);

#endif
