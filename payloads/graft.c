/* SPDX-License-Identifier: MIT */
#include "payloads/graft.h"

#include "engine/clock.h"
#include "engine/log.h"
#include "engine/tar.h"
#include "payloads/receipt.h"
#include "payloads/talk.h"

#include <stdio.h>
#include <string.h>

enum {
	UNDO_MS = 5 * 1000,   /* for the helper to delete what it brought */
	LIFE_MS = 120 * 1000, /* a helper that nobody ends does so by itself */
	STALE_MS = 5 * 1000,  /* one that is not started for so long was forgotten */
	OVERDUE_S = 180,      /* one that runs for so long does not end by itself */
	BUSY_MS = 60 * 1000,
	SEARCH_MS = 2 * 1000, /* an engine may make or give up one that late */
	PAUSE_MS = 100,
	VOLUMES_MAX = 64,
	PIDS_MAX = 64,	 /* it needs one, the engine's start of it seven */
	ROOM = 64 << 20, /* of memory, besides the program; it takes 5 MB */
};

struct graft {
	struct eng_client *client; /* borrowed */
	struct talk talk;	   /* over the helper's own streams; its nonce is the visit's */
	char name[64];
	char id[65]; /* "": there is none, or it is not known */
	bool lost;   /* one may have been made, but its id is not known */
};

/* Another run's, which has the name. */
struct rival {
	char id[65];
	int64_t since; /* this run has known of it */
};

static const char *const when_words[] = {WIRE_WHENS(WIRE_WORD)};

/* Runtimes, by a part of their name, that keep a container's processes to themselves: in the
   namespace that others can share are their own. */
static const char *const sandboxes[] = {"runsc", "gvisor", "kata"};

static int check_runtime(const struct plan *plan, struct sb_err *err)
{
	const char *name = sb_json_str(plan->container.doc, "HostConfig.Runtime");

	for (size_t i = 0; name && i < SB_ARRAY_SIZE(sandboxes); i++)
		if (strcasestr(name, sandboxes[i]))
			return sb_err_set(err, SB_UNSUPPORTED,
				"the root file system is read-only, and a helper container cannot "
				"look into what the runtime '%.80s' has started",
				name);
	return 0;
}

int graft_check(const struct plan *plan, struct sb_err *err)
{
	const char *pids = sb_json_str(plan->container.doc, "HostConfig.PidMode");
	json_t *volumes = sb_json_at(plan->container.doc, "Config.Volumes");

	if (!plan->may_graft)
		return sb_err_set(err, SB_UNSUPPORTED,
			"the root file system is read-only and docker refuses to write below it; "
			"--graft allows a short-lived helper container that puts the program "
			"into its '%s'",
			plan->home.dir);
	/* There /proc/1 is another's. */
	if (pids && *pids && strcmp(pids, "private") != 0)
		return sb_err_set(err, SB_UNSUPPORTED,
			"the root file system is read-only, and a helper container cannot tell "
			"which processes are the container's: its process namespace is '%.80s'",
			pids);
	if (json_object_size(volumes) > VOLUMES_MAX)
		return sb_err_set(err, SB_UNSUPPORTED,
			"the root file system is read-only, and a helper container has room for "
			"%d volumes: the image has %zu",
			VOLUMES_MAX, json_object_size(volumes));
	return check_runtime(plan, err);
}

/* ---- making it ---- */

static json_t *security(const struct plan *plan)
{
	const char *profile = sb_json_str(plan->container.doc, "AppArmorProfile");
	json_t *list = json_pack("[s]", "no-new-privileges");

	/* Profiles let a process look only at those of the same one. */
	if (profile && *profile)
		json_array_append_new(list, json_sprintf("apparmor=%s", profile));
	return list;
}

/* As the engine does: "/a//./b/../c/" is "/a/c", and "/" is "". */
static void tidy_path(const char *path, char *ret)
{
	size_t len = 0, n;

	for (const char *p = path; *p; p += n) {
		p += strspn(p, "/");
		n = strcspn(p, "/");
		if (n == 2 && !memcmp(p, "..", 2)) {
			while (len > 0 && ret[--len] != '/')
				;
		} else if (n > 0 && !(n == 1 && *p == '.')) {
			ret[len++] = '/';
			memcpy(ret + len, p, n);
			len += n;
		}
	}
	ret[len] = '\0';
}

/* For each volume of the image the engine would make one, and copy into it what is there. */
static json_t *shadow_volumes(const struct plan *plan)
{
	json_t *volumes = sb_json_at(plan->container.doc, "Config.Volumes"), *ret = json_object();
	const char *path;
	json_t *value;

	json_object_foreach (volumes, path, value) {
		sb_autofree char *tidy = malloc(strlen(path) + 2);

		if (!tidy) {
			json_decref(ret);
			return NULL;
		}
		tidy_path(path, tidy);
		if (*path == '/' && *tidy)
			json_object_set_new(ret, tidy, json_string("size=64k"));
	}
	return ret;
}

static json_t *describe_host(const struct plan *plan, const struct payload_program *program)
{
	const char *userns = sb_json_str(plan->container.doc, "HostConfig.UsernsMode");
	const char *runtime = sb_json_str(plan->container.doc, "HostConfig.Runtime");
	json_int_t memory = (json_int_t)program->size + ROOM;

	return json_pack("{s:s, s:o, s:s, s:s, s:s, s:[s], s:[s], s:o, s:b, s:{s:s}, s:{s:s}, "
			 "s:o, s:I, s:I, s:i}",
		"NetworkMode", "none", "PidMode", json_sprintf("container:%s", plan->container.id),
		"CgroupnsMode", "private", "UsernsMode", userns ? userns : "", "Runtime",
		runtime ? runtime : "", "CapDrop", "ALL", "CapAdd", "SYS_PTRACE", "SecurityOpt",
		security(plan), "AutoRemove", 1, "RestartPolicy", "Name", "no", "LogConfig", "Type",
		"none", "Tmpfs", shadow_volumes(plan), "Memory", memory, "MemorySwap", memory,
		"PidsLimit", PIDS_MAX);
}

static json_t *describe(const struct graft_order *order, const char *path)
{
	const struct plan *plan = order->plan;

	return json_pack(
		"{s:s, s:s, s:s, s:[s], s:[s], s:b, s:b, s:b, s:b, s:b, s:b, s:b, s:{s:[s]}, "
		"s:{s:s, s:s}, s:o}",
		"Image", plan->container.image_id, "User", "0:0", "WorkingDir", "/", "Entrypoint",
		path, "Cmd", WIRE_GRAFT, "OpenStdin", 1, "StdinOnce", 1, "AttachStdin", 1,
		"AttachStdout", 1, "AttachStderr", 1, "Tty", 0, "NetworkDisabled", 1, "Healthcheck",
		"Test", "NONE", "Labels", GRAFT_LABEL, plan->container.id, GRAFT_RUN_LABEL,
		order->nonce, "HostConfig", describe_host(plan, order->program));
}

static bool has_label(const struct eng_container *container, const char *label, const char *value)
{
	const char *text = json_string_value(json_object_get(container->labels, label));

	return text && strcmp(text, value) == 0;
}

/* Never started, or ended; or stopped by who is root inside, so that it will not end. */
static bool is_forgotten(const struct eng_container *helper)
{
	return !eng_container_runs(helper) || eng_container_uptime(helper) > OVERDUE_S;
}

/*
 * What has the name: wait while it is at work, delete it if it was forgotten. Names of helper
 * containers are ours by their label only.
 */
static int clear_name(
	const struct plan *plan, const char *name, struct rival *rival, struct sb_err *err)
{
	sb_auto(eng_container_release) struct eng_container other = ENG_CONTAINER_INIT;
	struct sb_err gone = SB_ERR_INIT;

	if (eng_container_inspect(plan->client, name, &other, &gone) < 0) {
		if (gone.code != SB_NO_CONTAINER) {
			*err = gone;
			return -1;
		}
		sb_sleep_ms(PAUSE_MS);
		return 0;
	}
	if (!has_label(&other, GRAFT_LABEL, plan->container.id))
		return sb_err_set(err, SB_FAILED,
			"a container that is none of sbinject's has the name '%s' of a helper "
			"container",
			name);
	if (strcmp(rival->id, other.id) != 0) {
		memcpy(rival->id, other.id, sizeof(rival->id));
		rival->since = sb_now_ms();
	}
	if (is_forgotten(&other) && sb_now_ms() - rival->since >= STALE_MS) {
		sb_log(SB_NOTE, "deleting the helper container that another run left behind");
		return eng_container_delete(plan->client, other.id, err);
	}
	sb_sleep_ms(PAUSE_MS);
	return 0;
}

static int create(
	struct graft *graft, const struct graft_order *order, const char *path, struct sb_err *err)
{
	json_auto_t *spec = describe(order, path);
	struct rival rival = {.id = ""};
	int64_t since = sb_now_ms();
	int ret;

	if (!spec)
		return sb_err_nomem(err);
	snprintf(graft->name, sizeof(graft->name), "sbinject-graft-%.12s",
		order->plan->container.id);
	while ((ret = eng_container_create(graft->client, graft->name, spec, graft->id, err)) ==
		1) {
		if (sb_now_ms() - since > BUSY_MS)
			return sb_err_set(err, SB_UNSUPPORTED,
				"another run's helper container '%s' does not end", graft->name);
		if (clear_name(order->plan, graft->name, &rival, err) < 0)
			return -1;
	}
	/* Only of a refusal it is certain that none is or will be made. */
	graft->lost = ret < 0 && err->code != SB_UNSUPPORTED;
	return ret;
}

/* In a directory of its own, whose name no image can have made a volume. */
static int start(struct graft *graft, const struct graft_order *order, struct sb_err *err)
{
	sb_autobuf struct sb_buf tar = SB_BUF_INIT(SB_MAX_PAYLOAD + 65536);
	char dir[64], path[240];
	const struct eng_tar_member members[] = {
		{dir + 1, 0700, NULL, 0, NULL},
		{path + 1, 0755, order->program->data, order->program->size, NULL},
	};

	snprintf(dir, sizeof(dir), "/" WIRE_HOME_NAME ".%s/", order->nonce);
	snprintf(path, sizeof(path), "%s%s", dir, order->name);
	if (eng_tar_write(members, SB_ARRAY_SIZE(members), &tar, err) < 0 ||
		create(graft, order, path, err) < 0 ||
		eng_archive_put(graft->client, graft->id, "/", tar.data, tar.len, err) < 0 ||
		eng_exec_attach(graft->client, graft->id, &graft->talk.exec, err) < 0)
		return -1;
	return eng_container_start(graft->client, graft->id, SB_UNSUPPORTED, err);
}

/* ---- its report ---- */

/* Where there is no time left to look, the first cause is the better one. */
static bool has_stopped(const struct plan *plan, struct sb_err *ret_why)
{
	sb_auto(eng_container_release) struct eng_container now = ENG_CONTAINER_INIT;

	if (eng_container_inspect(plan->client, plan->container.id, &now, ret_why) < 0)
		return ret_why->code == SB_NO_CONTAINER;
	return eng_container_need_running(&now, ret_why) < 0;
}

/* A helper shares the fate of the container's processes; what failed may not be its fault. Where it
   is gone itself, the code is `gone`. */
static int explain(const struct plan *plan, enum sb_code gone, struct sb_err *err)
{
	struct sb_err why = SB_ERR_INIT;

	if (err->code == SB_INTERRUPTED || err->code == SB_NO_ENGINE)
		return -1;
	if (has_stopped(plan, &why)) {
		*err = why;
		return -1;
	}
	if (err->code == SB_NO_CONTAINER) {
		err->code = gone;
		sb_err_wrap(err, "it was killed or deleted");
	}
	return sb_err_wrap(err, "the helper container for a read-only root");
}

static json_t *ask(struct graft *graft, const struct graft_order *order, struct sb_err *err)
{
	const struct plan *plan = order->plan;
	json_t *receipt = talk_ask(&graft->talk,
		json_pack("{s:s, s:s, s:s, s:s, s:b, s:i}", WIRE_SHA256, order->program->sha256,
			WIRE_STAGED, order->name, WIRE_WHEN, when_words[order->when], WIRE_HOME,
			plan->home_path, WIRE_BESIDE, (int)plan->home.shared, WIRE_TIMEOUT,
			eng_time_left(graft->client, LIFE_MS)),
		err);

	if (!receipt && graft->talk.instead)
		talk_explain(&graft->talk, graft->talk.instead, err);
	return receipt;
}

static struct graft *new_graft(const struct graft_order *order)
{
	struct graft *graft = calloc(1, sizeof(*graft));

	if (!graft)
		return NULL;
	graft->client = order->plan->client;
	graft->talk.plan = order->plan;
	memcpy(graft->talk.nonce, order->nonce, sizeof(graft->talk.nonce));
	return graft;
}

int graft_begin(
	const struct graft_order *order, struct graft **ret, char current[65], struct sb_err *err)
{
	const struct plan *plan = order->plan;
	struct graft *graft = *ret = new_graft(order);
	json_auto_t *receipt = NULL;

	if (!graft)
		return sb_err_nomem(err);
	if (graft_check(plan, err) < 0)
		return -1;
	sb_log(SB_NOTE, "bringing the program into '%s' by a helper container", plan->home_path);
	if (start(graft, order, err) < 0)
		return explain(plan, SB_UNSUPPORTED, err);
	receipt = ask(graft, order, err);
	if (!receipt) /* it ends, and is deleted, when its streams do */
		return explain(plan, SB_NO_SERVICE, err);
	return receipt_read_graft(receipt, current, err);
}

/* ---- the end of it ---- */

static void await_end(struct eng_exec *streams)
{
	sb_autobuf struct sb_buf out = SB_BUF_INIT(SB_MAX_RECEIPT);
	int64_t until = sb_deadline(UNDO_MS);
	struct sb_err ignored = SB_ERR_INIT;
	int left;

	if (eng_exec_close_stdin(streams, &ignored) < 0)
		return;
	while ((left = sb_left_ms(until, UNDO_MS)) > 0 &&
		eng_exec_read(streams, left, &out, &ignored) == 0)
		sb_buf_reset(&out);
}

/* By its name, of which nobody knows whose it is. */
static int find_lost(struct graft *graft, struct sb_err *err)
{
	sb_auto(eng_container_release) struct eng_container found = ENG_CONTAINER_INIT;

	if (eng_container_inspect(graft->client, graft->name, &found, err) < 0)
		return -1;
	if (!has_label(&found, GRAFT_RUN_LABEL, graft->talk.nonce))
		return sb_err_set(err, SB_NO_CONTAINER, "the name is another's");
	memcpy(graft->id, found.id, sizeof(graft->id));
	return 0;
}

/* Not everything that fails once does so again, and one that was lost may appear only now. */
static void delete_helper(struct graft *graft)
{
	int64_t until = sb_deadline(SEARCH_MS);
	struct sb_err err = SB_ERR_INIT;

	for (;;) {
		sb_err_clear(&err);
		if ((graft->id[0] || find_lost(graft, &err) == 0) &&
			eng_container_delete(graft->client, graft->id, &err) == 0)
			return;
		if (sb_left_ms(until, 1) == 0)
			break;
		sb_sleep_ms(PAUSE_MS);
	}
	if (err.code != SB_NO_CONTAINER)
		sb_log(SB_NOTE, "the helper container '%s' could not be deleted: %s", graft->name,
			err.text);
}

void graft_end(struct graft *graft, bool undo)
{
	if (!graft)
		return;
	if (graft->id[0] || graft->lost) {
		eng_begin_cleanup(graft->client, 0);
		if (undo && graft->talk.exec)
			await_end(graft->talk.exec);
		/* Its streams are open until it is gone: it must not undo what has succeeded. */
		delete_helper(graft);
		eng_begin_cleanup(graft->client, GRAFT_END_MS);
	}
	talk_end(&graft->talk);
	free(graft);
}
