/* SPDX-License-Identifier: MIT */
#include "cmd/cmd.h"

#include "cmd/out.h"
#include "payloads/hosts.h"

#include <stdio.h>

static json_t *needs_of(const struct host *host)
{
	json_t *list = json_array();

	for (const char *const *need = host->needs; *need; need++)
		json_array_append_new(list, json_string(*need));
	return list;
}

static json_t *object_of(const struct host *host)
{
	char from[HOST_TEXT_SIZE], to[HOST_TEXT_SIZE];
	json_t *json = json_pack("{s:s, s:s, s:s, s:b}", "client", host->client, "from",
		host_release_text(&host->from, from), "to", host_release_text(&host->to, to),
		"served", host->path != NULL);

	if (!host->path) {
		json_object_set_new(json, "why", json_string(host->why));
		return json;
	}
	json_object_set_new(json, "path", json_string(host->path));
	json_object_set_new(json, "service", json_string(conf_service_name(host->service)));
	json_object_set_new(json, "artifact", json_string(host->form));
	json_object_set_new(json, "number", json_integer(host->number));
	json_object_set_new(json, "needs", needs_of(host));
	return json;
}

static void add_needs(const struct host *host, char *text, size_t size)
{
	size_t len = 0;

	text[0] = '\0';
	for (const char *const *need = host->needs; *need && len < size; need++)
		len += (size_t)snprintf(text + len, size - len, "%s%s", len ? " " : "  needs ",
			host_need_name(*need));
}

static void print(const struct host *host)
{
	json_auto_t *json = object_of(host);
	char line[512], range[HOST_TEXT_SIZE], needs[200];

	host_range_text(host, range);
	add_needs(host, needs, sizeof(needs));
	if (host->path)
		snprintf(line, sizeof(line), "%s %-20s %-5s %10s %-3u %s%s", host->client, range,
			conf_service_name(host->service), host->form, host->number, host->path,
			needs);
	else
		snprintf(line, sizeof(line), "%s %-20s not served: %s", host->client, range,
			host->why);
	out_result(line, json);
}

int cmd_find_for(const struct cmd_env *env, const struct host **ret, struct sb_err *err)
{
	const char *client = env->opts.text[OPT_FOR];

	if (host_find(client, ret, err) < 0)
		return -1;
	if (*ret)
		return 0;
	return sb_err_set(err, SB_USAGE,
		"--for: '%s' does not name a client and its release, such as 'inspect_ai 0.3.285'",
		client);
}

static enum sb_code run(const struct cmd_env *env)
{
	struct sb_err err = SB_ERR_INIT;
	const struct host *host;

	if (cmd_has(env, OPT_FOR)) {
		if (cmd_find_for(env, &host, &err) < 0)
			out_error(NULL, &err);
		else
			print(host);
		return err.code;
	}
	for (size_t i = 0; i < host_count(); i++)
		print(host_at(i));
	return SB_OK;
}

const struct cmd cmd_hosts = {
	.name = "hosts",
	.args = "",
	.summary = "list the client releases that sbinject knows",
	.help = "For each range of releases: whose the service must be, the form and number of\n"
		"the artifact that the release brings itself, the path where it looks for the\n"
		"program, and what else it runs in the container. --client selects one of them\n"
		"for the other commands. Needs no engine.\n",
	.opts = OPTS_ANY | OPT(JSON) | OPT(FOR),
	.min_args = 0,
	.max_args = 0,
	.run = run,
};
