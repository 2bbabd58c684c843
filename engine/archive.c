/* SPDX-License-Identifier: MIT */
#include "engine/client.h"
#include "engine/tar.h"

#include <string.h>

/* Go's os.FileMode, which is not st_mode. */
enum {
	GO_DIR = 1u << 31,
	GO_LINK = 1u << 27,
	GO_SPECIAL = 1u << 26 | 1u << 25 | 1u << 24 | 1u << 19,
	GO_SETUID = 1u << 23,
	GO_SETGID = 1u << 22,
	GO_STICKY = 1u << 20,
};

/* Neither libcurl nor jansson offers base64 decoding; the header is short. */
static int decode_base64(const char *text, struct sb_buf *out, struct sb_err *err)
{
	static const char alphabet[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	unsigned bits = 0, have = 0;

	for (; *text && *text != '='; text++) {
		const char *at = strchr(alphabet, *text);

		if (!at)
			return sb_err_set(err, SB_FAILED, "the engine's file status is not base64");
		bits = bits << 6 | (unsigned)(at - alphabet);
		have += 6;
		if (have >= 8) {
			char byte = (char)(bits >> (have - 8));

			have -= 8;
			if (sb_buf_add(out, &byte, 1, err) < 0)
				return -1;
		}
	}
	return 0;
}

int eng_stat_parse(const char *header, struct eng_stat *ret, struct sb_err *err)
{
	sb_autobuf struct sb_buf text = SB_BUF_INIT(SB_MAX_HEADERS);
	json_auto_t *doc = NULL;
	const char *link;
	long long mode, size;

	if (decode_base64(header, &text, err) < 0)
		return -1;
	doc = sb_json_parse(sb_buf_str(&text), text.len, "the engine's file status", err);
	if (!doc)
		return -1;
	mode = sb_json_int(doc, "mode", -1);
	if (mode < 0)
		return sb_err_set(err, SB_FAILED, "the engine's file status has no mode");
	ret->type = mode & GO_DIR	? ENG_DIR
		    : mode & GO_LINK	? ENG_LINK
		    : mode & GO_SPECIAL ? ENG_SPECIAL
					: ENG_FILE;
	ret->mode = (unsigned)mode & 0777;
	ret->mode |= (mode & GO_SETUID ? 04000u : 0) | (mode & GO_SETGID ? 02000u : 0) |
		     (mode & GO_STICKY ? 01000u : 0);
	size = sb_json_int(doc, "size", 0);
	ret->size = size > 0 ? (uint64_t)size : 0;
	link = sb_json_str(doc, "linkTarget");
	if (ret->type != ENG_LINK || !link || strlen(link) >= sizeof(ret->link))
		link = "";
	strcpy(ret->link, link);
	return 0;
}

/* Every request begins with this. */
static int archive_path(struct eng_client *client, const char *id, const char *path,
	struct sb_buf *out, struct sb_err *err)
{
	if (eng_hold_for(client, id, err) < 0 || eng_path_begin(client, out, err) < 0 ||
		sb_buf_addf(out, err, "/containers/%s/archive?path=", id) < 0)
		return -1;
	return eng_http_escape(out, path, err);
}

static int do_stat(struct eng_client *client, const char *id, const char *path,
	struct eng_stat *ret, struct sb_err *err)
{
	sb_auto(eng_http_reply_release) struct eng_http_reply reply = ENG_HTTP_REPLY_INIT;
	sb_autobuf struct sb_buf target = SB_BUF_INIT(SB_MAX_HEADERS);
	struct eng_http_req req = {.method = "HEAD"};
	char header[8192];

	if (archive_path(client, id, path, &target, err) < 0)
		return -1;
	req.path = target.data;
	if (eng_call(client, &req, &reply, err) < 0)
		return -1;
	if (reply.status == 404)
		return 1;
	if (reply.status != 200)
		return eng_refused(
			client, &reply, SB_FAILED, "examine a file in the container", err);
	if (!eng_http_header(&reply, "X-Docker-Container-Path-Stat", header, sizeof(header)))
		return sb_err_set(
			err, SB_FAILED, "the engine's reply does not describe '%s'", path);
	return eng_stat_parse(header, ret, err);
}

int eng_archive_stat(struct eng_client *client, const char *id, const char *path,
	struct eng_stat *ret, struct sb_err *err)
{
	eng_hold_begin(client);
	return eng_hold_end(client, do_stat(client, id, path, ret, err), err);
}

struct gather {
	struct sb_buf tar;
	struct sb_err err;
};

static int gather_tar(void *ctx, const char *data, size_t len)
{
	struct gather *gather = ctx;
	size_t room = gather->tar.max - gather->tar.len;

	if (sb_buf_add(&gather->tar, data, len < room ? len : room, &gather->err) < 0)
		return -1;
	return len >= room;
}

static void gather_release(struct gather *gather)
{
	sb_buf_release(&gather->tar);
}

/* A file that is being read. */
struct reading {
	struct eng_client *client;
	const char *id;
	size_t max_bytes;
	struct sb_buf *out;
};

static int get_first(
	const struct reading *r, const char *path, enum eng_type *ret_type, struct sb_err *err)
{
	/* Room for the extended headers that may precede the file. */
	sb_auto(gather_release) struct gather gather = {
		SB_BUF_INIT(r->max_bytes + 16384), SB_ERR_INIT};
	sb_auto(eng_http_reply_release) struct eng_http_reply reply = ENG_HTTP_REPLY_INIT;
	sb_autobuf struct sb_buf target = SB_BUF_INIT(SB_MAX_HEADERS);
	struct eng_http_req req = {.method = "GET", .sink = gather_tar, .ctx = &gather};

	if (archive_path(r->client, r->id, path, &target, err) < 0)
		return -1;
	req.path = target.data;
	if (eng_call(r->client, &req, &reply, err) < 0)
		return -1;
	if (gather.err.code != SB_OK) {
		*err = gather.err;
		return -1;
	}
	if (reply.status == 404)
		return 1;
	if (reply.status != 200)
		return eng_refused(
			r->client, &reply, SB_FAILED, "read a file in the container", err);
	return eng_tar_first(
		sb_buf_str(&gather.tar), gather.tar.len, r->max_bytes, ret_type, r->out, err);
}

static int do_read(const struct reading *r, const char *path, struct sb_err *err)
{
	enum eng_type type = ENG_SPECIAL;
	struct eng_stat link;
	int ret = get_first(r, path, &type, err);

	if (ret || type == ENG_FILE)
		return ret;
	if (type != ENG_LINK)
		return 1;
	/* Docker sends the link itself; its status names where the link ends. */
	ret = do_stat(r->client, r->id, path, &link, err);
	if (ret || link.type != ENG_LINK || link.link[0] != '/')
		return ret < 0 ? -1 : 1;
	ret = get_first(r, link.link, &type, err);
	return ret || type == ENG_FILE ? ret : 1;
}

int eng_archive_read(struct eng_client *client, const char *id, const char *path, size_t max_bytes,
	struct sb_buf *out, struct sb_err *err)
{
	struct reading r = {client, id, max_bytes, out};

	eng_hold_begin(client);
	return eng_hold_end(client, do_read(&r, path, err), err);
}

static int fail_put(
	const struct eng_client *client, const struct eng_http_reply *reply, struct sb_err *err)
{
	const struct eng_refusal *why = eng_reply_means(reply, ENG_AT_PUT);
	char text[400];

	if (!why->cause)
		return eng_refused(client, reply, why->code, "write into the container", err);
	eng_reply_message(reply, text, sizeof(text));
	return sb_err_set(err, why->code, "cannot write into the container: %s (%s: %s)",
		why->cause, eng_client_kind_name(client), text);
}

static int do_put(struct eng_client *client, const char *id, const char *path, const void *tar,
	size_t len, struct sb_err *err)
{
	sb_auto(eng_http_reply_release) struct eng_http_reply reply = ENG_HTTP_REPLY_INIT;
	sb_autobuf struct sb_buf target = SB_BUF_INIT(SB_MAX_HEADERS);
	struct eng_http_req req = {
		.method = "PUT",
		.type = "application/x-tar",
		.body = tar,
		.body_len = len,
		.max_reply = SB_MAX_ERROR_REPLY,
	};

	if (archive_path(client, id, path, &target, err) < 0)
		return -1;
	req.path = target.data;
	if (eng_call(client, &req, &reply, err) < 0)
		return -1;
	return reply.status == 200 ? 0 : fail_put(client, &reply, err);
}

int eng_archive_put(struct eng_client *client, const char *id, const char *path, const void *tar,
	size_t len, struct sb_err *err)
{
	eng_hold_begin(client);
	return eng_hold_end(client, do_put(client, id, path, tar, len, err), err);
}
