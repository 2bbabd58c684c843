/* SPDX-License-Identifier: MIT */
#include "engine/err.h"

#include "engine/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void set_text(struct sb_err *err, const char *raw)
{
	sb_text_clean(err->text, sizeof(err->text), raw, strlen(raw));
}

int sb_err_set(struct sb_err *err, enum sb_code code, const char *fmt, ...)
{
	char raw[2 * sizeof(err->text)];
	va_list args;

	if (err->code != SB_OK)
		return -1;
	va_start(args, fmt);
	vsnprintf(raw, sizeof(raw), fmt, args);
	va_end(args);
	err->code = code;
	set_text(err, raw);
	return -1;
}

int sb_err_wrap(struct sb_err *err, const char *fmt, ...)
{
	char raw[2 * sizeof(err->text)];
	va_list args;
	int n;

	va_start(args, fmt);
	n = vsnprintf(raw, sizeof(raw), fmt, args);
	va_end(args);
	if (n >= 0 && (size_t)n < sizeof(raw))
		snprintf(raw + n, sizeof(raw) - (size_t)n, ": %s", err->text);
	set_text(err, raw);
	return -1;
}

int sb_err_add(struct sb_err *err, const char *fmt, ...)
{
	size_t len = strlen(err->text);
	char raw[2 * sizeof(err->text)];
	va_list args;

	va_start(args, fmt);
	vsnprintf(raw, sizeof(raw), fmt, args);
	va_end(args);
	sb_text_clean(err->text + len, sizeof(err->text) - len, raw, strlen(raw));
	return -1;
}

int sb_err_nomem(struct sb_err *err)
{
	return sb_err_set(err, SB_FAILED, "out of memory");
}

void sb_err_clear(struct sb_err *err)
{
	err->code = SB_OK;
	err->text[0] = '\0';
}

const char *sb_code_name(enum sb_code code)
{
	static const struct {
		enum sb_code code;
		const char *name;
	} names[] = {
		{SB_OK, "ok"},
		{SB_FAILED, "failed"},
		{SB_USAGE, "usage"},
		{SB_NO_ENGINE, "no-engine"},
		{SB_NO_CONTAINER, "no-container"},
		{SB_UNSUPPORTED, "unsupported"},
		{SB_MISMATCH, "mismatch"},
		{SB_NO_SERVICE, "no-service"},
		{SB_SOME_FAILED, "some-failed"},
		{SB_INTERRUPTED, "interrupted"},
	};

	for (size_t i = 0; i < SB_ARRAY_SIZE(names); i++)
		if (names[i].code == code)
			return names[i].name;
	return "failed";
}
