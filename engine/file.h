/* SPDX-License-Identifier: MIT */
/* Files of this host: settings, rules, payloads. */
#ifndef ENGINE_FILE_H
#define ENGINE_FILE_H

#include "engine/err.h"

#include <limits.h>

/*
 * Open a regular file for reading. Anything else is refused: reading a FIFO or a device could block
 * for ever. Fails with SB_USAGE, because every such path comes from a configuration. 1: there is no
 * such file.
 */
int sb_file_open(const char *path, int *ret, struct sb_err *err) sb_must_check;

/* Write all of it to an open file, which errors name as `shown`; a signal can interrupt that. */
int sb_file_put(
	int fd, const char *shown, const void *data, size_t len, struct sb_err *err) sb_must_check;

/*
 * Make an executable file: it is there whole, or what was there still is. A link at `path` is
 * replaced.
 */
int sb_file_replace(
	const char *path, const void *data, size_t len, struct sb_err *err) sb_must_check;

/* The same at the end of links, which stay; a pipe or a device is written to instead. */
int sb_file_write(const char *path, const void *data, size_t len, struct sb_err *err) sb_must_check;

/*
 * A file that is written under another name, in the same directory, until it is whole: then it
 * takes the place of what has its own. Through a link it is written to what that leads to. Where
 * that is there and no regular file: SB_USAGE.
 */
struct sb_file {
	int fd;
	char path[PATH_MAX], temporary[PATH_MAX];
};

/* clang-format off */
#define SB_FILE_INIT {-1, "", ""}
/* clang-format on */
int sb_file_begin(
	const char *path, unsigned mode, struct sb_file *ret, struct sb_err *err) sb_must_check;
int sb_file_keep(struct sb_file *file, struct sb_err *err) sb_must_check;

/* Without sb_file_keep before, nothing of it is left. */
void sb_file_release(struct sb_file *file);

#endif
