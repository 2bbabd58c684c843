/* SPDX-License-Identifier: MIT */
/*
 * Reading a container's file system. Whatever the container can cause by its files counts as
 * "nothing there"; only trouble with the engine is an error.
 */
#ifndef RECON_IO_H
#define RECON_IO_H

#include "engine/engine.h"

enum { RECON_PATH_MAX = 1024 };

/* How recon reads a file system: the engine's archive API, or a directory in tests. */
struct recon_io {
	/* As eng_archive_stat and eng_archive_read. */
	int (*stat)(void *ctx, const char *path, struct eng_stat *ret, struct sb_err *err);
	int (*read)(void *ctx, const char *path, size_t max_bytes, struct sb_buf *out,
		struct sb_err *err);
	void *ctx;
};

/* The reader over an engine. Borrows both. */
struct recon_engine_ctx {
	struct eng_client *client;
	const char *id;
};
struct recon_io recon_engine_io(struct recon_engine_ctx *ctx);

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
