/* SPDX-License-Identifier: MIT */
/* Files of this host that are read whole: settings, rules, payloads. */
#ifndef ENGINE_FILE_H
#define ENGINE_FILE_H

#include "engine/err.h"

/*
 * Open a regular file for reading. Nothing else will do: a FIFO or a device would let us wait for
 * what may never come. Fails with SB_USAGE, as each of them is there by somebody's configuration.
 * 1: there is nothing of that name.
 */
int sb_file_open(const char *path, int *ret, struct sb_err *err) sb_must_check;

#endif
