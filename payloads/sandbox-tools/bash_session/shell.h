/* SPDX-License-Identifier: MIT */
/* One shell on its terminal: starting it, feeding it, hearing it, ending it. Knows no callers. */
#ifndef PAYLOADS_SANDBOX_TOOLS_BASH_SESSION_SHELL_H
#define PAYLOADS_SANDBOX_TOOLS_BASH_SESSION_SHELL_H

#include "payloads/lib/fail.h"
#include "payloads/sandbox-tools/bash_session/types.h"

/* Starts bash, or sh where there is none, as 'user' (NULL: as ourselves). The caller sets
   owner, heard and accepted at once. NULL with the exception's text in 'fail'. */
struct shell *shell_new(const struct bash_host *host, const struct user *user, struct fail *fail);
/* Queues input, and passes on what the kernel takes: 0, -ENOMEM, or -EMSGSIZE when too much is
   waiting. Input for a shell that has ended is lost. Calls nothing back. */
int shell_tell(struct shell *shell, const char *data, size_t len);
/* ctrl-C for a program that does not read its input: what it has not read is thrown away, as a
   terminal does, and the signal sent past it. False when the key may just be typed. */
bool shell_interrupt(struct shell *shell);
/* Takes the terminal away, which ends most programs. */
void shell_hang_up(struct shell *shell);
/* Ends the process and everything it has started, in its own time, and frees the shell at once. */
void shell_end(struct shell *shell);
/* Frees it; the process, if any, goes on. */
void shell_free(struct shell *shell);

#endif
