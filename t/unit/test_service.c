/* SPDX-License-Identifier: MIT */
/* wrap: clock_gettime nanosleep poll shutdown eng_http_do */
/*
 * Whatever goes wrong with whichever request: inject, status, pipe and remove end in time, with the
 * right code, and leave the container as it was, or say what may be left; and once the engine is
 * well again, a second run succeeds. The engine and the container are made up (fake_docker.c), so
 * that a run takes no more than a few milliseconds. t/live/140 and 142 hold the same against real
 * engines.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "engine/file.h"
#include "engine/tar.h"
#include "payloads/lib/sha256.h"
#include "payloads/presence.h"
#include "payloads/service.h"
#include "payloads/treefile.h"

#include "t/unit/fake_docker.c"

enum {
	TIMEOUT_MS = 8000,
	PROGRAM_SIZE = 3000,
	TREE_SIZE = 1 << 20, /* some pieces of a stream */
	MAX_COLUMNS = 40,
};

enum command { INJECT, STATUS, PIPE, REMOVE };

/* How the container is before a run. */
enum before {
	NOTHING,
	INJECTED,	   /* by this user, for whom the rule asks */
	INJECTED_FOR_ROOT, /* while the rule asks for the container's own user */
	INJECTED_FOR_USER, /* while it asks for root */
	IMPOSTOR,	   /* has the name of the program that stands ready */
};

/*
 * A command, in what it finds, and what becomes of it: in the first line of the table its requests,
 * in each other a fault (fake_docker.c) and the exit code that it ends in with each request, or "-"
 * where there is no such fault; "i" is 130. Faults of what only asks are for good, else it would be
 * asked again; of what changes something they happen once, so that it can be undone, except where
 * the fault ends in "+".
 */
struct scene {
	enum command command;
	enum before before;
	bool no_key, as_user, read_only;
	bool trees;	      /* the rule adds two */
	bool spares_question; /* as in struct fake_docker */
	const char *table;
};

/* ---- the world ---- */

static char program[PROGRAM_SIZE], program_path[64], sha256[65];
static char tree_path[64], tree_sha256[65], tree_digest[65];
static struct conf *confs[2];		 /* whose rule has `service: root` and `service: user` */
static struct conf *tree_confs[2];	 /* the same with two trees */
static const struct fake_fault no_fault; /* all zero */
static const struct key key = {.bytes = "a secret", .known = true};

static struct conf *make_conf(const char *service, const char *with)
{
	struct sb_err err = SB_ERR_INIT;
	struct conf *conf = NULL;
	char tree[400], text[2000];

	snprintf(tree, sizeof(tree), "source: file, path: %s, sha256: %s, format: tar, tree: %s",
		tree_path, tree_sha256, tree_digest);
	snprintf(text, sizeof(text),
		"version: 1\n"
		"payloads:\n"
		"  own: {source: file, path: %s, sha256: %s}\n"
		"  one: {%s, install: /opt/one}\n"
		"  two: {%s, install: /opt/two}\n"
		"install: {path: /opt/tools/program}\n"
		"rules: [{when: {}, use: own, service: %s%s}]\n",
		program_path, sha256, tree, tree, service, with);
	assert_int_equal(conf_parse(text, strlen(text), "test", NULL, &conf, &err), 0);
	return conf;
}

static int make_file(char path[64], const void *data, size_t len)
{
	FILE *file;
	int fd;

	strcpy(path, "/tmp/sbinject-unit-XXXXXX");
	fd = mkstemp(path);
	file = fd < 0 ? NULL : fdopen(fd, "w");
	return !file || fwrite(data, len, 1, file) != 1 || fclose(file) != 0 ? -1 : 0;
}

static int make_tree(void)
{
	sb_autobuf struct sb_buf tar = SB_BUF_INIT(2 * TREE_SIZE);
	sb_autofree char *content = calloc(1, TREE_SIZE);
	const struct eng_tar_member members[] = {{.name = "lib/", .mode = 0755},
		{.name = "lib/data", .mode = 0644, .data = content, .len = TREE_SIZE},
		{.name = "run", .mode = 0755, .data = program, .len = sizeof(program)}};
	struct sb_err err = SB_ERR_INIT;
	struct treefile_facts facts;
	struct treefile file = {.source.name = tree_path};
	int ret;

	assert_int_equal(eng_tar_write(members, SB_ARRAY_SIZE(members), &tar, &err), 0);
	sha256_hex(tar.data, tar.len, tree_sha256);
	if (make_file(tree_path, tar.data, tar.len) < 0)
		return -1;
	assert_int_equal(sb_file_open(tree_path, &file.source.fd, &err), 0);
	file.source.size = tar.len;
	ret = treefile_survey(&file, &facts, &err);
	strcpy(tree_digest, facts.tree);
	close(file.source.fd);
	return ret;
}

static int set_up(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(program); i++)
		program[i] = (char)(i * i >> 3);
	sha256_hex(program, sizeof(program), sha256);
	if (make_file(program_path, program, sizeof(program)) < 0 || make_tree() < 0)
		return -1;
	confs[0] = make_conf("root", "");
	confs[1] = make_conf("user", "");
	tree_confs[0] = make_conf("root", ", with: [one, two]");
	tree_confs[1] = make_conf("user", ", with: [one, two]");
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	for (int i = 0; i < 2; i++) {
		conf_free(confs[i]);
		conf_free(tree_confs[i]);
	}
	return unlink(program_path) < 0 || unlink(tree_path) < 0 ? -1 : 0;
}

/* ---- one run ---- */

struct outcome {
	enum sb_code code;
	char text[sizeof(((struct sb_err *)NULL)->text)];
	int64_t ms;
};

static int do_command(enum command command, struct plan *plan, struct sb_err *err)
{
	sb_auto(visit_end) struct visit visit = VISIT_INIT;
	struct receipt_tree trees[2 * CONF_MAX_TREES];
	struct receipt_install installed;
	struct receipt_status status;
	bool removed;

	switch (command) {
	case INJECT:
		return service_inject(plan, &installed, trees, err);
	case STATUS:
		if (service_status(plan, &status, err) < 0)
			return -1;
		for (size_t i = 0; i < plan->tree_count; i++)
			if (!service_find_tree(&status, &plan->trees[i]))
				return sb_err_set(err, SB_MISMATCH, "a tree is not there");
		return status.running ? 0 : sb_err_set(err, SB_NO_SERVICE, "it does not run");
	case PIPE:
		return service_open(plan, false, &visit, err);
	default:
		return service_remove(plan, &removed, err);
	}
}

/* As the commands of cmd/ do it. */
static int do_all(struct fake_docker *docker, enum command command, const struct scene *scene,
	struct sb_err *err)
{
	static const struct key no_key = {.known = false};
	const struct plan_opts opts = {.conf = (scene->trees ? tree_confs : confs)[scene->as_user],
		.unpack = true,
		.key = scene->no_key ? &no_key : &key,
		.graft = scene->read_only};
	sb_auto(eng_closep) struct eng_client *client = NULL;
	sb_auto(plan_release) struct plan plan = PLAN_INIT;
	int outcome = eng_open(fake_endpoint(docker->engine), TIMEOUT_MS, &client, err);

	if (outcome == 0)
		outcome = plan_make(client, &opts, "x", &plan, err);
	if (outcome == 0)
		outcome = do_command(command, &plan, err);
	if (outcome < 0 && plan.container.id)
		(void)presence_explain(&plan, err);
	return outcome;
}

static void run_command(struct fake_docker *docker, enum command command, const struct scene *scene,
	struct fake_fault fault, struct outcome *ret)
{
	struct sb_err err = SB_ERR_INIT;
	int64_t since = sb_now_ms();
	int outcome;

	fake_docker_start(docker, fault);
	outcome = do_all(docker, command, scene, &err);
	assert_int_equal(outcome < 0, err.code != SB_OK);
	ret->code = err.code;
	ret->ms = sb_now_ms() - since;
	strcpy(ret->text, err.text);
	fake_docker_stop(docker);
	eng_interrupted = 0;
}

static void succeed(struct fake_docker *docker, enum command command, const struct scene *scene)
{
	struct outcome outcome;

	run_command(docker, command, scene, no_fault, &outcome);
	if (outcome.code != SB_OK)
		fail_msg("a run without a fault ends in %d: %s", outcome.code, outcome.text);
}

/* ---- what there is before ---- */

static void begin_world(struct fake_docker *docker, const struct scene *scene)
{
	*docker = (struct fake_docker){
		.user = scene->as_user || scene->before == INJECTED_FOR_USER ? "1000" : "",
		.read_only = scene->read_only,
		.spares_question = scene->spares_question};
	docker->container = (struct fake_container){.place = confs[0]->path,
		.sha256 = sha256,
		.program = program,
		.size = sizeof(program)};
	docker->helper = docker->container;
}

static void prepare(struct fake_docker *docker, const struct scene *scene)
{
	struct scene other = *scene;
	char name[KEY_NAME_SIZE], path[200];

	if (scene->before == INJECTED_FOR_ROOT || scene->before == INJECTED_FOR_USER)
		other.as_user = !scene->as_user;
	if (scene->before == IMPOSTOR) {
		key_name(&key, sha256, FAKE_ID, false, name);
		snprintf(path, sizeof(path), "/.sbinject/%s", name);
		fake_make(&docker->container, "/.sbinject", FAKE_DIR);
		fake_make(&docker->container, path, FAKE_FILE);
	} else if (scene->before != NOTHING) {
		succeed(docker, INJECT, &other);
	}
}

/* The container as it was; the engine well. */
static void restore(struct fake_docker *docker, const struct fake_container *before)
{
	docker->container = *before;
	docker->started += docker->is_stopped;
	docker->is_stopped = docker->is_gone = docker->has_helper = false;
}

/* ---- tables ---- */

struct table {
	struct fake_fault faults[MAX_COLUMNS]; /* of each column: the request */
	char names[MAX_COLUMNS][32];
	size_t count;
};

static bool changes_something(enum fake_kind kind)
{
	return kind != FAKE_PING && kind != FAKE_INSPECT && kind != FAKE_IMAGE &&
	       kind != FAKE_LOOK && kind != FAKE_ENDED;
}

static const char *next_word(const char *text, char word[32])
{
	size_t len;

	text += strspn(text, " ");
	len = strcspn(text, " \n");
	assert_true(len < 32);
	snprintf(word, 32, "%.*s", (int)len, text);
	return text + len;
}

static void add_column(struct table *table, const char *word)
{
	size_t len = strcspn(word, "0123456789");
	struct fake_fault *fault = &table->faults[table->count];

	assert_true(table->count < MAX_COLUMNS);
	snprintf(table->names[table->count++], sizeof(table->names[0]), "%s", word);
	fault->nth = word[len] ? (int)strtol(word + len, NULL, 10) : 1;
	while (strncmp(fake_kind_words[fault->kind], word, len) ||
		strlen(fake_kind_words[fault->kind]) != len)
		assert_true(++fault->kind < FAKE_KIND_COUNT);
	fault->lasting = !changes_something(fault->kind);
}

/* The first line: which has to be the requests of a run without a fault. */
static const char *read_requests(
	const struct fake_docker *docker, const char *text, struct table *ret)
{
	char word[32], made[1000] = "", said[1000] = "";

	ret->count = 0;
	for (text = next_word(text, word); *word; text = next_word(text, word)) {
		add_column(ret, word);
		snprintf(said + strlen(said), sizeof(said) - strlen(said), " %s", word);
	}
	for (size_t i = 0; i < docker->log_count; i++)
		snprintf(made + strlen(made), sizeof(made) - strlen(made), " %s", docker->log[i]);
	assert_string_equal(made, said);
	return text + (*text == '\n');
}

/* ---- one cell ---- */

struct cell {
	const struct scene *scene;
	struct fake_docker *docker;
	const struct fake_container *before; /* how the container was */
	const char *was, *goal;		     /* the same, and after a success, in words */
	const char *fault, *request;
	char code; /* that it has to end in */
	int *wrong;
};

static void complain(const struct cell *cell, const struct outcome *outcome, const char *what)
{
	++*cell->wrong;
	print_error("%s@%s: %s; it ended in %d: %s\n", cell->fault, cell->request, what,
		outcome->code, outcome->text);
}

static bool is_as(const struct cell *cell, const char *wanted)
{
	char *now = fake_describe(&cell->docker->container);
	bool same = !strcmp(now, wanted);

	if (!same && getenv("SHOW"))
		print_error("is:\n%snot:\n%s", now, wanted);
	free(now);
	return same;
}

static bool says_what_is_left(const struct outcome *outcome)
{
	return strstr(outcome->text, "may be left inside") ||
	       strstr(outcome->text, "is left in it") || strstr(outcome->text, "is still there");
}

/* What is half removed is no less than what was there, and removed the next time. */
static bool may_be_half_done(const struct cell *cell)
{
	return cell->scene->command == REMOVE ||
	       (cell->scene->command == INJECT && cell->scene->before >= INJECTED_FOR_ROOT);
}

/* What was there before the fault did something to it. */
static bool is_changed_by_others(const struct cell *cell)
{
	return cell->scene->before != NOTHING && fake_changes(cell->docker->fault.harm);
}

static void check_after(const struct cell *cell, const struct outcome *outcome)
{
	bool is_other = is_changed_by_others(cell);

	if (outcome->code == SB_OK) {
		if (!is_other && !is_as(cell, cell->goal))
			complain(cell, outcome, "the container is not as it should be afterwards");
		return;
	}
	if (cell->docker->is_stopped && !is_as(cell, cell->was) && !is_other &&
		!strstr(outcome->text, "is left in it until it runs") &&
		!(cell->scene->trees && strstr(outcome->text, "is still there")))
		complain(cell, outcome, "it does not say that it stays until the container runs");
	if (!is_other && !may_be_half_done(cell) && !is_as(cell, cell->was) &&
		!says_what_is_left(outcome))
		complain(cell, outcome, "more or less is left than it says");
	if (cell->docker->has_helper)
		complain(cell, outcome, "the helper container is left");
}

/* What a run has left is removed by the next. */
static void check_removal(const struct cell *cell, const struct outcome *first)
{
	struct outcome outcome;

	if (cell->scene->before != NOTHING || !says_what_is_left(first))
		return;
	run_command(cell->docker, REMOVE, cell->scene, no_fault, &outcome);
	if (outcome.code != SB_OK || !is_as(cell, cell->was))
		complain(cell, &outcome, "what was left is not removed");
}

/* With a fault that is over, it works. */
static void check_again(const struct cell *cell, const struct outcome *first)
{
	enum command command = cell->scene->command == REMOVE ? REMOVE : INJECT;
	struct outcome outcome;

	cell->docker->started += cell->docker->is_stopped;
	cell->docker->is_stopped = cell->docker->is_gone = false;
	run_command(cell->docker, command, cell->scene, no_fault, &outcome);
	if (outcome.code != SB_OK)
		complain(cell, &outcome, "a second run fails");
	else if (!says_what_is_left(first) && !is_as(cell, cell->goal))
		complain(cell, first, "after a second run it is not as it should be");
}

static void check_cell(const struct cell *cell, struct fake_fault fault)
{
	static const enum sb_code codes[] = {
		['0'] = 0, 1, 2, 3, 4, 5, 6, 7, ['i'] = SB_INTERRUPTED};
	struct outcome outcome;

	restore(cell->docker, cell->before);
	run_command(cell->docker, cell->scene->command, cell->scene, fault, &outcome);
	if (outcome.code != codes[(unsigned char)cell->code])
		complain(cell, &outcome, "another code");
	if (strchr(outcome.text, '\n') || (outcome.code != SB_OK && !*outcome.text))
		complain(cell, &outcome, "not one line");
	if (outcome.ms > TIMEOUT_MS + ENG_CLEANUP_MS + 1000)
		complain(cell, &outcome, "not in time");
	if (!cell->docker->applied)
		complain(cell, &outcome, "the fault was not applied");
	check_after(cell, &outcome);
	check_again(cell, &outcome);
	check_removal(cell, &outcome);
}

static void check_row(struct cell *cell, const struct table *table, const char *codes)
{
	char name[32], word[32];
	size_t len;
	bool for_good;

	cell->fault = name;
	codes = next_word(codes, name);
	len = strlen(name);
	for_good = name[len - 1] == '+';
	name[len - for_good] = '\0';
	for (size_t i = 0; i < table->count; i++) {
		struct fake_fault fault = table->faults[i];

		codes = next_word(codes, word);
		fault.harm = fake_harm_find(name);
		fault.lasting |= for_good;
		cell->request = table->names[i];
		cell->code = *word;
		if (!fault.harm || strlen(word) != 1)
			fail_msg("the table has no sense at '%s', '%s'", name, word);
		if (*word != '-')
			check_cell(cell, fault);
	}
	next_word(codes, word);
	assert_string_equal(word, "");
}

static void play(const struct scene *scene)
{
	struct fake_container before;
	struct fake_docker docker;
	struct table table = {.count = 0};
	const char *row;
	char *was, *goal;
	int wrong = 0;

	begin_world(&docker, scene);
	prepare(&docker, scene);
	before = docker.container;
	was = fake_describe(&before);
	succeed(&docker, scene->command, scene);
	row = read_requests(&docker, scene->table, &table);
	goal = fake_describe(&docker.container);
	for (; *row; row += strcspn(row, "\n"), row += *row == '\n') {
		struct cell cell = {scene, &docker, &before, was, goal, NULL, NULL, '\0', &wrong};

		check_row(&cell, &table, row);
	}
	assert_false(docker.container.overflow);
	free(was);
	free(goal);
	assert_int_equal(wrong, 0);
}

/* ---- inject ---- */

static void test_service_inject__for_root(void **state)
{
	static const struct scene scene = {.command = INJECT,
		.table = "                    ping inspect image look put exec start\n"
			 "drop                3    3       3     3    3   3    3\n"
			 "cut:req-body:half   -    -       -     -    3   3    3\n"
			 "cut:resp:0          3    3       3     3    3   3    3\n"
			 "cut:resp:20         3    3       3     3    3   3    3\n"
			 "cut:resp-body:1     3    3       3     -    -   3    3\n"
			 "cut:resp-body:half  3    3       3     -    -   3    3\n"
			 "cut:after           0    0       0     0    0   0    0\n"
			 "stall:req-body      3    3       3     3    3   3    3\n"
			 "stall:resp          3    3       3     3    3   3    3\n"
			 "stall:resp-body     3    3       3     -    -   3    7\n"
			 "length:+10          3    3       3     -    3   3    -\n"
			 "length:-2           0    1       1     -    -   1    -\n"
			 "chunked:short       3    3       3     -    3   3    3\n"
			 "chunked:bad         3    3       3     -    3   3    3\n"
			 "reply:500           3    1       1     1    1   1    1\n"
			 "reply:404           3    4       0     0    4   4    4\n"
			 "garbage             3    3       3     3    3   3    3\n"
			 "frame:oversize      -    -       -     -    -   -    0\n"
			 "frame:stream        -    -       -     -    -   -    3\n"
			 "frame:stderr        -    -       -     -    -   -    3\n"
			 "frame:swap          -    -       -     -    -   -    3\n"
			 "frame:empty         -    -       -     -    -   -    0\n"
			 "frame:nonce         -    -       -     -    -   -    6\n"
			 "frame:digest        -    -       -     -    -   -    6\n"
			 "frame:refusal       -    -       -     -    -   -    5\n"
			 "interrupted         i    i       i     i    i   i    i\n"
			 "interrupted:late    -    -       -     -    -   -    i\n"
			 "stopped             4    4       4     4    4   4    4\n"
			 "deleted             4    4       4     4    4   4    4\n"
			 "removed             0    0       0     0    0   0    0\n"
			 "cleared             0    0       0     0    0   0    0\n"
			 "drop+               -    -       -     -    3   3    3\n"
			 "cut:resp:0+         -    -       -     -    3   3    3\n"
			 "stall:resp+         -    -       -     -    3   3    3\n"
			 "reply:500+          -    -       -     -    1   1    1\n"};

	(void)state;
	play(&scene);
}

static void test_service_inject__without_a_key(void **state)
{
	static const struct scene scene = {.command = INJECT,
		.no_key = true,
		.table = "                    ping inspect image put exec start\n"
			 "drop                3    3       3     3   3    3\n"
			 "cut:resp:20         3    3       3     3   3    3\n"
			 "cut:resp-body:half  3    3       3     -   3    3\n"
			 "stall:resp          3    3       3     3   3    3\n"
			 "reply:500           3    1       1     1   1    1\n"
			 "reply:404           3    4       0     4   4    4\n"
			 "stopped             4    4       4     4   4    4\n"
			 "deleted             4    4       4     4   4    4\n"
			 "removed             0    0       0     0   0    0\n"
			 "reply:500+          -    -       -     1   1    1\n"};

	(void)state;
	play(&scene);
}

static void test_service_inject__that_is_there(void **state)
{
	static const struct scene scene = {.command = INJECT,
		.before = INJECTED,
		.table = "                    ping inspect image look exec start\n"
			 "drop                3    3       3     3    3    3\n"
			 "cut:resp:20         3    3       3     3    3    3\n"
			 "cut:resp-body:half  3    3       3     -    3    3\n"
			 "stall:resp          3    3       3     3    3    3\n"
			 "reply:500           3    1       1     1    0    0\n"
			 "reply:404           3    4       0     0    4    4\n"
			 "interrupted         i    i       i     i    i    i\n"
			 "interrupted:late    -    -       -     -    -    0\n"
			 "stopped             4    4       4     4    4    4\n"
			 "deleted             4    4       4     4    4    4\n"
			 "removed             0    0       0     0    0    0\n"
			 "reply:500+          -    -       -     -    1    1\n"};

	(void)state;
	play(&scene);
}

static void test_service_inject__for_user(void **state)
{
	static const struct scene scene = {.command = INJECT,
		.as_user = true,
		.table = "                    ping inspect image look look2 put exec start\n"
			 "drop                3    3       3     3    3     3   3    3\n"
			 "cut:req-body:half   -    -       -     -    -     3   3    3\n"
			 "cut:resp:0          3    3       3     3    3     3   3    3\n"
			 "cut:resp:20         3    3       3     3    3     3   3    3\n"
			 "cut:resp-body:1     3    3       3     -    -     -   3    3\n"
			 "cut:resp-body:half  3    3       3     -    -     -   3    3\n"
			 "cut:after           0    0       0     0    0     0   0    0\n"
			 "stall:req-body      3    3       3     3    3     3   3    3\n"
			 "stall:resp          3    3       3     3    3     3   3    3\n"
			 "stall:resp-body     3    3       3     -    -     -   3    7\n"
			 "length:+10          3    3       3     -    -     3   3    -\n"
			 "length:-2           0    1       1     -    -     -   1    -\n"
			 "chunked:short       3    3       3     -    -     3   3    3\n"
			 "chunked:bad         3    3       3     -    -     3   3    3\n"
			 "reply:500           3    1       1     1    1     1   1    1\n"
			 "reply:404           3    4       0     0    0     4   4    4\n"
			 "garbage             3    3       3     3    3     3   3    3\n"
			 "frame:oversize      -    -       -     -    -     -   -    0\n"
			 "frame:stream        -    -       -     -    -     -   -    3\n"
			 "frame:stderr        -    -       -     -    -     -   -    3\n"
			 "frame:swap          -    -       -     -    -     -   -    3\n"
			 "frame:empty         -    -       -     -    -     -   -    0\n"
			 "frame:nonce         -    -       -     -    -     -   -    6\n"
			 "frame:digest        -    -       -     -    -     -   -    6\n"
			 "frame:refusal       -    -       -     -    -     -   -    5\n"
			 "interrupted         i    i       i     i    i     i   i    i\n"
			 "interrupted:late    -    -       -     -    -     -   -    i\n"
			 "stopped             4    4       4     4    4     4   4    4\n"
			 "deleted             4    4       4     4    4     4   4    4\n"
			 "removed             0    0       0     0    0     0   0    0\n"
			 "cleared             0    0       0     0    0     0   0    0\n"
			 "drop+               -    -       -     -    -     3   3    3\n"
			 "cut:resp:0+         -    -       -     -    -     3   3    3\n"
			 "stall:resp+         -    -       -     -    -     3   3    3\n"
			 "reply:500+          -    -       -     -    -     1   1    1\n"};

	(void)state;
	play(&scene);
}

static void test_service_inject__for_user_that_is_there(void **state)
{
	static const struct scene scene = {.command = INJECT,
		.as_user = true,
		.before = INJECTED,
		.table = "                    ping inspect image look exec start\n"
			 "drop                3    3       3     3    3    3\n"
			 "cut:resp:20         3    3       3     3    3    3\n"
			 "cut:resp-body:half  3    3       3     -    3    3\n"
			 "stall:resp          3    3       3     3    3    3\n"
			 "reply:500           3    1       1     1    0    0\n"
			 "reply:404           3    4       0     0    4    4\n"
			 "stopped             4    4       4     4    4    4\n"
			 "deleted             4    4       4     4    4    4\n"
			 "removed             0    0       0     0    0    0\n"
			 "reply:500+          -    -       -     -    1    1\n"};

	(void)state;
	play(&scene);
}

static void test_service_inject__for_user_again_without_a_key(void **state)
{
	static const struct scene scene = {.command = INJECT,
		.as_user = true,
		.before = INJECTED,
		.no_key = true,
		.table = "                    ping inspect image look put exec start\n"
			 "drop                3    3       3     3    3   3    3\n"
			 "cut:resp:20         3    3       3     3    3   3    3\n"
			 "cut:resp-body:half  3    3       3     -    -   3    3\n"
			 "stall:resp          3    3       3     3    3   3    3\n"
			 "reply:500           3    1       1     1    1   1    1\n"
			 "reply:404           3    4       0     -    4   4    4\n"
			 "interrupted         i    i       i     i    i   i    i\n"
			 "interrupted:late    -    -       -     -    -   -    0\n"
			 "stopped             4    4       4     4    4   4    4\n"
			 "deleted             4    4       4     4    4   4    4\n"
			 "removed             0    0       0     0    0   0    0\n"
			 "reply:500+          -    -       -     -    1   1    1\n"};

	(void)state;
	play(&scene);
}

static void test_service_inject__for_user_after_root(void **state)
{
	static const struct scene scene = {.command = INJECT,
		.as_user = true,
		.before = INJECTED_FOR_ROOT,
		.table =
			"                    ping inspect image look look2 look3 look4 exec start put exec2 start2\n"
			"drop                3    3       3     3    3     3     3     3    3     3   3     3\n"
			"cut:resp:20         3    3       3     3    3     3     3     3    3     3   3     3\n"
			"cut:resp-body:half  3    3       3     -    -     -     -     3    3     -   3     3\n"
			"stall:resp          3    3       3     3    3     3     3     3    3     3   3     3\n"
			"reply:500           3    1       1     1    1     1     1     0    0     1   1     1\n"
			"reply:404           3    4       0     -    -     -     -     4    4     4   4     4\n"
			"interrupted         i    i       i     i    i     i     i     i    i     i   i     i\n"
			"interrupted:late    -    -       -     -    -     -     -     -    i     -   -     i\n"
			"stopped             4    4       4     4    4     4     4     4    4     4   4     4\n"
			"deleted             4    4       4     4    4     4     4     4    4     4   4     4\n"
			"removed             0    0       0     0    0     0     0     0    0     0   0     0\n"
			"reply:500+          -    -       -     -    -     -     -     1    1     1   1     1\n"};

	(void)state;
	play(&scene);
}

static void test_service_inject__for_root_after_user(void **state)
{
	static const struct scene scene = {.command = INJECT,
		.before = INJECTED_FOR_USER,
		.table =
			"                    ping inspect image look put exec start look2 look3 put2 exec2 start2 look4 exec3 start3 look5 look6 put3 exec4 start4 look7 put4 exec5 start5\n"
			"drop                3    3       3     3    3   3    3     3     3     3    3     3      3     3     3      3     3     3    3     3      3     3    3     3\n"
			"cut:resp:20         3    3       3     3    3   3    3     3     3     3    3     3      3     3     3      3     3     3    3     3      3     3    3     3\n"
			"cut:resp-body:half  3    3       3     -    -   3    3     -     -     -    3     3      -     3     3      -     -     -    3     3      -     -    3     3\n"
			"stall:resp          3    3       3     3    3   3    3     3     3     3    3     3      3     3     3      3     3     3    3     3      3     3    3     3\n"
			"reply:500           3    1       1     1    1   1    1     1     1     1    1     1      1     0     0      1     1     1    1     1      1     1    1     1\n"
			"reply:404           3    4       0     5    4   4    4     5     5     4    4     4      5     4     4      5     5     4    4     4      0     4    4     4\n"
			"interrupted         i    i       i     i    i   i    i     i     i     i    i     i      i     i     i      i     i     i    i     i      i     i    i     i\n"
			"interrupted:late    -    -       -     -    -   -    i     -     -     -    -     i      -     -     i      -     -     -    -     i      -     -    -     i\n"
			"stopped             4    4       4     4    4   4    4     4     4     4    4     4      4     4     4      4     4     4    4     4      4     4    4     4\n"
			"deleted             4    4       4     4    4   4    4     4     4     4    4     4      4     4     4      4     4     4    4     4      4     4    4     4\n"
			"removed             0    0       0     0    0   0    0     0     0     0    0     0      0     0     0      0     0     0    0     0      0     0    0     0\n"
			"reply:500+          -    -       -     -    1   1    1     -     -     1    1     1      -     1     1      -     -     1    1     1      -     1    1     1\n"};

	(void)state;
	play(&scene);
}

static void test_service_inject__over_an_impostor(void **state)
{
	static const struct scene scene = {.command = INJECT,
		.before = IMPOSTOR,
		.table =
			"                    ping inspect image look exec start inspect2 inspect3 inspect4 inspect5 inspect6 inspect7 put exec2 start2\n"
			"drop                3    3       3     3    3    3     0        0        0        0        0        0        3   3     3\n"
			"cut:resp:20         3    3       3     3    3    3     0        0        0        0        0        0        3   3     3\n"
			"cut:resp-body:half  3    3       3     -    3    3     0        0        0        0        0        0        -   3     3\n"
			"stall:resp          3    3       3     3    3    3     3        3        3        3        3        3        3   3     3\n"
			"reply:500           3    1       1     1    0    0     0        0        0        0        0        0        1   1     1\n"
			"reply:404           3    4       0     0    4    4     4        4        4        4        4        4        4   4     4\n"
			"interrupted         i    i       i     i    i    i     i        i        i        i        i        i        i   i     i\n"
			"interrupted:late    -    -       -     -    -    i     -        -        -        -        -        -        -   -     i\n"
			"stopped             4    4       4     4    4    4     4        4        4        4        4        4        4   4     4\n"
			"reply:500+          -    -       -     -    1    1     -        -        -        -        -        -        1   1     1\n"};

	(void)state;
	play(&scene);
}

static void test_service_inject__by_helper(void **state)
{
	static const struct scene scene = {.command = INJECT,
		.read_only = true,
		.table =
			"                    ping inspect image exec start ended create put attach launch exec2 start2 delete\n"
			"drop                3    3       3     3    3     3     3      3   3      3      3     3      0\n"
			"cut:req-body:half   -    -       -     3    3     -     3      3   -      -      3     3      -\n"
			"cut:resp:0          3    3       3     3    3     3     3      3   3      3      3     3      0\n"
			"cut:resp:20         3    3       3     3    3     3     3      3   3      3      3     3      0\n"
			"cut:resp-body:1     3    3       3     3    3     3     3      -   3      -      3     3      -\n"
			"cut:resp-body:half  3    3       3     3    3     3     3      -   3      -      3     3      -\n"
			"cut:after           0    0       0     0    0     0     0      0   0      0      0     0      0\n"
			"stall:req-body      3    3       3     3    3     3     3      3   3      3      3     3      0\n"
			"stall:resp          3    3       3     3    3     3     3      3   3      3      3     3      0\n"
			"stall:resp-body     3    3       3     3    7     3     3      -   7      -      3     7      -\n"
			"length:+10          3    3       3     3    -     3     3      3   -      0      3     -      0\n"
			"length:-2           0    1       1     1    -     1     1      -   -      -      1     -      -\n"
			"chunked:short       3    3       3     3    3     3     3      3   3      3      3     3      0\n"
			"chunked:bad         3    3       3     3    3     3     3      3   3      3      3     3      0\n"
			"reply:500           3    1       1     1    1     1     5      1   1      5      1     1      0\n"
			"reply:404           3    4       0     4    4     4     5      5   5      5      4     4      0\n"
			"garbage             3    3       3     3    3     3     3      3   3      3      3     3      0\n"
			"frame:oversize      -    -       -     -    3     -     -      -   0      -      -     0      -\n"
			"frame:stream        -    -       -     -    3     -     -      -   3      -      -     3      -\n"
			"frame:stderr        -    -       -     -    0     -     -      -   7      -      -     3      -\n"
			"frame:nonce         -    -       -     -    0     -     -      -   6      -      -     6      -\n"
			"frame:digest        -    -       -     -    0     -     -      -   -      -      -     6      -\n"
			"frame:refusal       -    -       -     -    0     -     -      -   -      -      -     5      -\n"
			"interrupted         i    i       i     i    i     i     i      i   i      i      i     i      0\n"
			"interrupted:late    -    -       -     -    i     -     -      -   i      -      -     i      -\n"
			"stopped             4    4       4     4    4     4     4      4   4      4      4     4      -\n"
			"deleted             4    4       4     4    4     4     4      4   4      4      4     4      -\n"
			"removed             0    0       0     0    0     0     0      0   0      0      0     0      -\n"
			"cleared             0    0       0     0    0     0     0      0   0      0      0     0      -\n"
			"drop+               -    -       -     3    3     -     3      3   3      3      3     3      0\n"
			"cut:resp:0+         -    -       -     3    3     -     3      3   3      3      3     3      0\n"
			"stall:resp+         -    -       -     3    3     -     3      3   3      3      3     3      0\n"
			"reply:500+          -    -       -     1    1     -     5      1   1      5      1     1      0\n"};

	(void)state;
	play(&scene);
}

/* ---- inject with trees ---- */

static void test_service_inject__with_trees(void **state)
{
	static const struct scene scene = {.command = INJECT,
		.trees = true,
		.table =
			"                    ping inspect image look put exec start look2 exec2 start2 look3 exec3 start3\n"
			"drop                3 3 3 3 3 3 3 3 3 3 3 3 3\n"
			"cut:resp:0          3 3 3 3 3 3 3 3 3 3 3 3 3\n"
			"cut:resp-body:half  3 3 3 - - 3 3 - 3 3 - 3 3\n"
			"stall:resp          3 3 3 3 3 3 3 3 3 3 3 3 3\n"
			"reply:500           3 1 1 1 1 1 1 1 0 0 1 0 0\n"
			"reply:404           3 4 0 0 4 4 4 0 4 4 0 4 4\n"
			"frame:stream        - - - - - - 3 - - 3 - - 3\n"
			"frame:nonce         - - - - - - 6 - - 0 - - 0\n"
			"frame:refusal       - - - - - - 5 - - 0 - - 0\n"
			"interrupted         i i i i i i i i i i i i i\n"
			"interrupted:late    - - - - - - i - - i - - i\n"
			"stopped             4 4 4 4 4 4 4 4 4 4 4 4 4\n"
			"deleted             4 4 4 4 4 4 4 4 4 4 4 4 4\n"};

	(void)state;
	play(&scene);
}

/* What goes wrong with the answer that a tree is in place. */
static void test_service_inject__with_trees_in_place(void **state)
{
	static const struct scene scene = {.command = INJECT,
		.trees = true,
		.spares_question = true,
		.table =
			"                    ping inspect image look put exec start look2 exec2 start2 look3 exec3 start3\n"
			"frame:oversize      - - - - - - 0 - - 0 - - 0\n"
			"frame:stream        - - - - - - 3 - - 3 - - 3\n"
			"frame:nonce         - - - - - - 6 - - 6 - - 6\n"
			"interrupted:late    - - - - - - i - - i - - i\n"};

	(void)state;
	play(&scene);
}

/* One that says that the service is of another kind, although that was removed. */
static void test_service_inject__does_without_no_tree(void **state)
{
	static const struct scene scene = {.command = INJECT, .trees = true};
	struct fake_docker docker;
	struct outcome outcome;
	char *left;

	(void)state;
	begin_world(&docker, &scene);
	docker.container.is_other = true;
	run_command(&docker, INJECT, &scene, no_fault, &outcome);
	assert_int_equal(outcome.code, SB_UNSUPPORTED);
	assert_string_equal(outcome.text,
		"tree 'one': a service that was injected meanwhile is in its way; run this again when "
		"the other run has ended");
	left = fake_describe(&docker.container);
	assert_string_equal(left, "service: none\n");
	free(left);
}

static void test_service_inject__with_trees_that_are_there(void **state)
{
	static const struct scene scene = {.command = INJECT,
		.before = INJECTED,
		.trees = true,
		.table =
			"                    ping inspect image look exec start look2 exec2 start2 look3 exec3 start3\n"
			"drop                3 3 3 3 3 3 3 3 3 3 3 3\n"
			"stall:resp          3 3 3 3 3 3 3 3 3 3 3 3\n"
			"stopped             4 4 4 4 4 4 4 4 4 4 4 4\n"};

	(void)state;
	play(&scene);
}

static void test_service_remove__with_trees(void **state)
{
	static const struct scene scene = {.command = REMOVE,
		.before = INJECTED,
		.trees = true,
		.table = "                    ping inspect image look exec start\n"
			 "drop                3    3       3     3    3    3\n"
			 "stall:resp          3    3       3     3    3    3\n"};

	(void)state;
	play(&scene);
}

static void test_service_status__with_trees(void **state)
{
	static const struct scene scene = {.command = STATUS,
		.before = INJECTED,
		.trees = true,
		.table = "                    ping inspect image look exec start\n"
			 "drop                3    3       3     3    3    3\n"
			 "stall:resp          3    3       3     3    3    3\n"};

	(void)state;
	play(&scene);
}

static void test_service_status__(void **state)
{
	static const struct scene scene = {.command = STATUS,
		.before = INJECTED,
		.table = "                    ping inspect image look exec start\n"
			 "drop                3    3       3     3    3    3\n"
			 "cut:resp:20         3    3       3     3    3    3\n"
			 "cut:resp-body:half  3    3       3     -    3    3\n"
			 "stall:resp          3    3       3     3    3    3\n"
			 "reply:500           3    1       1     1    0    0\n"
			 "reply:404           3    4       0     7    4    4\n"
			 "stopped             4    4       4     4    4    4\n"
			 "deleted             4    4       7     7    4    4\n"
			 "removed             7    7       7     7    7    7\n"};

	(void)state;
	play(&scene);
}

static void test_service_status__without_a_key(void **state)
{
	static const struct scene scene = {.command = STATUS,
		.before = INJECTED,
		.no_key = true,
		.table = "                    ping inspect image look put exec start\n"
			 "drop                3    3       3     3    3   3    3\n"
			 "cut:resp:20         3    3       3     3    3   3    3\n"
			 "cut:resp-body:half  3    3       3     -    -   3    3\n"
			 "stall:resp          3    3       3     3    3   3    3\n"
			 "reply:500           3    1       1     1    1   1    1\n"
			 "reply:404           3    4       0     7    4   4    4\n"
			 "stopped             4    4       4     4    4   4    4\n"
			 "deleted             4    4       7     7    4   4    4\n"
			 "removed             7    7       7     7    7   7    7\n"};

	(void)state;
	play(&scene);
}

static void test_service_status__for_user(void **state)
{
	static const struct scene scene = {.command = STATUS,
		.before = INJECTED,
		.as_user = true,
		.table = "                    ping inspect image look exec start\n"
			 "drop                3    3       3     3    3    3\n"
			 "cut:resp:20         3    3       3     3    3    3\n"
			 "cut:resp-body:half  3    3       3     -    3    3\n"
			 "stall:resp          3    3       3     3    3    3\n"
			 "reply:500           3    1       1     1    0    0\n"
			 "reply:404           3    4       0     7    4    4\n"
			 "stopped             4    4       4     4    4    4\n"
			 "deleted             4    4       7     7    4    4\n"
			 "removed             7    7       7     7    7    7\n"};

	(void)state;
	play(&scene);
}

/* status and pipe ask for the same. */
static const char asked_by_helper[] =
	"                    ping inspect image exec start ended exec2 start2\n"
	"drop                3    3       3     3    3     3     3     3\n"
	"cut:resp:20         3    3       3     3    3     3     3     3\n"
	"cut:resp-body:half  3    3       3     3    3     3     3     3\n"
	"stall:resp          3    3       3     3    3     3     3     3\n"
	"reply:500           3    1       1     1    1     1     0     0\n"
	"reply:404           3    4       0     4    4     4     4     4\n"
	"stopped             4    4       4     4    4     4     4     4\n"
	"deleted             4    4       4     4    4     4     4     4\n"
	"removed             7    7       7     7    7     7     7     7\n";

static void test_service_status__by_helper(void **state)
{
	static const struct scene scene = {
		.command = STATUS, .before = INJECTED, .read_only = true, .table = asked_by_helper};

	(void)state;
	play(&scene);
}

static void test_service_open__(void **state)
{
	static const struct scene scene = {.command = PIPE,
		.before = INJECTED,
		.table = "                    ping inspect image look exec start\n"
			 "drop                3    3       3     3    3    3\n"
			 "cut:resp:20         3    3       3     3    3    3\n"
			 "cut:resp-body:half  3    3       3     -    3    3\n"
			 "stall:resp          3    3       3     3    3    3\n"
			 "reply:500           3    1       1     1    0    0\n"
			 "reply:404           3    4       0     7    4    4\n"
			 "interrupted         i    i       i     i    i    i\n"
			 "interrupted:late    -    -       -     -    -    i\n"
			 "stopped             4    4       4     4    4    4\n"
			 "deleted             4    4       7     7    4    4\n"
			 "removed             7    7       7     7    7    7\n"};

	(void)state;
	play(&scene);
}

static void test_service_open__without_a_key(void **state)
{
	static const struct scene scene = {.command = PIPE,
		.before = INJECTED,
		.no_key = true,
		.table = "                    ping inspect image look put exec start\n"
			 "drop                3    3       3     3    3   3    3\n"
			 "cut:resp:20         3    3       3     3    3   3    3\n"
			 "cut:resp-body:half  3    3       3     -    -   3    3\n"
			 "stall:resp          3    3       3     3    3   3    3\n"
			 "reply:500           3    1       1     1    1   1    1\n"
			 "reply:404           3    4       0     7    4   4    4\n"
			 "stopped             4    4       4     4    4   4    4\n"
			 "deleted             4    4       7     7    4   4    4\n"
			 "removed             7    7       7     7    0   0    0\n"};

	(void)state;
	play(&scene);
}

static void test_service_open__for_user(void **state)
{
	static const struct scene scene = {.command = PIPE,
		.before = INJECTED,
		.as_user = true,
		.table = "                    ping inspect image look exec start\n"
			 "drop                3    3       3     3    3    3\n"
			 "cut:resp:20         3    3       3     3    3    3\n"
			 "cut:resp-body:half  3    3       3     -    3    3\n"
			 "stall:resp          3    3       3     3    3    3\n"
			 "reply:500           3    1       1     1    0    0\n"
			 "reply:404           3    4       0     7    4    4\n"
			 "stopped             4    4       4     4    4    4\n"
			 "deleted             4    4       7     7    4    4\n"
			 "removed             7    7       7     7    7    7\n"};

	(void)state;
	play(&scene);
}

static void test_service_open__by_helper(void **state)
{
	static const struct scene scene = {
		.command = PIPE, .before = INJECTED, .read_only = true, .table = asked_by_helper};

	(void)state;
	play(&scene);
}

static void test_service_remove__(void **state)
{
	static const struct scene scene = {.command = REMOVE,
		.before = INJECTED,
		.table = "                    ping inspect image look exec start\n"
			 "drop                3    3       3     3    3    3\n"
			 "cut:resp:20         3    3       3     3    3    3\n"
			 "cut:resp-body:half  3    3       3     -    3    3\n"
			 "stall:resp          3    3       3     3    3    3\n"
			 "reply:500           3    1       1     1    0    0\n"
			 "reply:404           3    4       0     -    4    4\n"
			 "stopped             4    4       4     4    4    4\n"
			 "deleted             4    4       0     0    4    4\n"
			 "removed             0    0       0     0    0    0\n"};

	(void)state;
	play(&scene);
}

static void test_service_remove__without_a_key(void **state)
{
	static const struct scene scene = {.command = REMOVE,
		.before = INJECTED,
		.no_key = true,
		.table = "                    ping inspect image look put exec start\n"
			 "drop                3    3       3     3    3   3    3\n"
			 "cut:resp:20         3    3       3     3    3   3    3\n"
			 "cut:resp-body:half  3    3       3     -    -   3    3\n"
			 "stall:resp          3    3       3     3    3   3    3\n"
			 "reply:500           3    1       1     1    1   1    1\n"
			 "reply:404           3    4       0     -    4   4    4\n"
			 "stopped             4    4       4     4    4   4    4\n"
			 "deleted             4    4       0     0    4   4    4\n"
			 "removed             0    0       0     0    0   0    0\n"};

	(void)state;
	play(&scene);
}

static void test_service_remove__for_user(void **state)
{
	static const struct scene scene = {.command = REMOVE,
		.before = INJECTED,
		.as_user = true,
		.table =
			"                    ping inspect image look look2 exec start look3 look4 put exec2 start2\n"
			"drop                3    3       3     3    3     3    3     3     3     3   3     3\n"
			"cut:resp:20         3    3       3     3    3     3    3     3     3     3   3     3\n"
			"cut:resp-body:half  3    3       3     -    -     3    3     -     -     -   3     3\n"
			"stall:resp          3    3       3     3    3     3    3     3     3     3   3     3\n"
			"reply:500           3    1       1     1    1     0    0     1     1     1   1     1\n"
			"reply:404           3    4       0     -    -     4    4     -     -     4   4     4\n"
			"interrupted         i    i       i     i    i     i    i     i     i     i   i     i\n"
			"interrupted:late    -    -       -     -    -     -    i     -     -     -   -     i\n"
			"stopped             4    4       4     4    4     4    4     4     4     4   4     4\n"
			"deleted             4    4       0     0    0     4    4     0     0     4   4     4\n"
			"removed             0    0       0     0    0     0    0     0     0     0   0     0\n"};

	(void)state;
	play(&scene);
}

static void test_service_remove__by_helper(void **state)
{
	static const struct scene scene = {.command = REMOVE,
		.before = INJECTED,
		.read_only = true,
		.table = "                    ping inspect image exec start ended exec2 start2\n"
			 "drop                3    3       3     3    3     3     3     3\n"
			 "cut:resp:20         3    3       3     3    3     3     3     3\n"
			 "cut:resp-body:half  3    3       3     3    3     3     3     3\n"
			 "stall:resp          3    3       3     3    3     3     3     3\n"
			 "reply:500           3    1       1     1    1     1     0     0\n"
			 "reply:404           3    4       0     4    4     4     4     4\n"
			 "stopped             4    4       4     4    4     4     4     4\n"
			 "deleted             4    4       4     4    4     4     4     4\n"
			 "removed             0    0       0     0    0     0     0     0\n"};

	(void)state;
	play(&scene);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_service_inject__for_root),
		cmocka_unit_test(test_service_inject__without_a_key),
		cmocka_unit_test(test_service_inject__that_is_there),
		cmocka_unit_test(test_service_inject__for_user),
		cmocka_unit_test(test_service_inject__for_user_that_is_there),
		cmocka_unit_test(test_service_inject__for_user_again_without_a_key),
		cmocka_unit_test(test_service_inject__for_user_after_root),
		cmocka_unit_test(test_service_inject__for_root_after_user),
		cmocka_unit_test(test_service_inject__over_an_impostor),
		cmocka_unit_test(test_service_inject__by_helper),
		cmocka_unit_test(test_service_inject__with_trees),
		cmocka_unit_test(test_service_inject__with_trees_in_place),
		cmocka_unit_test(test_service_inject__does_without_no_tree),
		cmocka_unit_test(test_service_inject__with_trees_that_are_there),
		cmocka_unit_test(test_service_remove__with_trees),
		cmocka_unit_test(test_service_status__with_trees),
		cmocka_unit_test(test_service_status__),
		cmocka_unit_test(test_service_status__without_a_key),
		cmocka_unit_test(test_service_status__for_user),
		cmocka_unit_test(test_service_status__by_helper),
		cmocka_unit_test(test_service_open__),
		cmocka_unit_test(test_service_open__without_a_key),
		cmocka_unit_test(test_service_open__for_user),
		cmocka_unit_test(test_service_open__by_helper),
		cmocka_unit_test(test_service_remove__),
		cmocka_unit_test(test_service_remove__without_a_key),
		cmocka_unit_test(test_service_remove__for_user),
		cmocka_unit_test(test_service_remove__by_helper),
	};
	struct sb_err err = SB_ERR_INIT;

	if (eng_global_init(&err) < 0)
		return 1;
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
