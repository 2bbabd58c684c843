/* SPDX-License-Identifier: MIT */
/*
 * Where the service keeps its files: the server directory, the socket in (or for long paths near)
 * it, the names of everything else. Decides whom to trust with the directory. Starts and stops
 * nothing.
 */
#ifndef PAYLOADS_SANDBOX_TOOLS_SERVER_PLACE_H
#define PAYLOADS_SANDBOX_TOOLS_SERVER_PLACE_H

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>
#include <sys/un.h>

#include "payloads/lib/fail.h"

#define PLACE_VARIABLE "INSPECT_SANDBOX_TOOLS_DIR"
#define PLACE_SOCKET_NAME "sandbox-tools.sock"
#define PLACE_START_LOCK "server-start.lock" /* held by whoever starts or stops the server */
#define PLACE_SERVER_LOCK "server.lock"	     /* held by the server as long as it lives */
#define PLACE_PID "server.pid"
#define PLACE_STATUS "shutdown-status.json"
#define PLACE_STATUS_TMP "shutdown-status.json.tmp"
#define PLACE_OUT_LOG "server-stdout.log"
#define PLACE_ERR_LOG "server-stderr.log"
#define PLACE_LOG_MAX (1 << 20) /* a log longer than this is emptied */

struct place {
	char dir[PATH_MAX];
	char socket[sizeof(((struct sockaddr_un *)0)->sun_path)]; /* set by place_open */
	char socket_parent[64]; /* own directory of a long path's socket, "" otherwise */
	int fd;			/* the directory, -1 before place_open */
};

/* Works out the directory from the environment. 0 or -1 with 'fail'. */
int place_find(struct place *place, struct fail *fail);
/* The same for a directory that is known already; an absolute path. */
int place_at(struct place *place, const char *dir, struct fail *fail);
/* Opens the directory and checks that it may be trusted; one of root's that others may write to is
   closed to them and rid of their files under our names. With 'create' it is made when missing
   and, for root, put right: what another user left there is moved away and deleted, never used,
   and links are not followed. Returns 0, 1 when it does not exist (or is another user's and
   'create' is false), -1. */
int place_open(struct place *place, bool create, struct fail *fail);
/* Opens the directory, makes it when missing, and keeps all others out of it, as root always does:
   0 or -1 with 'fail' (code "occupied" when it is another user's). */
int place_claim(struct place *place, struct fail *fail);
/* Is what that user does in the open directory to be relied upon? Ours is, and root's, and that of
   whoever the directory belongs to. */
bool place_trusts(const struct place *place, uid_t uid);
/* Opens a file of the directory for writing (O_APPEND in 'flags' for logs), created on demand.
   Never a link, never anything but a regular file with one name of somebody who is trusted; root
   replaces such things by a new file. Descriptor or -1 with 'fail'. */
int place_open_file(const struct place *place, const char *name, int flags, struct fail *fail);
/* The same for reading what is there: descriptor or -errno. */
int place_read_file(const struct place *place, const char *name);
/* Does the directory's path still lead to the directory that is open? */
bool place_is_current(const struct place *place);
/* Removes one file of the directory, if it is there. */
void place_remove(const struct place *place, const char *name);
void place_remove_socket(const struct place *place);
/* Removes every file of ours and then, if it is empty, the directory (with the modification time
   of its parent kept). Nothing else in it is touched. Number of things removed. */
int place_erase(struct place *place);
void place_close(struct place *place);

#endif
