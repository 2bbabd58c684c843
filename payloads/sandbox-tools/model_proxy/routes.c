/* SPDX-License-Identifier: MIT */
/* The table of paths, and what is checked of every request. */
#include "payloads/sandbox-tools/model_proxy/routes.h"

#include <string.h>

#include "payloads/lib/base.h"
#include "payloads/lib/jsontext.h"
#include "payloads/lib/utf8.h"
#include "payloads/sandbox-tools/model_proxy/bridge.h"
#include "payloads/sandbox-tools/model_proxy/generate.h"

/* 'provider' is for generate_run(); the others answer for themselves. */
static const struct route {
	const char *method, *path; /* one that ends in '*' stands for all that begin so */
	const struct provider *provider;
	void (*run)(struct peer *peer, const struct jsontext *body);
} routes[] = {
	{"POST", "/v1/responses", &provider_responses, NULL},
	{"POST", "/v1/chat/completions", &provider_chat, NULL},
	{"POST", "/v1/messages", &provider_anthropic, NULL},
	{"POST", "/v1beta/models/*", &provider_google, NULL},
	{"POST", "/models/*", &provider_google, NULL},
	{"GET", "/mcp/*", NULL, bridge_refuse_get},
	{"POST", "/mcp/*", NULL, bridge_run},
};

static bool fits(const struct http *http, const char *path)
{
	size_t len = strlen(path);

	if (path[len - 1] != '*')
		return http_is(http, http->path, path);
	return http->path.len >= len - 1 &&
	       memcmp(http->head.data + http->path.at, path, len - 1) == 0;
}

static const struct route *find(const struct http *http)
{
	for (size_t i = 0; i < ARRAY_SIZE(routes); i++)
		if (http_is(http, http->method, routes[i].method) && fits(http, routes[i].path))
			return &routes[i];
	return NULL;
}

static bool is_json(const struct http *http)
{
	static const char wanted[] = "application/json";
	const struct http_field *type = http_find(http, "content-type");

	return type && type->value.len >= strlen(wanted) &&
	       memcmp(http->head.data + type->value.at, wanted, strlen(wanted)) == 0;
}

/* Python, in which the host is written, reads no integer that is longer, and nothing that is nested
   deeper than a thousand levels less its own calls: it would never answer. */
#define DIGITS_MAX 4300
#define DEPTH_MAX 900

static bool is_too_deep(const struct jsontext *value)
{
	const char *at = value->at, *end = at + value->len;
	size_t depth = 0;
	bool quoted = false;

	for (; at < end && depth <= DEPTH_MAX; at++) {
		if (*at == '\\')
			at++;
		else if (*at == '"')
			quoted = !quoted;
		else if (!quoted && (*at == '{' || *at == '['))
			depth++;
		else if (!quoted && (*at == '}' || *at == ']'))
			depth--;
	}
	return depth > DEPTH_MAX;
}

static bool read_body(const struct http *http, struct jsontext *ret)
{
	const char *text = http->body.len > 0 ? http->body.data : "";

	return utf8_is_valid(text, http->body.len) && jsontext_read(text, http->body.len, ret) &&
	       ret->kind == JSONTEXT_OBJECT && jsontext_digits(ret) <= DIGITS_MAX &&
	       !is_too_deep(ret);
}

static void run(struct peer *peer, const struct route *route)
{
	static const char type[] = "invalid_request_error";
	struct jsontext body = {NULL, 0, JSONTEXT_ABSENT};

	if (strcmp(route->method, "POST") == 0 && !is_json(&peer->http))
		peer_refuse(peer, 415, type, "Content-Type must be application/json");
	else if (strcmp(route->method, "POST") == 0 && !read_body(&peer->http, &body))
		peer_refuse(peer, 400, type, "Request body must be a JSON object");
	else if (route->provider)
		generate_run(peer, route->provider, &body);
	else
		route->run(peer, &body);
}

void routes_run(struct peer *peer)
{
	const struct http *http = &peer->http;
	const struct route *route = find(http);
	struct buf nothing = BUF_INIT(0), path = BUF_INIT(2 * HTTP_HEAD_MAX);

	if (http_is(http, http->method, "OPTIONS")) {
		peer_reply(
			peer, &(struct reply){405, "text/plain", "Allow: GET, POST\r\n"}, &nothing);
	} else if (route) {
		run(peer, route);
	} else if (buf_add_str(&path, "Path ") < 0 ||
		   buf_add(&path, http->head.data + http->path.at, http->path.len) < 0 ||
		   buf_add_str(&path, " not found") < 0) {
		peer_break(peer);
	} else {
		peer_reply_form(peer, &(struct reply){404, NULL, NULL},
			"{'error': {'message': %b, 'type': 'not_found', 'code': 404}}", path.data,
			path.len);
	}
	buf_release(&path);
}
