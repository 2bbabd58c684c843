/* SPDX-License-Identifier: MIT */
/*
 * Requests that are answered as other users, while this process goes on with its other work: each
 * in a child that becomes the user for good. The requests of one user are done one after the other,
 * in the order in which they came.
 *
 * Such a child has the user's uid, so the user's processes may stop it. It is only ever waited for
 * with poll(2), and it is killed in the end, for which we need to be root.
 */
#ifndef PAYLOADS_SANDBOX_TOOLS_CLI_APART_H
#define PAYLOADS_SANDBOX_TOOLS_CLI_APART_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>

#include "payloads/lib/buf.h"
#include "payloads/sandbox-tools/child/user.h"
#include "payloads/sandbox-tools/rpc/rpc.h"

#define APART_MS 60000 /* for one request, or for the one before it of the same user */
#define APART_FAILED "cannot run the request as another user"
#define APART_CHILDREN_MAX 16
#define APART_FDS (APART_CHILDREN_MAX + 1)

struct apart; /* one request */

struct aparts {
	struct apart *first; /* as they came */
	unsigned count;	     /* whose replies have not been taken */
	size_t bytes;	     /* of their texts */
	int signals;	     /* readable when a child has ended; -1 until there are any */
};

#define APARTS_INIT            \
	{                      \
		NULL, 0, 0, -1 \
	}

/* Has aparts_poll() also look for other children of this process that end: 0 or -errno. */
int aparts_listen(struct aparts *aparts);
/* Takes the request over, and has it answered as the user: 0, or -errno and it is as it was. */
int aparts_add(struct aparts *aparts, struct rpc_request *req, const struct user *user);
/* What to poll for, and for how long at most (-1: no limit); how many descriptors. */
size_t aparts_poll(const struct aparts *aparts, struct pollfd fds[APART_FDS], int *ret_ms);
/* Lets them go on after that. */
void aparts_run(struct aparts *aparts);
/* Is there a reply? It is the caller's, to be released; empty for a notification. */
bool aparts_take(struct aparts *aparts, struct buf *ret);
/* Ends all that there are, after some seconds by force. */
void aparts_close(struct aparts *aparts);

/*
 * For a process that answers one request as another user and ends: returns in a child, whose
 * stdout the parent passes on when the child has ended, to end with its status; or to say that it
 * took too long. 0 in the child, or -1 with 'fail'.
 */
int apart_leave(struct fail *fail);

#endif
