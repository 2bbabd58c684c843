/* SPDX-License-Identifier: MIT */
/* wrap: malloc calloc realloc strdup strndup asprintf realpath opendir fdopendir json_loadb */
/* wrap: output_add */
/*
 * Every allocation of every method fails in turn, alone or with all that follow: one answer each
 * time, a result or an error, nothing lost that was not answered, no leak, and the next request
 * works.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "payloads/lib/io.h"
#include "payloads/lib/tree.h"
#include "payloads/sandbox-tools/bash_session/output.h"
#include "payloads/sandbox-tools/child/child.h"
#include "payloads/sandbox-tools/chunk/chunk.h"
#include "payloads/sandbox-tools/server/server.h"
#include "payloads/sandbox-tools/text_editor/history.h"
#include "payloads/sandbox-tools/tools.h"
#include "t/unit/fail_alloc.h"

#define MANY 3000 /* no request needs so many allocations */

/* ---- the allocator ---- */

char *__real_strndup(const char *text, size_t len);
char *__real_realpath(const char *path, char *resolved);
DIR *__real_opendir(const char *path);
DIR *__real_fdopendir(int fd);
json_t *__real_json_loadb(const char *text, size_t len, size_t flags, json_error_t *error);
char *__wrap_strndup(const char *text, size_t len);
int __wrap_asprintf(char **ret, const char *format, ...);
char *__wrap_realpath(const char *path, char *resolved);
DIR *__wrap_opendir(const char *path);
DIR *__wrap_fdopendir(int fd);
json_t *__wrap_json_loadb(const char *text, size_t len, size_t flags, json_error_t *error);

char *__wrap_strndup(const char *text, size_t len)
{
	return fails() ? NULL : __real_strndup(text, len);
}

int __wrap_asprintf(char **ret, const char *format, ...)
{
	va_list args;
	int r;

	if (fails())
		return -1;
	va_start(args, format);
	r = vasprintf(ret, format, args);
	va_end(args);
	return r;
}

char *__wrap_realpath(const char *path, char *resolved)
{
	return !resolved && fails() ? NULL : __real_realpath(path, resolved);
}

DIR *__wrap_opendir(const char *path)
{
	return fails() ? NULL : __real_opendir(path);
}

DIR *__wrap_fdopendir(int fd)
{
	return fails() ? NULL : __real_fdopendir(fd);
}

/* As a whole: unlike the one of the program (payloads/toolchain.sh) the system's parser does not
   survive the failure of a part. */
json_t *__wrap_json_loadb(const char *text, size_t len, size_t flags, json_error_t *error)
{
	bool was = armed;
	json_t *doc;

	if (fails())
		return NULL;
	armed = false;
	doc = __real_json_loadb(text, len, flags, error);
	armed = was;
	return doc;
}

/* ---- a server without a socket ---- */

static struct server server;
static struct loop_watch signals;
static struct loop_timer limit;
static const char *asking;

static void on_signal(struct loop_watch *watch, uint32_t events)
{
	struct signalfd_siginfo info;

	(void)events;
	assert_int_equal(io_read(watch->fd, &info, sizeof(info)), sizeof(info));
	children_reap(server.children);
}

static void on_limit(struct loop_timer *timer)
{
	(void)timer;
	armed = false;
	fail_msg("no answer: %s, allocation %ld%s", asking, left, lasting ? " and all after" : "");
}

static void run_loop(void)
{
	limit.due = on_limit;
	loop_set_timer(&server.loop, &limit, 15000);
	server.loop.stopped = false;
	assert_int_equal(loop_run(&server.loop), 0);
	loop_clear_timer(&server.loop, &limit);
}

static void stop_loop(void *cookie)
{
	(void)cookie;
	loop_stop(&server.loop);
}

static void on_pause(struct loop_timer *timer)
{
	(void)timer;
	loop_stop(&server.loop);
}

static void pause_for(int ms)
{
	struct loop_timer timer = {.due = on_pause};

	loop_set_timer(&server.loop, &timer, ms);
	run_loop();
}

static void begin(void)
{
	sigset_t set;

	memset(&server, 0, sizeof(server));
	server.argv0 = "t";
	server.self = -1;
	assert_int_equal(loop_open(&server.loop), 0);
	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signals.fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	signals.ready = on_signal;
	assert_int_equal(loop_watch(&server.loop, &signals, EPOLLIN), 0);
	server.children = children_new(&server.loop, 022);
	assert_non_null(server.children);
}

static void finish(void)
{
	server_stop_tools(&server);
	children_end_all(server.children, 0, 5000, stop_loop, NULL);
	run_loop();
	/* each one takes at least one event: the last words of MCP servers end */
	for (int i = 0; i < 8; i++)
		pause_for(0);
	server_close_tools(&server);
	children_free(server.children);
	loop_unwatch(&server.loop, &signals);
	close(signals.fd);
	loop_close(&server.loop);
}

/* ---- requests ---- */

struct answer {
	struct rpc_call call; /* first */
	int count;
	char text[4096];
	size_t len;
};

static void deliver(struct rpc_call *call, const char *text, size_t len)
{
	struct answer *answer = (struct answer *)call;

	answer->count++;
	answer->len = len < sizeof(answer->text) ? len : sizeof(answer->text) - 1;
	memcpy(answer->text, text, answer->len);
	rpc_request_release(&call->req);
	armed = false;
	if (call->host)
		loop_stop(&server.loop);
}

static json_t *read_answer(const struct answer *answer)
{
	json_t *doc = json_loadb(answer->text, answer->len, 0, NULL);

	if (!doc)
		fail_msg("no JSON: %.*s", (int)answer->len, answer->text);
	return doc;
}

static json_t *send_to(unsigned place, const char *method, const char *params, bool failing)
{
	struct answer answer = {.call = {.deliver = deliver}};
	char text[1024];
	int len = snprintf(text, sizeof(text),
		"{\"jsonrpc\":\"2.0\",\"id\":\"an-id\",\"method\":\"%s\",\"params\":%s}", method,
		params);

	assert_in_range(len, 1, sizeof(text) - 1);
	answer.call.host = place == RPC_IN_SERVER ? &server : NULL;
	asking = method;
	server.loop.stopped = false;
	armed = failing;
	rpc_dispatch_text(tools_find_method, place, &answer.call, text, (size_t)len);
	if (answer.count == 0)
		run_loop();
	armed = false;
	assert_int_equal(answer.count, 1);
	return read_answer(&answer);
}

static int error_code(const json_t *doc)
{
	return (int)json_integer_value(json_object_get(json_object_get(doc, "error"), "code"));
}

/* Works, or the test has failed. */
static json_t *ask(const char *method, const char *params)
{
	json_t *doc = send_to(RPC_IN_SERVER, method, params, false);

	if (!json_object_get(doc, "result")) {
		char *text = json_dumps(doc, 0);

		fail_msg("%s: %s", method, text);
	}
	return doc;
}

/* With failing allocations: a result, or NULL for an error that is one of memory. */
static json_t *try_at(unsigned place, const char *method, const char *params)
{
	json_t *doc = send_to(place, method, params, true);
	int code = error_code(doc);
	const char *id = json_string_value(json_object_get(doc, "id"));

	if (json_object_get(doc, "result")) {
		assert_string_equal(id, "an-id");
		return doc;
	}
	if (code != RPC_HANDLER_ERROR && code != RPC_INTERNAL_ERROR && code != RPC_TOOL_FAILURE &&
		code != RPC_PARSE_ERROR)
		fail_msg("%s: code %d", method, code);
	/* what could not even be read cannot be named */
	if (code != RPC_PARSE_ERROR && !(lasting && code == RPC_INTERNAL_ERROR && !id) &&
		(!id || strcmp(id, "an-id") != 0))
		fail_msg("%s: %s", method, json_dumps(doc, 0));
	json_decref(doc);
	return NULL;
}

static json_t *try(const char *method, const char *params)
{
	return try_at(RPC_IN_SERVER, method, params);
}

static const char *result_text(const json_t *doc, const char *name)
{
	const json_t *result = json_object_get(doc, "result");

	return json_string_value(name ? json_object_get(result, name) : result);
}

/* Runs 'scenario' again and again, until no allocation is left to fail. */
static void sweep(void (*scenario)(void))
{
	for (int all = 0; all < 2; all++) {
		long n = 0;

		do {
			assert_in_range(n, 0, MANY);
			lasting = all;
			left = n++;
			tripped = false;
			begin();
			scenario();
			finish();
		} while (tripped);
		assert_true(n > 3);
	}
}

/* ---- exec_remote ---- */

static int start(const char *params)
{
	json_t *doc = ask("exec_remote_start", params);
	int pid = (int)json_integer_value(json_object_get(json_object_get(doc, "result"), "pid"));

	json_decref(doc);
	assert_true(pid > 0);
	return pid;
}

static const char *about(int pid, const char *more)
{
	static char text[200];

	snprintf(text, sizeof(text), "{\"pid\":%d,\"ack_seq\":0%s}", pid, more);
	return text;
}

/* Polls to the end, and compares. */
static void expect_end(int pid, const char *out, int code)
{
	for (;;) {
		json_t *doc = ask("exec_remote_poll", about(pid, "")), *result;
		bool over;

		result = json_object_get(doc, "result");
		over = strcmp(result_text(doc, "state"), "running") != 0;
		if (over) {
			assert_string_equal(result_text(doc, "state"), "completed");
			assert_string_equal(result_text(doc, "stdout"), out);
			assert_int_equal(
				json_integer_value(json_object_get(result, "exit_code")), code);
		}
		json_decref(doc);
		if (over)
			return;
	}
}

static void start_scenario(void)
{
	json_t *doc = try("exec_remote_start",
		"{\"command\":\"cat; echo $A\",\"input\":\"hello\\n\",\"env\":{\"A\":\"b\"},"
		"\"cwd\":\"/\",\"request_id\":\"r\"}");

	if (doc) {
		int pid = (int)json_integer_value(
			json_object_get(json_object_get(doc, "result"), "pid"));

		expect_end(pid, "hello\nb\n", 0);
	}
	json_decref(doc);
	expect_end(start("{\"command\":\"echo ok\"}"), "ok\n", 0);
}

static void test_exec_remote_start__survives_each_failing_allocation(void **state)
{
	(void)state;
	sweep(start_scenario);
}

static void poll_scenario(void)
{
	int pid = start("{\"command\":\"echo out; exit 3\"}");
	json_t *doc;

	pause_for(60);
	doc = try("exec_remote_poll", about(pid, ""));
	if (!doc || strcmp(result_text(doc, "state"), "running") == 0)
		expect_end(pid, "out\n", 3);
	else
		assert_string_equal(result_text(doc, "stdout"), "out\n");
	json_decref(doc);
}

static void test_exec_remote_poll__loses_nothing_at_any_failing_allocation(void **state)
{
	(void)state;
	sweep(poll_scenario);
}

static void kill_scenario(void)
{
	int pid = start("{\"command\":\"echo out; exec sleep 100\"}");
	json_t *doc = try("exec_remote_kill", about(pid, ""));

	if (!doc) {
		/* it is killed, or still there to be */
		doc = send_to(RPC_IN_SERVER, "exec_remote_kill", about(pid, ""), false);
		assert_true(error_code(doc) == 0 || error_code(doc) == RPC_TOOL_FAILURE);
	}
	json_decref(doc);
	for (int i = 0; i < 500 && kill(pid, 0) == 0; i++)
		pause_for(10);
	assert_int_equal(kill(pid, 0), -1);
}

static void test_exec_remote_kill__survives_each_failing_allocation(void **state)
{
	(void)state;
	sweep(kill_scenario);
}

static void stdin_scenario(void)
{
	int pid = start("{\"command\":\"cat\",\"stdin_open\":true}");
	json_t *doc = try("exec_remote_write_stdin", about(pid, ",\"data\":\"first\\n\""));
	bool written = doc;

	json_decref(doc);
	json_decref(ask("exec_remote_close_stdin", about(pid, "")));
	doc = ask("exec_remote_poll", about(pid, ""));
	/* who was told of an error may write it again */
	assert_string_equal(result_text(doc, "stdout"), written ? "first\n" : "");
	json_decref(doc);
}

static void test_exec_remote_write_stdin__writes_once_or_fails(void **state)
{
	(void)state;
	sweep(stdin_scenario);
}

static void close_scenario(void)
{
	int pid = start("{\"command\":\"cat\",\"stdin_open\":true}");

	json_decref(try("exec_remote_close_stdin", about(pid, "")));
	json_decref(ask("exec_remote_close_stdin", about(pid, "")));
	expect_end(pid, "", 0);
}

static void test_exec_remote_close_stdin__survives_each_failing_allocation(void **state)
{
	(void)state;
	sweep(close_scenario);
}

/* ---- bash_session ---- */

#define SAY(input, wait)                                              \
	"{\"session_name\":\"BashSession\",\"wait_for_output\":" wait \
	",\"idle_timeout\":0,\"input\":\"" input "\"}"

static void session_scenario(void)
{
	json_t *doc = try("bash_session_new_session", "{}");
	const char *wanted = "BashSession";

	if (!doc) {
		doc = ask("bash_session_new_session", "{}");
		/* there may be one already, which there was no memory to tell of */
		assert_memory_equal(result_text(doc, "session_name"), wanted, strlen(wanted));
	} else {
		assert_string_equal(result_text(doc, "session_name"), wanted);
	}
	json_decref(doc);
}

static void test_bash_session_new_session__survives_each_failing_allocation(void **state)
{
	(void)state;
	sweep(session_scenario);
}

static void open_session(void)
{
	json_decref(ask("bash_session_new_session", "{}"));
}

/* What the session has said so far contains it; or tells that something was dropped, which is right
 * where it may have been said while memory failed. */
static void expect_said(json_t *doc, const char *wanted, bool may_drop)
{
	for (int i = 0; i < 20; i++) {
		const char *said = doc ? result_text(doc, NULL) : "";
		bool found = strstr(said, wanted) || (may_drop && strstr(said, "bytes omitted]"));

		json_decref(doc);
		if (found)
			return;
		doc = ask("bash_session", SAY("", "1"));
	}
	json_decref(doc);
	fail_msg("'%s' is lost", wanted);
}

/* The end of what shells have said to the server. */
static char heard[256];

void __real_output_add(struct output *output, const char *data, size_t len);
void __wrap_output_add(struct output *output, const char *data, size_t len);

void __wrap_output_add(struct output *output, const char *data, size_t len)
{
	size_t had = strlen(heard), more = len < sizeof(heard) / 2 ? len : sizeof(heard) / 2;

	if (had + more >= sizeof(heard)) {
		memmove(heard, heard + more, had - more);
		had -= more;
	}
	memcpy(heard + had, data + len - more, more);
	heard[had + more] = '\0';
	__real_output_add(output, data, len);
}

/* What arrives while memory fails may be dropped, which the reply says; what has arrived must not.
   So the shell speaks once the request that told it to is answered, and the next comes when it has.
 */
static void output_scenario(void)
{
	char say[256];
	int go[2];

	heard[0] = '\0';
	assert_int_equal(pipe2(go, O_CLOEXEC), 0);
	snprintf(say, sizeof(say), SAY("PS1=; read x </proc/%d/fd/%d; echo so''mething\\n", "0"),
		(int)getpid(), go[0]);
	open_session();
	json_decref(ask("bash_session", say));
	assert_int_equal(write(go[1], "\n", 1), 1);
	for (int i = 0; i < 6000 && !strstr(heard, "something"); i++)
		pause_for(5);
	close(go[0]);
	close(go[1]);
	expect_said(try("bash_session", SAY("", "1")), "something", false);
}

static void test_bash_session__loses_no_output_at_any_failing_allocation(void **state)
{
	(void)state;
	sweep(output_scenario);
}

static void input_scenario(void)
{
	json_t *doc;

	open_session();
	doc = try("bash_session", SAY("echo so''mething\\n", "1"));
	if (!doc)
		doc = ask("bash_session", SAY("echo so''mething\\n", "1"));
	expect_said(doc, "something", true);
}

static void test_bash_session__survives_each_failing_allocation(void **state)
{
	(void)state;
	sweep(input_scenario);
}

static void restart_scenario(void)
{
	open_session();
	json_decref(try("bash_session", "{\"session_name\":\"BashSession\",\"restart\":true}"));
	expect_said(ask("bash_session", SAY("echo so''mething\\n", "1")), "something", false);
}

static void test_bash_session_restart__survives_each_failing_allocation(void **state)
{
	(void)state;
	sweep(restart_scenario);
}

/* ---- mcp ---- */

#define SERVER                                                                             \
	"{\"server_params\":{\"command\":\"sh\",\"args\":[\"-c\",\"while read l; do echo " \
	"'{\\\"jsonrpc\\\":\\\"2.0\\\",\\\"id\\\":\\\"x\\\",\\\"result\\\":{}}'; done\"]," \
	"\"env\":{\"PATH\":\"/usr/bin:/bin\"},\"cwd\":\"/\"}}"
#define REQUEST(id)           \
	"{\"session_id\":" id \
	",\"request\":{\"jsonrpc\":\"2.0\",\"id\":\"x\",\"method\":\"m\",\"params\":{\"a\":1}}}"

static void launch_scenario(void)
{
	json_t *doc = try("mcp_launch_server", SERVER);

	if (!doc)
		doc = ask("mcp_launch_server", SERVER);
	assert_in_range(json_integer_value(json_object_get(doc, "result")), 0, 1);
	json_decref(doc);
}

static void test_mcp_launch_server__survives_each_failing_allocation(void **state)
{
	(void)state;
	sweep(launch_scenario);
}

static void request_scenario(void)
{
	json_t *doc;

	json_decref(ask("mcp_launch_server", SERVER));
	doc = try("mcp_send_request", REQUEST("0"));
	json_decref(doc);
	if (doc)
		return;
	/* the session works on, or says that it does not */
	doc = send_to(RPC_IN_SERVER, "mcp_send_request", REQUEST("0"), false);
	assert_true(json_object_get(doc, "result") || error_code(doc) == RPC_HANDLER_ERROR);
	json_decref(doc);
	json_decref(ask("mcp_launch_server", SERVER));
	json_decref(ask("mcp_send_request", REQUEST("1")));
}

static void test_mcp_send_request__is_answered_at_each_failing_allocation(void **state)
{
	(void)state;
	sweep(request_scenario);
}

static void notification_scenario(void)
{
	json_decref(ask("mcp_launch_server", SERVER));
	json_decref(try("mcp_send_notification",
		"{\"session_id\":0,\"notification\":{\"jsonrpc\":\"2.0\",\"method\":\"n\"}}"));
	json_decref(try("mcp_kill_server", "{\"session_id\":0}"));
}

static void test_mcp_send_notification__survives_each_failing_allocation(void **state)
{
	(void)state;
	sweep(notification_scenario);
}

static void mcp_kill_scenario(void)
{
	json_decref(ask("mcp_launch_server", SERVER));
	json_decref(try("mcp_kill_server", "{\"session_id\":0}"));
}

static void test_mcp_kill_server__survives_each_failing_allocation(void **state)
{
	(void)state;
	sweep(mcp_kill_scenario);
}

/* ---- the server itself ---- */

static void describe_scenario(void)
{
	json_decref(try("remote_version", "{}"));
	json_decref(try("sandbox_tools_describe", "{}"));
	json_decref(ask("sandbox_tools_describe", "{}"));
}

static void test_server_methods__survive_each_failing_allocation(void **state)
{
	(void)state;
	sweep(describe_scenario);
}

/* ---- text_editor ---- */

static char dir[] = "/tmp/oom-XXXXXX";
#define OLD "one\ntwo\nthree\n"

static void put_file(const char *text)
{
	FILE *file = fopen("f", "w");

	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

/* The file is as it was or as it should be, and nothing lies beside it. */
static void expect_file(const char *changed, bool done)
{
	FILE *file = fopen("f", "r");
	DIR *list = opendir(".");
	char text[100] = "";
	int entries = 0;
	size_t n;

	assert_non_null(file);
	n = fread(text, 1, sizeof(text) - 1, file);
	text[n] = '\0';
	fclose(file);
	if (done || strcmp(text, OLD) != 0)
		assert_string_equal(text, changed);
	assert_non_null(list);
	for (struct dirent *entry; (entry = readdir(list));)
		entries += entry->d_name[0] != '.' ||
			   strncmp(entry->d_name, ".sbinject-edit", 14) == 0;
	closedir(list);
	assert_int_equal(entries, 1);
}

/* True if it worked. */
static bool edit(const char *params, bool failing)
{
	json_t *doc = failing ? try_at(RPC_IN_PROCESS, "text_editor", params)
			      : send_to(RPC_IN_PROCESS, "text_editor", params, false);
	bool worked = json_object_get(doc, "result");

	json_decref(doc);
	return worked;
}

static void view_scenario(void)
{
	put_file(OLD);
	edit("{\"command\":\"view\",\"path\":\"f\"}", true);
	expect_file(OLD, true);
	edit("{\"command\":\"view\",\"path\":\".\"}", true);
}

static void replace_scenario(void)
{
	bool worked;

	put_file(OLD);
	worked = edit("{\"command\":\"str_replace\",\"path\":\"f\",\"old_str\":\"two\","
		      "\"new_str\":\"2\\t\"}",
		true);
	expect_file("one\n2\t\nthree\n", worked);
}

static void insert_scenario(void)
{
	bool worked;

	put_file(OLD);
	worked = edit("{\"command\":\"insert\",\"path\":\"f\",\"insert_line\":1,\"new_str\":"
		      "\"x\"}",
		true);
	expect_file("one\nx\ntwo\nthree\n", worked);
}

static void undo_scenario(void)
{
	bool worked;

	put_file("old\n");
	assert_true(edit("{\"command\":\"str_replace\",\"path\":\"f\",\"old_str\":\"old\","
			 "\"new_str\":\"one\\ntwo\\nthree\"}",
		false));
	worked = edit("{\"command\":\"undo_edit\",\"path\":\"f\"}", true);
	expect_file("old\n", worked);
}

static void create_scenario(void)
{
	unlink("f");
	if (!edit("{\"command\":\"create\",\"path\":\"f\",\"file_text\":\"new\\n\"}", true) &&
		access("f", F_OK) < 0)
		assert_true(edit("{\"command\":\"create\",\"path\":\"f\",\"file_text\":"
				 "\"new\\n\"}",
			false));
	expect_file("new\n", true);
}

static void test_text_editor__leaves_the_old_file_or_the_new_one(void **state)
{
	(void)state;
	sweep(view_scenario);
	sweep(replace_scenario);
	sweep(insert_scenario);
	sweep(undo_scenario);
	sweep(create_scenario);
}

/* ---- chunks ---- */

/* One step with failing allocations: 0, or -1. */
static int store(struct chunk *chunk, const char *text, struct buf *out)
{
	struct fail fail = FAIL_INIT;
	int r;

	armed = true;
	r = chunk_first(chunk, "1", text, strlen(text), out, &fail);
	armed = false;
	if (r < 0)
		assert_true(fail.text[0]);
	return r;
}

static void chunk_scenario(void)
{
	struct place place;
	struct chunk chunk = {
		.limit = 400, .wanted = true, .place = &place, .file = STORE_FILE_INIT};
	struct buf out = BUF_INIT(100000), next = BUF_INIT(100000);
	char text[1001], request[300];
	struct rpc_request req = RPC_REQUEST_INIT;
	struct fail fail = FAIL_INIT;
	json_t *doc;
	int r;

	memset(text, 'x', 1000);
	text[1000] = '\0';
	assert_int_equal(place_at(&place, dir, &fail), 0);
	r = store(&chunk, text, &out);
	if (r == 0) {
		doc = json_loadb(out.data, out.len, 0, NULL);
		assert_non_null(doc);
		snprintf(request, sizeof(request),
			"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"" CHUNK_METHOD
			"\",\"params\":{\"handle\":\"%s\",\"offset\":100}}",
			json_string_value(
				json_object_get(json_object_get(doc, CHUNK_METHOD), "handle")));
		json_decref(doc);
		armed = true;
		r = rpc_request_read(&req, request, strlen(request), &fail);
		if (r == 0)
			r = chunk_continue(&chunk, &req, &next);
		armed = false;
		rpc_request_release(&req);
		if (r == 0)
			json_decref(json_loadb(next.data, next.len, 0, NULL));
	}
	chunk_release(&chunk);
	buf_release(&out);
	buf_release(&next);
}

static void test_chunk__survives_each_failing_allocation(void **state)
{
	(void)state;
	sweep(chunk_scenario);
}

static int set_up_all(void **state)
{
	(void)state;
	signal(SIGPIPE, SIG_IGN);
	json_set_alloc_funcs(__wrap_malloc, free);
	if (getenv("CMOCKA_MESSAGE_OUTPUT"))
		cmocka_set_message_output(CM_OUTPUT_TAP);
	clearenv(); /* each variable is an allocation, and so a round */
	setenv("PATH", "/usr/bin:/bin", 1);
	assert_non_null(mkdtemp(dir));
	history_use(dir);
	assert_int_equal(chdir(dir), 0);
	return 0;
}

static int tear_down_all(void **state)
{
	char command[200];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	return system(command); /* NOLINT: our own directory */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_server_methods__survive_each_failing_allocation),
		cmocka_unit_test(test_exec_remote_start__survives_each_failing_allocation),
		cmocka_unit_test(test_exec_remote_poll__loses_nothing_at_any_failing_allocation),
		cmocka_unit_test(test_exec_remote_kill__survives_each_failing_allocation),
		cmocka_unit_test(test_exec_remote_write_stdin__writes_once_or_fails),
		cmocka_unit_test(test_exec_remote_close_stdin__survives_each_failing_allocation),
		cmocka_unit_test(test_bash_session_new_session__survives_each_failing_allocation),
		cmocka_unit_test(test_bash_session__loses_no_output_at_any_failing_allocation),
		cmocka_unit_test(test_bash_session__survives_each_failing_allocation),
		cmocka_unit_test(test_bash_session_restart__survives_each_failing_allocation),
		cmocka_unit_test(test_mcp_launch_server__survives_each_failing_allocation),
		cmocka_unit_test(test_mcp_send_request__is_answered_at_each_failing_allocation),
		cmocka_unit_test(test_mcp_send_notification__survives_each_failing_allocation),
		cmocka_unit_test(test_mcp_kill_server__survives_each_failing_allocation),
		cmocka_unit_test(test_text_editor__leaves_the_old_file_or_the_new_one),
		cmocka_unit_test(test_chunk__survives_each_failing_allocation),
	};

	return cmocka_run_group_tests_name("payload_oom", tests, set_up_all, tear_down_all);
}
