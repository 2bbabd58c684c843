/* SPDX-License-Identifier: MIT */
/* libFuzzer: any bytes as the line that install, uninstall and status read. What is accepted is
   harmless: no path leads elsewhere than it says, no name leaves the home. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "payloads/lib/name.h"
#include "payloads/sandbox-tools/install/spec.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void need(int truth)
{
	if (!truth)
		abort();
}

static void check_path(const char *path)
{
	need(path[0] == '/' && strlen(path) <= SPEC_PATH_MAX && !strstr(path, "//"));
	need(!strstr(path, "/../") && !strstr(path, "/./") && path[strlen(path) - 1] != '/');
	for (; *path; path++)
		need((unsigned char)*path >= ' ' && *path != 127);
}

static void check_hex(const char *text, size_t len)
{
	need(strlen(text) == len && strspn(text, "0123456789abcdef") == len);
}

static void check(const struct spec *spec, enum spec_kind kind)
{
	json_t *value;
	size_t i;

	check_hex(spec->nonce, 32);
	check_path(spec->home);
	if (kind == SPEC_INSTALL)
		check_hex(spec->sha256, 64);
	if (kind == SPEC_INSTALL || spec->path)
		check_path(spec->path);
	need(!spec->staged || (name_is_delivery(spec->staged) && strlen(spec->staged) == 97));
	json_array_foreach (spec->links, i, value)
		check_path(json_string_value(value));
	json_array_foreach (spec->start, i, value)
		need(json_string_value(value) != NULL);
	json_array_foreach (spec->discard, i, value)
		need(strspn(json_string_value(value), "run-.0123456789abcdef") ==
			strlen(json_string_value(value)));
	need(!spec->keep || (name_is_kept(spec->keep) && strlen(spec->keep) == 68));
	need(!spec->cwd || spec->cwd[0] == '/');
}

static void read_as(enum spec_kind kind, int fd)
{
	struct fail fail = FAIL_INIT;
	struct spec spec;
	json_t *receipt;
	int r;

	need(lseek(fd, 0, SEEK_SET) == 0);
	r = spec_read(&spec, kind, fd, &fail);
	need(r == 0 || fail.text[0]);
	if (r == 0)
		check(&spec, kind);
	receipt = receipt_new(&spec, r == 0);
	need(receipt != NULL && receipt_code(&fail) != NULL);
	json_decref(receipt);
	spec_release(&spec);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static int fd = -1;

	if (fd < 0)
		fd = memfd_create("line", MFD_CLOEXEC);
	need(fd >= 0 && ftruncate(fd, 0) == 0);
	need(pwrite(fd, data, size, 0) == (ssize_t)size && pwrite(fd, "\n", 1, (off_t)size) == 1);
	read_as(SPEC_INSTALL, fd);
	read_as(SPEC_UNINSTALL, fd);
	read_as(SPEC_STATUS, fd);
	return 0;
}
