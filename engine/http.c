/* SPDX-License-Identifier: MIT */
#include "engine/http.h"

#include "engine/authorities.h"
#include "engine/clock.h"
#include "engine/log.h"
#include "engine/refusal.h"

#include <curl/curl.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

enum {
	CONNECT_TIMEOUT_MS = 5000,
	KEEPALIVE_S = 20, /* of silence over TCP before the other side is asked whether it lives */
	SEND_MAX = 16 << 10, /* what TLS makes one record of */
};

struct eng_http {
	const struct eng_endpoint *endpoint;
	CURL *easy;
	bool ignore_interrupt;
	bool kept;	/* the last exchange left its connection for the next */
	bool unlasting; /* but such a connection was gone, once */
	char problem[CURL_ERROR_SIZE];
};

struct eng_http_conn {
	CURL *easy;
	curl_socket_t fd;
	size_t held; /* of `out`: tried already, and not sent yet */
	char out[SEND_MAX];
	char problem[CURL_ERROR_SIZE];
};

struct transfer {
	const struct eng_http_req *req;
	struct eng_http_reply *reply;
	CURL *easy;
	struct sb_err err; /* of a callback */
	int sent;
};

static void free_curl_list(struct curl_slist **list)
{
	curl_slist_free_all(*list);
}

static void free_curl_text(char **text)
{
	curl_free(*text);
}

int eng_http_global_init(struct sb_err *err)
{
	if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
		return sb_err_set(err, SB_FAILED, "cannot initialise libcurl");
	return 0;
}

void eng_http_reply_release(struct eng_http_reply *reply)
{
	sb_buf_release(&reply->headers);
	sb_buf_release(&reply->body);
}

int eng_http_new(const struct eng_endpoint *endpoint, struct eng_http **ret, struct sb_err *err)
{
	struct eng_http *http = calloc(1, sizeof(*http));

	if (!http)
		return sb_err_nomem(err);
	http->endpoint = endpoint;
	http->easy = curl_easy_init();
	if (!http->easy) {
		free(http);
		return sb_err_nomem(err);
	}
	*ret = http;
	return 0;
}

void eng_http_free(struct eng_http *http)
{
	if (!http)
		return;
	curl_easy_cleanup(http->easy);
	free(http);
}

void eng_http_ignore_interrupt(struct eng_http *http, bool ignore)
{
	http->ignore_interrupt = ignore;
}

bool eng_http_is_interrupted(const struct eng_http *http)
{
	return eng_interrupted && !http->ignore_interrupt;
}

const struct eng_endpoint *eng_http_endpoint(const struct eng_http *http)
{
	return http->endpoint;
}

int eng_http_escape(struct sb_buf *buf, const char *text, struct sb_err *err)
{
	sb_auto(free_curl_text) char *escaped = curl_easy_escape(NULL, text, 0);

	return escaped ? sb_buf_adds(buf, escaped, err) : sb_err_nomem(err);
}

const char *eng_http_header(
	const struct eng_http_reply *reply, const char *name, char *value, size_t size)
{
	size_t name_len = strlen(name);

	for (const char *line = sb_buf_str(&reply->headers); *line;) {
		size_t len = strcspn(line, "\r\n");

		if (len > name_len && line[name_len] == ':' && !strncasecmp(line, name, name_len)) {
			const char *from = line + name_len + 1;

			from += strspn(from, " \t");
			snprintf(value, size, "%.*s", (int)(line + len - from), from);
			return value;
		}
		line += len + strspn(line + len, "\r\n");
	}
	return NULL;
}

int64_t eng_http_date(const struct eng_http_reply *reply)
{
	char value[64];
	time_t date = -1;

	if (eng_http_header(reply, "Date", value, sizeof(value)))
		date = curl_getdate(value, NULL);
	return date > 0 ? date : 0;
}

static bool ends_header(const struct sb_buf *headers)
{
	return headers->len >= 4 && !memcmp(headers->data + headers->len - 4, "\r\n\r\n", 4);
}

static size_t on_header(char *data, size_t one, size_t len, void *ctx)
{
	struct transfer *transfer = ctx;

	(void)one;
	if (len > 5 && !strncmp(data, "HTTP/", 5))
		sb_buf_reset(&transfer->reply->headers);
	else if (ends_header(&transfer->reply->headers))
		return len; /* a trailer */
	return sb_buf_add(&transfer->reply->headers, data, len, &transfer->err) < 0 ? 0 : len;
}

static size_t on_body(char *data, size_t one, size_t len, void *ctx)
{
	struct transfer *transfer = ctx;
	struct eng_http_reply *reply = transfer->reply;
	long status = 0;

	(void)one;
	curl_easy_getinfo(transfer->easy, CURLINFO_RESPONSE_CODE, &status);
	if (transfer->req->sink && status >= 200 && status < 300) {
		reply->stopped = transfer->req->sink(transfer->req->ctx, data, len) != 0;
		return reply->stopped ? 0 : len;
	}
	if (status >= 400)
		reply->body.max = SB_MAX_ERROR_REPLY;
	return sb_buf_add(&reply->body, data, len, &transfer->err) < 0 ? 0 : len;
}

/* What makes something the engine may have begun to make, when it does not answer. */
static bool is_repeatable(const struct eng_http_req *req)
{
	return !strcmp(req->method, "GET") || !strcmp(req->method, "HEAD");
}

/* When a kept connection ends before the answer, libcurl sends once more. */
static int on_send(void *ctx, char *to, char *from, int to_port, int from_port)
{
	struct transfer *transfer = ctx;

	(void)to, (void)from, (void)to_port, (void)from_port;
	if (transfer->sent++ > 0 && !is_repeatable(transfer->req))
		return CURL_PREREQFUNC_ABORT;
	return CURL_PREREQFUNC_OK;
}

/*
 * Some proxies hang up after each answer without having said so. A request that reaches them before
 * libcurl sees that is lost, and one that cannot be sent again would be for good: where a kept
 * connection was gone once, such a request gets one of its own.
 */
static void learn_to_keep(struct eng_http *http, bool whole)
{
	long made = 0;

	curl_easy_getinfo(http->easy, CURLINFO_NUM_CONNECTS, &made);
	http->unlasting |= http->kept && made > 0;
	http->kept = whole;
}

static int on_progress(
	void *ctx, curl_off_t down_total, curl_off_t down, curl_off_t up_total, curl_off_t up)
{
	(void)down_total, (void)down, (void)up_total, (void)up;
	return eng_http_is_interrupted(ctx);
}

static void set_tls(CURL *easy, const struct eng_endpoint *endpoint)
{
	const char *ca = endpoint->ca ? endpoint->ca : eng_authorities();

	curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, endpoint->tls_verify ? 1L : 0L);
	curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, endpoint->tls_verify ? 2L : 0L);
	if (ca) {
		curl_easy_setopt(easy, CURLOPT_CAINFO, ca);
		/* Else the system's authorities would count besides. */
		curl_easy_setopt(easy, CURLOPT_CAPATH, NULL);
	}
	if (endpoint->cert)
		curl_easy_setopt(easy, CURLOPT_SSLCERT, endpoint->cert);
	if (endpoint->key)
		curl_easy_setopt(easy, CURLOPT_SSLKEY, endpoint->key);
}

/* What every connection of ours has in common. The URL's path is set by the caller. */
static void set_common(CURL *easy, struct eng_http *http)
{
	const struct eng_endpoint *endpoint = http->endpoint;

	curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, http->problem);
	curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
	curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
	curl_easy_setopt(easy, CURLOPT_PROXY, "");
	curl_easy_setopt(easy, CURLOPT_PATH_AS_IS, 1L);
	curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, (long)CONNECT_TIMEOUT_MS);
	curl_easy_setopt(easy, CURLOPT_NOPROGRESS, 0L);
	curl_easy_setopt(easy, CURLOPT_XFERINFOFUNCTION, on_progress);
	curl_easy_setopt(easy, CURLOPT_XFERINFODATA, http);
	if (endpoint->socket)
		curl_easy_setopt(easy, CURLOPT_UNIX_SOCKET_PATH, endpoint->socket);
	/* Whoever has no time limit still learns that the other machine is gone. */
	curl_easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
	curl_easy_setopt(easy, CURLOPT_TCP_KEEPIDLE, (long)KEEPALIVE_S);
	curl_easy_setopt(easy, CURLOPT_TCP_KEEPINTVL, (long)KEEPALIVE_S / 4);
	if (endpoint->tls)
		set_tls(easy, endpoint);
}

static int make_url(const struct eng_endpoint *endpoint, const char *path, struct sb_buf *url,
	struct sb_err *err)
{
	return sb_buf_addf(url, err, "%s://%s%s%s", endpoint->tls ? "https" : "http",
		endpoint->socket ? "localhost" : endpoint->host, endpoint->prefix, path);
}

/* libcurl speaks of hosts and ports even for a Unix socket; the user gave a URL. */
static int fail_connect(CURLcode code, CURL *easy, const struct eng_endpoint *endpoint,
	const char *problem, struct sb_err *err)
{
	const struct eng_refusal *why;
	long number = 0;

	/* Else it may be of another of the host's addresses. */
	if (code == CURLE_COULDNT_CONNECT)
		curl_easy_getinfo(easy, CURLINFO_OS_ERRNO, &number);
	why = eng_refusal_find(ENG_AT_CONNECT, (int)number, "");
	/* libcurl's own words would tell of a host and a port. */
	if (endpoint->socket && !number)
		problem = "it closed the connection at once";
	if (number)
		problem = why->cause ? why->cause : strerror((int)number);
	return sb_err_set(err, why->code, "cannot reach the engine at '%s' (from %s): %s",
		endpoint->url, endpoint->why, problem);
}

static int fail_transfer(CURLcode code, CURL *easy, const struct eng_http *http,
	const struct eng_http_req *req, struct sb_err *err)
{
	const struct eng_endpoint *endpoint = http->endpoint;

	if (eng_http_is_interrupted(http))
		return sb_err_set(err, SB_INTERRUPTED, "interrupted");
	switch (code) {
	case CURLE_URL_MALFORMAT:
		return sb_err_set(err, SB_USAGE, "%s: '%s' is not a valid URL: %s", endpoint->why,
			endpoint->url, curl_easy_strerror(code));
	case CURLE_COULDNT_CONNECT:
	case CURLE_COULDNT_RESOLVE_HOST:
	case CURLE_SSL_CONNECT_ERROR:
	case CURLE_SSL_CERTPROBLEM:
	case CURLE_PEER_FAILED_VERIFICATION:
	case CURLE_SSL_CACERT_BADFILE:
		return fail_connect(code, easy, endpoint, http->problem, err);
	case CURLE_OPERATION_TIMEDOUT:
		return sb_err_set(err, SB_NO_ENGINE,
			"the engine at '%s' did not answer %s %s in time; it may be busy with "
			"this container; --timeout allows more",
			endpoint->url, req->method, req->path);
	case CURLE_OUT_OF_MEMORY:
		return sb_err_set(err, SB_NO_ENGINE,
			"out of memory, or oversized headers, in the reply to %s %s", req->method,
			req->path);
	case CURLE_ABORTED_BY_CALLBACK:
		return sb_err_set(err, SB_NO_ENGINE,
			"the engine at '%s' closed the connection during %s %s", endpoint->url,
			req->method, req->path);
	default:
		return sb_err_set(err, SB_NO_ENGINE,
			"no usable reply from the engine at '%s' to %s %s: %s", endpoint->url,
			req->method, req->path,
			http->problem[0] ? http->problem : curl_easy_strerror(code));
	}
}

void eng_http_trace(const struct eng_http_req *req, int status, size_t len, int64_t since)
{
	sb_log(SB_TRACE_HTTP, "%s %s -> %d, %zu bytes out, %zu in, %d ms", req->method, req->path,
		status, req->body_len, len, (int)(sb_now_ms() - since));
}

static int add_header(struct curl_slist **list, const char *line, struct sb_err *err)
{
	struct curl_slist *grown = curl_slist_append(*list, line);

	if (!grown)
		return sb_err_nomem(err);
	*list = grown;
	return 0;
}

static int set_request(
	CURL *easy, const struct eng_http_req *req, struct curl_slist **headers, struct sb_err *err)
{
	char type[128];

	if (!strcmp(req->method, "HEAD"))
		curl_easy_setopt(easy, CURLOPT_NOBODY, 1L);
	else if (strcmp(req->method, "GET") != 0) {
		curl_easy_setopt(easy, CURLOPT_POST, 1L);
		curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)req->body_len);
		curl_easy_setopt(easy, CURLOPT_POSTFIELDS, req->body ? req->body : "");
		curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, req->method);
		snprintf(type, sizeof(type), "Content-Type: %s", req->type);
		/* The whole body is ready: waiting for "100 Continue" would be a round trip. */
		if (add_header(headers, type, err) < 0 || add_header(headers, "Expect:", err) < 0)
			return -1;
	}
	curl_easy_setopt(easy, CURLOPT_HTTPHEADER, *headers);
	curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, (long)req->timeout_ms);
	return 0;
}

static void set_callbacks(CURL *easy, struct transfer *transfer)
{
	curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, on_header);
	curl_easy_setopt(easy, CURLOPT_HEADERDATA, transfer);
	curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_body);
	curl_easy_setopt(easy, CURLOPT_WRITEDATA, transfer);
	curl_easy_setopt(easy, CURLOPT_PREREQFUNCTION, on_send);
	curl_easy_setopt(easy, CURLOPT_PREREQDATA, transfer);
}

int eng_http_do(struct eng_http *http, const struct eng_http_req *req, struct eng_http_reply *reply,
	struct sb_err *err)
{
	struct transfer transfer = {
		.req = req, .reply = reply, .easy = http->easy, .err = SB_ERR_INIT};
	sb_auto(free_curl_list) struct curl_slist *headers = NULL;
	sb_autobuf struct sb_buf url = SB_BUF_INIT(SB_MAX_HEADERS);
	int64_t start = sb_now_ms();
	CURL *easy = http->easy;
	CURLcode code;
	long status = 0;

	curl_easy_reset(easy);
	http->problem[0] = '\0';
	reply->body.max = req->max_reply;
	set_common(easy, http);
	if (make_url(http->endpoint, req->path, &url, err) < 0 ||
		set_request(easy, req, &headers, err) < 0)
		return -1;
	curl_easy_setopt(easy, CURLOPT_URL, url.data);
	set_callbacks(easy, &transfer);
	curl_easy_setopt(
		easy, CURLOPT_FRESH_CONNECT, http->unlasting && !is_repeatable(req) ? 1L : 0L);
	code = curl_easy_perform(easy);
	learn_to_keep(http, code == CURLE_OK);
	curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
	curl_easy_setopt(easy, CURLOPT_HTTPHEADER, NULL);
	reply->status = (int)status;
	eng_http_trace(req, reply->status, reply->body.len, start);
	if (transfer.err.code != SB_OK) {
		*err = transfer.err;
		err->code = SB_NO_ENGINE;
		return sb_err_wrap(err, "the engine's answer to %s %s", req->method, req->path);
	}
	/* libcurl takes a header block that was cut off for a whole one. */
	if (code == CURLE_OK && !ends_header(&reply->headers))
		code = CURLE_GOT_NOTHING;
	if (code != CURLE_OK && !reply->stopped)
		return fail_transfer(code, easy, http, req, err);
	return 0;
}

/* ---- bare connections ---- */

void eng_http_disconnect(struct eng_http_conn *conn)
{
	if (!conn)
		return;
	curl_easy_cleanup(conn->easy);
	free(conn);
}

static void disconnectp(struct eng_http_conn **conn)
{
	eng_http_disconnect(*conn);
}

int eng_http_conn_fd(const struct eng_http_conn *conn)
{
	return conn->fd;
}

static const char *conn_problem(const struct eng_http_conn *conn, CURLcode code)
{
	return conn->problem[0] ? conn->problem : curl_easy_strerror(code);
}

/* A connection is reset where a program has not read what it was sent; what it said came before. */
static bool is_end(const struct eng_http_conn *conn, CURLcode code, size_t len)
{
	long number = 0;

	if (code == CURLE_RECV_ERROR)
		curl_easy_getinfo(conn->easy, CURLINFO_OS_ERRNO, &number);
	return code == CURLE_OK ? len == 0 : number == ECONNRESET;
}

int eng_http_recv(
	struct eng_http_conn *conn, void *data, size_t size, size_t *ret_len, struct sb_err *err)
{
	CURLcode code;

	*ret_len = 0;
	code = curl_easy_recv(conn->easy, data, size, ret_len);
	if (is_end(conn, code, *ret_len))
		return 1;
	if (code == CURLE_OK || code == CURLE_AGAIN)
		return 0;
	return sb_err_set(err, SB_NO_ENGINE, "the connection to the engine broke: %s",
		conn_problem(conn, code));
}

/* TLS that could not send wants the same bytes again, at the same address. */
int eng_http_send(struct eng_http_conn *conn, const void *data, size_t len, size_t *ret_len)
{
	CURLcode code;

	if (!conn->held) {
		conn->held = len < SEND_MAX ? len : SEND_MAX;
		memcpy(conn->out, data, conn->held);
	}
	*ret_len = 0;
	code = curl_easy_send(conn->easy, conn->out, conn->held, ret_len);
	if (code == CURLE_AGAIN)
		return 0;
	conn->held = 0;
	if (code == CURLE_OK)
		return 0;
	sb_log(SB_NOTE, "cannot send to the engine: %s", conn_problem(conn, code));
	return 1;
}

int eng_http_connect(struct eng_http *http, const struct eng_http_req *req,
	struct eng_http_conn **ret, struct sb_err *err)
{
	sb_auto(disconnectp) struct eng_http_conn *conn = calloc(1, sizeof(*conn));
	sb_autobuf struct sb_buf url = SB_BUF_INIT(SB_MAX_HEADERS);
	CURLcode code;

	if (!conn)
		return sb_err_nomem(err);
	conn->easy = curl_easy_init();
	if (!conn->easy)
		return sb_err_nomem(err);
	http->problem[0] = '\0';
	set_common(conn->easy, http);
	if (make_url(http->endpoint, "/", &url, err) < 0)
		return -1;
	curl_easy_setopt(conn->easy, CURLOPT_URL, url.data);
	if (req->timeout_ms > 0 && req->timeout_ms < CONNECT_TIMEOUT_MS)
		curl_easy_setopt(conn->easy, CURLOPT_CONNECTTIMEOUT_MS, (long)req->timeout_ms);
	curl_easy_setopt(conn->easy, CURLOPT_CONNECT_ONLY, 1L);
	code = curl_easy_perform(conn->easy);
	if (code == CURLE_OK)
		code = curl_easy_getinfo(conn->easy, CURLINFO_ACTIVESOCKET, &conn->fd);
	if (code != CURLE_OK)
		return fail_transfer(code, conn->easy, http, req, err);
	curl_easy_setopt(conn->easy, CURLOPT_ERRORBUFFER, conn->problem);
	*ret = sb_steal(conn);
	return 0;
}
