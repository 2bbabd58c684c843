/* SPDX-License-Identifier: MIT */
/*
 * Where the service keeps its files: the server directory and the names in it. Decides where that
 * is and who owns it, and makes it. Everything in it is reached through the open directory, never
 * by a path that somebody could redirect meanwhile. Starts and stops nothing.
 *
 * It is ".server" beside the program, unless a variable names another one. It is private to its
 * user, with everything in it. One exception: if a user other than root has the program in their
 * own directory, which others can enter, it is for all who can run that program: they may connect,
 * and use the service with that user's rights.
 */
#ifndef PAYLOADS_SANDBOX_TOOLS_SERVER_PLACE_H
#define PAYLOADS_SANDBOX_TOOLS_SERVER_PLACE_H

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

#include "payloads/lib/fail.h"

#define PLACE_VARIABLE "INSPECT_SANDBOX_TOOLS_DIR"
#define PLACE_SOCKET "sandbox-tools.sock"
#define PLACE_START_LOCK "server-start.lock" /* held by whoever starts or stops the server */
#define PLACE_SERVER_LOCK "server.lock"	     /* held by the server as long as it lives */
#define PLACE_PID "server.pid"
#define PLACE_STATUS "shutdown-status.json"
#define PLACE_STATUS_TMP "shutdown-status.json.tmp"
#define PLACE_OUT_LOG "server-stdout.log"
#define PLACE_ERR_LOG "server-stderr.log"
#define PLACE_CHUNKS "chunks"	/* a directory: chunk/store.h */
#define PLACE_LOG_MAX (1 << 20) /* a log longer than this is emptied */

struct place {
	char dir[PATH_MAX];
	bool shares;  /* when it is made, it is for others, too */
	uid_t keeper; /* who may own it: we, or the user who has the program there for all */
	int fd;	      /* the directory, -1 before place_open */
};

/* Works out the directory: the variable's, else that of the program that runs. A link that root, or
   we, made beside the program is followed, where nobody else could make one. 0 or -1 with 'fail'.
 */
int place_find(struct place *place, struct fail *fail);
/* That of the program at this path, when it runs; the variable wins here, too. */
int place_of(struct place *place, const char *program, struct fail *fail);
/* The same for a directory that is known already; an absolute path. */
int place_at(struct place *place, const char *dir, struct fail *fail);
/* Opens it. With 'create', it is made if it is missing, as is what is missing above it. It must be
   our own, nobody else may be able to exchange a directory on the way to it (way.h), it is closed
   to those it is not for, and their files under our names are removed. Without 'create', nothing is
   changed, and each thing in it is checked when it is used. Nothing else that belongs to others is
   removed. Returns 0, 1 when it does not exist (or is not ours to use and 'create' is false), -1
   (code FAIL_OCCUPIED when something else has its name). */
int place_open(struct place *place, bool create, struct fail *fail);
/* Is there something else than a directory of the same user where it is to be? -1 with 'fail',
   which names it; 0: no, or nothing is there. */
int place_check(const struct place *place, struct fail *fail);
/* Is what that user does in the open directory to be relied upon? */
bool place_trusts(const struct place *place, uid_t uid);
/* Is the open directory for others, too? */
bool place_is_shared(const struct place *place);
/* Closes the open directory to those it is not for, as place_open() does. */
void place_close_to_others(const struct place *place);
/* bind(2) and connect(2) of a socket of ours, in the open directory: 0 or -errno. */
int place_bind(const struct place *place, int fd);
int place_connect(const struct place *place, int fd);
/* Opens a file of the directory for writing (O_APPEND in 'flags' for logs), created on demand,
   0600. Never a link, never anything but a regular file with one name of somebody who is trusted;
   such things are replaced by a new file. Descriptor or -1 with 'fail'. */
int place_open_file(const struct place *place, const char *name, int flags, struct fail *fail);
/* The same for reading what is there: descriptor or -errno. */
int place_read_file(const struct place *place, const char *name);
/* Does the directory's path still lead to the directory that is open? */
bool place_is_current(const struct place *place);
/* Removes one file of the directory, if it is there. */
void place_remove(const struct place *place, const char *name);
/* After place_erase(), for a server whose program was removed: removes the program's directory,
   too, if it is empty and closed to others, as ours are. Whoever removed the program could not
   remove the directory while we were in it, or had removed it before we made it again. */
void place_remove_above(const struct place *place);
/* Removes every file of ours and then, if it is empty, the directory (with the modification time
   of its parent kept). Nothing else in it is touched. Number of things removed. */
int place_erase(struct place *place);
void place_close(struct place *place);

#endif
