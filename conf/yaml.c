/* SPDX-License-Identifier: MIT */
#include "conf/yaml.h"

#include "engine/text.h"

#include <yaml.h>

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

struct builder {
	yaml_parser_t parser;
	const char *name;
	struct sb_err *err;
	struct yml_node *root;
	struct yml_node *open[YML_MAX_DEPTH]; /* lists and mappings not yet closed */
	size_t depth, nodes;
	char *key; /* read, waiting for its value */
	struct yml_pos key_at;
	bool seen_document, at_end;
};

int yml_error(struct sb_err *err, const char *name, struct yml_pos at, const char *fmt, ...)
{
	char what[2 * sizeof(err->text)];
	va_list args;

	va_start(args, fmt);
	vsnprintf(what, sizeof(what), fmt, args);
	va_end(args);
	return sb_err_set(err, SB_USAGE, "%s:%d:%d: %s", name, at.line, at.column, what);
}

void yml_free(struct yml_node *node)
{
	while (node) {
		struct yml_node *next = node->next;

		yml_free(node->first);
		free(node->key);
		free(node->text);
		free(node);
		node = next;
	}
}

void yml_freep(struct yml_node **node)
{
	yml_free(*node);
}

const struct yml_node *yml_get(const struct yml_node *mapping, const char *key)
{
	for (const struct yml_node *n = mapping->first; n; n = n->next)
		if (!strcmp(n->key, key))
			return n;
	return NULL;
}

static struct yml_pos pos_of(const yaml_mark_t *mark)
{
	return (struct yml_pos){(int)mark->line + 1, (int)mark->column + 1};
}

static struct yml_pos pos_at_offset(const char *text, size_t offset)
{
	struct yml_pos at = {1, 1};

	for (size_t i = 0; i < offset; i++) {
		if (text[i] == '\n')
			at = (struct yml_pos){at.line + 1, 1};
		else if ((text[i] & 0xc0) != 0x80)
			at.column++;
	}
	return at;
}

static struct yml_node *parent_of(const struct builder *b)
{
	return b->depth ? b->open[b->depth - 1] : NULL;
}

static bool wants_key(const struct builder *b)
{
	const struct yml_node *parent = parent_of(b);

	return parent && parent->kind == YML_MAPPING && !b->key;
}

static int refuse_extras(struct builder *b, struct yml_pos at, const void *anchor, const void *tag)
{
	if (anchor)
		return yml_error(b->err, b->name, at, "anchors are not supported");
	if (tag)
		return yml_error(b->err, b->name, at, "tags are not supported");
	return 0;
}

/* Append a new node where the parser stands. Borrowed by the caller. */
static struct yml_node *add_node(struct builder *b, enum yml_kind kind, struct yml_pos at)
{
	struct yml_node *parent = parent_of(b);
	struct yml_node *node;

	if (++b->nodes > YML_MAX_NODES) {
		yml_error(b->err, b->name, at, "more than %d values", YML_MAX_NODES);
		return NULL;
	}
	node = calloc(1, sizeof(*node));
	if (!node) {
		sb_err_nomem(b->err);
		return NULL;
	}
	node->kind = kind;
	node->at = at;
	node->key = sb_steal(b->key);
	node->key_at = b->key_at;
	if (!parent) {
		b->root = node;
		return node;
	}
	if (parent->last)
		parent->last->next = node;
	else
		parent->first = node;
	parent->last = node;
	parent->count++;
	return node;
}

static int check_text(struct builder *b, struct yml_pos at, const char *text, size_t len)
{
	for (size_t i = 0; i < len;) {
		size_t n = sb_text_char(text + i, len - i);

		if (n == 0)
			return yml_error(b->err, b->name, at,
				"unprintable character in a string (byte 0x%02x)",
				(unsigned char)text[i]);
		i += n;
	}
	return 0;
}

static int add_key(struct builder *b, struct yml_pos at, const char *text)
{
	const struct yml_node *twin = yml_get(parent_of(b), text);

	if (!*text)
		return yml_error(b->err, b->name, at, "empty key");
	if (twin)
		return yml_error(b->err, b->name, at, "duplicate key '%s', first on line %d", text,
			twin->key_at.line);
	b->key = strdup(text);
	if (!b->key)
		return sb_err_nomem(b->err);
	b->key_at = at;
	return 0;
}

static bool is_null(const char *text)
{
	static const char *const nulls[] = {"", "~", "null", "Null", "NULL"};

	for (size_t i = 0; i < SB_ARRAY_SIZE(nulls); i++)
		if (!strcmp(text, nulls[i]))
			return true;
	return false;
}

static int no_value(struct builder *b, struct yml_pos at)
{
	if (b->key)
		return yml_error(b->err, b->name, b->key_at, "'%s' has no value", b->key);
	return yml_error(
		b->err, b->name, at, b->depth ? "an item has no value" : "the file is empty");
}

static int on_scalar(struct builder *b, const yaml_event_t *event)
{
	const char *text = (const char *)event->data.scalar.value;
	bool plain = event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
	struct yml_pos at = pos_of(&event->start_mark);
	struct yml_node *node;

	if (refuse_extras(b, at, event->data.scalar.anchor, event->data.scalar.tag) < 0 ||
		check_text(b, at, text, event->data.scalar.length) < 0)
		return -1;
	if (wants_key(b))
		return add_key(b, at, text);
	if (plain && is_null(text))
		return no_value(b, at);
	node = add_node(b, YML_TEXT, at);
	if (!node)
		return -1;
	node->text = strdup(text);
	return node->text ? 0 : sb_err_nomem(b->err);
}

static int open_node(struct builder *b, enum yml_kind kind, struct yml_pos at)
{
	struct yml_node *node;

	if (wants_key(b))
		return yml_error(b->err, b->name, at, "a key must be a string");
	if (b->depth == YML_MAX_DEPTH)
		return yml_error(
			b->err, b->name, at, "nested more than %d levels deep", YML_MAX_DEPTH);
	node = add_node(b, kind, at);
	if (!node)
		return -1;
	b->open[b->depth++] = node;
	return 0;
}

static int on_list(struct builder *b, const yaml_event_t *event)
{
	struct yml_pos at = pos_of(&event->start_mark);

	if (refuse_extras(
		    b, at, event->data.sequence_start.anchor, event->data.sequence_start.tag) < 0)
		return -1;
	return open_node(b, YML_LIST, at);
}

static int on_mapping(struct builder *b, const yaml_event_t *event)
{
	struct yml_pos at = pos_of(&event->start_mark);

	if (refuse_extras(b, at, event->data.mapping_start.anchor, event->data.mapping_start.tag) <
		0)
		return -1;
	return open_node(b, YML_MAPPING, at);
}

static int on_close(struct builder *b, const yaml_event_t *event)
{
	(void)event;
	b->depth--;
	return 0;
}

/* What was meant is nearly always a pattern such as *:latest. */
static int fail_alias(struct builder *b, const yaml_mark_t *mark)
{
	return yml_error(
		b->err, b->name, pos_of(mark), "a string that begins with '*' needs quotes");
}

static int on_alias(struct builder *b, const yaml_event_t *event)
{
	return fail_alias(b, &event->start_mark);
}

static int on_document(struct builder *b, const yaml_event_t *event)
{
	struct yml_pos at = pos_of(&event->start_mark);

	if (b->seen_document)
		return yml_error(b->err, b->name, at, "more than one document");
	if (event->data.document_start.version_directive ||
		event->data.document_start.tag_directives.start !=
			event->data.document_start.tag_directives.end)
		return yml_error(b->err, b->name, at, "directives are not supported");
	b->seen_document = true;
	return 0;
}

static int on_end(struct builder *b, const yaml_event_t *event)
{
	(void)event;
	b->at_end = true;
	if (!b->root)
		return yml_error(b->err, b->name, (struct yml_pos){1, 1}, "the file is empty");
	return 0;
}

static int (*const handlers[])(struct builder *, const yaml_event_t *) = {
	[YAML_STREAM_END_EVENT] = on_end,
	[YAML_DOCUMENT_START_EVENT] = on_document,
	[YAML_ALIAS_EVENT] = on_alias,
	[YAML_SCALAR_EVENT] = on_scalar,
	[YAML_SEQUENCE_START_EVENT] = on_list,
	[YAML_SEQUENCE_END_EVENT] = on_close,
	[YAML_MAPPING_START_EVENT] = on_mapping,
	[YAML_MAPPING_END_EVENT] = on_close,
};

static int syntax_error(struct builder *b, const char *text)
{
	const yaml_parser_t *p = &b->parser;
	const char *problem = p->problem ? p->problem : "not YAML";

	if (p->error == YAML_MEMORY_ERROR)
		return sb_err_nomem(b->err);
	if (p->error == YAML_READER_ERROR)
		return yml_error(
			b->err, b->name, pos_at_offset(text, p->problem_offset), "%s", problem);
	if (p->context && !strcmp(p->context, "while scanning an alias"))
		return fail_alias(b, &p->context_mark);
	return yml_error(b->err, b->name, pos_of(&p->problem_mark), "%s%s%s", problem,
		p->context ? " " : "", p->context ? p->context : "");
}

static int build(struct builder *b, const char *text)
{
	while (!b->at_end) {
		yaml_event_t event;
		int ret = 0;

		if (!yaml_parser_parse(&b->parser, &event))
			return syntax_error(b, text);
		if (event.type < SB_ARRAY_SIZE(handlers) && handlers[event.type])
			ret = handlers[event.type](b, &event);
		yaml_event_delete(&event);
		if (ret < 0)
			return -1;
	}
	return 0;
}

int yml_parse(
	const char *text, size_t len, const char *name, struct yml_node **ret, struct sb_err *err)
{
	static const char bom[] = "\xef\xbb\xbf";
	struct builder b = {.name = name, .err = err};
	int failed;

	if (len > SB_MAX_CONFIG)
		return sb_err_set(err, SB_USAGE, "%s: larger than the permitted %d bytes", name,
			SB_MAX_CONFIG);
	if (len >= sizeof(bom) - 1 && !memcmp(text, bom, sizeof(bom) - 1)) {
		text += sizeof(bom) - 1;
		len -= sizeof(bom) - 1;
	}
	if (!yaml_parser_initialize(&b.parser))
		return sb_err_nomem(err);
	/* Set, not guessed: UTF-16 would be decoded otherwise. */
	yaml_parser_set_encoding(&b.parser, YAML_UTF8_ENCODING);
	yaml_parser_set_input_string(&b.parser, (const unsigned char *)text, len);
	failed = build(&b, text);
	yaml_parser_delete(&b.parser);
	free(b.key);
	if (failed)
		yml_free(b.root);
	else
		*ret = b.root;
	return failed;
}
