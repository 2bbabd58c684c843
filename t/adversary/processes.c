/* SPDX-License-Identifier: MIT */
/* Attacks on processes: of others, as far as the kernel lets them, and by numbers. */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "t/adversary/adversary.h"

#define CHILDREN_MAX 120

/* Ourselves and our children are what is called like us. */
static bool is_ours(pid_t pid)
{
	char path[40], link[64];
	ssize_t n;

	if (pid == getpid() || pid <= 1)
		return true;
	snprintf(path, sizeof(path), "/proc/%ld/exe", (long)pid);
	n = readlink(path, link, sizeof(link) - 1);
	link[n > 0 ? n : 0] = '\0';
	return strcmp(link, SOURCE) == 0;
}

static void to_others(void (*act)(pid_t pid))
{
	DIR *dir = opendir("/proc");
	struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		pid_t pid = isdigit((unsigned char)entry->d_name[0]) ? atoi(entry->d_name) : 0;

		if (pid > 0 && !is_ours(pid))
			act(pid);
	}
	if (dir)
		closedir(dir);
}

static void kill_one(pid_t pid)
{
	kill(pid, rand() % 2 ? SIGKILL : SIGTERM);
}

static void kill_others(unsigned n)
{
	(void)n;
	to_others(kill_one);
}

/* A while later, so that some get on. */
static void kill_late(unsigned n)
{
	(void)n;
	usleep((unsigned)rand() % 300000);
	to_others(kill_one);
}

static void freeze_one(pid_t pid)
{
	if (kill(pid, SIGSTOP) < 0)
		return;
	usleep((unsigned)rand() % 50000);
	kill(pid, SIGCONT);
}

static void freeze(unsigned n)
{
	(void)n;
	to_others(freeze_one);
}

static void stop_one(pid_t pid)
{
	kill(pid, SIGSTOP);
}

/* For good. */
static void stop(unsigned n)
{
	(void)n;
	to_others(stop_one);
}

static void trace_one(pid_t pid)
{
	int status;

	if (ptrace(PTRACE_ATTACH, pid, 0, 0) < 0)
		return;
	waitpid(pid, &status, 0);
	usleep((unsigned)rand() % 50000);
	ptrace(PTRACE_DETACH, pid, 0, 0);
}

static void trace(unsigned n)
{
	static bool wanted = true;

	(void)n;
	if (wanted)
		signal(SIGCHLD, SIG_DFL);
	wanted = false;
	to_others(trace_one);
}

static bool is_helper(pid_t pid)
{
	char path[40], words[PATH_MAX + 16] = "";
	int fd;
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%ld/cmdline", (long)pid);
	fd = open(path, O_RDONLY);
	if (fd < 0)
		return false;
	n = read(fd, words, sizeof(words) - 2);
	close(fd);
	return n > 0 && strcmp(words + strlen(words) + 1, "graft") == 0;
}

static void reach_by(pid_t pid, const char *what, int flags)
{
	char path[40];
	int fd;

	snprintf(path, sizeof(path), "/proc/%ld/%s", (long)pid, what);
	fd = open(path, flags);
	if (fd < 0)
		return;
	printf("reached %s\n", path);
	close(fd);
}

static void reach_into(pid_t pid)
{
	if (!is_helper(pid))
		return;
	printf("met %ld\n", (long)pid);
	reach_by(pid, "root", O_PATH | O_DIRECTORY);
	reach_by(pid, "mem", O_RDWR);
	if (ptrace(PTRACE_ATTACH, pid, 0, 0) == 0)
		printf("reached %ld by tracing it\n", (long)pid);
	fflush(stdout);
}

/* A helper container's process: it can be killed, but not be looked into. */
static void reach(unsigned n)
{
	(void)n;
	to_others(reach_into);
}

/* As many processes as there may be. */
static void crowd(unsigned n)
{
	static pid_t children[CHILDREN_MAX];

	for (size_t i = 0; i < ARRAY_SIZE(children); i++) {
		if (n % 400 == 399 && children[i] > 0) {
			kill(children[i], SIGKILL);
			children[i] = 0;
		} else if (n % 400 < 200 && (children[i] <= 0 || kill(children[i], 0) < 0)) {
			children[i] = fork();
			if (children[i] == 0) {
				pause();
				_exit(0);
			}
		}
	}
}

const struct attack process_attacks[] = {
	{"kill", kill_others},
	{"kill-late", kill_late},
	{"freeze", freeze},
	{"stop", stop},
	{"trace", trace},
	{"reach", reach},
	{"crowd", crowd},
	{NULL, NULL},
};
