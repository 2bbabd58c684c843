/* SPDX-License-Identifier: MIT */
/*
 * Any bytes as the archive of a tree. Header checksums are put right first: otherwise hardly any
 * input would come further than to them. What can be examined can be sent, and nothing else.
 */
#include "payloads/lib/treesum.h"
#include "payloads/treefile.h"
#include "t/fuzz/check.h"
#include "t/fuzz/tar.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void need(bool truth)
{
	if (!truth)
		abort();
}

/* The end of what was sent. */
struct tail {
	char text[16];
};

static int take(void *ctx, const void *data, size_t len, struct sb_err *err)
{
	struct tail *tail = ctx;
	size_t n = len < sizeof(tail->text) ? len : sizeof(tail->text);

	(void)err;
	memmove(tail->text, tail->text + n, sizeof(tail->text) - n);
	memcpy(tail->text + sizeof(tail->text) - n, (const char *)data + len - n, n);
	return 0;
}

static void check_sending(const struct treefile *file, const struct sb_err *why)
{
	static const char end[] = "{\"end\":true}\n";
	struct tail tail = {.text = ""};
	const struct treefile_out out = {take, &tail};
	struct sb_err err = SB_ERR_INIT;
	int sent = treefile_send(file, &out, &err);

	need((sent < 0) == (why->code != SB_OK) && !strcmp(err.text, why->text));
	need(sent < 0 || !memcmp(tail.text + sizeof(tail.text) - strlen(end), end, strlen(end)));
}

static void read_tree(const void *data, size_t size, const char *launcher)
{
	sb_autoclose int fd = memfd_create("tree", MFD_CLOEXEC);
	const struct treefile file = {
		.source = {"x", fd, 0, size}, .launcher = launcher, .arch = "amd64"};
	struct treefile_facts facts;
	struct sb_err err = SB_ERR_INIT;

	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		return;
	if (treefile_survey(&file, &facts, &err) < 0)
		check_error(&err);
	else
		need(facts.files <= TREESUM_MEMBERS_MAX && facts.bytes <= TREEFILE_BYTES_MAX);
	check_sending(&file, &err);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	sb_autofree unsigned char *tar = malloc(size ? size : 1);

	read_tree(data, size, NULL);
	if (!tar || !size)
		return 0;
	memcpy(tar, data, size);
	tar_mend(tar, size);
	read_tree(tar, size, NULL);
	read_tree(tar, size, "bin/run");
	return 0;
}
