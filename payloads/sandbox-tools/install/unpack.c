/* SPDX-License-Identifier: MIT */
/*
 * unpack: puts a tree of files in its place, which sbinject sends behind its question. It is made
 * beside that place, examined as a whole, and renamed into it in one step, so that the path never
 * leads to half a tree, nor to none where there was one. Where the tree is the service, it is
 * started. Either everything succeeds or everything this run did is taken back.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "payloads/lib/base.h"
#include "payloads/lib/io.h"
#include "payloads/lib/tree.h"
#include "payloads/lib/wire.h"
#include "payloads/sandbox-tools/cli.h"
#include "payloads/sandbox-tools/install/files.h"
#include "payloads/sandbox-tools/install/intake.h"
#include "payloads/sandbox-tools/install/launch.h"
#include "payloads/sandbox-tools/install/process.h"
#include "payloads/sandbox-tools/install/settle.h"
#include "payloads/sandbox-tools/install/survey.h"
#include "payloads/sandbox-tools/install/trees.h"

/* From when the files are there, however long they took to come. */
#define START_MS 120000

struct unpack {
	struct spec spec;
	struct settle own;
	struct home home;
	char home_aside[NAME_MAX + 1];
	char **env; /* the container's; ours is empty */

	json_t *state;	   /* of a service that is a program, NULL if there is none */
	json_t *old_trees; /* as recorded before, NULL if there was none */
	json_t *trees;
	json_t *tree; /* this one; borrowed from 'trees' */
	json_t *was;  /* what was recorded of its path; borrowed from 'old_trees' */
	bool had_current;

	struct files_notes notes;
	size_t old_parents; /* in the notes, made before */
	json_t *aside;
	int parent;
	char leaf[NAME_MAX + 1], staging[sizeof(WIRE_STAGING_PREFIX) + 32];
	bool same;    /* it is there already */
	bool swapped; /* the path leads to ours, and the staging name to what it led to before */
	bool placed;  /* the path leads to ours, and led to nothing before */
	struct survey survey;
};

static bool is_service(const struct unpack *un)
{
	return un->spec.service;
}

/* ---- what is there ---- */

static int read_home(struct unpack *un, struct fail *fail)
{
	char current[SHA256_HEX];

	un->had_current = home_read_current(&un->home, current);
	if (home_read_state(&un->home, &un->state, fail) < 0 ||
		home_read_trees(&un->home, &un->old_trees, fail) < 0)
		return -1;
	un->trees = un->old_trees ? json_deep_copy(un->old_trees) : json_object();
	if (!un->trees)
		return fail_sys(fail, ENOMEM, "cannot record the tree");
	un->was = json_object_get(un->old_trees, un->spec.path);
	return 0;
}

/* Another service has to go first: a program, or a tree elsewhere. */
static bool is_other_kind(const struct unpack *un)
{
	const char *program = json_string_value(json_object_get(un->state, "path"));
	const char *tree = trees_service(un->old_trees);
	size_t len = strlen(un->spec.path);

	if (program && !strncmp(program, un->spec.path, len) && program[len] == '/')
		return true;
	return is_service(un) && (program || (tree && strcmp(tree, un->spec.path) != 0));
}

/* ---- the record ---- */

static int save_trees(struct files_notes *notes)
{
	struct unpack *un = container_of(notes, struct unpack, notes);
	struct fail fail = FAIL_INIT;

	if (home_write_trees(&un->home, un->trees, &fail) == 0)
		return 0;
	return fail.error ? -fail.error : -EIO;
}

/* Before anything is made, for whoever comes after a run that was killed. */
static int write_intent(struct unpack *un, struct fail *fail)
{
	json_t *parents = json_object_get(un->was, "parents");

	snprintf(un->staging, sizeof(un->staging), WIRE_STAGING_PREFIX "%s", un->spec.nonce);
	un->aside = json_array();
	un->tree = json_pack("{s:s, s:b, s:s*, s:s, s:o, s:O*, s:O*}", WIRE_NAME_OF,
		un->spec.name ? un->spec.name : "", WIRE_SERVICE, is_service(un), WIRE_LAUNCHER,
		un->spec.launcher, "staging", un->staging, "parents",
		parents ? json_copy(parents) : json_array(), "aside",
		json_object_get(un->was, "aside"), WIRE_TREE, json_object_get(un->was, WIRE_TREE));
	if (!un->aside || !un->tree || json_object_set_new(un->trees, un->spec.path, un->tree) < 0)
		return fail_sys(fail, ENOMEM, "cannot record the tree");
	if (json_object_size(un->trees) > TREES_MAX)
		return fail_code(fail, FAIL_OCCUPIED,
			"there are %d trees already; remove some first", TREES_MAX);
	parents = json_object_get(un->tree, "parents");
	if (trees_share_parents(un->state, un->spec.path, parents) < 0 ||
		trees_share_all_parents(un->old_trees, un->spec.path, parents) < 0)
		return fail_sys(fail, ENOMEM, "cannot record the tree");
	un->notes = (struct files_notes){parents, un->aside, save_trees};
	un->old_parents = json_array_size(parents);
	return home_write_trees(&un->home, un->trees, fail);
}

/* The path is about to lead to it. */
static int write_placed(struct unpack *un, struct fail *fail)
{
	if (json_object_set_new(un->tree, WIRE_TREE, json_string(un->spec.tree)) < 0)
		return fail_sys(fail, ENOMEM, "cannot record the tree");
	return home_write_trees(&un->home, un->trees, fail);
}

static int write_done(struct unpack *un, struct fail *fail)
{
	json_object_del(un->tree, "staging");
	if (home_write_trees(&un->home, un->trees, fail) < 0)
		return -1;
	/* that of a service stays the one that its service was started from */
	return un->state ? 0 : home_write_current(&un->home, un->spec.sha256, fail);
}

/* ---- the tree ---- */

/* For others than the service the path must be free: what is there is not ours to move. */
static int clear_path(struct unpack *un, struct fail *fail)
{
	char aside[NAME_MAX + 1], whole[SPEC_PATH_MAX + NAME_MAX + 1];
	struct stat st;
	int r;

	if (fstatat(un->parent, un->leaf, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return 0;
	if (un->was && S_ISDIR(st.st_mode) && st.st_uid == geteuid())
		return 0;
	if (!is_service(un))
		return fail_code(fail, FAIL_OCCUPIED, "'%s' is there already, and is not ours",
			un->spec.path);
	r = tree_aside_name(un->leaf, aside);
	if (r < 0)
		return fail_sys(fail, r, "cannot move '%s' aside", un->spec.path);
	snprintf(whole, sizeof(whole), "%s%s", un->spec.path, aside + strlen(un->leaf));
	if (json_object_set_new(un->tree, "aside", json_string(whole)) < 0 ||
		json_array_append_new(un->aside, json_string(whole)) < 0)
		return fail_sys(fail, ENOMEM, "cannot record the tree");
	r = save_trees(&un->notes);
	if (r == 0)
		r = tree_rename_free(un->parent, un->leaf, aside);
	return r < 0 ? fail_code(fail, FAIL_OCCUPIED, "cannot move '%s' aside: %s", un->spec.path,
			       strerror(-r))
		     : 0;
}

static int ask_for_stream(const struct unpack *un, struct fail *fail)
{
	json_t *receipt = receipt_new(&un->spec, 1);

	if (receipt)
		json_object_set_new(receipt, WIRE_SEND, json_true());
	return receipt_print(receipt, 0) == 0 ? 0
					      : fail_set(fail, "cannot ask for the tree's files");
}

static int check_launcher(const struct unpack *un, int dir, struct fail *fail)
{
	const char *launcher = un->spec.launcher;

	if (!launcher || faccessat(dir, launcher, X_OK, AT_EACCESS | AT_SYMLINK_NOFOLLOW) == 0)
		return 0;
	return fail_sys(fail, errno, "cannot execute '%s/%s'", un->spec.path, launcher);
}

static int fill(struct unpack *un, int dir, struct fail *fail)
{
	if (ask_for_stream(un, fail) < 0 || intake_run(0, dir, fail) < 0 ||
		survey_run(dir, false, &un->survey, fail) < 0)
		return -1;
	if (strcmp(un->survey.hex, un->spec.tree) != 0)
		return fail_code(fail, FAIL_DIGEST,
			"the tree as it was unpacked has the digest %s, not %s", un->survey.hex,
			un->spec.tree);
	if (fchmod(dir, is_service(un) ? 0700 : 0755) < 0)
		return fail_sys(fail, errno, "cannot change '%s'", un->spec.path);
	return check_launcher(un, dir, fail);
}

static bool leads_to(const struct unpack *un, int dir)
{
	struct stat st;

	return fstat(dir, &st) == 0 && sys_has_name(&st, un->parent, un->leaf);
}

static int swap(struct unpack *un, int dir, struct fail *fail)
{
	int r = tree_exchange(un->parent, un->staging, un->leaf);

	un->swapped = r == 0;
	if (r == -ENOENT) {
		r = tree_rename_free(un->parent, un->staging, un->leaf);
		un->placed = r == 0;
	}
	if (r < 0)
		return fail_sys(fail, r, "cannot rename the tree to '%s'", un->spec.path);
	return leads_to(un, dir) ? 0
				 : fail_code(fail, FAIL_OCCUPIED, "'%s' changed while it was made",
					   un->spec.path);
}

static int make_staging(struct unpack *un, struct fail *fail)
{
	int r = tree_mkdir(un->parent, un->staging, 0700);

	if (r == 0)
		r = tree_open_dir(un->parent, un->staging);
	return r < 0 ? fail_sys(fail, r, "cannot create a directory beside '%s'", un->spec.path)
		     : r;
}

static int place_tree(struct unpack *un, struct fail *fail)
{
	int dir, r;

	if (un->spec.launcher && files_is_noexec(un->parent))
		return fail_code(fail, FAIL_NOEXEC,
			"'%s' is on a file system that is mounted noexec", un->spec.path);
	dir = make_staging(un, fail);
	if (dir < 0)
		return -1;
	r = fill(un, dir, fail);
	if (r == 0)
		r = clear_path(un, fail);
	if (r == 0)
		r = write_placed(un, fail);
	if (r == 0)
		r = swap(un, dir, fail);
	if (r == 0)
		r = survey_again(dir, &un->survey, fail);
	close(dir);
	return r;
}

/* Since the exchange, what they run has the other name. */
static void end_old_processes(const struct unpack *un)
{
	const char *path = un->spec.path;
	char old[SPEC_PATH_MAX + sizeof(un->staging) + 1];

	snprintf(old, sizeof(old), "%.*s/%s", (int)(strrchr(path, '/') - path), path, un->staging);
	trees_end_processes(old);
}

static int start(const struct unpack *un, struct fail *fail)
{
	char program[SPEC_PATH_MAX * 2 + 2];
	struct launch launch = {program, un->spec.start, un->env, un->spec.cwd, io_in(START_MS)};

	if (!is_service(un) || !un->spec.launcher)
		return 0;
	snprintf(program, sizeof(program), "%s/%s", un->spec.path, un->spec.launcher);
	return launch_run(&launch, fail);
}

/* ---- all or nothing ---- */

static int open_place(struct unpack *un, struct fail *fail)
{
	const char *left; /* by a run that was killed */

	if (write_intent(un, fail) < 0)
		return -1;
	un->parent = files_open_parent(un->spec.path, un->leaf, &un->notes, fail);
	if (un->parent < 0)
		return -1;
	left = json_string_value(json_object_get(un->was, "staging"));
	if (left && !strncmp(left, WIRE_STAGING_PREFIX, strlen(WIRE_STAGING_PREFIX)))
		tree_clear(un->parent, left);
	un->same = un->was &&
		   survey_is(un->parent, un->leaf, is_service(un), un->spec.tree, &un->survey);
	return 0;
}

static int attempt(struct unpack *un, struct fail *fail)
{
	if (settle_in(&un->own, &un->spec, &un->home, fail) < 0 || open_place(un, fail) < 0)
		return -1;
	if (!un->same && place_tree(un, fail) < 0)
		return -1;
	if (un->swapped && is_service(un))
		end_old_processes(un);
	if (start(un, fail) < 0 || write_done(un, fail) < 0)
		return -1;
	if (un->swapped)
		tree_clear(un->parent, un->staging);
	if (!un->state)
		home_sweep(&un->home, un->spec.sha256, un->spec.keep);
	return 0;
}

static void undo(struct unpack *un)
{
	struct fail ignored = FAIL_INIT;
	int removed = 0;

	if ((un->swapped || un->placed) && is_service(un))
		trees_end_processes(un->spec.path);
	if (un->swapped)
		tree_exchange(un->parent, un->staging, un->leaf);
	else if (un->placed)
		tree_rename_free(un->parent, un->leaf, un->staging);
	if (un->parent >= 0)
		tree_clear(un->parent, un->staging);
	files_put_back(un->aside, 0);
	files_remove_parents(un->notes.parents, un->old_parents);
	home_write_trees(&un->home, un->old_trees, &ignored);
	settle_undo(&un->own);
	if (un->swapped && is_service(un))
		start(un, &ignored);
	if (!un->state && !un->old_trees && !un->had_current)
		home_erase(&un->home, true, &removed);
}

/* ---- the answer ---- */

static int report(const struct unpack *un)
{
	json_t *receipt = receipt_new(&un->spec, 1);

	if (receipt) {
		receipt_put_was(receipt, un->same      ? WAS_SAME
					 : un->swapped ? WAS_OTHER
						       : WAS_ABSENT);
		json_object_set_new(receipt, WIRE_TREE, json_string(un->survey.hex));
		json_object_set_new(
			receipt, WIRE_FILES, json_integer((json_int_t)un->survey.files));
		json_object_set_new(
			receipt, WIRE_BYTES, json_integer((json_int_t)un->survey.bytes));
		if (json_array_size(un->aside) > 0)
			json_object_set(receipt, WIRE_MOVED_ASIDE, un->aside);
	}
	return receipt_print(receipt, 0);
}

static int go(struct unpack *un)
{
	struct fail fail = FAIL_INIT;

	if (!un->spec.own_home && home_has_user(&un->home))
		return settle_decline(&un->spec, &un->home, WAS_USERS);
	if (read_home(un, &fail) == 0 && is_other_kind(un))
		return settle_decline(&un->spec, &un->home, WAS_KIND);
	if (un->trees && attempt(un, &fail) == 0)
		return report(un);
	undo(un);
	return receipt_fail(&un->spec, &fail);
}

static int run(const struct cli *cli)
{
	struct unpack un = {.home = HOME_INIT, .parent = -1};
	struct fail fail = FAIL_INIT;
	int status, r = spec_read(&un.spec, SPEC_UNPACK, 0, &fail);

	(void)cli;
	if (r == 0) {
		un.env = process_start_installer();
		r = settle_open(&un.spec, &un.home, un.home_aside, &fail);
	}
	status = r < 0 ? receipt_fail(&un.spec, &fail) : go(&un);
	io_close(&un.parent);
	home_close(&un.home);
	json_decref(un.state);
	json_decref(un.old_trees);
	json_decref(un.trees);
	json_decref(un.aside);
	spec_release(&un.spec);
	return status;
}

const struct cli_command cli_unpack = {
	WIRE_UNPACK,
	"",
	"put a tree of files in place; request and files on stdin",
	0,
	run,
};
