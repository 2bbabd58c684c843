/* SPDX-License-Identifier: MIT */
/*
 * Whoever can change a rules file decides what runs as root in containers. Only root and the user
 * may be able to change it, or to put another file in its place.
 */
#ifndef CONF_TRUST_H
#define CONF_TRUST_H

#include "engine/err.h"

/*
 * Fail with SB_USAGE, naming the cause, if others can change what is open as `fd`; `path` is for
 * the message. The user is the one that sbinject runs as or, when that is root by sudo, the one who
 * called sudo as well. A group may write if it is that user's own, as "umask 002" supposes; to a
 * directory, anybody if it is sticky; and to what is mounted read-only nobody can.
 */
int trust_check(int fd, const char *path, struct sb_err *err) sb_must_check;

/* The same for a directory. */
int trust_check_dir(const char *dir, struct sb_err *err) sb_must_check;

#endif
