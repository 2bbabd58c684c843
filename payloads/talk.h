/* SPDX-License-Identifier: MIT */
/*
 * A talk with our program in a container: one exec of it, one question, one receipt. The nonce in
 * both ties them together: nothing that was said before, or by others, passes for the answer.
 */
#ifndef PAYLOADS_TALK_H
#define PAYLOADS_TALK_H

#include "payloads/plan.h"

struct talk {
	struct plan *plan;     /* borrowed */
	struct eng_exec *exec; /* owned */
	char nonce[33];
	bool tried;	     /* the engine was asked to run the program */
	bool answered;	     /* our program has, whatever it said */
	struct sb_buf early; /* of an answer that came while a stream was sent */
	char *instead; /* owned; the stream ended without an answer: the first line that came */
};

/* Get ready for a talk, the first one or another: with a new nonce, nothing run, nothing said. */
int talk_prepare(struct talk *talk, struct sb_err *err) sb_must_check;

/* The same with the nonce of the one before. */
void talk_repeat(struct talk *talk);

/* Run a program, argv as for eng_exec_start; the container is started first if it must be. */
int talk_run(struct talk *talk, enum eng_exec_user user, const char *const *argv,
	struct sb_err *err) sb_must_check;

/*
 * Put a question (stolen; NULL is a lack of memory), and take the receipt, a new reference. Where
 * `instead` is set afterwards, what was run is not there or not our program, and talk_explain has
 * more to say.
 */
json_t *talk_ask(struct talk *talk, json_t *question, struct sb_err *err) sb_must_check;

/* Take the receipt of a question that was put before. */
json_t *talk_take(struct talk *talk, struct sb_err *err) sb_must_check;

/*
 * Send more behind a question. 1: nobody takes it any more, because an answer has come or the
 * program has ended; talk_take tells.
 */
int talk_send(struct talk *talk, const void *data, size_t len, struct sb_err *err) sb_must_check;

/* Put a first request to a pipe: only an answer shows that it is our program. As talk_ask. */
int talk_greet(struct talk *talk, struct sb_err *err) sb_must_check;

/*
 * The stream ended without an answer: make an error of `came`, whose first line the engine or the
 * program wrote instead; of stderr, where that is empty. Replaces *err. Returns -1.
 */
int talk_explain(struct talk *talk, const char *came, struct sb_err *err);

void talk_end(struct talk *talk);

#endif
