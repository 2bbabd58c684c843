/* SPDX-License-Identifier: MIT */
#include "payloads/carry.h"

#include "engine/refusal.h"
#include "engine/tar.h"
#include "engine/text.h"
#include "payloads/graft.h"
#include "payloads/talk.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

struct carrier {
	enum eng_exec_user user;
	enum wire_when cleaner_when; /* an upload is cheaper than a look before, a helper is not */
	int (*is_ready)(struct carry *carry, struct sb_err *err);
	int (*check)(struct carry *carry, enum wire_when when, struct sb_err *err);
	int (*bring)(struct carry *carry, const struct payload_program *program,
		enum wire_when when, struct sb_err *err);
};

enum eng_exec_user carry_user(const struct carry *carry)
{
	return carry->by->user;
}

bool carry_is_for_user(const struct carry *carry)
{
	return carry->by->user == ENG_AS_USER;
}

const char *carry_home(const struct carry *carry)
{
	return carry_is_for_user(carry) ? carry->plan->user_home : carry->plan->home_path;
}

/*
 * Where others can write, the home may be theirs, and then they could exchange what is put into it
 * before it is run: there the program comes alone, and makes the home itself.
 */
bool carry_is_beside(const struct carry *carry)
{
	return carry->uploaded && carry->plan->home.shared;
}

void carry_path(const struct carry *carry, char ret[CARRY_PATH_SIZE])
{
	const struct plan *plan = carry->plan;

	snprintf(ret, CARRY_PATH_SIZE, "%s/%s",
		carry_is_beside(carry) ? plan->home.dir : plan->home_path, carry->name);
}

/* ---- names in the home ---- */

static const char *name_to_keep(const struct carry *carry)
{
	return carry_is_for_user(carry) ? carry->plan->keep_user : carry->plan->keep;
}

/* Of what stands ready; without a key, of what is brought for a user. */
static void name_kept(struct carry *carry)
{
	const char *kept = name_to_keep(carry);

	if (carry_is_for_user(carry))
		snprintf(carry->name, sizeof(carry->name), WIRE_USER_NAME "/%s/%s",
			carry->plan->payload.sha256, *kept ? kept : "program");
	else
		snprintf(carry->name, sizeof(carry->name), "%s", kept);
}

static void name_delivery(struct carry *carry, const struct payload_program *program)
{
	snprintf(carry->name, sizeof(carry->name), "%s.%s", program->sha256, carry->nonce);
}

/* Says of `sha256` that it is there, for those who only look. */
static void name_current(const char *sha256, char link[80])
{
	snprintf(link, 80, WIRE_USER_NAME "/%.64s", sha256);
}

/* ---- by the archive API ---- */

int carry_look(struct eng_client *client, const char *id, const char *home_path,
	struct carry_found *ret, struct sb_err *err)
{
	static const char user_dir[] = "/" WIRE_USER_NAME;
	struct eng_stat stat;
	const char *name;
	char path[256];
	int found;

	snprintf(path, sizeof(path), "%s/" WIRE_CURRENT_NAME, home_path);
	found = eng_archive_stat(client, id, path, &stat, err);
	if (found)
		return found;
	name = strrchr(stat.link, '/');
	if (stat.type != ENG_LINK || !name || !sb_is_hex64(++name))
		return 1;
	memcpy(ret->sha256, name, sizeof(ret->sha256));
	name -= sizeof(user_dir);
	ret->as_user = name > stat.link && !strncmp(name, user_dir, sizeof(user_dir) - 1);
	return 0;
}

static int check_home(const struct plan *plan, struct sb_err *err)
{
	struct eng_stat stat;
	int found = eng_archive_stat(plan->client, plan->container.id, plan->home_path, &stat, err);

	return found < 0 ? -1 : found == 0;
}

static int check_current(struct carry *carry, struct sb_err *err)
{
	const struct plan *plan = carry->plan;
	struct carry_found there;
	int found = carry_look(plan->client, plan->container.id, plan->home_path, &there, err);

	if (found)
		return found < 0 ? -1 : 0;
	strcpy(carry->current, there.sha256);
	return there.as_user == carry_is_for_user(carry) &&
	       !strcmp(there.sha256, plan->payload.sha256);
}

static int check_by_archive(struct carry *carry, enum wire_when when, struct sb_err *err)
{
	carry->current[0] = '\0';
	if (when == WHEN_ALWAYS)
		return 1;
	if (carry_is_for_user(carry))
		strcpy(carry->before, carry->plan->payload.sha256);
	return when == WHEN_HOME ? check_home(carry->plan, err) : check_current(carry, err);
}

static int look_at_kept(const struct carry *carry, struct sb_err *err)
{
	const struct plan *plan = carry->plan;
	char path[CARRY_PATH_SIZE];
	struct eng_stat stat;
	int found;

	carry_path(carry, path);
	found = eng_archive_stat(plan->client, plan->container.id, path, &stat, err);
	if (found < 0)
		return -1;
	return !found && stat.type == ENG_FILE && stat.size == plan->payload.size;
}

/* Where looking means a pause, it is run without. */
static int is_ready_by_archive(struct carry *carry, struct sb_err *err)
{
	bool exposed;

	if (eng_is_exposed(carry->plan->client, carry->plan->container.id, &exposed, err) < 0)
		return -1;
	return exposed ? 1 : look_at_kept(carry, err);
}

static int put(const struct plan *plan, const struct eng_tar_member *members, size_t count,
	struct sb_err *err)
{
	sb_autobuf struct sb_buf tar = SB_BUF_INIT(SB_MAX_PAYLOAD + 65536);

	if (eng_tar_write(members, count, &tar, err) < 0)
		return -1;
	return eng_archive_put(
		plan->client, plan->container.id, plan->home.dir, tar.data, tar.len, err);
}

static int put_for_root(
	struct carry *carry, const struct payload_program *program, struct sb_err *err)
{
	size_t beside = carry_is_beside(carry) ? 1 : 0;
	char file[180];
	const struct eng_tar_member members[] = {
		{WIRE_HOME_NAME "/", 0700, NULL, 0, NULL},
		{file, 0755, program->data, program->size, NULL},
	};

	name_delivery(carry, program);
	snprintf(file, sizeof(file), "%s%s", beside ? "" : WIRE_HOME_NAME "/", carry->name);
	return put(carry->plan, members + beside, SB_ARRAY_SIZE(members) - beside, err);
}

static int put_for_user(
	struct carry *carry, const struct payload_program *program, struct sb_err *err)
{
	const char *path = carry->plan->conf->path;
	char dir[100], file[180], link[80], server[120], place[PATH_MAX];
	const struct eng_tar_member members[] = {
		{WIRE_HOME_NAME "/", 0711, NULL, 0, NULL},
		{WIRE_HOME_NAME "/" WIRE_USER_NAME "/", 0711, NULL, 0, NULL},
		{dir, 0711, NULL, 0, NULL},
		{file, 0755, program->data, program->size, NULL},
		{server, 0777, NULL, 0, place},
		{WIRE_HOME_NAME "/" WIRE_CURRENT_NAME, 0777, NULL, 0, link},
	};

	/* The user cannot say there where its own service is. */
	snprintf(place, sizeof(place), "%.*s/" WIRE_SERVER_NAME, (int)(strrchr(path, '/') - path),
		path);
	name_current(carry->plan->payload.sha256, link);
	snprintf(dir, sizeof(dir), WIRE_HOME_NAME "/%s/", link);
	snprintf(server, sizeof(server), WIRE_HOME_NAME "/%s/" WIRE_SERVER_NAME, link);
	name_kept(carry);
	snprintf(file, sizeof(file), WIRE_HOME_NAME "/%s", carry->name);
	return put(carry->plan, members, SB_ARRAY_SIZE(members), err);
}

/* Only a sticky directory keeps the others from renaming what is not theirs. That it is root's is
   in the records (recon_home); that it still is, the program looks at. */
static int check_shared(const struct plan *plan, struct sb_err *err)
{
	struct eng_stat stat;
	int found;

	if (!plan->home.shared)
		return 0;
	found = eng_archive_stat(plan->client, plan->container.id, plan->home.dir, &stat, err);
	if (found < 0)
		return -1;
	if (found || stat.type != ENG_DIR || ((stat.mode & 022) && !(stat.mode & 01000)))
		return sb_err_set(err, SB_UNSUPPORTED,
			"'%s' is the place for a program here, but others could replace it there: the "
			"directory is not sticky",
			plan->home.dir);
	return 0;
}

static int put_when(struct carry *carry, const struct payload_program *program, enum wire_when when,
	struct sb_err *err)
{
	int holds = check_by_archive(carry, when, err);

	if (holds <= 0)
		return holds < 0 ? -1 : 1;
	if (check_shared(carry->plan, err) < 0 ||
		eng_hold_for(carry->plan->client, carry->plan->container.id, err) < 0)
		return -1;
	carry->uploaded = true;
	return (carry_is_for_user(carry) ? put_for_user : put_for_root)(carry, program, err);
}

static int bring_by_archive(struct carry *carry, const struct payload_program *program,
	enum wire_when when, struct sb_err *err)
{
	struct eng_client *client = carry->plan->client;

	eng_hold_begin(client);
	return eng_hold_end(client, put_when(carry, program, when, err), err);
}

/* ---- by a helper container ---- */

/* The engine cannot look there: running it tells. */
static int is_ready_inside(struct carry *carry, struct sb_err *err)
{
	sb_autobuf struct sb_buf out = SB_BUF_INIT(SB_MAX_FRAME_TEXT);
	sb_auto(talk_end) struct talk talk = {.plan = carry->plan};
	char path[CARRY_PATH_SIZE];
	const char *argv[] = {path, WIRE_GREET, NULL};
	int ret, status = -1;

	carry_path(carry, path);
	ret = talk_run(&talk, carry->by->user, argv, err);
	while (ret == 0)
		ret = eng_exec_read(talk.exec, -1, &out, err);
	if (ret > 0)
		ret = eng_exec_status(talk.exec, &status, err);
	return ret < 0 ? -1 : status == 0;
}

/* Only where this user has been before is it known without a helper. */
static int check_inside(struct carry *carry, enum wire_when when, struct sb_err *err)
{
	int ready = carry_find(carry, err);

	if (ready == 0 && when == WHEN_CURRENT && graft_check(carry->plan, err) < 0)
		return -1;
	return ready;
}

static int bring_by_helper(struct carry *carry, const struct payload_program *program,
	enum wire_when when, struct sb_err *err)
{
	const struct graft_order order = {carry->plan, program, carry->nonce, carry->name, when};
	int ret;

	name_delivery(carry, program);
	ret = graft_begin(&order, &carry->graft, carry->current, err);
	carry->uploaded = ret == 0;
	return ret;
}

/* ---- the ways ---- */

static const struct carrier for_root = {
	ENG_AS_ROOT, WHEN_ALWAYS, is_ready_by_archive, check_by_archive, bring_by_archive};
static const struct carrier for_user = {
	ENG_AS_USER, WHEN_ALWAYS, is_ready_by_archive, check_by_archive, bring_by_archive};
static const struct carrier by_helper = {
	ENG_AS_ROOT, WHEN_HOME, is_ready_inside, check_inside, bring_by_helper};

void carry_begin(struct carry *carry, struct plan *plan, bool as_user, const char *nonce)
{
	*carry = (struct carry){.plan = plan, .nonce = nonce};
	carry->by = plan->home.beyond ? &by_helper : as_user ? &for_user : &for_root;
}

void carry_end(struct carry *carry, bool undo)
{
	graft_end(sb_steal(carry->graft), undo);
}

int carry_find(struct carry *carry, struct sb_err *err)
{
	if (!*name_to_keep(carry))
		return 0;
	name_kept(carry);
	return carry->by->is_ready(carry, err);
}

int carry_check(struct carry *carry, enum wire_when when, struct sb_err *err)
{
	return carry->by->check(carry, when, err);
}

int carry_bring(struct carry *carry, enum wire_when when, struct sb_err *err)
{
	const struct payload_bytes *payload = &carry->plan->payload;
	const struct payload_program program = {payload->sha256, payload->data, payload->size};
	int ret = carry->by->bring(carry, &program, when, err);

	carry->may_pass = ret < 0 && err->code == SB_FAILED && eng_refusal_is_passing(err->text);
	/* A helper container takes back what it brought. */
	if (ret)
		carry_end(carry, true);
	return ret;
}

/* The payload itself may not be able to run here, while that for the engine's machine is. */
int carry_bring_cleaner(struct carry *carry, struct sb_err *err)
{
	const struct payload_bytes *own = &carry->plan->payload;
	const struct payload *other =
		plan_is_foreign(carry->plan) ? payload_for_arch(carry->plan->engine_arch) : NULL;
	const struct payload_program program = {other ? other->sha256 : own->sha256,
		other ? other->data : own->data, other ? other->size : own->size};

	return carry->by->bring(carry, &program, carry->by->cleaner_when, err);
}

int carry_restore_current(struct carry *carry, const char *sha256, struct sb_err *err)
{
	char link[80];
	const struct eng_tar_member current = {
		WIRE_HOME_NAME "/" WIRE_CURRENT_NAME, 0777, NULL, 0, link};

	name_current(sha256, link);
	return put(carry->plan, &current, 1, err);
}
