/* SPDX-License-Identifier: MIT */
/*
 * What a process in an unknown container must arrange for itself: standard descriptors that exist,
 * nothing inherited, its own executable, random names, a writable directory. Works without /proc,
 * /dev and /etc. Nothing here knows the service.
 */
#ifndef PAYLOADS_LIB_SYS_H
#define PAYLOADS_LIB_SYS_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "payloads/lib/sha256.h"

struct ucred; /* <sys/socket.h> */

/* Makes what only the start had to write to read-only (RELRO), opens 0, 1 and 2 where they are
   closed, and ignores SIGPIPE, for good or until sys_inherited_signals(). */
void sys_start(void);
/* An empty input or a sink for output: /dev/null, or a pipe whose other end is closed. */
int sys_null(bool for_output);
/* Closes every descriptor from 'lowest' on except 'keep' (negative for none). */
void sys_close_from(int lowest, int keep);
/* In a child before exec: default signal actions, empty signal mask. */
void sys_default_signals(void);
/* The same as they were when this program was started, which set SIGPIPE and the mask alone. */
void sys_inherited_signals(void);
/* Our own executable, opened for reading: descriptor or -errno. An unprivileged process cannot open
   it after sys_undumpable(), so open it early. */
int sys_open_self(void);
/* The path this program was started by, as the kernel saw it. */
const char *sys_exec_path(void);
/* The path of our own executable, links resolved; if it was deleted, the path that it had, as long
   as its directory is still there. 0 or -errno. */
int sys_program_path(char path[PATH_MAX]);
/* The process at the other end of a connection: 0 or -errno; its pid is 0 if it is in another PID
   namespace. */
int sys_peer(int fd, struct ucred *ret_peer);
void sys_undumpable(void);
/* Digest of everything in an open file; its offset is not used: 0 or -errno. */
int sys_digest(int fd, char hex[SHA256_HEX]);
/* Is it the same file, of whatever name? */
bool sys_is_same(const struct stat *a, const struct stat *b);
/* Does it have that name in the directory, itself and not by a link? */
bool sys_has_name(const struct stat *file, int dirfd, const char *name);
/* Our own executable: which file it is, and its digest. Nobody can write to it while it runs
   (ETXTBSY), so the same file under any other name has this digest, too. */
struct sys_self {
	char hex[SHA256_HEX]; /* "" if it cannot be read */
	struct stat st;
};
/* 0 or -errno. */
int sys_know_self(struct sys_self *self);
/* Is this open file it? */
bool sys_is_self(const struct sys_self *self, const struct stat *st);
/* 2 * bytes lower case hex digits and a NUL: 0 or -errno. */
int sys_random_hex(char *text, size_t bytes);
/* The first of $TMPDIR $TEMP $TMP /tmp /var/tmp /usr/tmp /dev/shm /run / that is a writable
   directory, and absolute; "/" if none is. Never depends on the working directory. */
const char *sys_tmpdir(void);
/* True when the process can become another user. */
bool sys_can_switch_user(void);
/* A number that identifies our PID namespace, 0 if it is unknown (no /proc). */
unsigned long long sys_pid_namespace(void);
/* Start time of a process in clock ticks, 0 when it is unknown (no /proc, no such process). */
unsigned long long sys_start_time(pid_t pid);

#endif
