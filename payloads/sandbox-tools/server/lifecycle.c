/* SPDX-License-Identifier: MIT */
/* Starting and stopping the server. One process at a time does either: it holds the start lock. */
#include "payloads/sandbox-tools/server/lifecycle.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "payloads/lib/io.h"
#include "payloads/lib/sys.h"

#define PIDFD_OPEN_NUMBER 434 /* the same on every architecture; older kernels refuse it */
#define BUSY_MS 50
#define GRACE_MS                                                                        \
	5000 /* for a server that is alive but not to be reached, and after each signal \
	      */

/* ---- who is there? ---- */

/* Takes the server's lock if no server holds it. 0 nobody alive, -ETIMEDOUT somebody is, -errno. */
static int wait_dead(const struct place *place, int64_t deadline)
{
	struct fail fail = FAIL_INIT;
	int fd = place_open_file(place, PLACE_SERVER_LOCK, 0, &fail);
	int r;

	if (fd < 0)
		return fail.error ? -fail.error : -EIO;
	r = io_lock(fd, deadline);
	close(fd);
	return r;
}

static pid_t recorded_pid(const struct place *place)
{
	char text[256];
	unsigned long long start, now, space, here = sys_pid_namespace();
	json_t *doc;
	pid_t pid;
	ssize_t n;
	int fd = place_read_file(place, PLACE_PID);

	if (fd < 0)
		return 0;
	n = io_read(fd, text, sizeof(text));
	close(fd);
	doc = n > 0 ? json_loadb(text, (size_t)n, 0, NULL) : NULL;
	pid = (pid_t)json_integer_value(json_object_get(doc, "pid"));
	start = (unsigned long long)json_integer_value(json_object_get(doc, "start"));
	space = (unsigned long long)json_integer_value(json_object_get(doc, "ns"));
	json_decref(doc);
	if (space && here && space != here)
		return 0;
	now = pid > 1 ? sys_start_time(pid) : 0;
	return pid > 1 && (start == 0 || now == 0 || start == now) ? pid : 0;
}

/* The process at the other end of a connection, 0 if it cannot be seen. */
static pid_t peer_pid(int fd)
{
	struct ucred peer;

	if (sys_peer(fd, &peer) < 0)
		return 0;
	return peer.pid > 1 && peer.pid != getpid() ? peer.pid : 0;
}

/* The process that listens on the socket. */
static pid_t listener_pid(const struct place *place)
{
	int fd = service_knock(place, 0);
	pid_t pid = fd < 0 ? 0 : peer_pid(fd);

	io_close(&fd);
	return pid;
}

static bool is_listening(const struct place *place)
{
	return service_look_at(place) != SERVICE_ABSENT;
}

/* As service_connect(), but gives a busy server time. */
static int connect_patiently(struct place *place, int64_t deadline)
{
	int fd;

	while ((fd = service_connect(place)) == SERVICE_BUSY && io_now() < deadline)
		io_sleep(BUSY_MS);
	return fd;
}

static int connect_until(struct place *place, int64_t deadline)
{
	int fd;

	do {
		fd = service_connect(place);
		if (fd == -1)
			io_sleep(20);
	} while (fd == -1 && place->fd >= 0 && io_now() < deadline &&
		 wait_dead(place, 0) == -ETIMEDOUT);
	return fd;
}

/* ---- getting rid of a server that does not answer ---- */

static int wait_silent(const struct place *place, int64_t deadline)
{
	while (is_listening(place)) {
		if (io_now() >= deadline)
			return -ETIMEDOUT;
		io_sleep(20);
	}
	return 0;
}

/* Signals 'pid' until the server is dead, by lock if it is ours, else by its socket. */
static int kill_server(const struct place *place, pid_t pid, bool is_ours, int64_t deadline)
{
	static const int signals[] = {SIGTERM, SIGKILL};

	for (int i = 0; i < 2; i++) {
		int64_t until = io_sooner(deadline, GRACE_MS);

		if (pid > 1)
			kill(pid, signals[i]);
		if ((is_ours ? wait_dead(place, until) : wait_silent(place, until)) == 0)
			return 0;
	}
	return -ETIMEDOUT;
}

static void clear_remains(const struct place *place)
{
	place_remove(place, PLACE_SOCKET);
	place_remove(place, PLACE_PID);
	place_remove(place, PLACE_STATUS);
	place_remove(place, PLACE_STATUS_TMP);
}

/* After a failed connection, with the start lock held. 0: nobody is left and the way is free; -1
   failed; or *ret_fd is a connection after all, or SERVICE_BUSY, and nothing was done. */
static int retire(struct place *place, int64_t deadline, int *ret_fd, struct fail *fail)
{
	bool is_ours;
	pid_t pid;

	*ret_fd = -1;
	if (service_look(place) == SERVICE_ELSEWHERE)
		return fail_code(fail, FAIL_OCCUPIED,
			"a server of another container, or of the host, uses '%s'", place->dir);
	is_ours = wait_dead(place, 0) == -ETIMEDOUT;
	*ret_fd = is_ours ? connect_until(place, io_sooner(deadline, GRACE_MS)) : -1;
	if (*ret_fd != -1)
		return 0;
	if (place->fd < 0 && place_open(place, true, fail) < 0)
		return -1;
	is_ours = wait_dead(place, 0) == -ETIMEDOUT;
	if (is_ours || is_listening(place)) {
		pid = listener_pid(place);
		if (pid == 0 && is_ours)
			pid = recorded_pid(place);
		if (kill_server(place, pid, is_ours, deadline) < 0)
			return fail_set(fail, "Unresponsive sandbox-tools server did not exit");
	}
	clear_remains(place);
	return 0;
}

/* ---- starting ---- */

static int open_log(const struct place *place, const char *name, struct fail *fail)
{
	int fd = place_open_file(place, name, O_APPEND, fail);
	struct stat st;

	if (fd >= 0 && fstat(fd, &st) == 0 && st.st_size > PLACE_LOG_MAX && ftruncate(fd, 0) < 0)
		return fd;
	return fd;
}

struct spawn {
	const struct place *place;
	const struct service_start *start;
	int input, out, err;
	int ready[2];
	pid_t server;
};

/* In the grandchild: becomes the server. */
static void __attribute__((noreturn)) become_server(struct spawn *spawn)
{
	char *const argv[] = {(char *)spawn->start->argv0, (char *)"server", NULL};
	int ready = fcntl(spawn->ready[1], F_DUPFD_CLOEXEC, 10);
	char number[16];

	dup2(spawn->input, 0);
	dup2(spawn->out, 1);
	dup2(spawn->err, 2);
	sys_close_from(3, ready);
	fcntl(ready, F_SETFD, 0);
	snprintf(number, sizeof(number), "%d", ready);
	setenv(SERVICE_READY_VARIABLE, number, 1);
	setenv(PLACE_VARIABLE, spawn->place->dir, 1);
	sys_default_signals();
	execv(spawn->start->program, argv);
	execv("/proc/self/exe", argv);
	dprintf(ready, "cannot execute '%s': %s\n", spawn->start->program, strerror(errno));
	_exit(127);
}

/* In the child between: tells the server's process id, or -errno. */
static void __attribute__((noreturn)) leave_server(struct spawn *spawn, int tell)
{
	pid_t pid;

	setsid();
	pid = fork();
	if (pid == 0)
		become_server(spawn);
	if (pid < 0)
		pid = -errno;
	io_write_full(tell, &pid, sizeof(pid), IO_NEVER);
	_exit(0);
}

static int fork_server(struct spawn *spawn, struct fail *fail)
{
	int ends[2] = {-1, -1}, r = pipe2(ends, O_CLOEXEC) < 0 ? -errno : 0;
	pid_t child = r < 0 ? r : fork();

	if (child == 0)
		leave_server(spawn, ends[1]);
	r = r < 0 ? r : child < 0 ? -errno : 0;
	io_close(&ends[1]);
	if (r == 0)
		r = io_read_full(ends[0], &spawn->server, sizeof(spawn->server), IO_NEVER);
	io_close(&ends[0]);
	while (child > 0 && waitpid(child, NULL, 0) < 0 && errno == EINTR)
		;
	if (r == 0 && spawn->server < 0)
		r = (int)spawn->server;
	return r < 0 ? fail_sys(fail, r, "cannot start the server") : 0;
}

/* The server's word that it listens, or why not. */
static int await_ready(struct spawn *spawn, struct fail *fail)
{
	struct buf word = BUF_INIT(300);
	char last[200];
	int r = io_read_all(spawn->ready[0], &word, spawn->start->deadline);
	int len = (int)word.len;

	while (len > 0 && word.data[len - 1] == '\n')
		len--;
	if (r == -ETIMEDOUT) {
		/* it has not closed its end, so it still is that process */
		kill(spawn->server, SIGKILL);
		r = fail_code(fail, FAIL_TIMEOUT, "the server did not start in time");
	} else if (len == 2 && memcmp(word.data, "ok", 2) == 0) {
		r = 0;
	} else if (len > 0) {
		r = fail_code(fail, FAIL_START, "server: %.*s", len, word.data);
	} else {
		service_last_words((struct place *)spawn->place, last, sizeof(last));
		r = fail_code(fail, FAIL_START, "Server process exited immediately. Logs: %s",
			last[0] ? last : "(no log output)");
	}
	buf_release(&word);
	return r;
}

static int start_server(
	const struct place *place, const struct service_start *start, struct fail *fail)
{
	struct spawn spawn = {place, start, -1, -1, -1, {-1, -1}, 0};
	int r = -1;

	spawn.input = sys_null(false);
	spawn.out = open_log(place, PLACE_OUT_LOG, fail);
	spawn.err = spawn.out < 0 ? -1 : open_log(place, PLACE_ERR_LOG, fail);
	if (spawn.err >= 0) {
		if (spawn.input < 0 || pipe2(spawn.ready, O_CLOEXEC) < 0)
			r = fail_sys(fail, errno, "cannot start the server");
		else
			r = fork_server(&spawn, fail);
	}
	io_close(&spawn.ready[1]);
	if (r == 0)
		r = await_ready(&spawn, fail);
	io_close(&spawn.ready[0]);
	io_close(&spawn.input);
	io_close(&spawn.out);
	io_close(&spawn.err);
	return r;
}

/* Opens the directory and takes the start lock in it: the lock or -1. The directory may be
   removed by an uninstall while we wait for the lock; then it is made anew. */
static int lock_place(struct place *place, int64_t deadline, struct fail *fail)
{
	for (;;) {
		int lock, r;

		if (place_open(place, true, fail) < 0)
			return -1;
		lock = place_open_file(place, PLACE_START_LOCK, 0, fail);
		if (lock < 0 && fail->error != ENOENT)
			return -1;
		r = lock < 0 ? 0 : io_lock(lock, deadline);
		if (lock >= 0 && r == 0 && place_is_current(place))
			return lock;
		io_close(&lock);
		if (r < 0)
			return fail_code(fail, FAIL_BUSY,
				"another process is starting or stopping "
				"the server");
		if (io_now() >= deadline)
			return fail_code(fail, FAIL_BUSY, "'%s' keeps disappearing", place->dir);
	}
}

static int refuse_gone(const struct service_start *start, struct fail *fail)
{
	return fail_code(fail, FAIL_START, "'%s' was removed", start->program);
}

static int refuse_busy(struct fail *fail)
{
	return fail_code(fail, FAIL_BUSY, "the server has reached its limit of connections");
}

/* With the start lock held: descriptor or -1. */
static int ensure_locked(struct place *place, const struct service_start *start, bool *ret_started,
	struct fail *fail)
{
	int fd = connect_patiently(place, start->deadline);

	if (fd < 0 && place->fd < 0 && place_open(place, true, fail) < 0)
		return -1;
	if (fd == -1 && retire(place, start->deadline, &fd, fail) < 0)
		return -1;
	if (fd != -1)
		return fd >= 0 ? fd : refuse_busy(fail);
	/* whoever removes the program takes the lock afterwards, to stop what was started */
	if (start->is_gone()) {
		place_erase(place);
		place_remove_above(place);
		return refuse_gone(start, fail);
	}
	*ret_started = start_server(place, start, fail) == 0;
	/* if it failed, one whose directory was removed may have taken this one */
	fd = service_connect(place);
	if (*ret_started && fd < 0)
		fail_code(fail, FAIL_START, "the server started but does not answer");
	return fd < 0 ? -1 : fd;
}

int service_ensure(struct place *place, const struct service_start *start, bool *ret_started,
	struct fail *fail)
{
	int fd = connect_patiently(place, start->deadline), lock;

	*ret_started = false;
	if (fd != -1)
		return fd >= 0 ? fd : refuse_busy(fail);
	if (start->is_gone())
		return refuse_gone(start, fail);
	lock = lock_place(place, start->deadline, fail);
	if (lock < 0)
		return -1;
	fd = ensure_locked(place, start, ret_started, fail);
	close(lock);
	return fd;
}

/* ---- stopping ---- */

static int ask_to_stop(int fd, int64_t deadline, struct fail *fail)
{
	static const char text[] =
		"{\"jsonrpc\":\"2.0\",\"method\":\"sandbox_tools_shutdown\",\"id\":668}";
	struct buf reply = BUF_INIT(65536);
	json_t *doc = NULL, *error;
	struct fail lost;
	int r = 0;

	if (service_call(
		    fd, text, sizeof(text) - 1, &reply, io_sooner(deadline, GRACE_MS), &lost) == 0)
		doc = json_loadb(reply.data, reply.len, 0, NULL);
	error = json_object_get(doc, "error");
	if (error) {
		const char *message = json_string_value(json_object_get(error, "message"));

		r = fail_set(fail, "Server shutdown failed: %.200s", message ? message : "?");
	}
	json_decref(doc);
	buf_release(&reply);
	return r;
}

/* The status that the server left behind: 0 clean or none, -1 with its errors. */
static int check_status(const struct place *place, struct fail *fail)
{
	int fd = place_read_file(place, PLACE_STATUS);
	struct buf text = BUF_INIT(65536);
	json_t *doc = NULL, *errors, *value;
	size_t i;
	int r = 0;

	if (fd < 0)
		return 0;
	if (io_read_all(fd, &text, io_in(GRACE_MS)) == 0)
		doc = json_loadb(text.data, text.len, 0, NULL);
	close(fd);
	errors = json_object_get(doc, "errors");
	if (json_array_size(errors) > 0)
		r = fail_set(fail, "Sandbox-tools server cleanup failed: ");
	json_array_foreach (errors, i, value) {
		size_t len = strlen(fail->text);

		snprintf(fail->text + len, sizeof(fail->text) - len, "%s%s", i > 0 ? "; " : "",
			json_is_string(value) ? json_string_value(value) : "?");
	}
	json_decref(doc);
	buf_release(&text);
	return r;
}

/* Asks the server of the connection to stop, or ends it when there is none, and waits for that: 0
   or -1 with 'fail'. */
static int end_server(const struct place *place, int fd, int64_t deadline, struct fail *fail)
{
	pid_t pid = fd >= 0 ? peer_pid(fd) : listener_pid(place);
	/* a zombie counts as gone, so the process id would not do */
	int process = (int)syscall(PIDFD_OPEN_NUMBER, pid, 0), r = 0;

	if (fd >= 0)
		r = ask_to_stop(fd, deadline, fail);
	else if (pid > 1)
		kill(pid, SIGTERM);
	io_close(&fd);
	if (r == 0 && (wait_dead(place, deadline) < 0 ||
			      (process >= 0 && io_wait(process, POLLIN, deadline) < 0)))
		r = fail_code(fail, FAIL_TIMEOUT,
			"Sandbox-tools server cleanup did not complete "
			"within 45 seconds");
	io_close(&process);
	return r;
}

static int stop_locked(struct place *place, int64_t deadline, struct fail *fail)
{
	int fd = connect_patiently(place, io_sooner(deadline, GRACE_MS));

	if (fd == -1) {
		if (place->fd < 0)
			return 0;
		if (retire(place, deadline, &fd, fail) < 0)
			return -1;
		if (fd == -1)
			return 0;
	}
	place_remove(place, PLACE_STATUS);
	if (end_server(place, fd, deadline, fail) < 0)
		return -1;
	place_remove(place, PLACE_SOCKET);
	place_remove(place, PLACE_PID);
	return check_status(place, fail);
}

int service_stop(struct place *place, int64_t deadline, struct fail *fail)
{
	int lock, r = place_open(place, false, fail);

	if (r != 0)
		return r < 0 ? -1 : 0;
	lock = place_open_file(place, PLACE_START_LOCK, 0, fail);
	if (lock < 0)
		return fail->error == ENOENT ? 0 : -1;
	r = io_lock(lock, deadline);
	if (r < 0)
		r = fail_code(
			fail, FAIL_BUSY, "another process is starting or stopping the server");
	else
		r = stop_locked(place, deadline, fail);
	close(lock);
	return r;
}
