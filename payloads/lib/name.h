/* SPDX-License-Identifier: MIT */
/*
 * The grammar of the names under which a program comes into a container and stands there; see
 * install/home.h for what they are for. Pure.
 */
#ifndef PAYLOADS_LIB_NAME_H
#define PAYLOADS_LIB_NAME_H

#include <stdbool.h>

bool name_is_binary(const char *name);	 /* <64 hex> */
bool name_is_delivery(const char *name); /* <64 hex>.<32 hex> */
bool name_is_kept(const char *name);	 /* run-<64 hex> */

#endif
