/* SPDX-License-Identifier: MIT */
#include "payloads/commands.h"

#include "payloads/lib/wire.h"
#include "recon/place.h"

#include <string.h>

enum {
	SETTLE_MS = 2000
}; /* Docker hears so long what a command has left behind; Podman does not */

/* Whatever the engine adds to root, such a pipe has it, too. A group of its own would also be that
   of all else that the pipe does. */
static bool is_by_default(const struct plan *plan)
{
	return !plan->as_user && eng_container_is_roots(&plan->container) &&
	       !strchr(plan->container.user, ':');
}

/* Whether it has a HOME of its own, new reference; NULL: that is not known. Podman lists the one
   that it adds, too: last, but for the host's name. */
static json_t *sets_home(const struct plan *plan)
{
	const json_t *env = sb_json_at(plan->container.doc, "Config.Env"), *variable;
	size_t count = json_array_size(env), at = count, i;

	json_array_foreach (env, i, variable) {
		const char *text = sb_json_text(variable);

		if (text && !strncmp(text, "HOME=", 5) && text[5])
			at = i;
	}
	if (eng_client_kind(plan->client) == ENG_DOCKER)
		return json_boolean(at < count);
	return at + 2 < count ? json_true() : NULL;
}

/* What every user gets on top, new reference. */
static json_t *added_groups(const struct eng_container *container)
{
	json_t *groups = sb_json_at(container->doc, "HostConfig.GroupAdd");

	return json_is_array(groups) ? json_incref(groups) : json_array();
}

/* Docker looks users up in the container's own files, and not in what is mounted over them. */
static bool has_other_users(const struct plan *plan)
{
	return eng_client_kind(plan->client) == ENG_DOCKER &&
	       (recon_is_mounted(&plan->container, "/etc/passwd") ||
		       recon_is_mounted(&plan->container, "/etc/group"));
}

/* What other users get in Podman differs from one release to the next. */
static bool knows_default_only(const struct plan *plan)
{
	return has_other_users(plan) ||
	       (eng_client_kind(plan->client) == ENG_PODMAN &&
		       strncmp(eng_client_version(plan->client), "4.", 2) != 0);
}

/*
 * Why the default user cannot be had, or NULL. Podman decides when it makes a container what groups
 * and capabilities that user has, and does not say.
 */
static const char *why_refused(const struct plan *plan)
{
	if (eng_client_kind(plan->client) != ENG_DOCKER)
		return "only Podman knows what its default user has";
	return has_other_users(plan) ? "a mount hides the users that Docker knows" : NULL;
}

static json_t *describe(const struct plan *plan)
{
	const struct eng_container *container = &plan->container;
	bool is_docker = eng_client_kind(plan->client) == ENG_DOCKER;
	bool is_itself = plan->as_user || is_by_default(plan);

	return json_pack("{s:s, s:s*, s:s*, s:o*, s:b, s:b, s:o*, s:i}", WIRE_RUN_CWD,
		*container->cwd ? container->cwd : "/", WIRE_RUN_USER,
		is_docker && !is_itself ? container->user : NULL, WIRE_RUN_REFUSED,
		is_itself ? NULL : why_refused(plan), WIRE_RUN_GROUPS,
		is_docker ? added_groups(container) : json_array(), WIRE_RUN_LISTS_GID,
		(int)is_docker, WIRE_RUN_DEFAULT, (int)knows_default_only(plan), WIRE_RUN_HAS_HOME,
		sets_home(plan), WIRE_RUN_SETTLE, is_docker ? (int)SETTLE_MS : 0);
}

int commands_describe(const struct plan *plan, struct commands *ret, struct sb_err *err)
{
	json_auto_t *doc = describe(plan);

	ret->argument = doc ? json_dumps(doc, JSON_COMPACT) : NULL;
	if (!ret->argument)
		return sb_err_nomem(err);
	ret->by_default = is_by_default(plan);
	return 0;
}

void commands_release(struct commands *commands)
{
	free(sb_steal(commands->argument));
}
