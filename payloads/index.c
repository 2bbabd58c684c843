/* SPDX-License-Identifier: MIT */
#include "payloads/index.h"

#include "engine/download.h"
#include "engine/json.h"
#include "engine/log.h"
#include "payloads/upstream.h"

#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* ---- pip's files ---- */

/* "index-url = URL" or "index_url: URL"; the value, to be cut at the line's end; else NULL. */
static const char *value_of(const char *line)
{
	static const char key[] = "index-url";
	size_t i = 0;

	line += strspn(line, " \t");
	while (key[i] && (line[i] == '_' ? '-' : tolower((unsigned char)line[i])) == key[i])
		i++;
	if (key[i])
		return NULL;
	line += i + strspn(line + i, " \t");
	if (*line != '=' && *line != ':')
		return NULL;
	return line + 1 + strspn(line + 1, " \t");
}

/* Sections whose settings hold for what we do: all commands, and that which fetches. */
static bool is_ours(const char *line)
{
	return !strncasecmp(line, "[global]", 8) || !strncasecmp(line, "[install]", 9) ||
	       !strncasecmp(line, "[download]", 10);
}

static int parse_file(const char *text, struct sb_buf *ret, struct sb_err *err)
{
	bool ours = false;

	for (const char *line = text; *line; line += *line == '\n') {
		size_t len = strcspn(line, "\n");
		const char *value = ours ? value_of(line) : NULL;

		if (*line == '[')
			ours = is_ours(line);
		if (value && value < line + len) {
			size_t end = (size_t)(line + len - value);

			while (end && isspace((unsigned char)value[end - 1]))
				end--;
			if (end)
				return sb_buf_add(ret, value, end, err);
		}
		line += len;
	}
	return 1;
}

/* 1: it does not name one. */
static int read_file(const char *dir, const char *name, struct sb_buf *ret, struct sb_err *err)
{
	sb_autobuf struct sb_buf text = SB_BUF_INIT(SB_MAX_CONFIG);
	char path[PATH_MAX];
	int missing;

	if (!dir || !*dir || snprintf(path, sizeof(path), "%s%s", dir, name) >= PATH_MAX)
		return 1;
	missing = sb_buf_read_file(&text, path, err);
	if (missing)
		return missing;
	missing = parse_file(sb_buf_str(&text), ret, err);
	if (!missing)
		sb_log(SB_NOTE, "the package index is that of '%s'", path);
	return missing;
}

/* pip reads all, from the last to the first, and what comes later counts. */
static int read_files(struct sb_buf *ret, struct sb_err *err)
{
	const char *given = getenv("PIP_CONFIG_FILE");
	const struct {
		const char *dir, *name;
	} files[] = {
		{given, ""},
		{getenv("VIRTUAL_ENV"), "/pip.conf"},
		{getenv("XDG_CONFIG_HOME"), "/pip/pip.conf"},
		{getenv("HOME"), "/.config/pip/pip.conf"},
		{getenv("HOME"), "/.pip/pip.conf"},
		{"/etc", "/pip.conf"},
		{"/etc/xdg", "/pip/pip.conf"},
	};
	int missing = 1;

	/* pip's own word for no files at all. */
	if (given && !strcmp(given, "/dev/null"))
		return 1;
	for (size_t i = 0; i < SB_ARRAY_SIZE(files) && missing > 0; i++)
		missing = read_file(files[i].dir, files[i].name, ret, err);
	return missing;
}

int index_url(const char *given, struct sb_buf *ret, struct sb_err *err)
{
	const char *variable = getenv("PIP_INDEX_URL");
	int missing;

	if (given)
		return sb_buf_adds(ret, given, err);
	if (variable && *variable)
		return sb_buf_adds(ret, variable, err);
	missing = read_files(ret, err);
	if (missing <= 0)
		return missing;
	return sb_err_set(err, SB_USAGE,
		"no package index is known: give --index URL, set PIP_INDEX_URL, or index-url in "
		"pip.conf; or fetch from a mirror (--mirror) or from what is here (--from)");
}

/* ---- the project's page ---- */

/* The last part of a link's path is the file's name. */
static bool leads_to(const char *link, size_t len, const char *file)
{
	size_t name = strlen(file);

	for (size_t i = 0; i < len; i++)
		if (link[i] == '#' || link[i] == '?')
			len = i;
	return len >= name && !strncmp(link + len - name, file, name) &&
	       (len == name || link[len - name - 1] == '/');
}

static int join(
	const char *url, const char *link, size_t len, struct sb_buf *ret, struct sb_err *err)
{
	sb_autobuf struct sb_buf text = SB_BUF_INIT(SB_MAX_URL);

	while (len) {
		static const char amp[] = "&amp;";
		bool escaped = len >= 5 && !strncmp(link, amp, 5);
		size_t step = escaped ? 5 : 1;

		if (sb_buf_add(&text, link, 1, err) < 0)
			return -1;
		link += step;
		len -= step;
	}
	return eng_url_join(url, sb_buf_str(&text), ret, err);
}

/* Every value of an attribute href, which is all that matters of such a page. */
static int parse_html(
	const char *text, const char *url, const char *file, struct sb_buf *ret, struct sb_err *err)
{
	for (const char *at = strcasestr(text, "href"); at; at = strcasestr(at, "href")) {
		const char *value;
		size_t len;

		at += strlen("href");
		value = at + strspn(at, " \t\r\n");
		if (*value != '=')
			continue;
		value += 1 + strspn(value + 1, " \t\r\n");
		if (*value != '"' && *value != '\'')
			continue;
		len = strcspn(value + 1, *value == '"' ? "\"" : "'");
		if (leads_to(value + 1, len, file))
			return join(url, value + 1, len, ret, err);
		at = value + 1 + len;
	}
	return 1;
}

static int parse_json(const struct sb_buf *page, const char *url, const char *file,
	struct sb_buf *ret, struct sb_err *err)
{
	char shown[ENG_URL_TEXT_SIZE], what[ENG_URL_TEXT_SIZE + 20];
	json_auto_t *doc = NULL;
	const json_t *one;
	size_t i;

	snprintf(what, sizeof(what), "the page '%s'", eng_url_text(url, shown));
	doc = sb_json_parse(page->data, page->len, what, err);
	if (!doc)
		return -1;
	json_array_foreach (sb_json_at(doc, "files"), i, one) {
		const char *name = sb_json_str(one, "filename"), *link = sb_json_str(one, "url");

		if (name && link && !strcmp(name, file))
			return eng_url_join(url, link, ret, err);
	}
	return 1;
}

int index_parse(const struct sb_buf *page, const char *url, const char *file, struct sb_buf *ret,
	struct sb_err *err)
{
	const char *text = sb_buf_str(page);

	if (text[strspn(text, " \t\r\n")] == '{')
		return parse_json(page, url, file, ret, err);
	return parse_html(text, url, file, ret, err);
}

static int add_piece(void *ctx, const void *data, size_t len, struct sb_err *err)
{
	return sb_buf_add(ctx, data, len, err);
}

int index_find(
	const char *index, const char *file, int stall_s, struct sb_buf *ret, struct sb_err *err)
{
	sb_auto(eng_download_reply_release) struct eng_download_reply reply =
		ENG_DOWNLOAD_REPLY_INIT;
	sb_autobuf struct sb_buf url = SB_BUF_INIT(SB_MAX_URL), page = SB_BUF_INIT(SB_MAX_PAGE);
	char shown[ENG_URL_TEXT_SIZE];
	size_t len = strlen(index);
	struct eng_download what = {
		.accept = "application/vnd.pypi.simple.v1+json, text/html;q=0.1",
		.max = SB_MAX_PAGE,
		.stall_s = stall_s,
		.sink = add_piece,
		.ctx = &page,
	};

	if (sb_buf_addf(&url, err, "%s%s" UPSTREAM_PROJECT "/", index,
		    len && index[len - 1] == '/' ? "" : "/") < 0)
		return -1;
	what.url = url.data;
	if (eng_download(&what, &reply, err) < 0)
		return -1;
	if (reply.status != 200)
		return sb_err_set(err, SB_FAILED,
			"the package index has no page '%s': the server said %d",
			eng_url_text(url.data, shown), reply.status);
	return index_parse(&page, sb_buf_str(&reply.url), file, ret, err);
}
