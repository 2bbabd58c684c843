/* SPDX-License-Identifier: MIT */
/* The text editor, in a directory of its own: its exact words, and what it leaves alone. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "payloads/sandbox-tools/text_editor/commands.h"
#include "payloads/sandbox-tools/text_editor/controller.h"
#include "payloads/sandbox-tools/text_editor/file.h"
#include "payloads/sandbox-tools/text_editor/history.h"
#include "payloads/sandbox-tools/text_editor/match.h"
#include "payloads/sandbox-tools/text_editor/show.h"
#include "payloads/sandbox-tools/text_editor/tabs.h"

#define HEAD "Here's the result of running `cat -n` on "
#define EDITED "The file F has been edited. " HEAD
#define REVIEW \
	"Review the changes and make sure they are as expected. Edit the file again if necessary."
#define REVIEW_INSERT                                                                     \
	"Review the changes and make sure they are as expected (correct indentation, no " \
	"duplicate lines, etc). Edit the file again if necessary."

static char dir[64], file[80];
static struct editor_reply reply = {.text = BUF_INIT(64 << 20)};

static void put(const char *text, size_t len)
{
	FILE *f = fopen(file, "w");

	assert_non_null(f);
	assert_int_equal(fwrite(text, 1, len, f), len);
	assert_int_equal(fclose(f), 0);
}

static void has(const char *text, size_t len)
{
	static char got[1 << 20];
	FILE *f = fopen(file, "r");
	size_t n;

	assert_non_null(f);
	n = fread(got, 1, sizeof(got), f);
	fclose(f);
	assert_int_equal(n, len);
	assert_memory_equal(got, text, len);
}

/* Every "F" of its own in what is wanted is the file's path. */
static void says(bool failed, const char *want)
{
	struct buf all = BUF_INIT(1 << 20);

	for (const char *p = want; *p; p++) {
		bool alone = *p == 'F' && (p == want || strchr(" '\n", p[-1])) &&
			     (!p[1] || strchr(" ':.\n", p[1]));

		assert_int_equal(alone ? buf_add_str(&all, file) : buf_add(&all, p, 1), 0);
	}
	assert_int_equal(buf_add(&all, "", 1), 0);
	assert_int_equal(reply.error, 0);
	reply_add_text(&reply, "", 1);
	assert_string_equal(reply.text.data, all.data);
	assert_int_equal(reply.failed, failed);
	buf_release(&all);
}

static void run(struct editor_request req)
{
	reply.text.len = 0;
	reply.failed = false;
	if (!req.path.data)
		req.path = text_of(file);
	editor_run(&req, &reply);
}

static struct text lit(const char *text)
{
	return text_of(text);
}

static void view(void)
{
	run((struct editor_request){.command = EDITOR_VIEW});
}

static void view_range(int64_t a, int64_t b, size_t count)
{
	run((struct editor_request){.command = EDITOR_VIEW, .range_len = count, .range = {a, b}});
}

static void replace(const char *old, const char *new)
{
	run((struct editor_request){
		.command = EDITOR_STR_REPLACE, .old_str = lit(old), .new_str = lit(new)});
}

static void insert(int64_t line, const char *new)
{
	run((struct editor_request){
		.command = EDITOR_INSERT, .insert_line = line, .new_str = lit(new)});
}

static void undo(void)
{
	run((struct editor_request){.command = EDITOR_UNDO_EDIT});
}

static int setup(void **state)
{
	(void)state;
	strcpy(dir, "/tmp/test_editor.XXXXXX");
	assert_non_null(mkdtemp(dir));
	snprintf(file, sizeof(file), "%s/f", dir);
	history_use(dir);
	return 0;
}

static int cleanup(void **state)
{
	char command[128];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf '%s'", dir);
	buf_release(&reply.text);
	return system(command);
}

static const char ten[] = "one\n\ttab\nthree\nfour\nfive\nsix\nseven\neight\nnine\nten\n";

#define CHECK_FILE(text) has(text, sizeof(text) - 1)
#define PUT(text) put(text, sizeof(text) - 1)

static void test_view__shows_the_verified_examples(void **state)
{
	(void)state;
	PUT(ten);
	view_range(2, 3, 2);
	says(false, HEAD "F:\n     2\t        tab\n     3\tthree\n");
	PUT("");
	view();
	says(false, HEAD "F:\n     1\t\n");
	PUT("a\r\nb\rc\n");
	view();
	says(false, HEAD "F:\n     1\ta\n     2\tb\n     3\tc\n     4\t\n");
	PUT("\303\251\tx\n");
	view_range(1, 1, 2);
	says(false, HEAD "F:\n     1\t\303\251       x\n");
}

static void test_view__checks_the_range_in_order(void **state)
{
	(void)state;
	PUT("a\nb\nc");
	view_range(1, 2, 3);
	says(true, "Invalid `view_range`. It should be a list of two integers.");
	view_range(0, 2, 2);
	says(true,
		"Invalid `view_range`: [0, 2]. Its first element `0` should be within the range of "
		"lines of the file: [1, 3]");
	view_range(4, 1, 2);
	says(true,
		"Invalid `view_range`: [4, 1]. Its first element `4` should be within the range of "
		"lines of the file: [1, 3]");
	view_range(2, 1, 2);
	says(true,
		"Invalid `view_range`: [2, 1]. Its second element `1` should be larger or equal than "
		"its first `2`");
	view_range(1, 0, 2);
	says(true,
		"Invalid `view_range`: [1, 0]. Its second element `0` should be larger or equal than "
		"its first `1`");
	view_range(1, -2, 2);
	says(true,
		"Invalid `view_range`: [1, -2]. Its second element `-2` should be larger or equal "
		"than its first `1`");
	view_range(2, 99, 2);
	says(false, HEAD "F:\n     2\tb\n     3\tc\n");
	view_range(3, -1, 2);
	says(false, HEAD "F:\n     3\tc\n");
	view_range(INT64_MIN, INT64_MAX, 2);
	assert_true(reply.failed);
}

static void test_view__clips_after_16000_characters(void **state)
{
	char *text = malloc(40000);
	size_t head;

	(void)state;
	assert_non_null(text);
	for (int i = 0; i < 16001; i++)
		memcpy(text + 2 * i, "\303\251", 2);
	put(text, 32000);
	view();
	assert_int_equal(reply.text.len, strlen(HEAD) + strlen(file) + 2 + 7 + 32000 + 1);
	put(text, 32002);
	view();
	head = strlen(HEAD) + strlen(file) + 2 + 7;
	assert_int_equal(reply.text.len, head + 32000 + strlen(show_clipped) + 1);
	assert_memory_equal(reply.text.data + head + 32000, show_clipped, strlen(show_clipped));
	free(text);
}

static void test_view__tells_what_is_not_utf8(void **state)
{
	static const struct {
		const char *text, *want;
	} rows[] = {
		{"\xff", "byte 0xff in position 0: invalid start byte"},
		{"ab\x80", "byte 0x80 in position 2: invalid start byte"},
		{"\xc0\x80", "byte 0xc0 in position 0: invalid start byte"},
		{"a\xe2", "byte 0xe2 in position 1: unexpected end of data"},
		{"a\xe2\x82", "bytes in position 1-2: unexpected end of data"},
		{"\xe2(", "byte 0xe2 in position 0: invalid continuation byte"},
		{"\xe2\x82(", "bytes in position 0-1: invalid continuation byte"},
		{"\xf0\x9f\x98(", "bytes in position 0-2: invalid continuation byte"},
		{"\xed\xa0\x80", "byte 0xed in position 0: invalid continuation byte"},
		{"\xf5", "byte 0xf5 in position 0: invalid start byte"},
	};
	char want[200];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		put(rows[i].text, strlen(rows[i].text));
		view();
		snprintf(want, sizeof(want),
			"Ran into 'utf-8' codec can't decode %s while trying to read F",
			rows[i].want);
		says(true, want);
		replace("a", "b");
		says(true, want);
	}
}

static void test_replace__shows_the_verified_examples(void **state)
{
	(void)state;
	PUT("1\n2\n3\n4\n5\n6\nseven\n8\n9\n10\n");
	replace("seven", "SEVEN\nnew");
	says(false, EDITED
		"a snippet of F:\n     3\t3\n     4\t4\n     5\t5\n     6\t6\n     7\tSEVEN\n"
		"     8\tnew\n     9\t8\n    10\t9\n    11\t10\n    12\t\n" REVIEW);
	PUT(ten);
	insert(3, "mid\n");
	says(false, EDITED
		"a snippet of the edited file:\n     1\tone\n     2\t        tab\n     3\tthree\n"
		"     4\tmid\n     5\t\n     6\tfour\n     7\tfive\n     8\tsix\n     9\tseven\n" REVIEW_INSERT);
	PUT("1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n13\n");
	insert(13, "x");
	says(false, EDITED
		"a snippet of the edited file:\n    10\t10\n    11\t11\n    12\t12\n    13\t13\n"
		"    14\tx\n    15\t\n" REVIEW_INSERT);
}

static void test_replace__refuses_what_is_not_unique(void **state)
{
	(void)state;
	PUT("a\tb\nx aa x aa\naa\n");
	replace("", "x");
	says(true,
		"str_replace: The `old_str` parameter cannot be empty. Consider using the `insert` "
		"command instead.");
	replace("q\tr", "x");
	says(true,
		"No replacement was performed, old_str `q       r` did not appear verbatim in F.");
	replace("aa", "x");
	says(true,
		"No replacement was performed. Multiple occurrences of old_str `aa` in lines [2, 3]. "
		"Please ensure it is unique");
	PUT("x\ny\nx\ny\n");
	replace("x\ny", "z");
	says(true,
		"No replacement was performed. Multiple occurrences of old_str `x\ny` in lines []. "
		"Please ensure it is unique");
	PUT("aaa");
	replace("aa", "b");
	assert_false(reply.failed);
	CHECK_FILE("ba");
	insert(-1, "x");
	says(true,
		"Invalid `insert_line` parameter: -1. It should be within the range of lines of the "
		"file: [0, 1]");
	insert(2, "x");
	says(true,
		"Invalid `insert_line` parameter: 2. It should be within the range of lines of the "
		"file: [0, 1]");
}

/* Defect 19 of the program this one stands in for: it expanded tabs and changed line ends all over
   the file. */
static void test_edit__leaves_tabs_and_line_ends_alone(void **state)
{
	static const struct {
		const char *file, *old, *new, *want;
	} rows[] = {
		{"\ta\n\tb\n", "b", "c", "\ta\n\tc\n"},
		{"\ta\n\tb\n", "        a\n        b", "        a\n        c", "\ta\n\tc\n"},
		{"\ta\n\tb\n", "        a\n        b", "        x\n        b", "\tx\n\tb\n"},
		{"a:\n\tcc\n", "\tcc", "\tcc\n\tld", "a:\n\tcc\n\tld\n"},
		{"\tx\n", "\tx", "        x", "        x\n"},
		{"        x\n", "        x", "\tx", "\tx\n"},
		{"a\r\nb\r\nc\r\n", "b", "x\ny", "a\r\nx\r\ny\r\nc\r\n"},
		{"a\r\nb\r\nc", "a\nb", "a\nq", "a\r\nq\r\nc"},
		{"a\r\nb\r\nc", "a\nb\nc", "ab\nc", "ab\r\nc"},
		{"a\rb\rc", "b", "x\ny", "a\rx\ry\rc"},
		{"a\r\nb\nc\n", "c", "x\ny", "a\r\nb\nx\ny\n"},
		{"a\r\nb\nc\n", "\nb", "", "a\nc\n"},
		{"\tfoo", "    foo", "bar", "    bar"},
		{"\tfoo", "    foo", "    bar", "\tbar"},
		{"x\ty\tz", "x       y", "xx", "xx\tz"},
		{"a\t\tb", "a     ", "c", "c  \tb"},
		{"a\rx\nb", "x", "", "a\r\r\nb"},
		{"no newline", "no", "yes", "yes newline"},
		{"a\n", "a", "a\r\nb", "a\r\nb\n"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		put(rows[i].file, strlen(rows[i].file));
		replace(rows[i].old, rows[i].new);
		assert_false(reply.failed);
		has(rows[i].want, strlen(rows[i].want));
		undo();
		assert_false(reply.failed);
		has(rows[i].file, strlen(rows[i].file));
	}
	PUT("\ta\r\nb\r\n");
	insert(1, "x");
	CHECK_FILE("\ta\r\nx\r\nb\r\n");
	insert(0, "\ty\nz");
	CHECK_FILE("\ty\r\nz\r\n\ta\r\nx\r\nb\r\n");
	insert(6, "end");
	CHECK_FILE("\ty\r\nz\r\n\ta\r\nx\r\nb\r\n\r\nend");
}

static void forget_history(void)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -rf '%s/" HISTORY_DIR "'*", dir);
	assert_int_equal(system(command), 0);
}

static void test_create__and_undo(void **state)
{
	(void)state;
	forget_history();
	unlink(file);
	run((struct editor_request){.command = EDITOR_CREATE, .file_text = {"a\0\tb\r\n", 6}});
	says(false, "File created successfully at: F");
	has("a\0\tb\r\n", 6);
	run((struct editor_request){.command = EDITOR_CREATE, .file_text = lit("x")});
	says(true, "File already exists at: F. Cannot overwrite files using command `create`.");
	replace("a", "c");
	undo();
	assert_false(reply.failed);
	has("a\0\tb\r\n", 6);
	undo();
	says(false, "File deleted at: F");
	undo();
	says(true, "The path F does not exist. Please provide a valid path.");
	PUT("x");
	undo();
	says(true,
		"No edit history found for F. The text editor only retains the last 10 edits per file.");
}

static void test_undo__goes_back_ten_edits_and_no_further(void **state)
{
	char old[24] = "n0", new[24];

	(void)state;
	forget_history();
	PUT("n0");
	for (int i = 1; i <= 12; i++) {
		snprintf(new, sizeof(new), "n%d", i);
		replace(old, new);
		assert_false(reply.failed);
		strcpy(old, new);
	}
	for (int i = 11; i >= 2; i--) {
		undo();
		assert_false(reply.failed);
		snprintf(old, sizeof(old), "n%d", i);
		has(old, strlen(old));
	}
	undo();
	assert_true(reply.failed);
	has("n2", 2);
}

static void history_path(char *path, size_t size)
{
	snprintf(path, size, "%s/" HISTORY_DIR "%lu", dir, (unsigned long)geteuid());
}

/* Overwrites whatever the history holds. */
static void spoil(const char *text, size_t len)
{
	char command[300], path[128], from[100];
	FILE *f;

	history_path(path, sizeof(path));
	snprintf(from, sizeof(from), "%s/spoilt", dir);
	f = fopen(from, "w");
	assert_non_null(f);
	assert_int_equal(fwrite(text, 1, len, f), len);
	fclose(f);
	snprintf(command, sizeof(command), "for i in %s/*-*; do cat %s >$i; done", path, from);
	assert_int_equal(system(command), 0);
}

/* Defect 16: the old history was code for whoever read it. */
static void test_history__is_data_and_corrupt_data_is_none(void **state)
{
	static const struct {
		const char *text;
		size_t len;
	} rows[] = {
		{"", 0},
		{"x", 1},
		{"cos\nsystem\n(S'touch /tmp/pwned'\ntR.", 36},
		{"sbinject-edit 1\n", 16},
		{"sbinject-edit 1\n+\0\0\0\0\0\0\0\1", 25},
		{"sbinject-edit 1\n+\377\377\377\377\377\377\377\377", 25},
	};
	int null = open("/dev/null", O_WRONLY), saved = dup(2);

	(void)state;
	dup2(null, 2);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		PUT("a");
		replace("a", "b");
		spoil(rows[i].text, rows[i].len);
		undo();
		assert_true(reply.failed);
		has("b", 1);
		replace("b", "c");
		undo();
		assert_false(reply.failed);
		has("b", 1);
	}
	dup2(saved, 2);
	close(saved);
	close(null);
}

/* How many edits there are, of whatever file. */
static unsigned count_history(void)
{
	char command[200], path[128];
	unsigned n = 0;
	FILE *out;

	history_path(path, sizeof(path));
	snprintf(command, sizeof(command), "ls %s | wc -l", path);
	out = popen(command, "r");
	assert_non_null(out);
	assert_int_equal(fscanf(out, "%u", &n), 1);
	pclose(out);
	return n;
}

/* Adds edits of other files, of long ago. */
static void fill_history(unsigned count)
{
	char command[400], path[128];

	history_path(path, sizeof(path));
	snprintf(command, sizeof(command),
		"cd %s && seq %u | awk '{printf \"%%064x-1\\n\", $1}' | xargs touch -d 2001-01-01",
		path, count);
	assert_int_equal(system(command), 0);
}

static void edit_and_undo(void)
{
	PUT("a");
	replace("a", "b");
	replace("b", "c");
	replace("c", "d");
	assert_in_range(count_history(), 3, HISTORY_COUNT_MAX);
	for (char was = 'c'; was >= 'a'; was--) {
		undo();
		assert_false(reply.failed);
		has(&was, 1);
	}
	undo();
	assert_true(reply.failed);
}

static void test_history__has_room_for_a_number_of_edits(void **state)
{
	(void)state;
	forget_history();
	edit_and_undo();
	fill_history(HISTORY_COUNT_MAX);
	edit_and_undo();
	assert_int_equal(count_history(), HISTORY_COUNT_MAX - 3);
	/* more than once were looked at */
	fill_history(12000);
	edit_and_undo();
	fill_history(12000);
	assert_int_equal(history_erase(dir), 1);
	assert_int_equal(history_erase(dir), 0);
}

static void test_history__loses_the_first_edits_of_a_file_first(void **state)
{
	char command[300], path[128];

	(void)state;
	forget_history();
	PUT("a");
	replace("a", "b");
	replace("b", "c");
	replace("c", "d");
	history_path(path, sizeof(path));
	fill_history(HISTORY_COUNT_MAX - 3);
	/* a clock that was set back */
	snprintf(command, sizeof(command), "cd %s && touch -d 2000-01-01 *-3", path);
	assert_int_equal(system(command), 0);
	snprintf(path, sizeof(path), "%s/other", dir);
	run((struct editor_request){
		.command = EDITOR_CREATE, .path = lit(path), .file_text = lit("x")});
	assert_false(reply.failed);
	undo();
	has("c", 1);
	undo();
	has("b", 1);
	undo();
	assert_true(reply.failed);
	unlink(path);
}

static void test_history__is_private(void **state)
{
	char path[128];
	struct stat st;

	(void)state;
	history_path(path, sizeof(path));
	PUT("a");
	replace("a", "b");
	assert_int_equal(chmod(path, 0777), 0);
	replace("b", "c");
	assert_int_equal(lstat(path, &st), 0);
	assert_int_equal(st.st_mode, S_IFDIR | 0700);
}

static void test_edit__works_without_a_history(void **state)
{
	int null = open("/dev/null", O_WRONLY), saved = dup(2);

	(void)state;
	dup2(null, 2);
	history_use("/nonexistent");
	PUT("a");
	replace("a", "b");
	assert_false(reply.failed);
	undo();
	says(true,
		"No edit history found for F. The text editor only retains the last 10 edits per file.");
	history_use(dir);
	dup2(saved, 2);
	close(saved);
	close(null);
}

static void test_path__is_resolved_and_checked(void **state)
{
	char given[200], name[100], want[300];

	(void)state;
	PUT("x");
	snprintf(given, sizeof(given), "%s/./nothing/..//f", dir);
	run((struct editor_request){.command = EDITOR_VIEW, .path = lit(given)});
	says(false, HEAD "F:\n     1\tx\n");
	snprintf(name, sizeof(name), "%s/link", dir);
	assert_int_equal(symlink("f", name), 0);
	run((struct editor_request){.command = EDITOR_STR_REPLACE,
		.path = lit(name),
		.old_str = lit("x"),
		.new_str = lit("y")});
	says(false, EDITED "a snippet of F:\n     1\ty\n" REVIEW);
	assert_true(readlink(name, given, sizeof(given)) == 1);
	unlink(name);
	assert_int_equal(symlink("link", name), 0);
	run((struct editor_request){.command = EDITOR_VIEW, .path = lit(name)});
	snprintf(want, sizeof(want), "Invalid path '%s': Symlink loop from '%s'", name, name);
	says(true, want);
	unlink(name);
	run((struct editor_request){.command = EDITOR_VIEW, .path = {"a\0b", 3}});
	says(true, "Invalid path 'a\\x00b': embedded null byte");
	run((struct editor_request){.command = EDITOR_INSERT, .path = lit(dir)});
	snprintf(want, sizeof(want),
		"The path %s is a directory and only the `view` command can be used on directories",
		dir);
	says(true, want);
	run((struct editor_request){.command = EDITOR_CREATE, .path = lit("/nonexistdir/f")});
	says(true,
		"Ran into [Errno 2] No such file or directory: '/nonexistdir/f' while trying to write "
		"to /nonexistdir/f");
	run((struct editor_request){.command = EDITOR_VIEW, .path = lit("/dev/zero")});
	assert_true(reply.failed);
	unlink(file);
	assert_int_equal(mkfifo(file, 0600), 0);
	view();
	assert_true(reply.failed);
	replace("a", "b");
	assert_true(reply.failed);
	unlink(file);
}

static void shell(const char *command)
{
	char line[300];

	snprintf(line, sizeof(line), "cd %s && { %s; }", dir, command);
	assert_int_equal(system(line), 0);
}

/* Two directories, "a" with a file "f" and "b" with a victim "f"; the path of a/f, resolved. */
static struct editor_path resolve_in_a(enum editor_command command)
{
	struct editor_path path = EDITOR_PATH_INIT;
	struct editor_request req = {.command = command};
	char name[100];

	shell("rm -rf a b c && mkdir a b && printf victim >b/f");
	if (command != EDITOR_CREATE)
		shell("printf mine >a/f");
	snprintf(name, sizeof(name), "%s/a/f", dir);
	req.path = lit(name);
	assert_int_equal(path_resolve(&path, &req, &reply), 0);
	return path;
}

static void test_file__is_the_one_that_was_resolved_or_none(void **state)
{
	static const char *const swaps[] = {
		"ln -sf ../b/f a/f",
		"ln -f b/f a/f",
		"rm a/f; printf victim >a/f",
	};
	const struct text text = lit("x");
	const struct file_content content = {&text, 1, 0};

	(void)state;
	for (size_t i = 0; i < sizeof(swaps) / sizeof(swaps[0]); i++) {
		struct editor_path path = resolve_in_a(EDITOR_INSERT);
		struct buf got = BUF_INIT(100);

		shell(swaps[i]);
		assert_int_equal(file_load(&path, &got), -ESTALE);
		assert_int_equal(file_replace(&path, &content), -ESTALE);
		shell("[ $(cat b/f) = victim ] && [ $(cat a/f) = victim ]");
		path_release(&path);
		buf_release(&got);
	}
}

static void test_file__follows_no_directory_that_was_swapped(void **state)
{
	static const char swap[] = "mv a c && ln -s b a";
	const struct text text = lit("x");
	const struct file_content content = {&text, 1, 0};
	struct editor_path path = resolve_in_a(EDITOR_INSERT);
	struct buf got = BUF_INIT(100);

	(void)state;
	shell(swap);
	assert_int_equal(file_load(&path, &got), 0);
	assert_memory_equal(got.data, "mine", 4);
	assert_int_equal(file_replace(&path, &content), 0);
	shell("[ $(cat c/f) = x ] && [ $(cat b/f) = victim ] && [ $(ls b) = f ]");
	assert_int_equal(file_delete(&path), 0);
	shell("[ ! -e c/f ] && [ $(cat b/f) = victim ]");
	path_release(&path);
	buf_release(&got);

	path = resolve_in_a(EDITOR_CREATE);
	shell(swap);
	shell("rm b/f");
	assert_int_equal(file_create(&path, &content), 0);
	shell("[ $(cat c/f) = x ] && [ ! -e b/f ]");
	assert_int_equal(file_create(&path, &content), -EEXIST);
	path_release(&path);
	shell("rm -r a b c");
}

static void test_reply_add_quoted__quotes_as_python_does(void **state)
{
	static const struct {
		const char *text, *want;
	} rows[] = {
		{"", "''"},
		{"a'b", "\"a'b\""},
		{"a'b\"c", "'a\\'b\"c'"},
		{"\\\n\t\r\001\177", "'\\\\\\n\\t\\r\\x01\\x7f'"},
		{"\303\251", "'\303\251'"},
		{"\302\240\302\255\302\205", "'\\xa0\\xad\\x85'"},
		{"\xff", "'\\udcff'"},
		{"\342\200\250", "'\\u2028'"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		reply.text.len = 0;
		reply.failed = false;
		reply_add_quoted(&reply, lit(rows[i].text));
		says(false, rows[i].want);
	}
}

static void test_edit__keeps_modes_and_other_links(void **state)
{
	struct stat before, after;
	char other[100];

	(void)state;
	PUT("a");
	assert_int_equal(chmod(file, 0751), 0);
	replace("a", "b");
	assert_int_equal(stat(file, &after), 0);
	assert_int_equal(after.st_mode & 07777, 0751);
	snprintf(other, sizeof(other), "%s/other", dir);
	assert_int_equal(link(file, other), 0);
	assert_int_equal(stat(file, &before), 0);
	replace("b", "ccc");
	replace("ccc", "d");
	assert_int_equal(stat(other, &after), 0);
	assert_int_equal(before.st_ino, after.st_ino);
	assert_int_equal(after.st_size, 1);
	unlink(other);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_view__shows_the_verified_examples),
		cmocka_unit_test(test_view__checks_the_range_in_order),
		cmocka_unit_test(test_view__clips_after_16000_characters),
		cmocka_unit_test(test_view__tells_what_is_not_utf8),
		cmocka_unit_test(test_replace__shows_the_verified_examples),
		cmocka_unit_test(test_replace__refuses_what_is_not_unique),
		cmocka_unit_test(test_edit__leaves_tabs_and_line_ends_alone),
		cmocka_unit_test(test_create__and_undo),
		cmocka_unit_test(test_undo__goes_back_ten_edits_and_no_further),
		cmocka_unit_test(test_history__is_data_and_corrupt_data_is_none),
		cmocka_unit_test(test_history__has_room_for_a_number_of_edits),
		cmocka_unit_test(test_history__loses_the_first_edits_of_a_file_first),
		cmocka_unit_test(test_history__is_private),
		cmocka_unit_test(test_edit__works_without_a_history),
		cmocka_unit_test(test_path__is_resolved_and_checked),
		cmocka_unit_test(test_file__is_the_one_that_was_resolved_or_none),
		cmocka_unit_test(test_file__follows_no_directory_that_was_swapped),
		cmocka_unit_test(test_reply_add_quoted__quotes_as_python_does),
		cmocka_unit_test(test_edit__keeps_modes_and_other_links),
	};

	return cmocka_run_group_tests(tests, setup, cleanup);
}
