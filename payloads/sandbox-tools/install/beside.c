/* SPDX-License-Identifier: MIT */
/* Deliveries beside the home. */
#include "payloads/sandbox-tools/install/beside.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "payloads/lib/io.h"
#include "payloads/lib/name.h"
#include "payloads/lib/tree.h"

#define SWEEP_ENTRIES 100000

/* Descriptor of a directory of ours, or -errno; -EPERM if it is somebody else's. */
static int open_own(int parent, const char *leaf)
{
	int fd = tree_open_dir(parent, leaf);
	struct stat st;

	if (fd >= 0 && (fstat(fd, &st) < 0 || st.st_uid != geteuid())) {
		close(fd);
		return -EPERM;
	}
	return fd;
}

int beside_move_in(
	const char *home, const char *delivery, char aside[NAME_MAX + 1], struct fail *fail)
{
	char leaf[NAME_MAX + 1];
	int parent = tree_open_parent(home, leaf, NULL), fd, r;
	struct stat st;

	if (parent < 0)
		return fail_sys(fail, parent, "cannot open the directory of '%s'", home);
	r = tree_aside_name(leaf, aside);
	fd = r < 0 ? r : tree_claim_dir(parent, leaf, 0700, aside);
	r = fd < 0 ? fd : tree_rename(parent, delivery, fd, delivery);
	if (r < 0)
		tree_unlink(parent, delivery);
	if (fstatat(parent, aside, &st, AT_SYMLINK_NOFOLLOW) < 0)
		aside[0] = '\0';
	io_close(&fd);
	close(parent);
	return r < 0 ? fail_code(fail, FAIL_OCCUPIED, "cannot clear '%s': %s", home, strerror(-r))
		     : 0;
}

static int remove_all(int parent)
{
	int copy = io_open(parent, ".", O_RDONLY | O_DIRECTORY, 0), removed = 0;
	DIR *dir = copy < 0 ? NULL : fdopendir(copy);
	struct dirent *entry;
	struct stat st;

	if (!dir)
		io_close(&copy);
	for (int left = SWEEP_ENTRIES; dir && left > 0 && (entry = readdir(dir)); left--)
		if (name_is_delivery(entry->d_name) &&
			fstatat(parent, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
			st.st_uid == geteuid())
			removed += tree_unlink(parent, entry->d_name) == 0;
	if (dir)
		closedir(dir);
	return removed;
}

int beside_remove(const char *home, const json_t *names)
{
	char leaf[NAME_MAX + 1];
	int parent = tree_open_parent(home, leaf, NULL), removed = 0;
	json_t *name;
	size_t i;

	if (parent < 0)
		return 0;
	if (!names)
		removed = remove_all(parent);
	json_array_foreach (names, i, name)
		removed += tree_unlink(parent, json_string_value(name)) == 0;
	close(parent);
	return removed;
}

bool beside_is_home(const char *home)
{
	char leaf[NAME_MAX + 1];
	int parent = tree_open_parent(home, leaf, NULL);
	int fd = parent < 0 ? parent : open_own(parent, leaf);
	bool is = fd >= 0;

	io_close(&fd);
	io_close(&parent);
	return is;
}
