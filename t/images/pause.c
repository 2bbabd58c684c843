/* SPDX-License-Identifier: MIT */
/*
 * pause: the main process of every test container.  Waits for signals, reaps
 * orphans, exits 0 on SIGTERM or SIGINT.  It does nothing else; --version is
 * for execs that only want to see a program run.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

static void reap(void)
{
	while (waitpid(-1, NULL, WNOHANG) > 0)
		;
}

int main(int argc, char **argv)
{
	sigset_t set;
	int sig;

	if (argc > 1 && strcmp(argv[1], "--version") == 0)
		return puts("pause 1") < 0;
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGCHLD);
	sigprocmask(SIG_BLOCK, &set, NULL);
	for (;;) {
		if (sigwait(&set, &sig) != 0)
			continue;
		if (sig != SIGCHLD)
			return 0;
		reap();
	}
}
