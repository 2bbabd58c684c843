/* SPDX-License-Identifier: MIT */
/*
 * Looking at programs in a container: that of pid 1, then a few that most images have, until the
 * question is answered. Reads the beginnings of files; executes nothing.
 */
#ifndef RECON_PROGRAM_H
#define RECON_PROGRAM_H

#include "recon/elf.h"
#include "recon/io.h"

struct recon_program {
	char path[256];	     /* the first ELF program found, made printable; "" for none */
	struct elf_info elf; /* of that one */
	const char *libc;    /* constant: "glibc", "musl", "none", or "" */
	char loader[256];    /* the loader that showed it, or "" */
};

/*
 * `want_libc`: go on until the PT_INTERP of a dynamic program shows the libc. If all programs found
 * are static, the only loader present shows it; "none" without a loader, "" with two.
 */
int recon_program_find(const struct recon_io *io, const struct eng_container *container,
	bool want_libc, struct recon_program *ret, struct sb_err *err) sb_must_check;

/* The path after "#!" in the first line of a script, or false. */
bool recon_script_interpreter(const void *data, size_t len, char *ret, size_t size);

#endif
