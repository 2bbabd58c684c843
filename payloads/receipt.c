/* SPDX-License-Identifier: MIT */
#include "payloads/receipt.h"

#include "engine/text.h"

#include <stdio.h>
#include <string.h>

static const char *const failure_words[] = {WIRE_FAILURES(WIRE_WORD)};

static const enum sb_code failure_codes[] = {
	[FAIL_INTERNAL] = SB_FAILED,
	[FAIL_READONLY] = SB_UNSUPPORTED,
	[FAIL_NOEXEC] = SB_UNSUPPORTED,
	[FAIL_NOSPACE] = SB_UNSUPPORTED,
	[FAIL_LIMIT] = SB_UNSUPPORTED,
	[FAIL_OCCUPIED] = SB_UNSUPPORTED,
	[FAIL_DENIED] = SB_UNSUPPORTED,
	[FAIL_DIGEST] = SB_MISMATCH,
	[FAIL_START] = SB_NO_SERVICE,
	[FAIL_TIMEOUT] = SB_NO_SERVICE,
	[FAIL_BUSY] = SB_NO_SERVICE,
};
_Static_assert(SB_ARRAY_SIZE(failure_codes) == SB_ARRAY_SIZE(failure_words), "one for each");

/* The number of a word; -1 if it is none of them. */
static int find_word(const char *const *words, size_t count, const char *word)
{
	for (size_t i = 0; word && i < count; i++)
		if (!strcmp(words[i], word))
			return (int)i;
	return -1;
}

static int garbled(const char *what, struct sb_err *err)
{
	return sb_err_set(
		err, SB_MISMATCH, "what answered in the container is not our program: %s", what);
}

/* Of processes, which also the service that is started can meet. */
static bool met_limit(const char *what)
{
	return strcasestr(what, "resource temporarily unavailable") != NULL;
}

static int read_failure(const json_t *doc, struct sb_err *err)
{
	const char *word = sb_json_str(doc, WIRE_CODE), *what = sb_json_str(doc, WIRE_WHAT);
	int failure = find_word(failure_words, SB_ARRAY_SIZE(failure_words), word);

	if (failure < 0 || !what)
		return garbled("it reports an unknown failure", err);
	return sb_err_set(err, met_limit(what) ? SB_UNSUPPORTED : failure_codes[failure],
		"%.400s (%s)", what, word);
}

json_t *receipt_parse(
	const char *line, size_t len, const char *nonce, bool *ret_ours, struct sb_err *err)
{
	json_auto_t *doc = json_loadb(line, len, JSON_REJECT_DUPLICATES, NULL);
	const char *said = sb_json_str(doc, WIRE_NONCE);
	int ret = 0;

	*ret_ours = false;
	if (!json_is_object(doc) || sb_json_int(doc, WIRE_RECEIPT, 0) != WIRE_VERSION)
		ret = garbled("its answer is not a receipt", err);
	else if (!said || strcmp(said, nonce) != 0)
		ret = garbled("its receipt is not of this run", err);
	else
		*ret_ours = true;
	if (*ret_ours && json_is_false(sb_json_at(doc, WIRE_OK)))
		ret = read_failure(doc, err);
	else if (*ret_ours && !sb_json_bool(doc, WIRE_OK))
		ret = garbled("its receipt reports neither success nor failure", err);
	return ret == 0 ? sb_steal(doc) : NULL;
}

/* Copy a short text of plain characters; anything else is not from our program. */
static int copy_word(char *dst, size_t size, const json_t *doc, const char *path,
	const char *allowed, struct sb_err *err)
{
	const char *text = sb_json_str(doc, path);

	if (!text || !*text || strlen(text) >= size || strspn(text, allowed) != strlen(text))
		return garbled("its receipt is incomplete", err);
	strcpy(dst, text);
	return 0;
}

static int copy_digest(char dst[65], const json_t *doc, const char *path, struct sb_err *err)
{
	const char *text = sb_json_str(doc, path);

	if (!text || !sb_is_hex64(text))
		return garbled("its receipt is incomplete", err);
	strcpy(dst, text);
	return 0;
}

static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.+-~_";

static const char *const was_words[] = {WIRE_WERE(WIRE_WORD)};

static int read_was(const json_t *doc, enum wire_was *ret, struct sb_err *err)
{
	int was = find_word(was_words, SB_ARRAY_SIZE(was_words), sb_json_str(doc, WIRE_WAS));

	if (was < 0)
		return garbled("its receipt is incomplete", err);
	*ret = (enum wire_was)was;
	return 0;
}

static const char *const placed_words[] = {WIRE_PLACES(WIRE_WORD)};

const char *receipt_placed_word(enum wire_placed placed)
{
	return placed_words[placed];
}

/* Releases before these words always placed a file. */
static int read_placed(const json_t *doc, enum wire_placed *ret, struct sb_err *err)
{
	int placed = PLACED_FILE;

	if (sb_json_at(doc, WIRE_PLACED))
		placed = find_word(
			placed_words, SB_ARRAY_SIZE(placed_words), sb_json_str(doc, WIRE_PLACED));
	if (placed < 0)
		return garbled("its receipt is incomplete", err);
	*ret = (enum wire_placed)placed;
	return 0;
}

/* NAME.sbinject-aside-<8 hex>, of an absolute path. */
static bool is_aside(const char *path)
{
	static const char mark[] = WIRE_ASIDE_MARK;
	size_t len = strlen(path), tail = strlen(mark) + 8;
	const char *end = len > tail ? path + len - tail : "";

	return *path == '/' && path + 1 != end && len < RECEIPT_PATH_SIZE &&
	       !strncmp(end, mark, strlen(mark)) &&
	       strspn(end + strlen(mark), "0123456789abcdef") == 8;
}

static int read_aside(const json_t *doc, struct receipt_install *ret, struct sb_err *err)
{
	const json_t *list = sb_json_at(doc, WIRE_MOVED_ASIDE), *path;
	size_t i;

	ret->aside_count = 0;
	if (list && (!json_is_array(list) || json_array_size(list) > RECEIPT_ASIDE_MAX))
		return garbled("its receipt is incomplete", err);
	json_array_foreach (list, i, path) {
		if (!json_is_string(path) || !is_aside(json_string_value(path)))
			return garbled("its receipt is incomplete", err);
		strcpy(ret->aside[ret->aside_count++], json_string_value(path));
	}
	return 0;
}

static int read_missing(const json_t *doc, uint32_t *ret, struct sb_err *err)
{
	const json_t *list = sb_json_at(doc, WIRE_MISSING), *place;
	size_t i;

	*ret = 0;
	if (list && !json_is_array(list))
		return garbled("its receipt is incomplete", err);
	json_array_foreach (list, i, place) {
		json_int_t bit = json_is_integer(place) ? json_integer_value(place) : -1;

		if (bit < 0 || bit > 31)
			return garbled("its receipt is incomplete", err);
		*ret |= UINT32_C(1) << bit;
	}
	return 0;
}

int receipt_read_install(
	const json_t *doc, const char *sha256, struct receipt_install *ret, struct sb_err *err)
{
	if (read_was(doc, &ret->was, err) < 0 || read_aside(doc, ret, err) < 0)
		return -1;
	if (ret->was == WAS_USERS || ret->was == WAS_KIND)
		return 0;
	if (copy_digest(ret->sha256, doc, WIRE_SHA256, err) < 0 ||
		copy_word(ret->release, sizeof(ret->release), doc, WIRE_RELEASE, plain, err) < 0 ||
		read_placed(doc, &ret->placed, err) < 0 ||
		read_missing(doc, &ret->missing, err) < 0)
		return -1;
	if (strcmp(ret->sha256, sha256) != 0)
		return sb_err_set(err, SB_MISMATCH,
			"the service that runs is not the one delivered: it reports sha256 %.12s…, "
			"delivered was %.12s…",
			ret->sha256, sha256);
	ret->started = sb_json_bool(doc, WIRE_STARTED);
	ret->pid = sb_json_int(doc, WIRE_PID, 0);
	ret->uid = sb_json_int(doc, WIRE_UID, -1);
	return 0;
}

static uint64_t read_count(const json_t *doc, const char *member)
{
	long long count = sb_json_int(doc, member, 0);

	return count > 0 ? (uint64_t)count : 0;
}

int receipt_read_tree(
	const json_t *doc, const char *tree, struct receipt_tree *ret, struct sb_err *err)
{
	struct receipt_install common;

	*ret = (struct receipt_tree){.was = WAS_SAME};
	if (read_was(doc, &ret->was, err) < 0 || read_aside(doc, &common, err) < 0)
		return -1;
	if (ret->was == WAS_USERS || ret->was == WAS_KIND)
		return 0;
	if (copy_digest(ret->tree, doc, WIRE_TREE, err) < 0)
		return -1;
	if (strcmp(ret->tree, tree) != 0)
		return sb_err_set(err, SB_MISMATCH,
			"the tree in the container is not the one delivered: it has the digest "
			"%.12s…, delivered was %.12s…",
			ret->tree, tree);
	ret->files = read_count(doc, WIRE_FILES);
	ret->bytes = read_count(doc, WIRE_BYTES);
	if (common.aside_count)
		strcpy(ret->aside, common.aside[0]);
	return 0;
}

int receipt_read_graft(const json_t *doc, char current[65], struct sb_err *err)
{
	current[0] = '\0';
	if (sb_json_at(doc, WIRE_CURRENT) && copy_digest(current, doc, WIRE_CURRENT, err) < 0)
		return -1;
	if (!json_is_boolean(sb_json_at(doc, WIRE_GRAFTED)))
		return garbled("its receipt is incomplete", err);
	return !sb_json_bool(doc, WIRE_GRAFTED);
}

/* Printable, because it is shown. */
static int copy_shown(char *dst, size_t size, const char *text, struct sb_err *err)
{
	if (!text || strlen(text) >= size)
		return garbled("its receipt is incomplete", err);
	sb_text_clean(dst, size, text, strlen(text));
	return 0;
}

static int read_tree_found(const json_t *item, struct receipt_tree_found *ret, struct sb_err *err)
{
	if (copy_shown(ret->path, sizeof(ret->path), sb_json_str(item, WIRE_PATH), err) < 0 ||
		copy_shown(ret->name, sizeof(ret->name), sb_json_str(item, WIRE_NAME_OF), err) < 0)
		return -1;
	ret->service = sb_json_bool(item, WIRE_SERVICE);
	ret->tree[0] = '\0';
	return json_is_null(sb_json_at(item, WIRE_TREE))
		       ? 0
		       : copy_digest(ret->tree, item, WIRE_TREE, err);
}

/* Releases before there were trees have none. */
static int read_trees(const json_t *doc, struct receipt_status *ret, struct sb_err *err)
{
	const json_t *list = sb_json_at(doc, WIRE_TREES), *item;
	size_t i;

	ret->tree_count = 0;
	if (list && (!json_is_array(list) || json_array_size(list) > RECEIPT_TREES_MAX))
		return garbled("its receipt is incomplete", err);
	json_array_foreach (list, i, item)
		if (read_tree_found(item, &ret->trees[ret->tree_count++], err) < 0)
			return -1;
	return 0;
}

int receipt_read_status(const json_t *doc, struct receipt_status *ret, struct sb_err *err)
{
	if (copy_word(ret->release, sizeof(ret->release), doc, WIRE_RELEASE, plain, err) < 0 ||
		read_placed(doc, &ret->placed, err) < 0 || read_trees(doc, ret, err) < 0)
		return -1;
	ret->path_ok = sb_json_bool(doc, WIRE_PATH_OK);
	ret->running = sb_json_bool(doc, WIRE_SERVER "." WIRE_RUNNING);
	ret->can_switch = sb_json_bool(doc, WIRE_SERVER "." WIRE_CAN_SWITCH);
	ret->pid = sb_json_int(doc, WIRE_SERVER "." WIRE_PID, 0);
	ret->uid = sb_json_int(doc, WIRE_SERVER "." WIRE_UID, -1);
	ret->uptime_ms = sb_json_int(doc, WIRE_SERVER "." WIRE_UPTIME, 0);
	if (ret->running)
		return copy_digest(ret->sha256, doc, WIRE_SERVER "." WIRE_SHA256, err);
	return 0;
}
