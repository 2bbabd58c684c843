/* SPDX-License-Identifier: MIT */
/*
 * Choosing the rule for a container: pure, no input or output.
 *
 * Of the rules whose tests all hold, the most specific one is chosen: the set of what it tests
 * (labels counted by key) strictly includes that of every other. Anything else is a tie, and an
 * error.
 */
#ifndef CONF_RULE_H
#define CONF_RULE_H

#include "conf/conf.h"

/* The one rule, borrowed from conf; NULL with *err filled (SB_UNSUPPORTED) for none and for a tie.
 */
const struct conf_rule *rule_match(
	const struct conf *conf, const struct sb_facts *facts, struct sb_err *err) sb_must_check;

/* Why a rule does or does not hold: the first test that fails, or NULL if all hold. */
const struct conf_test *rule_first_failed(
	const struct conf_rule *rule, const struct sb_facts *facts);

/*
 * Find two rules that could both match one container, where neither is more specific, and no third
 * rule is more specific than both for all such containers. Needs no container. `certain` when they
 * test the same things and share values of each, so that a container of those values matches both
 * (conf_parse refuses these). Two different globs, or two different families, may or may not have a
 * container in common: never certain. Iterates: start with *i = *j = 0; false at the end.
 */
bool rule_next_tie(const struct conf *conf, size_t *i, size_t *j, bool *certain);

/*
 * "os=linux arch=amd64|arm64 label.tier=gpu", for messages and --explain; "any container" when
 * nothing is tested. Adds to out.
 */
int rule_describe(
	const struct conf_rule *rule, struct sb_buf *out, struct sb_err *err) sb_must_check;

#endif
