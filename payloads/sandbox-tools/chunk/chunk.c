/* SPDX-License-Identifier: MIT */
/* The first piece of a long reply, and the ones after it. */
#include "payloads/sandbox-tools/chunk/chunk.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "payloads/lib/base.h"

static const char too_small[] =
	"sandbox exec output limit is too small for a JSON-RPC chunk envelope";

void chunk_init(struct chunk *chunk, const struct place *place)
{
	const char *text = getenv(CHUNK_LIMIT_VARIABLE);

	chunk->wanted = text != NULL;
	chunk->limit = text ? envelope_parse_limit(text, CHUNK_LIMIT_DEFAULT) : CHUNK_LIMIT_DEFAULT;
	chunk->place = place;
	chunk->file = (struct store_file)STORE_FILE_INIT;
}

static bool is_cut(const struct chunk *chunk, const char *id)
{
	return chunk->wanted && id && strcmp(id, "null") != 0;
}

void chunk_reserve(struct chunk *chunk, const char *id)
{
	struct fail ignored;

	if (is_cut(chunk, id))
		store_reserve(chunk->place, &chunk->file, &ignored);
}

void chunk_release(struct chunk *chunk)
{
	store_close(&chunk->file);
}

/* Does the reply answer that request, and not say only that it could not be read? */
static bool carries_id(const char *text, size_t len, const char *id)
{
	static const char before[] = ", \"id\": ";
	size_t id_len = strlen(id), tail = strlen(before) + id_len + 1;

	return len > tail && memcmp(text + len - tail, before, strlen(before)) == 0 &&
	       memcmp(text + len - 1 - id_len, id, id_len) == 0;
}

bool chunk_is_needed(const struct chunk *chunk, const char *id, const char *text, size_t len)
{
	return is_cut(chunk, id) && len + 1 > chunk->limit && carries_id(text, len, id);
}

int chunk_first(struct chunk *chunk, const char *id, const char *text, size_t len, struct buf *out,
	struct fail *fail)
{
	struct envelope envelope = {id, "00000000000000000000000000000000", 0, len};
	size_t room = envelope_room(&envelope, chunk->limit);

	if (room == 0)
		return fail_set(fail, "%s", too_small);
	if (chunk->file.fd < 0 && store_reserve(chunk->place, &chunk->file, fail) < 0)
		return -1;
	if (store_write(&chunk->file, text, len, fail) < 0)
		return -1;
	envelope.handle = chunk->file.handle;
	if (envelope_write(out, &envelope, text, room) < 0)
		return fail_sys(fail, ENOMEM, "cannot write the reply");
	return 0;
}

/* ---- continuation ---- */

struct continuation {
	const struct chunk *chunk;
	const char *id;
	struct buf *out;
};

static int answer(const struct continuation *c, const char *before, const char *json)
{
	const char *const pieces[] = {"{\"jsonrpc\":\"2.0\",\"id\":", c->id, before, json, "}"};
	int r = 0;

	for (size_t i = 0; i < ARRAY_SIZE(pieces) && r == 0; i++)
		r = buf_add_str(c->out, pieces[i]);
	return r < 0 ? -ENOMEM : 0;
}

static int refuse(const struct continuation *c, int code, const char *message)
{
	json_t *error = json_pack("{s:i, s:s}", "code", code, "message", message);
	char *text = json_dumps(error, JSON_COMPACT | JSON_ENSURE_ASCII);
	int r = text ? answer(c, ",\"error\":", text) : -ENOMEM;

	free(text);
	json_decref(error);
	return r;
}

static int refuse_reading(const struct continuation *c, int error)
{
	char text[128];

	snprintf(text, sizeof(text), "unable to read chunk: %s", fail_error_text(-error));
	return refuse(c, RPC_SERVER_ERROR, text);
}

static const char *get_handle(const json_t *params)
{
	const json_t *handle = json_object_get(params, "handle");
	const char *text = json_string_value(handle);

	if (!text || json_string_length(handle) != ENVELOPE_HANDLE ||
		strspn(text, "0123456789abcdef") != ENVELOPE_HANDLE)
		return NULL;
	return text;
}

static int release(const struct continuation *c, const char *handle)
{
	int r = store_remove(c->chunk->place, handle);

	return r < 0 ? refuse_reading(c, r) : answer(c, ",\"result\":", "null");
}

static int read_exactly(int fd, char *data, size_t len, uint64_t offset)
{
	while (len > 0) {
		ssize_t n = pread(fd, data, len, (off_t)offset);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -EIO;
		data += n;
		len -= (size_t)n;
		offset += (uint64_t)n;
	}
	return 0;
}

static int send_piece(const struct continuation *c, int fd, const struct envelope *envelope)
{
	size_t room;
	char *data;
	int r;

	if (envelope->offset >= envelope->total)
		return refuse(c, RPC_INVALID_PARAMS, "chunk offset is beyond the response");
	room = envelope_room(envelope, c->chunk->limit);
	if (room == 0)
		return refuse(c, RPC_INVALID_PARAMS, too_small);
	data = malloc(room);
	if (!data)
		return -ENOMEM;
	r = read_exactly(fd, data, room, envelope->offset);
	r = r < 0 ? refuse_reading(c, r) : envelope_write(c->out, envelope, data, room);
	free(data);
	return r < 0 ? -ENOMEM : 0;
}

static int continue_at(const struct continuation *c, const char *handle, uint64_t offset)
{
	struct envelope envelope = {c->id, handle, offset, 0};
	int fd = store_open(c->chunk->place, handle, &envelope.total), r;

	if (fd == -ENOENT)
		return refuse(c, RPC_SERVER_ERROR, "chunk handle not found");
	if (fd < 0)
		return refuse_reading(c, fd);
	r = send_piece(c, fd, &envelope);
	close(fd);
	return r;
}

int chunk_continue(const struct chunk *chunk, const struct rpc_request *req, struct buf *out)
{
	struct continuation c = {chunk, req->id ? req->id : "null", out};
	const json_t *remove, *offset;
	const char *handle;

	if (!json_is_object(req->params))
		return refuse(&c, RPC_INVALID_PARAMS, "chunk params must be an object");
	handle = get_handle(req->params);
	if (!handle)
		return refuse(&c, RPC_INVALID_PARAMS, "invalid chunk handle");
	remove = json_object_get(req->params, "release");
	if (json_is_true(remove))
		return release(&c, handle);
	if (remove)
		return refuse(&c, RPC_INVALID_PARAMS, "release must be true");
	offset = json_object_get(req->params, "offset");
	if (!json_is_integer(offset) || json_integer_value(offset) < 0)
		return refuse(&c, RPC_INVALID_PARAMS, "invalid chunk offset");
	return continue_at(&c, handle, (uint64_t)json_integer_value(offset));
}
