/* SPDX-License-Identifier: MIT */
/*
 * What the container's engine gives to a command that it runs there: as this process has got it
 * from that engine, and for the rest as the caller knows it from the engine's records.
 */
#ifndef PAYLOADS_SANDBOX_TOOLS_RUN_WORLD_H
#define PAYLOADS_SANDBOX_TOOLS_RUN_WORLD_H

#include <jansson.h>
#include <stdbool.h>
#include <sys/types.h>

#include "payloads/lib/fail.h"
#include "payloads/sandbox-tools/child/child.h"
#include "payloads/sandbox-tools/child/user.h"

struct run_world {
	json_t *doc;	      /* owned; strings are borrowed from it */
	struct child_env env; /* without a HOME that the engine is known to have added */
	bool adds_home;	      /* it adds one, at the end */
	bool may_add_home;    /* it may have added the one in 'env' */
	const char *cwd;
	const char *user;    /* who runs commands by default; NULL: as this process */
	struct user itself;  /* what the container's files said of this process at its start */
	bool knows_itself;   /* and they were as engines agree on */
	const char *refused; /* why nobody can by default; NULL: nothing */
	bool only_default;   /* what it gives to others is not known */
	const char *odd;     /* why nobody can at all; NULL: nothing */
	const char **groups; /* owned; that every user gets; ends with NULL */
	bool lists_gid;	     /* as user_resolve() has it */
	bool is_hidden;	     /* root's programs are not dumpable */
	int settle_ms;	     /* how long it hears what a command has left behind */
	mode_t mask;
	mode_t stream_mode; /* of the pipes that it makes */
};

/* Reads what the caller knows, one JSON object (wire.h): 0, or -1 with 'fail'. */
int run_world_open(struct run_world *world, const char *text, struct fail *fail);
/* Would the engine still make this process what it is? 0, or -1 with 'fail': the files have
 * changed. */
int run_world_check_itself(const struct run_world *world, struct fail *fail);
void run_world_close(struct run_world *world);

#endif
