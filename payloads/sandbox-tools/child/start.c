/* SPDX-License-Identifier: MIT */
/* From the loop's process to a new program. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "payloads/lib/io.h"
#include "payloads/lib/sys.h"
#include "payloads/sandbox-tools/child/children.h"

#define REPORT_MS 10000 /* for a directory that does not answer; then the child is on its own */

/* ---- in the child ---- */

static void __attribute__((noreturn)) report(int fd, int error)
{
	if (io_write(fd, &error, sizeof(error)) < 0)
		_exit(126);
	_exit(127);
}

/* Puts the descriptors into place; none of the given ones may be lost on the way. */
static int place_descriptors(const struct child_options *options)
{
	int fds[3];

	for (int i = 0; i < 3; i++) {
		fds[i] = options->fds[i] < 0 ? sys_null(i > 0) : options->fds[i];
		if (fds[i] >= 0 && fds[i] < 3)
			fds[i] = fcntl(fds[i], F_DUPFD_CLOEXEC, 3);
		if (fds[i] < 0)
			return -EMFILE;
	}
	for (int i = 0; i < 3; i++)
		if (dup2(fds[i], i) < 0)
			return -errno;
	return 0;
}

/* When memory is short the kernel shall take a job and not the server. */
static void volunteer(void)
{
	bool hidden = prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) == 0;
	int fd;

	/* what an unprivileged, undumpable process has in /proc belongs to root */
	if (hidden && geteuid() != 0)
		prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
	fd = io_open(AT_FDCWD, "/proc/self/oom_score_adj", O_WRONLY, 0);
	if (fd >= 0)
		io_write(fd, "1000", 4);
	io_close(&fd);
	if (hidden)
		prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}

/* So that what it opens again by /dev/stdout is not another's. */
static int hand_over(const struct user *user)
{
	for (int fd = 0; fd <= 2; fd++)
		if (fchown(fd, user->uid, (gid_t)-1) < 0)
			return -errno;
	return user_become(user);
}

static void switch_user(const struct user *user)
{
	int r;

	if (user->unknown) {
		dprintf(2, "sandbox-tools: user %s not found in /etc/passwd\n", user->shown);
		_exit(1);
	}
	r = user_become(user);
	if (r == 0)
		return;
	if (r == -EPERM)
		dprintf(2,
			"sandbox-tools: permission denied switching to user %s (server may lack "
			"CAP_SETUID/CAP_SETGID)\n",
			user->shown);
	else
		dprintf(2, "sandbox-tools: cannot switch to user %s: %s\n", user->shown,
			strerror(-r));
	_exit(1);
}

/* Should the server be killed, its children must not stay behind, out of everybody's reach. A
   terminal hangs up on its shell, which then passes that on to the jobs it knows. */
static void die_with_parent(const struct child_options *options, pid_t parent)
{
	if (options->terminal)
		return;
	prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	if (getppid() != parent)
		_exit(126);
}

static void __attribute__((noreturn))
become(const struct children *children, const struct child_options *options, pid_t parent, int fd)
{
	int r;

	if (options->accepts && !options->accepts(options->cookie, getpid()))
		report(fd, EEXIST);
	setsid();
	if (options->cwd && chdir(options->cwd) < 0)
		report(fd, errno);
	r = place_descriptors(options);
	if (r < 0)
		report(fd, -r);
	sys_close_from(3, fd);
	if (options->terminal)
		ioctl(0, TIOCSCTTY, 0);
	if (options->as_engine)
		sys_inherited_signals();
	else
		sys_default_signals();
	umask(children->mask);
	setrlimit(RLIMIT_CORE, &children->core);
	setrlimit(RLIMIT_NOFILE, &children->files);
	if (options->oom_first)
		volunteer();
	r = options->user && options->as_engine ? hand_over(options->user) : 0;
	if (r < 0)
		report(fd, -r);
	if (options->user && !options->as_engine)
		switch_user(options->user);
	die_with_parent(options, parent); /* a switch would have undone it */
	execve(options->file, options->argv, options->env ? options->env : environ);
	report(fd, errno);
}

/* ---- in the server ---- */

static int await_program(int fd)
{
	int error = 0;
	int r = io_read_full(fd, &error, sizeof(error), io_in(REPORT_MS));

	return r == 0 ? -error : 0;
}

/* Forks until the child has a pid that will do. */
static int fork_child(struct children *children, const struct child_options *options, pid_t *ret)
{
	pid_t pid, self = getpid();
	int ends[2], r;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	if (ends[1] < 3) {
		close(ends[0]);
		close(ends[1]);
		return -EBADF;
	}
	pid = fork();
	if (pid == 0)
		become(children, options, self, ends[1]);
	r = pid < 0 ? -errno : 0;
	close(ends[1]);
	if (r == 0) {
		r = await_program(ends[0]);
		while (r < 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
			;
	}
	close(ends[0]);
	*ret = pid;
	return r;
}

int child_start(struct children *children, struct child *child, const struct child_options *options)
{
	struct child_ending *ending = calloc(1, sizeof(*ending));
	struct process process;
	struct child **bucket;
	pid_t pid = 0;
	int r = ending ? 0 : -ENOMEM;

	if (r == 0 && children->ending)
		r = -ESHUTDOWN;
	if (r == 0) {
		do
			r = fork_child(children, options, &pid);
		while (r == -EEXIST && options->accepts);
	}
	if (r < 0) {
		free(ending);
		return r;
	}
	child->pid = pid;
	child->running = true;
	child->code = 0;
	child->group = options->group;
	child->terminal = options->terminal;
	child->born = process_read(pid, &process) == 0 ? process.born : 0;
	child->children = children;
	child->ending = ending;
	ending->children = children;
	ending->child = child;
	ending->leader = pid;
	ending->born = child->born;
	ending->terminal = child->terminal;
	ending->seen = children->all_number;
	bucket = &children->buckets[(unsigned)pid % CHILDREN_BUCKETS];
	child->next = *bucket;
	child->link = bucket;
	if (child->next)
		child->next->link = &child->next;
	*bucket = child;
	return 0;
}
