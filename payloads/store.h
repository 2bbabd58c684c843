/* SPDX-License-Identifier: MIT */
/*
 * Where the bytes of a pinned archive are found on this host: in the file that the rules name, in a
 * bundle, or in the cache, in this order. Whatever is found is verified by its digest before it is
 * used. What has another digest is an error, and nothing else is tried instead: an archive that was
 * exchanged must not go unnoticed because a good one was there, too. Nothing here uses the network;
 * see fetch.h.
 */
#ifndef PAYLOADS_STORE_H
#define PAYLOADS_STORE_H

#include "payloads/bytes.h"

#include <limits.h>
#include <stdbool.h>

enum store_tier {
	STORE_FILE,
	STORE_BUNDLE,
	STORE_CACHE,
	STORE_FETCHED, /* into the cache, by this run */
};

/* "file", "bundle", "cache" or "fetched", as `source` in JSON has it. */
const char *store_tier_name(enum store_tier tier);

struct store_want {
	const char *name;   /* for messages */
	const char *sha256; /* 64 digits */
	uint64_t size;	    /* 0: not known; for messages and progress */
	const char *path;   /* the file of the first tier; NULL: none is named */
	bool taken;	    /* sha256 was just taken of that file: it is not read again for that */
	const char *bundle; /* of --bundle, looked into before all others; NULL: none */
};

struct store_found {
	struct bytes bytes; /* verified, or taken before; bytes.fd is owned */
	enum store_tier tier;
	char place[PATH_MAX]; /* the file, or the bundle that it is in */
};

/* clang-format off */
#define STORE_FOUND_INIT {.bytes = {.fd = -1}}
/* clang-format on */
void store_found_release(struct store_found *found);

/*
 * Find it. 1: it is in none of the tiers. SB_MISMATCH: it has another digest; the message names the
 * place and both.
 */
int store_find(
	const struct store_want *want, struct store_found *ret, struct sb_err *err) sb_must_check;

/* The same, but where store_find returns 1: SB_UNSUPPORTED with what to do about it, or SB_USAGE if
   a file is named. */
int store_need(
	const struct store_want *want, struct store_found *ret, struct sb_err *err) sb_must_check;

/* Write "payload 'NAME' (85 MB)" to text, without the size where it is not known; returns text. */
enum { STORE_TEXT_SIZE = 160 };
const char *store_want_text(const struct store_want *want, char text[STORE_TEXT_SIZE]);

/* ---- to put something into the cache ---- */

/* A directory in which each file has its digest for a name. */
struct store_dir {
	int fd;
	char path[PATH_MAX];
};

/* clang-format off */
#define STORE_DIR_INIT {-1, ""}
/* clang-format on */
void store_dir_release(struct store_dir *dir);

/*
 * Open the cache, $XDG_CACHE_HOME/sbinject/sha256, which is made if it is missing; or a directory
 * that a user has named, whose parent has to be there.
 */
int store_dir_cache(struct store_dir *ret, struct sb_err *err) sb_must_check;
int store_dir_open(const char *path, struct store_dir *ret, struct sb_err *err) sb_must_check;

/* Find it in a directory; as store_find, of which this is the last tier. */
int store_dir_find(const struct store_dir *dir, const struct store_want *want,
	struct store_found *ret, struct sb_err *err) sb_must_check;

/*
 * A file that is coming into being: "DIGEST.part", locked. What is in it stays for the next one who
 * begins, until it is kept or store_slot_clear is called.
 */
struct store_slot {
	const struct store_dir *dir;
	const struct store_want *want;
	int fd;
	char name[80];	     /* in the directory */
	char path[PATH_MAX]; /* for messages */
};

/* clang-format off */
#define STORE_SLOT_INIT {.fd = -1}
/* clang-format on */

/*
 * Begin; `want` and `dir` are borrowed. While another process has begun with the same digest, wait
 * for it; `on_wait`, if not NULL, is told once. 1: by now the directory has it.
 */
int store_slot_begin(const struct store_dir *dir, const struct store_want *want,
	void (*on_wait)(const char *name), struct store_slot *ret,
	struct sb_err *err) sb_must_check;

/*
 * Verify what is in it, and give it its name. SB_MISMATCH: it is not what is wanted, and is gone;
 * `from` says in the message where it came from.
 */
int store_slot_keep(struct store_slot *slot, const char *from, struct sb_err *err) sb_must_check;

/* Add to it, where it was left; `slot` is a store_slot. As a bytes_sink wants it. */
int store_slot_write(void *slot, const void *data, size_t len, struct sb_err *err) sb_must_check;

/* Begin again with an empty file. */
int store_slot_clear(struct store_slot *slot, struct sb_err *err) sb_must_check;

/* Let it go; an empty one leaves nothing. */
void store_slot_release(struct store_slot *slot);

#endif
