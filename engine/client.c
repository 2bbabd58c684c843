/* SPDX-License-Identifier: MIT */
#include "engine/client.h"

#include "engine/clock.h"
#include "engine/log.h"
#include "engine/text.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

enum { PING_TIMEOUT_MS = 10 * 1000 }; /* where the user sets no limit: is anybody there? */

/* The oldest and the newest API that this client was written for and tried with. */
static const unsigned api_min[2] = {1, 40}, api_max[2] = {1, 51};

int eng_global_init(struct sb_err *err)
{
	/* Seeding is not safe once several threads make objects. */
	json_object_seed(0);
	return eng_http_global_init(err);
}

int eng_path_begin(const struct eng_client *client, struct sb_buf *path, struct sb_err *err)
{
	return sb_buf_addf(path, err, "/v%s", client->api);
}

int eng_limit_time(const struct eng_client *client, struct eng_http_req *req, struct sb_err *err)
{
	int64_t pause_end = client->hold.paused ? client->hold.until : SB_NEVER;

	if (client->deadline == SB_NEVER && pause_end == SB_NEVER)
		return 0;
	req->timeout_ms = sb_left_ms(client->deadline, sb_left_ms(pause_end, INT_MAX));
	if (req->timeout_ms == 0)
		return sb_err_set(err, SB_NO_ENGINE,
			"out of time before %s %s; --timeout allows more", req->method, req->path);
	return 0;
}

int eng_call(struct eng_client *client, struct eng_http_req *req, struct eng_http_reply *reply,
	struct sb_err *err)
{
	if (!req->max_reply)
		req->max_reply = SB_MAX_JSON_REPLY;
	if (eng_is_interrupted(client))
		return sb_err_set(err, SB_INTERRUPTED, "interrupted");
	if (eng_limit_time(client, req, err) < 0)
		return -1;
	return eng_http_do(client->http, req, reply, err);
}

int eng_call_about(struct eng_client *client, struct eng_http_req *req, const char *form,
	const char *name, struct eng_http_reply *reply, struct sb_err *err)
{
	sb_autobuf struct sb_buf path = SB_BUF_INIT(SB_MAX_HEADERS);
	const char *rest = strstr(form, "%s") + 2;

	if (eng_path_begin(client, &path, err) < 0 ||
		sb_buf_add(&path, form, (size_t)(rest - 2 - form), err) < 0 ||
		eng_http_escape(&path, name, err) < 0 || sb_buf_adds(&path, rest, err) < 0)
		return -1;
	req->type = "application/json";
	req->path = path.data;
	return eng_call(client, req, reply, err);
}

int eng_get_json(struct eng_client *client, const char *path, json_t **ret,
	struct eng_http_reply *reply, struct sb_err *err)
{
	struct eng_http_req req = {.method = "GET", .path = path};

	*ret = NULL;
	if (eng_call(client, &req, reply, err) < 0)
		return -1;
	if (reply->status != 200)
		return 0;
	*ret = sb_json_parse(sb_buf_str(&reply->body), reply->body.len, "the engine's answer", err);
	return *ret ? 0 : sb_err_wrap(err, "GET %s", path);
}

void eng_reply_message(const struct eng_http_reply *reply, char *text, size_t size)
{
	const char *body = sb_buf_str(&reply->body);
	json_auto_t *doc = json_loadb(body, reply->body.len, 0, NULL);
	const char *message = doc ? sb_json_str(doc, "message") : NULL;
	size_t len;

	if (!message)
		message = body;
	len = strlen(message);
	while (len && strchr(" \r\n\t", message[len - 1]))
		len--;
	sb_text_clean(text, size, message, len);
}

bool eng_reply_says(const struct eng_http_reply *reply, const char *words)
{
	return strcasestr(sb_buf_str(&reply->body), words) != NULL;
}

const struct eng_refusal *eng_reply_means(
	const struct eng_http_reply *reply, enum eng_situation situation)
{
	return eng_refusal_find(situation, reply->status, sb_buf_str(&reply->body));
}

int eng_refused(const struct eng_client *client, const struct eng_http_reply *reply,
	enum sb_code code, const char *what, struct sb_err *err)
{
	char text[400];

	eng_reply_message(reply, text, sizeof(text));
	return sb_err_set(err, code, "%s refuses to %s: %s (HTTP %d)", eng_client_kind_name(client),
		what, text[0] ? text : "no reason given", reply->status);
}

static bool parse_api(const char *text, unsigned api[2])
{
	int end = 0;

	return *text >= '0' && *text <= '9' &&
	       sscanf(text, "%3u.%3u%n", &api[0], &api[1], &end) == 2 && !text[end];
}

static bool api_less(const unsigned a[2], const unsigned b[2])
{
	return a[0] != b[0] ? a[0] < b[0] : a[1] < b[1];
}

static int settle_api(struct eng_client *client, const char *said, struct sb_err *err)
{
	const char *pinned = getenv("DOCKER_API_VERSION");
	unsigned api[2];

	if (!parse_api(said, api))
		return sb_err_set(err, SB_NO_ENGINE,
			"'%s' is neither Docker nor Podman: its reply names no API version",
			client->endpoint->url);
	if (api_less(api, api_min))
		return sb_err_set(err, SB_NO_ENGINE,
			"the engine at '%s' speaks API %u.%u; the oldest supported is %u.%u",
			client->endpoint->url, api[0], api[1], api_min[0], api_min[1]);
	if (api_less(api_max, api))
		memcpy(api, api_max, sizeof(api));
	if (pinned && *pinned && !parse_api(pinned, api))
		return sb_err_set(
			err, SB_USAGE, "DOCKER_API_VERSION: '%s' is not a version", pinned);
	snprintf(client->api, sizeof(client->api), "%u.%u", api[0], api[1]);
	return 0;
}

/* "Docker/28.5.2 (linux)" */
static void keep_version(struct eng_client *client, const char *server)
{
	const char *slash = strchr(server, '/');

	if (slash)
		sb_text_clean(client->version, sizeof(client->version), slash + 1,
			strcspn(slash + 1, " "));
}

static int ping(struct eng_client *client, struct sb_err *err)
{
	sb_auto(eng_http_reply_release) struct eng_http_reply reply = ENG_HTTP_REPLY_INIT;
	struct eng_http_req req = {.method = "GET",
		.path = "/_ping",
		.timeout_ms = PING_TIMEOUT_MS,
		.max_reply = SB_MAX_ERROR_REPLY};
	char value[128];

	if (eng_call(client, &req, &reply, err) < 0)
		return -1;
	client->kind = eng_http_header(&reply, "Libpod-Api-Version", value, sizeof(value))
			       ? ENG_PODMAN
			       : ENG_DOCKER;
	if (reply.status != 200)
		return eng_refused(client, &reply, SB_NO_ENGINE, "answer a ping", err);
	if (eng_http_header(&reply, "Server", value, sizeof(value)))
		keep_version(client, value);
	if (!eng_http_header(&reply, "Api-Version", value, sizeof(value)))
		value[0] = '\0';
	return settle_api(client, value, err);
}

int eng_open(const struct eng_endpoint *endpoint, int timeout_ms, struct eng_client **ret,
	struct sb_err *err)
{
	sb_auto(eng_closep) struct eng_client *client = calloc(1, sizeof(*client));

	if (!client)
		return sb_err_nomem(err);
	client->endpoint = endpoint;
	if (eng_http_new(endpoint, &client->http, err) < 0)
		return -1;
	eng_begin_work(client, timeout_ms);
	if (ping(client, err) < 0)
		return -1;
	sb_log(SB_NOTE, "engine %s %s at %s (from %s), API %s", eng_client_kind_name(client),
		client->version, endpoint->url, endpoint->why, client->api);
	*ret = sb_steal(client);
	return 0;
}

void eng_close(struct eng_client *client)
{
	if (!client)
		return;
	eng_http_free(client->http);
	free(client);
}

void eng_closep(struct eng_client **client)
{
	eng_close(*client);
}

enum eng_kind eng_client_kind(const struct eng_client *client)
{
	return client->kind;
}

const char *eng_client_kind_name(const struct eng_client *client)
{
	return client->kind == ENG_PODMAN ? "podman" : "docker";
}

const char *eng_client_version(const struct eng_client *client)
{
	return client->version;
}

const struct eng_endpoint *eng_client_endpoint(const struct eng_client *client)
{
	return client->endpoint;
}

static void copy_text(char *dst, size_t size, const json_t *doc, const char *key)
{
	const char *text = sb_json_str(doc, key);

	if (text)
		sb_text_clean(dst, size, text, strlen(text));
}

int eng_ask_version(struct eng_client *client, struct sb_err *err)
{
	sb_auto(eng_http_reply_release) struct eng_http_reply reply = ENG_HTTP_REPLY_INIT;
	sb_autobuf struct sb_buf path = SB_BUF_INIT(SB_MAX_HEADERS);
	json_auto_t *doc = NULL;

	if (client->asked_version)
		return 0;
	if (eng_path_begin(client, &path, err) < 0 || sb_buf_adds(&path, "/version", err) < 0 ||
		eng_get_json(client, path.data, &doc, &reply, err) < 0)
		return -1;
	client->asked_version = true;
	copy_text(client->arch, sizeof(client->arch), doc, "Arch");
	copy_text(client->built, sizeof(client->built), doc, "BuildTime");
	return 0;
}

int eng_client_arch(struct eng_client *client, const char **ret, struct sb_err *err)
{
	*ret = client->arch;
	return eng_ask_version(client, err);
}

void eng_begin_work(struct eng_client *client, int timeout_ms)
{
	client->deadline = sb_deadline(timeout_ms);
	client->cleanup_end = SB_NEVER;
	eng_http_ignore_interrupt(client->http, false);
}

int eng_time_left(const struct eng_client *client, int cap)
{
	return sb_left_ms(client->deadline, cap);
}

void eng_begin_cleanup(struct eng_client *client, int spare_ms)
{
	if (client->cleanup_end == SB_NEVER)
		client->cleanup_end = sb_deadline(ENG_CLEANUP_MS);
	client->deadline = client->cleanup_end - spare_ms;
	eng_http_ignore_interrupt(client->http, true);
}

bool eng_is_interrupted(const struct eng_client *client)
{
	return eng_http_is_interrupted(client->http);
}
