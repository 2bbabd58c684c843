/* SPDX-License-Identifier: MIT */
/*
 * Takes a tree of files off a stream (wire.h) and makes it in an empty directory: directories 0755,
 * files 0755 or 0644, all ours. It makes nothing outside of the directory, whatever the stream
 * says.
 */
#ifndef PAYLOADS_SANDBOX_TOOLS_INSTALL_INTAKE_H
#define PAYLOADS_SANDBOX_TOOLS_INSTALL_INTAKE_H

#include "payloads/lib/fail.h"

#define INTAKE_IDLE_MS 120000 /* a sender that is silent for longer has gone */

/* 0, or -1 with 'fail' and some of it made. */
int intake_run(int stream, int dir, struct fail *fail);

#endif
