/* SPDX-License-Identifier: MIT */
#include "payloads/receipt.h"

#include "engine/text.h"

#include <stdio.h>
#include <string.h>

static const struct {
	const char *word;
	enum sb_code code;
} failures[] = {
	{"readonly", SB_UNSUPPORTED},
	{"noexec", SB_UNSUPPORTED},
	{"nospace", SB_UNSUPPORTED},
	{"limit", SB_UNSUPPORTED},
	{"occupied", SB_UNSUPPORTED},
	{"denied", SB_UNSUPPORTED},
	{"digest", SB_MISMATCH},
	{"start", SB_NO_SERVICE},
	{"timeout", SB_NO_SERVICE},
	{"busy", SB_NO_SERVICE},
	{"internal", SB_FAILED},
};

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
	const char *word = sb_json_str(doc, "code"), *what = sb_json_str(doc, "what");

	for (size_t i = 0; word && what && i < SB_ARRAY_SIZE(failures); i++)
		if (!strcmp(word, failures[i].word))
			return sb_err_set(err, met_limit(what) ? SB_UNSUPPORTED : failures[i].code,
				"%.400s (%s)", what, word);
	return garbled("it reports an unknown failure", err);
}

json_t *receipt_parse(
	const char *line, size_t len, const char *nonce, bool *ret_ours, struct sb_err *err)
{
	json_auto_t *doc = json_loadb(line, len, JSON_REJECT_DUPLICATES, NULL);
	const char *said = sb_json_str(doc, "nonce");
	int ret = 0;

	*ret_ours = false;
	if (!json_is_object(doc) || sb_json_int(doc, "sbinject", 0) != PAYLOAD_WIRE)
		ret = garbled("its answer is not a receipt", err);
	else if (!said || strcmp(said, nonce) != 0)
		ret = garbled("its receipt is not of this run", err);
	else
		*ret_ours = true;
	if (*ret_ours && json_is_false(sb_json_at(doc, "ok")))
		ret = read_failure(doc, err);
	else if (*ret_ours && !sb_json_bool(doc, "ok"))
		ret = garbled("its receipt tells no outcome", err);
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

static const struct {
	const char *word;
	enum deliver_was was;
} was_words[] = {
	{"absent", WAS_ABSENT}, {"same", WAS_SAME}, {"other", WAS_OTHER}, {"user", WAS_USERS}};

static int read_was(const json_t *doc, enum deliver_was *ret, struct sb_err *err)
{
	const char *word = sb_json_str(doc, "was");

	for (size_t i = 0; word && i < SB_ARRAY_SIZE(was_words); i++)
		if (!strcmp(word, was_words[i].word)) {
			*ret = was_words[i].was;
			return 0;
		}
	return garbled("its receipt is incomplete", err);
}

static const char *const placed_words[] = {
	[PLACED_FILE] = "file", [PLACED_LINK] = "link", [PLACED_NONE] = "none"};

const char *deliver_placed_word(enum deliver_placed placed)
{
	return placed_words[placed];
}

/* Releases before these words always placed a file. */
static int read_placed(const json_t *doc, enum deliver_placed *ret, struct sb_err *err)
{
	const char *word = sb_json_str(doc, "placed");

	*ret = PLACED_FILE;
	if (!sb_json_at(doc, "placed"))
		return 0;
	for (unsigned i = 0; word && i < SB_ARRAY_SIZE(placed_words); i++)
		if (!strcmp(word, placed_words[i])) {
			*ret = i;
			return 0;
		}
	return garbled("its receipt is incomplete", err);
}

/* NAME.sbinject-aside-<8 hex>, of an absolute path. */
static bool is_aside(const char *path)
{
	static const char mark[] = ".sbinject-aside-";
	size_t len = strlen(path), tail = strlen(mark) + 8;
	const char *end = len > tail ? path + len - tail : "";

	return *path == '/' && path + 1 != end && len < DELIVER_PATH_SIZE &&
	       !strncmp(end, mark, strlen(mark)) &&
	       strspn(end + strlen(mark), "0123456789abcdef") == 8;
}

static int read_aside(const json_t *doc, struct deliver_receipt *ret, struct sb_err *err)
{
	const json_t *list = sb_json_at(doc, "aside"), *path;
	size_t i;

	ret->aside_count = 0;
	if (list && (!json_is_array(list) || json_array_size(list) > DELIVER_ASIDE_MAX))
		return garbled("its receipt is incomplete", err);
	json_array_foreach (list, i, path) {
		if (!json_is_string(path) || !is_aside(json_string_value(path)))
			return garbled("its receipt is incomplete", err);
		strcpy(ret->aside[ret->aside_count++], json_string_value(path));
	}
	return 0;
}

int receipt_read_install(
	const json_t *doc, const char *sha256, struct deliver_receipt *ret, struct sb_err *err)
{
	if (read_was(doc, &ret->was, err) < 0 || read_aside(doc, ret, err) < 0)
		return -1;
	if (ret->was == WAS_USERS)
		return 0;
	if (copy_digest(ret->sha256, doc, "sha256", err) < 0 ||
		copy_word(ret->release, sizeof(ret->release), doc, "release", plain, err) < 0 ||
		read_placed(doc, &ret->placed, err) < 0)
		return -1;
	if (strcmp(ret->sha256, sha256) != 0)
		return sb_err_set(err, SB_MISMATCH,
			"the service that runs is not the one delivered: it reports sha256 %.12s…, "
			"delivered was %.12s…",
			ret->sha256, sha256);
	ret->started = sb_json_bool(doc, "started");
	ret->pid = sb_json_int(doc, "pid", 0);
	ret->uid = sb_json_int(doc, "uid", -1);
	return 0;
}

int receipt_read_graft(const json_t *doc, char current[65], struct sb_err *err)
{
	current[0] = '\0';
	if (sb_json_at(doc, "current") && copy_digest(current, doc, "current", err) < 0)
		return -1;
	if (!json_is_boolean(sb_json_at(doc, "grafted")))
		return garbled("its receipt is incomplete", err);
	return !sb_json_bool(doc, "grafted");
}

int receipt_read_status(const json_t *doc, struct deliver_status *ret, struct sb_err *err)
{
	if (copy_word(ret->release, sizeof(ret->release), doc, "release", plain, err) < 0 ||
		read_placed(doc, &ret->placed, err) < 0)
		return -1;
	ret->path_ok = sb_json_bool(doc, "path_ok");
	ret->running = sb_json_bool(doc, "server.running");
	ret->can_switch = sb_json_bool(doc, "server.can_switch_user");
	ret->pid = sb_json_int(doc, "server.pid", 0);
	ret->uid = sb_json_int(doc, "server.uid", -1);
	ret->uptime_ms = sb_json_int(doc, "server.uptime_ms", 0);
	if (ret->running)
		return copy_digest(ret->sha256, doc, "server.sha256", err);
	return 0;
}
