/* SPDX-License-Identifier: MIT */
/*
 * Careful changes to directories that others can write to: nothing here follows a link at the last
 * step, and what is created or removed leaves the parent's modification time as it was, so that the
 * engine's "diff" shows nothing but the entry itself. A parent of our own that not even we may
 * write (Podman's "/" is 0555, and root may lack the capability to ignore that) is made writable
 * for the moment. Names are single components.
 */
#ifndef PAYLOADS_LIB_TREE_H
#define PAYLOADS_LIB_TREE_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

/* ---- the parent, before and after a change ---- */

struct tree_parent {
	int fd; /* borrowed directory descriptor */
	struct timespec mtime;
	mode_t mode;
	bool known, opened; /* opened: made writable */
};

void tree_parent_open(struct tree_parent *parent, int dirfd);
/* Puts time and mode back, as far as permitted. */
void tree_parent_close(const struct tree_parent *parent);

/* ---- single steps, each keeping the parent's time; 0 or -errno ---- */

int tree_mkdir(int dirfd, const char *name, mode_t mode);
int tree_rmdir(int dirfd, const char *name);
int tree_unlink(int dirfd, const char *name);
int tree_rename(int from, const char *name, int to, const char *new_name);
/* The same to a name that must be free: -EEXIST. */
int tree_rename_free(int dirfd, const char *name, const char *new_name);
/* Exchanges two names, in one step where the file system can. */
int tree_exchange(int dirfd, const char *one, const char *other);
int tree_symlink(const char *target, int dirfd, const char *name);

/* ---- compound steps ---- */

/* Deletes whatever is called 'name', directories with their content of any depth, at most 'budget'
   entries, other mounts not entered: 0 or -errno (-E2BIG past the budget). */
int tree_remove(int dirfd, const char *name, int budget);
/* The same, but not beyond the deadline: -E2BIG then, too. */
int tree_remove_until(int dirfd, const char *name, int budget, int64_t deadline);
/* Renames 'name' to something unpredictable beside it and deletes that: when it returns 0 the
   name is free, even if not everything could be deleted. */
int tree_clear(int dirfd, const char *name);
/* Deletes what tree_clear() could not, for at most TREE_SWEEP_MS, because anybody can make more
   under such names: number of things removed. */
#define TREE_SWEEP_MS 10000
int tree_sweep(int dirfd);
/* A name beside 'name' to keep somebody else's things under, NAME.sbinject-aside-<8 hex>: 0 or
   -errno (-ENAMETOOLONG). */
int tree_aside_name(const char *name, char aside[NAME_MAX + 1]);
/* Is it such a name? If so, 'name' gets the original one. */
bool tree_split_aside(const char *aside, char name[NAME_MAX + 1]);
/* Opens the directory 'name' if it is a real one of our own; else puts a new one in its place, in
   one step, and renames what was there to 'aside': descriptor, or -errno and nothing has changed
   (but where the file system cannot exchange two names, what was there may be 'aside'). An empty
   directory of the image, which overlayfs does not rename, is replaced. */
int tree_claim_dir(int dirfd, const char *name, mode_t mode, const char *aside);
/* Gives what is called 'aside' its name back. An empty directory of our own, which a killed
   tree_claim_dir() leaves, is deleted. 0 or -errno: -ENOENT if there is nothing of that name,
   -EEXIST if the original name is taken. */
int tree_put_back(int dirfd, const char *aside);
/* The same for whatever was called 'name' once: number of things (more than one only if they were
   deleted). */
int tree_put_back_from(int dirfd, const char *name);
/* Opens a directory that is not a link: descriptor or -errno. */
int tree_open_dir(int dirfd, const char *name);
/* Opens the directory that contains the last component of an absolute path, links followed, and
   copies that component to 'leaf' (NAME_MAX + 1 bytes). With 'made' missing directories are created
   (0755) and their paths reported through it. Descriptor or -errno; -EINVAL for a path that is not
   absolute, has '.', '..' or no last component. */
struct tree_made {
	int (*note)(struct tree_made *made, const char *path); /* 0, or -errno to give up */
};
int tree_open_parent(const char *path, char *leaf, struct tree_made *made);

#endif
