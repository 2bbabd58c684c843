/* SPDX-License-Identifier: MIT */
/* What is done with the server's state by more than one of its parts. */
#include "payloads/sandbox-tools/server/server.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "payloads/lib/io.h"
#include "payloads/lib/sys.h"

static bool is_same_file(int a, int b)
{
	struct stat one, other;

	return fstat(a, &one) == 0 && fstat(b, &other) == 0 && sys_is_same(&one, &other);
}

/* In that directory: the lock that we hold already, or a new one, or -1. */
static int take_lock(const struct place *place, int held, int64_t deadline, struct fail *fail)
{
	int lock = place_open_file(place, PLACE_SERVER_LOCK, 0, fail), r;

	if (lock < 0)
		return -1;
	if (held >= 0 && is_same_file(lock, held)) {
		close(lock);
		return held;
	}
	r = io_lock(lock, deadline);
	if (r == 0)
		return lock;
	close(lock);
	if (r == -ETIMEDOUT)
		return fail_code(
			fail, FAIL_OCCUPIED, "another server is running in '%s'", place->dir);
	return fail_sys(fail, r, "cannot lock '%s'", place->dir);
}

static bool has_file(const struct place *place, const char *name)
{
	struct stat st;

	return fstatat(place->fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

/* Was there another server meanwhile, in the place of a directory that we had? It may have been
   stopped, and then nobody wants us back. */
static bool was_taken(const struct server *server, const struct place *place)
{
	return !is_same_file(place->fd, server->place.fd) &&
	       (has_file(place, PLACE_PID) || has_file(place, PLACE_STATUS));
}

int server_hold_place(struct server *server, int wait_ms, struct fail *fail)
{
	struct place place = server->place;
	int lock;

	place.fd = -1;
	if (place_open(&place, true, fail) < 0)
		return -1;
	lock = server->lock >= 0 && was_taken(server, &place)
		       ? fail_code(fail, FAIL_OCCUPIED, "another server has used '%s' meanwhile",
				 place.dir)
		       : take_lock(&place, server->lock, io_in(wait_ms), fail);
	if (lock < 0) {
		place_close(&place);
		return -1;
	}
	if (lock != server->lock)
		io_close(&server->lock);
	place_close(&server->place);
	server->lock = lock;
	server->place = place;
	place_remove(&place, PLACE_STATUS);
	place_remove(&place, PLACE_STATUS_TMP);
	return 0;
}

int server_write_pid(struct server *server, struct fail *fail)
{
	char text[128];
	int fd, len, r;

	len = snprintf(text, sizeof(text), "{\"pid\": %ld, \"start\": %llu, \"ns\": %llu}\n",
		(long)getpid(), sys_start_time(getpid()), sys_pid_namespace());
	place_remove(&server->place, PLACE_PID);
	fd = place_open_file(&server->place, PLACE_PID, 0, fail);
	if (fd < 0)
		return -1;
	r = io_write_full(fd, text, (size_t)len, IO_NEVER);
	close(fd);
	return r < 0 ? fail_sys(fail, r, "cannot write '%s/%s'", server->place.dir, PLACE_PID) : 0;
}

void server_stop_in(struct server *server, int ms)
{
	if (server->stopping || server->stop.armed)
		return;
	loop_set_timer(&server->loop, &server->stop, ms);
}
