/* SPDX-License-Identifier: MIT */
/*
 * One visit to a container: have our program there (carry.h), run it with one command, put one
 * question, take one receipt (talk.h). Where what stood ready does not answer as ours does, or what
 * was there a moment ago is gone, which other runs and root inside can bring about, the program is
 * brought anew, a few times.
 *
 * What a visit uploaded is removed again when its program never reported; what the container's own
 * user was to run, also when it did. Where it could not be removed, the error says so.
 */
#ifndef PAYLOADS_VISIT_H
#define PAYLOADS_VISIT_H

#include "payloads/carry.h"
#include "payloads/commands.h"
#include "payloads/talk.h"

struct visit {
	struct carry carry;
	struct talk talk;
	int tries; /* that failed before this one */
	bool lost; /* it was not there when it was to be run, or stood ready and was not ours */
};

#define VISIT_INIT                \
	{                         \
		.talk.plan = NULL \
	}
void visit_end(struct visit *visit);

/* What a program is asked to do, and how it comes to where none stands ready. */
struct errand {
	const char *command;
	/* What to put to it, without nonce and home; a new reference. Not for visit_open. */
	json_t *(*question)(const struct carry *carry, const void *ctx);
	/* Bring it (carry_bring). 1: there is nothing to visit. */
	int (*bring)(struct carry *carry, void *ctx, struct sb_err *err);
	void *ctx;
	/*
	 * Go on after the answer *receipt, which is exchanged for the last one, or NULL
	 * with an error. May be NULL.
	 */
	int (*go_on)(struct talk *talk, json_t **receipt, const void *ctx, struct sb_err *err);
	const struct commands *commands; /* that it may also run; NULL: none */
};

/*
 * Run the program, put the question, and give back the checked receipt, a new reference. 1: as
 * `bring` said. Both a receipt and SB_INTERRUPTED: the user asked to stop, but the program had its
 * way first.
 */
int visit_ask(struct plan *plan, bool as_user, const struct errand *errand, struct visit *ret,
	json_t **ret_receipt, struct sb_err *err) sb_must_check;

/* Before what was done is undone: whatever has happened, there is time for it. */
void visit_begin_undo(const struct plan *plan);

/* Run it to speak with it by ret->talk.exec: it has answered a first request by then. */
int visit_open(struct plan *plan, bool as_user, const struct errand *errand, struct visit *ret,
	struct sb_err *err) sb_must_check;

#endif
