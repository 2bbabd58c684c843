/* SPDX-License-Identifier: MIT */
/* Filling in struct fail. */
#include "payloads/lib/fail.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "payloads/lib/base.h"

__attribute__((format(printf, 3, 0))) static void fill(
	struct fail *fail, int code, const char *format, va_list args)
{
	fail->error = 0;
	fail->code = code;
	vsnprintf(fail->text, sizeof(fail->text), format, args);
}

int fail_set(struct fail *fail, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	fill(fail, 0, format, args);
	va_end(args);
	return -1;
}

int fail_sys(struct fail *fail, int error, const char *format, ...)
{
	va_list args;
	size_t len;

	va_start(args, format);
	fill(fail, 0, format, args);
	va_end(args);
	fail->error = error < 0 ? -error : error;
	len = strlen(fail->text);
	snprintf(fail->text + len, sizeof(fail->text) - len, ": %s", strerror(fail->error));
	return -1;
}

int fail_code(struct fail *fail, int code, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	fill(fail, code, format, args);
	va_end(args);
	return -1;
}

const char *fail_error_text(int error)
{
	static const struct {
		int error;
		const char *text;
	} usual[] = {
		{ENAMETOOLONG, "File name too long"},
		{ELOOP, "Too many levels of symbolic links"},
		{EIO, "Input/output error"},
		{EDQUOT, "Disk quota exceeded"},
		{EBUSY, "Device or resource busy"},
		{EMFILE, "Too many open files"},
		{ENOMEM, "Cannot allocate memory"},
		{EOVERFLOW, "Value too large for defined data type"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(usual); i++)
		if (usual[i].error == error)
			return usual[i].text;
	return strerror(error);
}
