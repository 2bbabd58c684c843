/* SPDX-License-Identifier: MIT */
/*
 * Which C library the dynamic programs of a container are linked with, and its version, if one
 * small read can find it.
 */
#ifndef RECON_LIBC_H
#define RECON_LIBC_H

#include "recon/io.h"

enum { RECON_VERSION_MAX = 32 };

/* By the file name of a PT_INTERP: "glibc", "musl", or "" for another. */
const char *recon_libc_of_loader(const char *interp);

/*
 * The version of the libc that `interp` belongs to. glibc: from the name that the loader is a link
 * to (before 2.34: ld-2.31.so), else from the banner in the loader. musl: from apk's list of
 * packages. "" if that does not say.
 */
int recon_libc_version(const struct recon_io *io, const char *interp, char ret[RECON_VERSION_MAX],
	struct sb_err *err) sb_must_check;

/* The three sources, from bytes. False, and "" in ret, where they say nothing. */
bool recon_libc_version_of_link(const char *target, char ret[RECON_VERSION_MAX]);
bool recon_libc_version_of_loader(const void *data, size_t len, char ret[RECON_VERSION_MAX]);
bool recon_libc_version_of_apk(const void *data, size_t len, char ret[RECON_VERSION_MAX]);

#endif
