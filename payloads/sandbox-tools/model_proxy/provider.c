/* SPDX-License-Identifier: MIT */
/* What providers look up. */
#include "payloads/sandbox-tools/model_proxy/provider.h"

#include <stddef.h>

const char *provider_word(const struct provider_word *table, int status)
{
	while (table->first && (status < table->first || status > table->last))
		table++;
	return table->word;
}
