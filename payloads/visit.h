/* SPDX-License-Identifier: MIT */
/*
 * One visit to a container: have our program there, run it with one command, put one question, take
 * one receipt. The program is uploaded under a name that nobody knew before, unless one stands
 * ready under a name that only we can know (key.h). What a visit uploaded is removed again when its
 * program never reported.
 */
#ifndef PAYLOADS_VISIT_H
#define PAYLOADS_VISIT_H

#include "payloads/plan.h"

struct visit {
	struct plan *plan;
	struct eng_exec *exec; /* owned */
	char nonce[33];	       /* ties the receipt to this visit */
	char name[128];	       /* of the program in the home */
	bool uploaded;	       /* by this visit, under a delivery's name "<sha256>.<nonce>" */
	bool answered;	       /* the program reported: what it placed is its own business */
};

#define VISIT_INIT           \
	{                    \
		.plan = NULL \
	}
void visit_end(struct visit *visit);

/* 1: a program stands ready and will be run; 0: none does, and nothing has been uploaded. */
int visit_begin(struct plan *plan, struct visit *ret, struct sb_err *err) sb_must_check;

/* Upload it. On failure, what arrived has been removed, or the error says that it could not be. */
int visit_upload(struct visit *visit, struct sb_err *err) sb_must_check;

/*
 * Run it with a command, send `question` (stolen; nonce and home are added) and return the checked
 * receipt, a new reference. NULL with *err filled: failed, and undone if the program never
 * reported. Both a receipt and SB_INTERRUPTED: the user asked to stop, but the program had its way
 * first.
 */
json_t *visit_ask(struct visit *visit, const char *command, json_t *question,
	struct sb_err *err) sb_must_check;

/* Run it with a command, to speak with it by visit->exec. */
int visit_run(struct visit *visit, const char *command, struct sb_err *err) sb_must_check;

/*
 * The stream ended without an answer: turn what came (`out`, and stderr) into an error. Returns -1.
 */
int visit_explain(struct visit *visit, const struct sb_buf *out, struct sb_err *err);

#endif
