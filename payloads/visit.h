/* SPDX-License-Identifier: MIT */
/*
 * One visit to a container: have our program there, run it with one command, put one question, take
 * one receipt. The program is uploaded under a name that nobody knew before, unless one stands
 * ready under a name that only we can know (key.h). What a visit uploaded is removed again when its
 * program never reported.
 *
 * A visit as the container's own user runs a program that this user cannot change, out of a
 * directory "user/<sha256>" in root's home. The user cannot remove it either; so it has the same
 * name every time. With it comes the link "current", which for root is the program's own doing.
 */
#ifndef PAYLOADS_VISIT_H
#define PAYLOADS_VISIT_H

#include "payloads/plan.h"

struct graft; /* graft.h */

/* On what condition a program is brought into a home that only it can look into. */
enum visit_when { VISIT_ALWAYS, VISIT_IF_HOME, VISIT_IF_CURRENT };

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
};

#define VISIT_INIT           \
	{                    \
		.plan = NULL \
	}
void visit_end(struct visit *visit);

/* 1: a program stands ready and will be run; 0: none does, and nothing has been uploaded. */
int visit_begin(
	struct plan *plan, bool as_user, struct visit *ret, struct sb_err *err) sb_must_check;

/*
 * Upload it; as_user after setting `before`. On failure, what arrived has been removed, or the
 * error says that it could not be. 1: the home is beyond the archive API, and there is not what
 * `when` asks for; nothing was done.
 */
int visit_upload(struct visit *visit, enum visit_when when, struct sb_err *err) sb_must_check;

/*
 * Run it with a command, send `question` (stolen; nonce and home are added) and return the checked
 * receipt, a new reference. NULL with *err filled: failed, and undone if the program never
 * reported (as_user also the upload if it did). Both a receipt and SB_INTERRUPTED: the user asked
 * to stop, but the program had its way first.
 */
json_t *visit_ask(struct visit *visit, const char *command, json_t *question,
	struct sb_err *err) sb_must_check;

/* Put a question (stolen) to the program behind visit->exec, and take its receipt. */
json_t *visit_converse(struct visit *visit, json_t *question, struct sb_err *err) sb_must_check;

/* Run it with a command, to speak with it by visit->exec. Undone if it cannot be run. */
int visit_open(struct visit *visit, const char *command, struct sb_err *err) sb_must_check;

/*
 * The stream ended without an answer: turn what came (`out`, and stderr) into an error. Returns -1.
 */
int visit_explain(struct visit *visit, const struct sb_buf *out, struct sb_err *err);

#endif
