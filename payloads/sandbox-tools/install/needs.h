/* SPDX-License-Identifier: MIT */
/* What a client on the host runs in the container besides this program. */
#ifndef PAYLOADS_SANDBOX_TOOLS_INSTALL_NEEDS_H
#define PAYLOADS_SANDBOX_TOOLS_INSTALL_NEEDS_H

#include <jansson.h>

/* Of a list of needs, the places of those that cannot be run here: NAME is looked up in the PATH of
   'env', "=NAME" in the system's own directories, anything else is a path. A new array, or NULL. */
json_t *needs_missing(const json_t *needs, char *const *env);

#endif
