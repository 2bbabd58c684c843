/* SPDX-License-Identifier: MIT */
/*
 * The one-line JSON answers of the program in the container. Pure: bytes in, checked values out.
 * They cross from an untrusted container: bounded, parsed strictly, and tied to one visit by its
 * nonce.
 */
#ifndef PAYLOADS_RECEIPT_H
#define PAYLOADS_RECEIPT_H

#include "engine/json.h"
#include "payloads/lib/wire.h"

#include <stdint.h>

/* The program's directory, and a home whose name others could take. */
enum { RECEIPT_ASIDE_MAX = 2, RECEIPT_PATH_SIZE = 320 };

struct receipt_install {
	enum wire_was was; /* what was there before */
	enum wire_placed placed;
	bool started;  /* the service was started by this run */
	long long pid; /* of the service, inside the container */
	long long uid;
	char release[32];
	char sha256[65]; /* of the running service's own executable, as it reports it */
	char aside[RECEIPT_ASIDE_MAX][RECEIPT_PATH_SIZE]; /* what was in the way, by its new name */
	size_t aside_count;
	uint32_t missing; /* bit i: the client's need i is not there */
};

/* Of a tree that was unpacked. */
struct receipt_tree {
	enum wire_was was;
	char tree[65];
	uint64_t files, bytes;
	char aside[RECEIPT_PATH_SIZE]; /* what was in the way, by its new name; or "" */
};

/* A tree that is recorded in the container, as it is now. */
struct receipt_tree_found {
	char path[RECEIPT_PATH_SIZE];
	char name[256]; /* that of the rules, or of the directory */
	char tree[65];	/* "": it has changed */
	bool service;
};
enum { RECEIPT_TREES_MAX = 16 };

struct receipt_status {
	bool path_ok;		 /* the path where hosts look is this payload, or cannot be */
	enum wire_placed placed; /* if so */
	bool running;		 /* the service answers */
	bool can_switch;	 /* it can run tools as other users */
	long long pid, uid, uptime_ms;
	char release[32];
	char sha256[65]; /* of the running service */
	struct receipt_tree_found trees[RECEIPT_TREES_MAX];
	size_t tree_count;
};

/* "file", "link" or "none". */
const char *receipt_placed_word(enum wire_placed placed);

/*
 * Parse one line: strict JSON of ours, with this nonce (then *ret_ours is set, whatever it says);
 * returns a new reference. Anything else is SB_MISMATCH; a well-formed report of a failure is the
 * failure's own code.
 */
json_t *receipt_parse(const char *line, size_t len, const char *nonce, bool *ret_ours,
	struct sb_err *err) sb_must_check;

/*
 * Read the answers to `install`, `graft` and `status`. A missing or odd member is SB_MISMATCH.
 * WAS_USERS and WAS_KIND come alone.
 */
int receipt_read_install(const json_t *doc, const char *sha256, struct receipt_install *ret,
	struct sb_err *err) sb_must_check;
/* 1: nothing was brought; `current` is the digest of what is there, or "". */
int receipt_read_graft(const json_t *doc, char current[65], struct sb_err *err) sb_must_check;
/* `tree`: the digest that it must have. */
int receipt_read_tree(const json_t *doc, const char *tree, struct receipt_tree *ret,
	struct sb_err *err) sb_must_check;
int receipt_read_status(
	const json_t *doc, struct receipt_status *ret, struct sb_err *err) sb_must_check;

#endif
