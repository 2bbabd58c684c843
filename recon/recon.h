/* SPDX-License-Identifier: MIT */
/*
 * What is in a container, learnt from the engine's records and from reading files: nothing of the
 * container is ever executed. Every byte read is hostile until parsed; a file that is missing,
 * odd or too large makes a fact unknown, not an error.
 */
#ifndef RECON_RECON_H
#define RECON_RECON_H

#include "engine/engine.h"
#include "engine/facts.h"

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
 * Turn `image`, which may hold unknowns, into what all of the engine's records say of the platform,
 * in OCI's words. Asks nothing.
 */
void recon_platform(const struct eng_container *container, struct eng_image *image);

/*
 * Fill the facts of the set `wanted`, and no others (engine and client are the caller's; labels are
 * always set): each file is asked for only if one of them needs it. `image` may hold unknowns and
 * becomes the platform found. The ELF header of a real file (the program of pid 1, else a shell)
 * decides arch where the image says nothing, and a contradiction between the two is an
 * SB_UNSUPPORTED error that names both, if `wanted` has a fact that needs the ELF (libc,
 * libc_version) or `check_elf` is set.
 */
int recon_facts(const struct recon_io *io, const struct eng_container *container,
	struct eng_image *image, sb_fact_set wanted, bool check_elf, struct sb_facts *ret,
	struct sb_err *err) sb_must_check;

/* A place that a payload could be put into, and why not. */
struct recon_place {
	const char *path; /* borrowed from the container */
	bool usable;
	const char *why; /* constant text: "tmpfs that the engine cannot reach", … */
};

/* All that `sbinject probe` shows besides the facts. */
struct recon_report {
	struct sb_facts facts;
	char interp[256];	 /* PT_INTERP of the program looked at, "" if static */
	char elf_path[256];	 /* that program, "" if none was found */
	char elf_arch[32];	 /* its machine, "" if none was found */
	char contradiction[256]; /* image label against ELF, "" if they agree */
	char pretty_name[256];	 /* os-release */
	const char *shells[8];	 /* constant paths, NULL-terminated */
	struct recon_place places[32];
	size_t place_count;
};

/*
 * Find out everything. A contradiction is reported here, not an error. *ret is written whole: the
 * facts that only the caller knows (engine, client) go in afterwards.
 */
int recon_probe(const struct recon_io *io, const struct eng_container *container,
	const struct eng_image *image, enum eng_kind engine, struct recon_report *ret,
	struct sb_err *err) sb_must_check;

/*
 * The directory in which a payload's home can be made, decided from the engine's records alone (no
 * request): one of root's, or others could exchange the program before it is run. `shared` tells
 * that unprivileged processes inside could have put things there before us, so that nothing found
 * in it may be trusted: so for every tmpfs, as its mode is in no record.
 */
struct recon_home {
	const char *dir; /* constant: "/", "/run", "/tmp", … */
	bool shared;
	bool beyond; /* the archive API does not reach it: payloads/graft.h does */
};
int recon_home(const struct eng_container *container, enum eng_kind engine, struct recon_home *ret,
	struct sb_err *err) sb_must_check;

#endif
