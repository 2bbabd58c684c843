/* SPDX-License-Identifier: MIT */
/*
 * Any bytes as what a server sends for a fetch: the page of an index, the end of a wheel, its
 * directory, and the wheel.
 */
#include "engine/download.h"
#include "engine/zip.h"
#include "payloads/index.h"
#include "t/fuzz/check.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void parse_page(const uint8_t *data, size_t size)
{
	sb_autobuf struct sb_buf page = SB_BUF_INIT(1 << 20), url = SB_BUF_INIT(SB_MAX_URL);
	struct sb_err err = SB_ERR_INIT;
	int rc;

	if (sb_buf_add(&page, data, size, &err) < 0)
		return;
	rc = index_parse(&page, "http://h/simple/p/", "f.whl", &url, &err);
	if (rc < 0)
		check_error(&err);
	else if (err.code != SB_OK || (rc == 0) != (url.len > 0))
		abort();
}

static void find_member(const uint8_t *data, size_t size)
{
	struct eng_zip_span where, span;

	if (eng_zip_find_directory(data, size, size, &where) != 0)
		return;
	if (where.from > size || where.size > size - where.from)
		abort();
	if (eng_zip_find_member(data + where.from, where.size, where.from, "a", &span) == 0 &&
		(span.from > where.from || span.size > where.from - span.from))
		abort();
}

static int count(void *ctx, const void *data, size_t len, struct sb_err *err)
{
	(void)data, (void)err;
	*(size_t *)ctx += len;
	return 0;
}

static void extract(const uint8_t *data, size_t size, bool alone)
{
	sb_autoclose int fd = memfd_create("zip", MFD_CLOEXEC);
	struct sb_err err = SB_ERR_INIT;
	size_t len = 0;
	struct eng_zip_member member = {fd, "zip", "a", alone, 10000, count, &len};
	int rc;

	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		return;
	rc = eng_zip_extract(&member, &err);
	if (rc < 0)
		check_error(&err);
	if (len > member.max || (rc > 0 && len))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char text[ENG_URL_TEXT_SIZE];
	sb_autofree char *url = strndup((const char *)data, size);

	if (url && strlen(eng_url_text(url, text)) >= sizeof(text))
		abort();
	parse_page(data, size);
	find_member(data, size);
	extract(data, size, false);
	extract(data, size, true);
	return 0;
}
