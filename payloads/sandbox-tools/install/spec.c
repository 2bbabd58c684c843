/* SPDX-License-Identifier: MIT */
/* Requests and receipts of install, uninstall and status. */
#include "payloads/lib/wire.h"
#include "payloads/sandbox-tools/install/spec.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

#include "payloads/lib/base.h"
#include "payloads/lib/io.h"
#include "payloads/lib/name.h"
#include "payloads/lib/treesum.h"
#include "payloads/sandbox-tools/cli.h"

#define DEFAULT_TIMEOUT_MS 15000
#define MAX_TIMEOUT_MS 600000
#define READ_MS 10000

#define STRING_OF(text) #text
#define STRING(macro) STRING_OF(macro)

/* ---- reading ---- */

static bool is_hex(const char *text, size_t len)
{
	return text && strlen(text) == len && strspn(text, "0123456789abcdef") == len;
}

/* Absolute, no component empty, '.' or '..', at least two of them, and no line breaks in
   messages. */
static bool is_path(const char *text, int components)
{
	const char *p = text;
	int n = 0;

	if (!text || strlen(text) > SPEC_PATH_MAX)
		return false;
	for (; *p == '/'; n++) {
		size_t len = strcspn(++p, "/");

		if (len == 0 || len > 255 || (len <= 2 && memcmp(p, "..", len) == 0))
			return false;
		for (size_t i = 0; i < len; i++)
			if ((unsigned char)p[i] < ' ' || p[i] == 127)
				return false;
		p += len;
	}
	return *p == '\0' && n >= components;
}

static bool is_home_name(const char *text)
{
	return name_is_delivery(text) || name_is_kept(text);
}

static bool are_links(const json_t *links)
{
	json_t *value;
	size_t i;

	if (!links)
		return true;
	if (!json_is_array(links) || json_array_size(links) > SPEC_LINKS_MAX)
		return false;
	json_array_foreach (links, i, value) {
		if (!is_path(json_string_value(value), 1))
			return false;
	}
	return true;
}

static bool are_names(const json_t *names)
{
	json_t *value;
	size_t i;

	if (names && (!json_is_array(names) || json_array_size(names) > SPEC_ARGS_MAX))
		return false;
	json_array_foreach (names, i, value) {
		if (!json_is_string(value) || !is_home_name(json_string_value(value)))
			return false;
	}
	return true;
}

static bool are_strings(const json_t *list, size_t most)
{
	json_t *value;
	size_t i;

	if (!list)
		return true;
	if (!json_is_array(list) || json_array_size(list) > most)
		return false;
	json_array_foreach (list, i, value) {
		if (!json_is_string(value))
			return false;
	}
	return true;
}

static const char *get(const struct spec *spec, const char *key)
{
	return json_string_value(json_object_get(spec->doc, key));
}

static int64_t get_deadline(const struct spec *spec)
{
	json_t *value = json_object_get(spec->doc, WIRE_TIMEOUT);
	json_int_t ms = json_is_integer(value) ? json_integer_value(value) : DEFAULT_TIMEOUT_MS;

	return io_in(ms < 1 ? 1 : MIN(ms, MAX_TIMEOUT_MS));
}

/* -1: none that there is. */
static int get_when(const struct spec *spec)
{
	static const char *const words[] = {WIRE_WHENS(WIRE_WORD)};
	const char *word = get(spec, WIRE_WHEN);

	for (size_t i = 0; word && i < ARRAY_SIZE(words); i++)
		if (strcmp(word, words[i]) == 0)
			return (int)i;
	return -1;
}

static bool is_absent_or_kept(const struct spec *spec)
{
	return !json_object_get(spec->doc, WIRE_KEEP) || (spec->keep && name_is_kept(spec->keep));
}

static int check(const struct spec *spec, enum spec_kind kind, struct fail *fail)
{
	bool unpacks = kind == SPEC_UNPACK;
	bool brings = kind == SPEC_INSTALL || kind == SPEC_GRAFT || unpacks;
	const struct {
		const char *name;
		bool good;
	} members[] = {
		{WIRE_NONCE, is_hex(spec->nonce, 32)},
		{WIRE_HOME, is_path(spec->home, 1)},
		{WIRE_SHA256, !brings || is_hex(spec->sha256, 64)},
		{WIRE_STAGED, spec->staged ? name_is_delivery(spec->staged) : kind != SPEC_GRAFT},
		{WIRE_WHEN, kind != SPEC_GRAFT || spec->when >= 0},
		{WIRE_KEEP, is_absent_or_kept(spec)},
		{WIRE_PATH, (kind != SPEC_INSTALL && !unpacks && !spec->path) ||
				    is_path(spec->path, unpacks ? 1 : 2)},
		{WIRE_TREE, !unpacks || is_hex(spec->tree, 64)},
		{WIRE_LAUNCHER, !spec->launcher || !treesum_unfit(spec->launcher)},
		{WIRE_CWD, !spec->cwd || spec->cwd[0] == '/'},
		{WIRE_LINKS, are_links(spec->links)},
		{WIRE_TREES, are_links(spec->trees)},
		{WIRE_START, are_strings(spec->start, SPEC_ARGS_MAX)},
		{WIRE_NEEDS, are_strings(spec->needs, SPEC_NEEDS_MAX)},
		{WIRE_BORN, !spec->born || is_hex(spec->born, 32)},
		{WIRE_DISCARD, are_names(spec->discard)},
	};

	for (size_t i = 0; i < ARRAY_SIZE(members); i++)
		if (!members[i].good)
			return fail_set(fail, "the request's '%s' is missing or malformed",
				members[i].name);
	return 0;
}

int spec_parse(
	struct spec *spec, enum spec_kind kind, const char *text, size_t len, struct fail *fail)
{
	json_error_t error;

	memset(spec, 0, sizeof(*spec));
	spec->doc = json_loadb(text, len, JSON_REJECT_DUPLICATES, &error);
	if (!json_is_object(spec->doc))
		return fail_set(fail, "the request is not a JSON object%s%s", spec->doc ? "" : ": ",
			spec->doc ? "" : error.text);
	spec->nonce = get(spec, WIRE_NONCE);
	spec->home = get(spec, WIRE_HOME);
	spec->sha256 = get(spec, WIRE_SHA256);
	spec->staged = get(spec, WIRE_STAGED);
	spec->beside = json_is_true(json_object_get(spec->doc, WIRE_BESIDE));
	spec->when = get_when(spec);
	spec->keep = get(spec, WIRE_KEEP);
	spec->path = get(spec, WIRE_PATH);
	spec->cwd = get(spec, WIRE_CWD);
	spec->born = get(spec, WIRE_BORN);
	spec->name = get(spec, WIRE_NAME_OF);
	spec->tree = get(spec, WIRE_TREE);
	spec->launcher = get(spec, WIRE_LAUNCHER);
	spec->service = json_is_true(json_object_get(spec->doc, WIRE_SERVICE));
	spec->service_only = json_is_true(json_object_get(spec->doc, WIRE_SERVICE_ONLY));
	spec->own_home = json_is_true(json_object_get(spec->doc, WIRE_OWN_HOME));
	spec->user_gone = json_is_true(json_object_get(spec->doc, WIRE_USER_GONE));
	spec->discard = json_object_get(spec->doc, WIRE_DISCARD);
	spec->trees = json_object_get(spec->doc, WIRE_TREES);
	spec->links = json_object_get(spec->doc, WIRE_LINKS);
	spec->start = json_object_get(spec->doc, WIRE_START);
	spec->needs = json_object_get(spec->doc, WIRE_NEEDS);
	spec->deadline = get_deadline(spec);
	return check(spec, kind, fail);
}

int spec_read(struct spec *spec, enum spec_kind kind, int fd, struct fail *fail)
{
	struct buf line = BUF_INIT(SPEC_LINE_MAX);
	int64_t deadline = io_in(READ_MS);
	char *end = NULL;
	int r = 0;

	memset(spec, 0, sizeof(*spec));
	while (r == 0 && !end) {
		ssize_t n = 0;

		r = buf_reserve(&line, MIN(4096, line.limit - line.len + 1));
		if (r == 0)
			r = io_wait(fd, POLLIN, deadline);
		if (r == 0)
			n = io_read(fd, line.data + line.len, line.size - line.len);
		if (n <= 0)
			break;
		end = memchr(line.data + line.len, '\n', (size_t)n);
		line.len += (size_t)n;
	}
	if (end)
		r = spec_parse(spec, kind, line.data, (size_t)(end - line.data), fail);
	else if (r < 0)
		fail_sys(fail, r, "cannot read the request");
	else
		r = fail_set(fail, "the request is not a line of JSON");
	buf_release(&line);
	return r < 0 ? -1 : 0;
}

void spec_release(struct spec *spec)
{
	json_decref(spec->doc);
	memset(spec, 0, sizeof(*spec));
}

/* ---- answering ---- */

static const struct {
	int error;
	enum wire_failure code;
} codes[] = {
	{EROFS, FAIL_READONLY},
	{ENOSPC, FAIL_NOSPACE},
	{EDQUOT, FAIL_NOSPACE},
	{EAGAIN, FAIL_LIMIT},
	{ENOMEM, FAIL_LIMIT},
	{EACCES, FAIL_DENIED},
	{EPERM, FAIL_DENIED},
	{ETIMEDOUT, FAIL_TIMEOUT},
	{ENOTDIR, FAIL_OCCUPIED},
	{ELOOP, FAIL_OCCUPIED},
	{EEXIST, FAIL_OCCUPIED},
};

const char *receipt_code(const struct fail *fail)
{
	static const char *const words[] = {WIRE_FAILURES(WIRE_WORD)};

	if (fail->code > 0 && (size_t)fail->code < ARRAY_SIZE(words))
		return words[fail->code];
	for (size_t i = 0; i < ARRAY_SIZE(codes); i++)
		if (codes[i].error == fail->error)
			return words[codes[i].code];
	return words[FAIL_INTERNAL];
}

json_t *receipt_new(const struct spec *spec, int ok)
{
	const char *nonce = is_hex(spec->nonce, 32) ? spec->nonce : "";

	return json_pack(
		"{s:i, s:s, s:b}", WIRE_RECEIPT, WIRE_VERSION, WIRE_NONCE, nonce, WIRE_OK, ok);
}

void receipt_put_was(json_t *receipt, enum wire_was was)
{
	static const char *const words[] = {WIRE_WERE(WIRE_WORD)};

	json_object_set_new(receipt, WIRE_WAS, json_string(words[was]));
}

int receipt_print(json_t *receipt, int status)
{
	static const char broken[] = "{\"" WIRE_RECEIPT "\":" STRING(
		WIRE_VERSION) ",\"" WIRE_NONCE "\":\"\",\"" WIRE_OK "\":false,\"" WIRE_CODE
			      "\":\"internal\",\"" WIRE_WHAT "\":\"out of memory\"}\n";
	char *text = json_dumps(receipt, JSON_ENSURE_ASCII | JSON_COMPACT);
	struct fail fail = FAIL_INIT;
	int r;

	if (text && strlen(text) + 1 > RECEIPT_MAX) {
		free(text);
		json_object_del(receipt, WIRE_PATH);
		json_object_del(receipt, WIRE_WHAT);
		text = json_dumps(receipt, JSON_ENSURE_ASCII | JSON_COMPACT);
	}
	json_decref(receipt);
	if (!text) {
		io_write_full(1, broken, sizeof(broken) - 1, IO_NEVER);
		return 1;
	}
	/* one write, so that the reader never sees half a line */
	text[strlen(text)] = '\n';
	r = io_write_full(1, text, strcspn(text, "\n") + 1, IO_NEVER);
	free(text);
	if (r < 0) {
		fail_sys(&fail, r, "cannot write the receipt");
		return cli_complain(&fail);
	}
	return status;
}

/* Paths and error texts may hold any bytes; JSON may not. */
static void make_printable(char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text < ' ' || (unsigned char)*text > '~')
			*text = '?';
}

int receipt_fail(const struct spec *spec, const struct fail *fail)
{
	json_t *receipt = receipt_new(spec, 0);
	char what[sizeof(fail->text)];

	memcpy(what, fail->text, sizeof(what));
	make_printable(what);
	if (receipt) {
		json_object_set_new(receipt, WIRE_CODE, json_string(receipt_code(fail)));
		json_object_set_new(receipt, WIRE_WHAT, json_string(what));
	}
	return receipt_print(receipt, 1);
}
