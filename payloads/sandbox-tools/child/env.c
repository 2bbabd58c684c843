/* SPDX-License-Identifier: MIT */
/* Environments and error texts of children. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "payloads/sandbox-tools/child/child.h"

static int add(struct child_env *env, char *var)
{
	if (!var)
		return -ENOMEM;
	if (env->count + 2 > env->size) {
		size_t size = env->size ? 2 * env->size : 32;
		char **vars = realloc(env->vars, size * sizeof(*vars));

		if (!vars) {
			free(var);
			return -ENOMEM;
		}
		env->vars = vars;
		env->size = size;
	}
	env->vars[env->count++] = var;
	env->vars[env->count] = NULL;
	return 0;
}

int child_env_copy(struct child_env *env, char *const *from)
{
	int r = 0;

	for (; r == 0 && from && *from; from++)
		r = add(env, strdup(*from));
	return r;
}

int child_env_set(struct child_env *env, const char *name, const char *value)
{
	size_t len = strlen(name), size = len + strlen(value) + 2;
	char *var;

	if (len == 0 || strchr(name, '='))
		return -EINVAL;
	var = malloc(size);
	if (!var)
		return -ENOMEM;
	snprintf(var, size, "%s=%s", name, value);
	for (size_t i = 0; i < env->count; i++)
		if (strncmp(env->vars[i], var, len + 1) == 0) {
			free(env->vars[i]);
			env->vars[i] = var;
			return 0;
		}
	return add(env, var);
}

void child_env_release(struct child_env *env)
{
	for (size_t i = 0; i < env->count; i++)
		free(env->vars[i]);
	free(env->vars);
	*env = (struct child_env)CHILD_ENV_INIT;
}

void child_error_text(int error, char *text, size_t size)
{
	static const struct {
		int error;
		const char *name;
	} names[] = {
		{ENOENT, "FileNotFoundError"},
		{EACCES, "PermissionError"},
		{EPERM, "PermissionError"},
		{ENOTDIR, "NotADirectoryError"},
		{EISDIR, "IsADirectoryError"},
		{EAGAIN, "BlockingIOError"},
		{ETIMEDOUT, "TimeoutError"},
	};
	const char *name = "OSError";

	if (error < 0)
		error = -error;
	if (error == ENOMEM) {
		snprintf(text, size, "MemoryError()");
		return;
	}
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (names[i].error == error)
			name = names[i].name;
	snprintf(text, size, "%s(%d, '%s')", name, error, strerror(error));
}
