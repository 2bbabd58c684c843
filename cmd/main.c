/* SPDX-License-Identifier: MIT */
/*
 * Start clean, find the sub-command, run it, exit with its code. Everything else is in the files of
 * the sub-commands.
 */
#include "cmd/cmd.h"
#include "cmd/out.h"
#include "cmd/usage.h"
#include "cmd/version.h"
#include "engine/guard.h"
#include "engine/log.h"
#include "payloads/lib/relro.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

const struct cmd *const cmd_table[] = {
	&cmd_inject,
	&cmd_probe,
	&cmd_status,
	&cmd_ls,
	&cmd_call,
	&cmd_pipe,
	&cmd_remove,
	&cmd_payloads,
	&cmd_fetch,
	&cmd_bundle,
	&cmd_hosts,
	&cmd_rules,
	&cmd_completion,
	NULL,
};

static const struct cmd *find_command(const char *name)
{
	for (const struct cmd *const *cmd = cmd_table; *cmd; cmd++)
		if (!strcmp((*cmd)->name, name))
			return *cmd;
	return NULL;
}

/* A missing stdin, stdout or stderr would let the next file that is opened take its place. */
static void open_standard_files(void)
{
	for (int fd = 0; fd <= 2; fd++)
		if (fcntl(fd, F_GETFD) < 0)
			(void)!open("/dev/null", fd == 2 ? O_WRONLY : O_RDONLY);
}

static void on_signal(int number)
{
	(void)number;
	if (eng_interrupted)
		_exit(SB_INTERRUPTED);
	eng_interrupted = 1;
}

/* What nohup or a shell has told us to ignore stays ignored. */
static void catch_signal(int number)
{
	struct sigaction action = {.sa_handler = on_signal}, old;

	sigemptyset(&action.sa_mask);
	if (sigaction(number, NULL, &old) == 0 && old.sa_handler != SIG_IGN)
		sigaction(number, &action, NULL);
}

static void set_signals(void)
{
	static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};

	for (size_t i = 0; i < SB_ARRAY_SIZE(numbers); i++)
		catch_signal(numbers[i]);
	/* What they tell of, a write tells as well: a reader that is gone, a limit on files. */
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
}

static int check_args(const struct cmd_env *env, struct sb_err *err)
{
	const struct cmd *cmd = env->cmd;
	char line[128];

	usage_line(cmd, line, sizeof(line));
	if (!env->arg_count && !env->named)
		return sb_err_set(err, SB_USAGE, "no container given; see 'sbinject --help'");
	if (opt_check_allowed(&env->opts, cmd->opts, cmd->name, err) < 0)
		return -1;
	if (env->arg_count < cmd->min_args)
		return sb_err_set(err, SB_USAGE, "missing argument; usage: %s", line);
	if (cmd->max_args >= 0 && env->arg_count > cmd->max_args)
		return sb_err_set(err, SB_USAGE, "unexpected argument '%s'; usage: %s",
			env->args[cmd->max_args], line);
	return 0;
}

static int apply_globals(const struct cmd_env *env, struct sb_err *err)
{
	out_init(cmd_has(env, OPT_JSON), cmd_has(env, OPT_QUIET));
	if (cmd_has(env, OPT_VERBOSE))
		sb_log_enable(SB_NOTE);
	return sb_log_enable_list(getenv("SBINJECT_TRACE"), err);
}

static enum sb_code finish(void)
{
	struct sb_err err = SB_ERR_INIT;

	if (out_finish(&err) < 0)
		out_error(NULL, &err);
	return err.code;
}

static enum sb_code run(struct cmd_env *env)
{
	struct sb_err err = SB_ERR_INIT;
	enum sb_code code;

	if (apply_globals(env, &err) < 0 || check_args(env, &err) < 0 ||
		eng_global_init(&err) < 0) {
		out_error(NULL, &err);
		return err.code;
	}
	code = env->cmd->run(env);
	return code == SB_OK ? finish() : code;
}

/* The first word is a sub-command, unless "--" stood before it; else everything is a container. */
static void choose_command(struct cmd_env *env, bool first_is_name)
{
	const struct cmd *found = NULL;

	if (env->arg_count && !first_is_name)
		found = find_command(env->args[0]);
	env->named = found != NULL;
	env->bare = !found && !first_is_name;
	env->cmd = found ? found : &cmd_inject;
	if (found) {
		env->args++;
		env->arg_count--;
	}
}

/* Known before the rest is parsed, so that an error in that comes as an object, too. */
static bool has_word(char **argv, const char *word)
{
	while (*argv && strcmp(*argv, "--") != 0)
		if (!strcmp(*argv++, word))
			return true;
	return false;
}

int main(int argc, char **argv)
{
	sb_autofree char **args = calloc((size_t)argc + 1, sizeof(*args));
	struct opt_args rest = {.args = args};
	struct cmd_env env = {.args = args};
	struct sb_err err = SB_ERR_INIT;

	relro_seal();
	open_standard_files();
	if (argc == 2 && !strcmp(argv[1], ENG_GUARD_WORD))
		return eng_guard_main();
	set_signals();
	out_init(has_word(argv, "--json"), false);
	if (!args || opt_parse(argc, argv, &env.opts, &rest, &err) < 0) {
		out_error(NULL, &err);
		return args ? (int)err.code : SB_FAILED;
	}
	env.arg_count = rest.count;
	choose_command(&env, rest.first_is_name);
	if (cmd_has(&env, OPT_HELP)) {
		if (env.named)
			usage_one(env.cmd, stdout);
		else
			usage_all(stdout);
		return finish();
	}
	if (cmd_has(&env, OPT_VERSION)) {
		version_print(&env);
		return finish();
	}
	if (argc == 1) {
		usage_all(stderr);
		return SB_USAGE;
	}
	return run(&env);
}
