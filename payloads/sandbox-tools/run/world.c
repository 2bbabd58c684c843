/* SPDX-License-Identifier: MIT */
/* What commands begin with. */
#include "payloads/sandbox-tools/run/world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "payloads/sandbox-tools/rpc/params.h"

#define HOME "HOME="

static const struct param members[] = {
	{WIRE_RUN_CWD, PARAM_STRING, PARAM_REQUIRED},
	{WIRE_RUN_USER, PARAM_STRING, PARAM_OPTIONAL},
	{WIRE_RUN_REFUSED, PARAM_STRING, PARAM_OPTIONAL},
	{WIRE_RUN_DEFAULT, PARAM_BOOLEAN, PARAM_DEFAULTED},
	{WIRE_RUN_GROUPS, PARAM_STRINGS, PARAM_DEFAULTED},
	{WIRE_RUN_LISTS_GID, PARAM_BOOLEAN, PARAM_DEFAULTED},
	{WIRE_RUN_HAS_HOME, PARAM_BOOLEAN, PARAM_DEFAULTED},
	{WIRE_RUN_SETTLE, PARAM_INTEGER, PARAM_DEFAULTED},
	{NULL, 0, PARAM_REQUIRED},
};

static int check(const json_t *doc, struct fail *fail)
{
	struct buf errors = BUF_INIT(PARAMS_ERRORS_MAX);
	int r = json_is_object(doc) ? params_check(doc, members, true, "", &errors) : -1;

	if (r < 0 || errors.len > 0)
		r = fail_set(fail,
			"what a pipe is to know of its container is not understood: %.*s",
			(int)errors.len, errors.len ? errors.data : "");
	buf_release(&errors);
	return r;
}

static int read_groups(struct run_world *world, const json_t *list)
{
	size_t count = json_array_size(list);

	world->groups = calloc(count + 1, sizeof(*world->groups));
	for (size_t i = 0; world->groups && i < count; i++)
		world->groups[i] = json_string_value(json_array_get(list, i));
	return world->groups ? 0 : -1;
}

/* Is our gid one of our other groups? Not every release of an engine that lists it does. */
static bool has_gid(void)
{
	gid_t groups[USER_GROUPS_MAX];
	int count = getgroups(USER_GROUPS_MAX, groups);

	for (int i = 0; i < count; i++)
		if (groups[i] == getegid())
			return true;
	return false;
}

/* Of our own streams. */
static mode_t stream_mode(void)
{
	struct stat st;

	return fstat(0, &st) == 0 && S_ISFIFO(st.st_mode) ? st.st_mode & 0777 : 0600;
}

/* What is not at the end is not from where it is thought to be from. */
static void take_home(struct run_world *world)
{
	struct child_env *env = &world->env;

	if (env->count == 0 || strncmp(env->vars[env->count - 1], HOME, strlen(HOME)) != 0) {
		world->odd = "it is not known where the engine has HOME from";
		return;
	}
	free(env->vars[--env->count]);
	env->vars[env->count] = NULL;
}

/* By number, as the name is the engine's to know; its groups and home are the same by any name. */
static bool find_itself(struct user *ret)
{
	struct fail fail = FAIL_INIT;
	char uid[24];

	snprintf(uid, sizeof(uid), "%u", geteuid());
	return user_resolve(uid, NULL, false, ret, &fail) == 0;
}

int run_world_check_itself(const struct run_world *world, struct fail *fail)
{
	const struct user *then = &world->itself;
	struct user now;
	bool is_known = find_itself(&now);

	if (!is_known && !world->knows_itself)
		return 0;
	if (is_known && world->knows_itself && now.gid == then->gid &&
		now.group_count == then->group_count && strcmp(now.home, then->home) == 0 &&
		memcmp(now.groups, then->groups, (size_t)now.group_count * sizeof(now.groups[0])) ==
			0)
		return 0;
	return fail_set(fail, "what /etc/passwd and /etc/group say of the user has changed");
}

int run_world_open(struct run_world *world, const char *text, struct fail *fail)
{
	json_t *doc = json_loads(text, 0, NULL);

	*world = (struct run_world){.doc = doc, .env = CHILD_ENV_INIT};
	if (check(doc, fail) < 0) {
		run_world_close(world);
		return -1;
	}
	world->cwd = json_string_value(json_object_get(doc, WIRE_RUN_CWD));
	world->user = json_string_value(json_object_get(doc, WIRE_RUN_USER));
	world->refused = json_string_value(json_object_get(doc, WIRE_RUN_REFUSED));
	world->lists_gid = json_is_true(json_object_get(doc, WIRE_RUN_LISTS_GID)) && has_gid();
	world->adds_home = json_is_false(json_object_get(doc, WIRE_RUN_HAS_HOME));
	world->may_add_home = !json_object_get(doc, WIRE_RUN_HAS_HOME);
	world->settle_ms = (int)json_integer_value(json_object_get(doc, WIRE_RUN_SETTLE));
	world->only_default = json_is_true(json_object_get(doc, WIRE_RUN_DEFAULT));
	world->knows_itself = find_itself(&world->itself);
	world->stream_mode = stream_mode();
	world->is_hidden = prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) != 1;
	world->mask = umask(077);
	umask(world->mask);
	if (read_groups(world, json_object_get(doc, WIRE_RUN_GROUPS)) < 0 ||
		child_env_copy(&world->env, environ) < 0) {
		run_world_close(world);
		return fail_set(fail, "out of memory");
	}
	if (world->adds_home)
		take_home(world);
	return 0;
}

void run_world_close(struct run_world *world)
{
	child_env_release(&world->env);
	free(world->groups);
	json_decref(world->doc);
	*world = (struct run_world){.env = CHILD_ENV_INIT};
}
