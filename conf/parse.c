/* SPDX-License-Identifier: MIT */
#include "conf/conf.h"

#include "conf/path.h"
#include "conf/rule.h"
#include "conf/yaml.h"
#include "engine/caps.h"
#include "engine/text.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

enum {
	MAX_PAYLOADS = 64,
	MAX_RULES = 256,
	MAX_LINKS = 16,
	MAX_START = 8,
	MAX_NAME = 64,
	MAX_VALUE = 255,
};

const char conf_default_path[] = "/var/tmp/.da7be258e003d428/inspect-sandbox-tools";
static const char default_start[] = "start-server";

struct reader {
	const char *name;
	const char *dir;
	struct conf *conf;
	struct sb_err *err;
};

/* A key of a mapping. Handlers run in the order of the table, not of the file. */
struct field {
	const char *name;
	enum yml_kind kind;
	bool required;
	int (*read)(const struct reader *r, const struct yml_node *node, void *into);
};

#define fail(r, at, ...) yml_error((r)->err, (r)->name, at, __VA_ARGS__)

static const char *const kind_names[] = {
	[YML_TEXT] = "a string",
	[YML_LIST] = "a list",
	[YML_MAPPING] = "a mapping",
};

static int need_kind(
	const struct reader *r, const struct yml_node *node, enum yml_kind kind, const char *what)
{
	if (node->kind == kind)
		return 0;
	return fail(r, node->at, "%s must be %s, not %s", what, kind_names[kind],
		kind_names[node->kind]);
}

static int unknown_key(const struct reader *r, const struct yml_node *node,
	const struct field *fields, size_t count)
{
	char known[256] = "";
	size_t len = 0;

	for (size_t i = 0; i < count; i++)
		len += (size_t)snprintf(
			known + len, sizeof(known) - len, "%s%s", i ? ", " : "", fields[i].name);
	return fail(r, node->key_at, "unknown key '%s'; known keys: %s", node->key, known);
}

static int check_keys(const struct reader *r, const struct yml_node *map,
	const struct field *fields, size_t count)
{
	for (const struct yml_node *node = map->first; node; node = node->next) {
		size_t i = 0;

		while (i < count && strcmp(fields[i].name, node->key) != 0)
			i++;
		if (i == count)
			return unknown_key(r, node, fields, count);
	}
	return 0;
}

static int read_fields(const struct reader *r, const struct yml_node *map,
	const struct field *fields, size_t count, const char *what, void *into)
{
	if (need_kind(r, map, YML_MAPPING, what) < 0 || check_keys(r, map, fields, count) < 0)
		return -1;
	for (size_t i = 0; i < count; i++) {
		const struct yml_node *node = yml_get(map, fields[i].name);
		char quoted[32];

		if (!node && fields[i].required)
			return fail(r, map->at, "%s needs the key '%s'", what, fields[i].name);
		if (!node)
			continue;
		snprintf(quoted, sizeof(quoted), "'%s'", fields[i].name);
		if (need_kind(r, node, fields[i].kind, quoted) < 0 ||
			fields[i].read(r, node, into) < 0)
			return -1;
	}
	return 0;
}

static int copy_text(const struct reader *r, const char *text, char **into)
{
	*into = strdup(text);
	return *into ? 0 : sb_err_nomem(r->err);
}

/* A list of texts, or one text as a list of one; NULL-terminated. */
static int copy_texts(const struct reader *r, const struct yml_node *node, char ***into)
{
	const struct yml_node *item = node->kind == YML_LIST ? node->first : node;
	size_t count = node->kind == YML_LIST ? node->count : 1;

	*into = calloc(count + 1, sizeof(**into));
	if (!*into)
		return sb_err_nomem(r->err);
	for (size_t i = 0; i < count; i++, item = item->next) {
		if (need_kind(r, item, YML_TEXT, "an item") < 0 ||
			copy_text(r, item->text, &(*into)[i]) < 0)
			return -1;
	}
	return 0;
}

static int need_count(
	const struct reader *r, const struct yml_node *node, size_t least, size_t most)
{
	if (node->count < least)
		return fail(r, node->at, "'%s' is empty", node->key);
	if (node->count > most)
		return fail(r, node->at, "'%s' has %zu items; at most %zu are allowed", node->key,
			node->count, most);
	return 0;
}

static int read_version(const struct reader *r, const struct yml_node *node, void *into)
{
	(void)into;
	if (strcmp(node->text, "1") != 0)
		return fail(r, node->at,
			"version '%s' is not supported; this sbinject reads "
			"version 1",
			node->text);
	return 0;
}

static const char *const source_names[] = {[CONF_EMBEDDED] = "embedded",
	[CONF_FILE] = "file",
	[CONF_STORE] = "store",
	[CONF_UPSTREAM] = "upstream"};

static int read_source(const struct reader *r, const struct yml_node *node, void *into)
{
	struct conf_payload *payload = into;

	for (unsigned i = 0; i < SB_ARRAY_SIZE(source_names); i++)
		if (!strcmp(node->text, source_names[i])) {
			payload->source = i;
			payload->format = i == CONF_UPSTREAM ? CONF_TREE : CONF_PROGRAM;
			return 0;
		}
	return fail(r, node->at,
		"unknown source '%s'; known sources: embedded, file, store, upstream", node->text);
}

static int read_payload_path(const struct reader *r, const struct yml_node *node, void *into)
{
	struct conf_payload *payload = into;
	sb_autobuf struct sb_buf path = SB_BUF_INIT(PATH_MAX - 1);

	if (payload->source != CONF_FILE)
		return fail(r, node->key_at, "'path' needs 'source: file'");
	if (!*node->text)
		return fail(r, node->at, "'path' is empty");
	if (*node->text != '/' && !r->dir)
		return fail(r, node->at, "'%s' is not an absolute path", node->text);
	if (strlen(node->text) + (r->dir ? strlen(r->dir) : 0) + 1 > path.max)
		return fail(r, node->at, "the path is too long");
	if (*node->text != '/' && sb_buf_addf(&path, r->err, "%s/", r->dir) < 0)
		return -1;
	if (sb_buf_adds(&path, node->text, r->err) < 0)
		return -1;
	return copy_text(r, sb_buf_str(&path), &payload->path);
}

static int read_sha256(const struct reader *r, const struct yml_node *node, void *into)
{
	struct conf_payload *payload = into;

	if (!sb_is_hex64(node->text))
		return fail(r, node->at, "'sha256' must be 64 lowercase hexadecimal digits");
	strcpy(payload->sha256, node->text);
	return 0;
}

static int need_tree(
	const struct reader *r, const struct yml_node *node, const struct conf_payload *payload)
{
	if (payload->format == CONF_TREE)
		return 0;
	return fail(r, node->key_at, "'%s' needs 'format: tar'", node->key);
}

static int read_tree(const struct reader *r, const struct yml_node *node, void *into)
{
	struct conf_payload *payload = into;

	if (need_tree(r, node, payload) < 0)
		return -1;
	if (!sb_is_hex64(node->text))
		return fail(r, node->at, "'tree' must be 64 lowercase hexadecimal digits");
	strcpy(payload->tree, node->text);
	return 0;
}

static int read_format(const struct reader *r, const struct yml_node *node, void *into)
{
	struct conf_payload *payload = into;

	if (strcmp(node->text, "binary") != 0 && strcmp(node->text, "tar") != 0)
		return fail(
			r, node->at, "unknown format '%s'; known formats: binary, tar", node->text);
	payload->format = *node->text == 't' ? CONF_TREE : CONF_PROGRAM;
	if (payload->format == CONF_PROGRAM && payload->source == CONF_UPSTREAM)
		return fail(r, node->at, "'source: upstream' has trees only; leave 'format' out");
	if (payload->format == CONF_TREE && payload->source == CONF_EMBEDDED)
		return fail(r, node->at, "no archive is embedded; use 'source: file'");
	return 0;
}

static int read_payload_install(const struct reader *r, const struct yml_node *node, void *into)
{
	struct conf_payload *payload = into;
	const char *why = path_unfit(node->text, PATH_TREE);

	if (need_tree(r, node, payload) < 0)
		return -1;
	if (why)
		return fail(r, node->at, "'%s' cannot be a tree's directory: %s", node->text, why);
	return copy_text(r, node->text, &payload->install);
}

static int read_launcher(const struct reader *r, const struct yml_node *node, void *into)
{
	struct conf_payload *payload = into;
	const char *why = path_unfit_inside(node->text);

	if (need_tree(r, node, payload) < 0)
		return -1;
	if (why)
		return fail(r, node->at, "'%s' cannot be the launcher: %s", node->text, why);
	return copy_text(r, node->text, &payload->launcher);
}

static const struct field payload_fields[] = {
	{"source", YML_TEXT, true, read_source},
	{"path", YML_TEXT, false, read_payload_path},
	{"sha256", YML_TEXT, false, read_sha256},
	{"format", YML_TEXT, false, read_format},
	{"tree", YML_TEXT, false, read_tree},
	{"install", YML_TEXT, false, read_payload_install},
	{"launcher", YML_TEXT, false, read_launcher},
};

static bool is_name(const char *text)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "0123456789._-";
	size_t len = strspn(text, letters);

	return len && len <= MAX_NAME && !text[len] && !strchr("._-", *text);
}

static bool is_embedded_name(const char *text)
{
	static const char prefix[] = "tools-";
	size_t n = sizeof(prefix) - 1;

	return !strncmp(text, prefix, n) && text[n] &&
	       !text[n + strspn(text + n, "abcdefghijklmnopqrstuvwxyz0123456789")];
}

/* What the keys need of each other. */
static int check_payload(const struct reader *r, const struct yml_node *node,
	const struct conf_payload *payload, const char *what)
{
	if (payload->source == CONF_EMBEDDED || payload->source == CONF_UPSTREAM)
		return 0;
	if (payload->source == CONF_FILE && !payload->path)
		return fail(r, node->at, "%s is from a file and needs the key 'path'", what);
	if (!*payload->sha256)
		return fail(r, node->at, "%s is not embedded and needs the key 'sha256'", what);
	if (payload->source == CONF_STORE && payload->format != CONF_TREE)
		return fail(r, node->at, "%s is from the store and needs 'format: tar'", what);
	if (payload->format == CONF_TREE && !*payload->tree)
		return fail(r, node->at,
			"%s is a tree and needs the key 'tree'; 'sbinject payloads --describe FILE' "
			"prints it",
			what);
	return 0;
}

static int read_payload(
	const struct reader *r, const struct yml_node *node, struct conf_payload *payload)
{
	char what[MAX_NAME + 16];

	if (!is_name(node->key))
		return fail(r, node->key_at,
			"a payload's name must be up to %d of a-z, A-Z, 0-9, '.', '_' and '-', "
			"and begin with a letter or digit",
			MAX_NAME);
	snprintf(what, sizeof(what), "payload '%s'", node->key);
	payload->line = node->key_at.line;
	payload->column = node->key_at.column;
	if (copy_text(r, node->key, &payload->name) < 0 ||
		read_fields(r, node, payload_fields, SB_ARRAY_SIZE(payload_fields), what, payload) <
			0)
		return -1;
	if (payload->source == CONF_EMBEDDED && !is_embedded_name(node->key))
		return fail(r, node->key_at,
			"an embedded payload must be named 'tools-<arch>', not '%s'", node->key);
	if (payload->source == CONF_UPSTREAM && !payload->launcher &&
		copy_text(r, strrchr(conf_default_path, '/') + 1, &payload->launcher) < 0)
		return -1;
	return check_payload(r, node, payload, what);
}

static int read_payloads(const struct reader *r, const struct yml_node *node, void *into)
{
	struct conf *conf = into;

	if (need_count(r, node, 1, MAX_PAYLOADS) < 0)
		return -1;
	conf->payloads = calloc(node->count, sizeof(*conf->payloads));
	if (!conf->payloads)
		return sb_err_nomem(r->err);
	for (const struct yml_node *item = node->first; item; item = item->next)
		if (read_payload(r, item, &conf->payloads[conf->payload_count++]) < 0)
			return -1;
	return 0;
}

static int read_install_path(const struct reader *r, const struct yml_node *node, void *into)
{
	struct conf *conf = into;
	const char *why = path_unfit(node->text, PATH_HOME);

	if (why)
		return fail(r, node->at, "'%s' cannot be the path: %s", node->text, why);
	return copy_text(r, node->text, &conf->path);
}

static int check_link(
	const struct reader *r, const struct yml_node *list, const struct yml_node *item)
{
	const char *path = r->conf->path ? r->conf->path : conf_default_path;
	const char *why;

	if (need_kind(r, item, YML_TEXT, "an item") < 0)
		return -1;
	why = path_unfit(item->text, PATH_LINK);
	if (why)
		return fail(r, item->at, "'%s' cannot be a link: %s", item->text, why);
	if (path_overlaps(item->text, path))
		return fail(r, item->at, "the link '%s' overlaps the path '%s'", item->text, path);
	for (const struct yml_node *other = list->first; other != item; other = other->next)
		if (path_overlaps(item->text, other->text))
			return fail(r, item->at, "the link '%s' overlaps the one on line %d",
				item->text, other->at.line);
	return 0;
}

static int read_links(const struct reader *r, const struct yml_node *node, void *into)
{
	struct conf *conf = into;

	if (need_count(r, node, 0, MAX_LINKS) < 0)
		return -1;
	for (const struct yml_node *item = node->first; item; item = item->next)
		if (check_link(r, node, item) < 0)
			return -1;
	return node->count ? copy_texts(r, node, &conf->links) : 0;
}

static const struct field install_fields[] = {
	{"path", YML_TEXT, false, read_install_path},
	{"links", YML_LIST, false, read_links},
};

static int read_install(const struct reader *r, const struct yml_node *node, void *into)
{
	return read_fields(
		r, node, install_fields, SB_ARRAY_SIZE(install_fields), "'install'", into);
}

static int read_start(const struct reader *r, const struct yml_node *node, void *into)
{
	struct conf *conf = into;

	if (need_count(r, node, 1, MAX_START) < 0)
		return -1;
	for (const struct yml_node *item = node->first; item; item = item->next) {
		if (need_kind(r, item, YML_TEXT, "an item") < 0)
			return -1;
		if (!*item->text)
			return fail(r, item->at, "an argument is empty");
		if (strlen(item->text) > 255)
			return fail(r, item->at, "an argument is longer than 255 bytes");
	}
	return copy_texts(r, node, &conf->start);
}

/* The values of facts that have no others. */
static const char *const known_values[SB_FACT_COUNT][15] = {
	[SB_FACT_OS] = {"linux", "windows"},
	[SB_FACT_ARCH] = {"386", "amd64", "arm", "arm64", "loong64", "mips", "mips64", "mips64le",
		"mipsle", "ppc64", "ppc64le", "riscv64", "s390x"},
	[SB_FACT_LIBC] = {"glibc", "musl", "none"},
	[SB_FACT_ENGINE] = {"docker", "podman"},
};

static int check_known(const struct reader *r, const struct yml_node *item, enum sb_fact fact)
{
	const char *const *value = known_values[fact];
	char known[160] = "";
	size_t len = 0;

	if (!*value)
		return 0;
	for (; *value && strcmp(*value, item->text) != 0; value++)
		len += (size_t)snprintf(
			known + len, sizeof(known) - len, "%s%s", len ? ", " : "", *value);
	if (*value)
		return 0;
	return fail(r, item->at, "unknown %s '%s'; known values: %s", sb_fact_name(fact),
		item->text, known);
}

/* A value that no container can have is a mistake. */
static int check_value(const struct reader *r, const struct yml_node *item, enum sb_fact fact)
{
	if (need_kind(r, item, YML_TEXT, "an item") < 0)
		return -1;
	if (fact == SB_FACT_LABEL)
		return 0;
	if (!*item->text)
		return fail(r, item->at, "an empty value matches nothing");
	if (strlen(item->text) > MAX_VALUE)
		return fail(r, item->at, "a value is longer than %d bytes", MAX_VALUE);
	if (fact == SB_FACT_FAMILY && strchr(item->text, ' '))
		return fail(r, item->at, "a family must be one word, not '%s'", item->text);
	if (fact == SB_FACT_CAPS && !eng_caps_is_word(item->text))
		return fail(r, item->at,
			"unknown capability '%s'; write it like 'setuid', or 'none' for no capability at "
			"all",
			item->text);
	return check_known(r, item, fact);
}

static int check_values(const struct reader *r, const struct yml_node *node, enum sb_fact fact)
{
	if (node->kind == YML_TEXT)
		return check_value(r, node, fact);
	if (node->kind != YML_LIST)
		return fail(r, node->at, "'%s' must be a string or a list of strings", node->key);
	if (need_count(r, node, 1, YML_MAX_NODES) < 0)
		return -1;
	for (const struct yml_node *item = node->first; item; item = item->next) {
		if (check_value(r, item, fact) < 0)
			return -1;
		for (const struct yml_node *other = node->first; other != item; other = other->next)
			if (!strcmp(item->text, other->text))
				return fail(r, item->at, "duplicate value '%s'", item->text);
	}
	return 0;
}

static int read_test(const struct reader *r, const struct yml_node *node, enum sb_fact fact,
	struct conf_rule *rule)
{
	struct conf_test *test = &rule->tests[rule->count++];

	test->fact = fact;
	rule->facts |= 1u << fact;
	if (fact == SB_FACT_LABEL && copy_text(r, node->key, &test->label) < 0)
		return -1;
	if (check_values(r, node, fact) < 0)
		return -1;
	test->count = node->kind == YML_LIST ? node->count : 1;
	return copy_texts(r, node, &test->values);
}

static int read_labels(const struct reader *r, const struct yml_node *node, struct conf_rule *rule)
{
	if (need_kind(r, node, YML_MAPPING, "'label'") < 0 ||
		need_count(r, node, 1, YML_MAX_NODES) < 0)
		return -1;
	for (const struct yml_node *item = node->first; item; item = item->next)
		if (read_test(r, item, SB_FACT_LABEL, rule) < 0)
			return -1;
	return 0;
}

static int unknown_fact(const struct reader *r, const struct yml_node *node)
{
	char known[256] = "";
	size_t len = 0;

	for (unsigned i = 0; i < SB_FACT_COUNT; i++)
		len += (size_t)snprintf(
			known + len, sizeof(known) - len, "%s%s", i ? ", " : "", sb_fact_name(i));
	return fail(r, node->key_at, "unknown fact '%s'; known facts: %s", node->key, known);
}

static int read_when(const struct reader *r, const struct yml_node *node, void *into)
{
	const struct yml_node *labels = yml_get(node, sb_fact_name(SB_FACT_LABEL));
	struct conf_rule *rule = into;

	rule->tests = calloc(node->count + (labels ? labels->count : 0) + 1, sizeof(*rule->tests));
	if (!rule->tests)
		return sb_err_nomem(r->err);
	for (const struct yml_node *item = node->first; item; item = item->next) {
		enum sb_fact fact = sb_fact_by_name(item->key);

		if (fact == SB_FACT_COUNT)
			return unknown_fact(r, item);
		if ((fact == SB_FACT_LABEL ? read_labels(r, item, rule)
					   : read_test(r, item, fact, rule)) < 0)
			return -1;
	}
	return 0;
}

static int find_payload(
	const struct reader *r, const struct yml_node *node, const struct conf_payload **ret)
{
	*ret = conf_payload_by_name(r->conf, node->text);
	return *ret ? 0
		    : fail(r, node->at, "payload '%s' is not defined under 'payloads'", node->text);
}

/* Its launcher becomes the program at the path. */
static int check_service_tree(
	const struct reader *r, const struct yml_node *node, const struct conf_payload *payload)
{
	const char *path = r->conf->path ? r->conf->path : conf_default_path;
	const char *leaf = strrchr(path, '/');
	size_t dir = (size_t)(leaf - path);

	if (!payload->launcher || strcmp(payload->launcher, leaf + 1) != 0)
		return fail(r, node->at,
			"as the service, '%s' needs 'launcher: %s', the name of the program at '%s'",
			node->text, leaf + 1, path);
	if (payload->install &&
		(strlen(payload->install) != dir || strncmp(payload->install, path, dir) != 0))
		return fail(r, node->at,
			"as the service, '%s' must have 'install: %.*s', or leave it out",
			node->text, (int)dir, path);
	return 0;
}

static int read_use(const struct reader *r, const struct yml_node *node, void *into)
{
	struct conf_rule *rule = into;

	if (find_payload(r, node, &rule->use) < 0)
		return -1;
	return rule->use->format == CONF_TREE ? check_service_tree(r, node, rule->use) : 0;
}

static int read_with(const struct reader *r, const struct yml_node *node, void *into)
{
	struct conf_rule *rule = into;
	struct sb_err why = SB_ERR_INIT;
	size_t count = 0;

	if (need_count(r, node, 1, CONF_MAX_TREES) < 0)
		return -1;
	rule->with = calloc(node->count + 1, sizeof(const struct conf_payload *));
	if (!rule->with)
		return sb_err_nomem(r->err);
	for (const struct yml_node *item = node->first; item; item = item->next)
		if (need_kind(r, item, YML_TEXT, "an item") < 0 ||
			find_payload(r, item, &rule->with[count++]) < 0)
			return -1;
	if (conf_check_trees(r->conf, rule->with, count, &why) < 0)
		return fail(r, node->at, "%s", why.text);
	return 0;
}

static const char *const service_names[] = {
	[CONF_UNSAID] = "", [CONF_ROOT] = "root", [CONF_USER] = "user", [CONF_AUTO] = "auto"};

const char *conf_service_name(enum conf_service service)
{
	return service_names[service];
}

static int read_service(const struct reader *r, const struct yml_node *node, void *into)
{
	struct conf_rule *rule = into;

	for (unsigned i = CONF_ROOT; i < SB_ARRAY_SIZE(service_names); i++)
		if (!strcmp(node->text, service_names[i])) {
			rule->service = i;
			return 0;
		}
	return fail(
		r, node->at, "unknown service '%s'; known values: root, user, auto", node->text);
}

static int read_graft(const struct reader *r, const struct yml_node *node, void *into)
{
	struct conf_rule *rule = into;

	rule->graft = !strcmp(node->text, "true");
	if (!rule->graft && strcmp(node->text, "false") != 0)
		return fail(r, node->at, "'graft' must be 'true' or 'false', not '%s'", node->text);
	return 0;
}

static const struct field rule_fields[] = {
	{"when", YML_MAPPING, true, read_when},
	{"use", YML_TEXT, true, read_use},
	{"service", YML_TEXT, false, read_service},
	{"graft", YML_TEXT, false, read_graft},
	{"with", YML_LIST, false, read_with},
};

static int read_rules(const struct reader *r, const struct yml_node *node, void *into)
{
	struct conf *conf = into;

	if (need_count(r, node, 1, MAX_RULES) < 0)
		return -1;
	conf->rules = calloc(node->count, sizeof(*conf->rules));
	if (!conf->rules)
		return sb_err_nomem(r->err);
	for (const struct yml_node *item = node->first; item; item = item->next) {
		struct conf_rule *rule = &conf->rules[conf->rule_count++];

		rule->line = item->at.line;
		rule->column = item->at.column;
		if (read_fields(r, item, rule_fields, SB_ARRAY_SIZE(rule_fields), "a rule", rule) <
			0)
			return -1;
	}
	return 0;
}

static const struct field root_fields[] = {
	{"version", YML_TEXT, true, read_version},
	{"payloads", YML_MAPPING, true, read_payloads},
	{"install", YML_MAPPING, false, read_install},
	{"start", YML_LIST, false, read_start},
	{"rules", YML_LIST, true, read_rules},
};

/* Of a later version, say so rather than that its keys are unknown. */
static int check_version(const struct reader *r, const struct yml_node *root)
{
	const struct yml_node *version = NULL;

	if (root->kind == YML_MAPPING)
		version = yml_get(root, "version");
	return version && version->kind == YML_TEXT ? read_version(r, version, NULL) : 0;
}

static int fill_defaults(const struct reader *r)
{
	struct conf *conf = r->conf;

	if (!conf->path && copy_text(r, conf_default_path, &conf->path) < 0)
		return -1;
	if (conf->start)
		return 0;
	conf->start = calloc(2, sizeof(*conf->start));
	if (!conf->start)
		return sb_err_nomem(r->err);
	return copy_text(r, default_start, &conf->start[0]);
}

static int refuse_ties(const struct reader *r)
{
	size_t i = 0, j = 0;
	bool certain;

	while (rule_next_tie(r->conf, &i, &j, &certain)) {
		const struct conf_rule *a = &r->conf->rules[i], *b = &r->conf->rules[j];

		if (certain)
			return fail(r, ((struct yml_pos){b->line, b->column}),
				"this rule and the one at %s:%d:%d test the same facts for the "
				"same values, so neither is more specific",
				r->name, a->line, a->column);
	}
	return 0;
}

int conf_parse(const char *text, size_t len, const char *name, const char *dir, struct conf **ret,
	struct sb_err *err)
{
	sb_auto(yml_freep) struct yml_node *root = NULL;
	sb_auto(conf_freep) struct conf *conf = calloc(1, sizeof(*conf));
	struct reader r = {name, dir, conf, err};

	if (!conf)
		return sb_err_nomem(err);
	conf->why = "given text";
	conf->text = strndup(text, len);
	if (!conf->text)
		return sb_err_nomem(err);
	if (copy_text(&r, name, &conf->file) < 0 || yml_parse(text, len, name, &root, err) < 0 ||
		check_version(&r, root) < 0 ||
		read_fields(&r, root, root_fields, SB_ARRAY_SIZE(root_fields), "a rules file",
			conf) < 0 ||
		fill_defaults(&r) < 0 || refuse_ties(&r) < 0)
		return -1;
	*ret = sb_steal(conf);
	return 0;
}
