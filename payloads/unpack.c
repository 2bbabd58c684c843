/* SPDX-License-Identifier: MIT */
#include "payloads/unpack.h"

#include "engine/log.h"
#include "payloads/treefile.h"

#include <string.h>

enum {
	LOCK_TIMEOUT_MS = 20 * 1000, /* another run may take to unpack what it has */
	SETTLE_MS = 5 * 1000,	     /* the program may take to undo what it has made */
};

/* One tree on its way. */
struct delivery {
	struct plan *plan;
	const struct plan_tree *tree;
	const struct unpack_way *way;
	bool *lost; /* all was sent, and no answer came */
};

static bool is_service(const struct delivery *delivery)
{
	return delivery->plan->service_is_tree && delivery->tree == delivery->plan->trees;
}

static json_t *start_arguments(const struct delivery *delivery)
{
	json_t *list = json_array();

	for (char **word = delivery->plan->conf->start; word && *word; word++)
		json_array_append_new(list, json_string(*word));
	return list;
}

static json_t *question(const struct carry *carry, const void *ctx)
{
	const struct delivery *delivery = ctx;
	const struct conf_payload *what = delivery->tree->what;
	const struct plan *plan = carry->plan;
	const char *cwd = plan->container.cwd;
	bool as_root = !carry_is_for_user(carry);
	json_t *asked = json_pack("{s:s, s:s, s:s, s:s, s:s*, s:b, s:b, s:s*, s:s*, s:s, s:i}",
		WIRE_SHA256, plan->payload.sha256, WIRE_PATH, delivery->tree->path, WIRE_NAME_OF,
		what->name, WIRE_TREE, delivery->tree->tree, WIRE_LAUNCHER, what->launcher,
		WIRE_SERVICE, (int)is_service(delivery), WIRE_OWN_HOME, (int)!as_root, WIRE_KEEP,
		as_root && plan->keep[0] ? plan->keep : NULL, WIRE_STAGED,
		as_root && carry->uploaded ? carry->name : NULL, WIRE_CWD, *cwd == '/' ? cwd : "/",
		WIRE_TIMEOUT, eng_time_left(plan->client, LOCK_TIMEOUT_MS));

	if (asked && is_service(delivery) &&
		json_object_set_new(asked, WIRE_START, start_arguments(delivery)) < 0) {
		json_decref(asked);
		return NULL;
	}
	return asked;
}

static int pass_on(void *talk, const void *data, size_t len, struct sb_err *err)
{
	return talk_send(talk, data, len, err);
}

/* The archive is not what was hoped for: without its end, the program undoes what it has made. */
static void give_up(struct talk *talk)
{
	struct sb_err ignored = SB_ERR_INIT;

	eng_begin_cleanup(talk->plan->client, ENG_CLEANUP_MS - SETTLE_MS);
	if (eng_exec_close_stdin(talk->exec, &ignored) == 0)
		json_decref(talk_take(talk, &ignored));
	talk_end(talk);
}

static int send_tree(struct talk *talk, json_t **receipt, const void *ctx, struct sb_err *err)
{
	const struct delivery *delivery = ctx;
	const struct bytes *bytes = &delivery->tree->archive.bytes;
	const struct treefile file = {
		.source = {delivery->tree->archive.place, bytes->fd, bytes->offset, bytes->size},
		.launcher = delivery->tree->what->launcher,
		.arch = delivery->plan->image.arch[0] ? delivery->plan->image.arch : NULL,
	};
	const struct treefile_out out = {pass_on, talk};

	if (!sb_json_bool(*receipt, WIRE_SEND))
		return 0;
	json_decref(sb_steal(*receipt));
	sb_log(SB_NOTE, "sending '%s' from '%s'", delivery->tree->what->name, file.source.name);
	if (treefile_send(&file, &out, err) < 0) {
		give_up(talk);
		return -1;
	}
	talk->answered = false;
	*receipt = talk_take(talk, err);
	*delivery->lost = !talk->answered;
	talk->answered = true;
	if (!*receipt && talk->instead)
		return talk_explain(talk, talk->instead, err);
	return *receipt ? 0 : -1;
}

static int bring(struct carry *carry, void *ctx, struct sb_err *err)
{
	const struct unpack_way *way = ((struct delivery *)ctx)->way;

	return way->bring(carry, way->ctx, err);
}

/* Of an interrupted one as well, for whoever takes it back. */
static int read_receipt(const json_t *receipt, const struct plan_tree *tree,
	struct receipt_tree *ret, struct sb_err *err)
{
	struct sb_err odd = SB_ERR_INIT;

	if (receipt_read_tree(receipt, tree->tree, ret, &odd) < 0 && err->code == SB_OK)
		*err = odd;
	return err->code == SB_OK ? 0 : -1;
}

int unpack_tree(struct plan *plan, const struct plan_tree *tree, const struct unpack_way *way,
	struct receipt_tree *ret, struct sb_err *err)
{
	bool lost = false;
	struct delivery delivery = {plan, tree, way, &lost};
	const struct errand errand = {WIRE_UNPACK, question, bring, &delivery, send_tree, NULL};
	sb_auto(visit_end) struct visit visit = VISIT_INIT;
	json_auto_t *receipt = NULL;

	*ret = (struct receipt_tree){.was = WAS_SAME};
	if (visit_ask(plan, plan->as_user, &errand, &visit, &receipt, err) != 0 ||
		read_receipt(receipt, tree, ret, err) < 0) {
		if (lost && !receipt)
			sb_err_add(err, "; '%s' may be left inside ('sbinject remove' deletes it)",
				tree->path);
		return sb_err_wrap(err, "tree '%s'", tree->what->name);
	}
	return 0;
}
