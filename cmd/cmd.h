/* SPDX-License-Identifier: MIT */
/*
 * A sub-command is one file that ends in one const object, listed in main.c. Usage, help, checks of
 * arguments and completion come from the object.
 *
 * To add one: write cmd/NAME.c, declare its object here, add it to the table in main.c, and
 * describe it in man/sbinject.1 (a test compares).
 */
#ifndef CMD_CMD_H
#define CMD_CMD_H

#include "cmd/opt.h"
#include "payloads/presence.h"
#include "payloads/service.h"

struct cmd_env;

struct cmd {
	const char *name;
	const char *args;    /* "CONTAINER...", as usage shows it */
	const char *summary; /* one line, lower case */
	const char *help;    /* paragraphs, each line ending in a newline */
	opt_set opts;
	int min_args, max_args; /* max_args < 0: any number */
	int default_timeout_s;
	enum sb_code (*run)(const struct cmd_env *env);
};

struct cmd_env {
	const struct cmd *cmd;
	struct opts opts;
	char **args;
	int arg_count;
	bool named; /* a sub-command was given by name */
	bool bare;  /* it was not, and the first word may have been meant as one */
};

extern const struct cmd cmd_inject, cmd_probe, cmd_status, cmd_ls, cmd_call, cmd_pipe, cmd_remove,
	cmd_payloads, cmd_fetch, cmd_bundle, cmd_hosts, cmd_rules, cmd_completion;

/* All of them, ending in NULL. */
extern const struct cmd *const cmd_table[];

static inline bool cmd_has(const struct cmd_env *env, enum opt_id id)
{
	return env->opts.given & OPT_BIT(id);
}

/* --timeout in milliseconds, or the sub-command's own; 0 is no limit. */
int cmd_timeout_ms(const struct cmd_env *env);

/* The range of releases that --for names (hosts.c). SB_USAGE if it names none, else as host_find.
 */
int cmd_find_for(
	const struct cmd_env *env, const struct host **ret, struct sb_err *err) sb_must_check;

/* ---- one container, or several (each.c) ---- */

/* The result for one container: a line for people and an object for programs. */
struct cmd_result {
	char line[2048];
	json_t *json; /* owned */
};

/*
 * What to do to each container. The plan holds the inspected container, the rule and the payload.
 */
typedef int (*cmd_each_fn)(const struct cmd_env *env, struct plan *plan, const char *ref,
	struct cmd_result *ret, struct sb_err *err);

/*
 * Call fn for every argument, --jobs at a time, each with a connection of its own; print each
 * result as it comes, and progress on a terminal. `doing` describes the work: "injecting into".
 */
enum sb_code cmd_each(const struct cmd_env *env, const char *doing, cmd_each_fn fn);

/*
 * Add to the error about an unknown container that its name may have been meant as a command.
 * Returns -1.
 */
int cmd_hint(const struct cmd_env *env, struct sb_err *err);

/*
 * Write where the program is, for a result line: " at PATH" or, in unusual cases, how it is
 * reached. Returns text.
 */
const char *cmd_where(const struct plan *plan, enum wire_placed placed, char *text, size_t size);

/* For `adopted_by` in JSON: which releases of inspect_ai use the program as it is placed. */
const char *cmd_adopted_by(enum wire_placed placed);

/* How archives are fetched: what --from, --mirror, --index and --output say, and progress. */
struct fetch_opts cmd_fetch_opts(const struct cmd_env *env);

/* ---- trees of files (trees.c) ---- */

/* Those of --with and --tree, for every container. */
struct cmd_trees {
	struct conf_payload own[CONF_MAX_TREES]; /* of --tree */
	const struct conf_payload *all[2 * CONF_MAX_TREES];
	size_t own_count, count;
};

/* Find and read them; the conf is borrowed. */
int cmd_trees_load(const struct cmd_env *env, const struct conf *conf, struct cmd_trees *ret,
	struct sb_err *err) sb_must_check;
void cmd_trees_release(struct cmd_trees *trees);

/* The entry of an archive for a rules file: both digests, and what is in it. */
struct cmd_tree_facts {
	char sha256[65], tree[65];
	unsigned long long size, files, bytes;
};
int cmd_tree_describe(
	const char *file, struct cmd_tree_facts *ret, struct sb_err *err) sb_must_check;

/* ---- what the others need for a single container ---- */

struct cmd_session {
	struct eng_endpoint endpoint;
	struct conf *conf;
	struct key key;
	struct eng_client *client;
	struct cmd_trees trees;
	struct fetch_opts fetch;
};

#define CMD_SESSION_INIT                      \
	{                                     \
		.endpoint = ENG_ENDPOINT_INIT \
	}
void cmd_session_release(struct cmd_session *session);

/* Find the engine and the rules, without connecting; then connect. */
int cmd_session_find(
	const struct cmd_env *env, struct cmd_session *ret, struct sb_err *err) sb_must_check;
int cmd_session_open(
	const struct cmd_env *env, struct cmd_session *ret, struct sb_err *err) sb_must_check;

struct plan_opts cmd_plan_opts(const struct cmd_env *env, const struct cmd_session *session);

/* A connection to the service in env->args[0]: lines through visit.exec. */
struct cmd_channel {
	struct cmd_session session;
	struct plan plan;
	struct visit visit;
};

#define CMD_CHANNEL_INIT                                                             \
	{                                                                            \
		.session = CMD_SESSION_INIT, .plan = PLAN_INIT, .visit = VISIT_INIT, \
	}
int cmd_channel_open(
	const struct cmd_env *env, struct cmd_channel *ret, struct sb_err *err) sb_must_check;
void cmd_channel_close(struct cmd_channel *channel);

#endif
