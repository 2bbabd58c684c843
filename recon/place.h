/* SPDX-License-Identifier: MIT */
/*
 * Where a program can be put and run from, by the engine's records alone. The rules are those of
 * the archive API: docker works on the container's layers and volumes and sees no tmpfs; podman
 * enters the mount namespace, while the container runs.
 */
#ifndef RECON_PLACE_H
#define RECON_PLACE_H

#include "engine/engine.h"

/* A place that a payload could be put into, and why not. */
struct recon_place {
	const char *path; /* borrowed from the container */
	bool usable;
	const char *why; /* constant text: "tmpfs that the engine cannot reach", … */
};

/* Constant text: why a directory cannot be used, or NULL if it can. */
const char *recon_place_why_not(
	const struct eng_container *container, enum eng_kind engine, const char *dir);

/* The usual directories and all mounts, each once; returns how many. */
size_t recon_place_list(const struct eng_container *container, enum eng_kind engine,
	struct recon_place *ret, size_t max);

/*
 * The directory in which a payload's home can be made, decided from the engine's records alone (no
 * request): one of root's, or others could exchange the program before it is run. `shared`:
 * unprivileged processes inside could have put things there before us, so nothing found in it may
 * be trusted. Every tmpfs is shared, because no record has its mode.
 */
struct recon_home {
	const char *dir; /* constant: "/", "/run", "/tmp", … */
	bool shared;
	bool beyond; /* the archive API does not reach it: payloads/graft.h does */
};
int recon_home(const struct eng_container *container, enum eng_kind engine, struct recon_home *ret,
	struct sb_err *err) sb_must_check;

/* Is a mount that the engine lists at that path, or above it? */
bool recon_is_mounted(const struct eng_container *container, const char *path);

#endif
