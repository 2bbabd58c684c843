/* SPDX-License-Identifier: MIT */
/* Life of the server process: from taking the lock to the status file. */
#include "payloads/sandbox-tools/server/run.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "payloads/lib/base.h"
#include "payloads/lib/io.h"
#include "payloads/lib/sys.h"
#include "payloads/sandbox-tools/child/child.h"
#include "payloads/sandbox-tools/server/conn.h"
#include "payloads/sandbox-tools/server/guard.h"
#include "payloads/sandbox-tools/server/lifecycle.h"
#include "payloads/sandbox-tools/server/listen.h"
#include "payloads/sandbox-tools/server/server.h"
#include "payloads/sandbox-tools/server/tool.h"

#define LOCK_MS 2000  /* others hold the lock only for a moment, to see whether we live */
#define GRACE_MS 5000 /* for requests under way at shutdown */
#define TERM_MS 30000 /* for processes to end by themselves */
#define KILL_MS 5000  /* for the kernel to end the others */

/* ---- shutdown ---- */

/* What could not be cleaned up, as text of the status file. */
static char *status_text(const struct server *server)
{
	const struct buf *errors = children_errors(server->children);
	const char *line = errors->data, *end = line + errors->len;
	json_t *list = json_array(), *doc = json_pack("{s:o}", "errors", list);
	char *text;

	while (line < end) {
		const char *stop = memchr(line, '\n', (size_t)(end - line));
		size_t len = (size_t)((stop ? stop : end) - line);

		fprintf(stderr, "Failed to clean up: %.*s\n", (int)len, line);
		json_array_append_new(list, json_stringn(line, len));
		line += len + 1;
	}
	text = json_dumps(doc, JSON_ENSURE_ASCII);
	json_decref(doc);
	return text;
}

static void write_status(struct server *server)
{
	char *text = status_text(server);
	struct fail fail = FAIL_INIT;
	int fd;

	place_remove(&server->place, PLACE_STATUS_TMP);
	fd = place_open_file(&server->place, PLACE_STATUS_TMP, O_EXCL, &fail);
	if (!text || fd < 0 || io_write_full(fd, text, strlen(text), IO_NEVER) < 0 ||
		io_write_full(fd, "\n", 1, IO_NEVER) < 0 ||
		renameat(server->place.fd, PLACE_STATUS_TMP, server->place.fd, PLACE_STATUS) < 0)
		fprintf(stderr, "cannot write the status file: %s\n",
			fail.text[0] ? fail.text : strerror(errno));
	io_close(&fd);
	free(text);
}

static void on_all_ended(void *cookie)
{
	struct server *server = cookie;

	loop_stop(&server->loop);
}

/* Goes on as soon as nothing is under way, at the latest after the grace time. */
static void await_quiet(struct loop_timer *timer)
{
	struct server *server = container_of(timer, struct server, stop);

	conn_quiesce(server);
	if ((server->running == 0 && !server->conns) || io_now() >= server->stop_deadline) {
		conn_close_all(server);
		children_end_all(server->children, TERM_MS, KILL_MS, on_all_ended, server);
	} else {
		loop_set_timer(&server->loop, timer, 10);
	}
}

static void begin_stop(struct loop_timer *timer)
{
	struct server *server = container_of(timer, struct server, stop);

	server->stopping = true;
	server->stop_deadline = io_in(GRACE_MS);
	guard_end(server);
	listen_close(server);
	server_stop_tools(server);
	server->stop.due = await_quiet;
	await_quiet(timer);
}

static void on_signal(struct loop_watch *watch, uint32_t events)
{
	struct server *server = container_of(watch, struct server, signals);
	struct signalfd_siginfo info;

	(void)events;
	if (io_read(watch->fd, &info, sizeof(info)) != (ssize_t)sizeof(info))
		return;
	if (info.ssi_signo == SIGCHLD)
		children_reap(server->children);
	else
		server_stop_in(server, 0);
}

/* ---- start ---- */

static int watch_signals(struct server *server, struct fail *fail)
{
	sigset_t set;
	int r;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGCHLD);
	signal(SIGCHLD, SIG_DFL);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGHUP, SIG_IGN);
	server->signals.fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	server->signals.ready = on_signal;
	r = server->signals.fd < 0 ? -errno : loop_watch(&server->loop, &server->signals, EPOLLIN);
	return r < 0 ? fail_sys(fail, r, "cannot watch for signals") : 0;
}

static int server_open(struct server *server, struct fail *fail)
{
	struct rlimit limit;
	int r = loop_open(&server->loop);

	if (r < 0)
		return fail_sys(fail, r, "cannot make an event loop");
	server->stop.due = begin_stop;
	server->children = children_new(&server->loop, umask(077));
	if (!server->children)
		return fail_sys(fail, ENOMEM, "cannot start the server");
	server->self = sys_open_self();
	sys_undumpable();
	if (getrlimit(RLIMIT_CORE, &limit) == 0) {
		limit.rlim_cur = 0;
		setrlimit(RLIMIT_CORE, &limit);
	}
	if (place_find(&server->place, fail) < 0 || server_hold_place(server, LOCK_MS, fail) < 0 ||
		watch_signals(server, fail) < 0 || listen_open(server, fail) < 0 ||
		server_write_pid(server, fail) < 0)
		return -1;
	guard_begin(server);
	return 0;
}

/* The children of the server see the environment of its starter without what was meant for us. */
static void clean_environment(void)
{
	static const char *const loader[] = {"LD_LIBRARY_PATH", "LD_PRELOAD"};

	unsetenv(PLACE_VARIABLE);
	unsetenv(SERVICE_READY_VARIABLE);
	for (size_t i = 0; i < ARRAY_SIZE(loader); i++)
		if (getenv(loader[i]) && !*getenv(loader[i]))
			unsetenv(loader[i]);
}

static void server_close(struct server *server)
{
	conn_close_all(server);
	listen_remove_name(server);
	/* whoever moved the directory away is deleting it */
	if (place_is_current(&server->place))
		write_status(server);
	place_remove(&server->place, PLACE_PID);
	server_close_tools(server);
	children_free(server->children);
	loop_close(&server->loop);
}

/* Nobody waits for us any more: whoever started us has given up, and may have removed the rest. */
static int abandon(struct server *server)
{
	struct fail ignored;
	int lock;

	listen_remove_name(server);
	listen_close(server);
	place_remove(&server->place, PLACE_PID);
	lock = place_open_file(&server->place, PLACE_START_LOCK, 0, &ignored);
	/* if another one is starting, the directory is its */
	if (lock >= 0 && io_lock(lock, 0) == 0) {
		place_erase(&server->place);
		place_remove_above(&server->place);
	}
	children_free(server->children);
	return 1;
}

int server_run(const char *argv0, rpc_finder *find, int ready)
{
	struct server server = {.argv0 = argv0,
		.find = find,
		.self = -1,
		.lock = -1,
		.born = io_now(),
		.place = {.fd = -1},
		.listener = {.fd = -1},
		.spare = -1,
		.watcher = {.fd = -1},
		.signals = {.fd = -1}};
	struct fail fail = FAIL_INIT;
	int r = server_open(&server, &fail);

	if (r < 0) {
		fprintf(stderr, "error: %s\n", fail.text);
		if (ready >= 0)
			dprintf(ready, "%s\n", fail.text);
		children_free(server.children);
		return 1;
	}
	clean_environment();
	printf("inspect-sandbox-tools %s listening on %s/%s\n", RELEASE, server.place.dir,
		PLACE_SOCKET);
	fflush(stdout);
	if (ready >= 0 && io_write_full(ready, "ok\n", 3, IO_NEVER) < 0)
		return abandon(&server);
	io_close(&ready);
	r = loop_run(&server.loop);
	if (r < 0)
		fprintf(stderr, "error: event loop: %s\n", strerror(-r));
	server_close(&server);
	return r < 0 ? 1 : 0;
}
