/* SPDX-License-Identifier: MIT */
/* What the parts of the shell sessions share. */
#ifndef PAYLOADS_SANDBOX_TOOLS_BASH_SESSION_TYPES_H
#define PAYLOADS_SANDBOX_TOOLS_BASH_SESSION_TYPES_H

#include <stdbool.h>
#include <stdint.h>

#include "payloads/lib/buf.h"
#include "payloads/lib/loop.h"
#include "payloads/sandbox-tools/bash_session/output.h"
#include "payloads/sandbox-tools/child/child.h"
#include "payloads/sandbox-tools/rpc/rpc.h"

#define BASH_NAME_MAX 40
#define BASH_INPUT_MAX ((size_t)128 << 20) /* waiting for a shell to read it */
#define BASH_GRACE_MS 5000 /* between HUP and TERM, and KILL, for a shell that is replaced */

/* Where the sessions live. */
struct bash_host {
	struct loop *loop;
	struct children *children;
	struct memory_share *unread; /* of all shells' output */
};

/* A process with a terminal, and what has been said on either side of it. */
struct shell {
	const struct bash_host *host;
	struct child child;
	struct loop_watch master;      /* -1 once nobody has the other side open */
	void *owner;		       /* the others' argument */
	void (*heard)(void *owner);    /* the output has grown */
	void (*accepted)(void *owner); /* the kernel has taken some of the input */
	struct output output;
	const char *preface; /* goes before the first output; static */
	struct buf input;
	uint64_t queued, taken; /* bytes of input ever queued, and taken by the kernel */
};

struct bash_session;

/* What a caller wants of an interaction. */
struct bash_request {
	const char *input; /* borrowed, may be NULL */
	size_t input_len;
	int wait_ms, idle_ms;
	size_t limit;
};

/* A caller who waits for output. */
struct bash_reader {
	struct bash_session *session;
	struct rpc_call *call;
	struct loop_timer timer;
	int wait_ms, idle_ms;
	size_t limit;
	uint64_t input_end; /* its clock starts when the kernel has taken so much */
	bool started, burst;
	struct bash_reader *next;
};

struct bash_session {
	char name[BASH_NAME_MAX];
	const struct bash_host *host;
	struct user *user; /* to switch to; owned; NULL: nobody */
	struct shell *shell;
	struct bash_reader *readers; /* oldest first */
	struct bash_session *next;
};

#endif
