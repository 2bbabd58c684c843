/* SPDX-License-Identifier: MIT */
/*
 * The way to a file, and who could make it lead elsewhere: whoever owns a directory can rename what
 * is in it, and so can those who may write to it, unless it is sticky.
 */
#ifndef PAYLOADS_LIB_WAY_H
#define PAYLOADS_LIB_WAY_H

#include "payloads/lib/fail.h"

/* Opens the directory that contains the last component of an absolute path, links followed, and
   copies that component to 'leaf' (NAME_MAX + 1 bytes), like tree_open_parent(); but only if every
   directory on the way, the last one too, and every link is root's or our own, and no directory is
   open to others without being sticky. Then the same path leads there again. Descriptor, or -1 with
   'fail' (FAIL_DENIED, naming the first one that is not). */
int way_open(const char *path, char *leaf, struct fail *fail);
/* The same, but directories that are missing on the way are made, closed to others. */
int way_make(const char *path, char *leaf, struct fail *fail);
/* The same check without opening: 0 or -1 with 'fail'. */
int way_check(const char *path, struct fail *fail);

#endif
