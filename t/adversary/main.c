/* SPDX-License-Identifier: MIT */
/* The loop that repeats one attack. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "t/adversary/adversary.h"

#define PAUSE_US 400 /* at most, between two rounds: the others need processor time, too */

const char *host_dir = "/nowhere";

static const struct attack *const tables[] = {
	path_attacks,
	service_attacks,
	process_attacks,
	root_attacks,
};

static const struct attack *find(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(tables); i++)
		for (const struct attack *a = tables[i]; a->name; a++)
			if (strcmp(a->name, name) == 0)
				return a;
	return NULL;
}

static int list(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(tables); i++)
		for (const struct attack *a = tables[i]; a->name; a++)
			puts(a->name);
	return 2;
}

static void __attribute__((noreturn)) repeat(const struct attack *attack)
{
	time_t told = 0;

	signal(SIGPIPE, SIG_IGN);
	signal(SIGCHLD, SIG_IGN);
	srand((unsigned)getpid());
	for (unsigned n = 0;; n++) {
		attack->round(n);
		if (time(NULL) != told) {
			told = time(NULL);
			printf("rounds %u\n", n + 1);
			fflush(stdout);
		}
		usleep((unsigned)rand() % PAUSE_US);
	}
}

int main(int argc, char **argv)
{
	const char *slash = strrchr(argv[0], '/'), *name = slash ? slash + 1 : argv[0];
	const struct attack *attack;

	if (strcmp(name, "adversary") != 0)
		return impostor(name, argc > 1 ? argv[1] : "");
	if (argc > 1 && strcmp(argv[1], "answers") == 0) {
		list_answers();
		return 0;
	}
	attack = argc > 1 ? find(argv[1]) : NULL;
	if (!attack)
		return list();
	if (argc > 2)
		host_dir = argv[2];
	repeat(attack);
}
