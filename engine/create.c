/* SPDX-License-Identifier: MIT */
#include "engine/client.h"

#include "engine/clock.h"
#include "engine/text.h"

#include <string.h>

enum {
	DELETE_WAIT_MS = 10 * 1000, /* for a removal that the engine has begun by itself */
	DELETE_PAUSE_MS = 20,
};

static int take_id(const struct eng_http_reply *reply, char ret[65], struct sb_err *err)
{
	json_auto_t *doc = sb_json_parse(
		sb_buf_str(&reply->body), reply->body.len, "the engine's answer to a create", err);
	const char *id = doc ? sb_json_str(doc, "Id") : NULL;

	if (!doc)
		return -1;
	if (!id || !sb_is_hex64(id))
		return sb_err_set(
			err, SB_FAILED, "the engine created a container, but reported no id");
	memcpy(ret, id, 65);
	return 0;
}

int eng_container_create(struct eng_client *client, const char *name, const json_t *spec,
	char ret[65], struct sb_err *err)
{
	sb_auto(eng_http_reply_release) struct eng_http_reply reply = ENG_HTTP_REPLY_INIT;
	sb_autofree char *body = json_dumps(spec, JSON_COMPACT);
	struct eng_http_req req = {.method = "POST", .body = body};

	if (!body)
		return sb_err_nomem(err);
	req.body_len = strlen(body);
	if (eng_call_about(client, &req, "/containers/create?name=%s", name, &reply, err) < 0)
		return -1;
	if (reply.status == 409)
		return 1;
	if (reply.status != 201)
		return eng_refused(client, &reply, SB_UNSUPPORTED, "create a container", err);
	return take_id(&reply, ret, err);
}

int eng_container_start(
	struct eng_client *client, const char *id, enum sb_code refused, struct sb_err *err)
{
	sb_auto(eng_http_reply_release) struct eng_http_reply reply = ENG_HTTP_REPLY_INIT;
	struct eng_http_req req = {.method = "POST"};

	client->seen.id[0] = '\0';
	if (eng_call_about(client, &req, "/containers/%s/start", id, &reply, err) < 0)
		return -1;
	/* 304: it runs already */
	return reply.status == 204 || reply.status == 304
		       ? 0
		       : eng_refused(client, &reply, refused, "start the container", err);
}

/* 1: the engine is at it already. */
static int delete_once(struct eng_client *client, const char *id, struct sb_err *err)
{
	sb_auto(eng_http_reply_release) struct eng_http_reply reply = ENG_HTTP_REPLY_INIT;
	struct eng_http_req req = {.method = "DELETE"};

	if (eng_call_about(client, &req, "/containers/%s?force=1&v=1", id, &reply, err) < 0)
		return -1;
	if (reply.status == 409)
		return 1;
	if (reply.status / 100 == 2 || reply.status == 404)
		return 0;
	return eng_refused(client, &reply, SB_FAILED, "delete a container", err);
}

int eng_container_delete(struct eng_client *client, const char *id, struct sb_err *err)
{
	int64_t until = sb_deadline(DELETE_WAIT_MS);
	int ret;

	while ((ret = delete_once(client, id, err)) == 1) {
		if (sb_left_ms(until, 1) == 0)
			return sb_err_set(err, SB_FAILED,
				"the engine has not finished deleting container %.12s after %d s",
				id, DELETE_WAIT_MS / 1000);
		sb_sleep_ms(DELETE_PAUSE_MS);
	}
	return ret;
}
