/* SPDX-License-Identifier: MIT */
/*
 * A shell and the callers that wait for its output. Several may wait at once: their input is passed
 * on in the order it came, the oldest reader gets a burst, and otherwise all output goes to the
 * reader whose time is up first. No caller waits past its own deadline. No output is lost with a
 * caller who has gone away.
 */
#ifndef PAYLOADS_SANDBOX_TOOLS_BASH_SESSION_SESSION_H
#define PAYLOADS_SANDBOX_TOOLS_BASH_SESSION_SESSION_H

#include "payloads/lib/fail.h"
#include "payloads/sandbox-tools/bash_session/types.h"

/* Starts the shell of a session that has host and user set: 0, or -1 with 'fail'. */
int bash_session_start(struct bash_session *session, struct fail *fail);
/* Answers with output, now or later. */
void bash_session_interact(
	struct bash_session *session, struct rpc_call *call, const struct bash_request *request);
/* Starts a new shell. Those who wait get the output of the old one, which then ends in the
   background: 0, or -1 with 'fail' and the old one stays. */
int bash_session_restart(struct bash_session *session, struct fail *fail);
/* Answers everybody who waits, and hangs up on the shell. */
void bash_session_stop(struct bash_session *session);
/* Frees everything inside; the process, if any, goes on. */
void bash_session_close(struct bash_session *session);

#endif
