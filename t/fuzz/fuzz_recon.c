/* SPDX-License-Identifier: MIT */
/* Any bytes as a loader, a package database, a link's target and a script. */
#include "recon/libc.h"
#include "recon/program.h"

#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* "2.36": digits and single dots between them, or "" where nothing was found. */
static void check_version(bool found, const char version[RECON_VERSION_MAX])
{
	if (!memchr(version, 0, RECON_VERSION_MAX) || found != (version[0] != '\0'))
		abort();
	if (strspn(version, "0123456789.") != strlen(version) || strstr(version, ".."))
		abort();
	if (found &&
		(!strchr(version, '.') || *version == '.' || version[strlen(version) - 1] == '.'))
		abort();
}

static void check_interpreter(const uint8_t *data, size_t size)
{
	char path[64];

	memset(path, 0xa5, sizeof(path));
	if (!recon_script_interpreter(data, size, path, sizeof(path)))
		return;
	if (!memchr(path, 0, sizeof(path)) || path[0] != '/' || strpbrk(path, " \t\r\n") ||
		!memmem(data, size, path, strlen(path)))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char version[RECON_VERSION_MAX], *text = strndup((const char *)data, size);

	if (!text)
		abort();
	memset(version, 0xa5, sizeof(version));
	check_version(recon_libc_version_of_loader(data, size, version), version);
	memset(version, 0xa5, sizeof(version));
	check_version(recon_libc_version_of_apk(data, size, version), version);
	memset(version, 0xa5, sizeof(version));
	check_version(recon_libc_version_of_link(text, version), version);
	if (strcmp(recon_libc_of_loader(text), "") && strcmp(recon_libc_of_loader(text), "glibc") &&
		strcmp(recon_libc_of_loader(text), "musl"))
		abort();
	check_interpreter(data, size);
	free(text);
	return 0;
}
