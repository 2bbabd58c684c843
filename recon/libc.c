/* SPDX-License-Identifier: MIT */
#include "recon/libc.h"

#include <string.h>

/* A glibc loader is a little over 200 kB, with the banner in its last third. */
enum { LOADER_MAX = 256 << 10 };

static const struct loader {
	const char *name;
	bool is_prefix;
	const char *libc;
} loaders[] = {
	{"ld-linux", true, "glibc"}, {"ld-musl-", true, "musl"},
	{"ld64.so.1", false, "glibc"}, /* s390x, ppc64 */
	{"ld64.so.2", false, "glibc"}, /* ppc64le */
};

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

const char *recon_libc_of_loader(const char *interp)
{
	const char *name = base_name(interp);

	for (size_t i = 0; i < SB_ARRAY_SIZE(loaders); i++) {
		size_t len = strlen(loaders[i].name);

		if (loaders[i].is_prefix ? !strncmp(name, loaders[i].name, len)
					 : !strcmp(name, loaders[i].name))
			return loaders[i].libc;
	}
	return "";
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Take digits and single dots, at least one dot, from the start of text. Returns the length. */
static size_t take_version(const char *text, size_t len, char ret[RECON_VERSION_MAX])
{
	size_t n = 0, dots = 0;

	ret[0] = '\0';
	while (n < len && (is_digit(text[n]) || (text[n] == '.' && n > 0 && n + 1 < len &&
							is_digit(text[n + 1]))))
		dots += text[n++] == '.';
	if (dots == 0 || n >= RECON_VERSION_MAX)
		return 0;
	memcpy(ret, text, n);
	ret[n] = '\0';
	return n;
}

bool recon_libc_version_of_link(const char *target, char ret[RECON_VERSION_MAX])
{
	const char *name = base_name(target);
	size_t n;

	ret[0] = '\0';
	if (strncmp(name, "ld-", 3) != 0)
		return false;
	n = take_version(name + 3, strlen(name + 3), ret);
	if (n > 0 && !strcmp(name + 3 + n, ".so"))
		return true;
	ret[0] = '\0';
	return false;
}

bool recon_libc_version_of_loader(const void *data, size_t len, char ret[RECON_VERSION_MAX])
{
	static const char mark[] = " release version ";
	const char *at = memmem(data, len, mark, sizeof(mark) - 1);

	ret[0] = '\0';
	if (!at)
		return false;
	at += sizeof(mark) - 1;
	return take_version(at, len - (size_t)(at - (const char *)data), ret) > 0;
}

bool recon_libc_version_of_apk(const void *data, size_t len, char ret[RECON_VERSION_MAX])
{
	static const char mark[] = "\nP:musl\nV:";
	const char *at = memmem(data, len, mark, sizeof(mark) - 1);
	size_t left, n;

	ret[0] = '\0';
	if (!at)
		return false;
	at += sizeof(mark) - 1;
	left = len - (size_t)(at - (const char *)data);
	n = take_version(at, left, ret);
	if (n > 0 && n < left && strchr("-_\n", at[n]) && at[n] != '\0')
		return true;
	ret[0] = '\0';
	return false;
}

static int version_of_glibc(const struct recon_io *io, const char *interp,
	char ret[RECON_VERSION_MAX], struct sb_err *err)
{
	sb_autobuf struct sb_buf loader = SB_BUF_INIT(LOADER_MAX);
	char path[RECON_PATH_MAX];
	struct eng_stat st;
	int outcome = recon_resolve(io, interp, path, &st, err);

	if (outcome != 0 || st.type != ENG_FILE)
		return outcome < 0 ? -1 : 0;
	if (recon_libc_version_of_link(path, ret))
		return 0;
	outcome = recon_read(io, path, LOADER_MAX, &loader, err);
	if (outcome == 0)
		recon_libc_version_of_loader(sb_buf_str(&loader), loader.len, ret);
	return outcome < 0 ? -1 : 0;
}

static int version_of_musl(
	const struct recon_io *io, char ret[RECON_VERSION_MAX], struct sb_err *err)
{
	sb_autobuf struct sb_buf packages = SB_BUF_INIT(SB_MAX_FILE_PROBE);
	int outcome = recon_read(io, "/lib/apk/db/installed", SB_MAX_FILE_PROBE, &packages, err);

	if (outcome == 0)
		recon_libc_version_of_apk(sb_buf_str(&packages), packages.len, ret);
	return outcome < 0 ? -1 : 0;
}

int recon_libc_version(const struct recon_io *io, const char *interp, char ret[RECON_VERSION_MAX],
	struct sb_err *err)
{
	const char *libc = recon_libc_of_loader(interp);

	ret[0] = '\0';
	if (!strcmp(libc, "glibc"))
		return version_of_glibc(io, interp, ret, err);
	if (!strcmp(libc, "musl"))
		return version_of_musl(io, ret, err);
	return 0;
}
