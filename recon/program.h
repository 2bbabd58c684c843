/* SPDX-License-Identifier: MIT */
/*
 * Looking at programs of a container: the one of pid 1, then a few that most images have, until it
 * is known what was asked for. Reads the beginnings of files; executes nothing.
 */
#ifndef RECON_PROGRAM_H
#define RECON_PROGRAM_H

#include "recon/elf.h"
#include "recon/recon.h"

struct recon_program {
	char path[256];	     /* the first ELF program found, made printable; "" for none */
	struct elf_info elf; /* of that one */
	const char *libc;    /* constant: "glibc", "musl", "none", or "" */
	char loader[256];    /* the file of the libc that told so, or "" */
};

/*
 * `want_libc`: go on until the PT_INTERP of a dynamic program tells the libc. If all programs found
 * are static, the one loader that is there tells it; "none" if there is none either, "" for two.
 */
int recon_program_find(const struct recon_io *io, const struct eng_container *container,
	bool want_libc, struct recon_program *ret, struct sb_err *err) sb_must_check;

/* The path after "#!" in the first line of a script, or false. */
bool recon_script_interpreter(const void *data, size_t len, char *ret, size_t size);

#endif
