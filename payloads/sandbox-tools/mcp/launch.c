/* SPDX-License-Identifier: MIT */
/* Command lookup, arguments, environment. */
#include "payloads/sandbox-tools/mcp/launch.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DEFAULT_PATH "/bin:/usr/bin"

static int fail_error(struct fail *fail, int error)
{
	char text[160];

	child_error_text(error, text, sizeof(text));
	return fail_set(fail, "%s", text);
}

/* A string without U+0000; NULL stays NULL. */
static bool is_clean(const json_t *string)
{
	const char *text = json_string_value(string);

	return !text || strlen(text) == json_string_length(string);
}

/* ---- command ---- */

/* Can it be executed? 0 or an errno value. 'path' may be relative to 'cwd'. */
static int check_program(const char *path, const char *cwd)
{
	char full[2 * PATH_MAX];
	struct stat st;
	int len = *path == '/' || !cwd ? snprintf(full, sizeof(full), "%s", path)
				       : snprintf(full, sizeof(full), "%s/%s", cwd, path);

	if (len >= (int)sizeof(full))
		return ENAMETOOLONG;
	if (stat(full, &st) < 0)
		return errno;
	return S_ISREG(st.st_mode) && access(full, X_OK) == 0 ? 0 : EACCES;
}

/* Puts "dir/name" into ret_file when that is a program: 0 or an errno value. */
static int try_dir(const char *dir, size_t len, const char *name, const char *cwd, char **ret_file)
{
	char *file;
	int error;

	if (asprintf(&file, "%.*s%s%s", (int)len, dir, len > 0 ? "/" : "", name) < 0)
		return ENOMEM;
	error = check_program(file, cwd);
	if (error)
		free(file);
	else
		*ret_file = file;
	return error;
}

/* 0 or an errno value: that of a file which is there but cannot be used, else ENOENT. */
static int look_up(const char *name, const char *path, const char *cwd, char **ret_file)
{
	int error = ENOENT;

	if (strchr(name, '/')) {
		*ret_file = strdup(name);
		return *ret_file ? 0 : ENOMEM;
	}
	for (;; path++) {
		size_t len = strcspn(path, ":");
		int why = len > PATH_MAX ? ENAMETOOLONG : try_dir(path, len, name, cwd, ret_file);

		if (why == 0 || why == ENOMEM)
			return why;
		if (why != ENOENT && why != ENOTDIR && error == ENOENT)
			error = why;
		path += len;
		if (!*path)
			break;
	}
	return error;
}

static const char *find_var(char **env, const char *name)
{
	size_t len = strlen(name);

	for (; *env; env++)
		if (strncmp(*env, name, len) == 0 && (*env)[len] == '=')
			return *env + len + 1;
	return NULL;
}

/* ---- arguments and environment ---- */

static int read_args(
	struct mcp_launch *launch, const json_t *command, const json_t *args, struct fail *fail)
{
	size_t count = json_array_size(args);

	launch->argv = calloc(count + 2, sizeof(*launch->argv));
	if (!launch->argv)
		return fail_error(fail, ENOMEM);
	launch->argv[0] = (char *)(uintptr_t)json_string_value(command);
	for (size_t i = 0; i < count; i++) {
		const json_t *arg = json_array_get(args, i);

		if (!is_clean(arg))
			return fail_set(fail, "ValueError('embedded null byte')");
		launch->argv[i + 1] = (char *)(uintptr_t)json_string_value(arg);
	}
	return 0;
}

static int set_var(
	struct mcp_launch *launch, const char *name, const char *value, struct fail *fail)
{
	int r = child_env_set(&launch->vars, name, value);

	if (r == -EINVAL)
		return fail_set(fail, "ValueError('illegal environment variable name')");
	return r < 0 ? fail_error(fail, ENOMEM) : 0;
}

static int read_vars(struct mcp_launch *launch, json_t *vars, struct fail *fail)
{
	const char *name;
	size_t name_len;
	json_t *value;

	json_object_keylen_foreach(vars, name, name_len, value)
	{
		if (!is_clean(value) || strlen(name) != name_len)
			return fail_set(fail, "ValueError('embedded null byte')");
		if (set_var(launch, name, json_string_value(value), fail) < 0)
			return -1;
	}
	return 0;
}

/* What is given replaces the server's environment, all but the home of another user. */
static int read_env(struct mcp_launch *launch, json_t *vars, struct fail *fail)
{
	static char *empty[] = {NULL};

	if (!json_is_object(vars) && !launch->user)
		return 0;
	if (!json_is_object(vars) && child_env_copy(&launch->vars, environ) < 0)
		return fail_error(fail, ENOMEM);
	if (launch->user && set_var(launch, "HOME", launch->user->home, fail) < 0)
		return -1;
	if (read_vars(launch, vars, fail) < 0)
		return -1;
	launch->env = launch->vars.vars ? launch->vars.vars : empty;
	return 0;
}

static int read_encoding(struct mcp_launch *launch, const json_t *params, struct fail *fail)
{
	const char *encoding = json_string_value(json_object_get(params, "encoding"));
	const char *errors = json_string_value(json_object_get(params, "encoding_error_handler"));

	if (encoding && !encoding_find(encoding, &launch->encoding))
		return fail_set(fail, "LookupError('unknown encoding: %.60s')", encoding);
	if (errors && !encoding_find_errors(errors, &launch->errors))
		return fail_set(fail, "LookupError('unknown error handler name')");
	return 0;
}

int mcp_launch_read(
	struct mcp_launch *launch, const json_t *params, const struct user *user, struct fail *fail)
{
	const json_t *command = json_object_get(params, "command");
	const json_t *cwd = json_object_get(params, "cwd");
	json_t *env = json_object_get(params, "env");
	const char *path = NULL;
	char *file = NULL;
	int error;

	*launch = (struct mcp_launch){.encoding = ENCODING_UTF8, .user = user};
	if (!is_clean(command) || !is_clean(cwd))
		return fail_set(fail, "ValueError('embedded null byte')");
	launch->cwd = json_string_value(cwd);
	if (read_encoding(launch, params, fail) < 0 ||
		read_args(launch, command, json_object_get(params, "args"), fail) < 0 ||
		read_env(launch, env, fail) < 0)
		return -1;
	path = launch->env ? find_var(launch->env, "PATH") : getenv("PATH");
	error = look_up(launch->argv[0], path ? path : DEFAULT_PATH, launch->cwd, &file);
	launch->command = file;
	return error ? fail_error(fail, error) : 0;
}

void mcp_launch_release(struct mcp_launch *launch)
{
	child_env_release(&launch->vars);
	free(launch->argv);
	free(launch->command);
	*launch = (struct mcp_launch){.encoding = ENCODING_UTF8};
}
