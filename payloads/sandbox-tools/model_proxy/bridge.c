/* SPDX-License-Identifier: MIT */
/* MCP requests. */
#include "payloads/sandbox-tools/model_proxy/bridge.h"

#include <string.h>

#include "payloads/lib/base.h"
#include "payloads/sandbox-tools/model_proxy/exchange.h"
#include "payloads/sandbox-tools/model_proxy/form.h"

#define PREFIX "/mcp/"
#define VERSION "2025-03-26"
#define VERSION_LINE "MCP-Protocol-Version: " VERSION "\r\n"
#define PARAMS_MAX (3 * HTTP_BODY_MAX)

enum {
	INVALID_REQUEST = -32600,
	UNKNOWN_METHOD = -32601,
	INVALID_PARAMS = -32602,
	INTERNAL_ERROR = -32603
};

static const struct reply fine = {200, "application/json", VERSION_LINE};

/* What a path names between PREFIX and the next slash. */
static struct http_span server_of(const struct http *http)
{
	struct http_span span = {http->path.at + strlen(PREFIX), http->path.len - strlen(PREFIX)};
	const char *slash = memchr(http->head.data + span.at, '/', span.len);

	if (slash)
		span.len = (size_t)(slash - http->head.data) - span.at;
	return span;
}

/* 'code' without its sign, which all of them have. */
static void refuse(
	struct peer *peer, const struct jsontext *id, int code, const char *text, size_t len)
{
	peer_reply_form(peer, &fine,
		"{'jsonrpc': '2.0', 'id': %j, 'error': {'code': -%n, 'message': %b}}", id,
		(size_t)-code, text, len);
}

/* ---- what the host is asked ---- */

static void reply_failure(struct exchange *exchange, const struct jsontext *id)
{
	refuse(exchange->peer, id, INTERNAL_ERROR, exchange->answer.error.data,
		exchange->answer.error.len);
}

/* The id as it was kept. */
static struct jsontext kept_id(const struct exchange *exchange)
{
	return (struct jsontext){exchange->id.data, exchange->id.len, JSONTEXT_STRING};
}

static void on_tools(struct exchange *exchange)
{
	struct jsontext id = kept_id(exchange);

	if (exchange->answer.result.kind == JSONTEXT_ABSENT)
		reply_failure(exchange, &id);
	else
		peer_reply_form(exchange->peer, &fine,
			"{'jsonrpc': '2.0', 'id': %j, 'result': {'tools': %j}}", &id,
			&exchange->answer.result);
}

static void on_result(struct exchange *exchange)
{
	struct jsontext id = kept_id(exchange);
	const struct jsontext *result = &exchange->answer.result;

	if (result->kind == JSONTEXT_ABSENT)
		reply_failure(exchange, &id);
	else if (result->kind == JSONTEXT_STRING)
		peer_reply_form(exchange->peer, &fine,
			"{'jsonrpc': '2.0', 'id': %j, 'result': {'content': [{'type': 'text', "
			"'text': %j}]}}",
			&id, result);
	else
		peer_reply_form(exchange->peer, &fine,
			"{'jsonrpc': '2.0', 'id': %j, 'result': {'content': %j}}", &id, result);
}

static void ask(struct peer *peer, const struct jsontext *id, const char *method,
	const struct buf *params, void (*answered)(struct exchange *exchange))
{
	struct channel_part part = {params->data, params->len, false};
	struct exchange *exchange = exchange_open(peer, answered);
	struct fail fail = FAIL_INIT;

	if (!exchange)
		return;
	if (spell_value(&exchange->id, SPELL_ASCII, id) < 0)
		peer_break(peer);
	else if (exchange_ask(exchange, method, &part, 1, &fail) < 0)
		refuse(peer, id, INTERNAL_ERROR, fail.text, strlen(fail.text));
}

/* ---- methods ---- */

struct request {
	struct peer *peer;
	const struct jsontext *body;
	struct jsontext id;
	const char *server;
	size_t server_len;
};

static void run_initialize(const struct request *request)
{
	peer_reply_form(request->peer, &fine,
		"{'jsonrpc': '2.0', 'id': %j, 'result': {'protocolVersion': '" VERSION "', "
		"'capabilities': {'tools': {}}, 'serverInfo': {'name': %b, 'version': "
		"'1.0.0'}}}",
		&request->id, request->server, request->server_len);
}

static void run_initialized(const struct request *request)
{
	struct buf nothing = BUF_INIT(0);

	peer_reply(request->peer, &(struct reply){202, NULL, NULL}, &nothing);
}

static void run_list(const struct request *request)
{
	struct buf params = BUF_INIT(PARAMS_MAX);

	if (form_add(&params, SPELL_ASCII, "{'server': %b}", request->server, request->server_len) <
		0)
		peer_break(request->peer);
	else
		ask(request->peer, &request->id, "list_tools", &params, on_tools);
	buf_release(&params);
}

/* In Python's words, which a model may have seen before. */
static const char *flaw_of(const struct jsontext *params)
{
	static const char *const flaws[] = {
		[JSONTEXT_ARRAY] = "'list' object has no attribute 'get'",
		[JSONTEXT_STRING] = "'str' object has no attribute 'get'",
		[JSONTEXT_INTEGER] = "'int' object has no attribute 'get'",
		[JSONTEXT_REAL] = "'float' object has no attribute 'get'",
		[JSONTEXT_BOOLEAN] = "'bool' object has no attribute 'get'",
		[JSONTEXT_NULL] = "'NoneType' object has no attribute 'get'",
	};

	return flaws[params->kind];
}

static void run_call(const struct request *request)
{
	static const char missing[] = "Missing 'name' in params";
	struct jsontext params = jsontext_get(request->body, "params");
	struct jsontext name = jsontext_get(&params, "name");
	struct jsontext arguments = jsontext_get(&params, "arguments");
	struct buf text = BUF_INIT(PARAMS_MAX);
	const char *flaw = flaw_of(&params);
	int r;

	if (flaw || !spell_is_true(&name)) {
		refuse(request->peer, &request->id, flaw ? INTERNAL_ERROR : INVALID_PARAMS,
			flaw ? flaw : missing, strlen(flaw ? flaw : missing));
		return;
	}
	r = form_add(&text, SPELL_ASCII,
		"{'server': %b, 'tool': %j, 'arguments': ", request->server, request->server_len,
		&name);
	if (r == 0 && arguments.kind == JSONTEXT_ABSENT)
		r = buf_add_str(&text, "{}");
	else if (r == 0)
		r = spell_value(&text, SPELL_ASCII, &arguments);
	if (r < 0 || buf_add_str(&text, "}") < 0)
		peer_break(request->peer);
	else
		ask(request->peer, &request->id, "call_tool", &text, on_result);
	buf_release(&text);
}

static void refuse_method(const struct request *request, const struct jsontext *method)
{
	struct buf text = BUF_INIT(PARAMS_MAX);
	int r = buf_add_str(&text, "Unknown method: ");

	if (r == 0 && method->kind == JSONTEXT_STRING)
		r = spell_content(&text, method);
	else if (r == 0 && (method->kind == JSONTEXT_ABSENT || method->kind == JSONTEXT_NULL))
		r = buf_add_str(&text, "None");
	else if (r == 0)
		r = spell_value(&text, SPELL_UTF8, method);
	if (r < 0)
		peer_break(request->peer);
	else
		refuse(request->peer, &request->id, UNKNOWN_METHOD, text.data, text.len);
	buf_release(&text);
}

static const struct {
	const char *name;
	void (*run)(const struct request *request);
} methods[] = {
	{"initialize", run_initialize},
	{"notifications/initialized", run_initialized},
	{"tools/list", run_list},
	{"tools/call", run_call},
};

void bridge_run(struct peer *peer, const struct jsontext *body)
{
	struct http_span server = server_of(&peer->http);
	struct request request = {
		peer, body, jsontext_get(body, "id"), peer->http.head.data + server.at, server.len};
	static const struct jsontext none = {NULL, 0, JSONTEXT_ABSENT};
	static const char too_long[] = "The id is too long";
	struct jsontext method = jsontext_get(body, "method");

	if (request.id.len > EXCHANGE_ID_MAX) {
		refuse(peer, &none, INVALID_REQUEST, too_long, strlen(too_long));
		return;
	}
	for (size_t i = 0; i < ARRAY_SIZE(methods); i++)
		if (jsontext_is(&method, methods[i].name)) {
			methods[i].run(&request);
			return;
		}
	refuse_method(&request, &method);
}

void bridge_refuse_get(struct peer *peer, const struct jsontext *body)
{
	struct buf nothing = BUF_INIT(0);

	(void)body;
	peer_reply(peer, &(struct reply){405, NULL, "Allow: POST\r\n" VERSION_LINE}, &nothing);
}
