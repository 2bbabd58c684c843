/* SPDX-License-Identifier: MIT */
#include "cmd/cmd.h"

void cmd_session_release(struct cmd_session *session)
{
	eng_close(session->client);
	cmd_trees_release(&session->trees);
	conf_free(session->conf);
	eng_endpoint_release(&session->endpoint);
	*session = (struct cmd_session)CMD_SESSION_INIT;
}

int cmd_timeout_ms(const struct cmd_env *env)
{
	int seconds = env->opts.timeout_s;

	return (seconds < 0 ? env->cmd->default_timeout_s : seconds) * 1000;
}

int cmd_session_find(const struct cmd_env *env, struct cmd_session *ret, struct sb_err *err)
{
	if (conf_load(env->opts.text[OPT_CONFIG], &ret->conf, err) < 0)
		return -1;
	if (cmd_trees_load(env, ret->conf, &ret->trees, err) < 0)
		return -1;
	ret->fetch = cmd_fetch_opts(env);
	key_load(&ret->key);
	return eng_endpoint_find(env->opts.text[OPT_HOST], &ret->endpoint, err);
}

int cmd_session_open(const struct cmd_env *env, struct cmd_session *ret, struct sb_err *err)
{
	if (cmd_session_find(env, ret, err) < 0)
		return -1;
	return eng_open(&ret->endpoint, cmd_timeout_ms(env), &ret->client, err);
}

struct plan_opts cmd_plan_opts(const struct cmd_env *env, const struct cmd_session *session)
{
	return (struct plan_opts){
		.conf = session->conf,
		.client = env->opts.text[OPT_CLIENT],
		.require = env->opts.require,
		.start = cmd_has(env, OPT_START),
		.graft = cmd_has(env, OPT_GRAFT),
		.no_pause = cmd_has(env, OPT_NO_PAUSE),
		.key = &session->key,
		.trees = session->trees.all,
		.tree_count = session->trees.count,
		.bundle = env->opts.text[OPT_BUNDLE],
		.fetch = cmd_has(env, OPT_FETCH) ? &session->fetch : NULL,
		.unpack = env->cmd == &cmd_inject,
	};
}

/* The payload's `pipe` takes a request by line, so that its end needs no closing of a stream. */
int cmd_channel_open(const struct cmd_env *env, struct cmd_channel *ret, struct sb_err *err)
{
	struct plan_opts opts;

	if (cmd_session_open(env, &ret->session, err) < 0)
		return -1;
	opts = cmd_plan_opts(env, &ret->session);
	if (plan_make(ret->session.client, &opts, env->args[0], &ret->plan, err) < 0 ||
		service_open(&ret->plan, cmd_has(env, OPT_EXEC), &ret->visit, err) < 0)
		return presence_explain(&ret->plan, err);
	return 0;
}

void cmd_channel_close(struct cmd_channel *channel)
{
	visit_end(&channel->visit);
	plan_release(&channel->plan);
	cmd_session_release(&channel->session);
}
