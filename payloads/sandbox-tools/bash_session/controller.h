/* SPDX-License-Identifier: MIT */
/* The shell sessions of the process by their names. Sessions stay until the process ends. Knows
   neither how calls arrive nor what they look like. */
#ifndef PAYLOADS_SANDBOX_TOOLS_BASH_SESSION_CONTROLLER_H
#define PAYLOADS_SANDBOX_TOOLS_BASH_SESSION_CONTROLLER_H

#include "payloads/lib/fail.h"
#include "payloads/sandbox-tools/bash_session/types.h"

#define BASH_UNREAD_MAX ((size_t)256 << 20) /* for output, or a quarter of the memory there is */

struct bash;

/* 'memory' is how much the container may use in all. NULL when there is no memory. */
struct bash *bash_open(struct loop *loop, struct children *children, size_t memory);
/* Starts a session as another user (NULL: as ourselves). NULL with the exception's text in 'fail'.
 */
const struct bash_session *bash_new_session(
	struct bash *bash, const struct user *user, struct fail *fail);
/* NULL when there is none. */
struct bash_session *bash_find(struct bash *bash, const char *name);
/* Answers everybody who waits. */
void bash_stop(struct bash *bash);
void bash_close(struct bash *bash);

#endif
