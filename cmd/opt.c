/* SPDX-License-Identifier: MIT */
#include "cmd/opt.h"

#include "engine/text.h"

#include <stdio.h>
#include <string.h>

const struct opt_spec opt_specs[OPT_COUNT] = {
	[OPT_HOST] = {'H', "host", "URL", "engine to talk to: unix://PATH or tcp://HOST:PORT"},
	[OPT_CONFIG] = {'c', "config", "FILE", "rules file, instead of the one found by search"},
	[OPT_CLIENT] = {0, "client", "TEXT", "name and version of the caller, for rules to test"},
	[OPT_REQUIRE] = {0, "require", "KEY=VALUE",
		"exit 6 unless release=, wire= or sha256= matches"},
	[OPT_GRAFT] = {0, "graft", NULL, "allow a helper container for a read-only root"},
	[OPT_WITH] = {0, "with", "NAME,...", "also put these trees of the rules file there"},
	[OPT_TREE] = {0, "tree", "DIR=FILE", "also unpack this archive there, as DIR"},
	[OPT_FETCH] = {0, "fetch", NULL, "get archives of trees that are not on this host"},
	[OPT_NO_PAUSE] = {0, "no-pause", NULL, "never pause the container, even if that is unsafe"},
	[OPT_TIMEOUT] = {'t', "timeout", "SECONDS", "time limit; 0: none"},
	[OPT_JOBS] = {'j', "jobs", "N", "containers to work on at once (default 4)"},
	[OPT_DRY_RUN] = {'n', "dry-run", NULL, "show what would be done, change nothing"},
	[OPT_START] = {0, "start", NULL, "inject into stopped containers, too; start them"},
	[OPT_JSON] = {0, "json", NULL, "one JSON object per line on stdout, failures too"},
	[OPT_EXEC] = {0, "exec", NULL, "also run commands there, by method 'run'"},
	[OPT_ALL] = {'a', "all", NULL, "all there are: with ls, stopped containers too"},
	[OPT_LOOK] = {0, "look", NULL, "look into each container for the service"},
	[OPT_CHECK] = {0, "check", NULL, "check a rules file, or a bundle"},
	[OPT_EXPLAIN] = {0, "explain", "CONTAINER", "show which rule matches a container, and why"},
	[OPT_EXTRACT] = {0, "extract", "NAME", "write a payload to --output or stdout"},
	[OPT_DESCRIBE] = {0, "describe", "FILE", "print an archive's entry for a rules file"},
	[OPT_FOR] = {0, "for", "CLIENT", "only for this client: 'inspect_ai 0.3.285'"},
	[OPT_ARCH] = {0, "arch", "LIST", "only these architectures: 'amd64,arm64'"},
	[OPT_BUNDLE] = {0, "bundle", "FILE", "look for archives in this bundle first"},
	[OPT_FROM] = {0, "from", "PATH", "a directory, a wheel or the archive, on this host"},
	[OPT_MIRROR] = {0, "mirror", "URL", "ask URL/SHA256 for archives first"},
	[OPT_INDEX] = {0, "index", "URL", "package index, instead of pip's"},
	[OPT_LIST] = {0, "list", NULL, "list what is in a bundle"},
	[OPT_IMPORT] = {0, "import", NULL, "copy what is in a bundle into the cache"},
	[OPT_OUTPUT] = {'o', "output", "FILE", "where to write; with --for, a directory"},
	[OPT_QUIET] = {'q', "quiet", NULL, "print errors only; with ls, names only"},
	[OPT_VERBOSE] = {'v', "verbose", NULL, "report what is chosen, and why"},
	[OPT_HELP] = {'h', "help", NULL, "show help for sbinject, or for the command"},
	[OPT_VERSION] = {'V', "version", NULL, "show release and payloads; with -v, libraries"},
};

static int parse_number(
	const char *text, long min, long max, int *ret, enum opt_id id, struct sb_err *err)
{
	char *end;
	long value = strtol(text, &end, 10);

	if (*text < '0' || *text > '9' || *end || value < min || value > max)
		return sb_err_set(err, SB_USAGE, "--%s: '%s' is not a number from %ld to %ld",
			opt_specs[id].name, text, min, max);
	*ret = (int)value;
	return 0;
}

static bool is_any(const char *value)
{
	return *value;
}

static bool is_number(const char *value)
{
	return *value && !value[strspn(value, "0123456789")];
}

static int parse_require(struct opts *opts, const char *text, struct sb_err *err)
{
	const struct {
		const char *key, *form;
		bool (*fits)(const char *value);
		const char **slot;
	} keys[] = {
		{"release=", "must not be empty", is_any, &opts->require.release},
		{"wire=", "must be a number", is_number, &opts->require.wire},
		{"sha256=", "must be all 64 digits, as 'sbinject payloads' lists them", sb_is_hex64,
			&opts->require.sha256},
	};

	for (size_t i = 0; i < SB_ARRAY_SIZE(keys); i++) {
		size_t len = strlen(keys[i].key);

		if (strncmp(text, keys[i].key, len) != 0)
			continue;
		if (!keys[i].fits(text + len))
			return sb_err_set(err, SB_USAGE, "--require: '%s': %.*s %s", text, (int)len,
				keys[i].key, keys[i].form);
		if (*keys[i].slot)
			return sb_err_set(err, SB_USAGE,
				"--require: '%s': %.*s is given twice; give each key once", text,
				(int)len, keys[i].key);
		*keys[i].slot = text + len;
		return 0;
	}
	return sb_err_set(err, SB_USAGE,
		"--require: '%s' is not release=VERSION, wire=NUMBER or sha256=DIGEST", text);
}

static int take(struct opts *opts, enum opt_id id, const char *value, struct sb_err *err)
{
	opts->given |= OPT_BIT(id);
	opts->text[id] = value;
	switch (id) {
	case OPT_TIMEOUT:
		return parse_number(value, 0, 86400, &opts->timeout_s, id, err);
	case OPT_JOBS:
		return parse_number(value, 1, 256, &opts->jobs, id, err);
	case OPT_TREE:
		if (opts->tree_count == CONF_MAX_TREES)
			return sb_err_set(
				err, SB_USAGE, "--tree: at most %d trees", CONF_MAX_TREES);
		opts->trees[opts->tree_count++] = value;
		return 0;
	case OPT_REQUIRE:
		return parse_require(opts, value, err);
	default:
		return 0;
	}
}

static enum opt_id find_long(const char *name, size_t len)
{
	unsigned id = 0;

	while (id < OPT_COUNT &&
		!(strlen(opt_specs[id].name) == len && !strncmp(opt_specs[id].name, name, len)))
		id++;
	return id;
}

static enum opt_id find_letter(char letter)
{
	unsigned id = 0;

	while (id < OPT_COUNT && opt_specs[id].letter != letter)
		id++;
	return id;
}

/* The cursor over argv, for values that stand in the next word. */
struct words {
	int argc, next;
	char **argv;
};

static int unknown(const char *word, struct sb_err *err)
{
	return sb_err_set(err, SB_USAGE, "unknown option '%s'; see 'sbinject --help'", word);
}

static int take_value(struct opts *opts, enum opt_id id, const char *joined, struct words *words,
	struct sb_err *err)
{
	if (!joined && words->next < words->argc)
		joined = words->argv[words->next++];
	if (!joined)
		return sb_err_set(err, SB_USAGE, "--%s needs a value (%s)", opt_specs[id].name,
			opt_specs[id].value);
	return take(opts, id, joined, err);
}

static int parse_long(struct opts *opts, const char *word, struct words *words, struct sb_err *err)
{
	const char *name = word + 2;
	size_t len = strcspn(name, "=");
	enum opt_id id = find_long(name, len);

	if (id == OPT_COUNT)
		return unknown(word, err);
	if (opt_specs[id].value)
		return take_value(opts, id, name[len] ? name + len + 1 : NULL, words, err);
	if (name[len])
		return sb_err_set(err, SB_USAGE, "--%s takes no value", opt_specs[id].name);
	return take(opts, id, NULL, err);
}

static int parse_letters(
	struct opts *opts, const char *word, struct words *words, struct sb_err *err)
{
	for (const char *letter = word + 1; *letter; letter++) {
		enum opt_id id = find_letter(*letter);

		if (id == OPT_COUNT)
			return unknown(word, err);
		if (opt_specs[id].value)
			return take_value(opts, id, letter[1] ? letter + 1 : NULL, words, err);
		if (take(opts, id, NULL, err) < 0)
			return -1;
	}
	return 0;
}

int opt_parse(int argc, char **argv, struct opts *ret, struct opt_args *args, struct sb_err *err)
{
	struct words words = {argc, 1, argv};
	bool only_args = false;

	*ret = (struct opts){.timeout_s = -1, .jobs = 4};
	args->count = 0;
	args->first_is_name = false;
	while (words.next < argc) {
		char *word = argv[words.next++];

		if (only_args || word[0] != '-' || !word[1]) {
			args->args[args->count++] = word;
			continue;
		}
		if (!strcmp(word, "--")) {
			only_args = true;
			args->first_is_name = args->count == 0;
			continue;
		}
		if ((word[1] == '-' ? parse_long : parse_letters)(ret, word, &words, err) < 0)
			return -1;
	}
	return 0;
}

int opt_check_allowed(
	const struct opts *opts, opt_set allowed, const char *command, struct sb_err *err)
{
	for (unsigned id = 0; id < OPT_COUNT; id++)
		if (opts->given & ~allowed & OPT_BIT(id))
			return sb_err_set(err, SB_USAGE,
				"'%s' does not accept --%s; see 'sbinject %s --help'", command,
				opt_specs[id].name, command);
	return 0;
}
