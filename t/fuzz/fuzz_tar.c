/* SPDX-License-Identifier: MIT */
/*
 * Any bytes as the archive in which an engine sends a file. Header checksums are put right first:
 * otherwise hardly any input would come further than to them.
 */
#include "engine/tar.h"
#include "t/fuzz/tar.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_first(const void *tar, size_t len, size_t max_bytes)
{
	sb_autobuf struct sb_buf out = SB_BUF_INIT(max_bytes);
	enum eng_type type = ENG_SPECIAL;
	struct sb_err err = SB_ERR_INIT;
	int rc = eng_tar_first(tar, len, max_bytes, &type, &out, &err);

	if ((rc < 0) != (err.code != SB_OK) || out.len > max_bytes)
		abort();
	if (out.len && (rc != 0 || type != ENG_FILE))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	sb_autofree unsigned char *tar = malloc(size ? size : 1);

	read_first(data, size, 4096);
	if (!tar || !size)
		return 0;
	memcpy(tar, data, size);
	tar_mend(tar, size);
	read_first(tar, size, 1 + size % 600);
	return 0;
}
