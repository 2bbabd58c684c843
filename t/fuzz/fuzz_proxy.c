/* SPDX-License-Identifier: MIT */
/* libFuzzer: any bytes as an HTTP request, as a request's target, as a host's response, and as a
   result that becomes a stream. However a request is cut, it is read the same; what is spelled anew
   is the same value, and stays as it is when it is spelled again; what is in a stream is whole
   chunks. The first byte chooses. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "payloads/lib/base.h"
#include "payloads/lib/utf8.h"
#include "payloads/sandbox-tools/model_proxy/channel.h"
#include "payloads/sandbox-tools/model_proxy/http.h"
#include "payloads/sandbox-tools/model_proxy/provider.h"
#include "payloads/sandbox-tools/model_proxy/spell.h"
#include "payloads/sandbox-tools/model_proxy/target.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define ROOM ((size_t)1 << 26)

static void need(int truth)
{
	if (!truth)
		abort();
}

static int is_equal(const struct buf *a, const struct buf *b)
{
	return a->len == b->len && (a->len == 0 || memcmp(a->data, b->data, a->len) == 0);
}

/* ---- requests ---- */

static void read_request(struct http *http, const char *text, size_t len, size_t step)
{
	http_open(http);
	for (size_t at = 0; at < len; at += step)
		need(http_feed(http, text + at, len - at < step ? len - at : step) == 0);
	need(http_end(http) == 0);
	need(http->state == HTTP_DONE || http->state == HTTP_BAD);
}

static void check_request(const char *text, size_t len)
{
	struct http whole, pieces;

	read_request(&whole, text, len, len > 0 ? len : 1);
	read_request(&pieces, text, len, 1);
	need(whole.state == pieces.state && strcmp(whole.flaw, pieces.flaw) == 0);
	need(is_equal(&whole.body, &pieces.body) && is_equal(&whole.head, &pieces.head));
	need(whole.field_count == pieces.field_count && whole.field_count <= HTTP_FIELDS_MAX);
	http_close(&whole);
	http_close(&pieces);
}

static void check_target(const char *text, size_t len)
{
	struct buf path = BUF_INIT(3 * len);

	need(target_decode(text, len, &path) == 0);
	need(path.len == 0 || utf8_is_valid(path.data, path.len));
	buf_release(&path);
}

/* ---- JSON ---- */

static void spell_once(struct buf *out, enum spelling spelling, const char *text, size_t len)
{
	struct jsontext value;

	need(jsontext_read(text, len, &value));
	need(spell_value(out, spelling, &value) == 0);
}

static void check_value(const struct jsontext *value, enum spelling spelling)
{
	struct buf once = BUF_INIT(ROOM), twice = BUF_INIT(ROOM), slow = BUF_INIT(ROOM);
	struct buf before = BUF_INIT(ROOM), after = BUF_INIT(ROOM);
	struct spell spell = {value->at, value->at + value->len, spelling, false};
	struct jsontext again;

	need(spell_value(&once, spelling, value) == 0);
	spell_once(&twice, spelling, once.data, once.len);
	need(is_equal(&once, &twice));
	while (spell.at < spell.end)
		need(spell_some(&spell, &slow, slow.len + 1) == 0);
	need(is_equal(&once, &slow));
	for (size_t i = 0; spelling == SPELL_ASCII && i < once.len; i++)
		need(once.data[i] >= ' ' && once.data[i] < 0x7f);
	need(jsontext_copy(value, &before) == 0 && jsontext_read(once.data, once.len, &again));
	need(jsontext_copy(&again, &after) == 0 && is_equal(&before, &after));
	need(jsontext_digits(value) == jsontext_digits(&again));
	buf_release(&once);
	buf_release(&twice);
	buf_release(&slow);
	buf_release(&before);
	buf_release(&after);
}

static void check_with(const struct jsontext *object)
{
	struct buf out = BUF_INIT(ROOM);
	struct jsontext whole, member;

	need(spell_with(&out, SPELL_UTF8, object, "status", "\"x\"", true) == 0);
	need(jsontext_read(out.data, out.len, &whole));
	member = jsontext_get(&whole, "status");
	need(jsontext_is(&member, "x"));
	buf_release(&out);
}

/* ---- responses and streams ---- */

static void check_chunks(const struct buf *out)
{
	const char *at = out->data, *end = at + out->len;

	while (at < end) {
		char *rest;
		size_t len = strtoul(at, &rest, 16);

		need(rest > at && len > 0 && end - rest >= (ptrdiff_t)len + 4);
		need(memcmp(rest, "\r\n", 2) == 0 && memcmp(rest + 2 + len, "\r\n", 2) == 0);
		need(memcmp(rest + len, "\n\n", 2) == 0 && utf8_is_valid(rest + 2, len));
		at = rest + len + 4;
	}
}

static void check_stream(const struct provider *provider, const struct jsontext *result)
{
	struct buf out = BUF_INIT(ROOM);
	struct stream stream;
	int r = 1;

	stream_init(&stream, &out);
	stream.spelling = SPELL_UTF8;
	stream.wants_usage = true;
	stream.result = *result;
	provider->push_result(&stream);
	while (r > 0 && out.len < ROOM / 2)
		r = stream_go_on(&stream, out.len + 1);
	need(r >= 0);
	need(buf_add(&out, "", 1) == 0);
	out.len--;
	check_chunks(&out);
	stream_release(&stream);
	buf_release(&out);
}

static void check_error(const struct provider *provider, const struct jsontext *error)
{
	struct provider_error theirs = {
		404, jsontext_get(error, "message"), jsontext_get(error, "body")};
	struct buf out = BUF_INIT(ROOM);
	struct jsontext value;

	need(provider->add_error(&out, SPELL_UTF8, &theirs) == 0);
	need(jsontext_read(out.data, out.len, &value));
	buf_release(&out);
}

static void check_response(const struct provider *provider, const char *text, size_t len)
{
	struct channel_answer answer = {.text = BUF_INIT(ROOM), .error = BUF_INIT(ROOM)};

	need(buf_add(&answer.text, text, len) == 0);
	if (channel_read(&answer, "m") == 1) {
		need((answer.result.kind == JSONTEXT_ABSENT) || answer.error.len == 0);
		if (answer.result.kind != JSONTEXT_ABSENT) {
			check_value(&answer.result, SPELL_ASCII);
			check_value(&answer.result, SPELL_UTF8);
			check_error(provider, &answer.result);
		}
		if (answer.result.kind == JSONTEXT_OBJECT) {
			check_with(&answer.result);
			check_stream(provider, &answer.result);
		}
	}
	buf_release(&answer.text);
	buf_release(&answer.error);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct provider *const providers[] = {
		&provider_chat, &provider_responses, &provider_anthropic, &provider_google};
	char *text;

	if (size < 2)
		return 0;
	text = malloc(size);
	if (!text)
		return 0;
	memcpy(text, data + 1, size - 1);
	if (data[0] % 8 < ARRAY_SIZE(providers)) {
		check_response(providers[data[0] % 8], text, size - 1);
	} else {
		check_request(text, size - 1);
		check_target(text, size - 1);
	}
	free(text);
	return 0;
}
