/* SPDX-License-Identifier: MIT */
#include "cmd/cmd.h"

#include "cmd/out.h"
#include "payloads/treefile.h"

#include <stdio.h>
#include <string.h>

static int print_ties(const struct conf *conf, struct sb_err *err)
{
	size_t i = 0, j = 0;
	bool certain;

	while (rule_next_tie(conf, &i, &j, &certain)) {
		sb_autobuf struct sb_buf text = SB_BUF_INIT(SB_MAX_CONFIG);

		if (sb_buf_addf(&text, err, "%s:%d:%d and :%d:%d: a container can match both (",
			    conf->file, conf->rules[i].line, conf->rules[i].column,
			    conf->rules[j].line, conf->rules[j].column) < 0 ||
			rule_describe(&conf->rules[i], &text, err) < 0 ||
			sb_buf_adds(&text, "; ", err) < 0 ||
			rule_describe(&conf->rules[j], &text, err) < 0 ||
			sb_buf_adds(&text, "), and neither is more specific", err) < 0)
			return -1;
		out_line("warning: %s", text.data);
	}
	return 0;
}

/* Which embedded payloads there are depends on how sbinject was built, so that one that is not
   there is no mistake of the rules. */
static int check_program(const struct conf_payload *payload, struct sb_err *err)
{
	sb_auto(payload_bytes_release) struct payload_bytes bytes = PAYLOAD_BYTES_INIT;

	if (payload_load(payload, &bytes, err) < 0 && err->code != SB_UNSUPPORTED)
		return -1;
	sb_err_clear(err);
	return 0;
}

/* Nor is an archive that is still to come into the store. */
static int check_archive(const struct conf_payload *payload, struct sb_err *err)
{
	const struct store_want want = {
		.name = payload->name, .sha256 = payload->sha256, .path = payload->path};
	sb_auto(store_found_release) struct store_found found = STORE_FOUND_INIT;
	struct treefile file = {.launcher = payload->launcher};
	struct treefile_facts facts;

	if (store_need(&want, &found, err) < 0) {
		if (err->code != SB_UNSUPPORTED)
			return -1;
		sb_err_clear(err);
		return 0;
	}
	file.source = (struct eng_untar_source){
		found.place, found.bytes.fd, found.bytes.offset, found.bytes.size};
	if (treefile_survey(&file, &facts, err) < 0)
		return -1;
	if (strcmp(facts.tree, payload->tree) != 0)
		return sb_err_set(err, SB_MISMATCH,
			"payload '%s' is not the pinned one: what is in it has the digest %s, the "
			"rules ask for %s",
			payload->name, facts.tree, payload->tree);
	return 0;
}

/* What a rule would come to, whatever the container. */
static int print_flaws(const struct conf *conf, struct sb_err *err)
{
	for (size_t i = 0; i < conf->payload_count; i++) {
		const struct conf_payload *payload = &conf->payloads[i];
		struct sb_err why = SB_ERR_INIT;

		if ((payload->format == CONF_TREE ? check_archive : check_program)(payload, &why) ==
			0)
			continue;
		if (why.code == SB_FAILED) {
			*err = why;
			return -1;
		}
		out_line("warning: %s:%d:%d: %s", conf->file, payload->line, payload->column,
			why.text);
	}
	for (size_t i = 0; i < conf->rule_count; i++)
		if (conf->rules[i].graft && conf->rules[i].service == CONF_USER)
			out_line("warning: %s:%d:%d: 'graft' has no effect with 'service: user'",
				conf->file, conf->rules[i].line, conf->rules[i].column);
	return 0;
}

static int check(const struct cmd_env *env, struct sb_err *err)
{
	sb_auto(conf_freep) struct conf *conf = NULL;
	const char *file = env->arg_count ? env->args[0] : env->opts.text[OPT_CONFIG];

	if (conf_load(file, &conf, err) < 0 || print_ties(conf, err) < 0 ||
		print_flaws(conf, err) < 0)
		return -1;
	out_line("%s: %zu rule%s, no errors", conf->file, conf->rule_count,
		conf->rule_count == 1 ? "" : "s");
	return 0;
}

static int show(const struct cmd_env *env, struct sb_err *err)
{
	sb_auto(conf_freep) struct conf *conf = NULL;

	if (conf_load(env->opts.text[OPT_CONFIG], &conf, err) < 0)
		return -1;
	out_line("# the rules in force: %s (%s)", conf->file, conf->why);
	return out_foreign(conf->text, strlen(conf->text), err);
}

static int explain_rule(const struct conf_rule *rule, const struct sb_facts *facts,
	const struct conf_rule *chosen, const struct conf *conf, struct sb_err *err)
{
	sb_autobuf struct sb_buf text = SB_BUF_INIT(SB_MAX_CONFIG);
	const struct conf_test *failed = rule_first_failed(rule, facts);
	char why[600];

	if (rule_describe(rule, &text, err) < 0)
		return -1;
	if (!failed)
		snprintf(why, sizeof(why), "%s",
			rule == chosen ? "MATCHES, most specific: chosen" : "matches");
	else if (failed->fact == SB_FACT_LABEL)
		snprintf(why, sizeof(why), "no match: label '%s'", failed->label);
	else
		snprintf(why, sizeof(why), "no match: %s is %s", sb_fact_name(failed->fact),
			facts->value[failed->fact][0] ? facts->value[failed->fact] : "unknown");
	out_line("%s:%d: when %s use %s%s%s: %s", conf->file, rule->line, text.data,
		rule->use->name, rule->service == CONF_UNSAID ? "" : " service ",
		conf_service_name(rule->service), why);
	return 0;
}

static int explain(const struct cmd_env *env, struct sb_err *err)
{
	sb_auto(cmd_session_release) struct cmd_session session = CMD_SESSION_INIT;
	sb_auto(plan_release) struct plan plan = PLAN_INIT;
	const struct conf_rule *chosen;
	struct plan_opts opts;

	if (cmd_session_open(env, &session, err) < 0)
		return -1;
	opts = cmd_plan_opts(env, &session);
	if (plan_look(session.client, &opts, env->opts.text[OPT_EXPLAIN], &plan, err) < 0)
		return -1;
	for (unsigned i = 0; i < SB_FACT_LABEL; i++)
		if (plan.facts.value[i][0])
			out_line("fact: %s=%s", sb_fact_name(i), plan.facts.value[i]);
	chosen = rule_match(session.conf, &plan.facts, err);
	for (size_t i = 0; i < session.conf->rule_count; i++) {
		struct sb_err local = SB_ERR_INIT;

		if (explain_rule(&session.conf->rules[i], &plan.facts, chosen, session.conf,
			    &local) < 0) {
			*err = local;
			return -1;
		}
	}
	return chosen ? 0 : -1;
}

static const char *bad_mix(const struct cmd_env *env)
{
	if (cmd_has(env, OPT_CHECK) && cmd_has(env, OPT_EXPLAIN))
		return "--check and --explain cannot be combined";
	if (env->arg_count && !cmd_has(env, OPT_CHECK))
		return "FILE needs --check; to use another rules file, give --config FILE";
	return NULL;
}

static enum sb_code run(const struct cmd_env *env)
{
	struct sb_err err = SB_ERR_INIT;
	const char *wrong = bad_mix(env);
	int (*job)(const struct cmd_env *, struct sb_err *) = cmd_has(env, OPT_CHECK)	  ? check
							      : cmd_has(env, OPT_EXPLAIN) ? explain
											  : show;

	if ((wrong && sb_err_set(&err, SB_USAGE, "%s", wrong) < 0) || job(env, &err) < 0)
		out_error(NULL, &err);
	return err.code;
}

const struct cmd cmd_rules = {
	.name = "rules",
	.args = "[FILE]",
	.summary = "show the rules, check a rules file, or explain the choice",
	.help = "Without options, prints the rules in force and where they were found.\n"
		"--check FILE reads a rules file, reports errors by line and column, and\n"
		"warns about rules that cannot work. --explain CONTAINER shows the known\n"
		"facts about a container and, for each rule, whether it matches.\n",
	.opts = OPTS_RULES | OPT(CHECK) | OPT(EXPLAIN),
	.min_args = 0,
	.max_args = 1,
	.default_timeout_s = 60,
	.run = run,
};
