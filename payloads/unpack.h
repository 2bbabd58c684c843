/* SPDX-License-Identifier: MIT */
/*
 * Putting a tree of files into a container. Our own program in there takes its files from its
 * standard input, verifies what it has made of them by the tree's digest, and moves it to its place
 * as a whole; so this reaches every place that processes in the container can write to.
 */
#ifndef PAYLOADS_UNPACK_H
#define PAYLOADS_UNPACK_H

#include "payloads/receipt.h"
#include "payloads/visit.h"

/* How our program comes there (struct errand); `ctx` goes to it. */
struct unpack_way {
	int (*bring)(struct carry *carry, void *ctx, struct sb_err *err);
	void *ctx;
};

/*
 * Unpack the plan's tree. ret->was WAS_USERS or WAS_KIND: nothing was done, because another service
 * has to be removed first. On failure nothing of it is left, or the error says what may be; but
 * where ret->was is WAS_ABSENT then, it is there.
 */
int unpack_tree(struct plan *plan, const struct plan_tree *tree, const struct unpack_way *way,
	struct receipt_tree *ret, struct sb_err *err) sb_must_check;

#endif
