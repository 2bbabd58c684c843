/* SPDX-License-Identifier: MIT */
/*
 * What a directory holds, all of it, as the digest of a tree (treesum.h). Only what intake.h makes
 * can be part of one: anything else in it, and anything that another user can change, is a failure.
 */
#ifndef PAYLOADS_SANDBOX_TOOLS_INSTALL_SURVEY_H
#define PAYLOADS_SANDBOX_TOOLS_INSTALL_SURVEY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "payloads/lib/fail.h"
#include "payloads/lib/sha256.h"

struct survey {
	char hex[SHA256_HEX];
	size_t files;
	uint64_t bytes;
	uint64_t stamp; /* of what all of it was at the time: inodes, sizes, times of change */
};

/* 0, or -1 with 'fail' (FAIL_DIGEST for what does not belong there). What a service keeps of its
   own in its tree is left out: .server at the top. */
int survey_run(int dir, bool is_service, struct survey *ret, struct fail *fail);
/* Nothing of it has been touched since, from before each file was read: the same. */
int survey_again(int dir, const struct survey *survey, struct fail *fail);

/* Is 'name' a directory of our own that holds just that tree? Then 'ret' tells what of it there is.
 */
bool survey_is(int parent, const char *name, bool is_service, const char *hex, struct survey *ret);

#endif
