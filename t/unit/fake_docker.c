/* SPDX-License-Identifier: MIT */
/* Included by the tests that use it: every test is one program from one file. */
#include "t/unit/fake_docker.h"

#include "engine/http.h"
#include "payloads/catalogue.h"
#include "payloads/lib/sha256.h"
#include "payloads/lib/treesum.h"

#include <linux/sockios.h>
#include <sys/ioctl.h>

#include "t/unit/fake_container.c"
#include "t/unit/fake_engine.c"

#define FAKE_HELPER "fedcba9876543210fedcba9876543210fedcba9876543210fedcba9876543210"
#define FAKE_HTML "<html><body><h1>500 injected fault</h1></body></html>"
#define FAKE_OTHER_NONCE "\"nonce\":\"00000000000000000000000000000000\""

enum {
	FAKE_HALF_OF_IT = -1, /* as an amount */
	FAKE_STALL_MS = 3,    /* how long a request really waits that is not answered */
};

/* ---- the clock ---- */

static _Thread_local bool fake_is_engine;
static atomic_int_fast64_t fake_put_forward_ms;
/* Somebody does not answer; somebody is about to hang up. */
static atomic_bool fake_stalls, fake_hangs_up;
static atomic_bool fake_helps;		/* a helper is there */
static atomic_bool fake_felt;		/* an interrupt, by who waits */
static struct fake_docker *fake_docker; /* what eng_http_do asks whether it will answer */

int __real_clock_gettime(clockid_t clock, struct timespec *ret);
int __wrap_clock_gettime(clockid_t clock, struct timespec *ret);
int __wrap_nanosleep(const struct timespec *length, struct timespec *left);
int __real_shutdown(int fd, int how);
int __wrap_shutdown(int fd, int how);
int __real_poll(struct pollfd *slots, nfds_t count, int timeout_ms);
int __wrap_poll(struct pollfd *slots, nfds_t count, int timeout_ms);
int __real_eng_http_do(struct eng_http *http, const struct eng_http_req *req,
	struct eng_http_reply *reply, struct sb_err *err);
int __wrap_eng_http_do(struct eng_http *http, const struct eng_http_req *req,
	struct eng_http_reply *reply, struct sb_err *err);

/* The client's time passes only where it waits: a busy machine takes none of it. */
int __wrap_clock_gettime(clockid_t clock, struct timespec *ret)
{
	if (fake_is_engine)
		return __real_clock_gettime(clock, ret);
	ret->tv_sec = 1000000 + fake_put_forward_ms / 1000;
	ret->tv_nsec = fake_put_forward_ms % 1000 * 1000000;
	return 0;
}

/* The client's sending side ends; it goes on when the engine has seen that. */
int __wrap_shutdown(int fd, int how)
{
	struct pollfd slot = {.fd = fd};
	int before = fake_halves, rc = __real_shutdown(fd, how);

	for (int i = 0; rc == 0 && !fake_is_engine && fake_halves == before && i < 20000; i++) {
		if (__real_poll(&slot, 1, 0) > 0)
			break; /* the engine has hung up */
		usleep(100);
	}
	return rc;
}

int __wrap_nanosleep(const struct timespec *length, struct timespec *left)
{
	(void)left;
	fake_put_forward_ms += length->tv_sec * 1000 + length->tv_nsec / 1000000;
	return 0;
}

/* The engine has taken all that was sent, and waits for more: nothing will come. */
static bool fake_is_quiet(const struct pollfd *slots, nfds_t count)
{
	int unread = 0;

	for (nfds_t i = 0; i < count && unread == 0; i++)
		if (slots[i].fd >= 0 && ioctl(slots[i].fd, SIOCOUTQ, &unread) < 0)
			unread = 0;
	return unread == 0 && fake_idle == fake_alive;
}

/* A client that waits for an engine which does not answer does not wait. */
int __wrap_poll(struct pollfd *slots, nfds_t count, int timeout_ms)
{
	bool quiet = false;
	int ready = 0;

	if (fake_is_engine || timeout_ms == 0)
		return __real_poll(slots, count, timeout_ms);
	while (!ready && !quiet) {
		quiet = fake_is_quiet(slots, count);
		ready = __real_poll(slots, count, quiet ? 0 : 1);
		if (!ready && eng_interrupted && !atomic_exchange(&fake_felt, true))
			return 0;
	}
	if (!ready)
		fake_put_forward_ms += timeout_ms;
	return ready;
}

/* False: it takes too long. */
static bool fake_await(const atomic_bool *flag, bool value)
{
	for (int i = 0; *flag != value && i < 20000; i++)
		usleep(100);
	return *flag == value;
}

/* ---- requests ---- */

static const struct {
	const char *method, *below, *end; /* "/containers/<id>/archive…" */
} fake_routes[] = {
	[FAKE_PING] = {"GET", "/_ping", ""},
	[FAKE_INSPECT] = {"GET", "/containers/", "/json"},
	[FAKE_IMAGE] = {"GET", "/images/", "/json"},
	[FAKE_LOOK] = {"HEAD", "/containers/", "/archive"},
	[FAKE_PUT] = {"PUT", "/containers/", "/archive"},
	[FAKE_EXEC] = {"POST", "/containers/", "/exec"},
	[FAKE_START] = {"POST", "/exec/", "/start"},
	[FAKE_ENDED] = {"GET", "/exec/", "/json"},
	[FAKE_CREATE] = {"POST", "/containers/create", ""},
	[FAKE_ATTACH] = {"POST", "/containers/", "/attach"},
	[FAKE_LAUNCH] = {"POST", "/containers/", "/start"},
	[FAKE_DELETE] = {"DELETE", "/containers/", ""},
};

static const char *const fake_kind_words[] = {FAKE_KINDS(WIRE_WORD)};

static enum fake_kind fake_kind_of(const char *method, const char *target)
{
	const char *path = strncmp(target, "/v1.", 4) ? target : strchr(target + 1, '/');
	size_t len = strcspn(path, "?");

	for (size_t i = 0; i < FAKE_KIND_COUNT; i++) {
		size_t end = strlen(fake_routes[i].end);

		if (!strcmp(method, fake_routes[i].method) && len >= end &&
			!strncmp(path, fake_routes[i].below, strlen(fake_routes[i].below)) &&
			!strncmp(path + len - end, fake_routes[i].end, end))
			return (enum fake_kind)i;
	}
	return FAKE_KIND_COUNT;
}

struct fake_asked {
	char method[8], target[600];
	enum fake_kind kind;
	const char *body;
	size_t len;
};

static bool fake_take(struct fake_connection *c, struct fake_asked *ret)
{
	size_t begin = c->done, head;

	while (!(head = fake_head_len(c)))
		if (!fake_receive(c))
			return false;
	if (sscanf(c->got.data + begin, "%7s %599s", ret->method, ret->target) != 2 ||
		!fake_take_request(c, true))
		return false;
	ret->kind = fake_kind_of(ret->method, ret->target);
	ret->body = c->got.data + begin + head;
	ret->len = c->done - begin - head;
	return ret->kind < FAKE_KIND_COUNT;
}

/* ---- faults ---- */

enum fake_harm_at {
	FAKE_HANG_UP,	/* on the request, of whose body that much has come through */
	FAKE_INSTEAD,	/* `text` is the answer, and the end */
	FAKE_CUT_HEAD,	/* the answer ends after so many bytes */
	FAKE_CUT_BODY,	/* so many of its body, or of what a program says */
	FAKE_CUT_AFTER, /* the connection, not the answer */
	FAKE_STALL_ALL, /* the request is not carried out and not answered */
	FAKE_STALL_HEAD,
	FAKE_STALL_BODY,
	FAKE_LENGTH, /* is wrong by so much */
	FAKE_FRAME,  /* what a program says, `change`d */
	FAKE_EVENT,  /* `happen`s before the request is carried out */
};

struct fake_harm {
	const char *name;
	enum fake_harm_at at;
	int amount;
	const char *text;
	struct sb_buf (*change)(const char *line);
	void (*happen)(struct fake_docker *docker);
};

static void fake_add_frame(struct sb_buf *out, int stream, const char *text, size_t len)
{
	const char head[8] = {(char)stream, 0, 0, 0, (char)(len >> 24), (char)(len >> 16),
		(char)(len >> 8), (char)len};
	struct sb_err err = SB_ERR_INIT;

	fake_need(sb_buf_add(out, head, 8, &err) == 0 && sb_buf_add(out, text, len, &err) == 0,
		"frame");
}

static struct sb_buf fake_frame(int stream, const char *text)
{
	struct sb_buf out = SB_BUF_INIT(1 << 20);

	fake_add_frame(&out, stream, text, strlen(text));
	return out;
}

static struct sb_buf fake_plain(const char *line)
{
	return fake_frame(1, line);
}

static struct sb_buf fake_on_stderr(const char *line)
{
	return fake_frame(2, line);
}

static struct sb_buf fake_on_odd_stream(const char *line)
{
	return fake_frame(9, line);
}

static struct sb_buf fake_oversize(const char *line)
{
	struct sb_buf out = fake_frame(1, line);

	memset(out.data + 4, 0xff, 4);
	return out;
}

static struct sb_buf fake_swapped(const char *line)
{
	size_t half = strlen(line) / 2;
	struct sb_buf out = fake_frame(1, line + half);

	fake_add_frame(&out, 1, line, half);
	return out;
}

static struct sb_buf fake_with_empty(const char *line)
{
	struct sb_buf out = fake_frame(1, "");

	fake_add_frame(&out, 2, "", 0);
	fake_add_frame(&out, 1, line, strlen(line));
	return out;
}

/* A member gets another value of the same length. */
static struct sb_buf fake_replace(const char *line, const char *member, const char *value)
{
	struct sb_buf out = fake_frame(1, line);
	char *at = strstr(out.data + 8, member);

	if (at)
		memcpy(at + strlen(member), value, strlen(value));
	return out;
}

static struct sb_buf fake_with_nonce(const char *line)
{
	return fake_replace(line, "\"nonce\":\"", "00000000000000000000000000000000");
}

static struct sb_buf fake_with_digest(const char *line)
{
	return fake_replace(line, "\"sha256\":\"", "deadbeef");
}

/* What an engine says on stdout of a program that it could not start. */
static struct sb_buf fake_refusal(const char *line)
{
	(void)line;
	return fake_frame(1,
		"OCI runtime exec failed: exec failed: unable to start container process: "
		"permission denied\r\n");
}

/* While the program is at work. */
static struct sb_buf fake_interrupted(const char *line)
{
	eng_interrupted = 1;
	fake_await(&fake_felt, true);
	return fake_frame(1, line);
}

static void fake_stop_container(struct fake_docker *docker)
{
	docker->is_stopped = true;
	docker->container.service = FAKE_NO_SERVICE;
}

static void fake_delete_container(struct fake_docker *docker)
{
	docker->is_gone = true;
	docker->container.count = 0;
	docker->container.service = FAKE_NO_SERVICE;
}

static void fake_remove_beside(struct fake_docker *docker)
{
	fake_remove_all(&docker->container);
}

/* As root inside can. */
static void fake_clear_home(struct fake_docker *docker)
{
	fake_delete(&docker->container, "/" WIRE_HOME_NAME);
}

static void fake_interrupt(struct fake_docker *docker)
{
	(void)docker;
	eng_interrupted = 1;
}

#define FAKE_OK_JSON "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
#define FAKE_CLOSING(status, type, length, body)                                   \
	"HTTP/1.1 " status "\r\nContent-Type: " type "\r\nContent-Length: " length \
	"\r\nConnection: close\r\n\r\n" body

/* The names are those of t/live/proxy.py, where it has them. */
static const struct fake_harm fake_harms[] = {
	{"drop", FAKE_HANG_UP, 0, NULL, NULL, NULL},
	{"cut:req-body:half", FAKE_HANG_UP, FAKE_HALF_OF_IT, NULL, NULL, NULL},
	{"cut:resp:0", FAKE_CUT_HEAD, 0, NULL, NULL, NULL},
	{"cut:resp:20", FAKE_CUT_HEAD, 20, NULL, NULL, NULL},
	{"cut:resp-body:0", FAKE_CUT_BODY, 0, NULL, NULL, NULL},
	{"cut:resp-body:1", FAKE_CUT_BODY, 1, NULL, NULL, NULL},
	{"cut:resp-body:half", FAKE_CUT_BODY, FAKE_HALF_OF_IT, NULL, NULL, NULL},
	{"cut:after", FAKE_CUT_AFTER, 0, NULL, NULL, NULL},
	{"stall:req-body", FAKE_STALL_ALL, 0, NULL, NULL, NULL},
	{"stall:resp", FAKE_STALL_HEAD, 0, NULL, NULL, NULL},
	{"stall:resp-body", FAKE_STALL_BODY, 1, NULL, NULL, NULL},
	{"length:+10", FAKE_LENGTH, 10, NULL, NULL, NULL},
	{"length:-2", FAKE_LENGTH, -2, NULL, NULL, NULL},
	{"chunked:short", FAKE_INSTEAD, 0,
		FAKE_OK_JSON "Transfer-Encoding: chunked\r\n\r\n40\r\n{\"Id\":", NULL, NULL},
	{"chunked:bad", FAKE_INSTEAD, 0,
		FAKE_OK_JSON "Transfer-Encoding: chunked\r\n\r\nzz\r\n{\"Id\":\"x\"}\r\n0\r\n\r\n",
		NULL, NULL},
	{"reply:500", FAKE_INSTEAD, 0,
		FAKE_CLOSING("500 Internal Server Error", "text/html", "53", FAKE_HTML), NULL,
		NULL},
	{"reply:404", FAKE_INSTEAD, 0,
		FAKE_CLOSING("404 Not Found", "application/json", "32",
			"{\"message\":\"injected fault 404\"}\n"),
		NULL, NULL},
	{"garbage", FAKE_INSTEAD, 0, "\1\2\3\4 garbage \377\376\r\n\r\nand more of it\r\n", NULL,
		NULL},
	{"frame:oversize", FAKE_FRAME, 0, NULL, fake_oversize, NULL},
	{"frame:stream", FAKE_FRAME, 0, NULL, fake_on_odd_stream, NULL},
	{"frame:stderr", FAKE_FRAME, 0, NULL, fake_on_stderr, NULL},
	{"frame:swap", FAKE_FRAME, 0, NULL, fake_swapped, NULL},
	{"frame:empty", FAKE_FRAME, 0, NULL, fake_with_empty, NULL},
	{"frame:nonce", FAKE_FRAME, 0, NULL, fake_with_nonce, NULL},
	{"frame:digest", FAKE_FRAME, 0, NULL, fake_with_digest, NULL},
	{"frame:refusal", FAKE_FRAME, 0, NULL, fake_refusal, NULL},
	{"interrupted:late", FAKE_FRAME, 0, NULL, fake_interrupted, NULL},
	{"stopped", FAKE_EVENT, 0, NULL, NULL, fake_stop_container},
	{"deleted", FAKE_EVENT, 0, NULL, NULL, fake_delete_container},
	{"removed", FAKE_EVENT, 0, NULL, NULL, fake_remove_beside},
	{"cleared", FAKE_EVENT, 0, NULL, NULL, fake_clear_home},
	{"interrupted", FAKE_EVENT, 0, NULL, NULL, fake_interrupt},
};

const struct fake_harm *fake_harm_find(const char *name)
{
	for (size_t i = 0; i < SB_ARRAY_SIZE(fake_harms); i++)
		if (!strcmp(fake_harms[i].name, name))
			return &fake_harms[i];
	return NULL;
}

bool fake_changes(const struct fake_harm *harm)
{
	return harm->at == FAKE_EVENT && harm->happen != fake_interrupt;
}

static bool fake_is_harmed(const struct fake_fault *fault, enum fake_kind kind, int nth)
{
	return fault->harm && fault->kind == kind &&
	       (nth == fault->nth || (fault->lasting && nth > fault->nth));
}

/* Counts the request. The harm that is done to it, or NULL. */
static const struct fake_harm *fake_note(struct fake_docker *docker, enum fake_kind kind)
{
	const struct fake_harm *harm = NULL;
	int nth = ++docker->counts[kind];
	char *word = docker->log[docker->log_count];

	if (docker->log_count < FAKE_MAX_LOG - 1)
		docker->log_count++;
	snprintf(word, sizeof(docker->log[0]), nth > 1 ? "%s%d" : "%s", fake_kind_words[kind], nth);
	if (fake_is_harmed(&docker->fault, kind, nth)) {
		harm = docker->fault.harm;
		docker->applied++;
	}
	return harm;
}

static bool fake_is_stall(const struct fake_harm *harm)
{
	return harm && harm->at >= FAKE_STALL_ALL && harm->at <= FAKE_STALL_BODY;
}

/* A helper whose client has not waited for it takes back what it brought nevertheless. */
static void fake_await_helper(const struct eng_http_req *req)
{
	const struct fake_fault *fault = &fake_docker->fault;

	if (fake_kind_of(req->method, req->path) == FAKE_DELETE && fault->kind == FAKE_ATTACH &&
		fake_is_stall(fault->harm))
		fake_await(&fake_helps, false);
}

/* An engine that will not answer is waited for without waiting. */
static bool fake_will_stall(const struct eng_http_req *req)
{
	enum fake_kind kind = fake_kind_of(req->method, req->path);
	const struct fake_fault *fault = &fake_docker->fault;
	bool ret;

	pthread_mutex_lock(&fake_docker->mutex);
	ret = kind < FAKE_KIND_COUNT &&
	      fake_is_harmed(fault, kind, fake_docker->counts[kind] + 1) &&
	      fake_is_stall(fault->harm);
	pthread_mutex_unlock(&fake_docker->mutex);
	return ret;
}

int __wrap_eng_http_do(struct eng_http *http, const struct eng_http_req *req,
	struct eng_http_reply *reply, struct sb_err *err)
{
	struct eng_http_req brief = *req;
	int ret;

	fake_await(&fake_hangs_up, false);
	fake_await_helper(req);
	fake_stalls = false;
	if (!fake_will_stall(req))
		return __real_eng_http_do(http, req, reply, err);
	brief.timeout_ms = FAKE_STALL_MS;
	do { /* until it has come there */
		sb_err_clear(err);
		ret = __real_eng_http_do(http, &brief, reply, err);
	} while (!fake_await(&fake_stalls, true));
	fake_stalls = false;
	fake_put_forward_ms += req->timeout_ms;
	return ret;
}

/* ---- answers ---- */

/* Until the client goes. */
static void fake_drain(struct fake_connection *c)
{
	while (fake_receive(c))
		;
}

static void fake_hang_up(struct fake_connection *c)
{
	shutdown(c->fd, SHUT_WR);
	fake_hangs_up = false;
	fake_drain(c);
}

static void fake_stall(struct fake_connection *c)
{
	fake_stalls = true;
	fake_drain(c);
}

static size_t fake_amount(const struct fake_harm *harm, size_t len)
{
	size_t amount = harm->amount == FAKE_HALF_OF_IT ? len / 2 : (size_t)harm->amount;

	return amount < len ? amount : len;
}

/* A head, a body, or both at once. False: the connection is done. */
static bool fake_give(struct fake_connection *c, const struct fake_harm *harm, const char *data,
	size_t head, size_t body)
{
	enum fake_harm_at at = harm ? harm->at : FAKE_EVENT;
	bool in_head = head && (at == FAKE_CUT_HEAD || at == FAKE_STALL_HEAD);
	bool in_body = body && (at == FAKE_CUT_BODY || at == FAKE_STALL_BODY);
	size_t limit = in_head	 ? fake_amount(harm, head + body)
		       : in_body ? head + fake_amount(harm, body)
				 : head + body;

	bool sent = fake_send(c, data, limit);

	/* also where the client has not waited for the part: it asks until it was stalled */
	if ((in_head || in_body) && (at == FAKE_STALL_HEAD || at == FAKE_STALL_BODY))
		fake_stall(c);
	return sent && !in_head && !in_body;
}

struct fake_said {
	const char *status, *headers;
	char *body; /* or NULL */
	bool is_stream;
};

static long fake_length(const struct fake_harm *harm, size_t len)
{
	long ret = (long)len + (harm && harm->at == FAKE_LENGTH ? harm->amount : 0);

	return ret > 0 ? ret : 0;
}

static bool fake_say(
	struct fake_connection *c, const struct fake_harm *harm, const struct fake_said *said)
{
	const char *body = said->body ? said->body : "";
	bool lasts = !harm || (harm->at != FAKE_CUT_AFTER && harm->at != FAKE_LENGTH), good;
	char *text = NULL;
	int len = asprintf(&text, "HTTP/1.1 %s\r\n%sContent-Length: %ld\r\n\r\n%s", said->status,
		said->headers ? said->headers : "", fake_length(harm, strlen(body)), body);

	fake_need(len >= 0, "answer");
	fake_hangs_up = !lasts;
	good = fake_give(c, harm, text, (size_t)len - strlen(body), strlen(body));
	free(text);
	if (!good || !lasts)
		fake_hang_up(c);
	return good && lasts;
}

static char *fake_text_of(const char *form, ...) sb_printf(1, 2);

static char *fake_text_of(const char *form, ...)
{
	char *text = NULL;
	va_list args;

	va_start(args, form);
	fake_need(vasprintf(&text, form, args) >= 0, "text");
	va_end(args);
	return text;
}

static struct fake_said fake_message(const char *status, const char *message)
{
	return (struct fake_said){
		.status = status, .body = fake_text_of("{\"message\":\"%s\"}", message)};
}

/* ---- what the engine does ---- */

static bool fake_is_about_helper(const struct fake_asked *asked)
{
	return strstr(asked->target, "/containers/" FAKE_HELPER) ||
	       strstr(asked->target, "/containers/sbinject-graft-");
}

static struct fake_said fake_inspect_helper(const struct fake_docker *docker)
{
	return (struct fake_said){.status = "200 OK",
		.body = fake_text_of("{\"Id\":\"" FAKE_HELPER
				     "\",\"State\":{\"Status\":\"running\","
				     "\"Running\":true},\"Config\":{\"Labels\":{\"sbinject.graft\":"
				     "\"" FAKE_ID "\",\"sbinject.run\":\"%s\"}}}",
			docker->helper_run)};
}

static struct fake_said fake_inspect(struct fake_docker *docker)
{
	const char *state = docker->is_stopped ? "exited" : "running";

	return (struct fake_said){.status = "200 OK",
		.body = fake_text_of("{\"Id\":\"" FAKE_ID
				     "\",\"Name\":\"/x\",\"Image\":\"sha256:" FAKE_ID "\","
				     "\"State\":{\"Status\":\"%s\",\"StartedAt\":\"start %d\"},"
				     "\"Config\":{\"User\":\"%s\",\"Image\":\"busybox\"},"
				     "\"HostConfig\":{\"ReadonlyRootfs\":%s}}",
			state, docker->started, docker->user,
			docker->read_only ? "true" : "false")};
}

/* Blanks at the end of JSON are nothing. */
static char *fake_base64(const char *text)
{
	static const char alphabet[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	size_t len = strlen(text);
	char *ret = calloc(1, len / 3 * 4 + 5), *to = ret;

	for (size_t i = 0; i < len; i += 3) {
		unsigned bits = 0;

		for (size_t k = 0; k < 3; k++)
			bits = bits << 8 | (i + k < len ? (unsigned char)text[i + k] : ' ');
		for (int k = 3; k >= 0; k--)
			*to++ = alphabet[bits >> (6 * k) & 63];
	}
	return ret;
}

/* The path that is asked for, with nothing in it but what needs no more than "%2F". */
static struct fake_name fake_path_of(const char *target)
{
	const char *from = strstr(target, "?path=") + 6;
	struct fake_name ret;
	size_t len = 0;

	for (; *from && len + 1 < sizeof(ret.text); len++) {
		bool is_slash = !strncmp(from, "%2F", 3);

		ret.text[len] = is_slash ? '/' : *from;
		from += is_slash ? 3 : 1;
	}
	ret.text[len] = '\0';
	return ret;
}

static struct fake_said fake_look(struct fake_docker *docker, const struct fake_asked *asked)
{
	static const unsigned modes[] = {1u << 31 | 0700, 0755, 1u << 27 | 0777};
	struct fake_path *found = fake_find(&docker->container, fake_path_of(asked->target).text);
	static _Thread_local char header[1200];
	char *stat, *text;

	if (!found)
		return (struct fake_said){.status = "404 Not Found"};
	stat = fake_text_of("{\"mode\":%u,\"size\":%zu,\"linkTarget\":\"%s%s\"}",
		modes[found->type], docker->container.size,
		found->text[0] == '/' ? "" : "/" WIRE_HOME_NAME "/", found->text);
	text = fake_base64(stat);
	snprintf(header, sizeof(header), "X-Docker-Container-Path-Stat: %s\r\n", text);
	free(stat);
	free(text);
	return (struct fake_said){.status = "200 OK", .headers = header};
}

static struct fake_said fake_put(struct fake_docker *docker, const struct fake_asked *asked)
{
	struct fake_container *to =
		fake_is_about_helper(asked) ? &docker->helper : &docker->container;

	fake_unpack(to, fake_path_of(asked->target).text, asked->body, asked->len);
	return (struct fake_said){.status = "200 OK"};
}

static struct fake_said fake_exec(struct fake_docker *docker, const struct fake_asked *asked)
{
	json_t *doc = json_loadb(asked->body, asked->len, 0, NULL);
	struct fake_exec *exec = &docker->execs[docker->exec_count];
	const char *path, *command;

	if (!doc || docker->exec_count == FAKE_MAX_EXECS) {
		json_decref(doc);
		return fake_message("400 Bad Request", "invalid JSON");
	}
	if (docker->is_stopped) {
		json_decref(doc);
		return fake_message("409 Conflict", "container " FAKE_ID " is not running");
	}
	fake_need(json_unpack(doc, "{s:[ss]}", "Cmd", &path, &command) == 0, "exec");
	snprintf(exec->path, sizeof(exec->path), "%s", path);
	snprintf(exec->command, sizeof(exec->command), "%s", command);
	exec->as_user = !json_object_get(doc, "User");
	json_decref(doc);
	return (struct fake_said){.status = "201 Created",
		.body = fake_text_of("{\"Id\":\"e%zx\"}", docker->exec_count++)};
}

/* Of "/v1.51/exec/e7/start". */
static struct fake_exec *fake_exec_of(struct fake_docker *docker, const struct fake_asked *asked)
{
	return &docker->execs[strtoul(strstr(asked->target, "/exec/e") + 7, NULL, 16)];
}

static struct fake_said fake_ended(struct fake_docker *docker, const struct fake_asked *asked)
{
	return (struct fake_said){.status = "200 OK",
		.body = fake_text_of("{\"Running\":false,\"Pid\":1,\"ExitCode\":%d}",
			fake_exec_of(docker, asked)->status)};
}

static struct fake_said fake_create(struct fake_docker *docker, const struct fake_asked *asked)
{
	json_t *doc = json_loadb(asked->body, asked->len, 0, NULL);
	const char *run = NULL;

	if (!doc || docker->has_helper) {
		json_decref(doc);
		return doc ? fake_message("409 Conflict", "the name is in use")
			   : fake_message("400 Bad Request", "invalid JSON");
	}
	fake_need(json_unpack(doc, "{s:{s:s}}", "Labels", "sbinject.run", &run) == 0, "create");
	snprintf(docker->helper_run, sizeof(docker->helper_run), "%s", run);
	json_decref(doc);
	docker->has_helper = true;
	docker->helper.count = 0;
	return (struct fake_said){
		.status = "201 Created", .body = fake_text_of("{\"Id\":\"" FAKE_HELPER "\"}")};
}

static struct fake_said fake_delete_helper(struct fake_docker *docker)
{
	docker->has_helper = false;
	return (struct fake_said){.status = "204 No Content"};
}

static struct fake_said fake_carry_out(struct fake_docker *docker, const struct fake_asked *asked)
{
	bool helper = fake_is_about_helper(asked);

	if (asked->kind != FAKE_PING && asked->kind != FAKE_IMAGE && asked->kind != FAKE_CREATE &&
		(helper ? !docker->has_helper : docker->is_gone))
		return fake_message("404 Not Found", "No such container: x");
	switch (asked->kind) {
	case FAKE_PING:
		return (struct fake_said){.status = "200 OK",
			.headers = "Api-Version: 1.51\r\nServer: Docker/29.5.1 (linux)\r\n",
			.body = strdup("OK")};
	case FAKE_INSPECT:
		return helper ? fake_inspect_helper(docker) : fake_inspect(docker);
	case FAKE_IMAGE:
		return (struct fake_said){.status = "200 OK",
			.body = fake_text_of(
				"{\"Os\":\"linux\",\"Architecture\":\"%s\"}", payload_own_arch())};
	case FAKE_LOOK:
		return fake_look(docker, asked);
	case FAKE_PUT:
		return fake_put(docker, asked);
	case FAKE_EXEC:
		return fake_exec(docker, asked);
	case FAKE_ENDED:
		return fake_ended(docker, asked);
	case FAKE_CREATE:
		return fake_create(docker, asked);
	case FAKE_DELETE:
		return fake_delete_helper(docker);
	case FAKE_LAUNCH:
		return (struct fake_said){.status = "204 No Content"};
	case FAKE_START:
		if (docker->is_stopped)
			return fake_message("409 Conflict", "container is not running");
		break;
	default:
		break;
	}
	return (struct fake_said){.is_stream = true};
}

/* ---- programs ---- */

/* The next line of input, parsed: NULL at its end. */
static json_t *fake_read_line(struct fake_connection *c)
{
	const char *from, *end;
	json_t *doc;

	do {
		from = sb_buf_str(&c->got) + c->done;
		end = strchr(from, '\n');
	} while (!end && fake_receive(c));
	if (!end)
		return NULL;
	doc = json_loadb(from, (size_t)(end - from), 0, NULL);
	c->done += (size_t)(end - from) + 1;
	return doc;
}

static bool fake_print(struct fake_connection *c, const struct fake_harm *harm, const char *line)
{
	struct sb_buf out = (harm && harm->at == FAKE_FRAME ? harm->change : fake_plain)(line);
	bool lasts = fake_give(c, harm, out.data, 0, out.len);

	sb_buf_release(&out);
	return lasts;
}

static bool fake_pipe(struct fake_connection *c, const struct fake_harm *harm)
{
	bool lasts = true;
	json_t *request;

	while (lasts && (request = fake_read_line(c))) {
		const char *id = json_string_value(json_object_get(request, "id"));
		char *line = fake_text_of(
			"{\"jsonrpc\":\"2.0\",\"id\":\"%s\",\"result\":1}\n", id ? id : "");

		lasts = fake_print(c, harm, line);
		free(line);
		json_decref(request);
	}
	return lasts;
}

/* Content that follows a line: false where the stream ends in it. */
static bool fake_read_content(struct fake_connection *c, size_t size, char hex[SHA256_HEX])
{
	while (c->got.len - c->done < size)
		if (!fake_receive(c))
			return false;
	sha256_hex(sb_buf_str(&c->got) + c->done, size, hex);
	c->done += size;
	return true;
}

/* One thing of a tree. 1: it was the end; -1: the stream ends. */
static int fake_read_thing(struct fake_connection *c, const json_t *line, struct treesum *sum)
{
	const char *dir = json_string_value(json_object_get(line, WIRE_DIR));
	const char *file = json_string_value(json_object_get(line, WIRE_FILE));
	bool exec = json_is_true(json_object_get(line, WIRE_EXEC));
	size_t size = (size_t)json_integer_value(json_object_get(line, WIRE_SIZE));
	char hex[SHA256_HEX];

	if (!line || json_is_true(json_object_get(line, WIRE_END)))
		return line ? 1 : -1;
	if (dir)
		return treesum_add(sum, TREESUM_DIR, dir, 0, NULL);
	fake_need(file != NULL, "thing");
	return fake_read_content(c, size, hex)
		       ? treesum_add(sum, exec ? TREESUM_EXEC : TREESUM_FILE, file, size, hex)
		       : -1;
}

/* The stream of a tree, and its digest; false: it ends before its end. */
static bool fake_read_tree(struct fake_connection *c, char hex[SHA256_HEX])
{
	struct treesum sum = TREESUM_INIT;
	int ret = 0;

	while (ret == 0) {
		json_t *line = fake_read_line(c);

		ret = fake_read_thing(c, line, &sum);
		json_decref(line);
	}
	treesum_end(&sum, hex);
	treesum_release(&sum);
	return ret > 0;
}

/* The answer to `unpack` behind the one that asks for the stream. */
static bool fake_receive_tree(struct fake_connection *c, struct fake_docker *docker,
	const struct fake_harm *harm, const json_t *question)
{
	char hex[SHA256_HEX], *answer, *line;
	bool whole = fake_read_tree(c, hex), lasts;

	pthread_mutex_lock(&docker->mutex);
	answer = fake_unpacked(&docker->container, question, whole ? hex : NULL);
	pthread_mutex_unlock(&docker->mutex);
	line = fake_text_of("%s\n", answer);
	lasts = fake_print(c, harm, line);
	free(answer);
	free(line);
	return lasts;
}

/* One question, one receipt. */
static bool fake_converse(struct fake_connection *c, struct fake_docker *docker,
	const struct fake_harm *harm, const char *command, bool as_user, json_t **ret_question)
{
	json_t *question = *ret_question = fake_read_line(c);
	char *answer, *line;
	bool lasts, wants;

	if (!question)
		return false;
	pthread_mutex_lock(&docker->mutex);
	answer = docker->is_stopped || docker->is_gone
			 ? NULL
			 : fake_answer(&docker->container, command, as_user, question);
	pthread_mutex_unlock(&docker->mutex);
	if (!answer)
		return false;
	line = fake_text_of("%s\n", answer);
	wants = strstr(line, "\"" WIRE_SEND "\":true") != NULL;
	lasts = fake_print(c, wants && docker->spares_question ? NULL : harm, line);
	free(answer);
	free(line);
	/* what did not start takes nothing */
	if (harm && harm->change == fake_refusal && !docker->spares_question)
		return lasts;
	return lasts && wants ? fake_receive_tree(c, docker, harm, question) : lasts;
}

/* Whether it is ours. */
static bool fake_begin_program(struct fake_docker *docker, struct fake_exec *exec)
{
	const struct fake_path *program;
	bool is_there, is_ours;

	pthread_mutex_lock(&docker->mutex);
	program = fake_find(&docker->container, exec->path);
	is_there = program && program->type == FAKE_FILE;
	is_ours = is_there && program->ours;
	exec->status = is_ours ? 0 : is_there ? 3 : 127;
	if (is_ours)
		fake_forget_delivery(&docker->container, exec->path, exec->command);
	pthread_mutex_unlock(&docker->mutex);
	return is_ours;
}

static bool fake_run(struct fake_connection *c, struct fake_docker *docker,
	const struct fake_harm *harm, const struct fake_asked *asked)
{
	struct fake_exec *exec = fake_exec_of(docker, asked);
	json_t *question = NULL;
	bool is_ours = fake_begin_program(docker, exec), lasts;

	if (exec->status == 127)
		return fake_print(c, harm,
			"OCI runtime exec failed: exec failed: unable to start container process: "
			"exec: stat: no such file or directory: unknown\r\n");
	if (!is_ours)
		return fake_print(c, harm, "who is there?\n");
	if (!strcmp(exec->command, WIRE_GREET))
		return fake_print(c, harm, "inspect-sandbox-tools 0.1.0\n");
	if (!strcmp(exec->command, WIRE_PIPE))
		return fake_pipe(c, harm);
	lasts = fake_converse(c, docker, harm, exec->command, exec->as_user, &question);
	json_decref(question);
	return lasts;
}

/* The helper: it is killed when it is deleted, and takes back what it brought otherwise. */
static bool fake_help(
	struct fake_connection *c, struct fake_docker *docker, const struct fake_harm *harm)
{
	json_t *question = NULL;
	bool lasts;

	fake_helps = true;
	lasts = fake_converse(c, docker, harm, WIRE_GRAFT, false, &question);
	if (lasts)
		fake_drain(c);
	pthread_mutex_lock(&docker->mutex);
	if (docker->has_helper && question)
		fake_take_back(&docker->container, question);
	docker->has_helper = false;
	fake_helps = false;
	pthread_mutex_unlock(&docker->mutex);
	json_decref(question);
	return lasts;
}

static void fake_stream(struct fake_connection *c, struct fake_docker *docker,
	const struct fake_harm *harm, const struct fake_asked *asked)
{
	static const char head[] =
		"HTTP/1.1 101 UPGRADED\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n";
	bool lasts = fake_give(c, harm, head, sizeof(head) - 1, 0);

	if (lasts)
		lasts = asked->kind == FAKE_ATTACH ? fake_help(c, docker, harm)
						   : fake_run(c, docker, harm, asked);
	fake_hang_up(c);
}

/* ---- the engine ---- */

static bool fake_obey(struct fake_connection *c, struct fake_docker *docker,
	const struct fake_harm *harm, const struct fake_asked *asked)
{
	struct fake_said said;
	bool lasts;

	pthread_mutex_lock(&docker->mutex);
	if (harm && harm->at == FAKE_EVENT)
		harm->happen(docker);
	said = fake_carry_out(docker, asked);
	pthread_mutex_unlock(&docker->mutex);
	if (said.is_stream) {
		fake_stream(c, docker, harm, asked);
		return false;
	}
	lasts = fake_say(c, harm, &said);
	free(said.body);
	return lasts;
}

/* The engine may have got a part of the body. */
static void fake_obey_part(
	struct fake_docker *docker, const struct fake_harm *harm, const struct fake_asked *asked)
{
	struct fake_asked part = *asked;

	part.len = fake_amount(harm, asked->len);
	if (part.len == 0)
		return;
	pthread_mutex_lock(&docker->mutex);
	if (part.kind == FAKE_PUT)
		fake_put(docker, &part);
	pthread_mutex_unlock(&docker->mutex);
}

static bool fake_exchange(struct fake_connection *c, struct fake_docker *docker)
{
	const struct fake_harm *harm;
	struct fake_asked asked;

	if (!fake_take(c, &asked))
		return false;
	pthread_mutex_lock(&docker->mutex);
	harm = fake_note(docker, asked.kind);
	pthread_mutex_unlock(&docker->mutex);
	if (harm && harm->at == FAKE_HANG_UP) {
		fake_obey_part(docker, harm, &asked);
		fake_hang_up(c);
	} else if (harm && harm->at == FAKE_INSTEAD) {
		fake_send(c, harm->text, strlen(harm->text));
		fake_hang_up(c);
	} else if (harm && harm->at == FAKE_STALL_ALL) {
		fake_stall(c);
	} else {
		return fake_obey(c, docker, harm, &asked);
	}
	return false;
}

static void fake_serve_docker(struct fake_connection *c, void *ctx)
{
	fake_is_engine = true;
	while (fake_exchange(c, ctx))
		;
}

void fake_docker_start(struct fake_docker *docker, struct fake_fault fault)
{
	docker->fault = fault;
	docker->applied = 0;
	docker->log_count = docker->exec_count = 0;
	memset(docker->counts, 0, sizeof(docker->counts));
	pthread_mutex_init(&docker->mutex, NULL);
	fake_stalls = fake_hangs_up = fake_helps = fake_felt = false;
	fake_docker = docker;
	docker->engine = fake_start_serving(fake_serve_docker, docker);
}

void fake_docker_stop(struct fake_docker *docker)
{
	fake_free(docker->engine);
	pthread_mutex_destroy(&docker->mutex);
}
