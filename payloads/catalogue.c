/* SPDX-License-Identifier: MIT */
#include "payloads/catalogue.h"

#include "payloads/lib/sha256.h"

#include <string.h>

const char payload_release[] = SB_RELEASE;

/* embed.S, written by embed.sh at build time: PAYLOAD(arch, sha256) per embedded program. */
#define PAYLOAD(arch, sha256)                               \
	extern const unsigned char payload_##arch##_data[]; \
	extern const size_t payload_##arch##_size;
#include "payload_list.inc"
#undef PAYLOAD

static struct payload table[] = {
#define PAYLOAD(arch, sha256) {"tools-" #arch, #arch, payload_##arch##_data, 0, sha256},
#include "payload_list.inc"
#undef PAYLOAD
};

/* The sizes are not constants to the compiler. */
__attribute__((constructor)) static void set_sizes(void)
{
	struct payload *next = table;

#define PAYLOAD(arch, sha256) (next++)->size = payload_##arch##_size;
#include "payload_list.inc"
#undef PAYLOAD
}

size_t payload_count(void)
{
	return SB_ARRAY_SIZE(table);
}

const struct payload *payload_at(size_t i)
{
	return &table[i];
}

const struct payload *payload_by_name(const char *name)
{
	for (size_t i = 0; i < SB_ARRAY_SIZE(table); i++)
		if (!strcmp(table[i].name, name))
			return &table[i];
	return NULL;
}

const struct payload *payload_for_arch(const char *arch)
{
	/* All others have their OCI words. */
	if (!strcmp(arch, "arm"))
		arch = "armv7";
	for (size_t i = 0; i < SB_ARRAY_SIZE(table); i++)
		if (!strcmp(table[i].arch, arch))
			return &table[i];
	return NULL;
}

const char *payload_own_arch(void)
{
#if defined(__x86_64__)
	return "amd64";
#elif defined(__aarch64__)
	return "arm64";
#elif defined(__arm__)
	return "arm";
#elif defined(__riscv)
	return "riscv64";
#elif defined(__powerpc64__)
	return "ppc64le";
#elif defined(__s390x__)
	return "s390x";
#else
	return "";
#endif
}

void payload_bytes_release(struct payload_bytes *bytes)
{
	sb_buf_release(&bytes->file);
}

static int check_pin(
	const struct conf_payload *which, const struct payload_bytes *bytes, struct sb_err *err)
{
	if (!which->sha256[0] || !strcmp(which->sha256, bytes->sha256))
		return 0;
	return sb_err_set(err, SB_MISMATCH,
		"payload '%s' is not the pinned one: it has sha256 %s, the rules ask for %s",
		which->name, bytes->sha256, which->sha256);
}

static int load_embedded(
	const struct conf_payload *which, struct payload_bytes *ret, struct sb_err *err)
{
	const struct payload *payload = payload_by_name(which->name);

	if (!payload)
		return sb_err_set(err, SB_UNSUPPORTED,
			"payload '%s' is not built into this sbinject; 'sbinject payloads' lists "
			"what is",
			which->name);
	ret->release = payload_release;
	ret->data = payload->data;
	ret->size = payload->size;
	strcpy(ret->sha256, payload->sha256);
	return 0;
}

static int load_file(
	const struct conf_payload *which, struct payload_bytes *ret, struct sb_err *err)
{
	int found = sb_buf_read_file(&ret->file, which->path, err);

	if (found > 0)
		sb_err_set(err, SB_USAGE, "no such file '%s'", which->path);
	if (found)
		return sb_err_wrap(err, "payload '%s'", which->name);
	ret->data = ret->file.data;
	ret->size = ret->file.len;
	sha256_hex(ret->data, ret->size, ret->sha256);
	return 0;
}

int payload_load(const struct conf_payload *which, struct payload_bytes *ret, struct sb_err *err)
{
	ret->name = which->name;
	if ((which->source == CONF_FILE ? load_file : load_embedded)(which, ret, err) < 0)
		return -1;
	return check_pin(which, ret, err);
}
