/* SPDX-License-Identifier: MIT */
#include "engine/pause.h"

static int fail_pause(
	const struct eng_client *client, const struct eng_http_reply *reply, struct sb_err *err)
{
	enum sb_code code = eng_reply_means(reply, ENG_AT_PAUSE)->code;
	char text[200];

	if (code != SB_UNSUPPORTED)
		return eng_refused(client, reply, code, "pause the container", err);
	eng_reply_message(reply, text, sizeof(text));
	return sb_err_set(err, code,
		"the container cannot be paused (docker: %s), and while it runs, a process "
		"inside could use docker %s to attack the host (CVE-2026-42306); --no-pause "
		"accepts that risk",
		text, client->version);
}

int eng_pause(struct eng_client *client, const char *id, struct sb_err *err)
{
	sb_auto(eng_http_reply_release) struct eng_http_reply reply = ENG_HTTP_REPLY_INIT;
	struct eng_http_req req = {.method = "POST"};

	if (eng_is_interrupted(client))
		return sb_err_set(err, SB_INTERRUPTED, "interrupted");
	/* Also if no answer comes: then it may be. */
	client->hold.paused = true;
	if (eng_call_about(client, &req, "/containers/%s/pause", id, &reply, err) < 0)
		return -1;
	if (reply.status == 204)
		return 0;
	client->hold.paused = false;
	/* A kernel that is busy cannot always freeze what runs at the first try. */
	if (eng_reply_says(&reply, "already paused") || eng_reply_says(&reply, "unable to freeze"))
		return 1;
	return fail_pause(client, &reply, err);
}

int eng_unpause(struct eng_client *client, const char *id, struct sb_err *err)
{
	sb_auto(eng_http_reply_release) struct eng_http_reply reply = ENG_HTTP_REPLY_INIT;
	struct eng_http_req req = {.method = "POST"};

	if (eng_call_about(client, &req, "/containers/%s/unpause", id, &reply, err) < 0)
		return -1;
	if (reply.status == 204)
		return 0;
	if (eng_reply_says(&reply, "is not paused"))
		return 1;
	return eng_refused(client, &reply, eng_reply_means(&reply, ENG_AT_UNPAUSE)->code,
		"unpause the container", err);
}
