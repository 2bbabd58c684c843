/* SPDX-License-Identifier: MIT */
/*
 * Why something failed: a fixed-size record on the caller's stack. Nothing to allocate, nothing to
 * free, so running out of memory can be reported too. It prints nothing.
 */
#ifndef PAYLOADS_LIB_FAIL_H
#define PAYLOADS_LIB_FAIL_H

struct fail {
	int error;	  /* errno value, 0 when none fits */
	const char *code; /* static word for programs ("readonly", …), NULL when none was given */
	char text[400];	  /* one line: what failed then why; subject in single quotes */
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
/* The same with a code word of the caller's choice; 'code' must be a static string. */
int fail_code(struct fail *fail, const char *code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

#endif
