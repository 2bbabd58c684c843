/* SPDX-License-Identifier: MIT */
#include "engine/race.h"

#include <stdio.h>
#include <string.h>

static const unsigned fixed[3] = {29, 5, 1};

/* Builds of older versions with the change put in. That of Debian comes with the package's revision
   -3, which no version tells; its day does. */
static const struct {
	const char *version, *since;
} patched[] = {
	{"28.5.2+dfsg4", "2026-06-23"},
};

/* A candidate for the first good release ("29.5.1-rc.1") is none yet. */
static bool is_fixed(const char *version)
{
	unsigned parts[3];
	int end = 0;

	if (sscanf(version, "%4u.%4u.%4u%n", &parts[0], &parts[1], &parts[2], &end) != 3)
		return sscanf(version, "%4u.%4u", &parts[0], &parts[1]) == 2 && parts[0] > fixed[0];
	for (size_t i = 0; i < SB_ARRAY_SIZE(fixed); i++)
		if (parts[i] != fixed[i])
			return parts[i] > fixed[i];
	return version[end] != '-';
}

bool eng_race_in_version(enum eng_kind kind, const char *version, const char **ret_since)
{
	*ret_since = NULL;
	if (kind != ENG_DOCKER || is_fixed(version))
		return false;
	for (size_t i = 0; i < SB_ARRAY_SIZE(patched); i++)
		if (!strcmp(version, patched[i].version))
			*ret_since = patched[i].since;
	return true;
}

bool eng_race_in_build(const char *since, const char *built)
{
	/* Days in this form are in the order of their text; what is no day counts as too old. */
	return !since || *built < '0' || *built > '9' || strncmp(built, since, strlen(since)) < 0;
}
