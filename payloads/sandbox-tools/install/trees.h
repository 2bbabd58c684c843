/* SPDX-License-Identifier: MIT */
/*
 * The trees of files that were unpacked for an installation, as its home records them: an object
 * with a member for each, by the path of its directory:
 *   {"name", "tree": digest, "service": true if it takes the service's place, "launcher",
 *    "staging": the name beside it that it has until it is whole, "aside": what it took the path
 * of, by its new path, "parents": [directories made above it]}
 */
#ifndef PAYLOADS_SANDBOX_TOOLS_INSTALL_TREES_H
#define PAYLOADS_SANDBOX_TOOLS_INSTALL_TREES_H

#include <jansson.h>
#include <stdbool.h>

#include "payloads/lib/fail.h"
#include "payloads/sandbox-tools/install/home.h"

#define TREES_MAX 16

/* The path of the tree that is the service, NULL if there is none. */
const char *trees_service(const json_t *trees);

/* Adds to 'parents' those that 'record' (of a tree, or the home's state) has of the directories
   above 'path': whichever goes last is to remove them. 0 or -ENOMEM. */
int trees_share_parents(const json_t *record, const char *path, json_t *parents);
int trees_share_all_parents(const json_t *trees, const char *path, json_t *parents);

/* Ends every process that runs a program of the directory, first by SIGTERM. */
void trees_end_processes(const char *path);

/* Removes a tree that is recorded so, and what was made for it: number of things, -1 with 'fail'.
   What is not there any more is no failure; what is no directory of ours is left alone. */
int trees_remove(const char *path, const json_t *tree, struct fail *fail);

/* Removes all that the home records, or only the service: adds to 'removed'. 0, or -1 with 'fail'
   and the rest still recorded. */
int trees_erase(const struct home *home, bool service_only, int *removed, struct fail *fail);

/* Removes those of an array of paths, and the home if it is for nothing else: as trees_erase(). */
int trees_discard(struct home *home, const json_t *paths, int *removed, struct fail *fail);

/* For a receipt: an array of all that are recorded, each with its digest, or null for one that is
   not there any more as it was put there. */
json_t *trees_list(const struct home *home);

#endif
