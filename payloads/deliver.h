/* SPDX-License-Identifier: MIT */
/*
 * Bringing a payload into a container and speaking with it afterwards.
 *
 * The payload lives in a home of its own, a directory that only root can enter; from there it puts
 * itself at the path where hosts look for it. An injection is one upload and one run of what was
 * uploaded, which checks its own digest, moves itself into place and starts or replaces the
 * service. What it reports crosses from an untrusted container: it is bounded, parsed strictly and
 * tied to this run by a nonce.
 *
 * Where the service is to be the container's own user's, that user does all this, in a home of its
 * own; root's only holds the program to start from. Root may have no power over that user's files
 * and processes, so what a user made is undone by the user, before root removes the rest.
 */
#ifndef PAYLOADS_DELIVER_H
#define PAYLOADS_DELIVER_H

#include "payloads/lib/wire.h"
#include "payloads/visit.h"

/* The program's directory, and a home that others could take the name of. */
enum { DELIVER_ASIDE_MAX = 2, DELIVER_PATH_SIZE = 320 };

struct deliver_receipt {
	enum wire_was was; /* what was there before */
	enum wire_placed placed;
	bool started;  /* the service was started by this run */
	long long pid; /* of the service, inside the container */
	long long uid;
	char release[32];
	char sha256[65]; /* of the running service's own executable, as it reports it */
	char aside[DELIVER_ASIDE_MAX][DELIVER_PATH_SIZE]; /* what was in the way is called so now */
	size_t aside_count;
};

/*
 * Inject. On failure, what this run had placed has been removed, or the error says that it could
 * not be.
 */
int deliver_inject(
	struct plan *plan, struct deliver_receipt *ret, struct sb_err *err) sb_must_check;

/* What `status` tells of a container that has this payload. */
struct deliver_status {
	bool path_ok;		 /* the path where hosts look is this payload, or cannot be */
	enum wire_placed placed; /* if so */
	bool running;		 /* the service answers */
	bool can_switch;	 /* it can run tools as other users */
	long long pid, uid, uptime_ms;
	char release[32];
	char sha256[65]; /* of the running service */
};

/* "file", "link" or "none". */
const char *deliver_placed_word(enum wire_placed placed);

/* SB_NO_SERVICE: not injected. SB_MISMATCH: another version is there. */
int deliver_status(struct plan *plan, struct deliver_status *ret, struct sb_err *err) sb_must_check;

struct deliver_found {
	char sha256[65];
	bool as_user; /* the service is the container's own user's */
};

/*
 * The payload in a container's home, told by the engine alone, without running anything; 1 when
 * there is none.
 */
int deliver_find(struct eng_client *client, const char *id, const char *home_path,
	struct deliver_found *ret, struct sb_err *err) sb_must_check;

/*
 * 1: this payload is in place, for the right user; else 0, with the digest of what is there
 * instead in `other`, or "".
 */
int deliver_is_present(struct plan *plan, char other[65], struct sb_err *err) sb_must_check;

/* 1: there is a home, of whatever release. */
int deliver_has_home(struct plan *plan, struct sb_err *err) sb_must_check;

/* Stop the service and delete everything ever placed. *ret_removed false: nothing was there. */
int deliver_remove(struct plan *plan, bool *ret_removed, struct sb_err *err) sb_must_check;

/*
 * Start the payload in place with a sub-command (`pipe`), to speak with it by ret->exec. Errors as
 * for deliver_status.
 */
int deliver_open(struct plan *plan, const char *command, struct visit *ret,
	struct sb_err *err) sb_must_check;

#endif
