/* SPDX-License-Identifier: MIT */
#include "payloads/bundle.h"

#include "engine/buf.h"
#include "engine/file.h"
#include "engine/json.h"
#include "engine/pack.h"
#include "engine/text.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { FORMAT = 1 };
static const char manifest_name[] = "manifest.json", folder[] = "sha256/";
static const char version_key[] = "sbinject_bundle";

void bundle_release(struct bundle *bundle)
{
	sb_closep(&bundle->fd);
	bundle->fd = -1;
	json_decref(bundle->manifest);
	bundle->manifest = NULL;
	free(bundle->items);
	bundle->items = NULL;
	bundle->count = 0;
}

/* ---- reading ---- */

static int refuse(const struct bundle *bundle, const char *why, struct sb_err *err)
{
	return sb_err_set(err, SB_MISMATCH, "'%s' is no bundle of sbinject, or a damaged one: %s",
		bundle->path, why);
}

static bool is_name(const char *text)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789._+-";

	return text && *text && strlen(text) <= BUNDLE_NAME_MAX && !text[strspn(text, letters)];
}

/* What the manifest says of one archive; where it is, its member tells. */
static bool parse_item(const struct bundle *bundle, const json_t *json, struct bundle_item *ret)
{
	long long size = sb_json_int(json, "size", -1);

	*ret = (struct bundle_item){
		.name = sb_json_str(json, "name"),
		.arch = sb_json_str(json, "arch"),
		.format = sb_json_str(json, "format"),
		.serves = sb_json_str(json, "serves"),
		.sha256 = sb_json_str(json, "sha256"),
		.bytes = {bundle->fd, 0, (uint64_t)size},
		.path = bundle->path,
	};
	return is_name(ret->name) && ret->sha256 && sb_is_hex64(ret->sha256) && size >= 0;
}

static int parse_manifest(struct bundle *bundle, struct sb_err *err)
{
	const json_t *list = sb_json_at(bundle->manifest, "payloads");
	long long version = sb_json_int(bundle->manifest, version_key, 0);
	size_t count = json_array_size(list);

	if (version > FORMAT)
		return sb_err_set(err, SB_UNSUPPORTED,
			"'%s' is a bundle of a later release; use a newer sbinject", bundle->path);
	if (version != FORMAT || !json_is_array(list) || count > BUNDLE_ITEMS_MAX)
		return refuse(bundle, "its manifest.json is not one of a bundle", err);
	bundle->items = calloc(count + 1, sizeof(*bundle->items));
	if (!bundle->items)
		return sb_err_nomem(err);
	for (; bundle->count < count; bundle->count++) {
		struct bundle_item *item = &bundle->items[bundle->count];

		if (!parse_item(bundle, json_array_get(list, bundle->count), item))
			return refuse(bundle, "its manifest.json lists something unknown", err);
		if (bundle->count && strcmp(item[-1].name, item->name) >= 0)
			return refuse(bundle, "its manifest.json is not in order", err);
	}
	return 0;
}

static int read_manifest(
	struct bundle *bundle, const struct eng_pack_member *member, struct sb_err *err)
{
	sb_autofree char *text = NULL;

	if (strcmp(member->name, manifest_name) != 0 || member->size > SB_MAX_CONFIG)
		return refuse(bundle, "it does not begin with a manifest.json", err);
	text = malloc(member->size + 1);
	if (!text)
		return sb_err_nomem(err);
	if (pread(bundle->fd, text, member->size, (off_t)member->offset) != (ssize_t)member->size)
		return refuse(bundle, "its manifest.json cannot be read", err);
	bundle->manifest = sb_json_parse(text, member->size, "its manifest.json", err);
	if (!bundle->manifest) {
		err->code = SB_MISMATCH;
		return sb_err_wrap(err, "'%s'", bundle->path);
	}
	return parse_manifest(bundle, err);
}

/* Two payloads can be the same bytes. */
static bool place(struct bundle *bundle, const char *sha256, const struct eng_pack_member *member)
{
	bool listed = false;

	for (size_t i = 0; i < bundle->count; i++) {
		struct bundle_item *item = &bundle->items[i];

		if (strcmp(item->sha256, sha256) != 0)
			continue;
		listed = item->bytes.size == member->size && !item->bytes.offset;
		if (!listed)
			return false;
		item->bytes.offset = member->offset;
	}
	return listed;
}

static int on_member(void *ctx, const struct eng_pack_member *member, struct sb_err *err)
{
	struct bundle *bundle = ctx;
	const char *digest = member->name + strlen(folder);

	if (!bundle->manifest)
		return read_manifest(bundle, member, err);
	if (strncmp(member->name, folder, strlen(folder)) != 0 || !place(bundle, digest, member))
		return refuse(bundle, "it holds what its manifest.json does not list", err);
	return 0;
}

static int read_bundle(struct bundle *bundle, struct sb_err *err)
{
	struct bytes all;

	if (bytes_of_file(bundle->fd, bundle->path, UINT64_MAX, &all, err) < 0)
		return -1;
	if (eng_pack_read(&(struct eng_pack_source){bundle->fd, all.size, bundle->path, on_member,
				  bundle},
		    err) < 0)
		return -1;
	if (!bundle->manifest)
		return refuse(bundle, "it is empty", err);
	for (size_t i = 0; i < bundle->count; i++)
		if (!bundle->items[i].bytes.offset)
			return refuse(bundle, "it lacks what its manifest.json lists", err);
	return 0;
}

int bundle_open(const char *path, struct bundle *ret, struct sb_err *err)
{
	int missing;

	*ret = (struct bundle)BUNDLE_INIT;
	if ((size_t)snprintf(ret->path, sizeof(ret->path), "%s", path) >= sizeof(ret->path))
		return sb_err_set(err, SB_USAGE, "the path '%.100s...' is too long", path);
	missing = sb_file_open(path, &ret->fd, err);
	if (missing)
		return missing;
	if (read_bundle(ret, err) < 0) {
		bundle_release(ret);
		return -1;
	}
	return 0;
}

const struct bundle_item *bundle_find(const struct bundle *bundle, const char *sha256)
{
	for (size_t i = 0; i < bundle->count; i++)
		if (!strcmp(bundle->items[i].sha256, sha256))
			return &bundle->items[i];
	return NULL;
}

static int check_hex(const struct bundle_item *item, const char *hex, struct sb_err *err)
{
	if (!strcmp(hex, item->sha256))
		return 0;
	return sb_err_set(err, SB_MISMATCH,
		"payload '%s' in '%.300s' is damaged: it has sha256 %s, not %s", item->name,
		item->path, hex, item->sha256);
}

int bundle_check(const struct bundle_item *item, struct sb_err *err)
{
	char hex[SHA256_HEX];

	if (bytes_sha256(&item->bytes, item->path, hex, err) < 0)
		return -1;
	return check_hex(item, hex, err);
}

/* ---- writing ---- */

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct bundle_item *)a)->name, ((const struct bundle_item *)b)->name);
}

static int by_digest(const void *a, const void *b)
{
	return strcmp(
		((const struct bundle_item *)a)->sha256, ((const struct bundle_item *)b)->sha256);
}

static json_t *manifest_of(const struct bundle_item *items, size_t count)
{
	json_t *list = json_array();

	for (size_t i = 0; i < count; i++)
		if (json_array_append_new(list,
			    json_pack("{s:s*, s:s*, s:s, s:s*, s:s, s:I}", "arch", items[i].arch,
				    "format", items[i].format, "name", items[i].name, "serves",
				    items[i].serves, "sha256", items[i].sha256, "size",
				    (json_int_t)items[i].bytes.size)) < 0) {
			json_decref(list);
			return NULL;
		}
	return json_pack("{s:o, s:i}", "payloads", list, version_key, FORMAT);
}

static int write_manifest(
	struct eng_pack *pack, const struct bundle_item *items, size_t count, struct sb_err *err)
{
	json_auto_t *manifest = manifest_of(items, count);
	sb_autofree char *text = NULL;
	size_t len;

	if (manifest)
		text = json_dumps(manifest, JSON_INDENT(1) | JSON_SORT_KEYS | JSON_ENSURE_ASCII);
	if (!text)
		return sb_err_nomem(err);
	len = strlen(text);
	text[len] = '\n'; /* for the NUL, which is not written */
	if (eng_pack_add(pack, manifest_name, len + 1, err) < 0)
		return -1;
	return eng_pack_write(pack, text, len + 1, err);
}

static int write_item(struct eng_pack *pack, const struct bundle_item *item, struct sb_err *err)
{
	struct bytes_sink sink = {eng_pack_write, pack};
	char name[sizeof(folder) + SHA256_HEX], hex[SHA256_HEX];

	snprintf(name, sizeof(name), "%s%s", folder, item->sha256);
	if (eng_pack_add(pack, name, item->bytes.size, err) < 0 ||
		bytes_copy(&item->bytes, item->path, &sink, hex, err) < 0)
		return -1;
	return check_hex(item, hex, err);
}

static void free_pack(struct eng_pack **pack)
{
	eng_pack_free(*pack);
}

int bundle_write(
	int fd, const char *path, struct bundle_item *items, size_t count, struct sb_err *err)
{
	sb_auto(free_pack) struct eng_pack *pack = NULL;

	if (eng_pack_new(fd, path, &pack, err) < 0)
		return -1;
	qsort(items, count, sizeof(*items), by_name);
	if (write_manifest(pack, items, count, err) < 0)
		return -1;
	qsort(items, count, sizeof(*items), by_digest);
	for (size_t i = 0; i < count; i++)
		if (!(i && !by_digest(&items[i - 1], &items[i])) &&
			write_item(pack, &items[i], err) < 0)
			return -1;
	return eng_pack_finish(pack, err);
}
