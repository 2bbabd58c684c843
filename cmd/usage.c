/* SPDX-License-Identifier: MIT */
#include "cmd/usage.h"

static const char intro[] =
	"usage: sbinject CONTAINER...\n"
	"       sbinject COMMAND [OPTIONS] [ARGUMENTS]\n"
	"\n"
	"Put a small tool service into a running container that was built without it,\n"
	"start it, and prove that it is the right one. The container needs no shell,\n"
	"no tar, no libc and no network.\n"
	"\n"
	"  sbinject web                inject into the container 'web'\n"
	"  sbinject status web         check that the service is there and answers\n"
	"  sbinject call web version   send it one request, print the reply\n"
	"  sbinject remove web         stop it, leave the container as it was\n"
	"\n"
	"Commands (for a container with the name of a command: 'sbinject -- NAME'):\n";

static const char codes[] =
	"\n"
	"Exit codes: 0 done, 1 failed, 2 usage or configuration, 3 engine unreachable,\n"
	"  4 no such container or not running, 5 no rule or unsupported container,\n"
	"  6 integrity or version mismatch, 7 the service did not come up,\n"
	"  8 some of several containers failed, 130 interrupted.\n"
	"\n"
	"See 'sbinject COMMAND --help', and the manual pages sbinject(1) and\n"
	"sbinject.yaml(5).\n";

/* `cmd`: its default time limit is shown; NULL: none is. */
static void print_options(opt_set set, const struct cmd *cmd, FILE *to)
{
	for (unsigned id = 0; id < OPT_COUNT; id++) {
		const struct opt_spec *spec = &opt_specs[id];
		char form[64];

		if (!(set & OPT_BIT(id)))
			continue;
		snprintf(form, sizeof(form), "--%s%s%s", spec->name, spec->value ? " " : "",
			spec->value ? spec->value : "");
		fprintf(to, spec->letter ? "  -%c, %-22s %s" : "  %c   %-22s %s",
			spec->letter ? spec->letter : ' ', form, spec->help);
		if (cmd && id == OPT_TIMEOUT)
			fprintf(to, " (default %d)", cmd->default_timeout_s);
		fputc('\n', to);
	}
}

const char *usage_line(const struct cmd *cmd, char *text, size_t size)
{
	snprintf(text, size, "sbinject %s [OPTIONS]%s%s", cmd->name, *cmd->args ? " " : "",
		cmd->args);
	return text;
}

void usage_one(const struct cmd *cmd, FILE *to)
{
	char line[128];

	fprintf(to, "usage: %s\n\n%s: %s.\n\n%s\nOptions:\n", usage_line(cmd, line, sizeof(line)),
		cmd->name, cmd->summary, cmd->help);
	print_options(cmd->opts, cmd, to);
}

void usage_all(FILE *to)
{
	opt_set all = 0;

	fputs(intro, to);
	for (const struct cmd *const *cmd = cmd_table; *cmd; cmd++) {
		fprintf(to, "  %-11s %s\n", (*cmd)->name, (*cmd)->summary);
		all |= (*cmd)->opts;
	}
	fputs("\nOptions (see a command's --help for those that it accepts):\n", to);
	print_options(all, NULL, to);
	fputs(codes, to);
}
