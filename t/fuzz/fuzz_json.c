/* SPDX-License-Identifier: MIT */
/* Any bytes as an engine's JSON: an inspected container, a file's status, and the getters. */
#include "engine/client.h"

#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_container(enum eng_kind kind, json_t *doc)
{
	sb_auto(eng_container_release) struct eng_container c = ENG_CONTAINER_INIT;
	struct sb_err err = SB_ERR_INIT;

	if (eng_container_parse(kind, doc, &c, &err) < 0) {
		if (err.code == SB_OK)
			abort();
		return;
	}
	if (strlen(c.id) != 64 || !c.name || !c.state || !c.image_id || !c.image || !c.user ||
		!c.path || !c.arch || (c.labels && !json_is_object(c.labels)))
		abort();
	for (size_t i = 0; i < c.mount_count; i++)
		if (!c.mounts[i].destination || !c.mounts[i].options)
			abort();
	if (eng_container_need_running(&c, &err) == 0 && strcmp(c.state, "running") != 0)
		abort();
}

static void check_stat(const char *header)
{
	struct sb_err err = SB_ERR_INIT;
	struct eng_stat st;

	memset(&st, 0xa5, sizeof(st));
	if (eng_stat_parse(header, &st, &err) < 0) {
		if (err.code == SB_OK)
			abort();
		return;
	}
	if (st.mode > 07777 || st.type > ENG_SPECIAL || !memchr(st.link, 0, sizeof(st.link)) ||
		(st.link[0] && st.type != ENG_LINK))
		abort();
}

static void check_getters(const json_t *doc, const char *path)
{
	const json_t *at = sb_json_at(doc, path);

	if ((sb_json_str(doc, path) != NULL) != json_is_string(at) ||
		(sb_json_bool(doc, path) && !json_is_true(at)) ||
		(!json_is_integer(at) && sb_json_int(doc, path, 5) != 5))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	sb_autofree char *text = malloc(size + 1);
	struct sb_err err = SB_ERR_INIT;
	json_auto_t *doc = NULL;
	const char *path;

	if (!text)
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	check_stat(text);
	doc = sb_json_parse(text, size, "the input", &err);
	if (!doc != (err.code != SB_OK))
		abort();
	path = strchr(text, '"');
	check_getters(doc, path ? path + 1 : text);
	if (!doc)
		return 0;
	check_container(ENG_DOCKER, doc);
	check_container(ENG_PODMAN, doc);
	return 0;
}
