/* SPDX-License-Identifier: MIT */
/* Removing an installation. */
#include "payloads/sandbox-tools/install/erase.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "payloads/lib/io.h"
#include "payloads/lib/tree.h"
#include "payloads/sandbox-tools/install/files.h"
#include "payloads/sandbox-tools/server/service.h"

#define CHUNKS_SUFFIX "-json-rpc-chunks"
#define CHUNKS_BUDGET 1000000

static const char *get(const struct erase *erase, const char *key)
{
	return json_string_value(json_object_get(erase->state, key));
}

static int stop_at(struct place *place, int64_t deadline, int *removed, struct fail *fail)
{
	int r;

	if (service_stop(place, deadline, fail) < 0) {
		place_close(place);
		return -1;
	}
	r = place_open(place, false, fail);
	if (r == 0)
		*removed += place_erase(place);
	return 0;
}

/* The service where the state says it is, else where our environment says it would be. */
static int stop_service(const struct erase *erase, int *removed, struct fail *fail)
{
	const char *recorded = get(erase, "server_dir");
	struct place place;

	if (!recorded || place_at(&place, recorded, fail) < 0) {
		if (place_find(&place, fail) < 0)
			return -1;
	}
	return stop_at(&place, erase->spec->deadline, removed, fail);
}

static bool is_ours(const struct erase *erase, int dirfd, const char *name)
{
	const char *recorded = get(erase, "sha256");
	char hex[SHA256_HEX];

	return files_digest(dirfd, name, hex) &&
	       (strcmp(hex, erase->own_digest) == 0 || home_has(erase->home, hex) ||
		       (recorded && strcmp(hex, recorded) == 0));
}

/* Replies too long for one piece were spilled beside the program's directory. */
static int remove_chunks(int parent, const char *dir_name)
{
	char name[NAME_MAX + 1];
	struct stat st;
	int n = snprintf(name, sizeof(name), "%s%s", dir_name, CHUNKS_SUFFIX);

	if (n >= (int)sizeof(name) || fstatat(parent, name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
		!S_ISDIR(st.st_mode) || st.st_uid != geteuid())
		return 0;
	return tree_remove(parent, name, CHUNKS_BUDGET) == 0;
}

static int remove_program(const struct erase *erase, const char *path)
{
	char dir[SPEC_PATH_MAX + 1], name[NAME_MAX + 1];
	char *leaf;
	int removed = 0, parent, fd;

	if (!path || strlen(path) >= sizeof(dir) || path[0] != '/')
		return 0;
	strcpy(dir, path);
	leaf = strrchr(dir, '/');
	*leaf++ = '\0';
	parent = tree_open_parent(dir, name, NULL);
	if (parent < 0)
		return 0;
	fd = tree_open_dir(parent, name);
	if (fd >= 0) {
		files_sweep(fd);
		if (is_ours(erase, fd, leaf))
			removed += tree_unlink(fd, leaf) == 0;
		close(fd);
	}
	removed += remove_chunks(parent, name);
	/* without a record, a directory that held nothing but the program was made for it */
	if (removed > 0 && !erase->state)
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

int erase_run(const struct erase *erase, int *ret_removed, struct fail *fail)
{
	const char *path = get(erase, "path");
	int removed = 0;

	if (stop_service(erase, &removed, fail) < 0)
		return -1;
	if (!path)
		path = erase->spec->path;
	removed += remove_links(erase, path);
	removed += remove_program(erase, path);
	removed += files_remove_parents(json_object_get(erase->state, "parents"), 0);
	removed += home_erase(erase->home, erase->keep_deliveries);
	*ret_removed = removed;
	return 0;
}
