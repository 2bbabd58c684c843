/* SPDX-License-Identifier: MIT */
/* What --version prints: what this program is, and what is in it. */
#ifndef CMD_VERSION_H
#define CMD_VERSION_H

#include "cmd/cmd.h"

/*
 * Release, wire version and payloads; with --verbose the libraries that are linked in, too. With
 * --json all of it, as one object.
 */
void version_print(const struct cmd_env *env);

#endif
