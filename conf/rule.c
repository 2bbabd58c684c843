/* SPDX-License-Identifier: MIT */
#include "conf/rule.h"

#include "engine/json.h"
#include "engine/text.h"

#include <string.h>

/* How two tests of one thing relate: may one container pass both? */
enum overlap { NEVER, MAYBE, SURELY };

static bool is_glob_fact(enum sb_fact fact)
{
	return fact == SB_FACT_IMAGE || fact == SB_FACT_CLIENT;
}

static bool glob_matches(const char *glob, const char *text)
{
	const char *star = NULL, *resume = NULL;

	while (*text) {
		if (*glob == '*') {
			star = glob++;
			resume = text;
		} else if (*glob == *text) {
			glob++;
			text++;
		} else if (star) {
			glob = star + 1;
			text = ++resume;
		} else {
			return false;
		}
	}
	while (*glob == '*')
		glob++;
	return !*glob;
}

/* The container's value is several words, and one of them is enough. */
static bool is_word_fact(enum sb_fact fact)
{
	return fact == SB_FACT_FAMILY || fact == SB_FACT_CAPS;
}

static bool has_word(const char *words, const char *word)
{
	size_t len = strlen(word);

	while (*words) {
		size_t n = strcspn(words, " ");

		if (n == len && !memcmp(words, word, n))
			return true;
		words += n + strspn(words + n, " ");
	}
	return false;
}

static bool value_holds(enum sb_fact fact, const char *wanted, const char *actual)
{
	if (is_glob_fact(fact))
		return glob_matches(wanted, actual);
	if (is_word_fact(fact))
		return has_word(actual, wanted);
	return !strcmp(wanted, actual);
}

/* NULL: unknown. A label may be present and empty. */
static const char *actual_value(const struct conf_test *test, const struct sb_facts *facts)
{
	if (test->fact == SB_FACT_LABEL)
		return sb_json_text(json_object_get(facts->labels, test->label));
	return facts->value[test->fact][0] ? facts->value[test->fact] : NULL;
}

static bool test_holds(const struct conf_test *test, const struct sb_facts *facts)
{
	const char *actual = actual_value(test, facts);

	for (size_t i = 0; actual && i < test->count; i++)
		if (value_holds(test->fact, test->values[i], actual))
			return true;
	return false;
}

const struct conf_test *rule_first_failed(
	const struct conf_rule *rule, const struct sb_facts *facts)
{
	for (size_t i = 0; i < rule->count; i++)
		if (!test_holds(&rule->tests[i], facts))
			return &rule->tests[i];
	return NULL;
}

static bool same_thing(const struct conf_test *a, const struct conf_test *b)
{
	return a->fact == b->fact && (a->fact != SB_FACT_LABEL || !strcmp(a->label, b->label));
}

static const struct conf_test *find_test(const struct conf_rule *rule, const struct conf_test *like)
{
	for (size_t i = 0; i < rule->count; i++)
		if (same_thing(&rule->tests[i], like))
			return &rule->tests[i];
	return NULL;
}

static bool tests_all_of(const struct conf_rule *rule, const struct conf_rule *other)
{
	for (size_t i = 0; i < other->count; i++)
		if (!find_test(rule, &other->tests[i]))
			return false;
	return true;
}

/* No rule tests one thing twice, so that the counts tell strict inclusion. */
static bool is_more_specific(const struct conf_rule *rule, const struct conf_rule *other)
{
	return rule->count > other->count && tests_all_of(rule, other);
}

static bool is_beaten(
	const struct conf *conf, const struct conf_rule *rule, const struct sb_facts *facts)
{
	for (size_t i = 0; i < conf->rule_count; i++)
		if (is_more_specific(&conf->rules[i], rule) &&
			!rule_first_failed(&conf->rules[i], facts))
			return true;
	return false;
}

static int add_value(struct sb_buf *out, const char *value, struct sb_err *err)
{
	bool bare = *value && !strpbrk(value, " |\"");

	const char *quote = bare ? "" : "\"";

	return sb_buf_addf(out, err, "%s%s%s", quote, value, quote);
}

static int add_subject(
	struct sb_buf *out, const struct conf_test *test, bool first, struct sb_err *err)
{
	return sb_buf_addf(out, err, "%s%s%s%s=", first ? "" : " ", sb_fact_name(test->fact),
		test->label ? "." : "", test->label ? test->label : "");
}

static bool is_tested_before(const struct conf *conf, size_t rule, const struct conf_test *test)
{
	for (size_t i = 0; i < rule; i++)
		if (find_test(&conf->rules[i], test))
			return true;
	return false;
}

/* What the container has of all that any rule tests. */
static int describe_facts(const struct conf *conf, const struct sb_facts *facts, struct sb_buf *out,
	struct sb_err *err)
{
	for (size_t i = 0; i < conf->rule_count; i++) {
		const struct conf_rule *rule = &conf->rules[i];

		for (size_t k = 0; k < rule->count; k++) {
			const char *actual = actual_value(&rule->tests[k], facts);

			if (is_tested_before(conf, i, &rule->tests[k]))
				continue;
			if (add_subject(out, &rule->tests[k], out->len == 0, err) < 0 ||
				(actual ? add_value(out, actual, err)
					: sb_buf_adds(out, "(unknown)", err)) < 0)
				return -1;
		}
	}
	return out->len ? 0 : sb_buf_adds(out, "anything", err);
}

/* Always fills *err. `a` and `b` are NULL when no rule holds. */
static void explain(const struct conf *conf, const struct conf_rule *a, const struct conf_rule *b,
	const struct sb_facts *facts, struct sb_err *err)
{
	sb_autobuf struct sb_buf all = SB_BUF_INIT(SB_MAX_CONFIG);
	char seen[400];

	if (describe_facts(conf, facts, &all, err) < 0)
		return;
	sb_text_clean(seen, sizeof(seen), sb_buf_str(&all), all.len);
	if (!a)
		sb_err_set(err, SB_UNSUPPORTED, "no rule in '%s' matches %s; see 'sbinject rules'",
			conf->file, seen);
	else
		sb_err_set(err, SB_UNSUPPORTED,
			"rules '%s:%d:%d' and '%s:%d:%d' both match %s, and neither is more "
			"specific",
			conf->file, a->line, a->column, conf->file, b->line, b->column, seen);
}

const struct conf_rule *rule_match(
	const struct conf *conf, const struct sb_facts *facts, struct sb_err *err)
{
	const struct conf_rule *best = NULL;

	for (size_t i = 0; i < conf->rule_count; i++) {
		const struct conf_rule *rule = &conf->rules[i];

		if (rule_first_failed(rule, facts) || is_beaten(conf, rule, facts))
			continue;
		if (best) {
			explain(conf, best, rule, facts, err);
			return NULL;
		}
		best = rule;
	}
	if (!best)
		explain(conf, NULL, NULL, facts, err);
	return best;
}

static const char *suffix_of(const char *glob)
{
	const char *star = strrchr(glob, '*');

	return star ? star + 1 : glob;
}

/* Two globs have a text in common if the texts before the first and after the last star agree. */
static bool globs_meet(const char *a, const char *b)
{
	size_t a_head = strcspn(a, "*"), b_head = strcspn(b, "*");
	const char *a_tail = suffix_of(a), *b_tail = suffix_of(b);
	size_t head = a_head < b_head ? a_head : b_head;
	size_t a_len = strlen(a_tail), b_len = strlen(b_tail);
	size_t tail = a_len < b_len ? a_len : b_len;

	return !memcmp(a, b, head) && !memcmp(a_tail + a_len - tail, b_tail + b_len - tail, tail);
}

static enum overlap overlap_of_values(enum sb_fact fact, const char *a, const char *b)
{
	if (!strcmp(a, b))
		return SURELY;
	if (is_word_fact(fact))
		return MAYBE;
	if (!is_glob_fact(fact))
		return NEVER;
	if (!strchr(a, '*'))
		return glob_matches(b, a) ? SURELY : NEVER;
	if (!strchr(b, '*'))
		return glob_matches(a, b) ? SURELY : NEVER;
	return globs_meet(a, b) ? MAYBE : NEVER;
}

static enum overlap overlap_of_tests(const struct conf_test *a, const struct conf_test *b)
{
	enum overlap most = NEVER;

	for (size_t i = 0; i < a->count && most < SURELY; i++)
		for (size_t k = 0; k < b->count && most < SURELY; k++) {
			enum overlap o = overlap_of_values(a->fact, a->values[i], b->values[k]);

			most = o > most ? o : most;
		}
	return most;
}

static enum overlap overlap_of_rules(const struct conf_rule *a, const struct conf_rule *b)
{
	enum overlap least = SURELY;

	for (size_t i = 0; i < a->count && least > NEVER; i++) {
		const struct conf_test *other = find_test(b, &a->tests[i]);
		enum overlap o = other ? overlap_of_tests(&a->tests[i], other) : SURELY;

		least = o < least ? o : least;
	}
	return least;
}

/* Does every container that passes `narrow` pass `wide`? May say no when it cannot tell. */
static bool accepts_all_of(const struct conf_test *wide, const struct conf_test *narrow)
{
	for (size_t i = 0; i < narrow->count; i++) {
		bool found = false;

		for (size_t k = 0; k < wide->count && !found; k++)
			found = value_holds(wide->fact, wide->values[k], narrow->values[i]);
		if (!found)
			return false;
	}
	return true;
}

/* A rule that takes whatever both match, being more specific than either. */
static bool is_settled_by(
	const struct conf_rule *third, const struct conf_rule *a, const struct conf_rule *b)
{
	if (!is_more_specific(third, a) || !is_more_specific(third, b))
		return false;
	for (size_t i = 0; i < third->count; i++) {
		const struct conf_test *test = &third->tests[i];
		const struct conf_test *in_a = find_test(a, test), *in_b = find_test(b, test);

		if (!(in_a && accepts_all_of(test, in_a)) && !(in_b && accepts_all_of(test, in_b)))
			return false;
	}
	return true;
}

static bool is_settled(
	const struct conf *conf, const struct conf_rule *a, const struct conf_rule *b)
{
	for (size_t i = 0; i < conf->rule_count; i++)
		if (is_settled_by(&conf->rules[i], a, b))
			return true;
	return false;
}

static bool is_tie(const struct conf *conf, const struct conf_rule *a, const struct conf_rule *b,
	bool *certain)
{
	enum overlap overlap;

	if (is_more_specific(a, b) || is_more_specific(b, a))
		return false;
	overlap = overlap_of_rules(a, b);
	*certain = overlap == SURELY && a->count == b->count && tests_all_of(a, b);
	return *certain || (overlap != NEVER && !is_settled(conf, a, b));
}

bool rule_next_tie(const struct conf *conf, size_t *i, size_t *j, bool *certain)
{
	size_t a = *i, b = *j + 1;

	for (; a < conf->rule_count; a++, b = a + 1)
		for (; b < conf->rule_count; b++)
			if (is_tie(conf, &conf->rules[a], &conf->rules[b], certain)) {
				*i = a;
				*j = b;
				return true;
			}
	return false;
}

int rule_describe(const struct conf_rule *rule, struct sb_buf *out, struct sb_err *err)
{
	if (rule->count == 0)
		return sb_buf_adds(out, "any container", err);
	for (size_t i = 0; i < rule->count; i++) {
		const struct conf_test *test = &rule->tests[i];

		if (add_subject(out, test, i == 0, err) < 0)
			return -1;
		for (size_t k = 0; k < test->count; k++)
			if ((k && sb_buf_adds(out, "|", err) < 0) ||
				add_value(out, test->values[k], err) < 0)
				return -1;
	}
	return 0;
}
