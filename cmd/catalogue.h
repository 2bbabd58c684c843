/* SPDX-License-Identifier: MIT */
/* The list of all payloads: what is embedded, and what can be got, with where each is. */
#ifndef CMD_CATALOGUE_H
#define CMD_CATALOGUE_H

#include "cmd/cmd.h"

/*
 * Print it. SB_MISMATCH: an archive has a wrong digest; the others are listed all the same, and
 * what is wrong with them is printed.
 */
int catalogue_print(const struct cmd_env *env, struct sb_err *err) sb_must_check;

#endif
