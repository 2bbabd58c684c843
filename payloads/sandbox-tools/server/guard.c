/* SPDX-License-Identifier: MIT */
/* The server's directory, lock, socket and logs, while it runs. */
#include "payloads/sandbox-tools/server/guard.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "payloads/lib/base.h"
#include "payloads/lib/io.h"
#include "payloads/lib/sys.h"
#include "payloads/sandbox-tools/server/listen.h"

#define CHECK_MS 30000
#define CHECK_BLIND_MS 1000 /* without inotify */
#define AGAIN_MS 100	    /* after a failure: others may be removing it right now */

static const struct {
	int fd;
	const char *name;
} logs[] = {{1, PLACE_OUT_LOG}, {2, PLACE_ERR_LOG}};

/* ---- what is there ---- */

static bool has_lock(const struct server *server)
{
	struct stat held;

	return fstat(server->lock, &held) == 0 &&
	       sys_has_name(&held, server->place.fd, PLACE_SERVER_LOCK);
}

/* Then it is all being removed, and not by accident. */
static bool is_program_gone(void)
{
	const char *program = sys_exec_path();
	struct stat st;

	return program && stat(program, &st) < 0 && (errno == ENOENT || errno == ENOTDIR);
}

/* ---- making it again ---- */

/* Output that would go to a deleted file, where it could neither be read nor bounded. */
static void renew_logs(struct server *server)
{
	struct fail ignored;
	struct stat st;

	for (size_t i = 0; i < ARRAY_SIZE(logs); i++) {
		int fd;

		if (fstat(logs[i].fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_nlink > 0)
			continue;
		fd = place_open_file(&server->place, logs[i].name, O_APPEND, &ignored);
		if (fd >= 0)
			dup2(fd, logs[i].fd);
		io_close(&fd);
	}
}

static int regain(struct server *server, struct fail *fail)
{
	bool moved = !place_is_current(&server->place);

	if (server_hold_place(server, 0, fail) < 0)
		return -1;
	if ((moved || listen_look(server) == -ENOENT) && listen_open(server, fail) < 0)
		return -1;
	if (listen_look(server) != 1)
		return fail_code(
			fail, FAIL_OCCUPIED, "%s/" PLACE_SOCKET " is another's", server->place.dir);
	if (server_write_pid(server, fail) < 0)
		return -1;
	renew_logs(server);
	fprintf(stderr, "files in %s were removed; they have been restored\n", server->place.dir);
	guard_begin(server);
	return 0;
}

/* True if all is well. */
static bool check(struct server *server)
{
	struct fail fail = FAIL_INIT;

	if (server->stopping)
		return true;
	place_close_to_others(&server->place);
	if (place_is_current(&server->place) && has_lock(server) && listen_look(server) == 1)
		return true;
	if (!is_program_gone() && regain(server, &fail) == 0)
		return true;
	if (fail.text[0] && !server->lost)
		fprintf(stderr, "%s\n", fail.text);
	if (fail.text[0] && fail.code != FAIL_OCCUPIED)
		return false;
	fprintf(stderr, "%s no longer belongs to this server; exiting\n", server->place.dir);
	server_stop_in(server, 0);
	return true;
}

/* ---- when ---- */

/* Only what is our log: in the foreground output goes where the caller likes. */
static void bound_log(const struct server *server, int fd, const char *name)
{
	struct stat st;

	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > PLACE_LOG_MAX &&
		sys_has_name(&st, server->place.fd, name) && ftruncate(fd, 0) < 0)
		return;
}

static void check_now(struct server *server)
{
	server->lost = !check(server);
	if (!server->stopping)
		loop_set_timer(&server->loop, &server->check,
			server->lost		 ? AGAIN_MS
			: server->watcher.fd < 0 ? CHECK_BLIND_MS
						 : CHECK_MS);
}

static void on_check(struct loop_timer *timer)
{
	struct server *server = container_of(timer, struct server, check);

	for (size_t i = 0; i < ARRAY_SIZE(logs); i++)
		bound_log(server, logs[i].fd, logs[i].name);
	check_now(server);
}

static void on_change(struct loop_watch *watch, uint32_t events)
{
	struct server *server = container_of(watch, struct server, watcher);
	char batch[4096];

	(void)events;
	if (io_read(watch->fd, batch, sizeof(batch)) > 0)
		check_now(server);
}

void guard_begin(struct server *server)
{
	uint32_t what = IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_DELETE_SELF | IN_MOVE_SELF |
			IN_ATTRIB | IN_ONLYDIR;
	int fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);

	guard_end(server);
	server->watcher.ready = on_change;
	server->watcher.fd = fd;
	if (fd >= 0 && (inotify_add_watch(fd, server->place.dir, what) < 0 ||
			       loop_watch(&server->loop, &server->watcher, EPOLLIN) < 0))
		io_close(&server->watcher.fd);
	server->check.due = on_check;
	loop_set_timer(&server->loop, &server->check, 0);
}

void guard_end(struct server *server)
{
	loop_clear_timer(&server->loop, &server->check);
	if (server->watcher.fd < 0)
		return;
	loop_unwatch(&server->loop, &server->watcher);
	io_close(&server->watcher.fd);
}
