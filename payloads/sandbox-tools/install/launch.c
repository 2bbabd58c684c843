/* SPDX-License-Identifier: MIT */
/* Running a program and keeping its last words. */
#include "payloads/sandbox-tools/install/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "payloads/lib/io.h"
#include "payloads/lib/sys.h"
#include "payloads/sandbox-tools/install/spec.h"

#define WORDS_MAX 300

static void fill_arguments(const struct launch *launch, char *argv[SPEC_ARGS_MAX + 2])
{
	size_t n = json_array_size(launch->args);

	argv[0] = (char *)launch->program;
	for (size_t i = 0; i < n; i++)
		argv[i + 1] = (char *)json_string_value(json_array_get(launch->args, i));
	if (n == 0)
		argv[++n] = (char *)"start-server";
	argv[n + 1] = NULL;
}

static void __attribute__((noreturn)) become(const struct launch *launch, int complaints)
{
	char *argv[SPEC_ARGS_MAX + 2];
	int input = sys_null(false);

	fill_arguments(launch, argv);
	dup2(input, 0);
	dup2(complaints, 1); /* read and forgotten; without /dev/null there is no other sink */
	dup2(complaints, 2);
	sys_close_from(3, -1);
	sys_default_signals();
	umask(022);
	if (!launch->cwd || chdir(launch->cwd) < 0) {
		if (chdir("/") < 0)
			_exit(126);
	}
	execve(launch->program, argv, launch->env);
	dprintf(2, "cannot execute '%s': %s\n", launch->program, strerror(errno));
	_exit(127);
}

/* Reads to the end and keeps the last line. 0, -ETIMEDOUT, -errno. */
static int read_words(int fd, char words[WORDS_MAX], int64_t deadline)
{
	size_t len = 0;
	char block[512];
	int r;

	words[0] = '\0';
	while ((r = io_wait(fd, POLLIN, deadline)) == 0) {
		ssize_t n = io_read(fd, block, sizeof(block));

		if (n <= 0)
			return (int)n;
		for (ssize_t i = 0; i < n; i++) {
			/* a new line begins only with its first character */
			if (len > 0 && words[len - 1] == '\n')
				len = 0;
			if (len < WORDS_MAX - 1)
				words[len++] = block[i];
			words[len] = '\0';
		}
	}
	return r;
}

static int reap(pid_t child, int64_t deadline)
{
	int status;

	for (;;) {
		pid_t pid = waitpid(child, &status, WNOHANG);

		if (pid == child)
			return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
		if (pid < 0 && errno != EINTR)
			return 0;
		if (io_now() >= deadline)
			return -ETIMEDOUT;
		io_sleep(1);
	}
}

int launch_run(const struct launch *launch, struct fail *fail)
{
	char words[WORDS_MAX];
	int ends[2], r, status;
	pid_t child;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return fail_sys(fail, errno, "cannot start '%s'", launch->program);
	child = fork();
	if (child == 0)
		become(launch, ends[1]);
	close(ends[1]);
	if (child < 0) {
		close(ends[0]);
		return fail_sys(fail, errno, "cannot start '%s'", launch->program);
	}
	r = read_words(ends[0], words, launch->deadline);
	close(ends[0]);
	status = r == -ETIMEDOUT ? r : reap(child, launch->deadline);
	if (status == -ETIMEDOUT) {
		kill(child, SIGKILL);
		waitpid(child, NULL, 0);
		return fail_code(fail, FAIL_TIMEOUT, "'%s' did not start in time", launch->program);
	}
	words[strcspn(words, "\n")] = '\0';
	if (status != 0)
		return fail_code(fail, FAIL_START, "'%s' did not start: %s", launch->program,
			words[0] ? words : "it printed nothing");
	return 0;
}
