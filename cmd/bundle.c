/* SPDX-License-Identifier: MIT */
#include "cmd/choice.h"

#include "cmd/out.h"
#include "engine/file.h"
#include "engine/log.h"
#include "payloads/bundle.h"

#include <stdio.h>
#include <string.h>

/* ---- to make one ---- */

struct part {
	struct store_found found;
	char serves[HOST_TEXT_SIZE];
};

struct parts {
	struct part *list;
	struct bundle_item *items;
	size_t count;
};

static void release_parts(struct parts *parts)
{
	for (size_t i = 0; i < parts->count; i++)
		store_found_release(&parts->list[i].found);
	free(parts->list);
	free(parts->items);
}

/* 1: it is not here, and can be missed. */
static int find_part(const struct cmd_env *env, const struct choice *choice,
	const struct upstream *one, struct parts *parts, struct sb_err *err)
{
	struct store_want want = choice_want(env, one);
	struct part *part = &parts->list[parts->count];
	bool may_miss = choice_may_miss(choice, one);
	int missing = (may_miss ? store_find : store_need)(&want, &part->found, err);

	if (missing > 0)
		sb_log(SB_NOTE, "'%s' is not here, and is left out", one->name);
	if (missing)
		return missing;
	parts->items[parts->count++] = (struct bundle_item){
		.name = one->name,
		.arch = one->arch,
		.format = one->form,
		.serves = choice_serves(one, part->serves),
		.sha256 = one->sha256,
		.bytes = part->found.bytes,
		.path = part->found.place,
	};
	return 0;
}

static int find_parts(const struct cmd_env *env, const struct choice *choice, struct parts *ret,
	struct sb_err *err)
{
	ret->list = calloc(choice->count + 1, sizeof(*ret->list));
	ret->items = calloc(choice->count + 1, sizeof(*ret->items));
	if (!ret->list || !ret->items)
		return sb_err_nomem(err);
	for (size_t i = 0; i < choice->count; i++) {
		out_progress("reading %s", choice->list[i]->name);
		if (find_part(env, choice, choice->list[i], ret, err) < 0)
			return -1;
	}
	return 0;
}

struct made {
	size_t count;
	uint64_t size;
	char sha256[SHA256_HEX];
};

static int write_parts(const char *path, struct parts *parts, struct made *ret, struct sb_err *err)
{
	sb_auto(sb_file_release) struct sb_file file = SB_FILE_INIT;
	struct bytes all;

	out_progress("writing %s", path);
	if (sb_file_begin(path, 0644, &file, err) < 0 ||
		bundle_write(file.fd, path, parts->items, parts->count, err) < 0 ||
		bytes_of_file(file.fd, path, UINT64_MAX, &all, err) < 0 ||
		bytes_sha256(&all, path, ret->sha256, err) < 0)
		return -1;
	ret->count = parts->count;
	ret->size = all.size;
	return sb_file_keep(&file, err);
}

static void print_made(const char *path, const struct made *made)
{
	json_auto_t *json = json_pack("{s:o, s:b, s:I, s:I, s:s}", "bundle", out_string(path), "ok",
		1, "payloads", (json_int_t)made->count, "size", (json_int_t)made->size, "sha256",
		made->sha256);
	char line[512];

	snprintf(line, sizeof(line), "%.300s: %zu payload%s, %.1f MB, sha256 %.12s", path,
		made->count, made->count == 1 ? "" : "s", (double)made->size / 1e6, made->sha256);
	out_result(line, json);
}

static int make(const struct cmd_env *env, struct sb_err *err)
{
	sb_auto(choice_release) struct choice choice = CHOICE_INIT;
	sb_auto(release_parts) struct parts parts = {NULL, NULL, 0};
	const char *path = env->opts.text[OPT_OUTPUT];
	struct made made;

	if (!path)
		return sb_err_set(err, SB_USAGE,
			"give --output FILE to make a bundle, or one of --list, --check and "
			"--import");
	if (choice_make(env, &choice, err) < 0 || find_parts(env, &choice, &parts, err) < 0 ||
		write_parts(path, &parts, &made, err) < 0)
		return -1;
	print_made(path, &made);
	return 0;
}

/* ---- to use one ---- */

static json_t *object_of(const struct bundle_item *item)
{
	return json_pack("{s:s, s:s*, s:s*, s:s*, s:I, s:s}", "name", item->name, "arch",
		item->arch, "format", item->format, "serves", item->serves, "size",
		(json_int_t)item->bytes.size, "sha256", item->sha256);
}

static int list_item(const struct bundle_item *item, void *ctx, struct sb_err *err)
{
	json_auto_t *json = object_of(item);
	char line[512];

	(void)ctx, (void)err;
	snprintf(line, sizeof(line), "%-26s %-6.20s %-10.20s %9llu  %s", item->name,
		item->arch ? item->arch : "-", item->format ? item->format : "-",
		(unsigned long long)item->bytes.size, item->sha256);
	out_result(line, json);
	return 0;
}

static int check_item(const struct bundle_item *item, void *ctx, struct sb_err *err)
{
	json_auto_t *json = object_of(item);
	char line[512];

	(void)ctx;
	out_progress("reading %s", item->name);
	if (bundle_check(item, err) < 0)
		return -1;
	if (json)
		json_object_set_new(json, "ok", json_true());
	snprintf(line, sizeof(line), "%s: ok", item->name);
	out_result(line, json);
	return 0;
}

static void on_wait(const char *name)
{
	out_note(name, "another sbinject is writing it to the cache; waiting");
}

/* 1: the cache has it. */
static int import_bytes(const struct store_dir *cache, const struct store_want *want,
	const struct bundle_item *item, struct sb_err *err)
{
	sb_auto(store_slot_release) struct store_slot slot = STORE_SLOT_INIT;
	struct bytes_sink sink = {store_slot_write, &slot};
	char hex[SHA256_HEX];
	int there = store_slot_begin(cache, want, on_wait, &slot, err);

	if (there)
		return there;
	if (store_slot_clear(&slot, err) < 0 ||
		bytes_copy(&item->bytes, item->path, &sink, hex, err) < 0)
		return -1;
	return store_slot_keep(&slot, item->path, err);
}

static int import_item(const struct bundle_item *item, void *ctx, struct sb_err *err)
{
	sb_auto(store_found_release) struct store_found found = STORE_FOUND_INIT;
	struct store_want want = {.name = item->name, .sha256 = item->sha256};
	json_auto_t *json = object_of(item);
	const struct store_dir *cache = ctx;
	const char *result;
	char line[512];
	int there;

	out_progress("importing %s", item->name);
	there = import_bytes(cache, &want, item, err);
	if (there < 0 || store_dir_find(cache, &want, &found, err) < 0)
		return -1;
	result = there ? "already" : "imported";
	if (json) {
		json_object_set_new(json, "ok", json_true());
		json_object_set_new(json, "result", json_string(result));
		json_object_set_new(json, "path", out_string(found.place));
	}
	snprintf(line, sizeof(line), "%s: %s", item->name,
		there ? "already in the cache" : "imported into the cache");
	out_result(line, json);
	return 0;
}

static int each(const char *path,
	int (*fn)(const struct bundle_item *item, void *ctx, struct sb_err *err), void *ctx,
	struct sb_err *err)
{
	sb_auto(bundle_release) struct bundle bundle = BUNDLE_INIT;
	int missing = bundle_open(path, &bundle, err);

	if (missing > 0)
		return sb_err_set(err, SB_USAGE, "no such file '%s'", path);
	if (missing < 0)
		return -1;
	for (size_t i = 0; i < bundle.count; i++)
		if (fn(&bundle.items[i], ctx, err) < 0)
			return -1;
	return 0;
}

static int import(const char *path, struct sb_err *err)
{
	sb_auto(store_dir_release) struct store_dir cache = STORE_DIR_INIT;

	if (store_dir_cache(&cache, err) < 0)
		return -1;
	return each(path, import_item, &cache, err);
}

/* One that is there already has a file; those that make one do not. */
static int use(const struct cmd_env *env, struct sb_err *err)
{
	opt_set ways = env->opts.given & (OPT(LIST) | OPT(CHECK) | OPT(IMPORT));
	opt_set others = OPT(OUTPUT) | OPT(FOR) | OPT(ALL) | OPT(ARCH) | OPT(BUNDLE);

	if (ways & (ways - 1) || env->opts.given & others || env->arg_count != 1)
		return sb_err_set(err, SB_USAGE,
			"--list, --check and --import each take one FILE, and no other option says "
			"what is meant");
	if (ways & OPT(IMPORT))
		return import(env->args[0], err);
	return each(env->args[0], ways & OPT(CHECK) ? check_item : list_item, NULL, err);
}

static enum sb_code run(const struct cmd_env *env)
{
	struct sb_err err = SB_ERR_INIT;
	bool uses = env->opts.given & (OPT(LIST) | OPT(CHECK) | OPT(IMPORT));

	if ((uses ? use : make)(env, &err) < 0)
		out_error(NULL, &err);
	return err.code;
}

const struct cmd cmd_bundle = {
	.name = "bundle",
	.args = "[NAME... | FILE]",
	.summary = "take archives of payloads along in one file",
	.help = "  sbinject bundle -o FILE NAME...    make one; also with --for or --all\n"
		"  sbinject bundle --list FILE        list what is in it\n"
		"  sbinject bundle --check FILE       verify the digests of all that is in it\n"
		"  sbinject bundle --import FILE      copy it into the cache\n"
		"\n"
		"What goes into a bundle has to be on this host: see 'sbinject fetch'. The file\n"
		"is a plain tar, and the same archives give the same file, byte for byte. Where\n"
		"it is used, nothing needs a network: --bundle FILE or SBINJECT_BUNDLE names it,\n"
		"and /usr/share/sbinject/*.sbb and /usr/local/share/sbinject/*.sbb are found.\n",
	.opts = OPTS_ANY | OPT(JSON) | OPT(QUIET) | OPT(OUTPUT) | OPT(FOR) | OPT(ALL) | OPT(ARCH) |
		OPT(BUNDLE) | OPT(LIST) | OPT(CHECK) | OPT(IMPORT),
	.min_args = 0,
	.max_args = -1,
	.run = run,
};
