/* SPDX-License-Identifier: MIT */
/* Environments and error texts of children. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "payloads/lib/base.h"
#include "payloads/lib/fail.h"
#include "payloads/sandbox-tools/child/child.h"

static size_t name_length(const char *var)
{
	return strcspn(var, "=");
}

static bool is_name(const char *var, const char *name, size_t len)
{
	return strncmp(var, name, len) == 0 && (var[len] == '=' || var[len] == '\0');
}

/* Where the number of the variable with that name is, or would be. There is always a free one. */
static size_t *find_slot(const struct child_env *env, const char *name, size_t len)
{
	size_t mask = 2 * env->size - 1, hash = 5381;

	for (size_t i = 0; i < len; i++)
		hash = hash * 33 + (unsigned char)name[i];
	hash ^= hash >> 15;
	while (env->slots[hash & mask] &&
		!is_name(env->vars[env->slots[hash & mask] - 1], name, len))
		hash++;
	return &env->slots[hash & mask];
}

/* Room for one more, and the NULL. */
static int grow(struct child_env *env)
{
	size_t size = env->size ? 2 * env->size : 32, *slots;
	char **vars;

	if (env->count + 2 <= env->size)
		return 0;
	slots = calloc(2 * size, sizeof(*slots));
	vars = slots ? realloc(env->vars, size * sizeof(*vars)) : NULL;
	if (!vars) {
		free(slots);
		return -ENOMEM;
	}
	free(env->slots);
	env->slots = slots;
	env->vars = vars;
	env->size = size;
	for (size_t i = 0; i < env->count; i++)
		*find_slot(env, vars[i], name_length(vars[i])) = i + 1;
	return 0;
}

/* Takes over 'var', in place of one with its name or as a new one. */
static int put(struct child_env *env, char *var)
{
	int r = var ? grow(env) : -ENOMEM;
	size_t *slot;

	if (r < 0) {
		free(var);
		return r;
	}
	slot = find_slot(env, var, name_length(var));
	if (*slot) {
		free(env->vars[*slot - 1]);
		env->vars[*slot - 1] = var;
		return 0;
	}
	env->vars[env->count++] = var;
	env->vars[env->count] = NULL;
	*slot = env->count;
	return 0;
}

int child_env_copy(struct child_env *env, char *const *from)
{
	int r = 0;

	for (; r == 0 && from && *from; from++)
		r = put(env, strdup(*from));
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
	return put(env, var);
}

void child_env_release(struct child_env *env)
{
	for (size_t i = 0; i < env->count; i++)
		free(env->vars[i]);
	free(env->vars);
	free(env->slots);
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
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (names[i].error == error)
			name = names[i].name;
	snprintf(text, size, "%s(%d, '%s')", name, error, fail_error_text(error));
}
