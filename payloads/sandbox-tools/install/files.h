/* SPDX-License-Identifier: MIT */
/*
 * The files of an installation outside its home: the program at the contract path and the links to
 * it. Every change can be taken back; nothing that belongs to others is followed, overwritten or
 * deleted. If another user has put something in the place of the program's own directory, it is
 * moved aside and kept.
 */
#ifndef PAYLOADS_SANDBOX_TOOLS_INSTALL_FILES_H
#define PAYLOADS_SANDBOX_TOOLS_INSTALL_FILES_H

#include <jansson.h>
#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

#include "payloads/lib/fail.h"
#include "payloads/lib/sha256.h"
#include "payloads/lib/sys.h"
#include "payloads/lib/wire.h"
#include "payloads/sandbox-tools/install/home.h"
#include "payloads/sandbox-tools/install/spec.h"

/* The path that inspect_ai and this program have agreed on: an executable there is one that a host
   put there itself. */
#define FILES_AGREED "/var/tmp/.da7be258e003d428/inspect-sandbox-tools"

/* Where the directories that are made are noted, and what is moved aside for them, by its new path:
   arrays, and how to put them on disk. */
struct files_notes {
	json_t *parents, *aside;		/* borrowed */
	int (*save)(struct files_notes *notes); /* 0 or -errno */
};

enum files_was { FILES_ABSENT, FILES_SAME, FILES_OTHER };

/* What stands at the contract path: the program; a link to the one in the home, where the file
   system there runs no programs or is full; or nothing, where that is read-only. */

/* What tells our programs from those of others: a link into the home; the digest of what runs, of
   what is in the home, or of what the record says was placed. */
struct files_ours {
	const struct home *home;
	const struct sys_self *self;
	const char *recorded; /* NULL if there is no record */
};

/* The program at the contract path. */
struct files_target {
	const char *path; /* borrowed */
	int dir;	  /* its directory */
	char leaf[NAME_MAX + 1];
	char spare[NAME_MAX + 1]; /* the former file under a temporary name, "" if there is none */
	enum files_was was;
	enum wire_placed form;
	bool right;	 /* nothing has to be put there */
	bool usable;	 /* … nor can be, if what is there is mounted there */
	bool placed;	 /* we put a new file or link there */
	mode_t dir_mode; /* that an existing directory had and lost; else 0 */
};

#define FILES_TARGET_INIT                                           \
	{                                                           \
		.dir = -1, .was = FILES_ABSENT, .form = PLACED_FILE \
	}

/* Opens the directory of 'path', making and noting what is missing, and finds out what can stand
   there. 0 or -1 with 'fail'. */
int files_open(struct files_target *target, const char *path, struct files_notes *notes,
	struct fail *fail);
/* Finds out what stands there, beside the program of digest 'hex'. 0, or -1 with 'fail' (code
   FAIL_OCCUPIED) when it is neither ours nor a host's. */
int files_look(struct files_target *target, const struct files_ours *ours, const char *hex,
	struct fail *fail);
/* Makes and notes what is missing above 'path' and opens the directory that it is in; its last
   component goes to 'leaf' (NAME_MAX + 1 bytes). Descriptor, or -1 with 'fail'. */
int files_open_parent(const char *path, char *leaf, struct files_notes *notes, struct fail *fail);
/* Makes and notes the missing directories above 'path', as far as that is possible. */
void files_make_parents(const char *path, struct files_notes *notes);
/* A new file dirfd/name, 0755, with the content of 'from', whose digest is 'hex': 0 or -errno. */
int files_copy(int from, const char *hex, int dirfd, const char *name);
/* Makes the directory private and puts home/<hex>, or a link to it, at the path, never leaving it
   missing or partial. Where nothing can be put, that is no failure, unless another program is
   mounted there. */
int files_place(struct files_target *target, const struct home *home, const char *hex,
	const char *nonce, struct fail *fail);
/* Takes files_place back. */
void files_restore(struct files_target *target);
/* Forgets the former file. */
void files_commit(struct files_target *target);
/* Deletes what a killed run left beside the program; call it with the home's lock held. */
void files_sweep(int dirfd);
void files_close(struct files_target *target);

/* Adds those of 'links' that do not point to 'path' yet to 'missing': 0 or -ENOMEM. */
int files_find_missing(const json_t *links, const char *path, json_t *missing);
/* Makes every link of 'links' that does not point to 'path', and notes it in 'made'. */
int files_link(const json_t *links, const char *path, json_t *made, struct files_notes *notes,
	struct fail *fail);
/* Removes the links among 'links' that point to 'path'; number removed. */
int files_unlink(const json_t *links, const char *path);
/* Removes directories from the array's end to 'from', as far as they are empty; number removed. */
int files_remove_parents(const json_t *parents, size_t from);

/* Gives what was moved aside its name back, from the array's end to 'from', where that is free
   again; number of things. */
int files_put_back(const json_t *aside, size_t from);

/* Is it a directory of our own that nobody else can write to? */
bool files_is_own_dir(int fd);
bool files_is_noexec(int fd);
/* Digest of dirfd/name: true if it is a regular file of ours and of a program's size. It is not
   read if it is the program that runs. */
bool files_digest(int dirfd, const char *name, const struct sys_self *self, char hex[SHA256_HEX]);
/* Is dirfd/name a program of ours? 'hex' is its digest, then and for other files of our user. */
bool files_is_ours(
	const struct files_ours *ours, int dirfd, const char *name, char hex[SHA256_HEX]);
/* Does the program that runs stand at 'path', or can nothing stand there? */
bool files_find(const char *path, const char *home, const struct sys_self *self,
	enum wire_placed *ret_form);
/* "file", "link" or "none". */
const char *files_form_word(enum wire_placed form);

#endif
