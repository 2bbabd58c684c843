/* SPDX-License-Identifier: MIT */
/* What service.c and lifecycle.c share; everybody else wants service.h. */
#ifndef PAYLOADS_SANDBOX_TOOLS_SERVER_LIFECYCLE_H
#define PAYLOADS_SANDBOX_TOOLS_SERVER_LIFECYCLE_H

#include <stdint.h>

#include "payloads/sandbox-tools/server/place.h"
#include "payloads/sandbox-tools/server/service.h"

/* Connects to whatever listens on the socket, ours or not: descriptor or -errno. */
int service_knock(const struct place *place, int64_t deadline);
/* What service_look() does, for a place that is open. */
enum service_seen service_look_at(const struct place *place);

#endif
