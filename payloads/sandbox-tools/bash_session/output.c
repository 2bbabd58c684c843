/* SPDX-License-Identifier: MIT */
/* Unread output: keeping its end, and presenting it. */
#include "payloads/sandbox-tools/bash_session/output.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define NOTICE_MAX 256
#define ROUNDS 8 /* until notice and number of bytes agree; two or three are enough */

static bool is_inside(char c)
{
	return ((unsigned char)c & 0xc0) == 0x80;
}

void output_init(struct output *output, struct memory_share *all)
{
	/* room for a decoder that makes three bytes of one, and for trimming only now and then */
	*output = (struct output){
		.bytes = BUF_INIT(2 * OUTPUT_LIMIT_MAX), .all = all, .limit = OUTPUT_LIMIT_DEFAULT};
}

static void count(struct output *output)
{
	size_t now = output->bytes.size + output->bytes.dropped;

	output->all->used += now - output->counted;
	output->counted = now;
}

void output_release(struct output *output)
{
	buf_release(&output->bytes);
	count(output);
}

/* How many of the bytes count. */
static size_t kept(const struct output *output)
{
	return output->bytes.len < output->limit ? output->bytes.len : output->limit;
}

static void trim(struct output *output)
{
	size_t excess = output->bytes.len - kept(output);

	buf_drop(&output->bytes, excess);
	output->dropped += excess;
}

void output_set_limit(struct output *output, size_t limit)
{
	output->limit = limit < OUTPUT_LIMIT_MAX ? limit : OUTPUT_LIMIT_MAX;
	trim(output);
}

/* Keeps the last OUTPUT_LEAST bytes, in no more memory than they need. */
static void shrink(struct output *output)
{
	struct buf *bytes = &output->bytes, rest = BUF_INIT(bytes->limit);
	size_t left = bytes->len < OUTPUT_LEAST ? bytes->len : OUTPUT_LEAST;

	if (buf_add(&rest, bytes->data + bytes->len - left, left) < 0)
		left = 0;
	output->dropped += bytes->len - left;
	buf_release(bytes);
	*bytes = rest;
	count(output);
}

void output_add(struct output *output, const char *data, size_t len)
{
	if (utf8_decode(&output->utf8, data, len, false, &output->bytes) < 0)
		output->dropped += len;
	/* moving the rest for every few bytes would be slow */
	if (output->bytes.len > output->limit + output->limit / 2 + OUTPUT_BURST)
		trim(output);
	count(output);
	if (output->all->used > output->all->max && output->counted > 2 * OUTPUT_LEAST)
		shrink(output);
}

bool output_is_empty(const struct output *output)
{
	return output->bytes.len == 0 && output->dropped == 0;
}

bool output_is_burst(const struct output *output)
{
	return output->dropped > 0 || output->bytes.len >= OUTPUT_BURST ||
	       output->bytes.len > output->limit;
}

/* ---- presenting ---- */

static size_t format_notice(size_t limit, uint64_t omitted, char text[NOTICE_MAX])
{
	char size[40];

	memory_format(limit, size, sizeof(size));
	return (size_t)snprintf(text, NOTICE_MAX,
		"\n[inspect_sandbox_tools: bash_session output exceeded %s; showing the tail; "
		"%" PRIu64 " bytes omitted]\n",
		size, omitted);
}

/* The longest end of 'data' with at most 'room' bytes and without pieces of characters. */
static size_t tail_length(const char *data, size_t len, size_t room)
{
	size_t start = len > room ? len - room : 0;

	while (start < len && is_inside(data[start]))
		start++;
	return len - start;
}

/* Where not even the notice fits. */
static int add_short_notice(size_t limit, uint64_t omitted, struct buf *out)
{
	static const char plain[] = "[output truncated]\n", marks[] = "!!!!!!!!!!!!!!!!!!!!";
	char text[64];
	size_t len = (size_t)snprintf(text, sizeof(text), "[%" PRIu64 " bytes omitted]\n", omitted);

	if (len <= limit)
		return buf_add(out, text, len);
	return buf_add(out, limit < sizeof(plain) - 1 ? marks : plain,
		limit < sizeof(plain) - 1 ? limit : sizeof(plain) - 1);
}

static int add_tail(const struct output *output, size_t limit, struct buf *out)
{
	const char *data = output->bytes.data;
	size_t len = output->bytes.len, tail = 0, notice_len;
	uint64_t total = output->dropped + len, omitted = total - (len < limit ? len : limit);
	/* less was kept where memory was lacking, or the reader before wanted less */
	size_t exceeded = output->dropped > 0 && len < limit ? len : limit;
	char notice[NOTICE_MAX];
	int r;

	for (int i = 0;; i++) {
		uint64_t before = omitted;

		notice_len = format_notice(exceeded, omitted, notice);
		if (notice_len > limit)
			return add_short_notice(limit, total, out);
		if (i == ROUNDS)
			break;
		tail = tail_length(data, len, limit - notice_len);
		omitted = total - tail;
		if (omitted == before)
			break;
	}
	tail = tail_length(data, len, limit - notice_len);
	r = buf_add(out, notice, notice_len);
	return r < 0 ? r : buf_add(out, data + len - tail, tail);
}

int output_show(struct output *output, size_t limit, struct buf *out)
{
	if (limit > OUTPUT_LIMIT_MAX)
		limit = OUTPUT_LIMIT_MAX;
	trim(output);
	if (output->dropped == 0 && output->bytes.len <= limit)
		return buf_add(out, output->bytes.data, output->bytes.len);
	return add_tail(output, limit, out);
}

void output_forget(struct output *output)
{
	buf_drop(&output->bytes, output->bytes.len);
	output->dropped = 0;
	count(output);
}
