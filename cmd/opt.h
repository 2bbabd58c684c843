/* SPDX-License-Identifier: MIT */
/*
 * Options: one table for all sub-commands. An option means the same wherever it is allowed; each
 * sub-command names those that it accepts.
 */
#ifndef CMD_OPT_H
#define CMD_OPT_H

#include "engine/err.h"
#include "payloads/plan.h"

#include <stdint.h>

enum opt_id {
	OPT_HOST,
	OPT_CONFIG,
	OPT_CLIENT,
	OPT_REQUIRE,
	OPT_GRAFT,
	OPT_WITH,
	OPT_TREE,
	OPT_FETCH,
	OPT_NO_PAUSE,
	OPT_TIMEOUT,
	OPT_JOBS,
	OPT_DRY_RUN,
	OPT_START,
	OPT_JSON,
	OPT_EXEC,
	OPT_ALL,
	OPT_LOOK,
	OPT_CHECK,
	OPT_EXPLAIN,
	OPT_EXTRACT,
	OPT_DESCRIBE,
	OPT_FOR,
	OPT_ARCH,
	OPT_BUNDLE,
	OPT_FROM,
	OPT_MIRROR,
	OPT_INDEX,
	OPT_LIST,
	OPT_IMPORT,
	OPT_OUTPUT,
	OPT_QUIET,
	OPT_VERBOSE,
	OPT_HELP,
	OPT_VERSION,
	OPT_COUNT
};

/* A set of options. */
typedef uint64_t opt_set;
#define OPT_BIT(id) ((opt_set)1 << (id))
#define OPT(name) OPT_BIT(OPT_##name)
_Static_assert(OPT_COUNT <= 64, "an option is a bit of an opt_set");

/* Accepted by every sub-command, and by those that talk to an engine. */
#define OPTS_ANY (OPT(VERBOSE) | OPT(HELP) | OPT(VERSION))
#define OPTS_ENGINE (OPTS_ANY | OPT(HOST) | OPT(TIMEOUT))
/* By those that do one thing to each of several containers. */
#define OPTS_EACH (OPT(JOBS) | OPT(JSON) | OPT(QUIET))
#define OPTS_RULES (OPTS_ENGINE | OPT(CONFIG) | OPT(CLIENT) | OPT(REQUIRE) | OPT(NO_PAUSE))
/* By those that put a program into a container. */
#define OPTS_DELIVER (OPTS_RULES | OPT(GRAFT))
/* By those for which trees matter. */
#define OPTS_TREES (OPT(WITH) | OPT(TREE))
/* By those that may fetch such trees. */
#define OPTS_FETCH (OPT(BUNDLE) | OPT(FETCH) | OPT(FROM) | OPT(MIRROR) | OPT(INDEX))

struct opt_spec {
	char letter; /* 0: long form only */
	const char *name;
	const char *value; /* what the option takes, as help shows it; NULL: nothing */
	const char *help;
};
extern const struct opt_spec opt_specs[OPT_COUNT];

struct opts {
	opt_set given;
	const char *text[OPT_COUNT];
	struct plan_require require;
	int timeout_s; /* -1: not given */
	int jobs;
	const char *trees[CONF_MAX_TREES]; /* each --tree */
	int tree_count;
};

/* The words that are not options. */
struct opt_args {
	char **args; /* room for all of argv; gets argv's own strings */
	int count;
	bool first_is_name; /* "--" came before the first one, so it is not a sub-command */
};

/*
 * Sort argv[1..] into options and the rest. SB_USAGE: an option is unknown, or its value is missing
 * or wrong.
 */
int opt_parse(int argc, char **argv, struct opts *ret, struct opt_args *args,
	struct sb_err *err) sb_must_check;

/* The options given that are not in `allowed`: an error naming the first. */
int opt_check_allowed(const struct opts *opts, opt_set allowed, const char *command,
	struct sb_err *err) sb_must_check;

#endif
