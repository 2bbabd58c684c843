/* SPDX-License-Identifier: MIT */
/* A shell's process and its terminal. */
#include "payloads/sandbox-tools/bash_session/shell.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "payloads/lib/base.h"
#include "payloads/lib/io.h"
#include "payloads/sandbox-tools/bash_session/pty.h"

#define READ_SIZE 4096

/* In the order they are tried. */
static const struct candidate {
	const char *file;
	const char *preface; /* what the user is told, when it is not what was promised */
	bool lines;	     /* it is to read whole lines, lest it edits and echoes them itself */
} candidates[] = {
	{"/bin/bash", NULL, false},
	{"/usr/bin/bash", NULL, false},
	{"/usr/local/bin/bash", NULL, false},
	{"/bin/sh", "[inspect_sandbox_tools: no /bin/bash here; this is /bin/sh]\n", true},
};

/* ---- streams ---- */

void shell_hang_up(struct shell *shell)
{
	if (shell->master.fd < 0)
		return;
	loop_unwatch(shell->host->loop, &shell->master);
	io_close(&shell->master.fd);
	buf_release(&shell->input);
	shell->taken = shell->queued;
}

static void feed(struct shell *shell)
{
	size_t sent = 0;

	while (shell->master.fd >= 0 && sent < shell->input.len) {
		ssize_t n = io_write(
			shell->master.fd, shell->input.data + sent, shell->input.len - sent);

		if (n == 0 || n == -EAGAIN)
			break;
		if (n < 0) {
			shell_hang_up(shell);
			return;
		}
		sent += (size_t)n;
	}
	if (shell->master.fd < 0)
		return;
	buf_drop(&shell->input, sent);
	shell->taken += sent;
	loop_change(shell->host->loop, &shell->master,
		shell->input.len > 0 ? EPOLLIN | EPOLLOUT : EPOLLIN);
}

static void hear(struct shell *shell)
{
	char data[READ_SIZE];
	ssize_t n = io_read(shell->master.fd, data, sizeof(data));

	if (n == -EAGAIN)
		return;
	if (n <= 0) {
		shell_hang_up(shell); /* EIO: nobody has the other side open any more */
		shell->accepted(shell->owner);
		return;
	}
	if (shell->preface) {
		const char *preface = shell->preface;

		shell->preface = NULL;
		output_add(&shell->output, preface, strlen(preface));
	}
	output_add(&shell->output, data, (size_t)n);
	shell->heard(shell->owner);
}

static void on_ready(struct loop_watch *watch, uint32_t events)
{
	struct shell *shell = container_of(watch, struct shell, master);

	if (events & EPOLLOUT) {
		feed(shell);
		shell->accepted(shell->owner);
	}
	if (shell->master.fd >= 0 && (events & ~(uint32_t)EPOLLOUT))
		hear(shell);
}

int shell_tell(struct shell *shell, const char *data, size_t len)
{
	int r = shell->master.fd < 0 ? 0 : buf_add(&shell->input, data, len);

	if (r < 0 || shell->master.fd < 0)
		return r;
	shell->queued += len;
	feed(shell);
	return 0;
}

bool shell_interrupt(struct shell *shell)
{
	if (shell->master.fd < 0 || !pty_interrupt(shell->master.fd, shell->input.len > 0))
		return false;
	buf_release(&shell->input);
	shell->taken = shell->queued;
	loop_change(shell->host->loop, &shell->master, EPOLLIN);
	return true;
}

/* ---- life ---- */

static int start(
	struct shell *shell, const struct candidate *candidate, struct child_options *options)
{
	char *argv[] = {(char *)(uintptr_t)candidate->file, (char *)(uintptr_t) "-i", NULL};

	options->file = candidate->file;
	options->argv = argv;
	return child_start(shell->host->children, &shell->child, options);
}

/* The first shell there is: 0 or -errno. */
static int start_any(struct shell *shell, struct pty *pty, struct child_options *options)
{
	int r = -ENOENT;

	for (size_t i = 0; i < ARRAY_SIZE(candidates) && r == -ENOENT; i++) {
		if (candidates[i].lines)
			pty_set_canonical(pty);
		r = start(shell, &candidates[i], options);
		if (r == 0)
			shell->preface = candidates[i].preface;
	}
	return r;
}

static int make_env(struct child_env *env, const struct user *user)
{
	int r = child_env_copy(env, environ);

	if (r == 0)
		r = child_env_set(env, "TERM", "dumb");
	if (r == 0 && user)
		r = child_env_set(env, "HOME", user->home);
	return r;
}

static int start_shell(struct shell *shell, struct pty *pty, const struct user *user)
{
	struct child_env env = CHILD_ENV_INIT;
	struct child_options options = {.group = "bash_session",
		.user = user,
		.fds = {pty->slave, pty->slave, pty->slave},
		.terminal = true,
		.oom_first = true};
	int r = make_env(&env, user);

	options.env = env.vars;
	shell->master.fd = pty->master;
	shell->master.ready = on_ready;
	if (r == 0)
		r = loop_watch(shell->host->loop, &shell->master, EPOLLIN);
	if (r < 0)
		shell->master.fd = -1;
	else
		pty->master = -1;
	if (r == 0)
		r = start_any(shell, pty, &options);
	child_env_release(&env);
	return r;
}

struct shell *shell_new(const struct bash_host *host, const struct user *user, struct fail *fail)
{
	struct shell *shell = calloc(1, sizeof(*shell));
	struct fail why = FAIL_INIT;
	struct pty pty;
	int r;

	if (!shell) {
		fail_set(fail, "MemoryError()");
		return NULL;
	}
	shell->host = host;
	shell->master.fd = -1;
	shell->input.limit = BASH_INPUT_MAX;
	output_init(&shell->output, host->unread);
	if (pty_open(&pty, user, &why) < 0) {
		fail_set(fail, "OSError(%d, \"%s\")", why.error, why.text);
		free(shell);
		return NULL;
	}
	r = start_shell(shell, &pty, user);
	pty_close(&pty);
	if (r < 0) {
		char text[160];

		child_error_text(-r, text, sizeof(text));
		fail_set(fail, "%s", text);
		shell_hang_up(shell);
		free(shell);
		return NULL;
	}
	return shell;
}

void shell_free(struct shell *shell)
{
	shell_hang_up(shell);
	output_release(&shell->output);
	buf_release(&shell->input);
	child_forget(&shell->child);
	free(shell);
}

void shell_end(struct shell *shell)
{
	child_end(&shell->child, BASH_GRACE_MS, NULL, NULL);
	shell_free(shell);
}
