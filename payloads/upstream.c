/* SPDX-License-Identifier: MIT */
#include "payloads/upstream.h"

#include <string.h>

static const struct upstream table[] = {
#include "upstream.inc"
};

size_t upstream_count(void)
{
	return SB_ARRAY_SIZE(table);
}

const struct upstream *upstream_at(size_t i)
{
	return &table[i];
}

const struct upstream *upstream_by_name(const char *name)
{
	for (size_t i = 0; i < SB_ARRAY_SIZE(table); i++)
		if (!strcmp(table[i].name, name))
			return &table[i];
	return NULL;
}

const struct upstream *upstream_by_sha256(const char *sha256)
{
	for (size_t i = 0; i < SB_ARRAY_SIZE(table); i++)
		if (!strcmp(table[i].sha256, sha256))
			return &table[i];
	return NULL;
}

const struct upstream *upstream_for(const struct host *host, const char *arch, const char *libc)
{
	for (size_t i = 0; i < SB_ARRAY_SIZE(table); i++)
		if (table[i].number == host->number && !strcmp(table[i].arch, arch) &&
			!strcmp(table[i].libc, libc))
			return &table[i];
	return NULL;
}
