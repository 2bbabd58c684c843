/* SPDX-License-Identifier: MIT */
/*
 * Who can change a rules file decides what runs as root in containers. That may be root and the
 * user, nobody else: not the file, and not by putting another in its place.
 */
#ifndef CONF_TRUST_H
#define CONF_TRUST_H

#include "engine/err.h"

/*
 * SB_USAGE that names the cause if others can change what is open as `fd`; `path` stands in the
 * message. The user is the one that sbinject runs as or, when that is root by sudo, the one who
 * called sudo as well. A group may write if it is that user's own, as "umask 002" supposes; to a
 * directory, anybody if it is sticky; and to what is mounted read-only nobody can.
 */
int trust_check(int fd, const char *path, struct sb_err *err) sb_must_check;

/* The same for a directory. */
int trust_check_dir(const char *dir, struct sb_err *err) sb_must_check;

#endif
