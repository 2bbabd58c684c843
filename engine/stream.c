/* SPDX-License-Identifier: MIT */
#include "engine/stream.h"

#include "engine/clock.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

enum { WAIT_SLICE_MS = 200 }; /* how often a wait looks at the interrupt flag */

struct eng_stream {
	const struct eng_http *http;
	struct eng_http_conn *conn; /* owned */
	struct sb_buf early;	    /* came together with the header */
};

void eng_stream_close(struct eng_stream *stream)
{
	if (!stream)
		return;
	eng_http_disconnect(stream->conn);
	sb_buf_release(&stream->early);
	free(stream);
}

static void stream_closep(struct eng_stream **stream)
{
	eng_stream_close(*stream);
}

int eng_stream_fd(const struct eng_stream *stream)
{
	return eng_http_conn_fd(stream->conn);
}

void eng_stream_wait(struct eng_stream *stream, short events, int timeout_ms)
{
	struct pollfd slot = {.fd = eng_stream_fd(stream), .events = events};

	(void)poll(&slot, 1, timeout_ms < WAIT_SLICE_MS ? timeout_ms : WAIT_SLICE_MS);
}

/* 1: the end. *ret_len 0: nothing is there. */
static int recv_now(
	struct eng_stream *stream, void *data, size_t size, size_t *ret_len, struct sb_err *err)
{
	if (!stream->early.len)
		return eng_http_recv(stream->conn, data, size, ret_len, err);
	*ret_len = stream->early.len < size ? stream->early.len : size;
	memcpy(data, stream->early.data, *ret_len);
	sb_buf_consume(&stream->early, *ret_len);
	return 0;
}

int eng_stream_recv(struct eng_stream *stream, void *data, size_t size, int timeout_ms,
	size_t *ret_len, struct sb_err *err)
{
	int64_t deadline = sb_now_ms() + timeout_ms;

	for (;;) {
		int ret = recv_now(stream, data, size, ret_len, err);
		int left;

		if (ret || *ret_len)
			return ret;
		if (eng_http_is_interrupted(stream->http))
			return sb_err_set(err, SB_INTERRUPTED, "interrupted");
		left = sb_left_ms(deadline, timeout_ms);
		if (left == 0)
			return 0;
		eng_stream_wait(stream, POLLIN, left);
	}
}

int eng_stream_send(struct eng_stream *stream, const void *data, size_t len, size_t *ret_len,
	struct sb_err *err)
{
	size_t sent = 1;

	for (*ret_len = 0; sent && *ret_len < len; *ret_len += sent)
		if (eng_http_send(
			    stream->conn, (const char *)data + *ret_len, len - *ret_len, &sent)) {
			*ret_len = 0;
			return 1;
		}
	return eng_http_is_interrupted(stream->http)
		       ? sb_err_set(err, SB_INTERRUPTED, "interrupted")
		       : 0;
}

int eng_stream_half_close(struct eng_stream *stream, struct sb_err *err)
{
	if (shutdown(eng_stream_fd(stream), SHUT_WR) < 0 && errno != ENOTCONN)
		return sb_err_set(
			err, SB_NO_ENGINE, "cannot close the program's input: %s", strerror(errno));
	return 0;
}

/* ---- the upgrade ---- */

static int send_all(
	struct eng_stream *stream, const struct sb_buf *text, int64_t deadline, struct sb_err *err)
{
	for (size_t done = 0; done < text->len;) {
		size_t len;
		int ret = eng_stream_send(stream, text->data + done, text->len - done, &len, err);

		if (ret)
			return ret < 0 ? -1
				       : sb_err_set(err, SB_NO_ENGINE,
						 "the engine closed the connection during the "
						 "request");
		done += len;
		if (len)
			continue;
		if (sb_left_ms(deadline, 1) == 0)
			return sb_err_set(
				err, SB_NO_ENGINE, "the engine did not accept the request in time");
		eng_stream_wait(stream, POLLOUT, sb_left_ms(deadline, WAIT_SLICE_MS));
	}
	return 0;
}

/* Something more of a reply's header. */
static int recv_more(
	struct eng_stream *stream, struct sb_buf *raw, int64_t deadline, struct sb_err *err)
{
	char chunk[4096];
	size_t len;
	int ret = eng_stream_recv(
		stream, chunk, sizeof(chunk), sb_left_ms(deadline, INT_MAX), &len, err);

	if (ret < 0)
		return -1;
	if (len > raw->max - raw->len)
		return sb_err_set(
			err, SB_NO_ENGINE, "the headers of the engine's reply are too large");
	if (len && sb_buf_add(raw, chunk, len, err) < 0)
		return -1;
	if (ret == 1)
		return sb_err_set(
			err, SB_NO_ENGINE, "the engine closed the connection without a reply");
	if (len == 0)
		return sb_err_set(err, SB_NO_ENGINE, "the engine did not answer in time");
	return 0;
}

/* Read to the blank line; what follows it stays in stream->early. */
static int recv_header(struct eng_stream *stream, struct eng_http_reply *reply, int64_t deadline,
	struct sb_err *err)
{
	sb_autobuf struct sb_buf raw = SB_BUF_INIT(SB_MAX_HEADERS);
	const char *end;
	size_t head;

	do {
		if (recv_more(stream, &raw, deadline, err) < 0)
			return -1;
		end = memmem(raw.data, raw.len, "\r\n\r\n", 4);
	} while (!end);
	head = (size_t)(end - raw.data) + 4;
	if (sb_buf_add(&reply->headers, raw.data, head, err) < 0)
		return -1;
	return sb_buf_add(&stream->early, raw.data + head, raw.len - head, err);
}

/* Put the pieces of a chunked body together in place, up to the first one that is cut off or odd.
 */
static void join_chunks(struct sb_buf *body)
{
	size_t from = 0, to = 0;

	for (;;) {
		char *end;
		size_t len = strtoul(sb_buf_str(body) + from, &end, 16);
		size_t start = (size_t)(end - sb_buf_str(body)) + 2;

		if (start > body->len || end[0] != '\r' || len == 0 || len > body->len - start)
			break;
		memmove(body->data + to, body->data + start, len);
		to += len;
		from = start + len + 2;
		if (from >= body->len)
			break;
	}
	body->len = to;
	if (body->data)
		body->data[to] = '\0';
}

static bool is_whole(const struct sb_buf *body, bool chunked, size_t expected)
{
	static const char last[] = "0\r\n\r\n";

	if (!chunked)
		return body->len >= expected;
	return body->len >= 5 && !memcmp(body->data + body->len - 5, last, 5);
}

/* The body of a refusal: to its length, its last chunk, or the end of the connection. */
static int recv_refusal(struct eng_stream *stream, struct eng_http_reply *reply, int64_t deadline,
	struct sb_err *err)
{
	char value[32], chunk[4096];
	size_t expected = SIZE_MAX;
	bool chunked = eng_http_header(reply, "Transfer-Encoding", value, sizeof(value)) &&
		       !strcasecmp(value, "chunked");

	if (eng_http_header(reply, "Content-Length", value, sizeof(value)))
		expected = strtoul(value, NULL, 10);
	reply->body.max = SB_MAX_ERROR_REPLY;
	while (!is_whole(&reply->body, chunked, expected)) {
		size_t len;
		int ret = eng_stream_recv(
			stream, chunk, sizeof(chunk), sb_left_ms(deadline, 2000), &len, err);

		if (ret < 0)
			return -1;
		if (len > reply->body.max - reply->body.len)
			return sb_err_set(
				err, SB_NO_ENGINE, "the engine's error reply is too large");
		if (len && sb_buf_add(&reply->body, chunk, len, err) < 0)
			return -1;
		if (ret == 1 || len == 0)
			break;
	}
	if (chunked)
		join_chunks(&reply->body);
	return 0;
}

static int parse_status(struct eng_http_reply *reply, struct sb_err *err)
{
	unsigned minor;

	if (sscanf(sb_buf_str(&reply->headers), "HTTP/1.%1u %3d", &minor, &reply->status) != 2)
		return sb_err_set(err, SB_NO_ENGINE, "the engine's reply is not HTTP");
	return 0;
}

static int add_request(const struct eng_endpoint *endpoint, const struct eng_http_req *req,
	struct sb_buf *text, struct sb_err *err)
{
	if (sb_buf_addf(text, err,
		    "%s %s%s HTTP/1.1\r\nHost: %s\r\nUser-Agent: sbinject\r\n"
		    "Connection: Upgrade\r\nUpgrade: tcp\r\nContent-Type: %s\r\n"
		    "Content-Length: %zu\r\n\r\n",
		    req->method, endpoint->prefix, req->path,
		    endpoint->socket ? "localhost" : endpoint->host, req->type, req->body_len) < 0)
		return -1;
	return sb_buf_add(text, req->body, req->body_len, err);
}

static int stream_connect(struct eng_http *http, const struct eng_http_req *req,
	struct eng_stream **ret, struct sb_err *err)
{
	sb_auto(stream_closep) struct eng_stream *stream = calloc(1, sizeof(*stream));

	if (!stream)
		return sb_err_nomem(err);
	stream->http = http;
	stream->early.max = SB_MAX_HEADERS;
	if (eng_http_connect(http, req, &stream->conn, err) < 0)
		return -1;
	*ret = sb_steal(stream);
	return 0;
}

int eng_stream_open(struct eng_http *http, const struct eng_http_req *req, struct eng_stream **ret,
	struct eng_http_reply *reply, struct sb_err *err)
{
	sb_auto(stream_closep) struct eng_stream *stream = NULL;
	sb_autobuf struct sb_buf text = SB_BUF_INIT(SB_MAX_HEADERS + req->body_len);
	int64_t start = sb_now_ms(), deadline = sb_deadline(req->timeout_ms);

	*ret = NULL;
	if (stream_connect(http, req, &stream, err) < 0 ||
		add_request(eng_http_endpoint(http), req, &text, err) < 0)
		return -1;
	if (send_all(stream, &text, deadline, err) < 0 ||
		recv_header(stream, reply, deadline, err) < 0 || parse_status(reply, err) < 0)
		return sb_err_wrap(err, "%s %s", req->method, req->path);
	eng_http_trace(req, reply->status, 0, start);
	if (reply->status != 101 && reply->status != 200)
		return recv_refusal(stream, reply, deadline, err);
	*ret = sb_steal(stream);
	return 0;
}
