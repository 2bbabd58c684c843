/* SPDX-License-Identifier: MIT */
#include "payloads/sandbox-tools/install/needs.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* As clients set it that do not rely on the container's. */
static const char system_path[] = "/usr/sbin:/usr/bin:/sbin:/bin";

static const char *path_of(char *const *env)
{
	for (; *env; env++)
		if (strncmp(*env, "PATH=", 5) == 0)
			return *env + 5;
	return system_path;
}

static bool can_run(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

/* An empty part of PATH is the current directory, which is the client's to choose. */
static bool is_in(const char *path, const char *name)
{
	char file[PATH_MAX];

	while (*path) {
		size_t len = strcspn(path, ":");

		if (*path == '/' &&
			snprintf(file, sizeof(file), "%.*s/%s", (int)len, path, name) <
				(int)sizeof(file) &&
			can_run(file))
			return true;
		path += len + (path[len] == ':');
	}
	return false;
}

static bool is_there(const char *need, char *const *env)
{
	if (*need == '/')
		return can_run(need);
	return *need == '=' ? is_in(system_path, need + 1) : is_in(path_of(env), need);
}

json_t *needs_missing(const json_t *needs, char *const *env)
{
	json_t *missing = json_array(), *need;
	size_t i;

	json_array_foreach (needs, i, need) {
		if (!is_there(json_string_value(need), env) &&
			json_array_append_new(missing, json_integer((json_int_t)i)) < 0) {
			json_decref(missing);
			return NULL;
		}
	}
	return missing;
}
