/* SPDX-License-Identifier: MIT */
/* Included by the tests that use it: every test is one program from one file. */
#include "t/unit/fake_container.h"

#include "payloads/lib/wire.h"

#include <archive.h>
#include <archive_entry.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STATE_NAME "state.json"
#define TREES_NAME "trees.json"

/* ---- paths ---- */

struct fake_path *fake_find(struct fake_container *container, const char *path)
{
	for (size_t i = 0; i < container->count; i++)
		if (!strcmp(container->paths[i].path, path))
			return &container->paths[i];
	return NULL;
}

struct fake_path *fake_make(struct fake_container *container, const char *path, enum fake_type type)
{
	struct fake_path *found = fake_find(container, path);

	if (!found && container->count == FAKE_MAX_PATHS)
		container->overflow = true;
	if (!found)
		found = &container->paths[container->overflow ? 0 : container->count++];
	*found = (struct fake_path){.type = type};
	snprintf(found->path, sizeof(found->path), "%s", path);
	return found;
}

static bool fake_is_below(const char *path, const char *top)
{
	size_t len = strlen(top);

	return !strncmp(path, top, len) && (path[len] == '/' || path[len] == '\0');
}

bool fake_delete(struct fake_container *container, const char *path)
{
	size_t left = 0, before = container->count;

	for (size_t i = 0; i < before; i++)
		if (!fake_is_below(container->paths[i].path, path))
			container->paths[left++] = container->paths[i];
	container->count = left;
	return left < before;
}

/* "dir/name" */
struct fake_name {
	char text[FAKE_PATH_SIZE];
};

static struct fake_name fake_in(const char *dir, const char *name)
{
	struct fake_name ret;

	snprintf(ret.text, sizeof(ret.text), "%s/%s", strcmp(dir, "/") ? dir : "", name);
	return ret;
}

static struct fake_name fake_dir_of(const char *path)
{
	struct fake_name ret;

	snprintf(ret.text, sizeof(ret.text), "%.*s", (int)(strrchr(path, '/') - path), path);
	return ret;
}

static bool fake_has_below(const struct fake_container *container, const char *dir)
{
	for (size_t i = 0; i < container->count; i++)
		if (fake_is_below(container->paths[i].path, dir) &&
			strcmp(container->paths[i].path, dir) != 0)
			return true;
	return false;
}

static void fake_rmdir(struct fake_container *container, const char *dir)
{
	if (!fake_has_below(container, dir))
		fake_delete(container, dir);
}

static int fake_compare(const void *a, const void *b)
{
	return strcmp(((const struct fake_path *)a)->path, ((const struct fake_path *)b)->path);
}

char *fake_describe(const struct fake_container *container)
{
	static const char *const services[] = {"none", "root's", "the user's"};
	struct fake_container sorted = *container;
	size_t size;
	char *text = NULL;
	FILE *file = open_memstream(&text, &size);

	qsort(sorted.paths, sorted.count, sizeof(sorted.paths[0]), fake_compare);
	for (size_t i = 0; i < sorted.count; i++) {
		const struct fake_path *path = &sorted.paths[i];

		fprintf(file, "%c %s", "dfl"[path->type], path -> path);
		if (path->type == FAKE_LINK)
			fprintf(file, " -> %s", path->text);
		if (path->type == FAKE_DIR && path->text[0])
			fprintf(file, " (tree %.12s)", path->text);
		fputs(path->type == FAKE_FILE && path->ours ? " (program)\n" : "\n", file);
	}
	fprintf(file, "service: %s\n", services[sorted.service]);
	fclose(file);
	return text;
}

/* ---- archives ---- */

static bool fake_is_program(
	const struct fake_container *container, struct archive *a, struct archive_entry *entry)
{
	size_t size = (size_t)archive_entry_size(entry);
	char *data = malloc(size + 1);
	bool same = size == container->size &&
		    archive_read_data(a, data, size) == (la_ssize_t)size &&
		    !memcmp(data, container->program, size);

	free(data);
	return same;
}

static void fake_unpack_entry(struct fake_container *container, const char *dir, struct archive *a,
	struct archive_entry *entry)
{
	struct fake_name name = fake_in(dir, archive_entry_pathname(entry));
	const char *link = archive_entry_symlink(entry);
	size_t len = strlen(name.text);
	struct fake_path *made;

	if (name.text[len - 1] == '/') {
		name.text[len - 1] = '\0';
		if (!fake_find(container, name.text))
			fake_make(container, name.text, FAKE_DIR);
		return;
	}
	made = fake_make(container, name.text, link ? FAKE_LINK : FAKE_FILE);
	snprintf(made->text, sizeof(made->text), "%s", link ? link : "");
	made->ours = !link && fake_is_program(container, a, entry);
}

void fake_unpack(struct fake_container *container, const char *dir, const void *tar, size_t len)
{
	struct archive *a = archive_read_new();
	struct archive_entry *entry;

	archive_read_support_format_tar(a);
	if (archive_read_open_memory(a, tar, len) == ARCHIVE_OK)
		while (archive_read_next_header(a, &entry) == ARCHIVE_OK)
			fake_unpack_entry(container, dir, a, entry);
	archive_read_free(a);
}

/* ---- the program: what is where ---- */

static const char *fake_text(const json_t *question, const char *key)
{
	const char *text = json_string_value(json_object_get(question, key));

	return text ? text : "";
}

static bool fake_is_true(const json_t *question, const char *key)
{
	return json_is_true(json_object_get(question, key));
}

static struct fake_path *fake_home_path(
	struct fake_container *container, const json_t *question, const char *name)
{
	return fake_find(container, fake_in(fake_text(question, WIRE_HOME), name).text);
}

static struct fake_path *fake_make_file(
	struct fake_container *container, const char *path, bool is_program)
{
	struct fake_path *made = fake_make(container, path, FAKE_FILE);

	made->ours = is_program;
	return made;
}

/* Not what is for a user, who has another home. */
static struct fake_path *fake_own_current(struct fake_container *container, const json_t *question)
{
	struct fake_path *current = fake_home_path(container, question, WIRE_CURRENT_NAME);

	return current && !strchr(current->text, '/') ? current : NULL;
}

static json_t *fake_receipt(const json_t *question)
{
	return json_pack("{s:i, s:s, s:b}", WIRE_RECEIPT, WIRE_VERSION, WIRE_NONCE,
		fake_text(question, WIRE_NONCE), WIRE_OK, 1);
}

static json_t *fake_server(const struct fake_container *container)
{
	return json_pack("{s:b, s:s, s:i, s:i, s:i}", WIRE_RUNNING,
		container->service != FAKE_NO_SERVICE, WIRE_SHA256, container->sha256, WIRE_PID, 7,
		WIRE_UID, container->service == FAKE_OF_USER ? 1000 : 0, WIRE_UPTIME, 1);
}

/* ---- install ---- */

/* Where the delivery is, beside the home or in it. */
static struct fake_name fake_staged(const json_t *question)
{
	const char *home = fake_text(question, WIRE_HOME);

	return fake_in(fake_is_true(question, WIRE_BESIDE) ? fake_dir_of(home).text : home,
		fake_text(question, WIRE_STAGED));
}

/* The program is at home. */
static void fake_settle(struct fake_container *container, const json_t *question)
{
	const char *home = fake_text(question, WIRE_HOME), *keep = fake_text(question, WIRE_KEEP);
	struct fake_path *made;

	fake_delete(container, fake_staged(question).text);
	if (!fake_find(container, home))
		fake_make(container, home, FAKE_DIR);
	fake_make_file(container, fake_in(home, container->sha256).text, true);
	if (*keep)
		fake_make_file(container, fake_in(home, keep).text, true);
	fake_make(container, fake_in(home, "lock").text, FAKE_FILE);
	made = fake_make(container, fake_in(home, WIRE_CURRENT_NAME).text, FAKE_LINK);
	snprintf(made->text, sizeof(made->text), "%s", container->sha256);
}

static void fake_install_files(
	struct fake_container *container, bool as_user, const json_t *question)
{
	const char *home = fake_text(question, WIRE_HOME);
	bool was = fake_home_path(container, question, STATE_NAME) != NULL;
	struct fake_path *made;

	fake_settle(container, question);
	made = fake_make(container, fake_in(home, STATE_NAME).text, FAKE_FILE);
	snprintf(made->text, sizeof(made->text), "%s", was ? "" : fake_text(question, WIRE_NONCE));
	fake_make(container, fake_dir_of(container->place).text, FAKE_DIR);
	fake_make_file(container, container->place, true);
	container->service = as_user ? FAKE_OF_USER : FAKE_OF_ROOT;
}

static json_t *fake_install(struct fake_container *container, bool as_user, const json_t *question)
{
	json_t *receipt = fake_receipt(question), *server = fake_server(container);
	bool was = container->service != FAKE_NO_SERVICE;

	if (!as_user && fake_home_path(container, question, WIRE_USER_NAME)) {
		if (*fake_text(question, WIRE_STAGED))
			fake_delete(container, fake_staged(question).text);
		json_object_set_new(receipt, WIRE_WAS, json_string("user"));
		json_decref(server);
		return receipt;
	}
	fake_install_files(container, as_user, question);
	json_object_update(receipt, server);
	json_decref(server);
	json_object_set_new(receipt, WIRE_WAS, json_string(was ? "same" : "absent"));
	json_object_set_new(receipt, WIRE_RELEASE, json_string("0.1.0"));
	json_object_set_new(receipt, WIRE_STARTED, json_boolean(!was));
	json_object_set_new(receipt, WIRE_PLACED, json_string("file"));
	return receipt;
}

/* ---- trees ---- */

static bool fake_is_tree(const struct fake_path *path)
{
	return path->type == FAKE_DIR && path->text[0];
}

static size_t fake_count_trees(const struct fake_container *container)
{
	size_t n = 0;

	for (size_t i = 0; i < container->count; i++)
		n += fake_is_tree(&container->paths[i]);
	return n;
}

static json_t *fake_list_trees(const struct fake_container *container)
{
	json_t *list = json_array();

	for (size_t i = 0; i < container->count; i++)
		if (fake_is_tree(&container->paths[i]))
			json_array_append_new(list,
				json_pack("{s:s, s:s, s:s}", WIRE_PATH, container->paths[i].path,
					WIRE_NAME_OF, "", WIRE_TREE, container->paths[i].text));
	return list;
}

/* Nothing is done: another service has to go first. */
static json_t *fake_decline(
	struct fake_container *container, const json_t *question, const char *was)
{
	json_t *receipt = fake_receipt(question);

	if (*fake_text(question, WIRE_STAGED))
		fake_delete(container, fake_staged(question).text);
	json_object_set_new(receipt, WIRE_WAS, json_string(was));
	return receipt;
}

static json_t *fake_of_tree(const json_t *question, const char *was)
{
	json_t *receipt = fake_receipt(question);

	json_object_set_new(receipt, WIRE_WAS, json_string(was));
	json_object_set(receipt, WIRE_TREE, json_object_get(question, WIRE_TREE));
	return receipt;
}

static json_t *fake_ask_for_tree(
	struct fake_container *container, bool as_user, const json_t *question)
{
	const struct fake_path *there = fake_find(container, fake_text(question, WIRE_PATH));
	bool is_program = fake_home_path(container, question, STATE_NAME) != NULL;
	json_t *receipt;

	if (!as_user && fake_home_path(container, question, WIRE_USER_NAME))
		return fake_decline(container, question, "user");
	if (container->is_other || (is_program && fake_is_true(question, WIRE_SERVICE)))
		return fake_decline(container, question, "kind");
	if (there && !strcmp(there->text, fake_text(question, WIRE_TREE))) {
		fake_settle(container, question);
		return fake_of_tree(question, "same");
	}
	receipt = fake_receipt(question);
	json_object_set_new(receipt, WIRE_SEND, json_true());
	return receipt;
}

static void fake_place_tree(struct fake_container *container, const json_t *question)
{
	struct fake_path *made;

	fake_settle(container, question);
	fake_make(container, fake_in(fake_text(question, WIRE_HOME), TREES_NAME).text, FAKE_FILE);
	made = fake_make(container, fake_text(question, WIRE_PATH), FAKE_DIR);
	snprintf(made->text, sizeof(made->text), "%s", fake_text(question, WIRE_TREE));
}

static void fake_erase_home(struct fake_container *container, const char *home, bool deliveries);

/* Without a service and a tree, the home is for nothing. */
static void fake_drop_home(struct fake_container *container, const json_t *question)
{
	const char *home = fake_text(question, WIRE_HOME);

	if (fake_count_trees(container) > 0)
		return;
	fake_delete(container, fake_in(home, TREES_NAME).text);
	if (!fake_home_path(container, question, STATE_NAME) &&
		!fake_home_path(container, question, WIRE_USER_NAME))
		fake_erase_home(container, home, false);
}

char *fake_unpacked(struct fake_container *container, const json_t *question, const char *digest)
{
	bool is_right = digest && !strcmp(digest, fake_text(question, WIRE_TREE));
	bool was = fake_find(container, fake_text(question, WIRE_PATH)) != NULL;
	json_t *receipt = fake_of_tree(question, was ? "other" : "absent");
	char *line;

	if (is_right) {
		fake_place_tree(container, question);
	} else {
		json_object_set_new(receipt, WIRE_OK, json_false());
		json_object_set_new(
			receipt, WIRE_CODE, json_string(digest ? "digest" : "internal"));
		json_object_set_new(receipt, WIRE_WHAT, json_string("the tree is not whole"));
		if (*fake_text(question, WIRE_STAGED))
			fake_delete(container, fake_staged(question).text);
		fake_drop_home(container, question);
	}
	line = json_dumps(receipt, JSON_COMPACT);
	json_decref(receipt);
	return line;
}

static json_t *fake_status(struct fake_container *container, bool as_user, const json_t *question)
{
	json_t *receipt = fake_receipt(question);

	json_object_set_new(receipt, WIRE_TREES, fake_list_trees(container));

	(void)as_user;
	json_object_set_new(receipt, WIRE_RELEASE, json_string("0.1.0"));
	json_object_set_new(receipt, WIRE_PLACED, json_string("file"));
	json_object_set_new(
		receipt, WIRE_PATH_OK, json_boolean(fake_find(container, container->place)));
	json_object_set_new(receipt, WIRE_SERVER, fake_server(container));
	return receipt;
}

/* ---- uninstall ---- */

/* Of a name in the home, whether it is a delivery. */
static bool fake_is_delivery(const char *name)
{
	return strspn(name, "0123456789abcdef") == 64 && name[64] == '.';
}

void fake_forget_delivery(
	struct fake_container *container, const char *program, const char *command)
{
	if (!strcmp(command, WIRE_INSTALL) || !fake_is_delivery(strrchr(program, '/') + 1))
		return;
	fake_delete(container, program);
	fake_rmdir(container, fake_dir_of(program).text);
}

static void fake_erase_home(struct fake_container *container, const char *home, bool deliveries)
{
	size_t i = 0;

	while (i < container->count) {
		const char *path = container->paths[i].path, *name = path + strlen(home) + 1;

		if (fake_is_below(path, home) && strcmp(path, home) != 0 &&
			(deliveries || !fake_is_delivery(name)))
			fake_delete(container, fake_in(home, name).text);
		else
			i++;
	}
	fake_rmdir(container, home);
}

/* Root need not have power over what is the user's, and the user has none over root's. */
static bool fake_is_anothers(const struct fake_container *container, bool as_user)
{
	return container->service == (as_user ? FAKE_OF_ROOT : FAKE_OF_USER);
}

static void fake_erase_all(
	struct fake_container *container, bool as_user, const json_t *question, bool deliveries)
{
	if (!fake_is_anothers(container, as_user)) {
		fake_delete(container, container->place);
		fake_rmdir(container, fake_dir_of(container->place).text);
		container->service = FAKE_NO_SERVICE;
	}
	fake_erase_home(container, fake_text(question, WIRE_HOME), deliveries);
}

/* Only what a run that failed may have made. Whether an installation is left. */
static bool fake_discard(
	struct fake_container *container, bool as_user, const json_t *question, const json_t *names)
{
	const char *home = fake_text(question, WIRE_HOME), *born = fake_text(question, WIRE_BORN);
	const struct fake_path *state = fake_home_path(container, question, STATE_NAME);
	bool is_born = state && *born && !strcmp(state->text, born);
	bool has_state = state != NULL;
	const json_t *name;
	size_t i;

	json_array_foreach (names, i, name) {
		const char *text = json_string_value(name);

		fake_delete(container, fake_in(home, text).text);
		if (fake_is_true(question, WIRE_BESIDE))
			fake_delete(container, fake_in(fake_dir_of(home).text, text).text);
	}
	if (is_born)
		fake_erase_all(container, as_user, question, false);
	else if (!has_state && !fake_own_current(container, question) &&
		 !fake_home_path(container, question, WIRE_USER_NAME))
		fake_erase_home(container, home, false);
	return has_state && !is_born;
}

static void fake_drop_user(struct fake_container *container, const json_t *question)
{
	const char *home = fake_text(question, WIRE_HOME);

	fake_delete(container, fake_in(home, WIRE_USER_NAME).text);
	if (!fake_own_current(container, question))
		fake_delete(container, fake_in(home, WIRE_CURRENT_NAME).text);
}

static void fake_drop_trees(
	struct fake_container *container, const json_t *question, const json_t *trees)
{
	const json_t *path;
	size_t i;

	json_array_foreach (trees, i, path)
		fake_delete(container, json_string_value(path));
	fake_drop_home(container, question);
}

/* All, or with "service_only" all but the trees. */
static void fake_remove(struct fake_container *container, bool as_user, const json_t *question)
{
	bool keeps = fake_is_true(question, WIRE_SERVICE_ONLY) && fake_count_trees(container) > 0;
	size_t i = 0;

	if (fake_is_true(question, WIRE_SERVICE_ONLY))
		container->is_other = false;
	if (keeps) {
		fake_delete(container, container->place);
		fake_rmdir(container, fake_dir_of(container->place).text);
		fake_delete(container, fake_in(fake_text(question, WIRE_HOME), STATE_NAME).text);
		container->service = FAKE_NO_SERVICE;
		return;
	}
	while (i < container->count)
		if (fake_is_tree(&container->paths[i]))
			fake_delete(container, container->paths[i].path);
		else
			i++;
	fake_erase_all(container, as_user, question, true);
}

static json_t *fake_uninstall(
	struct fake_container *container, bool as_user, const json_t *question)
{
	const json_t *names = json_object_get(question, WIRE_DISCARD);
	const json_t *trees = json_object_get(question, WIRE_TREES);
	json_t *receipt = fake_receipt(question);

	if (fake_is_true(question, WIRE_USER_GONE))
		fake_drop_user(container, question);
	if (names)
		json_object_set_new(receipt, WIRE_STANDS,
			json_boolean(fake_discard(container, as_user, question, names)));
	else if (fake_home_path(container, question, WIRE_USER_NAME))
		json_object_set_new(receipt, WIRE_WAS, json_string("user"));
	else if (trees)
		fake_drop_trees(container, question, trees);
	else
		fake_remove(container, as_user, question);
	return receipt;
}

static bool fake_is_waiting(const struct fake_path *path)
{
	return path->type == FAKE_FILE && fake_is_delivery(strrchr(path->path, '/') + 1);
}

void fake_remove_all(struct fake_container *container)
{
	struct fake_container left = *container;

	left.count = 0;
	left.service = FAKE_NO_SERVICE;
	for (size_t i = 0; i < container->count; i++) {
		const struct fake_path *path = &container->paths[i];

		if (!fake_is_waiting(path))
			continue;
		fake_make(&left, fake_dir_of(path->path).text, FAKE_DIR);
		fake_make(&left, path->path, FAKE_FILE)->ours = path->ours;
	}
	*container = left;
}

/* ---- graft ---- */

static bool fake_is_wanted(struct fake_container *container, const json_t *question)
{
	const struct fake_path *current = fake_own_current(container, question);
	const char *when = fake_text(question, WIRE_WHEN);

	if (!strcmp(when, "home"))
		return fake_find(container, fake_text(question, WIRE_HOME)) != NULL;
	return !strcmp(when, "always") || (current && !strcmp(current->text, container->sha256));
}

static json_t *fake_graft(struct fake_container *container, bool as_user, const json_t *question)
{
	const struct fake_path *current = fake_own_current(container, question);
	const char *home = fake_text(question, WIRE_HOME);
	bool wanted = fake_is_wanted(container, question);
	json_t *receipt = fake_receipt(question);

	(void)as_user;
	json_object_set_new(receipt, WIRE_GRAFTED, json_boolean(wanted));
	if (current)
		json_object_set_new(receipt, WIRE_CURRENT, json_string(current->text));
	if (wanted && !fake_find(container, home))
		fake_make(container, home, FAKE_DIR);
	if (wanted)
		fake_make_file(container, fake_staged(question).text, true);
	return receipt;
}

void fake_take_back(struct fake_container *container, const json_t *question)
{
	fake_delete(container, fake_staged(question).text);
	fake_rmdir(container, fake_text(question, WIRE_HOME));
}

/* ---- all commands ---- */

char *fake_answer(
	struct fake_container *container, const char *command, bool as_user, const json_t *question)
{
	static const struct {
		const char *word;
		json_t *(*run)(
			struct fake_container *container, bool as_user, const json_t *question);
	} commands[] = {
		{WIRE_INSTALL, fake_install},
		{WIRE_STATUS, fake_status},
		{WIRE_UNINSTALL, fake_uninstall},
		{WIRE_GRAFT, fake_graft},
		{WIRE_UNPACK, fake_ask_for_tree},
	};

	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		json_t *receipt;
		char *line;

		if (strcmp(commands[i].word, command) != 0)
			continue;
		receipt = commands[i].run(container, as_user, question);
		line = json_dumps(receipt, JSON_COMPACT);
		json_decref(receipt);
		return line;
	}
	return NULL;
}
