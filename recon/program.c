/* SPDX-License-Identifier: MIT */
#include "recon/program.h"

#include "engine/text.h"
#include "recon/libc.h"

#include <stdio.h>
#include <string.h>

enum { LOOKS_MAX = 8 };

static const char *const path_dirs[] = {
	"/usr/local/sbin",
	"/usr/local/bin",
	"/usr/sbin",
	"/usr/bin",
	"/sbin",
	"/bin",
};

static const char *const well_known[] = {"/bin/sh", "/bin/busybox", "/usr/bin/env"};

/* Where loaders are by the ABI, for images that hold only static programs that we look at. */
static const struct loader {
	const char *arch, *paths[2];
} known_loaders[] = {
	{"amd64", {"/lib64/ld-linux-x86-64.so.2", "/lib/ld-musl-x86_64.so.1"}},
	{"arm64", {"/lib/ld-linux-aarch64.so.1", "/lib/ld-musl-aarch64.so.1"}},
	{"arm", {"/lib/ld-linux-armhf.so.3", "/lib/ld-musl-armhf.so.1"}},
	{"ppc64le", {"/lib64/ld64.so.2", "/lib/ld-musl-powerpc64le.so.1"}},
	{"riscv64", {"/lib/ld-linux-riscv64-lp64d.so.1", "/lib/ld-musl-riscv64.so.1"}},
	{"s390x", {"/lib/ld64.so.1", "/lib/ld-musl-s390x.so.1"}},
};

struct search {
	const struct recon_io *io;
	bool want_libc;
	bool all_static; /* of those found, each is known to be static */
	uint64_t sizes[LOOKS_MAX];
	size_t looks;
	struct recon_program *found;
};

static bool is_enough(const struct search *search)
{
	const struct recon_program *found = search->found;

	return found->path[0] && (!search->want_libc || found->loader[0]);
}

/* The links of a multi-call binary have one size: a second read would tell nothing new. */
static bool is_new(struct search *search, const struct eng_stat *st)
{
	for (size_t i = 0; i < search->looks; i++)
		if (search->sizes[i] == st->size)
			return false;
	if (search->looks == LOOKS_MAX)
		return false;
	search->sizes[search->looks++] = st->size;
	return true;
}

static void note_program(struct search *search, const char *path, const struct elf_info *elf)
{
	struct recon_program *found = search->found;

	if (elf->type == ELF_OTHER || !elf->arch[0])
		return;
	if (!found->path[0]) {
		sb_text_clean(found->path, sizeof(found->path), path, strlen(path));
		found->elf = *elf;
	}
	if (elf->linkage != ELF_STATIC)
		search->all_static = false;
	/* A program for another machine than the first one says nothing about this system's libc.
	 */
	if (!found->loader[0] && !strcmp(elf->arch, found->elf.arch)) {
		found->libc = recon_libc_of_loader(elf->interp);
		if (found->libc[0])
			memcpy(found->loader, elf->interp, sizeof(found->loader));
	}
}

bool recon_script_interpreter(const void *data, size_t len, char *ret, size_t size)
{
	const char *text = data, *end = text + len;
	size_t n;

	if (len < 2 || memcmp(text, "#!", 2) != 0)
		return false;
	for (text += 2; text < end && (*text == ' ' || *text == '\t'); text++)
		;
	for (n = 0; text + n < end && !strchr(" \t\r\n", text[n]); n++)
		;
	/* The loop stops at a NUL as well, and a path that goes on beyond the bytes is not known.
	 */
	if (text + n == end || text[n] == '\0' || n == 0 || n >= size || text[0] != '/')
		return false;
	memcpy(ret, text, n);
	ret[n] = '\0';
	return true;
}

/* The beginning of a file that was not looked at before. 1: there is no such file. */
static int read_head(
	struct search *search, const char *path, struct sb_buf *head, struct sb_err *err)
{
	char file[RECON_PATH_MAX];
	struct eng_stat st;
	int outcome = recon_resolve(search->io, path, file, &st, err);

	if (outcome)
		return outcome;
	if (st.type != ENG_FILE || !is_new(search, &st))
		return 1;
	return recon_read(search->io, file, SB_MAX_FILE_PROBE, head, err);
}

static int look_at(struct search *search, const char *path, struct sb_err *err)
{
	char interpreter[256];

	for (int hop = 0; hop < 2; hop++) {
		sb_autobuf struct sb_buf head = SB_BUF_INIT(SB_MAX_FILE_PROBE);
		struct elf_info elf;
		int outcome = read_head(search, path, &head, err);

		if (outcome)
			return outcome < 0 ? -1 : 0;
		if (elf_parse(sb_buf_str(&head), head.len, &elf) == 0) {
			note_program(search, path, &elf);
			return 0;
		}
		if (!recon_script_interpreter(
			    sb_buf_str(&head), head.len, interpreter, sizeof(interpreter)))
			return 0;
		path = interpreter;
	}
	return 0;
}

/* False: the path does not fit. */
static bool join(char path[RECON_PATH_MAX], const char *dir, const char *name)
{
	int n = snprintf(path, RECON_PATH_MAX, "%s/%s", dir, name);

	return n >= 0 && n < RECON_PATH_MAX;
}

/* As execvp would find it, but over the usual directories. */
static int look_along_path(struct search *search, const char *name, struct sb_err *err)
{
	char path[RECON_PATH_MAX], file[RECON_PATH_MAX];
	struct eng_stat st;

	for (size_t i = 0; i < SB_ARRAY_SIZE(path_dirs); i++) {
		int outcome;

		if (!join(path, path_dirs[i], name))
			return 0;
		outcome = recon_resolve(search->io, path, file, &st, err);
		if (outcome < 0)
			return -1;
		if (outcome == 0 && st.type == ENG_FILE)
			return look_at(search, path, err);
	}
	return 0;
}

/* The program of pid 1; a relative path is below the image's directory. */
static int look_at_first(
	struct search *search, const struct eng_container *container, struct sb_err *err)
{
	const char *name = container->path;
	char path[RECON_PATH_MAX];

	if (!name[0])
		return 0;
	if (name[0] == '/')
		return look_at(search, name, err);
	if (strchr(name, '/'))
		return join(path, container->cwd, name) ? look_at(search, path, err) : 0;
	return look_along_path(search, name, err);
}

/* "none" takes more than static programs: a loader shows that there are others. */
static int look_for_loader(const struct search *search, struct sb_err *err)
{
	struct recon_program *found = search->found;
	const char *loader = NULL;
	size_t count = 0;

	for (size_t i = 0; i < 2 * SB_ARRAY_SIZE(known_loaders); i++) {
		const char *path = known_loaders[i / 2].paths[i % 2];
		char file[RECON_PATH_MAX];
		struct eng_stat st;
		int outcome;

		if (strcmp(known_loaders[i / 2].arch, found->elf.arch) != 0)
			continue;
		outcome = recon_resolve(search->io, path, file, &st, err);
		if (outcome < 0)
			return -1;
		if (outcome == 0 && st.type == ENG_FILE) {
			loader = path;
			count++;
		}
	}
	if (count == 0)
		found->libc = "none";
	if (count == 1) {
		found->libc = recon_libc_of_loader(loader);
		snprintf(found->loader, sizeof(found->loader), "%s", loader);
	}
	return 0;
}

int recon_program_find(const struct recon_io *io, const struct eng_container *container,
	bool want_libc, struct recon_program *ret, struct sb_err *err)
{
	struct search search = {io, want_libc, true, {0}, 0, ret};

	*ret = (struct recon_program){.elf = {.arch = "", .variant = ""}, .libc = ""};
	if (look_at_first(&search, container, err) < 0)
		return -1;
	for (size_t i = 0; i < SB_ARRAY_SIZE(well_known) && !is_enough(&search); i++)
		if (look_at(&search, well_known[i], err) < 0)
			return -1;
	if (want_libc && ret->path[0] && search.all_static)
		return look_for_loader(&search, err);
	return 0;
}
