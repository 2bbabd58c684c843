/* SPDX-License-Identifier: MIT */
#include "engine/facts.h"

#include "engine/text.h"

#include <string.h>

static const char *const names[SB_FACT_COUNT] = {
	[SB_FACT_OS] = "os",
	[SB_FACT_ARCH] = "arch",
	[SB_FACT_VARIANT] = "variant",
	[SB_FACT_LIBC] = "libc",
	[SB_FACT_LIBC_VERSION] = "libc_version",
	[SB_FACT_DISTRO] = "distro",
	[SB_FACT_VERSION] = "version",
	[SB_FACT_FAMILY] = "family",
	[SB_FACT_IMAGE] = "image",
	[SB_FACT_USER] = "user",
	[SB_FACT_CAPS] = "caps",
	[SB_FACT_ENGINE] = "engine",
	[SB_FACT_CLIENT] = "client",
	[SB_FACT_LABEL] = "label",
};

const char *sb_fact_name(enum sb_fact fact)
{
	return names[fact];
}

enum sb_fact sb_fact_by_name(const char *name)
{
	for (unsigned i = 0; i < SB_FACT_COUNT; i++)
		if (!strcmp(names[i], name))
			return i;
	return SB_FACT_COUNT;
}

void sb_fact_put(struct sb_facts *facts, enum sb_fact fact, const char *value)
{
	/* A part of a value must not match a rule. */
	size_t len = strlen(value) < SB_FACT_MAX ? strlen(value) : 0;

	sb_text_clean(facts->value[fact], sizeof(facts->value[fact]), value, len);
}
