/* SPDX-License-Identifier: MIT */
/* Shell completions, written from the same tables as the help, so that they cannot drift from it.
 */
#include "cmd/cmd.h"

#include "cmd/out.h"
#include "payloads/upstream.h"

#include <stdio.h>
#include <string.h>

/*
 * Shells evaluate what they are offered, and what answers may only look like an engine: of its
 * names, none but plain ones may pass.
 */
#define FILTER "LC_ALL=C awk '/^[A-Za-z0-9][A-Za-z0-9_.-]*$/'"

/* What stands where options and their values do not. */
static const char *kind_of_args(const struct cmd *cmd)
{
	static const char *const kinds[][2] = {{"CONTAINER", "containers"}, {"FILE", "files"},
		{"SHELL", "shells"}, {"NAME", "archives"}};

	for (size_t i = 0; i < SB_ARRAY_SIZE(kinds); i++)
		if (strstr(cmd->args, kinds[i][0]))
			return kinds[i][1];
	return NULL;
}

/* A function that offers the names in the catalogue; what it is called, and ends with, varies. */
static void print_archives(const char *begin, const char *end)
{
	fputs(begin, stdout);
	for (size_t i = 0; i < upstream_count(); i++)
		printf(" %s", upstream_at(i)->name);
	fputs(end, stdout);
}

/* Whether the option takes that value; NULL: any. */
static bool takes(enum opt_id id, const char *value)
{
	return opt_specs[id].value && (!value || !strcmp(opt_specs[id].value, value));
}

static bool has_words(enum opt_id id)
{
	return id == OPT_REQUIRE || id == OPT_EXTRACT;
}

/* The words that an option's value is, or begins with. */
static void print_words(enum opt_id id)
{
	if (id == OPT_REQUIRE)
		printf("release= wire= sha256=");
	for (size_t i = 0; id == OPT_EXTRACT && i < payload_count(); i++)
		printf("%s%s", i ? " " : "", payload_at(i)->name);
}

static void print_commands(const char *separator)
{
	for (const struct cmd *const *cmd = cmd_table; *cmd; cmd++)
		printf("%s%s", cmd == cmd_table ? "" : separator, (*cmd)->name);
}

/* "--config|-c|--output|-o": the options that take such a value. */
static void print_options_with(const char *value)
{
	const char *separator = "";

	for (unsigned id = 0; id < OPT_COUNT; id++) {
		if (!takes(id, value))
			continue;
		printf("%s--%s", separator, opt_specs[id].name);
		if (opt_specs[id].letter)
			printf("|-%c", opt_specs[id].letter);
		separator = "|";
	}
}

static void print_letters(bool with_value)
{
	for (unsigned id = 0; id < OPT_COUNT; id++)
		if (opt_specs[id].letter && takes(id, NULL) == with_value)
			putchar(opt_specs[id].letter);
}

/* A pattern for words whose value is the next word: "--jobs", "-j", "-qj". */
static void print_valued(void)
{
	const char *separator = "";

	printf("^(--(");
	for (unsigned id = 0; id < OPT_COUNT; id++)
		if (takes(id, NULL)) {
			printf("%s%s", separator, opt_specs[id].name);
			separator = "|";
		}
	printf(")|-[");
	print_letters(false);
	printf("]*[");
	print_letters(true);
	printf("])$");
}

/* Option help inside zsh's brackets and fish's quotes must not hold their own delimiters. */
static void print_plain(const char *text)
{
	for (; *text; text++)
		if (!strchr("'[]\\", *text))
			putchar(*text);
}

/* ---- bash ---- */

/*
 * COMP_WORDS is split at '=' and ':', too: the blanks of COMP_LINE tell what was one word. Of an
 * answer, readline wants what stands behind the last split.
 */
static const char bash_words[] =
	"  local words=(\"${COMP_WORDS[0]}\") rest=${COMP_LINE#*\"${COMP_WORDS[0]}\"} i w next\n"
	"  local last=${COMP_WORDS[COMP_CWORD]} cur cmd= args= takes= host= kind= opts= list= pre= cut\n"
	"  for ((i = 1; i <= COMP_CWORD; i++)); do\n"
	"    w=${COMP_WORDS[i]} next=${rest#\"${rest%%[![:space:]]*}\"}\n"
	"    if [[ $next != \"$rest\" ]]; then words+=(\"$w\"); else words[${#words[@]}-1]+=$w; fi\n"
	"    rest=${next#\"$w\"}\n"
	"  done\n"
	"  [[ $last == *[!=:]* ]] || last=\n"
	"  cur=${words[${#words[@]}-1]} cut=${cur%\"$last\"}\n"
	"  for w in \"${words[@]:1:${#words[@]}-2}\"; do\n"
	"    if [[ $takes ]]; then\n"
	"      [[ $takes != -H && $takes != --host ]] || host=$w\n"
	"      takes=\n"
	"    elif [[ $args ]]; then :\n"
	"    elif [[ $w == -- ]]; then args=1 cmd=${cmd:-inject}\n"
	"    elif [[ $w =~ $valued ]]; then\n"
	"      takes=$w; [[ $w == --* ]] || takes=-${w: -1}\n"
	"    elif [[ $w == --host=* ]]; then host=${w#*=}\n"
	"    elif [[ $w =~ $joined ]]; then host=${BASH_REMATCH[1]}\n"
	"    elif [[ $w != -?* && ! $cmd ]]; then\n"
	"      cmd=inject; [[ ! $w =~ $commands ]] || cmd=$w\n"
	"    fi\n"
	"  done\n"
	"  host=${host//[\\\"\\']/}\n"
	"  if [[ ! $takes$args && $cur == --*=* ]]; then takes=${cur%%=*} pre=$takes= cur=${cur#*=}; fi\n";

static const char bash_answer[] =
	"  case $kind in\n"
	"    options) list=$opts;;\n"
	"    containers) list+=\" $(_sbinject_containers \"$host\")\";;\n"
	"    shells) list='bash zsh fish';;\n"
	"    archives) list=$(_sbinject_archives);;\n"
	"  esac\n"
	"  if [[ $kind == files ]]; then\n"
	"    compopt -o filenames 2>/dev/null\n"
	"    mapfile -t COMPREPLY < <(compgen -f -P \"$pre\" -- \"$cur\")\n"
	"  else\n"
	"    mapfile -t COMPREPLY < <(compgen -W \"$list\" -P \"$pre\" -- \"$cur\")\n"
	"  fi\n"
	"  [[ ${COMPREPLY[*]} != *= ]] || compopt -o nospace 2>/dev/null\n"
	"  COMPREPLY=(\"${COMPREPLY[@]#\"$cut\"}\")\n"
	"}\n"
	"_sbinject_containers() {\n"
	"  sbinject ls -q -t 2 ${1:+\"-H$1\"} 2>/dev/null | " FILTER "\n"
	"}\n"
	"complete -F _sbinject sbinject\n";

static void print_bash_command(const struct cmd *cmd)
{
	const char *kind = kind_of_args(cmd);

	printf("%s) %s%s opts='", cmd->name, kind ? "kind=" : "", kind ? kind : "");
	for (unsigned id = 0; id < OPT_COUNT; id++)
		if (cmd->opts & OPT_BIT(id))
			printf(" --%s", opt_specs[id].name);
	printf("';;\n");
}

static void print_bash(void)
{
	print_archives("_sbinject_archives() {\n  echo", "\n}\n");
	printf("_sbinject() {\n  local commands='^(");
	print_commands("|");
	printf(")$' joined='^-[");
	print_letters(false);
	printf("]*H(.+)$'\n  local valued='");
	print_valued();
	printf("'\n%s  [[ $cmd ]] || list='", bash_words);
	print_commands(" ");
	printf("'\n  case ${cmd:-inject} in\n");
	for (const struct cmd *const *cmd = cmd_table; *cmd; cmd++) {
		printf("    ");
		print_bash_command(*cmd);
	}
	printf("  esac\n"
	       "  [[ $args || $cur != -* ]] || kind=options\n"
	       "  case $takes in\n    ");
	print_options_with("FILE");
	putchar('|');
	print_options_with("PATH");
	printf(") kind=files;;\n    ");
	print_options_with("CONTAINER");
	printf(") kind=containers list='';;\n");
	for (unsigned id = 0; id < OPT_COUNT; id++) {
		if (!has_words(id))
			continue;
		printf("    --%s) kind=words list='", opt_specs[id].name);
		print_words(id);
		printf("';;\n");
	}
	printf("    ?*) return;;\n  esac\n%s", bash_answer);
}

/* ---- zsh ---- */

/* Words keep their quotes. */
static const char zsh_begin[] =
	"_sbinject_find_host() {\n"
	"  integer i\n"
	"  for (( i = 2; i < CURRENT; i++ )); do\n"
	"    case $words[i] in\n"
	"      -H|--host) _sbinject_host=${(Q)words[i+1]};;\n"
	"      --host=*) _sbinject_host=${(Q)${words[i]#*=}};;\n"
	"      -H*) _sbinject_host=${(Q)${words[i]#-H}};;\n"
	"    esac\n"
	"  done\n"
	"}\n"
	"_sbinject_containers() {\n"
	"  local -a names\n"
	"  names=(${(f)\"$(sbinject ls -q -t 2 ${_sbinject_host:+-H$_sbinject_host} 2>/dev/null |\n"
	"    " FILTER ")\"})\n"
	"  compadd \"$@\" -a names\n"
	"}\n"
	"_sbinject_files() { _files \"$@\"; }\n"
	"_sbinject_shells() { compadd \"$@\" bash zsh fish; }\n"
	"_sbinject() {\n"
	"  local curcontext=$curcontext state line _sbinject_host\n"
	"  typeset -A opt_args\n"
	"  _sbinject_find_host\n";

/* The file is the function when it is autoloaded, and defines it when it is sourced. */
static const char zsh_end[] =
	"if [[ $funcstack[1] == _sbinject ]]; then _sbinject \"$@\"; else compdef _sbinject sbinject; fi\n";

/* What completes an option's value. */
static void print_zsh_value(enum opt_id id)
{
	printf(":%s:", opt_specs[id].value);
	if (takes(id, "FILE") || takes(id, "PATH")) {
		printf("_files");
	} else if (takes(id, "CONTAINER")) {
		printf("_sbinject_containers");
	} else if (has_words(id)) {
		putchar('(');
		print_words(id);
		putchar(')');
	}
}

/* One of the forms of an option: "--host=" or "-H+". */
static void print_zsh_form(enum opt_id id, bool is_long)
{
	const struct opt_spec *spec = &opt_specs[id];

	printf(" '%s", id == OPT_REQUIRE ? "*" : "");
	if (spec->letter)
		printf("(-%c --%s)", spec->letter, spec->name);
	if (is_long)
		printf("--%s%s[", spec->name, spec->value ? "=" : "");
	else
		printf("-%c%s[", spec->letter, spec->value ? "+" : "");
	print_plain(spec->help);
	putchar(']');
	if (spec->value)
		print_zsh_value(id);
	putchar('\'');
}

static void print_zsh_options(opt_set set)
{
	printf("_arguments -C -s -S");
	for (unsigned id = 0; id < OPT_COUNT; id++) {
		if (!(set & OPT_BIT(id)))
			continue;
		print_zsh_form(id, true);
		if (opt_specs[id].letter)
			print_zsh_form(id, false);
	}
}

static void print_zsh_command(const struct cmd *cmd, const char *pattern)
{
	const char *kind = kind_of_args(cmd);

	printf("    %s) ", pattern);
	print_zsh_options(cmd->opts);
	if (kind)
		printf(" '*:%s:_sbinject_%s'", kind, kind);
	printf(";;\n");
}

static void print_zsh(void)
{
	opt_set all = 0;

	for (const struct cmd *const *cmd = cmd_table; *cmd; cmd++)
		all |= (*cmd)->opts;
	printf("#compdef sbinject\n");
	print_archives("_sbinject_archives() {\n  compadd \"$@\"", "\n}\n");
	printf("%s  ", zsh_begin);
	print_zsh_options(all);
	printf(" '(-): :_sbinject_first' '(-)*:: :->rest' && return\n"
	       "  [[ $state == rest ]] || return\n"
	       "  case $words[1] in\n");
	for (const struct cmd *const *cmd = cmd_table; *cmd; cmd++)
		print_zsh_command(*cmd, (*cmd)->name);
	print_zsh_command(&cmd_inject, "*");
	printf("  esac\n"
	       "}\n"
	       "_sbinject_first() {\n"
	       "  compadd \"$@\" ");
	print_commands(" ");
	printf("\n"
	       "  _sbinject_containers \"$@\"\n"
	       "}\n%s",
		zsh_end);
}

/* ---- fish ---- */

static const char fish_begin[] =
	"# Find the sub-command ('first': none yet) and the engine in the line so far.\n"
	"function __sbinject_scan\n"
	"    set -g __sbinject_command first\n"
	"    set -g __sbinject_host\n"
	"    set -l takes ''\n"
	"    set -l words (commandline -opc)\n"
	"    set -e words[1]\n"
	"    for word in $words\n"
	"        if test -n \"$takes\"\n"
	"            string match -qr -- '^(--host|-[^-]*H)$' $takes; and set __sbinject_host -H$word\n"
	"            set takes ''\n";

static const char fish_end[] =
	"            set takes $word\n"
	"        else if string match -qr -- '^--host=.' $word\n"
	"            set __sbinject_host -H(string replace -- --host= '' $word)\n"
	"        else if string match -qr -- '^-H.' $word\n"
	"            set __sbinject_host $word\n"
	"        else if test $__sbinject_command != first\n"
	"            continue\n"
	"        else if contains -- \"$word\" (__sbinject_commands)\n"
	"            set __sbinject_command $word\n"
	"        else if not string match -qr -- '^-[^-]|^--.' $word\n"
	"            set __sbinject_command inject\n"
	"        end\n"
	"    end\n"
	"end\n"
	"function __sbinject_in\n"
	"    __sbinject_scan\n"
	"    contains -- $__sbinject_command $argv\n"
	"end\n"
	"function __sbinject_containers\n"
	"    sbinject ls -q -t 2 $__sbinject_host 2>/dev/null | " FILTER "\n"
	"end\n"
	"function __sbinject_shells\n"
	"    printf '%s\\n' bash zsh fish\n"
	"end\n"
	"complete -c sbinject -f\n";

/* Where no sub-command was named, it is inject. */
static void print_fish_condition(const struct cmd *cmd)
{
	printf("complete -c sbinject -n '__sbinject_in %s%s'", cmd->name,
		cmd == &cmd_inject ? " first" : "");
}

/* What completes an option's value. */
static void print_fish_value(enum opt_id id)
{
	if (takes(id, "FILE") || takes(id, "PATH"))
		printf(" -rF");
	else if (takes(id, "CONTAINER"))
		printf(" -x -a '(__sbinject_containers)'");
	else if (takes(id, NULL))
		printf(" -x");
	if (has_words(id)) {
		printf(" -a '");
		print_words(id);
		putchar('\'');
	}
}

static void print_fish_options(const struct cmd *cmd)
{
	for (unsigned id = 0; id < OPT_COUNT; id++) {
		if (!(cmd->opts & OPT_BIT(id)))
			continue;
		print_fish_condition(cmd);
		printf(" -l %s", opt_specs[id].name);
		if (opt_specs[id].letter)
			printf(" -s %c", opt_specs[id].letter);
		print_fish_value(id);
		printf(" -d '");
		print_plain(opt_specs[id].help);
		printf("'\n");
	}
}

static void print_fish_command(const struct cmd *cmd)
{
	const char *kind = kind_of_args(cmd);

	printf("complete -c sbinject -n '__sbinject_in first' -a %s -d '", cmd->name);
	print_plain(cmd->summary);
	printf("'\n");
	print_fish_options(cmd);
	if (!kind)
		return;
	print_fish_condition(cmd);
	if (!strcmp(kind, "files"))
		printf(" -F\n");
	else
		printf(" -a '(__sbinject_%s)'\n", kind);
}

static void print_fish(void)
{
	print_archives("function __sbinject_archives\n    printf '%s\\n'", "\nend\n");
	printf("function __sbinject_commands\n    printf '%%s\\n' ");
	print_commands(" ");
	printf("\nend\n%s        else if string match -qr -- '", fish_begin);
	print_valued();
	printf("' $word\n%s", fish_end);
	for (const struct cmd *const *cmd = cmd_table; *cmd; cmd++)
		print_fish_command(*cmd);
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
	sb_err_set(&err, SB_USAGE,
		"no completion for '%s'; the supported shells are bash, zsh and fish",
		env->args[0]);
	out_error(NULL, &err);
	return err.code;
}

const struct cmd cmd_completion = {
	.name = "completion",
	.args = "SHELL",
	.summary = "print a completion script for bash, zsh or fish",
	.help = "  source <(sbinject completion bash)\n"
		"\n"
		"'make install' installs the scripts for all three shells.\n",
	.opts = OPTS_ANY,
	.min_args = 1,
	.max_args = 1,
	.run = run,
};
