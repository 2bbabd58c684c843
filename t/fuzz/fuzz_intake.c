/* SPDX-License-Identifier: MIT */
/* libFuzzer: any bytes as the stream of a tree. Whatever it says, nothing appears outside of the
   directory, and what was taken whole is a tree. */
#include <dirent.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "payloads/lib/tree.h"
#include "payloads/lib/treesum.h"
#include "payloads/sandbox-tools/install/intake.h"
#include "payloads/sandbox-tools/install/survey.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { LEVELS = 4, BUDGET = 1 << 20 };

/* Directories in memory, each alone in the one before; the tree is made in the last. */
static char top[] = "/dev/shm/sbinject-fuzz-XXXXXX";
static int levels[LEVELS];

static void need(int truth)
{
	if (!truth)
		abort();
}

static void remove_top(void)
{
	char path[sizeof(top) + 2 * LEVELS];

	for (int n = LEVELS - 1; n >= 0; n--) {
		strcpy(path, top);
		for (int i = 0; i < n; i++)
			strcat(path, "/d");
		rmdir(path);
	}
}

static void make_levels(void)
{
	need(mkdtemp(top) != NULL);
	levels[0] = open(top, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	for (int i = 1; i < LEVELS; i++) {
		need(mkdirat(levels[i - 1], "d", 0700) == 0);
		levels[i] = tree_open_dir(levels[i - 1], "d");
		need(levels[i] >= 0);
	}
	atexit(remove_top);
}

/* How many things a directory has. */
static int count(int fd)
{
	DIR *dir = fdopendir(openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
	int n = 0;

	need(dir != NULL);
	while (readdir(dir))
		n++;
	closedir(dir);
	return n - 2;
}

static void check(int dir, int result, const struct fail *fail)
{
	struct fail why = FAIL_INIT;
	struct survey survey;

	for (int i = 0; i < LEVELS; i++)
		need(count(levels[i]) == 1);
	need(result == 0 || fail->text[0]);
	if (result == 0 && survey_run(dir, false, &survey, &why) < 0)
		need(strstr(why.text, "more than a tree can hold") != NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static int stream = -1;
	struct fail fail = FAIL_INIT;
	int dir, result;

	if (stream < 0) {
		make_levels();
		stream = memfd_create("stream", MFD_CLOEXEC);
	}
	need(stream >= 0 && ftruncate(stream, 0) == 0);
	need(pwrite(stream, data, size, 0) == (ssize_t)size && lseek(stream, 0, SEEK_SET) == 0);
	need(mkdirat(levels[LEVELS - 1], "tree", 0700) == 0);
	dir = tree_open_dir(levels[LEVELS - 1], "tree");
	need(dir >= 0);
	result = intake_run(stream, dir, &fail);
	check(dir, result, &fail);
	close(dir);
	need(tree_remove(levels[LEVELS - 1], "tree", BUDGET) == 0);
	return 0;
}
