/* SPDX-License-Identifier: MIT */
/*
 * One visit to a container: have our program there, run it with one command, put one question, take
 * one receipt. The program is uploaded under a name that nobody knew before, unless one stands
 * ready under a name that only we can know (key.h). What a visit uploaded is removed again when its
 * program never reported.
 *
 * A visit as the container's own user runs a program that this user cannot change, out of a
 * directory "user/<sha256>" in root's home. The user cannot remove it either; so it has the same
 * name every time. With it come the link "current", which for root is the program's own doing, and
 * the link ".server" beside it, which says where its service is.
 */
#ifndef PAYLOADS_VISIT_H
#define PAYLOADS_VISIT_H

#include "payloads/lib/wire.h"
#include "payloads/plan.h"

struct graft; /* graft.h */

struct visit {
	struct plan *plan;
	struct eng_exec *exec; /* owned */
	char nonce[33];	       /* ties the receipt to this visit */
	char name[160];	       /* of the program in the home */
	bool as_user;	       /* run as the container's own user */
	char before[65];       /* as_user: what "current" led to before, or "" */
	struct graft *graft;   /* owned; NULL where uploading is enough */
	char current[65];      /* which version that found there, or "" */
	bool uploaded; /* by this visit, for root under a delivery's name "<sha256>.<nonce>" */
	bool answered; /* the program reported: what it placed is its own business */
	int tries;     /* that failed before this one */
	bool exec_tried;
	bool lost; /* it was not there when it was to be run, or stood ready and was not ours */
};

/* What a program is asked to do, and how it comes to where none stands ready. */
struct errand {
	const char *command;
	/* What to put to it, without nonce and home; a new reference. Not for visit_open. */
	json_t *(*question)(const struct visit *visit, const void *ctx);
	/* Upload it (visit_upload). 1: there is nothing to visit. */
	int (*bring)(struct visit *visit, void *ctx, struct sb_err *err);
	void *ctx;
};

#define VISIT_INIT           \
	{                    \
		.plan = NULL \
	}
void visit_end(struct visit *visit);

/*
 * Run the program that stands ready or is brought, put the question, and give back the checked
 * receipt, a new reference. Where what stood ready does not answer as ours does, or what was there
 * a moment ago is gone, which other runs and root inside can bring about, it is brought anew, a few
 * times. 1: as `bring` said. On failure, what was uploaded has been removed if the program never
 * reported (as_user also if it did), or the error says that it could not be. Both a receipt and
 * SB_INTERRUPTED: the user asked to stop, but the program had its way first.
 */
int visit_ask(struct plan *plan, bool as_user, const struct errand *errand, struct visit *ret,
	json_t **ret_receipt, struct sb_err *err) sb_must_check;

/* The same, to speak with it by ret->exec: it has answered a first request by then. */
int visit_open(struct plan *plan, bool as_user, const struct errand *errand, struct visit *ret,
	struct sb_err *err) sb_must_check;

/* 1: a program stands ready, as far as it can be told without running it where it can. */
int visit_is_ready(struct plan *plan, struct sb_err *err) sb_must_check;

/*
 * For `bring`: upload the program; as_user after setting `before`. 1: the home is beyond the
 * archive API, and there is not what `when` asks for; nothing was done.
 */
int visit_upload(struct visit *visit, enum wire_when when, struct sb_err *err) sb_must_check;

/* Put a question (stolen) to the program behind visit->exec, and take its receipt. */
json_t *visit_converse(struct visit *visit, json_t *question, struct sb_err *err) sb_must_check;

/*
 * The stream ended without an answer: turn what came (`out`, and stderr) into an error. Returns -1.
 */
int visit_explain(struct visit *visit, const struct sb_buf *out, struct sb_err *err);

#endif
