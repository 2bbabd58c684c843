/* SPDX-License-Identifier: MIT */
/* Which paths of a container a rules file may name. Pure: looks at the text only. */
#ifndef CONF_PATH_H
#define CONF_PATH_H

#include "engine/base.h"

#include <stdbool.h>

enum path_role {
	PATH_HOME, /* install.path: its directory becomes private to root */
	PATH_LINK, /* one of install.links */
	PATH_TREE, /* a tree's directory */
};

/* Why a path cannot have that role (constant text), or NULL. */
const char *path_unfit(const char *path, enum path_role role);

/* Why a path cannot be one inside of a directory (constant text), or NULL. */
const char *path_unfit_inside(const char *path);

/* Both the same, or one below the other. */
bool path_overlaps(const char *a, const char *b);

#endif
