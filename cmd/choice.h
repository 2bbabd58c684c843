/* SPDX-License-Identifier: MIT */
/* Which payloads of the catalogue a command line means: names, --for, or --all, with --arch. */
#ifndef CMD_CHOICE_H
#define CMD_CHOICE_H

#include "cmd/cmd.h"
#include "payloads/store.h"
#include "payloads/upstream.h"

struct choice {
	const struct upstream **list; /* in the catalogue's order, each once; owned */
	size_t count;
	bool named; /* one by one: otherwise, what is in no wheel may be missing */
};

/* clang-format off */
#define CHOICE_INIT {NULL, 0, false}
/* clang-format on */
void choice_release(struct choice *choice);

/*
 * SB_USAGE: nothing is chosen, in two ways, or something that is not in the catalogue.
 * SB_UNSUPPORTED: the release of --for brings nothing. SB_MISMATCH: it is not known.
 */
int choice_make(const struct cmd_env *env, struct choice *ret, struct sb_err *err) sb_must_check;

/* Whether the command can go on without it. */
bool choice_may_miss(const struct choice *choice, const struct upstream *one);

/* What to look for, on this host; with --bundle. */
struct store_want choice_want(const struct cmd_env *env, const struct upstream *one);

/* Write "inspect_ai 0.3.281 to 0.3.285" to text; returns text. */
const char *choice_serves(const struct upstream *one, char text[HOST_TEXT_SIZE]);

#endif
