/* SPDX-License-Identifier: MIT */
/* Any bytes as a rules file: an error with a place, or rules that can be matched and described. */
#include "conf/rule.h"

#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(int holds)
{
	if (!holds)
		abort();
}

static void use(const struct conf *conf)
{
	sb_autobuf struct sb_buf text = SB_BUF_INIT(SB_MAX_CONFIG);
	struct sb_err err = SB_ERR_INIT;
	struct sb_facts facts = {0};
	size_t i = 0, j = 0;
	bool certain;

	check(conf->path && conf->path[0] == '/' && conf->start && conf->start[0]);
	check(conf->payload_count && conf->rule_count);
	for (size_t k = 0; k < conf->rule_count; k++) {
		check(conf->rules[k].use != NULL);
		check(rule_describe(&conf->rules[k], &text, &err) == 0);
	}
	while (rule_next_tie(conf, &i, &j, &certain))
		check(i < j && j < conf->rule_count && !certain);
	for (unsigned f = 0; f < SB_FACT_LABEL; f++)
		if (conf_facts(conf) & 1u << f)
			sb_fact_put(&facts, f, "linux amd64");
	check(rule_match(conf, &facts, &err) ? err.code == SB_OK : err.code == SB_UNSUPPORTED);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	sb_auto(conf_freep) struct conf *conf = NULL;
	struct sb_err err = SB_ERR_INIT;
	const char *text = size ? (const char *)data : "";

	if (conf_parse(text, size, "f", "/d", &conf, &err) == 0)
		use(conf);
	else
		check(err.code == SB_USAGE && !strncmp(err.text, "f:", 2) && err.text[2] != '0');
	return 0;
}
