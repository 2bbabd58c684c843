/* SPDX-License-Identifier: MIT */
/* Removing an installation. */
#include "payloads/sandbox-tools/install/erase.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "payloads/lib/base.h"
#include "payloads/lib/io.h"
#include "payloads/lib/tree.h"
#include "payloads/sandbox-tools/install/files.h"
#include "payloads/sandbox-tools/install/trees.h"
#include "payloads/sandbox-tools/server/lifecycle.h"
#include "payloads/sandbox-tools/tools.h"

#define STOP_ATTEMPTS 5

static const char *get(const struct erase *erase, const char *key)
{
	return json_string_value(json_object_get(erase->state, key));
}

static int erase_traces(const struct tool_traces *where)
{
	int removed = 0;

	for (const struct tool *const *tool = tools; *tool; tool++)
		if ((*tool)->erase)
			removed += (*tool)->erase(where);
	return removed;
}

/* Until nobody listens: a command that had begun before the program was removed may have started
   the service once more. */
static int stop_at(struct place *place, int64_t deadline, int *removed, struct fail *fail)
{
	for (int i = 0; i < STOP_ATTEMPTS; i++) {
		if (service_look(place) == SERVICE_ELSEWHERE)
			return 0;
		if (service_stop(place, deadline, fail) < 0)
			return -1;
		if (place_open(place, false, fail) == 0) {
			*removed += erase_traces(&(struct tool_traces){.place = place});
			*removed += place_erase(place);
		}
		if (service_look(place) == SERVICE_ABSENT)
			return 0;
	}
	return fail_code(fail, FAIL_BUSY, "the service in '%s' keeps being restarted", place->dir);
}

static int stop_and_close(
	struct place *place, const struct erase *erase, int *removed, struct fail *fail)
{
	int r = stop_at(place, erase->spec->deadline, removed, fail);

	place_close(place);
	return r;
}

/* The service where the state says it is, and was before; else where the home leads to. */
static int stop_service(const struct erase *erase, int *removed, struct fail *fail)
{
	static const char *const keys[] = {"server_dir", "former_dir"};
	struct place place;
	int found = 0;

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		const char *recorded = get(erase, keys[i]);

		if (!recorded || place_at(&place, recorded, fail) < 0)
			continue;
		found++;
		if (stop_and_close(&place, erase, removed, fail) < 0)
			return -1;
	}
	if (found > 0 || !erase->place)
		return 0;
	place = *erase->place;
	return stop_and_close(&place, erase, removed, fail);
}

/* That of a program that was ours, for want of a record. */
static int stop_beside(const struct erase *erase, const char *path, int *removed, struct fail *fail)
{
	struct place place;

	if (erase->state || !path || place_of(&place, path, fail) < 0)
		return 0;
	return stop_and_close(&place, erase, removed, fail);
}

static int erase_beside(int parent, const char *name)
{
	return erase_traces(&(struct tool_traces){.beside = name, .parent = parent});
}

/* Beside the home, if the program was run in there. */
static int erase_beside_home(const struct home *home)
{
	char name[NAME_MAX + 1];
	int parent = home->fd < 0 ? -1 : tree_open_parent(home->path, name, NULL), removed;

	if (parent < 0)
		return 0;
	removed = erase_beside(parent, name);
	close(parent);
	return removed;
}

/* Opens the directory above the program's: descriptor or -1. 'name' and 'leaf' are the last two
   components of the path, copied into buffers of NAME_MAX + 1 bytes. */
static int open_above(const char *path, char *name, char *leaf)
{
	char dir[SPEC_PATH_MAX + 1];
	char *slash;

	if (!path || strlen(path) >= sizeof(dir) || path[0] != '/')
		return -1;
	strcpy(dir, path);
	slash = strrchr(dir, '/');
	if (strlen(slash + 1) > NAME_MAX)
		return -1;
	strcpy(leaf, slash + 1);
	*slash = '\0';
	return tree_open_parent(dir, name, NULL);
}

/* A directory that was there before us gets back the mode it had. */
static void restore_mode(const struct erase *erase, int fd)
{
	json_int_t mode = json_integer_value(json_object_get(erase->state, "dir_mode"));

	if (mode > 0)
		fchmod(fd, (mode_t)mode & 07777);
}

/* 1 removed, 0 there is none of ours, or it is not ours to remove, -errno. */
static int unlink_program(const struct erase *erase, int dirfd, const char *leaf)
{
	const struct files_ours ours = {erase->home, erase->self, get(erase, "sha256")};
	char hex[SHA256_HEX];
	int r = files_is_ours(&ours, dirfd, leaf, hex) ? tree_unlink(dirfd, leaf) : -ENOENT;

	/* the same program, mounted there or on a read-only file system, was there before us */
	if (r == -ENOENT || r == -EBUSY || r == -EROFS)
		return 0;
	return r < 0 ? r : 1;
}

static int remove_program(
	const struct erase *erase, const char *path, int *removed, struct fail *fail)
{
	char name[NAME_MAX + 1], leaf[NAME_MAX + 1];
	int parent = open_above(path, name, leaf), fd, r = 0;

	*removed = 0;
	if (parent < 0)
		return 0;
	fd = tree_open_dir(parent, name);
	if (fd >= 0 && files_is_own_dir(fd)) {
		files_sweep(fd);
		*removed = tree_sweep(fd);
		r = unlink_program(erase, fd, leaf);
		*removed += r > 0;
		restore_mode(erase, fd);
	}
	io_close(&fd);
	close(parent);
	return r < 0 ? fail_sys(fail, r, "cannot delete '%s'", path) : 0;
}

/* What the service left around the program, and without a record the directory, if it held nothing
   but the program: then it was made for it. */
static int remove_surroundings(const struct erase *erase, const char *path, bool was_there)
{
	char name[NAME_MAX + 1], leaf[NAME_MAX + 1];
	int parent = open_above(path, name, leaf), removed;

	if (parent < 0)
		return 0;
	removed = erase_beside(parent, name) + tree_sweep(parent);
	if ((was_there || removed > 0) && !erase->state)
		removed += tree_rmdir(parent, name) == 0;
	close(parent);
	return removed;
}

static int remove_links(const struct erase *erase, const char *path)
{
	int removed = 0;

	if (!path)
		return 0;
	removed += files_unlink(json_object_get(erase->state, "links"), path);
	if (!erase->state)
		removed += files_unlink(erase->spec->links, path);
	return removed;
}

/* With trees that stay in it, as the home of their record and of the program that knows them. */
static int leave_home(const struct erase *erase, int *removed, struct fail *fail)
{
	json_t *trees = NULL;
	int r = home_read_trees(erase->home, &trees, fail);

	json_decref(trees);
	if (r < 0)
		return -1;
	if (r == 0 && home_write_state(erase->home, NULL, fail) == 0)
		return home_write_current(erase->home, erase->self->hex, fail);
	if (!home_erase(erase->home, erase->keep_deliveries, removed))
		return fail_code(fail, FAIL_BUSY, "cannot empty '%s'", erase->spec->home);
	return 0;
}

int erase_run(const struct erase *erase, int *ret_removed, struct fail *fail)
{
	const char *path = get(erase, "path");
	int removed = home_retire(erase->home), program;

	if (!path)
		path = erase->spec->path;
	removed += remove_links(erase, path);
	if (trees_erase(erase->home, erase->service_only, &removed, fail) < 0 ||
		remove_program(erase, path, &program, fail) < 0)
		return -1;
	removed += program;
	if (stop_service(erase, &removed, fail) < 0 ||
		(program > 0 && stop_beside(erase, path, &removed, fail) < 0))
		return -1;
	if (erase->tmpdir)
		removed += erase_traces(&(struct tool_traces){.tmpdir = erase->tmpdir});
	removed += remove_surroundings(erase, path, program > 0);
	removed += files_remove_parents(json_object_get(erase->state, "parents"), 0);
	removed += files_put_back(json_object_get(erase->state, "aside"), 0);
	removed += erase_beside_home(erase->home);
	home_write_server(erase->home, NULL, fail);
	*ret_removed = removed;
	return leave_home(erase, ret_removed, fail);
}
