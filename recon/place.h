/* SPDX-License-Identifier: MIT */
/*
 * Where a program can be put and run from, by the engine's records alone. The rules are those of
 * the archive API: docker works on the container's layers and volumes and sees no tmpfs; podman
 * enters the mount namespace, while the container runs.
 */
#ifndef RECON_PLACE_H
#define RECON_PLACE_H

#include "recon/recon.h"

/* Constant text: why a directory cannot be used, or NULL if it can. */
const char *recon_place_why_not(
	const struct eng_container *container, enum eng_kind engine, const char *dir);

/* The usual directories and all mounts, each once; returns how many. */
size_t recon_place_list(const struct eng_container *container, enum eng_kind engine,
	struct recon_place *ret, size_t max);

#endif
