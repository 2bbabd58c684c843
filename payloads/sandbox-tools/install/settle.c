/* SPDX-License-Identifier: MIT */
/* The program's own place in the home. */
#include "payloads/sandbox-tools/install/settle.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "payloads/lib/io.h"
#include "payloads/lib/name.h"
#include "payloads/lib/way.h"
#include "payloads/sandbox-tools/install/beside.h"
#include "payloads/sandbox-tools/install/files.h"

static int open_home(const struct spec *spec, struct home *home, char *aside, struct fail *fail)
{
	int r;

	aside[0] = '\0';
	if (spec->beside && spec->staged &&
		beside_move_in(spec->home, spec->staged, aside, fail) < 0)
		return -1;
	r = (spec->own_home ? home_make : home_open)(home, spec->home, spec->deadline, fail);
	return r > 0 ? fail_sys(fail, ENOENT, "cannot open '%s'", spec->home) : r;
}

int settle_open(
	const struct spec *spec, struct home *home, char aside[NAME_MAX + 1], struct fail *fail)
{
	if (open_home(spec, home, aside, fail) == 0)
		return 0;
	home_close(home);
	if (spec->staged)
		home_abandon(spec->home, spec->staged);
	return -1;
}

/* Where our own file should be in the home. */
static const char *own_name(const struct settle *own)
{
	const char *path = sys_exec_path(), *leaf = path ? strrchr(path, '/') : NULL;

	if (own->spec->staged)
		return own->spec->staged;
	return leaf && name_is_kept(leaf + 1) ? leaf + 1 : own->spec->sha256;
}

static int check_self(struct settle *own, struct fail *fail)
{
	const char *name = own_name(own);
	int r = sys_know_self(&own->self);

	if (r < 0 && !files_digest(own->home->fd, name, &own->self, own->self.hex))
		return fail_sys(fail, r, "cannot read '%s/%s'", own->spec->home, name);
	if (strcmp(own->self.hex, own->spec->sha256) != 0)
		return fail_code(fail, FAIL_DIGEST, "'%s/%s' has the digest %s", own->spec->home,
			name, own->self.hex);
	return 0;
}

static bool is_right_file(const struct settle *own, const char *name)
{
	char hex[SHA256_HEX];

	return files_digest(own->home->fd, name, &own->self, hex) &&
	       strcmp(hex, own->spec->sha256) == 0;
}

static bool is_adopted(const struct settle *own)
{
	struct stat st;

	return fstatat(own->home->fd, own->spec->sha256, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	       (st.st_mode & 07777) == 0755 && is_right_file(own, own->spec->sha256);
}

static int check_home(const struct settle *own, struct fail *fail)
{
	if (way_check(own->spec->home, fail) < 0)
		return -1;
	/* from root's we are run; neither program nor link would be of use beside one that is not
	 */
	if (own->spec->own_home && files_is_noexec(own->home->fd))
		return fail_code(fail, FAIL_NOEXEC,
			"'%s' is on a file system that is mounted noexec", own->spec->home);
	return 0;
}

/* Nobody else can deliver anything into a home of our own, and in root's another release may have
   cleared away what we were started from. */
static int bring_self(struct settle *own, struct fail *fail)
{
	int self, r;

	if (is_adopted(own) || (!own->spec->own_home && is_right_file(own, own_name(own))))
		return 0;
	snprintf(own->brought, sizeof(own->brought), "%s.%s", own->spec->sha256, own->spec->nonce);
	self = sys_open_self();
	r = self < 0 ? self : files_copy(self, own->spec->sha256, own->home->fd, own->brought);
	io_close(&self);
	if (r < 0)
		return fail_sys(fail, r, "cannot write '%s/%s'", own->spec->home, own->brought);
	own->spec->staged = own->brought;
	return 0;
}

/* Gives the delivered file its final name in the home, or checks that it has it: then we may run
   under a kept name of it. */
static int adopt(struct settle *own, struct fail *fail)
{
	const char *name = own_name(own);

	own->adopted = !home_has(own->home, own->spec->sha256);
	/* what is there stays, or the names that others keep would lead to something else */
	if (is_adopted(own)) {
		if (own->spec->staged)
			unlinkat(own->home->fd, own->spec->staged, 0);
		return 0;
	}
	if (!is_right_file(own, name))
		return fail_code(fail, FAIL_DIGEST, "'%s/%s' is not the program that is running",
			own->spec->home, name);
	if (fchmodat(own->home->fd, name, 0755, 0) < 0)
		return fail_sys(fail, errno, "cannot change '%s/%s'", own->spec->home, name);
	if (!own->spec->staged) {
		int r = home_link(own->home, name, own->spec->sha256);

		return r < 0 ? fail_sys(fail, r, "cannot link '%s/%s'", own->spec->home, name) : 0;
	}
	if (renameat(own->home->fd, name, own->home->fd, own->spec->sha256) < 0)
		return fail_sys(fail, errno, "cannot rename '%s/%s'", own->spec->home, name);
	return 0;
}

/* The name for the next time. Without it there is an upload instead, so it may fail; but then
   nothing else may be called so. */
static int keep(struct settle *own, struct fail *fail)
{
	const char *name = own->spec->keep;
	int r;

	if (!name)
		return 0;
	own->kept = !home_has(own->home, name);
	r = home_link(own->home, own->spec->sha256, name);
	if (r < 0 && home_has(own->home, name))
		return fail_sys(fail, r, "cannot make '%s/%s'", own->spec->home, name);
	return 0;
}

int settle_in(struct settle *own, struct spec *spec, struct home *home, struct fail *fail)
{
	own->spec = spec;
	own->home = home;
	if (check_self(own, fail) < 0 || check_home(own, fail) < 0 || bring_self(own, fail) < 0 ||
		adopt(own, fail) < 0)
		return -1;
	return keep(own, fail);
}

void settle_undo(const struct settle *own)
{
	if (!own->home)
		return;
	if (own->spec->staged)
		unlinkat(own->home->fd, own->spec->staged, 0);
	if (own->adopted)
		unlinkat(own->home->fd, own->spec->sha256, 0);
	if (own->kept)
		unlinkat(own->home->fd, own->spec->keep, 0);
}

int settle_decline(const struct spec *spec, const struct home *home, enum wire_was was)
{
	json_t *receipt = receipt_new(spec, 1);

	if (spec->staged)
		unlinkat(home->fd, spec->staged, 0);
	if (receipt)
		receipt_put_was(receipt, was);
	return receipt_print(receipt, 0);
}
