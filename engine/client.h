/* SPDX-License-Identifier: MIT */
/* What the files that implement engine.h share; nobody else includes it. */
#ifndef ENGINE_CLIENT_H
#define ENGINE_CLIENT_H

#include "engine/engine.h"
#include "engine/held.h"
#include "engine/http.h"
#include "engine/refusal.h"

struct eng_client {
	const struct eng_endpoint *endpoint;
	struct eng_http *http;
	enum eng_kind kind;
	char version[64];
	char api[16];
	char arch[32], built[40];
	bool asked_version;
	int64_t deadline;
	int64_t cleanup_end; /* SB_NEVER: no cleanup yet */
	enum eng_caution caution;
	struct eng_hold hold;
	struct {
		char id[65]; /* "": none, or its state may have changed */
		bool runs, has_mounts;
	} seen; /* the container that was inspected last */
};

/* Fill arch and built: one request, the first time. */
int eng_ask_version(struct eng_client *client, struct sb_err *err) sb_must_check;

/* Fill `seen`. */
void eng_note_seen(struct eng_client *client, const struct eng_container *container);

/* Start a path: "/v<api>". */
int eng_path_begin(
	const struct eng_client *client, struct sb_buf *path, struct sb_err *err) sb_must_check;

/*
 * Set req->timeout_ms to what is left until the client's deadline: a part may take all the time
 * that the user allows for the whole. It is an error if the deadline has passed. Without a
 * deadline, timeout_ms stays as it is.
 */
int eng_limit_time(const struct eng_client *client, struct eng_http_req *req,
	struct sb_err *err) sb_must_check;

/* eng_http_do with the time limit applied. */
int eng_call(struct eng_client *client, struct eng_http_req *req, struct eng_http_reply *reply,
	struct sb_err *err) sb_must_check;

/*
 * The same for an API path: `form`, in which the one %s stands for the name or id. The body, if
 * there is one, is JSON.
 */
int eng_call_about(struct eng_client *client, struct eng_http_req *req, const char *form,
	const char *name, struct eng_http_reply *reply, struct sb_err *err) sb_must_check;

/* GET a JSON document: a new reference for 200, NULL in *ret for any other status. */
int eng_get_json(struct eng_client *client, const char *path, json_t **ret,
	struct eng_http_reply *reply, struct sb_err *err) sb_must_check;

/* The engine's own words in a refusal: the JSON member "message", else the text, else "". */
void eng_reply_message(const struct eng_http_reply *reply, char *text, size_t size);

/* Whether the body contains those words, in upper or lower case. */
bool eng_reply_says(const struct eng_http_reply *reply, const char *words);

/* What a refusal means in that situation: eng_refusal_find() for its status and body. */
const struct eng_refusal *eng_reply_means(
	const struct eng_http_reply *reply, enum eng_situation situation);

/* Set the error for a refusal: "docker refuses to <what>: <its words> (HTTP <status>)". */
int eng_refused(const struct eng_client *client, const struct eng_http_reply *reply,
	enum sb_code code, const char *what, struct sb_err *err);

/*
 * The pure halves of inspecting and of stat: what an engine wrote, turned into our values. On
 * failure of the first, *ret may be half filled; release it.
 */
int eng_container_parse(enum eng_kind kind, json_t *doc, struct eng_container *ret,
	struct sb_err *err) sb_must_check;
int eng_stat_parse(const char *header, struct eng_stat *ret, struct sb_err *err) sb_must_check;

#endif
