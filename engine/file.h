/* SPDX-License-Identifier: MIT */
/* Files of this host that are read whole: settings, rules, payloads. */
#ifndef ENGINE_FILE_H
#define ENGINE_FILE_H

#include "engine/err.h"

/*
 * Open a regular file for reading. Anything else is refused: reading a FIFO or a device could block
 * for ever. Fails with SB_USAGE, because every such path comes from a configuration. 1: there is no
 * such file.
 */
int sb_file_open(const char *path, int *ret, struct sb_err *err) sb_must_check;

#endif
