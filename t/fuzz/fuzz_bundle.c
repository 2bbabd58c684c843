/* SPDX-License-Identifier: MIT */
/*
 * Any bytes as a bundle. Header checksums are put right first: otherwise hardly any input would
 * come further than to them.
 */
#include "payloads/bundle.h"
#include "t/fuzz/check.h"
#include "t/fuzz/tar.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_item(const struct bundle *bundle, const struct bundle_item *item, size_t size)
{
	struct sb_err err = SB_ERR_INIT;

	if (item->bytes.offset < BLOCK || item->bytes.offset > size ||
		item->bytes.size > size - item->bytes.offset)
		abort();
	if (!bundle_find(bundle, item->sha256))
		abort();
	if (bundle_check(item, &err) < 0)
		check_error(&err);
}

static void read_bundle(const void *data, size_t size)
{
	sb_auto(bundle_release) struct bundle bundle = BUNDLE_INIT;
	sb_autoclose int fd = memfd_create("bundle", MFD_CLOEXEC);
	struct sb_err err = SB_ERR_INIT;
	char path[64];

	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		return;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (bundle_open(path, &bundle, &err) < 0) {
		check_error(&err);
		return;
	}
	for (size_t i = 0; i < bundle.count; i++)
		check_item(&bundle, &bundle.items[i], size);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	sb_autofree unsigned char *tar = malloc(size ? size : 1);

	read_bundle(data, size);
	if (!tar || !size)
		return 0;
	memcpy(tar, data, size);
	tar_mend(tar, size);
	read_bundle(tar, size);
	return 0;
}
