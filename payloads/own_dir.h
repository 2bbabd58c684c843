/* SPDX-License-Identifier: MIT */
/*
 * Directories in which sbinject keeps something for its user: one that belongs to this user, is no
 * link, and that nobody else can write to. Root that has kept a user's environment ("sudo -E") is
 * not led into that user's home, and leaves nothing there.
 */
#ifndef PAYLOADS_OWN_DIR_H
#define PAYLOADS_OWN_DIR_H

#include "engine/base.h"

#include <stdbool.h>

/*
 * Find where one is: below $XDG_..._HOME as `xdg` has it, or in `in_home` of HOME ("/.cache"),
 * under `name` ("sbinject"). false: there is neither variable, or the path is too long.
 */
bool own_dir_path(const char *xdg, const char *in_home, const char *name, char *path, size_t size);

/*
 * Open it; what is missing is made, 0700, but in directories of this user's only. -1: there is none
 * that will do. `path` is changed meanwhile, and restored.
 */
int own_dir_open(char *path) sb_must_check;

#endif
