/* SPDX-License-Identifier: MIT */
/*
 * install: puts the delivered program in its place, starts the service and proves that it is the
 * right one. Either everything succeeds or everything this run did is taken back.
 */
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
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
#include "payloads/sandbox-tools/install/home.h"
#include "payloads/sandbox-tools/install/launch.h"
#include "payloads/sandbox-tools/install/needs.h"
#include "payloads/sandbox-tools/install/process.h"
#include "payloads/sandbox-tools/install/settle.h"
#include "payloads/sandbox-tools/install/spec.h"
#include "payloads/sandbox-tools/install/trees.h"
#include "payloads/sandbox-tools/server/lifecycle.h"

#define DESCRIBE_MS 2000 /* for a server that was there before us */
#define UNDO_MS 10000	 /* to take back and to restart what was stopped */
#define CURRENT_SIZE (SPEC_PATH_MAX + sizeof("/" WIRE_CURRENT_NAME))

struct install {
	struct spec spec;
	struct settle own; /* the program in the home */
	struct home home;
	struct place place;
	struct files_target target;
	char **env; /* the container's; ours is empty */

	json_t *old_state; /* NULL: first installation */
	json_t *trees;	   /* recorded, NULL: none */
	json_t *state;
	json_t *made_links; /* by this run, also in state */
	json_t *sure_links; /* of earlier runs */
	struct files_notes notes;
	size_t old_parents, old_aside;
	char home_aside[NAME_MAX + 1]; /* what was in the way of a home beside which we came */
	char old_current[SHA256_HEX];
	char old_server[PATH_MAX]; /* where the home led to, or "" */
	bool found_place;	   /* the server directory was there before */
	bool stopped_old, started;
	json_t *server; /* what the running server says of itself */
};

static json_t *get_array(const json_t *state, const char *key)
{
	json_t *array = json_object_get(state, key);

	return json_is_array(array) ? array : NULL;
}

static json_t *copy_array(const json_t *state, const char *key)
{
	json_t *array = get_array(state, key);

	return array ? json_copy(array) : json_array();
}

/* ---- the state ---- */

static int save_state(struct files_notes *notes)
{
	struct install *in = container_of(notes, struct install, notes);
	struct fail fail = FAIL_INIT;

	if (home_write_state(&in->home, in->state, &fail) == 0)
		return 0;
	return fail.error ? -fail.error : -EIO;
}

/* With that of an earlier release, or of another environment, until that one is gone. */
static int record_server(struct install *in)
{
	static const char *const keys[] = {"former_dir", "server_dir"};
	const char *former = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(keys) && !former; i++) {
		former = json_string_value(json_object_get(in->old_state, keys[i]));
		if (former && strcmp(former, in->place.dir) == 0)
			former = NULL;
	}
	json_object_del(in->state, "former_dir");
	if (former && json_object_set_new(in->state, "former_dir", json_string(former)) < 0)
		return -1;
	return json_object_set_new(in->state, "server_dir", json_string(in->place.dir));
}

/* What is started, for want of a name at the path from the home. */
static const char *program_of(const struct install *in, char current[CURRENT_SIZE])
{
	if (in->target.form != PLACED_NONE)
		return in->spec.path;
	snprintf(current, CURRENT_SIZE, "%s/" WIRE_CURRENT_NAME, in->spec.home);
	return current;
}

/* Where the program will look for its server. */
static int find_server(struct install *in, struct fail *fail)
{
	char **empty = environ;
	char current[CURRENT_SIZE];
	struct stat st;
	int r;

	environ = in->env;
	r = place_of(&in->place, program_of(in, current), fail);
	environ = empty;
	in->found_place = lstat(in->place.dir, &st) == 0;
	if (r == 0 && record_server(in) < 0)
		r = fail_sys(fail, ENOMEM, "cannot record the installation");
	return r;
}

static int prepare_state(struct install *in, struct fail *fail)
{
	const char *path = json_string_value(json_object_get(in->old_state, "path"));
	const char *dir = json_string_value(json_object_get(in->old_state, "server_dir"));
	/* the run that makes something from nothing, for the case that its receipt is lost; once
	   another run succeeds it is not the one to take everything back */
	const char *born = in->old_state || in->old_current[0] ? "" : in->spec.nonce;
	json_t *dir_mode = json_object_get(in->old_state, "dir_mode");

	/* after a change of paths the old ones are not ours to keep track of */
	if (path && strcmp(path, in->spec.path) != 0)
		return fail_code(fail, FAIL_OCCUPIED, "'%s' is installed; remove it first", path);
	in->made_links = json_array();
	in->state = json_pack("{s:i, s:s, s:s, s:s, s:s, s:s*, s:O*, s:o, s:o, s:o}", "version", 1,
		"release", RELEASE, "sha256", in->spec.sha256, "path", in->spec.path, "born", born,
		"server_dir", dir, "dir_mode", dir_mode, "parents",
		copy_array(in->old_state, "parents"), "aside", copy_array(in->old_state, "aside"),
		"links", copy_array(in->old_state, "links"));
	if (!in->state || !in->made_links ||
		trees_share_all_parents(in->trees, in->spec.path, get_array(in->state, "parents")) <
			0)
		return fail_sys(fail, ENOMEM, "cannot record the installation");
	in->notes = (struct files_notes){
		get_array(in->state, "parents"), get_array(in->state, "aside"), save_state};
	in->old_parents = json_array_size(in->notes.parents);
	in->old_aside = json_array_size(in->notes.aside);
	return 0;
}

/* Writes down what will be made before anything is, for whoever comes after a run that was killed:
   the links that may have been made included. */
static int write_intent(struct install *in, struct fail *fail)
{
	json_t *links = get_array(in->state, "links"), *sure = json_copy(links);
	int r = -1;

	if (sure && files_find_missing(in->spec.links, in->spec.path, links) == 0 &&
		find_server(in, fail) == 0)
		r = home_write_state(&in->home, in->state, fail);
	else if (!fail->text[0])
		fail_sys(fail, ENOMEM, "cannot record the installation");
	in->sure_links = sure;
	return r;
}

/* The mode that a directory had which was there before us is for the uninstall. */
static int fill_target(struct install *in, struct fail *fail)
{
	const struct files_ours ours = {&in->home, &in->own.self,
		json_string_value(json_object_get(in->old_state, "sha256"))};

	if (files_open(&in->target, in->spec.path, &in->notes, fail) < 0 ||
		files_look(&in->target, &ours, in->spec.sha256, fail) < 0 ||
		files_place(&in->target, &in->home, in->spec.sha256, in->spec.nonce, fail) < 0)
		return -1;
	if (in->target.dir_mode && !json_object_get(in->state, "dir_mode") &&
		json_object_set_new(in->state, "dir_mode", json_integer(in->target.dir_mode)) < 0)
		return fail_sys(fail, ENOMEM, "cannot record the installation");
	return 0;
}

static int place_files(struct install *in, struct fail *fail)
{
	json_t *links;

	if (write_intent(in, fail) < 0 || fill_target(in, fail) < 0)
		return -1;
	/* a link to what is not there is of no use */
	if (in->target.form != PLACED_NONE &&
		files_link(in->spec.links, in->spec.path, in->made_links, &in->notes, fail) < 0)
		return -1;
	/* once more: with other directories there, another one may be right */
	if (find_server(in, fail) < 0)
		return -1;
	files_make_parents(in->place.dir, &in->notes);
	links = json_copy(in->sure_links);
	if (json_array_extend(links, in->made_links) < 0 ||
		json_object_set_new(in->state, "links", links) < 0)
		return fail_sys(fail, ENOMEM, "cannot record the installation");
	if (home_write_current(&in->home, in->spec.sha256, fail) < 0)
		return -1;
	return home_write_state(&in->home, in->state, fail);
}

/* ---- the service ---- */

static bool is_right(const struct install *in, const json_t *server)
{
	const char *hex = json_string_value(json_object_get(server, "sha256"));

	return hex && strcmp(hex, in->spec.sha256) == 0;
}

static int start(const struct install *in, const json_t *args, int64_t deadline, struct fail *fail)
{
	char current[CURRENT_SIZE];
	struct launch launch = {program_of(in, current), args, in->env, in->spec.cwd, deadline};

	return launch_run(&launch, fail);
}

/* The service of an installation that had its server directory elsewhere. */
static int retire_former(struct install *in, struct fail *fail)
{
	const char *former = json_string_value(json_object_get(in->state, "former_dir"));
	enum service_seen seen;
	struct place place;

	if (!former || place_at(&place, former, fail) < 0)
		return 0;
	seen = service_look(&place);
	in->stopped_old = seen == SERVICE_PRESENT;
	if (seen != SERVICE_ELSEWHERE && service_stop(&place, in->spec.deadline, fail) < 0) {
		place_close(&place);
		return -1;
	}
	if (seen != SERVICE_ELSEWHERE && place_open(&place, false, fail) == 0)
		place_erase(&place);
	place_close(&place);
	json_object_del(in->state, "former_dir");
	return home_write_state(&in->home, in->state, fail);
}

/* What others left there before the program's directory was closed to them. */
static void clear_server(const struct install *in)
{
	char beside[SPEC_PATH_MAX + sizeof("/" WIRE_SERVER_NAME)];
	int dir = in->target.dir;
	struct stat st;

	snprintf(beside, sizeof(beside), "%.*s/" WIRE_SERVER_NAME,
		(int)(strrchr(in->spec.path, '/') - in->spec.path), in->spec.path);
	if (strcmp(in->place.dir, beside) == 0 && files_is_own_dir(dir) &&
		fstatat(dir, WIRE_SERVER_NAME, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
		(st.st_uid != geteuid() || !S_ISDIR(st.st_mode)))
		tree_clear(dir, WIRE_SERVER_NAME);
}

/* For the programs in the home, which look beside themselves. */
static int lead_home(const struct install *in, struct fail *fail)
{
	char own[SPEC_PATH_MAX + sizeof("/" WIRE_SERVER_NAME)];

	snprintf(own, sizeof(own), "%s/" WIRE_SERVER_NAME, in->spec.home);
	return home_write_server(
		&in->home, strcmp(in->place.dir, own) == 0 ? NULL : in->place.dir, fail);
}

static int ensure_service(struct install *in, struct fail *fail)
{
	json_t *server;

	if (retire_former(in, fail) < 0 || lead_home(in, fail) < 0)
		return -1;
	clear_server(in);
	/* private, also where the program is among others' files */
	if (place_open(&in->place, true, fail) < 0)
		return -1;
	server = service_describe(&in->place, io_sooner(in->spec.deadline, DESCRIBE_MS));
	if (server && is_right(in, server)) {
		in->server = server;
		return 0;
	}
	/* whatever else listens or hangs there; nothing there is success */
	json_decref(server);
	in->stopped_old = in->stopped_old || service_look(&in->place) == SERVICE_PRESENT;
	if (service_stop(&in->place, in->spec.deadline, fail) < 0)
		return -1;
	in->started = true;
	if (start(in, in->spec.start, in->spec.deadline, fail) < 0)
		return -1;
	in->server = service_describe(&in->place, in->spec.deadline);
	if (!in->server)
		return fail_code(fail, FAIL_START, "the service started but does not answer");
	if (!is_right(in, in->server))
		return fail_code(fail, FAIL_DIGEST, "the running service has the digest %s",
			json_string_value(json_object_get(in->server, "sha256")));
	return 0;
}

/* ---- all or nothing ---- */

static int attempt(struct install *in, struct fail *fail)
{
	if (settle_in(&in->own, &in->spec, &in->home, fail) < 0 || prepare_state(in, fail) < 0 ||
		place_files(in, fail) < 0 || ensure_service(in, fail) < 0)
		return -1;
	files_commit(&in->target);
	home_sweep(&in->home, in->spec.sha256, in->spec.keep);
	return 0;
}

/* Back to what an earlier installation had made. */
static void undo_upgrade(struct install *in)
{
	struct fail ignored;

	files_restore(&in->target);
	files_unlink(in->made_links, in->spec.path);
	files_remove_parents(get_array(in->state, "parents"), in->old_parents);
	files_put_back(get_array(in->state, "aside"), in->old_aside);
	if (in->old_current[0])
		home_write_current(&in->home, in->old_current, &ignored);
	home_write_server(&in->home, in->old_server[0] ? in->old_server : NULL, &ignored);
	home_write_state(&in->home, in->old_state, &ignored);
	settle_undo(&in->own);
	if (in->stopped_old)
		start(in, NULL, io_in(UNDO_MS), &ignored);
}

/* Back to nothing; what was there before, by somebody else, is there again, and runs if it did. */
static void undo_first(struct install *in)
{
	bool was_there = in->target.was != FILES_ABSENT;
	struct fail ignored;
	int removed = 0;

	files_restore(&in->target);
	files_unlink(in->made_links, in->spec.path);
	if (!in->found_place && place_open(&in->place, false, &ignored) == 0)
		place_erase(&in->place);
	files_remove_parents(get_array(in->state, "parents"), 0);
	files_put_back(get_array(in->state, "aside"), 0);
	home_write_server(&in->home, NULL, &ignored);
	if (in->spec.staged)
		unlinkat(in->home.fd, in->spec.staged, 0);
	home_erase(&in->home, true, &removed);
	if (in->stopped_old && was_there)
		start(in, NULL, io_in(UNDO_MS), &ignored);
}

static void undo(struct install *in)
{
	struct fail ignored;

	in->spec.deadline = io_in(UNDO_MS);
	if (in->started)
		service_stop(&in->place, in->spec.deadline, &ignored);
	if (in->old_state || in->old_current[0])
		undo_upgrade(in);
	else
		undo_first(in);
}

static enum wire_was was(const struct install *in)
{
	bool same = in->target.was == FILES_SAME ||
		    (in->target.form == PLACED_NONE && !strcmp(in->old_current, in->spec.sha256));

	if (in->target.was == FILES_OTHER || in->stopped_old)
		return WAS_OTHER;
	return same ? WAS_SAME : WAS_ABSENT;
}

/* What this run has moved out of its way: a new array of paths. */
static json_t *list_aside(const struct install *in)
{
	json_t *list = json_array();
	const char *slash = strrchr(in->spec.home, '/');

	for (size_t i = in->old_aside; i < json_array_size(in->notes.aside); i++)
		json_array_append(list, json_array_get(in->notes.aside, i));
	if (in->home_aside[0])
		json_array_append_new(list, json_sprintf("%.*s/%s", (int)(slash - in->spec.home),
						    in->spec.home, in->home_aside));
	return list;
}

static int report(struct install *in)
{
	json_t *receipt = receipt_new(&in->spec, 1), *aside = list_aside(in);
	json_t *missing = needs_missing(in->spec.needs, in->env);
	static const char *const copied[] = {
		WIRE_SHA256, WIRE_RELEASE, WIRE_WIRE, WIRE_PID, WIRE_UID};

	if (receipt) {
		for (size_t i = 0; i < ARRAY_SIZE(copied); i++)
			json_object_set(receipt, copied[i], json_object_get(in->server, copied[i]));
		receipt_put_was(receipt, was(in));
		json_object_set_new(receipt, WIRE_STARTED, json_boolean(in->started));
		json_object_set_new(receipt, WIRE_PATH, json_string(in->spec.path));
		if (json_array_size(aside) > 0)
			json_object_set(receipt, WIRE_MOVED_ASIDE, aside);
		if (json_array_size(missing) > 0)
			json_object_set(receipt, WIRE_MISSING, missing);
		json_object_set_new(
			receipt, WIRE_PLACED, json_string(files_form_word(in->target.form)));
	}
	json_decref(aside);
	json_decref(missing);
	return receipt_print(receipt, 0);
}

static int read_home(struct install *in, struct fail *fail)
{
	if (home_read_state(&in->home, &in->old_state, fail) < 0 ||
		home_read_trees(&in->home, &in->trees, fail) < 0)
		return -1;
	if (!home_read_current(&in->home, in->old_current))
		in->old_current[0] = '\0';
	home_read_server(&in->home, in->old_server);
	return 0;
}

/* A run that cannot begin leaves as little as one that fails later. */
static int open_all(struct install *in, struct fail *fail)
{
	if (spec_read(&in->spec, SPEC_INSTALL, 0, fail) < 0)
		return -1;
	in->env = process_start_installer();
	if (settle_open(&in->spec, &in->home, in->home_aside, fail) < 0)
		return -1;
	if (read_home(in, fail) == 0)
		return 0;
	home_close(&in->home);
	if (in->spec.staged)
		home_abandon(in->spec.home, in->spec.staged);
	return -1;
}

static int run(const struct cli *cli)
{
	struct install in = {.home = HOME_INIT, .place = {.fd = -1}, .target = FILES_TARGET_INIT};
	struct fail fail = FAIL_INIT;
	int status;

	(void)cli;
	if (open_all(&in, &fail) < 0)
		return receipt_fail(&in.spec, &fail);
	if (!in.spec.own_home && home_has_user(&in.home)) {
		status = settle_decline(&in.spec, &in.home, WAS_USERS);
	} else if (trees_service(in.trees)) {
		status = settle_decline(&in.spec, &in.home, WAS_KIND);
	} else if (attempt(&in, &fail) < 0) {
		undo(&in);
		status = receipt_fail(&in.spec, &fail);
	} else {
		status = report(&in);
	}
	files_close(&in.target);
	place_close(&in.place);
	home_close(&in.home);
	json_decref(in.trees);
	return status;
}

const struct cli_command cli_install = {
	WIRE_INSTALL,
	"",
	"put this program in place and start it; request on stdin",
	0,
	run,
};
