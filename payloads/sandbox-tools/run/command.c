/* SPDX-License-Identifier: MIT */
/* From the parameters to what is started. Where engines differ, or where it would take one to know
   what it does, that is a failure: the caller can still ask the engine. */
#include "payloads/sandbox-tools/run/command.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "payloads/lib/base64.h"
#include "payloads/lib/sys.h"
#include "payloads/sandbox-tools/rpc/params.h"

static const struct param members[] = {
	{"argv", PARAM_STRINGS, PARAM_REQUIRED},
	{"cwd", PARAM_STRING, PARAM_OPTIONAL},
	{"env", PARAM_STRING_MAP, PARAM_OPTIONAL},
	{"user", PARAM_STRING, PARAM_OPTIONAL},
	{"input", PARAM_STRING, PARAM_OPTIONAL},
	{"keep", PARAM_INTEGER, PARAM_OPTIONAL},
	{NULL, 0, PARAM_REQUIRED},
};

int command_check(const json_t *params, struct buf *errors)
{
	const json_t *keep = json_object_get(params, "keep");
	int r = params_check(params, members, true, "", errors);

	if (r < 0 || errors->len > 0)
		return r;
	if (json_array_size(json_object_get(params, "argv")) == 0)
		return buf_add_str(errors, "'argv' should have at least one item");
	if (json_is_integer(keep) &&
		(json_integer_value(keep) < 0 || (size_t)json_integer_value(keep) > RUN_KEEP_MAX))
		return buf_add_str(errors, "'keep' should be from 0 to 16777216");
	return 0;
}

/* NULL with 'fail' for one that no process can get. */
static const char *string_of(const json_t *value, struct fail *fail)
{
	const char *text = json_string_value(value);

	if (!text || strlen(text) != json_string_length(value)) {
		fail_set(fail, "a string contains U+0000");
		return NULL;
	}
	return text;
}

/* ---- its parts ---- */

static int read_argv(struct command *command, struct fail *fail)
{
	const json_t *list = json_object_get(command->params, "argv");
	size_t count = json_array_size(list);

	command->argv = calloc(count + 1, sizeof(*command->argv));
	if (!command->argv)
		return fail_set(fail, "out of memory");
	for (size_t i = 0; i < count; i++) {
		command->argv[i] = string_of(json_array_get(list, i), fail);
		if (!command->argv[i])
			return -1;
	}
	return 0;
}

static int read_cwd(struct command *command, const struct run_world *world, struct fail *fail)
{
	const json_t *cwd = json_object_get(command->params, "cwd");

	command->cwd = world->cwd;
	if (json_is_string(cwd))
		command->cwd = string_of(cwd, fail);
	if (!command->cwd)
		return -1;
	return command->cwd[0] == '/'
		       ? 0
		       : fail_set(fail, "the cwd '%.200s' is not absolute", command->cwd);
}

/* Root's programs would be hidden from others of root, or not, as the engine begins them. */
static int read_user(struct command *command, const struct run_world *world, struct fail *fail)
{
	const json_t *value = json_object_get(command->params, "user");
	const char *wanted = world->user;

	if (world->odd || (!json_is_string(value) && world->refused))
		return fail_set(fail, "%s", world->odd ? world->odd : world->refused);
	if (json_is_string(value) && world->only_default)
		return fail_set(fail, "it is not known what the engine gives to other users");
	if (json_is_string(value) && !(wanted = string_of(value, fail)))
		return -1;
	if (!wanted)
		return run_world_check_itself(world, fail);
	if (user_resolve(wanted, world->groups, world->lists_gid, &command->user, fail) < 0)
		return -1;
	if (world->is_hidden && command->user.uid == 0)
		return fail_set(fail, "the engine starts root's programs hidden");
	command->switches = sys_can_switch_user();
	if (!command->switches && !user_is_current(&command->user))
		return fail_set(fail, "no right to switch to user %s", command->user.shown);
	return 0;
}

static const char *value_of(const struct child_env *env, const char *name)
{
	size_t len = strlen(name);

	for (size_t i = 0; i < env->count; i++)
		if (strncmp(env->vars[i], name, len) == 0 && env->vars[i][len] == '=')
			return env->vars[i] + len + 1;
	return "";
}

/* Of the one that is there it must not matter whether it is the container's or the user's. */
static int check_home(const struct command *command, struct fail *fail)
{
	const char *home = command->user.home;

	if (!home[0] || command->user.uid == geteuid() ||
		strcmp(home, value_of(&command->env, "HOME")) == 0)
		return 0;
	return fail_set(fail, "it is not known whether the HOME of the container is for all users");
}

static int add_home(struct command *command, struct fail *fail)
{
	if (!command->user.home[0] && user_resolve_home(geteuid(), command->user.home, fail) < 0)
		return -1;
	if (child_env_set(&command->env, "HOME", command->user.home) < 0)
		return fail_set(fail, "out of memory");
	return 0;
}

static int read_env(struct command *command, const struct run_world *world, struct fail *fail)
{
	json_t *env = json_object_get(command->params, "env"), *value;
	const json_t *home = json_object_get(env, "HOME");
	const char *name, *text;
	int r = child_env_copy(&command->env, world->env.vars);

	json_object_foreach (env, name, value) {
		text = string_of(value, fail);
		if (!text)
			return -1;
		if (r == 0)
			r = child_env_set(&command->env, name, text);
	}
	if (r == -EINVAL)
		return fail_set(fail, "a variable has no name, or one with '='");
	if (r < 0)
		return fail_set(fail, "out of memory");
	if (json_is_string(home) && !json_string_length(home))
		return fail_set(fail, "engines read an empty HOME differently");
	if (world->may_add_home && !home)
		return check_home(command, fail);
	return world->adds_home && !home ? add_home(command, fail) : 0;
}

static int read_input(struct command *command, struct fail *fail)
{
	const json_t *value = json_object_get(command->params, "input");
	size_t len = json_string_length(value);
	ssize_t n;

	command->input = malloc(len / 4 * 3 + 1);
	if (!command->input)
		return fail_set(fail, "out of memory");
	n = base64_decode(command->input, len ? json_string_value(value) : "", len);
	if (n < 0)
		return fail_code(fail, FAIL_PARAMS, "Invalid parameters: 'input' is not base64");
	command->input_len = (size_t)n;
	json_object_del(command->params, "input");
	return 0;
}

/* ---- what is executed ---- */

/* 1: it is that one, 0: go on, -1 with 'fail'. Where we may not look, the user perhaps may. */
static int try_file(const struct command *command, struct fail *fail)
{
	const char *path = command->file;
	struct stat st;

	if (stat(path, &st) < 0)
		return errno == ENOENT || errno == ENOTDIR ||
				       (errno == EACCES && !command->switches)
			       ? 0
			       : fail_sys(fail, errno, "cannot look at '%.200s'", path);
	return !S_ISDIR(st.st_mode) && (st.st_mode & 0111);
}

static int look_in(struct command *command, const char *dir, size_t len, struct fail *fail)
{
	size_t size = len + strlen(command->argv[0]) + 2;

	/* relative to a directory that it would be in only later, and refused by most */
	if (dir[0] != '/')
		return fail_set(fail, "PATH has a directory that is not absolute");
	free(command->file);
	command->file = malloc(size);
	if (!command->file)
		return fail_set(fail, "out of memory");
	snprintf(command->file, size, "%.*s/%s", (int)len, dir, command->argv[0]);
	return try_file(command, fail);
}

static int find_file(struct command *command, struct fail *fail)
{
	const char *name = command->argv[0], *path = value_of(&command->env, "PATH");
	int found = 0;

	if (strchr(name, '/')) {
		command->file = strdup(name);
		return command->file ? 0 : fail_set(fail, "out of memory");
	}
	while (found == 0 && name[0]) {
		size_t len = strcspn(path, ":");

		found = look_in(command, path, len, fail);
		if (!path[len])
			break;
		path += len + 1;
	}
	if (found == 0)
		return fail_set(fail, "'%.200s' is not in PATH", name);
	return found < 0 ? -1 : 0;
}

int command_make(
	struct command *command, json_t *params, const struct run_world *world, struct fail *fail)
{
	const json_t *keep = json_object_get(params, "keep");

	*command = (struct command){.params = params, .env = CHILD_ENV_INIT};
	command->keep = json_is_integer(keep) ? (size_t)json_integer_value(keep) : RUN_KEEP;
	if (read_argv(command, fail) < 0 || read_input(command, fail) < 0 ||
		read_cwd(command, world, fail) < 0 || read_user(command, world, fail) < 0 ||
		read_env(command, world, fail) < 0)
		return -1;
	return find_file(command, fail);
}

void command_release(struct command *command)
{
	json_decref(command->params);
	free(command->argv);
	free(command->file);
	free(command->input);
	child_env_release(&command->env);
	*command = (struct command){.env = CHILD_ENV_INIT};
}
