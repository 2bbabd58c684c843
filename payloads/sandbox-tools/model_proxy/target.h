/* SPDX-License-Identifier: MIT */
/* The target of a request line: what of it names a resource. Pure. */
#ifndef PAYLOADS_SANDBOX_TOOLS_MODEL_PROXY_TARGET_H
#define PAYLOADS_SANDBOX_TOOLS_MODEL_PROXY_TARGET_H

#include <stddef.h>

#include "payloads/lib/buf.h"

/* Appends the path as valid UTF-8: without scheme, host, query and fragment, and percent-decoded
   once. 0, or -ENOMEM/-EMSGSIZE. */
int target_decode(const char *target, size_t len, struct buf *out);

#endif
