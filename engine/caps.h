/* SPDX-License-Identifier: MIT */
/* Capabilities (see capabilities(7)), as a set of bits with the kernel's numbers. Pure. */
#ifndef ENGINE_CAPS_H
#define ENGINE_CAPS_H

#include "engine/base.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

/* Which engine's default it is that is added to and taken from. */
enum eng_caps_default { ENG_CAPS_DOCKER, ENG_CAPS_PODMAN };

/*
 * What root gets in a container: a privileged one's gets all; else CapAdd and CapDrop of the
 * engine's records are applied to the default. Of Podman's defaults it is the smallest one, as
 * containers.conf can change it and no record says so.
 */
uint64_t eng_caps_of_root(
	enum eng_caps_default which, bool privileged, const json_t *add, const json_t *drop);

/* Those that Docker 20.10 knows: "all" are no more there. */
#define ENG_CAPS_DOCKER_20 ((UINT64_C(1) << 38) - 1)

/* Whether with these a process of root can become any other user. */
bool eng_caps_can_switch(uint64_t caps);

/* "chown setgid setuid", or "none". */
enum { ENG_CAPS_TEXT_SIZE = 512 };
void eng_caps_describe(uint64_t caps, char ret[ENG_CAPS_TEXT_SIZE]);

/* Whether eng_caps_describe uses that word. */
bool eng_caps_is_word(const char *word);

#endif
