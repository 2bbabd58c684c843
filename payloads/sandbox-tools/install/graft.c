/* SPDX-License-Identifier: MIT */
/*
 * graft: run in a helper container that shares the process namespace of another one, brings a copy
 * of this program into the home there, which no archive reaches. What it finds there is hostile: no
 * link is followed, nothing but a tmpfs that only root can write to is written to, and nothing is
 * run. The copy stays as long as stdin is open, and is deleted then, unless it has taken its final
 * name meanwhile.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "payloads/lib/io.h"
#include "payloads/lib/sys.h"
#include "payloads/lib/tree.h"
#include "payloads/lib/wire.h"
#include "payloads/sandbox-tools/cli.h"
#include "payloads/sandbox-tools/install/files.h"
#include "payloads/sandbox-tools/install/home.h"
#include "payloads/sandbox-tools/install/process.h"
#include "payloads/sandbox-tools/install/spec.h"

#define THEIR_ROOT "/proc/1/root"
#define TMPFS 0x01021994

struct graft {
	struct spec spec;
	int parent; /* the directory of the home */
	struct home home;
	char leaf[NAME_MAX + 1];
	char current[SHA256_HEX]; /* "": none */
	bool was, made, placed;
	struct stat copy;
};

/* ---- the way there ---- */

/* The root of the process that everything in that namespace lives and dies with; never our own. */
static int open_their_root(struct fail *fail)
{
	struct stat theirs, ours;
	int fd;

	if (getpid() == 1)
		return fail_code(fail, FAIL_DENIED, "no process namespace is shared");
	fd = io_open(AT_FDCWD, THEIR_ROOT, O_PATH | O_DIRECTORY, 0);
	if (fd < 0)
		return fail_sys(fail, fd, "cannot look into the container by '" THEIR_ROOT "'");
	if (fstat(fd, &theirs) < 0 || stat("/", &ours) < 0 || sys_is_same(&theirs, &ours)) {
		close(fd);
		return fail_code(fail, FAIL_DENIED, "'" THEIR_ROOT "' is no other container's");
	}
	return fd;
}

/* Down from their root by single names, none of which may be a link; the last is left over. */
static int open_parent(struct graft *graft, struct fail *fail)
{
	int fd = open_their_root(fail), next;

	for (const char *p = graft->spec.home + 1; fd >= 0;) {
		size_t len = strcspn(p, "/");

		memcpy(graft->leaf, p, len);
		graft->leaf[len] = '\0';
		if (!p[len])
			break;
		next = tree_open_dir(fd, graft->leaf);
		close(fd);
		fd = next;
		p += len + 1;
		if (fd < 0)
			return fail_sys(
				fail, fd, "cannot open the directory of '%s'", graft->spec.home);
	}
	graft->parent = fd;
	return fd < 0 ? -1 : 0;
}

/* A file system of the container's own, in which only root can have put anything. */
static int check_parent(const struct graft *graft, struct fail *fail)
{
	struct statvfs flags;
	struct statfs fs;
	struct stat st;

	if (fstat(graft->parent, &st) < 0 || fstatvfs(graft->parent, &flags) < 0 ||
		fstatfs(graft->parent, &fs) < 0)
		return fail_sys(
			fail, errno, "cannot examine the directory of '%s'", graft->spec.home);
	if (fs.f_type != TMPFS)
		return fail_code(fail, FAIL_OCCUPIED, "the directory of '%s' is not a tmpfs",
			graft->spec.home);
	if (!files_is_own_dir(graft->parent))
		return fail_code(fail, FAIL_DENIED, "the directory of '%s' is open to others",
			graft->spec.home);
	if (flags.f_flag & ST_NOEXEC)
		return fail_code(fail, FAIL_NOEXEC, "the directory of '%s' is mounted noexec",
			graft->spec.home);
	if (flags.f_flag & ST_RDONLY)
		return fail_code(fail, FAIL_READONLY, "the directory of '%s' is read-only",
			graft->spec.home);
	return 0;
}

/* ---- the home ---- */

static bool is_own(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && st.st_uid == geteuid();
}

static void look(struct graft *graft)
{
	graft->home.fd = tree_open_dir(graft->parent, graft->leaf);
	graft->was = graft->home.fd >= 0 && is_own(graft->home.fd);
	if (!graft->was)
		io_close(&graft->home.fd);
	if (!graft->was || !home_read_current(&graft->home, graft->current))
		graft->current[0] = '\0';
}

static bool is_wanted(const struct graft *graft)
{
	if (graft->spec.when == WHEN_HOME)
		return graft->was;
	if (graft->spec.when == WHEN_CURRENT)
		return strcmp(graft->current, graft->spec.sha256) == 0;
	return true;
}

static int make_home(struct graft *graft, struct fail *fail)
{
	char aside[NAME_MAX + 1];
	int r;

	if (graft->was) {
		fchmod(graft->home.fd, 0700);
		return 0;
	}
	r = tree_aside_name(graft->leaf, aside);
	graft->home.fd = r < 0 ? r : tree_claim_dir(graft->parent, graft->leaf, 0700, aside);
	graft->made = graft->home.fd >= 0;
	return graft->made ? 0
			   : fail_sys(fail, graft->home.fd, "cannot make '%s'", graft->spec.home);
}

static int copy_self(struct graft *graft, struct fail *fail)
{
	const struct spec *spec = &graft->spec;
	int self = sys_open_self();
	int r = self < 0 ? self : files_copy(self, spec->sha256, graft->home.fd, spec->staged);

	io_close(&self);
	if (r == -EIO)
		return fail_code(
			fail, FAIL_DIGEST, "the helper is not the program that was asked for");
	if (r == 0 && fstatat(graft->home.fd, spec->staged, &graft->copy, AT_SYMLINK_NOFOLLOW) < 0)
		r = -errno;
	graft->placed = r == 0;
	return r < 0 ? fail_sys(fail, r, "cannot place '%s/%s'", spec->home, spec->staged) : 0;
}

/* What has another name by now is in use. */
static void take_back(const struct graft *graft)
{
	const char *name = graft->spec.staged;

	if (graft->placed && sys_has_name(&graft->copy, graft->home.fd, name))
		unlinkat(graft->home.fd, name, 0);
	if (graft->made && tree_rmdir(graft->parent, graft->leaf) == 0)
		tree_put_back_from(graft->parent, graft->leaf);
}

/* ---- the whole ---- */

static int bring(struct graft *graft, struct fail *fail)
{
	if (spec_read(&graft->spec, SPEC_GRAFT, 0, fail) < 0 || open_parent(graft, fail) < 0 ||
		check_parent(graft, fail) < 0)
		return -1;
	look(graft);
	if (!is_wanted(graft))
		return 0;
	return make_home(graft, fail) < 0 ? -1 : copy_self(graft, fail);
}

static int report(const struct graft *graft)
{
	json_t *receipt = receipt_new(&graft->spec, 1);

	if (receipt) {
		json_object_set_new(receipt, WIRE_GRAFTED, json_boolean(graft->placed));
		if (graft->current[0])
			json_object_set_new(receipt, WIRE_CURRENT, json_string(graft->current));
	}
	return receipt_print(receipt, 0);
}

static void await_end(int64_t deadline)
{
	char byte[64];

	while (io_wait(0, POLLIN, deadline) == 0 && io_read(0, byte, sizeof(byte)) > 0)
		;
}

static int run(const struct cli *cli)
{
	struct graft graft = {.parent = -1, .home = HOME_INIT};
	struct fail fail = FAIL_INIT;
	int status;

	(void)cli;
	process_start_installer();
	if (bring(&graft, &fail) < 0) {
		status = receipt_fail(&graft.spec, &fail);
	} else {
		status = report(&graft);
		if (status == 0 && graft.placed)
			await_end(graft.spec.deadline);
	}
	take_back(&graft);
	io_close(&graft.home.fd);
	io_close(&graft.parent);
	return status;
}

const struct cli_command cli_graft = {
	WIRE_GRAFT,
	"",
	"bring this program into the container whose processes are shared; request on stdin",
	0,
	run,
};
