/* SPDX-License-Identifier: MIT */
/* Pseudo terminals as our shells want them: no echo, nothing translated, signals from keys. */
#ifndef PAYLOADS_SANDBOX_TOOLS_BASH_SESSION_PTY_H
#define PAYLOADS_SANDBOX_TOOLS_BASH_SESSION_PTY_H

#include <stdbool.h>

#include "payloads/lib/fail.h"
#include "payloads/sandbox-tools/child/user.h"

struct pty {
	int master; /* non-blocking */
	int slave;
};

/* Opens a pair; 'owner' (may be NULL) gets the slave. 0, or -1 with 'fail'. */
int pty_open(struct pty *pty, const struct user *owner, struct fail *fail);
/* Whole lines go to the reader, not single keys. */
void pty_set_canonical(struct pty *pty);
/* Does what the interrupt key does, when it would be stuck behind input that nobody reads; 'stuck'
   says that the caller has more of it. False: it would not, or it is no such key now. */
bool pty_interrupt(int master, bool stuck);
void pty_close(struct pty *pty);

#endif
