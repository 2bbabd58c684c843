/* SPDX-License-Identifier: MIT */
/* status: what is installed and what runs. Starts and changes nothing. */
#include <stddef.h>
#include <sys/stat.h>

#include "payloads/lib/base.h"
#include "payloads/lib/sys.h"
#include "payloads/lib/wire.h"
#include "payloads/sandbox-tools/cli.h"
#include "payloads/sandbox-tools/install/files.h"
#include "payloads/sandbox-tools/install/process.h"
#include "payloads/sandbox-tools/install/spec.h"
#include "payloads/sandbox-tools/install/trees.h"
#include "payloads/sandbox-tools/server/service.h"

/* Where nothing leads to a service, it may be that of a program at the path. */
static bool find_place(struct place *place, const char *path)
{
	struct fail ignored;
	struct stat st;

	if (place_find(place, &ignored) == 0 && (!path || lstat(place->dir, &st) == 0))
		return true;
	return path && place_of(place, path, &ignored) == 0;
}

/* 'place' is NULL if it cannot be told. */
static json_t *server_part(struct place *place, int64_t deadline)
{
	static const char *const copied[] = {WIRE_PID, WIRE_SHA256, WIRE_RELEASE, WIRE_WIRE,
		WIRE_UID, WIRE_UPTIME, WIRE_CAN_SWITCH};
	json_t *part = json_object(), *server = NULL;

	if (place) {
		server = service_describe(place, deadline);
		place_close(place);
	}
	json_object_set_new(part, WIRE_RUNNING, json_boolean(server != NULL));
	for (size_t i = 0; server && i < ARRAY_SIZE(copied); i++)
		json_object_set(part, copied[i], json_object_get(server, copied[i]));
	json_decref(server);
	return part;
}

static int run(const struct cli *cli)
{
	struct fail fail = FAIL_INIT;
	struct home home = HOME_INIT;
	struct sys_self self;
	struct place place;
	struct spec spec;
	enum wire_placed form;
	json_t *receipt;
	bool placed, path_ok;

	(void)cli;
	sys_know_self(&self);
	if (spec_read(&spec, SPEC_STATUS, 0, &fail) < 0)
		return receipt_fail(&spec, &fail);
	placed = find_place(&place, spec.path);
	process_start_installer();
	receipt = receipt_new(&spec, 1);
	path_ok = spec.path && files_find(spec.path, spec.home, &self, &form);
	if (receipt) {
		json_object_set_new(receipt, WIRE_SHA256, json_string(self.hex));
		json_object_set_new(receipt, WIRE_RELEASE, json_string(RELEASE));
		json_object_set_new(receipt, WIRE_WIRE, json_integer(WIRE_VERSION));
		json_object_set_new(receipt, WIRE_PATH_OK, json_boolean(path_ok));
		if (path_ok)
			json_object_set_new(
				receipt, WIRE_PLACED, json_string(files_form_word(form)));
		/* another run may hold its lock for long */
		if (home_peek(&home, spec.home) == 0)
			json_object_set_new(receipt, WIRE_TREES, trees_list(&home));
		home_close(&home);
		json_object_set_new(
			receipt, WIRE_SERVER, server_part(placed ? &place : NULL, spec.deadline));
	}
	return receipt_print(receipt, 0);
}

const struct cli_command cli_status = {
	WIRE_STATUS,
	"",
	"report what is installed and what is running; request on stdin",
	0,
	run,
};
