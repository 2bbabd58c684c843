/* SPDX-License-Identifier: MIT */
/* The server's socket. */
#include "payloads/sandbox-tools/server/listen.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "payloads/lib/base.h"
#include "payloads/lib/io.h"
#include "payloads/lib/sys.h"
#include "payloads/sandbox-tools/server/conn.h"

#define BACKLOG 1024
#define RESUME_MS 100 /* after a failure to accept */

static void on_resume(struct loop_timer *timer)
{
	struct server *server = container_of(timer, struct server, resume);

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

/* The directory keeps others out; this holds also if somebody has found a way to exchange it. Whom
   our user namespace does not know is nobody here, and who is in none of our processes' namespaces
   is of another container. */
static bool is_welcome(const struct server *server, int fd)
{
	struct ucred peer;

	return sys_peer(fd, &peer) == 0 && peer.pid != 0 &&
	       (peer.uid == geteuid() || peer.uid == 0 || place_is_shared(&server->place));
}

static void on_connection(struct loop_watch *watch, uint32_t events)
{
	struct server *server = container_of(watch, struct server, listener);
	int fd = accept4(watch->fd, NULL, NULL, SOCK_CLOEXEC);

	(void)events;
	if (fd >= 0 && (server->conn_count >= server->conn_max || !is_welcome(server, fd))) {
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

static int bind_socket(struct server *server, int fd)
{
	int r = place_bind(&server->place, fd);
	struct stat st;

	if (r == 0 && (fstatat(server->place.fd, PLACE_SOCKET, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
			      listen(fd, BACKLOG) < 0))
		r = -errno;
	if (r == 0)
		server->socket = st;
	return r;
}

int listen_open(struct server *server, struct fail *fail)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int r = fd < 0 ? -errno : bind_socket(server, fd);

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
	return fail_sys(fail, r, "Cannot bind sandbox-tools server socket %s/%s", server->place.dir,
		PLACE_SOCKET);
}

void listen_close(struct server *server)
{
	if (server->listener.fd < 0)
		return;
	loop_clear_timer(&server->loop, &server->resume);
	loop_unwatch(&server->loop, &server->listener);
	io_close(&server->listener.fd);
}

int listen_look(const struct server *server)
{
	struct stat st;

	if (fstatat(server->place.fd, PLACE_SOCKET, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	return sys_is_same(&st, &server->socket);
}

void listen_remove_name(struct server *server)
{
	if (listen_look(server) > 0)
		place_remove(&server->place, PLACE_SOCKET);
}
