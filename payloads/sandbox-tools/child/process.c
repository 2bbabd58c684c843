/* SPDX-License-Identifier: MIT */
/* Reading /proc. */
#include "payloads/sandbox-tools/child/process.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "payloads/lib/io.h"

/* the same on every architecture; older kernels and some filters refuse them */
#define PIDFD_OPEN_NUMBER 434
#define PIDFD_SEND_SIGNAL_NUMBER 424

/* The fields after the name, which may itself contain blanks and parentheses. */
static bool parse(const char *text, struct process *ret)
{
	const char *p = strrchr(text, ')');
	long parent, group, session, terminal, threads;
	unsigned long long born;
	char state;

	if (!p)
		return false;
	if (sscanf(p + 1,
		    " %c %ld %ld %ld %ld %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %ld %*d "
		    "%llu",
		    &state, &parent, &group, &session, &terminal, &threads, &born) != 7)
		return false;
	ret->parent = (pid_t)parent;
	ret->group = (pid_t)group;
	ret->session = (pid_t)session;
	ret->terminal = terminal != 0;
	ret->born = born;
	/* a leading thread that has ended looks like a zombie while others run */
	ret->dead = state == 'X' || (state == 'Z' && threads <= 1);
	return true;
}

int process_read(pid_t pid, struct process *ret)
{
	char path[40], text[1024];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%ld/stat", (long)pid);
	fd = io_open(AT_FDCWD, path, O_RDONLY, 0);
	if (fd < 0)
		return fd;
	n = io_read(fd, text, sizeof(text) - 1);
	close(fd);
	if (n <= 0)
		return n == 0 ? -ENOENT : (int)n;
	text[n] = '\0';
	*ret = (struct process){.pid = pid};
	return parse(text, ret) ? 0 : -ENOENT;
}

bool process_lives(pid_t pid, unsigned long long born)
{
	struct process process;

	return process_read(pid, &process) == 0 && process.born == born && !process.dead;
}

int process_signal(pid_t pid, unsigned long long born, int signal)
{
	int fd = (int)syscall(PIDFD_OPEN_NUMBER, pid, 0), r;

	/* held by its descriptor it cannot become another one between the look and the signal */
	if (!process_lives(pid, born)) {
		io_close(&fd);
		return -ESRCH;
	}
	r = fd < 0 ? -1 : (int)syscall(PIDFD_SEND_SIGNAL_NUMBER, fd, signal, NULL, 0);
	if (r < 0 && (fd < 0 || errno == ENOSYS || errno == EPERM))
		r = kill(pid, signal);
	r = r < 0 ? -errno : 0;
	io_close(&fd);
	return r;
}

static int add(struct processes *all, pid_t pid)
{
	if (all->count == all->size) {
		size_t size = all->size ? 2 * all->size : 64;
		struct process *list = realloc(all->list, size * sizeof(*list));

		if (!list)
			return -ENOMEM;
		all->list = list;
		all->size = size;
	}
	if (process_read(pid, &all->list[all->count]) == 0)
		all->count++;
	return 0;
}

static int by_pid(const void *a, const void *b)
{
	const struct process *p = a, *q = b;

	return p->pid < q->pid ? -1 : p->pid > q->pid;
}

static struct process *find(struct processes *all, pid_t pid)
{
	struct process key = {.pid = pid};

	return all->count ? bsearch(&key, all->list, all->count, sizeof(key), by_pid) : NULL;
}

/* Parents mostly come before their children, so one or two rounds do. */
static void find_ours(struct processes *all)
{
	pid_t self = getpid();
	bool more = true;

	for (size_t i = 0; i < all->count; i++)
		all->list[i].above = find(all, all->list[i].parent);
	while (more) {
		more = false;
		for (size_t i = 0; i < all->count; i++) {
			struct process *p = &all->list[i];

			if (p->ours || p->pid == self)
				continue;
			p->ours = p->parent == self || (p->above && p->above->ours);
			more |= p->ours;
		}
	}
}

/* A /proc of another PID namespace would speak of strangers. */
static bool is_our_proc(void)
{
	char text[24], self[24];
	ssize_t n = readlink("/proc/self", text, sizeof(text) - 1);

	if (n <= 0)
		return false;
	text[n] = '\0';
	snprintf(self, sizeof(self), "%ld", (long)getpid());
	return strcmp(text, self) == 0;
}

int processes_read(struct processes *all)
{
	struct dirent *entry;
	int r = 0;
	DIR *dir;

	all->count = 0;
	if (!is_our_proc())
		return -ENOENT;
	dir = opendir("/proc");
	if (!dir)
		return -errno;
	while (r == 0 && (entry = readdir(dir))) {
		long pid = strtol(entry->d_name, NULL, 10);

		if (pid > 0)
			r = add(all, (pid_t)pid);
	}
	closedir(dir);
	if (all->count > 1)
		qsort(all->list, all->count, sizeof(*all->list), by_pid);
	find_ours(all);
	return r;
}

void processes_spread(struct processes *all)
{
	bool more = true;

	while (more) {
		more = false;
		for (size_t i = 0; i < all->count; i++) {
			struct process *p = &all->list[i];

			if (p->hit)
				continue;
			p->hit = p->above && p->above->hit;
			more |= p->hit;
		}
	}
}

void processes_release(struct processes *all)
{
	free(all->list);
	*all = (struct processes)PROCESSES_INIT;
}
