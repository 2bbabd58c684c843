/* SPDX-License-Identifier: MIT */
/* The server's socket. */
#include "payloads/sandbox-tools/server/listen.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "payloads/lib/io.h"
#include "payloads/sandbox-tools/server/conn.h"

#define BACKLOG 1024
#define RESUME_MS 100 /* after a failure to accept */
#define CHECK_MS 30000
#define CHECK_BLIND_MS 1000 /* without inotify */

static void on_resume(struct loop_timer *timer)
{
	struct server *server = (struct server *)((char *)timer - offsetof(struct server, resume));

	loop_change(&server->loop, &server->listener, EPOLLIN);
}

/* Accepts with the one descriptor that is kept for this, and says that it was the last. A client
   left waiting would take us for dead. */
static bool refuse_with_spare(struct server *server)
{
	int fd;

	if (server->spare < 0)
		return false;
	io_close(&server->spare);
	fd = accept4(server->listener.fd, NULL, NULL, SOCK_CLOEXEC);
	if (fd >= 0)
		conn_refuse(fd);
	server->spare = fcntl(server->loop.epoll, F_DUPFD_CLOEXEC, 3);
	return fd >= 0;
}

static void on_connection(struct loop_watch *watch, uint32_t events)
{
	struct server *server =
		(struct server *)((char *)watch - offsetof(struct server, listener));
	int fd = accept4(watch->fd, NULL, NULL, SOCK_CLOEXEC);

	(void)events;
	if (fd >= 0 && server->conn_count >= server->conn_max) {
		conn_refuse(fd);
	} else if (fd >= 0) {
		conn_open(server, fd);
	} else if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED &&
		   !((errno == EMFILE || errno == ENFILE) && refuse_with_spare(server))) {
		/* no memory: let them wait in the queue */
		loop_change(&server->loop, watch, 0);
		server->resume.due = on_resume;
		loop_set_timer(&server->loop, &server->resume, RESUME_MS);
	}
}

/* Half of the descriptors are for what the clients ask for. */
static unsigned count_room(void)
{
	struct rlimit files;

	if (getrlimit(RLIMIT_NOFILE, &files) < 0 || files.rlim_cur / 2 > CONN_MAX)
		return CONN_MAX;
	return (unsigned)files.rlim_cur / 2;
}

static int bind_path(struct server *server, int fd)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	mode_t old = umask(0111);
	struct stat st;
	int r;

	memcpy(address.sun_path, server->place.socket, sizeof(address.sun_path));
	place_remove_socket(&server->place);
	r = bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0 ? -errno : 0;
	umask(old);
	if (r == 0 && (lstat(server->place.socket, &st) < 0 || listen(fd, BACKLOG) < 0))
		r = -errno;
	if (r == 0) {
		server->socket_dev = st.st_dev;
		server->socket_ino = st.st_ino;
	}
	return r;
}

int listen_open(struct server *server, struct fail *fail)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int r = fd < 0 ? -errno : bind_path(server, fd);

	listen_close(server);
	server->conn_max = count_room();
	if (server->spare < 0)
		server->spare = fcntl(server->loop.epoll, F_DUPFD_CLOEXEC, 3);
	if (r == 0) {
		server->listener.fd = fd;
		server->listener.ready = on_connection;
		r = loop_watch(&server->loop, &server->listener, EPOLLIN);
		if (r == 0)
			return 0;
		server->listener.fd = -1;
	}
	io_close(&fd);
	return fail_sys(fail, r, "cannot listen on '%s'", server->place.socket);
}

void listen_close(struct server *server)
{
	if (server->listener.fd < 0)
		return;
	loop_clear_timer(&server->loop, &server->resume);
	loop_unwatch(&server->loop, &server->listener);
	io_close(&server->listener.fd);
}

static bool is_own_socket(const struct server *server, const struct stat *st)
{
	return st->st_ino == server->socket_ino && st->st_dev == server->socket_dev;
}

void listen_remove_path(struct server *server)
{
	struct stat st;

	if (lstat(server->place.socket, &st) == 0 && is_own_socket(server, &st))
		place_remove_socket(&server->place);
}

static void check_path(struct server *server)
{
	struct fail fail = FAIL_INIT;
	struct stat st;

	if (server->stopping)
		return;
	if (!place_is_current(&server->place)) {
		fprintf(stderr, "%s is gone, exiting\n", server->place.dir);
		server_stop_in(server, 0);
	} else if (lstat(server->place.socket, &st) < 0) {
		fprintf(stderr, "%s is gone, binding it again\n", server->place.socket);
		if (listen_open(server, &fail) < 0) {
			fprintf(stderr, "%s\n", fail.text);
			server_stop_in(server, 0);
		}
	} else if (!is_own_socket(server, &st)) {
		fprintf(stderr, "%s is not ours any more, exiting\n", server->place.socket);
		server_stop_in(server, 0);
	}
}

/* Only what is our log: in the foreground output goes where the caller likes. */
static void bound_log(const struct server *server, int fd, const char *name)
{
	struct stat st, log;

	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > PLACE_LOG_MAX &&
		fstatat(server->place.fd, name, &log, AT_SYMLINK_NOFOLLOW) == 0 &&
		st.st_ino == log.st_ino && st.st_dev == log.st_dev && ftruncate(fd, 0) < 0)
		return;
}

static void on_check(struct loop_timer *timer)
{
	struct server *server = (struct server *)((char *)timer - offsetof(struct server, check));

	bound_log(server, 1, PLACE_OUT_LOG);
	bound_log(server, 2, PLACE_ERR_LOG);
	check_path(server);
	loop_set_timer(&server->loop, timer, server->watcher.fd < 0 ? CHECK_BLIND_MS : CHECK_MS);
}

static void on_change(struct loop_watch *watch, uint32_t events)
{
	struct server *server = (struct server *)((char *)watch - offsetof(struct server, watcher));
	char batch[4096];

	(void)events;
	if (io_read(watch->fd, batch, sizeof(batch)) > 0)
		check_path(server);
}

void listen_guard(struct server *server)
{
	uint32_t what = IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_DELETE_SELF | IN_MOVE_SELF;
	char dir[sizeof(server->place.dir)];
	int fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);

	snprintf(dir, sizeof(dir), "%s", server->place.dir);
	server->watcher.ready = on_change;
	server->watcher.fd = fd;
	if (fd >= 0 &&
		(inotify_add_watch(fd, dir, what) < 0 ||
			(server->place.socket_parent[0] &&
				inotify_add_watch(fd, server->place.socket_parent, what) < 0) ||
			loop_watch(&server->loop, &server->watcher, EPOLLIN) < 0))
		io_close(&server->watcher.fd);
	server->check.due = on_check;
	on_check(&server->check);
}
