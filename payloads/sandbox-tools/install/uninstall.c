/* SPDX-License-Identifier: MIT */
/*
 * uninstall: removes every trace of an installation; or, with "discard", only the names listed in
 * the home, for a run that failed before its program reported. If the installation was made from
 * nothing by that very run ("born" is its nonce), all of it goes. Root does nothing where the
 * service is the container's own user's, until that user has removed it ("user_gone").
 */
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "payloads/lib/sys.h"
#include "payloads/lib/wire.h"
#include "payloads/sandbox-tools/cli.h"
#include "payloads/sandbox-tools/install/beside.h"
#include "payloads/sandbox-tools/install/erase.h"
#include "payloads/sandbox-tools/install/home.h"
#include "payloads/sandbox-tools/install/process.h"
#include "payloads/sandbox-tools/install/spec.h"
#include "payloads/sandbox-tools/install/trees.h"

static int report(const struct spec *spec, int removed, bool is_users, bool stands)
{
	json_t *receipt = receipt_new(spec, 1);

	if (receipt)
		json_object_set_new(receipt, WIRE_REMOVED, json_integer(removed));
	if (receipt && stands)
		json_object_set_new(receipt, WIRE_STANDS, json_true());
	if (receipt && is_users)
		receipt_put_was(receipt, WAS_USERS);
	return receipt_print(receipt, 0);
}

static bool is_born_of(const json_t *state, const struct spec *spec)
{
	const char *born = json_string_value(json_object_get(state, "born"));

	return born && spec->born && strcmp(born, spec->born) == 0;
}

static int discard(const struct home *home, const json_t *names)
{
	json_t *name;
	size_t i;
	int removed = 0;

	json_array_foreach (names, i, name)
		removed += unlinkat(home->fd, json_string_value(name), 0) == 0;
	return removed;
}

static int remove_wanted(struct erase *erase, int *ret_removed, struct fail *fail)
{
	const struct spec *spec = erase->spec;
	struct home *home = erase->home;
	char current[SHA256_HEX];
	int removed;

	if (spec->trees) {
		*ret_removed = 0;
		return trees_discard(home, spec->trees, ret_removed, fail);
	}
	if (!spec->discard)
		return erase_run(erase, ret_removed, fail);
	*ret_removed = discard(home, spec->discard);
	if (is_born_of(erase->state, spec)) {
		erase->keep_deliveries = true;
		if (erase_run(erase, &removed, fail) < 0)
			return -1;
		*ret_removed += removed;
	} else if (!erase->state && !home_read_current(home, current) && !home_has_user(home)) {
		home_erase(home, true, ret_removed);
	}
	return 0;
}

/* A home that is somebody else's is none, where anybody could make it. */
static int open_home(struct home *home, const struct spec *spec, struct fail *fail)
{
	if (spec->beside && !beside_is_home(spec->home)) {
		home->path = spec->home;
		return 1;
	}
	return home_open(home, spec->home, spec->deadline, fail);
}

static int run(const struct cli *cli)
{
	struct spec spec;
	struct sys_self self;
	struct home home = HOME_INIT;
	struct place place;
	struct erase erase = {.home = &home, .spec = &spec, .self = &self};
	struct fail fail = FAIL_INIT;
	json_t *state = NULL;
	bool is_users = false, stands = false;
	int removed = 0, dropped = 0, r;

	(void)cli;
	sys_know_self(&self);
	if (place_find(&place, &fail) == 0)
		erase.place = &place;
	erase.tmpdir = sys_tmpdir();
	process_start_installer();
	r = spec_read(&spec, SPEC_UNINSTALL, 0, &fail);
	if (r == 0)
		r = open_home(&home, &spec, &fail);
	if (r == 0 && spec.user_gone)
		dropped = home_drop_user(&home);
	is_users = r == 0 && !spec.discard && home_has_user(&home);
	if (r >= 0)
		r = home_read_state(&home, &state, &fail);
	if (r >= 0 && !is_users) {
		erase.state = state;
		erase.service_only = spec.service_only;
		r = remove_wanted(&erase, &removed, &fail);
		stands = spec.discard && state && !is_born_of(state, &spec);
	}
	json_decref(state);
	home_close(&home);
	if (spec.beside)
		removed += beside_remove(spec.home, spec.discard);
	return r < 0 ? receipt_fail(&spec, &fail)
		     : report(&spec, removed + dropped, is_users, stands);
}

const struct cli_command cli_uninstall = {
	WIRE_UNINSTALL,
	"",
	"stop the service and remove every trace; request on stdin",
	0,
	run,
};
