/* SPDX-License-Identifier: MIT */
/*
 * Which engines have the race of the archive API (CVE-2026-41568, CVE-2026-42306): for each request
 * Docker sets up the mounts of the container on the host, by paths that a process inside can
 * exchange at that moment, and a volume of the container then stays mounted over a directory of the
 * host. Decided by version and build date alone; makes no request.
 */
#ifndef ENGINE_RACE_H
#define ENGINE_RACE_H

#include "engine/engine.h"

/*
 * Whether an engine of that version may have it; true for "" (unknown), too. *ret_since: builds of
 * this version from that day on ("2026-06-23") do not have it; NULL: all of them do.
 */
bool eng_race_in_version(enum eng_kind kind, const char *version, const char **ret_since);

/* Whether one that was built then ("2026-09-15T11:02:57…"; "" is not known) still has it. */
bool eng_race_in_build(const char *since, const char *built);

#endif
