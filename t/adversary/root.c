/* SPDX-License-Identifier: MIT */
/* Attacks that need root: on the home, on what was delivered into it, on the image's own files. */
#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "t/adversary/adversary.h"

/* The usual one, and that of a Docker container whose root file system is read-only. */
static const char *const homes[] = {"/.sbinject", "/dev/.sbinject"};

static bool has_long_name(const struct dirent *entry)
{
	return strlen(entry->d_name) >= 64 && !strchr(entry->d_name, '~');
}

static void each_program_in(const char *home, void (*act)(const char *path))
{
	DIR *dir = opendir(home);
	struct dirent *entry;
	char path[PATH_MAX];

	while (dir && (entry = readdir(dir))) {
		if (!has_long_name(entry))
			continue;
		snprintf(path, sizeof(path), "%s/%s", home, entry->d_name);
		act(path);
	}
	if (dir)
		closedir(dir);
}

static void each_program(void (*act)(const char *path))
{
	for (size_t i = 0; i < ARRAY_SIZE(homes); i++)
		each_program_in(homes[i], act);
}

static void replace_if_not_yet(const char *path)
{
	struct stat mine, st;

	if (stat(SOURCE, &mine) == 0 && lstat(path, &st) == 0 && st.st_size != mine.st_size)
		put_impostor(path);
}

/* What was delivered is the impostor before it is run. */
static void replace(unsigned n)
{
	(void)n;
	each_program(replace_if_not_yet);
}

static void spoil_one(const char *path)
{
	switch (rand() % 4) {
	case 0:
		(void)!truncate(path, rand() % 200000);
		break;
	case 1:
		chmod(path, 0);
		break;
	case 2:
		unlink(path);
		break;
	default:
		clear(path);
		put_obstacle(path, (unsigned)rand());
	}
}

static void spoil(unsigned n)
{
	if (n % 16 == 0)
		each_program(spoil_one);
}

static void home(unsigned n)
{
	for (size_t i = 0; i < ARRAY_SIZE(homes); i++) {
		if (n % 8 == 0)
			clear(homes[i]);
		if (n % 8 == 1)
			put_obstacle(homes[i], n / 8);
	}
}

static void swap_home(unsigned n)
{
	static const char *const other[] = {"/.other", "/dev/.other"};
	struct stat st;

	for (size_t i = 0; i < ARRAY_SIZE(homes); i++) {
		if (n % 512 == 0)
			clear(other[i]);
		if (lstat(other[i], &st) < 0)
			put_obstacle(other[i], (unsigned)rand());
		swap(other[i], homes[i]);
	}
}

/* Parents: a directory on the way is a link, or gone, for a moment. */
static void parents(unsigned n)
{
	static const char *const dirs[] = {"/var/tmp", "/tmp", "/var"};
	const char *dir = dirs[n % ARRAY_SIZE(dirs)];
	char aside[32];

	snprintf(aside, sizeof(aside), "%s.aside", dir);
	if (rename(dir, aside) < 0)
		return;
	put_obstacle(dir, (unsigned)rand());
	usleep((unsigned)rand() % 3000);
	clear(dir);
	(void)!rename(aside, dir);
}

/* No FIFO in the place of /etc/passwd or /etc/group: that holds up the engine (see
   t/live/247-hostile-records.sh), and nothing could be tested afterwards. */
static void records(unsigned n)
{
	static const struct {
		const char *path;
		bool may_block;
	} files[] = {{"/etc/passwd", false}, {"/etc/group", false}, {"/etc/os-release", true},
		{"/usr/lib/os-release", true}, {"/etc/nsswitch.conf", true},
		{"/etc/ld.so.preload", true}};
	size_t i = n % ARRAY_SIZE(files);

	clear(files[i].path);
	put_nonsense(files[i].path, n / ARRAY_SIZE(files), files[i].may_block);
}

/* Whoever runs a shell, a loader or a tool of the image runs the impostor. */
static void programs(unsigned n)
{
	static const char *const files[] = {"/bin/sh", "/bin/busybox", "/bin/tar", "/usr/bin/env",
		"/lib64/ld-linux-x86-64.so.2", "/lib/ld-musl-x86_64.so.1",
		"/lib/x86_64-linux-gnu/libc.so.6", "/bin/uname", "/usr/bin/ldd"};

	if (n < ARRAY_SIZE(files))
		put_impostor(files[n]);
}

static void erase(unsigned n)
{
	static const char *const paths[] = {
		"/.sbinject", "/dev/.sbinject", PROGRAM_DIR, SERVER_DIR};

	if (n % 64 < ARRAY_SIZE(paths))
		clear(paths[n % 64]);
}

const struct attack root_attacks[] = {
	{"replace", replace},
	{"spoil", spoil},
	{"home", home},
	{"swap-home", swap_home},
	{"parents", parents},
	{"records", records},
	{"programs", programs},
	{"erase", erase},
	{NULL, NULL},
};
