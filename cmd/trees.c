/* SPDX-License-Identifier: MIT */
#include "cmd/cmd.h"

#include "conf/path.h"
#include "engine/file.h"
#include "payloads/treefile.h"

#include <string.h>

static int open_archive(const char *path, int *ret, struct bytes *bytes, struct sb_err *err)
{
	int found = sb_file_open(path, ret, err);

	if (found > 0)
		sb_err_set(err, SB_USAGE, "no such file '%s'", path);
	return found ? -1 : bytes_of_file(*ret, path, SB_MAX_ARCHIVE, bytes, err);
}

int cmd_tree_describe(const char *file, struct cmd_tree_facts *ret, struct sb_err *err)
{
	struct treefile_facts facts;
	sb_autoclose int fd = -1;
	struct bytes bytes = {.fd = -1};
	struct treefile tree = {.source.name = file};

	if (open_archive(file, &fd, &bytes, err) < 0 ||
		bytes_sha256(&bytes, file, ret->sha256, err) < 0)
		return -1;
	tree.source.fd = fd;
	tree.source.size = bytes.size;
	if (treefile_survey(&tree, &facts, err) < 0)
		return -1;
	strcpy(ret->tree, facts.tree);
	ret->size = bytes.size;
	ret->files = facts.files;
	ret->bytes = facts.bytes;
	return 0;
}

/* DIR=FILE; it is called by the last part of DIR. */
static int load_own(const char *text, struct cmd_trees *trees, struct sb_err *err)
{
	struct conf_payload *own = &trees->own[trees->own_count++];
	const char *equals = strchr(text, '='), *why;
	struct cmd_tree_facts facts;

	*own = (struct conf_payload){.source = CONF_OWN, .format = CONF_TREE};
	trees->all[trees->count++] = own;
	if (!equals)
		return sb_err_set(err, SB_USAGE, "--tree: '%s' is not DIR=FILE", text);
	own->install = strndup(text, (size_t)(equals - text));
	own->path = strdup(equals + 1);
	if (!own->install || !own->path)
		return sb_err_nomem(err);
	why = path_unfit(own->install, PATH_TREE);
	if (why)
		return sb_err_set(err, SB_USAGE, "--tree: '%s' cannot be a tree's directory: %s",
			own->install, why);
	own->name = strrchr(own->install, '/') + 1;
	if (cmd_tree_describe(own->path, &facts, err) < 0)
		return -1;
	strcpy(own->sha256, facts.sha256);
	strcpy(own->tree, facts.tree);
	return 0;
}

static int load_named(
	const char *names, const struct conf *conf, struct cmd_trees *trees, struct sb_err *err)
{
	while (*names) {
		size_t len = strcspn(names, ",");
		sb_autofree char *name = strndup(names, len);
		const struct conf_payload *found;

		if (!name)
			return sb_err_nomem(err);
		found = conf_payload_by_name(conf, name);
		if (!found)
			return sb_err_set(err, SB_USAGE,
				"--with: the rules in force (%s) have no payload '%s'", conf->file,
				name);
		if (trees->count == CONF_MAX_TREES)
			return sb_err_set(
				err, SB_USAGE, "--with: at most %d trees", CONF_MAX_TREES);
		trees->all[trees->count++] = found;
		names += len + (names[len] == ',');
	}
	return 0;
}

int cmd_trees_load(const struct cmd_env *env, const struct conf *conf, struct cmd_trees *ret,
	struct sb_err *err)
{
	const char *names = env->opts.text[OPT_WITH];

	if (names && load_named(names, conf, ret, err) < 0)
		return -1;
	for (int i = 0; i < env->opts.tree_count; i++)
		if (load_own(env->opts.trees[i], ret, err) < 0)
			return -1;
	return conf_check_trees(conf, ret->all, ret->count, err);
}

void cmd_trees_release(struct cmd_trees *trees)
{
	for (size_t i = 0; i < trees->own_count; i++) {
		free(trees->own[i].install);
		free(trees->own[i].path);
	}
	*trees = (struct cmd_trees){.count = 0};
}
