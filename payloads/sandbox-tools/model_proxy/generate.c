/* SPDX-License-Identifier: MIT */
/* Generating. */
#include "payloads/sandbox-tools/model_proxy/generate.h"

#include <errno.h>
#include <string.h>

#include "payloads/sandbox-tools/model_proxy/exchange.h"
#include "payloads/sandbox-tools/model_proxy/form.h"

#define PROVIDER_ERROR "__inspect_provider_error__"
#define MISSING_STATUS 400

/* ---- asking ---- */

static bool is_same(const struct http *http, size_t a, size_t b)
{
	struct http_span one = http->fields[a].name, other = http->fields[b].name;

	return one.len == other.len &&
	       memcmp(http->head.data + one.at, http->head.data + other.at, one.len) == 0;
}

/* All values of one name, joined. */
static int add_fields(struct buf *out, const struct http *http, size_t first)
{
	struct buf joined = BUF_INIT(2 * HTTP_HEAD_MAX);
	struct http_span name = http->fields[first].name;
	int r = 0;

	for (size_t i = first; r == 0 && i < http->field_count; i++) {
		struct http_span value = http->fields[i].value;

		if (!is_same(http, first, i))
			continue;
		if (i > first)
			r = buf_add_str(&joined, ", ");
		if (r == 0)
			r = buf_add(&joined, http->head.data + value.at, value.len);
	}
	if (r == 0)
		r = spell_latin1(out, http->head.data + name.at, name.len);
	if (r == 0)
		r = buf_add_str(out, ": ");
	if (r == 0)
		r = spell_latin1(out, joined.data, joined.len);
	buf_release(&joined);
	return r;
}

static bool is_first(const struct http *http, size_t index)
{
	for (size_t i = 0; i < index; i++)
		if (is_same(http, i, index))
			return false;
	return true;
}

static int add_headers(struct buf *out, const struct http *http)
{
	int r = buf_add_str(out, ", \"headers\": {");

	for (size_t i = 0; r == 0 && i < http->field_count; i++) {
		if (!is_first(http, i))
			continue;
		if (i > 0)
			r = buf_add_str(out, ", ");
		if (r == 0)
			r = add_fields(out, http, i);
	}
	return r < 0 ? r : buf_add_str(out, "}");
}

/* The model that a path of Google's names: after "models/", up to a slash or a colon. */
static bool find_model(const struct http *http, struct http_span *ret)
{
	static const char before[] = "models/";
	const char *path = http->head.data + http->path.at;

	for (size_t at = 0; at + strlen(before) < http->path.len; at++) {
		size_t start = at + strlen(before), end = start;

		if (memcmp(path + at, before, strlen(before)) != 0)
			continue;
		while (end < http->path.len && path[end] != '/' && path[end] != ':')
			end++;
		*ret = (struct http_span){http->path.at + start, end - start};
		if (end > start)
			return true;
	}
	return false;
}

static bool has_verb(const struct http *http, const char *verb)
{
	size_t len = strlen(verb);

	for (size_t at = 0; at + len <= http->path.len; at++)
		if (memcmp(http->head.data + http->path.at + at, verb, len) == 0)
			return true;
	return false;
}

/* The member that is not passed on as it came, and its value. */
static int add_forced(struct buf *out, const char **ret_member, const struct provider *provider,
	const struct http *http)
{
	struct http_span model;

	*ret_member = provider->parallel_off ? "parallel_tool_calls" : NULL;
	if (provider->parallel_off)
		return buf_add_str(out, "false");
	if (provider->needed || !find_model(http, &model))
		return 0;
	*ret_member = "model";
	return spell_text(out, SPELL_ASCII, http->head.data + model.at, model.len);
}

/* The request's body around 'forced', as three parts. */
static int add_body(struct channel_part parts[3], struct buf *forced, const char *member,
	const struct jsontext *body)
{
	struct spell_split split = spell_split(body, member);
	struct buf value = *forced;
	int r;

	parts[0] = (struct channel_part){
		split.before, (size_t)(split.before_end - split.before), true};
	parts[2] =
		(struct channel_part){split.after, (size_t)(split.after_end - split.after), true};
	*forced = (struct buf)BUF_INIT(value.limit);
	r = split.comma ? form_add(forced, SPELL_ASCII, "%t%s: ", split.comma, member) : 0;
	if (r == 0)
		r = buf_add(forced, value.data, value.len);
	parts[1] = (struct channel_part){forced->data, forced->len, false};
	buf_release(&value);
	return r;
}

/* Written by pieces: a request may be large. */
static int ask(struct exchange *exchange, const struct jsontext *body, struct fail *fail)
{
	static const char start[] = "{\"json_data\": ";
	const struct provider *provider = exchange->provider;
	const struct http *http = &exchange->peer->http;
	struct buf forced = BUF_INIT(8 * HTTP_HEAD_MAX), end = BUF_INIT(16 * HTTP_HEAD_MAX);
	struct channel_part parts[5] = {{start, strlen(start), false}};
	const char *member;
	size_t count = 2;
	int r = add_forced(&forced, &member, provider, http);

	parts[1] = (struct channel_part){body->at, body->len, true};
	if (r == 0 && member) {
		r = add_body(parts + 1, &forced, member, body);
		count = 4;
	}
	if (r == 0 && provider->needed)
		r = add_headers(&end, http);
	if (r == 0)
		r = buf_add_str(&end, "}");
	parts[count] = (struct channel_part){end.data, end.len, false};
	if (r < 0)
		fail_sys(fail, r, "cannot make a request");
	else
		r = exchange_ask(exchange, provider->method, parts, count + 1, fail);
	buf_release(&forced);
	buf_release(&end);
	return r;
}

/* ---- failures ---- */

/* A stream that has begun says so, and is cut. Else the host has come to an end, and so do we: that
   connections break tells a client that it is no use to try again. */
static void fail_with(struct exchange *exchange, const char *type, const struct buf *text)
{
	if (!exchange->streams || !exchange->provider->early) {
		proxy_end(exchange->proxy, text->data, text->len);
		return;
	}
	exchange->provider->write_failure(&exchange->stream, type, text);
	exchange->cut = true;
	peer_write(exchange->peer);
}

/* Want of memory is no end: the next request may find enough. */
static void fail_to_ask(struct exchange *exchange, const struct fail *fail)
{
	struct buf text = BUF_INIT(sizeof(fail->text));

	if (fail->error == ENOMEM || buf_add_str(&text, fail->text) < 0)
		peer_break(exchange->peer);
	else
		fail_with(exchange, "api_error", &text);
	buf_release(&text);
}

/* A result that is nothing to make events from. */
static void fail_to_parse(struct exchange *exchange)
{
	static char text[] = "Failed to parse response: it is not a JSON object";
	const struct buf why = {text, strlen(text), 0, 0, 0};

	if (exchange->provider->strict) {
		proxy_end(exchange->proxy, text, strlen(text));
		return;
	}
	if (!exchange->provider->early)
		exchange_begin_stream(exchange);
	exchange->cut = !exchange->provider->early;
	exchange->provider->write_failure(&exchange->stream, "invalid_response_error", &why);
	peer_write(exchange->peer);
}

static int read_status(const struct jsontext *status)
{
	int value = 0;

	if (status->kind != JSONTEXT_INTEGER || status->len != 3)
		return MISSING_STATUS;
	for (size_t i = 0; i < status->len; i++)
		value = value * 10 + (status->at[i] - '0');
	return value < 100 ? MISSING_STATUS : value;
}

static void pass_error(struct exchange *exchange, const struct jsontext *error)
{
	const struct provider *provider = exchange->provider;
	struct jsontext status = jsontext_get(error, "status");
	struct provider_error theirs = {
		read_status(&status), jsontext_get(error, "message"), jsontext_get(error, "body")};
	struct stream *stream = &exchange->stream;
	struct buf body = BUF_INIT(PEER_OUT_MAX);
	struct peer *peer = exchange->peer;
	int r;

	if (exchange->streams && provider->early) {
		stream_open_event(stream, "error");
		r = provider->add_error(stream->out, SPELL_UTF8, &theirs);
		stream->error = stream->error < 0 ? stream->error : r;
		stream_close_event(stream);
		peer_write(peer);
		return;
	}
	if (provider->add_error(&body, SPELL_ASCII, &theirs) < 0)
		peer_break(peer);
	else
		peer_reply(peer, &(struct reply){theirs.status, NULL, NULL}, &body);
	buf_release(&body);
}

/* ---- results ---- */

/* A string may be the result as JSON: then that takes its place. 0, -ENOMEM, or -EINVAL if it is
   not JSON. */
static int unwrap(struct channel_answer *answer)
{
	struct buf content = BUF_INIT(CHANNEL_RESPONSE_MAX);
	int r;

	if (answer->result.kind != JSONTEXT_STRING)
		return 0;
	r = spell_content(&content, &answer->result);
	if (r == 0 &&
		!jsontext_read(content.len > 0 ? content.data : "", content.len, &answer->result))
		r = -EINVAL;
	if (r < 0) {
		buf_release(&content);
		return r;
	}
	buf_release(&answer->text);
	answer->text = content;
	return 0;
}

/* Is the result an object? Else the peer has been told, or is broken. */
static bool has_object(struct exchange *exchange)
{
	int r = unwrap(&exchange->answer);

	if (r == 0 && exchange->answer.result.kind == JSONTEXT_OBJECT)
		return true;
	if (r == -ENOMEM)
		peer_break(exchange->peer);
	else
		fail_to_parse(exchange);
	return false;
}

static void reply_result(struct exchange *exchange)
{
	struct jsontext *result = &exchange->answer.result;
	struct buf body = BUF_INIT(PEER_OUT_MAX);
	struct peer *peer = exchange->peer;
	int r = 0;

	if (exchange->provider->strict && !has_object(exchange))
		return;
	if (result->kind == JSONTEXT_STRING)
		r = spell_content(&body, result);
	else if (result->kind != JSONTEXT_NULL)
		r = spell_value(&body, SPELL_ASCII, result);
	if (r < 0)
		peer_break(peer);
	else
		peer_reply(peer, &(struct reply){200, NULL, NULL}, &body);
	buf_release(&body);
}

static void stream_result(struct exchange *exchange)
{
	const struct provider *provider = exchange->provider;

	if (!has_object(exchange))
		return;
	if (!provider->early)
		exchange_begin_stream(exchange);
	exchange->stream.result = exchange->answer.result;
	provider->push_result(&exchange->stream);
	peer_write(exchange->peer);
}

static void on_answered(struct exchange *exchange)
{
	struct jsontext *result = &exchange->answer.result;
	struct jsontext error = jsontext_get(result, PROVIDER_ERROR);

	if (result->kind == JSONTEXT_ABSENT)
		fail_with(exchange, "api_error", &exchange->answer.error);
	else if (error.kind != JSONTEXT_ABSENT)
		pass_error(exchange, &error);
	else if (exchange->streams)
		stream_result(exchange);
	else
		reply_result(exchange);
}

/* ---- requests ---- */

/* The name of what is missing, NULL if nothing is. */
static const char *find_missing(
	const struct http *http, const struct provider *provider, const struct jsontext *body)
{
	struct jsontext member;
	struct http_span model;

	if (!provider->needed)
		return find_model(http, &model) ? NULL : "model";
	member = jsontext_get(body, "model");
	if (!spell_is_word(&member))
		return "model";
	member = jsontext_get(body, provider->needed);
	return member.kind == JSONTEXT_ABSENT || member.kind == JSONTEXT_NULL ? provider->needed
									      : NULL;
}

static void refuse(struct peer *peer, const struct provider *provider, const char *missing)
{
	struct buf body = BUF_INIT(PEER_OUT_MAX);

	if (provider->add_missing(&body, missing) < 0)
		peer_break(peer);
	else
		peer_reply(peer, &(struct reply){400, NULL, NULL}, &body);
	buf_release(&body);
}

static void read_wishes(struct exchange *exchange, const struct jsontext *body)
{
	struct jsontext stream = jsontext_get(body, "stream");
	struct jsontext options = jsontext_get(body, "stream_options");
	struct jsontext usage = jsontext_get(&options, "include_usage");

	exchange->stream.spelling = SPELL_UTF8;
	exchange->stream.wants_usage = spell_is_true(&usage);
	if (exchange->provider->needed)
		exchange->streams = spell_is_true(&stream);
	else
		exchange->streams = has_verb(&exchange->peer->http, ":streamGenerateContent");
}

static void begin_early(struct exchange *exchange, const struct jsontext *body)
{
	struct jsontext model = jsontext_get(body, "model");

	exchange_begin_stream(exchange);
	exchange->provider->begin(&exchange->stream, &model);
	exchange_start_pings(exchange);
	peer_write(exchange->peer);
}

void generate_run(struct peer *peer, const struct provider *provider, const struct jsontext *body)
{
	const char *missing = find_missing(&peer->http, provider, body);
	struct fail fail = FAIL_INIT;
	struct exchange *exchange;

	if (missing) {
		refuse(peer, provider, missing);
		return;
	}
	exchange = exchange_open(peer, on_answered);
	if (!exchange)
		return;
	exchange->provider = provider;
	read_wishes(exchange, body);
	if (exchange->streams && provider->early)
		begin_early(exchange, body);
	if (ask(exchange, body, &fail) < 0)
		fail_to_ask(exchange, &fail);
}
