/* SPDX-License-Identifier: MIT */
/* Attacks on the paths where others can write: before the placement, during it, and after. */
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "t/adversary/adversary.h"

#define TMPFS 0x01021994
#define HELD_MAX 64
#define SWAPS 2000

static const char *const targets[] = {PROGRAM_DIR, SERVER_DIR, USER_HOME};

/* Where a home can be that others may write to. */
static const char *const shared_homes[] = {
	"/run/.sbinject", "/tmp/.sbinject", "/var/tmp/.sbinject"};

/* An obstacle stands for some rounds, then there is another one. */
static void plant(unsigned n)
{
	const char *path = targets[n % ARRAY_SIZE(targets)];

	clear(path);
	put_obstacle(path, n / ARRAY_SIZE(targets));
}

/* The same without ever removing what was placed last: that is as it was before sbinject comes. */
static void wait_there(unsigned n)
{
	struct stat st;
	const char *path = targets[n % ARRAY_SIZE(targets)];

	if (lstat(path, &st) < 0)
		put_obstacle(path, (unsigned)rand());
}

/* A directory and a link change places all the time. */
static void swap_them(unsigned n)
{
	static const char *const other[] = {
		"/var/tmp/.adversary", "/tmp/.adversary", "/var/tmp/.adversary-home"};
	size_t i = n % ARRAY_SIZE(targets);
	struct stat st;

	if (lstat(other[i], &st) < 0)
		put_obstacle(other[i], (unsigned)rand());
	if (lstat(targets[i], &st) < 0)
		put_obstacle(targets[i], (unsigned)rand());
	for (int k = 0; k < 8; k++)
		swap(other[i], targets[i]);
	if (n % 64 < ARRAY_SIZE(targets))
		clear(other[i]);
}

/* Keeps directories open that were its own, and fills them while somebody deletes them. */
static void hold(unsigned n)
{
	static int held[HELD_MAX];
	static unsigned next;
	const char *path = targets[n % ARRAY_SIZE(targets)];
	char name[32];
	int fd;

	put_dir(path);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd >= 0) {
		if (held[next % HELD_MAX] > 0)
			close(held[next % HELD_MAX]);
		held[next++ % HELD_MAX] = fd;
	}
	for (int i = 0; i < HELD_MAX && held[i] > 0; i++) {
		snprintf(name, sizeof(name), "x%u", n % 50);
		fd = openat(held[i], name, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0666);
		if (fd >= 0)
			close(fd);
	}
}

/* A directory of its own is watched: what is delivered there is to be the impostor before it is
   run. That lies ready, so that a rename is all it takes. */
struct ambush {
	const char *ready;
	int watcher;
	ino_t watched;
};

static void lie_in_wait(struct ambush *ambush, const char *dir)
{
	struct stat st;

	if (lstat(ambush->ready, &st) < 0)
		put_impostor(ambush->ready);
	if (lstat(dir, &st) < 0 || st.st_ino == ambush->watched)
		return;
	ambush->watched = st.st_ino;
	if (ambush->watcher > 0)
		close(ambush->watcher);
	ambush->watcher = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	inotify_add_watch(ambush->watcher, dir, IN_CREATE | IN_MOVED_TO);
}

static void strike(const struct ambush *ambush, const char *dir)
{
	char events[4096] __attribute__((aligned(8))), path[PATH_MAX];
	ssize_t n = read(ambush->watcher, events, sizeof(events));

	for (char *p = events; p < events + n;) {
		const struct inotify_event *event = (void *)p;

		p += sizeof(*event) + event->len;
		if (event->len == 0 || strlen(event->name) < 64)
			continue;
		snprintf(path, sizeof(path), "%s/%s", dir, event->name);
		if (rename(ambush->ready, path) == 0)
			put_impostor(ambush->ready);
	}
}

static void infect_homes(unsigned n)
{
	static struct ambush ambushes[] = {
		{"/run/.impostor", 0, 0}, {"/tmp/.impostor", 0, 0}, {"/var/tmp/.impostor", 0, 0}};
	struct pollfd ready[ARRAY_SIZE(ambushes)];

	(void)n;
	for (size_t i = 0; i < ARRAY_SIZE(ambushes); i++) {
		put_dir(shared_homes[i]);
		lie_in_wait(&ambushes[i], shared_homes[i]);
		ready[i] = (struct pollfd){.fd = ambushes[i].watcher, .events = POLLIN};
	}
	if (poll(ready, ARRAY_SIZE(ready), 5) <= 0)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(ambushes); i++)
		if (ready[i].revents)
			strike(&ambushes[i], shared_homes[i]);
}

/* The home is a directory, and then a link to another one, a thousand times while it is made: what
   was checked is not what is used. */
static void swap_homes(unsigned n)
{
	static struct ambush ambush = {"/run/.impostor", 0, 0};
	static const char home[] = "/run/.sbinject", own[] = "/run/.own";
	static char link[64];
	struct stat st;

	put_dir(own);
	chmod(own, 0777);
	lie_in_wait(&ambush, own);
	put_dir(home);
	if (lstat(home, &st) == 0 && st.st_uid != geteuid())
		return;
	/* one that was made root's cannot be used again */
	if (!link[0] || lstat(link, &st) < 0 || st.st_uid != geteuid()) {
		snprintf(link, sizeof(link), "/run/.link%u", n);
		(void)!symlink(n % 2 ? own : ".own", link);
	}
	for (int i = 0; i < SWAPS; i++) {
		swap(link, home);
		if (i % 16 == 0)
			strike(&ambush, own);
	}
	strike(&ambush, own);
}

static void plant_homes(unsigned n)
{
	const char *home = shared_homes[n % ARRAY_SIZE(shared_homes)];

	clear(home);
	put_obstacle(home, n / ARRAY_SIZE(shared_homes));
}

/* A directory on the way to a mount, of the adversary's own, and a link to a directory of the host,
   change places while an engine sets up the container's mounts there. */
static void swap_mounts(unsigned n)
{
	static const char way[] = "/home/agent/way", link[] = "/home/agent/link";
	struct stat st;

	(void)n;
	if (lstat(link, &st) < 0)
		(void)!symlink(host_dir, link);
	for (int i = 0; i < SWAPS; i++)
		swap(link, way);
}

/* Only where that does not fill somebody's disk. */
static void fill_one(const char *dir, bool full)
{
	static char block[65536];
	struct statfs fs;
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "%s/.full", dir);
	if (!full) {
		unlink(path);
		return;
	}
	if (statfs(dir, &fs) < 0 || fs.f_type != TMPFS || fs.f_blocks > 1 << 16)
		return;
	fd = open(path, O_WRONLY | O_CREAT | O_APPEND, 0600);
	while (fd >= 0 && write(fd, block, sizeof(block)) > 0)
		;
	while (fd >= 0 && write(fd, block, 1) > 0)
		;
	if (fd >= 0)
		close(fd);
}

static void fill(unsigned n)
{
	static const char *const dirs[] = {"/tmp", "/var/tmp", "/run"};

	for (size_t i = 0; i < ARRAY_SIZE(dirs); i++)
		fill_one(dirs[i], n % 400 < 200);
}

const struct attack path_attacks[] = {
	{"plant", plant},
	{"wait", wait_there},
	{"swap", swap_them},
	{"hold", hold},
	{"infect-homes", infect_homes},
	{"swap-homes", swap_homes},
	{"plant-homes", plant_homes},
	{"swap-mounts", swap_mounts},
	{"fill", fill},
	{NULL, NULL},
};
