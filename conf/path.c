/* SPDX-License-Identifier: MIT */
#include "conf/path.h"

#include "payloads/lib/wire.h"

#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

enum { MAX_PATH = 255 };

/* Directories that others use: never to be closed to them, nor replaced by a link. */
static const char *const shared[] = {"/", "/bin", "/boot", "/dev", "/dev/mqueue", "/dev/pts",
	"/dev/shm", "/etc", "/home", "/lib", "/lib32", "/lib64", "/libx32", "/media", "/mnt",
	"/nix", "/nix/store", "/opt", "/proc", "/root", "/run", "/run/lock", "/run/secrets",
	"/run/user", "/sbin", "/srv", "/sys", "/tmp", "/usr", "/var", "/var/cache", "/var/lib",
	"/var/local", "/var/lock", "/var/log", "/var/mail", "/var/opt", "/var/run", "/var/spool",
	"/var/tmp", "/workspace"};

/* The same for each directory immediately below these. */
static const char *const shared_below[] = {"/home/", "/usr/", "/usr/local/"};

/* Not made of files that one could put there. */
static const char *const virtual_below[] = {"/proc/", "/sys/"};

/* Where sbinject and the service keep files: homes and what is made beside them, the service's
   directory, histories of the editor, long replies; and, in full, directories of sockets. */
static const char *const own_names[] = {
	WIRE_HOME_NAME "*", WIRE_SERVER_NAME, ".inspect-sandbox-editor-*", "*-json-rpc-chunks"};
static const char *const own_paths[] = {"/tmp/sandbox-tools", "/tmp/inspect-sandbox-tools-[0-9]*"};

static bool is_below(const char *path, size_t len, const char *dir)
{
	size_t n = strlen(dir);

	return len > n && !memcmp(path, dir, n);
}

static bool is_shared(const char *path, size_t len)
{
	for (size_t i = 0; i < SB_ARRAY_SIZE(shared); i++)
		if (strlen(shared[i]) == len && !memcmp(shared[i], path, len))
			return true;
	for (size_t i = 0; i < SB_ARRAY_SIZE(shared_below); i++)
		if (is_below(path, len, shared_below[i]) &&
			!memchr(path + strlen(shared_below[i]), '/', len - strlen(shared_below[i])))
			return true;
	return false;
}

static const char *unclean(const char *path)
{
	if (*path != '/')
		return "it is not absolute";
	if (strlen(path) > MAX_PATH)
		return "it is longer than 255 bytes";
	for (const char *p = path; *p; p++)
		if (*p < ' ' || *p > '~')
			return "it is not printable ASCII";
	for (const char *p = path; *p; p += 1 + strcspn(p + 1, "/")) {
		size_t n = strcspn(p + 1, "/");

		if (n == 0)
			return "it has a slash too many";
		if (p[1] == '.' && (n == 1 || (n == 2 && p[2] == '.')))
			return "it contains '.' or '..'";
	}
	return NULL;
}

/* Each pattern is for what begins there, up to the end or a slash. */
static bool fits_any(const char *const *patterns, size_t count, const char *path)
{
	for (size_t i = 0; i < count; i++)
		if (fnmatch(patterns[i], path, FNM_PATHNAME | FNM_LEADING_DIR) == 0)
			return true;
	return false;
}

static bool is_own(const char *path)
{
	for (const char *p = path; p; p = strchr(p + 1, '/'))
		if (fits_any(own_names, SB_ARRAY_SIZE(own_names), p + 1))
			return true;
	return fits_any(own_paths, SB_ARRAY_SIZE(own_paths), path);
}

const char *path_unfit(const char *path, enum path_role role)
{
	const char *why = unclean(path);
	size_t len = strlen(path);
	size_t dir_len;

	if (why)
		return why;
	for (size_t i = 0; i < SB_ARRAY_SIZE(virtual_below); i++)
		if (is_below(path, len, virtual_below[i]))
			return "it is in a file system that cannot hold files";
	if (is_shared(path, len))
		return "it is a well-known directory";
	if (is_own(path))
		return "sbinject and its service keep files of their own there";
	if (role != PATH_HOME)
		return NULL;
	dir_len = (size_t)(strrchr(path, '/') - path);
	if (dir_len == 0)
		return "it needs a directory of its own, which becomes private to root";
	if (is_shared(path, dir_len))
		return "its directory would become private to root, but is a well-known one";
	return NULL;
}

const char *path_unfit_inside(const char *path)
{
	char whole[MAX_PATH + 2];

	if (!*path)
		return "it is empty";
	if (*path == '/')
		return "it is not relative";
	if ((size_t)snprintf(whole, sizeof(whole), "/%s", path) >= sizeof(whole))
		return "it is longer than 255 bytes";
	return unclean(whole);
}

bool path_overlaps(const char *a, const char *b)
{
	size_t a_len = strlen(a), b_len = strlen(b);
	size_t n = a_len < b_len ? a_len : b_len;

	return !memcmp(a, b, n) && (a[n] == '/' || b[n] == '/' || a_len == b_len);
}
