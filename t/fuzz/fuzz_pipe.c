/* SPDX-License-Identifier: MIT */
/* libFuzzer: any bytes on the stdin of "pipe", and any others from the server. It ends, and every
   line that asks for an answer gets one. The first byte says how many of the bytes are the
   server's. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "payloads/sandbox-tools/cli.h"
#include "payloads/sandbox-tools/tools.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define STREAM_MAX 4096 /* fits into a socket's buffer */

static struct {
	const uint8_t *data;
	size_t len;
	int peers[64], count;
} server;

static void need(bool truth)
{
	if (!truth)
		abort();
}

/* ---- what the command stands on ---- */

static void nothing(struct rpc_call *call)
{
	rpc_call_result(call, json_null());
}

const struct rpc_method *tools_find_method(const char *name, unsigned place)
{
	static const struct rpc_method methods[] = {
		{"here", RPC_IN_PROCESS, nothing},
		{"there", RPC_IN_SERVER, nothing},
		{NULL, 0, NULL},
	};

	return rpc_method_find(methods, name, place);
}

/* A server that says what it has to say and then no more, whatever it is asked. */
int cli_connect(const struct cli *cli, struct fail *fail)
{
	int pair[2];

	(void)cli;
	if (server.count == sizeof(server.peers) / sizeof(server.peers[0]))
		return fail_set(fail, "no more");
	need(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0);
	need(server.len == 0 || write(pair[1], server.data, server.len) == (ssize_t)server.len);
	need(shutdown(pair[1], SHUT_WR) == 0);
	server.peers[server.count++] = pair[1];
	return pair[0];
}

int cli_complain(const struct fail *fail)
{
	need(fail->text[0] != '\0');
	return 1;
}

int cli_find_user(const struct rpc_request *req, struct user *ret, struct fail *fail)
{
	(void)req;
	(void)ret;
	(void)fail;
	return 0;
}

int cli_become_user(const struct user *user, struct fail *fail)
{
	(void)user;
	return fail_set(fail, "nobody");
}

int cli_answer(const struct rpc_request *req, struct buf *reply)
{
	bool is_valid = rpc_request_is_valid(req);

	return is_valid && !req->id ? 0
				    : rpc_write_result(reply, is_valid ? req->id : NULL, req->doc);
}

/* ---- what is to be expected ---- */

static bool wants_answer(const char *line, size_t len)
{
	struct fail fail = FAIL_INIT;
	struct rpc_request req;
	char *copy = malloc(len + 1);
	bool wants = false;
	size_t blanks = 0;

	need(copy != NULL);
	memcpy(copy, line, len);
	while (blanks < len && memchr(" \t\r", line[blanks], 3))
		blanks++;
	if (blanks < len) {
		if (rpc_request_read(&req, copy, len, &fail) < 0)
			wants = true;
		else
			wants = !rpc_request_is_valid(&req) || req.id;
		rpc_request_release(&req);
	}
	free(copy);
	return wants;
}

static size_t count_wanted(const char *text, size_t len)
{
	size_t n = 0;

	while (len > 0) {
		const char *newline = memchr(text, '\n', len);
		size_t line = newline ? (size_t)(newline - text) : len;

		n += wants_answer(text, line);
		text += newline ? line + 1 : line;
		len -= newline ? line + 1 : line;
	}
	return n;
}

/* Every line is JSON, but for an id that is too large for the parser. */
static size_t count_lines(int fd)
{
	struct buf text = BUF_INIT(1 << 24);
	size_t n = 0;
	ssize_t got;

	need(lseek(fd, 0, SEEK_SET) == 0);
	do {
		need(buf_reserve(&text, 65536) == 0);
		got = read(fd, text.data + text.len, 65536);
		need(got >= 0);
		text.len += (size_t)got;
	} while (got > 0);
	for (size_t at = 0; at < text.len; n++) {
		char *line = text.data + at, *newline = memchr(line, '\n', text.len - at);
		size_t len;
		json_t *doc;

		need(newline != NULL);
		doc = json_loadb(line, (size_t)(newline - line), JSON_ALLOW_NUL, NULL);
		need(doc || rpc_find_number_id(line, (size_t)(newline - line), &len) >= 0);
		json_decref(doc);
		at += (size_t)(newline - line) + 1;
	}
	buf_release(&text);
	return n;
}

/* ---- the run ---- */

static void use_file(int fd)
{
	int file = memfd_create("stream", 0);

	need(file >= 0 && dup2(file, fd) == fd);
	if (file != fd)
		close(file);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct cli cli = {.argv0 = "t"};
	static bool started;
	size_t len;

	if (!started) {
		use_file(0);
		use_file(1);
		started = true;
	}
	if (size < 1 || size > STREAM_MAX)
		return 0;
	len = (size - 1) * data[0] / 255;
	server.data = data + 1;
	server.len = len;
	data += 1 + len;
	size -= 1 + len;
	need(ftruncate(0, 0) == 0 && pwrite(0, data, size, 0) == (ssize_t)size);
	need(ftruncate(1, 0) == 0 && lseek(0, 0, SEEK_SET) == 0 && lseek(1, 0, SEEK_SET) == 0);
	need(cli_pipe.run(&cli) == 0);
	if (len == 0)
		need(count_lines(1) == count_wanted((const char *)data, size));
	while (server.count > 0)
		close(server.peers[--server.count]);
	return 0;
}
