/* SPDX-License-Identifier: MIT */
/*
 * install: puts the delivered program in its place, starts the service and proves that it is the
 * right one. Either everything succeeds or everything this run did is taken back.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "payloads/lib/frame.h"
#include "payloads/lib/io.h"
#include "payloads/lib/sys.h"
#include "payloads/sandbox-tools/cli.h"
#include "payloads/sandbox-tools/install/erase.h"
#include "payloads/sandbox-tools/install/files.h"
#include "payloads/sandbox-tools/install/home.h"
#include "payloads/sandbox-tools/install/launch.h"
#include "payloads/sandbox-tools/install/process.h"
#include "payloads/sandbox-tools/install/spec.h"
#include "payloads/sandbox-tools/server/service.h"

#define DESCRIBE_MS 2000 /* for a server that was there before us */
#define UNDO_MS 10000	 /* to take back and to restart what was stopped */

struct install {
	struct spec spec;
	struct home home;
	struct place place;
	struct files_target target;
	char **env; /* the container's; ours is empty */

	json_t *old_state; /* NULL: first installation */
	json_t *state;
	json_t *made_links; /* by this run, also in state */
	size_t old_parents;
	char old_current[SHA256_HEX];
	bool adopted; /* home/<sha256> is new */
	bool stopped_old, started;
	json_t *server; /* what the running server says of itself */
};

static json_t *get_array(const json_t *state, const char *key)
{
	json_t *array = json_object_get(state, key);

	return json_is_array(array) ? array : NULL;
}

/* ---- the binary ---- */

static int check_self(const struct install *in, struct fail *fail)
{
	const char *name = in->spec.staged ? in->spec.staged : in->spec.sha256;
	char hex[SHA256_HEX] = "";
	int fd = sys_open_self(), r;

	if (fd < 0)
		fd = io_open(in->home.fd, name, O_RDONLY | O_NOFOLLOW, 0);
	if (fd < 0)
		return fail_sys(fail, fd, "cannot open '%s/%s'", in->spec.home, name);
	r = sys_digest(fd, hex);
	close(fd);
	if (r < 0)
		return fail_sys(fail, r, "cannot read '%s/%s'", in->spec.home, name);
	if (strcmp(hex, in->spec.sha256) != 0)
		return fail_code(
			fail, "digest", "'%s/%s' has the digest %s", in->spec.home, name, hex);
	return 0;
}

/* Gives the delivered file its final name in the home. */
static int adopt(struct install *in, struct fail *fail)
{
	const char *name = in->spec.staged ? in->spec.staged : in->spec.sha256;
	char hex[SHA256_HEX];

	if (!files_digest(in->home.fd, name, hex) || strcmp(hex, in->spec.sha256) != 0)
		return fail_code(fail, "digest", "'%s/%s' is not the program that is running",
			in->spec.home, name);
	if (!in->spec.staged)
		return 0;
	in->adopted = !home_has(&in->home, in->spec.sha256);
	if (fchmodat(in->home.fd, name, 0755, 0) < 0 ||
		renameat(in->home.fd, name, in->home.fd, in->spec.sha256) < 0)
		return fail_sys(fail, errno, "cannot rename '%s/%s'", in->spec.home, name);
	return 0;
}

/* ---- the state ---- */

static int prepare_state(struct install *in, struct fail *fail)
{
	const char *path = json_string_value(json_object_get(in->old_state, "path"));
	const char *born = json_string_value(json_object_get(in->old_state, "born"));
	json_t *parents = get_array(in->old_state, "parents");
	json_t *links = get_array(in->old_state, "links");

	/* after a change of paths the old ones are not ours to keep track of */
	if (path && strcmp(path, in->spec.path) != 0)
		return fail_code(fail, "occupied", "'%s' is installed; remove it first", path);
	in->made_links = json_array();
	/* the run that made something from nothing, for the case that its receipt is lost */
	if (!in->old_state && !in->old_current[0])
		born = in->spec.nonce;
	in->state = json_pack("{s:i, s:s, s:s, s:s, s:s, s:o, s:o}", "version", 1, "release",
		RELEASE, "sha256", in->spec.sha256, "path", in->spec.path, "born", born ? born : "",
		"parents", parents ? json_copy(parents) : json_array(), "links",
		links ? json_copy(links) : json_array());
	if (!in->state || !in->made_links)
		return fail_sys(fail, ENOMEM, "cannot record the installation");
	in->old_parents = json_array_size(parents);
	return 0;
}

/* Where the program will look for its server, now that the directories are there. */
static int find_server(struct install *in, struct fail *fail)
{
	char **empty = environ;
	int r;

	environ = in->env;
	r = place_find(&in->place, fail);
	environ = empty;
	if (r == 0 && json_object_set_new(in->state, "server_dir", json_string(in->place.dir)) < 0)
		r = fail_sys(fail, ENOMEM, "cannot record the installation");
	return r;
}

static int place_files(struct install *in, struct fail *fail)
{
	json_t *parents = get_array(in->state, "parents"), *links = get_array(in->state, "links");
	int r;

	if (files_open(&in->target, in->spec.path, parents, fail) < 0 ||
		files_place(&in->target, &in->home, in->spec.sha256, in->spec.nonce, fail) < 0)
		return -1;
	r = files_link(in->spec.links, in->spec.path, get_array(in->old_state, "links"),
		in->made_links, parents, fail);
	if (json_array_extend(links, in->made_links) < 0)
		return fail_sys(fail, ENOMEM, "cannot record the installation");
	if (r < 0 || find_server(in, fail) < 0 ||
		home_write_current(&in->home, in->spec.sha256, fail) < 0)
		return -1;
	return home_write_state(&in->home, in->state, fail);
}

/* ---- the service ---- */

static bool is_right(const struct install *in, const json_t *server)
{
	const char *hex = json_string_value(json_object_get(server, "sha256"));

	return hex && strcmp(hex, in->spec.sha256) == 0;
}

static int start(const struct install *in, int64_t deadline, struct fail *fail)
{
	struct launch launch = {in->spec.path, in->spec.start, in->env, in->spec.cwd, deadline};

	return launch_run(&launch, fail);
}

static int ensure_service(struct install *in, struct fail *fail)
{
	json_t *server = service_describe(&in->place, io_sooner(in->spec.deadline, DESCRIBE_MS));

	if (server && is_right(in, server)) {
		in->server = server;
		return 0;
	}
	/* whatever else listens or hangs there; nothing there is success */
	in->stopped_old = server != NULL;
	json_decref(server);
	if (service_stop(&in->place, in->spec.deadline, fail) < 0)
		return -1;
	in->started = true;
	if (start(in, in->spec.deadline, fail) < 0)
		return -1;
	in->server = service_describe(&in->place, in->spec.deadline);
	if (!in->server)
		return fail_code(fail, "start", "the service started but does not answer");
	if (!is_right(in, in->server))
		return fail_code(fail, "digest", "the running service has the digest %s",
			json_string_value(json_object_get(in->server, "sha256")));
	return 0;
}

/* ---- all or nothing ---- */

static int attempt(struct install *in, struct fail *fail)
{
	if (check_self(in, fail) < 0 || adopt(in, fail) < 0 || prepare_state(in, fail) < 0 ||
		place_files(in, fail) < 0 || ensure_service(in, fail) < 0)
		return -1;
	files_commit(&in->target);
	home_sweep(&in->home, in->spec.sha256);
	return 0;
}

/* Back to what an earlier installation had made. */
static void undo_upgrade(struct install *in)
{
	struct fail ignored;

	files_restore(&in->target);
	files_unlink(in->made_links, in->spec.path);
	files_remove_parents(get_array(in->state, "parents"), in->old_parents);
	if (in->old_current[0])
		home_write_current(&in->home, in->old_current, &ignored);
	home_write_state(&in->home, in->old_state, &ignored);
	if (in->spec.staged)
		unlinkat(in->home.fd, in->spec.staged, 0);
	if (in->adopted)
		unlinkat(in->home.fd, in->spec.sha256, 0);
	if (in->stopped_old)
		start(in, io_in(UNDO_MS), &ignored);
}

/* Back to nothing; what was at the path before, by somebody else, is there again. */
static void undo_first(struct install *in)
{
	struct erase erase = {&in->home, in->state, &in->spec, in->spec.sha256, true};
	bool was_ours = in->target.was == FILES_SAME && !in->target.placed;
	struct fail ignored;
	int removed;

	files_restore(&in->target);
	files_unlink(in->made_links, in->spec.path);
	files_remove_parents(get_array(in->state, "parents"), 0);
	if (in->spec.staged)
		unlinkat(in->home.fd, in->spec.staged, 0);
	/* the same program was there without us: leave it */
	if (was_ours || !in->started) {
		home_erase(&in->home, true);
		return;
	}
	erase_run(&erase, &removed, &ignored);
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

static const char *was(const struct install *in)
{
	if (in->target.was == FILES_OTHER || in->stopped_old)
		return "other";
	return in->target.was == FILES_SAME ? "same" : "absent";
}

static int report(struct install *in)
{
	json_t *receipt = receipt_new(&in->spec, 1);
	static const char *const copied[] = {"sha256", "release", "wire", "pid", "uid"};

	if (receipt) {
		for (size_t i = 0; i < sizeof(copied) / sizeof(copied[0]); i++)
			json_object_set(receipt, copied[i], json_object_get(in->server, copied[i]));
		json_object_set_new(receipt, "was", json_string(was(in)));
		json_object_set_new(receipt, "started", json_boolean(in->started));
		json_object_set_new(receipt, "path", json_string(in->spec.path));
	}
	return receipt_print(receipt, 0);
}

static int open_all(struct install *in, struct fail *fail)
{
	int r;

	if (spec_read(&in->spec, SPEC_INSTALL, 0, fail) < 0)
		return -1;
	in->env = process_start_installer();
	r = home_open(&in->home, in->spec.home, in->spec.deadline, fail);
	if (r != 0)
		return r < 0 ? -1 : fail_sys(fail, ENOENT, "cannot open '%s'", in->spec.home);
	in->old_state = home_read_state(&in->home);
	if (!home_read_current(&in->home, in->old_current))
		in->old_current[0] = '\0';
	return 0;
}

static int run(const struct cli *cli)
{
	struct install in = {.home = HOME_INIT, .place = {.fd = -1}, .target = FILES_TARGET_INIT};
	struct fail fail = FAIL_INIT;
	int status;

	(void)cli;
	if (open_all(&in, &fail) < 0)
		return receipt_fail(&in.spec, &fail);
	if (attempt(&in, &fail) < 0) {
		undo(&in);
		status = receipt_fail(&in.spec, &fail);
	} else {
		status = report(&in);
	}
	files_close(&in.target);
	place_close(&in.place);
	home_close(&in.home);
	return status;
}

const struct cli_command cli_install = {
	"install",
	"",
	"put this program in place and start it; request on stdin",
	0,
	run,
};
