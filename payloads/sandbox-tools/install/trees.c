/* SPDX-License-Identifier: MIT */
/* Recorded trees: listing and removing them. */
#include "payloads/sandbox-tools/install/trees.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "payloads/lib/io.h"
#include "payloads/lib/tree.h"
#include "payloads/lib/treesum.h"
#include "payloads/lib/wire.h"
#include "payloads/sandbox-tools/install/files.h"
#include "payloads/sandbox-tools/install/survey.h"

#define REMOVE_BUDGET (4 * TREESUM_MEMBERS_MAX)
#define END_ROUNDS 60
#define END_KINDLY 40 /* rounds of SIGTERM before SIGKILL */
#define END_PAUSE_MS 50

static const char *get(const json_t *tree, const char *key)
{
	return json_string_value(json_object_get(tree, key));
}

const char *trees_service(const json_t *trees)
{
	const char *path;
	json_t *tree;

	json_object_foreach ((json_t *)trees, path, tree)
		if (json_is_true(json_object_get(tree, WIRE_SERVICE)))
			return path;
	return NULL;
}

/* ---- directories made above ---- */

static bool is_above(const char *dir, const char *path)
{
	size_t len = strlen(dir);

	return !strncmp(dir, path, len) && path[len] == '/';
}

static bool is_in(const json_t *paths, const json_t *path)
{
	json_t *one;
	size_t i;

	json_array_foreach ((json_t *)paths, i, one)
		if (json_equal(one, path))
			return true;
	return false;
}

int trees_share_parents(const json_t *record, const char *path, json_t *parents)
{
	json_t *dir;
	size_t i;

	json_array_foreach (json_object_get(record, "parents"), i, dir)
		if (is_above(json_string_value(dir), path) && !is_in(parents, dir) &&
			json_array_append(parents, dir) < 0)
			return -ENOMEM;
	return 0;
}

int trees_share_all_parents(const json_t *trees, const char *path, json_t *parents)
{
	const char *other;
	json_t *tree;

	json_object_foreach ((json_t *)trees, other, tree)
		if (trees_share_parents(tree, path, parents) < 0)
			return -ENOMEM;
	return 0;
}

/* ---- processes ---- */

static bool runs_from(const char *pid, const char *path)
{
	char link[64], exe[PATH_MAX];
	size_t len = strlen(path);
	ssize_t n;

	if (strspn(pid, "0123456789") != strlen(pid) || strlen(pid) > 10)
		return false;
	snprintf(link, sizeof(link), "/proc/%s/exe", pid);
	n = readlink(link, exe, sizeof(exe));
	return n > (ssize_t)len && !memcmp(exe, path, len) && exe[len] == '/';
}

static int signal_all(const char *path, int signal)
{
	DIR *proc = opendir("/proc");
	struct dirent *entry;
	int found = 0;

	while (proc && (entry = readdir(proc)))
		if (runs_from(entry->d_name, path))
			found += kill((pid_t)strtol(entry->d_name, NULL, 10), signal) == 0;
	if (proc)
		closedir(proc);
	return found;
}

void trees_end_processes(const char *path)
{
	for (int i = 0; i < END_ROUNDS; i++) {
		if (signal_all(path, i < END_KINDLY ? SIGTERM : SIGKILL) == 0)
			return;
		io_sleep(END_PAUSE_MS);
	}
}

/* ---- removing ---- */

static bool is_own(int parent, const char *name)
{
	struct stat st;

	return fstatat(parent, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode) &&
	       st.st_uid == geteuid();
}

static int remove_named(int parent, const char *name, const char *path, struct fail *fail)
{
	int r;

	if (!name || !is_own(parent, name))
		return 0;
	r = tree_remove(parent, name, REMOVE_BUDGET);
	return r < 0 ? fail_sys(fail, r, "cannot delete '%s'", path) : 1;
}

int trees_remove(const char *path, const json_t *tree, struct fail *fail)
{
	char leaf[NAME_MAX + 1];
	int parent = tree_open_parent(path, leaf, NULL), whole, staged;
	const char *aside = get(tree, "aside");
	json_t *moved;

	if (parent < 0)
		return 0;
	trees_end_processes(path);
	staged = remove_named(parent, get(tree, "staging"), path, fail);
	/* one that was never whole has not taken the path */
	whole = staged >= 0 && get(tree, WIRE_TREE) ? remove_named(parent, leaf, path, fail) : 0;
	close(parent);
	if (staged < 0 || whole < 0)
		return -1;
	moved = json_pack("[s*]", aside);
	whole += files_remove_parents(json_object_get(tree, "parents"), 0);
	whole += files_put_back(moved, 0);
	json_decref(moved);
	return staged + whole;
}

/* With those that are wanted: 1 if none is left, -1 with 'fail'. */
static int erase_some(const struct home *home, bool (*wanted)(const char *, const json_t *, void *),
	void *data, int *removed, struct fail *fail)
{
	json_t *trees, *tree;
	const char *path;
	void *next;
	int r = home_read_trees(home, &trees, fail);

	if (r != 0)
		return r;
	json_object_foreach_safe(trees, next, path, tree)
	{
		int n;

		if (!wanted(path, tree, data))
			continue;
		n = trees_remove(path, tree, fail);
		if (n < 0) {
			r = -1;
			break;
		}
		*removed += n;
		json_object_del(trees, path);
	}
	if (home_write_trees(home, json_object_size(trees) ? trees : NULL, fail) < 0)
		r = -1;
	if (r == 0)
		r = json_object_size(trees) == 0;
	json_decref(trees);
	return r;
}

static bool is_wanted(const char *path, const json_t *tree, void *service_only)
{
	(void)path;
	return !*(bool *)service_only || json_is_true(json_object_get(tree, WIRE_SERVICE));
}

static bool is_listed(const char *path, const json_t *tree, void *paths)
{
	json_t *one;
	size_t i;

	(void)tree;
	json_array_foreach ((json_t *)paths, i, one)
		if (!strcmp(path, json_string_value(one)))
			return true;
	return false;
}

int trees_discard(struct home *home, const json_t *paths, int *removed, struct fail *fail)
{
	int r = erase_some(home, is_listed, (void *)paths, removed, fail);
	json_t *state = NULL;

	if (r > 0 && home_read_state(home, &state, fail) > 0)
		home_erase(home, true, removed);
	json_decref(state);
	return r < 0 ? -1 : 0;
}

int trees_erase(const struct home *home, bool service_only, int *removed, struct fail *fail)
{
	return erase_some(home, is_wanted, &service_only, removed, fail) < 0 ? -1 : 0;
}

/* ---- listing ---- */

/* The digest of what was put there, if that is still what is there. */
static json_t *proved(const char *path, const json_t *tree)
{
	bool is_service = json_is_true(json_object_get(tree, WIRE_SERVICE));
	const char *recorded = get(tree, WIRE_TREE);
	char leaf[NAME_MAX + 1];
	int parent = tree_open_parent(path, leaf, NULL);
	struct survey survey;
	bool same =
		parent >= 0 && recorded && survey_is(parent, leaf, is_service, recorded, &survey);

	io_close(&parent);
	return same ? json_string(recorded) : json_null();
}

json_t *trees_list(const struct home *home)
{
	json_t *list = json_array(), *trees, *tree;
	struct fail ignored = FAIL_INIT;
	const char *path;

	if (home_read_trees(home, &trees, &ignored) != 0)
		return list;
	json_object_foreach (trees, path, tree) {
		const char *name = get(tree, WIRE_NAME_OF);

		if (json_array_size(list) < TREES_MAX)
			json_array_append_new(
				list, json_pack("{s:s, s:s, s:b, s:o}", WIRE_PATH, path,
					      WIRE_NAME_OF, name ? name : "", WIRE_SERVICE,
					      json_is_true(json_object_get(tree, WIRE_SERVICE)),
					      WIRE_TREE, proved(path, tree)));
	}
	json_decref(trees);
	return list;
}
