/* SPDX-License-Identifier: MIT */
/* inspect-sandbox-tools: the tool service inside a container. This file only finds the
   sub-command. */
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "payloads/lib/base.h"
#include "payloads/lib/name.h"
#include "payloads/lib/sys.h"
#include "payloads/sandbox-tools/cli.h"
#include "payloads/sandbox-tools/install/home.h"

/* Exit status. A failed flush drops what it could not write, and the next one then succeeds. */
static int finish(void)
{
	struct fail fail = FAIL_INIT;

	if (fflush(stdout) == 0 && !ferror(stdout))
		return 0;
	fail_set(&fail, "cannot write to standard output");
	return cli_complain(&fail);
}

static int print_version(const struct cli *cli)
{
	(void)cli;
	puts(RELEASE);
	return finish();
}

static const struct cli_command cli_version = {
	"version",
	"",
	"print the release number",
	0,
	print_version,
};

static const struct cli_command *const commands[] = {
	&cli_exec,
	&cli_pipe,
	&cli_start_server,
	&cli_stop_server,
	&cli_server,
	&cli_healthcheck,
	&cli_model_proxy,
	&cli_version,
	&cli_install,
	&cli_uninstall,
	&cli_status,
	&cli_graft,
	&cli_unpack,
};

static void print_usage(FILE *out, const struct cli_command *only)
{
	if (only) {
		fprintf(out, "usage: inspect-sandbox-tools %s%s%s\n%s\n", only->name,
			only->arguments[0] ? " " : "", only->arguments, only->summary);
		return;
	}
	fputs("usage: inspect-sandbox-tools COMMAND\n\n", out);
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
		fprintf(out, "  %-13s %s\n", commands[i]->name, commands[i]->summary);
}

static int misuse(const struct cli_command *command, const char *what, const char *word)
{
	print_usage(stderr, command);
	fprintf(stderr, "error: %s%s%s%s\n", what, word ? " '" : "", word ? word : "",
		word ? "'" : "");
	return 2;
}

static int is_help(const char *word)
{
	return strcmp(word, "-h") == 0 || strcmp(word, "--help") == 0;
}

static const struct cli_command *find_command(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
		if (strcmp(commands[i]->name, name) == 0)
			return commands[i];
	return NULL;
}

/* jansson would open /dev/urandom, which need not exist here. */
static void seed_hashes(void)
{
	size_t seed = 0;

	if (getrandom(&seed, sizeof(seed), GRND_NONBLOCK) != (ssize_t)sizeof(seed) || seed == 0)
		seed = (size_t)&seed | 1;
	json_object_seed(seed);
}

/*
 * A program under a delivery's name, "<sha256>.<nonce>", was brought for this one call, and only
 * install (and unpack, and graft, which copies it) has a use for the file after it: sbinject asks
 * that way where it cannot trust a copy that stood there before.
 */
static void forget_delivery(const char *path, const struct cli_command *command)
{
	const char *name = strrchr(path, '/');

	if (!name || command == &cli_install || command == &cli_graft || command == &cli_unpack ||
		!name_is_delivery(name + 1))
		return;
	unlink(path);
	home_forget(path);
}

int main(int argc, char **argv)
{
	const struct cli_command *command;
	struct cli cli;

	sys_start();
	seed_hashes();
	if (argc < 2)
		return misuse(NULL, "no command", NULL);
	if (is_help(argv[1])) {
		print_usage(stdout, NULL);
		return finish();
	}
	command = find_command(argv[1]);
	if (!command)
		return misuse(NULL, "no such command", argv[1]);
	forget_delivery(argv[0], command);
	cli = (struct cli){argv[0], argc - 2, argv + 2};
	if (cli.argc > 0 && is_help(cli.argv[0])) {
		print_usage(stdout, command);
		return finish();
	}
	if (cli.argc > 0 && cli.argv[0][0] == '-' && cli.argv[0][1] && command->max_args > 0)
		return misuse(command, "no such option", cli.argv[0]);
	if (cli.argc > command->max_args)
		return misuse(command, "unexpected argument", cli.argv[command->max_args]);
	return command->run(&cli);
}
