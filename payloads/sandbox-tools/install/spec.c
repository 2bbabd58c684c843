/* SPDX-License-Identifier: MIT */
/* Requests and receipts of install, uninstall and status. */
#include "payloads/sandbox-tools/install/spec.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

#include "payloads/lib/base.h"
#include "payloads/lib/io.h"
#include "payloads/lib/name.h"
#include "payloads/sandbox-tools/cli.h"

#define DEFAULT_TIMEOUT_MS 15000
#define MAX_TIMEOUT_MS 600000
#define READ_MS 10000

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

static bool are_args(const json_t *args)
{
	json_t *value;
	size_t i;

	if (!args)
		return true;
	if (!json_is_array(args) || json_array_size(args) > SPEC_ARGS_MAX)
		return false;
	json_array_foreach (args, i, value) {
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
	json_t *value = json_object_get(spec->doc, "timeout_ms");
	json_int_t ms = json_is_integer(value) ? json_integer_value(value) : DEFAULT_TIMEOUT_MS;

	return io_in(ms < 1 ? 1 : MIN(ms, MAX_TIMEOUT_MS));
}

static bool is_when(const char *word)
{
	return word && (strcmp(word, "always") == 0 || strcmp(word, "home") == 0 ||
			       strcmp(word, "current") == 0);
}

static bool is_absent_or_kept(const struct spec *spec)
{
	return !json_object_get(spec->doc, "keep") || (spec->keep && name_is_kept(spec->keep));
}

static int check(const struct spec *spec, enum spec_kind kind, struct fail *fail)
{
	bool brings = kind == SPEC_INSTALL || kind == SPEC_GRAFT;
	const struct {
		const char *name;
		bool good;
	} members[] = {
		{"nonce", is_hex(spec->nonce, 32)},
		{"home", is_path(spec->home, 1)},
		{"sha256", !brings || is_hex(spec->sha256, 64)},
		{"staged", spec->staged ? name_is_delivery(spec->staged) : kind != SPEC_GRAFT},
		{"when", kind != SPEC_GRAFT || is_when(spec->when)},
		{"keep", is_absent_or_kept(spec)},
		{"path", (kind != SPEC_INSTALL && !spec->path) || is_path(spec->path, 2)},
		{"cwd", !spec->cwd || spec->cwd[0] == '/'},
		{"links", are_links(spec->links)},
		{"start", are_args(spec->start)},
		{"born", !spec->born || is_hex(spec->born, 32)},
		{"discard", are_names(spec->discard)},
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
	spec->nonce = get(spec, "nonce");
	spec->home = get(spec, "home");
	spec->sha256 = get(spec, "sha256");
	spec->staged = get(spec, "staged");
	spec->beside = json_is_true(json_object_get(spec->doc, "beside"));
	spec->when = get(spec, "when");
	spec->keep = get(spec, "keep");
	spec->path = get(spec, "path");
	spec->cwd = get(spec, "cwd");
	spec->born = get(spec, "born");
	spec->own_home = json_is_true(json_object_get(spec->doc, "own_home"));
	spec->user_gone = json_is_true(json_object_get(spec->doc, "user_gone"));
	spec->discard = json_object_get(spec->doc, "discard");
	spec->links = json_object_get(spec->doc, "links");
	spec->start = json_object_get(spec->doc, "start");
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
	const char *code;
} codes[] = {
	{EROFS, "readonly"},
	{ENOSPC, "nospace"},
	{EDQUOT, "nospace"},
	{EAGAIN, "limit"},
	{ENOMEM, "limit"},
	{EACCES, "denied"},
	{EPERM, "denied"},
	{ETIMEDOUT, "timeout"},
	{ENOTDIR, "occupied"},
	{ELOOP, "occupied"},
	{EEXIST, "occupied"},
};

const char *receipt_code(const struct fail *fail)
{
	if (fail->code)
		return fail->code;
	for (size_t i = 0; i < ARRAY_SIZE(codes); i++)
		if (codes[i].error == fail->error)
			return codes[i].code;
	return "internal";
}

json_t *receipt_new(const struct spec *spec, int ok)
{
	const char *nonce = is_hex(spec->nonce, 32) ? spec->nonce : "";

	return json_pack("{s:i, s:s, s:b}", "sbinject", 1, "nonce", nonce, "ok", ok);
}

int receipt_print(json_t *receipt, int status)
{
	static const char broken[] =
		"{\"sbinject\":1,\"nonce\":\"\",\"ok\":false,\"code\":\"internal\","
		"\"what\":\"out of memory\"}\n";
	char *text = json_dumps(receipt, JSON_ENSURE_ASCII | JSON_COMPACT);
	struct fail fail = FAIL_INIT;
	int r;

	if (text && strlen(text) + 1 > RECEIPT_MAX) {
		free(text);
		json_object_del(receipt, "path");
		json_object_del(receipt, "what");
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
		json_object_set_new(receipt, "code", json_string(receipt_code(fail)));
		json_object_set_new(receipt, "what", json_string(what));
	}
	return receipt_print(receipt, 1);
}
