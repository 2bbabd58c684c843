/* SPDX-License-Identifier: MIT */
/*
 * Reading a file system as recon sees it: whatever the container can bring about by the way its
 * files are is "nothing there"; what is left as an error is trouble with the engine.
 */
#ifndef RECON_IO_H
#define RECON_IO_H

#include "recon/recon.h"

enum { RECON_PATH_MAX = 1024 };

/*
 * Follow links from path to something that is not one: its path (not over RECON_PATH_MAX - 1 bytes)
 * and what it is. 1: nothing there.
 */
int recon_resolve(const struct recon_io *io, const char *path, char resolved[RECON_PATH_MAX],
	struct eng_stat *ret, struct sb_err *err) sb_must_check;

/* One lstat. 1: nothing there. */
int recon_stat(const struct recon_io *io, const char *path, struct eng_stat *ret,
	struct sb_err *err) sb_must_check;

/* Add the first max_bytes of a file to out. 1: not a regular file. */
int recon_read(const struct recon_io *io, const char *path, size_t max_bytes, struct sb_buf *out,
	struct sb_err *err) sb_must_check;

#endif
