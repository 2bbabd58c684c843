/* SPDX-License-Identifier: MIT */
/* Shell completions, written from the same tables as the help, so that they cannot drift from it.
 */
#include "cmd/cmd.h"

#include "cmd/out.h"

#include <stdio.h>
#include <string.h>

/* Names of running containers, for the shells. */
static const char names[] = "sbinject ls 2>/dev/null | awk 'NR > 1 { print $2 }'";

static bool takes_containers(const struct cmd *cmd)
{
	return strstr(cmd->args, "CONTAINER") != NULL;
}

static void print_words(const struct cmd *cmd)
{
	for (unsigned id = 0; id < OPT_COUNT; id++)
		if (cmd->opts & 1u << id)
			printf(" --%s", opt_specs[id].name);
}

static void print_commands(const char *separator)
{
	for (const struct cmd *const *cmd = cmd_table; *cmd; cmd++)
		printf("%s%s", cmd == cmd_table ? "" : separator, (*cmd)->name);
}

/* "--config|-c|--output|-o": the options whose value is of that kind (NULL: any kind of its own).
 */
static void print_options_with(const char *value)
{
	const char *separator = "";

	for (unsigned id = 0; id < OPT_COUNT; id++) {
		const struct opt_spec *spec = &opt_specs[id];

		if (!spec->value || (value && strcmp(spec->value, value) != 0))
			continue;
		printf("%s--%s", separator, spec->name);
		if (spec->letter)
			printf("|-%c", spec->letter);
		separator = "|";
	}
}

static void print_bash_values(void)
{
	printf("  case $prev in\n    ");
	print_options_with("FILE");
	printf(") COMPREPLY=($(compgen -f -- \"$cur\")); return;;\n    ");
	print_options_with("CONTAINER");
	printf(") COMPREPLY=($(compgen -W \"$(%s)\" -- \"$cur\")); return;;\n    ", names);
	print_options_with(NULL);
	printf(") return;;\n  esac\n");
}

static void print_bash(void)
{
	printf("_sbinject() {\n"
	       "  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} cmd= opts= "
	       "w\n");
	print_bash_values();
	printf("  for w in \"${COMP_WORDS[@]:1:COMP_CWORD-1}\"; do\n"
	       "    case $w in -*) ;; ");
	print_commands("|");
	printf(") cmd=$w; break;; *) cmd=inject; break;; esac\n"
	       "  done\n"
	       "  case $cmd in\n");
	for (const struct cmd *const *cmd = cmd_table; *cmd; cmd++) {
		printf("    %s) opts='", (*cmd)->name);
		print_words(*cmd);
		printf("'; w=%d;;\n", takes_containers(*cmd));
	}
	printf("    *) opts='--help --version'; w=1;;\n"
	       "  esac\n"
	       "  case $cur in\n"
	       "    -*) COMPREPLY=($(compgen -W \"$opts\" -- \"$cur\"));;\n"
	       "    *) local list=; [ \"$w\" = 0 ] || list=$(%s)\n"
	       "      [ -n \"$cmd\" ] || list=\"$list ",
		names);
	print_commands(" ");
	printf("\"\n"
	       "      COMPREPLY=($(compgen -W \"$list\" -- \"$cur\"));;\n"
	       "  esac\n"
	       "}\n"
	       "complete -F _sbinject sbinject\n");
}

/* Option help inside zsh's brackets and fish's quotes must not hold their own delimiters. */
static void print_plain(const char *text)
{
	for (; *text; text++)
		if (!strchr("'[]:\\", *text))
			putchar(*text);
}

static void print_zsh_options(const struct cmd *cmd)
{
	for (unsigned id = 0; id < OPT_COUNT; id++) {
		if (!(cmd->opts & 1u << id))
			continue;
		printf(" '--%s%s[", opt_specs[id].name, opt_specs[id].value ? "=" : "");
		print_plain(opt_specs[id].help);
		if (opt_specs[id].value)
			printf("]:%s:_files'", opt_specs[id].value);
		else
			printf("]'");
	}
}

static void print_zsh(void)
{
	printf("#compdef sbinject\n"
	       "_sbinject_names() { local -a n; n=(${(f)\"$(%s)\"}); compadd -a n; }\n"
	       "_sbinject() {\n"
	       "  if (( CURRENT == 2 )); then\n"
	       "    compadd ",
		names);
	print_commands(" ");
	printf("; _sbinject_names; return\n"
	       "  fi\n"
	       "  case $words[2] in\n");
	for (const struct cmd *const *cmd = cmd_table; *cmd; cmd++) {
		printf("    %s) _arguments", (*cmd)->name);
		print_zsh_options(*cmd);
		printf("%s;;\n", takes_containers(*cmd) ? " '*:container:_sbinject_names'" : "");
	}
	printf("    *) _arguments");
	print_zsh_options(&cmd_inject);
	printf(" '*:container:_sbinject_names';;\n"
	       "  esac\n"
	       "}\n"
	       "_sbinject \"$@\"\n");
}

static void print_fish_options(const struct cmd *cmd)
{
	for (unsigned id = 0; id < OPT_COUNT; id++) {
		if (!(cmd->opts & 1u << id))
			continue;
		printf("complete -c sbinject -n '__fish_seen_subcommand_from %s' -l %s", cmd->name,
			opt_specs[id].name);
		if (opt_specs[id].letter)
			printf(" -s %c", opt_specs[id].letter);
		printf("%s -d '", !opt_specs[id].value			 ? ""
				  : !strcmp(opt_specs[id].value, "FILE") ? " -rF"
									 : " -r");
		print_plain(opt_specs[id].help);
		printf("'\n");
	}
}

static void print_fish(void)
{
	printf("complete -c sbinject -f\n");
	for (const struct cmd *const *cmd = cmd_table; *cmd; cmd++) {
		printf("complete -c sbinject -n __fish_use_subcommand -a %s -d '", (*cmd)->name);
		print_plain((*cmd)->summary);
		printf("'\n");
		print_fish_options(*cmd);
		if (takes_containers(*cmd))
			printf("complete -c sbinject -n '__fish_seen_subcommand_from %s' -a "
			       "'(%s)'\n",
				(*cmd)->name,
				"sbinject ls 2>/dev/null | awk \"NR > 1 { print \\$2 }\"");
	}
	printf("complete -c sbinject -n __fish_use_subcommand -a '(%s)'\n",
		"sbinject ls 2>/dev/null | awk \"NR > 1 { print \\$2 }\"");
}

static const struct {
	const char *shell;
	void (*print)(void);
} shells[] = {{"bash", print_bash}, {"zsh", print_zsh}, {"fish", print_fish}};

static enum sb_code run(const struct cmd_env *env)
{
	struct sb_err err = SB_ERR_INIT;

	for (size_t i = 0; i < SB_ARRAY_SIZE(shells); i++)
		if (!strcmp(env->args[0], shells[i].shell)) {
			shells[i].print();
			return SB_OK;
		}
	sb_err_set(&err, SB_USAGE, "no completion for '%s'; there is one for bash, zsh and fish",
		env->args[0]);
	out_error(NULL, &err);
	return err.code;
}

const struct cmd cmd_completion = {
	.name = "completion",
	.args = "SHELL",
	.summary = "print the completion script for bash, zsh or fish",
	.help = "  source <(sbinject completion bash)\n"
		"\n"
		"'make install' puts all three where the shells look for them.\n",
	.opts = OPTS_ANY,
	.min_args = 1,
	.max_args = 1,
	.run = run,
};
