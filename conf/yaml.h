/* SPDX-License-Identifier: MIT */
/*
 * The part of YAML that a rules file is written in, as a small tree: strings, lists and mappings,
 * each with its place. It interprets nothing: `12`, `on` and `0x1f` are strings. What makes YAML
 * surprising is refused: anchors, aliases, tags, directives, several documents, duplicate keys,
 * keys that are not strings, values that are missing or null, and unprintable characters.
 */
#ifndef CONF_YAML_H
#define CONF_YAML_H

#include "engine/err.h"

enum { YML_MAX_DEPTH = 16, YML_MAX_NODES = 10000 };

enum yml_kind { YML_TEXT, YML_LIST, YML_MAPPING };

/* A place in a file, both numbers from 1; columns are counted in characters. */
struct yml_pos {
	int line, column;
};

struct yml_node {
	enum yml_kind kind;
	struct yml_pos at;
	char *key; /* in a mapping, else NULL */
	struct yml_pos key_at;
	char *text; /* YML_TEXT, never NULL, "" only when quoted */
	struct yml_node *first, *last, *next;
	size_t count; /* of children */
};

/*
 * Parse one document of up to SB_MAX_CONFIG bytes of UTF-8. `name` stands in messages. Errors are
 * SB_USAGE and read "name:line:column: what"; no memory is SB_FAILED.
 */
int yml_parse(const char *text, size_t len, const char *name, struct yml_node **ret,
	struct sb_err *err) sb_must_check;

void yml_free(struct yml_node *node);
void yml_freep(struct yml_node **node);

/* The value of a key of a mapping, or NULL. */
const struct yml_node *yml_get(const struct yml_node *mapping, const char *key);

/* Fill *err with "name:line:column: what" and SB_USAGE; returns -1. */
int yml_error(struct sb_err *err, const char *name, struct yml_pos at, const char *fmt, ...)
	sb_printf(4, 5);

#endif
