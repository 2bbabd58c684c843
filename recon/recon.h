/* SPDX-License-Identifier: MIT */
/*
 * What is in a container, learnt from the engine's records and from reading files: nothing inside
 * it is ever executed. Every byte read is hostile until parsed; a file that is missing, odd or too
 * large makes a fact unknown, not an error.
 */
#ifndef RECON_RECON_H
#define RECON_RECON_H

#include "engine/facts.h"
#include "recon/io.h"
#include "recon/place.h"

/*
 * Complete `image`, which may hold unknowns, from all that the engine's records say about the
 * platform, in OCI's words. Makes no request.
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

#endif
