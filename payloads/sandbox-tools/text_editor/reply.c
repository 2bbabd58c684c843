/* SPDX-License-Identifier: MIT */
/* Putting answers together, with the quoting and the words models are used to. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "payloads/lib/fail.h"
#include "payloads/sandbox-tools/text_editor/chars.h"
#include "payloads/sandbox-tools/text_editor/types.h"

void reply_add_text(struct editor_reply *reply, const char *data, size_t len)
{
	int r = reply->error < 0 ? 0 : buf_add(&reply->text, data, len);

	if (r < 0)
		reply->error = r;
}

void reply_add(struct editor_reply *reply, const char *text)
{
	reply_add_text(reply, text, strlen(text));
}

void reply_fail(struct editor_reply *reply, const char *text)
{
	reply->text.len = 0;
	reply->failed = true;
	reply_add(reply, text);
}

void reply_add_number(struct editor_reply *reply, int64_t number)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRId64, number);
	reply_add(reply, text);
}

void reply_add_escaped(struct editor_reply *reply, struct text text)
{
	while (text.len > 0) {
		size_t n = chars_length(text.data, text.len);

		if (n == 0)
			reply_add(reply, "\357\277\275");
		else if (text.data[0] == '\0')
			reply_add(reply, "\\x00");
		else
			reply_add_text(reply, text.data, n);
		n = n ? n : 1;
		text.data += n;
		text.len -= n;
	}
}

/* One character of a quoted string. */
static void add_quoted(struct editor_reply *reply, const char *at, size_t n, char quote)
{
	static const char plain[] = "\\\\\nn\rr\tt";
	unsigned char c = (unsigned char)at[0], second = n > 1 ? (unsigned char)at[1] : 0;
	char escape[8] = "";
	const char *p = c ? strchr(plain, (char)c) : NULL;

	if (n == 0)
		snprintf(escape, sizeof(escape), "\\udc%02x", c);
	else if (p && (p - plain) % 2 == 0)
		snprintf(escape, sizeof(escape), "\\%c", p[1]);
	else if (at[0] == quote)
		snprintf(escape, sizeof(escape), "\\%c", c);
	else if (c < ' ' || c == 0x7f)
		snprintf(escape, sizeof(escape), "\\x%02x", c);
	else if (c == 0xc2 && (second <= 0xa0 || second == 0xad))
		snprintf(escape, sizeof(escape), "\\x%02x", second);
	else if (n == 3 && c == 0xe2 && second == 0x80 && (at[2] & 0xfe) == 0xa8)
		snprintf(escape, sizeof(escape), "\\u20%02x", (unsigned char)at[2] & 0x3f);
	if (escape[0])
		reply_add(reply, escape);
	else
		reply_add_text(reply, at, n);
}

void reply_add_quoted(struct editor_reply *reply, struct text text)
{
	bool has_single = text.len > 0 && memchr(text.data, '\'', text.len);
	bool has_double = text.len > 0 && memchr(text.data, '"', text.len);
	char quote[2] = {has_single && !has_double ? '"' : '\'', '\0'};

	reply_add(reply, quote);
	while (text.len > 0) {
		size_t n = chars_length(text.data, text.len);

		add_quoted(reply, text.data, n, quote[0]);
		n = n ? n : 1;
		text.data += n;
		text.len -= n;
	}
	reply_add(reply, quote);
}

/* What file.h means by one of them is not what the system does. */
static const char *error_text(int error)
{
	return error == ESTALE ? "File has changed meanwhile" : fail_error_text(error);
}

void reply_add_errno(struct editor_reply *reply, int error, const char *path)
{
	error = error < 0 ? -error : error;
	reply_add(reply, "[Errno ");
	reply_add_number(reply, error);
	reply_add(reply, "] ");
	reply_add(reply, error_text(error));
	reply_add(reply, ": ");
	reply_add_quoted(reply, (struct text){path, strlen(path)});
}

void reply_fail_io(struct editor_reply *reply, int error, const char *path, const char *what)
{
	reply_fail(reply, "Ran into ");
	reply_add_errno(reply, error, path);
	reply_add(reply, " while trying to ");
	reply_add(reply, what);
	reply_add(reply, " ");
	reply_add_escaped(reply, (struct text){path, strlen(path)});
}
