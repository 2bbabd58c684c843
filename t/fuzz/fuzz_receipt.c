/* SPDX-License-Identifier: MIT */
/* Any bytes as the answer of the program in a container. */
#include "payloads/receipt.h"

#include "payloads/lib/wire.h"
#include "t/fuzz/check.h"

#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char sha[] = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

static void check_word(const char *word, size_t size)
{
	if (!memchr(word, 0, size))
		abort();
	for (; *word; word++)
		if (*word <= ' ' || *word > '~')
			abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct sb_err err = SB_ERR_INIT, err_install = SB_ERR_INIT, err_status = SB_ERR_INIT;
	struct sb_err err_graft = SB_ERR_INIT;
	char current[65];
	bool ours;
	json_auto_t *doc = receipt_parse((const char *)data, size, "n", &ours, &err);
	struct receipt_install receipt = {0};
	struct receipt_status status = {0};

	if (!doc) {
		check_error(&err);
		return 0;
	}
	if (err.code != SB_OK)
		abort();
	if (receipt_read_install(doc, sha, &receipt, &err_install) < 0) {
		check_error(&err_install);
	} else if (receipt.was != WAS_USERS) {
		if (strcmp(receipt.sha256, sha) != 0)
			abort();
		check_word(receipt.release, sizeof(receipt.release));
	}
	if (receipt_read_status(doc, &status, &err_status) < 0) {
		check_error(&err_status);
	} else {
		check_word(status.release, sizeof(status.release));
		check_word(status.sha256, sizeof(status.sha256));
	}
	if (receipt_read_graft(doc, current, &err_graft) < 0)
		check_error(&err_graft);
	else
		check_word(current, sizeof(current));
	return 0;
}
