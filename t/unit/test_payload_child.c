/* SPDX-License-Identifier: MIT */
/* Processes of the server: started right, reaped, ended with all they have started. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "payloads/lib/io.h"
#include "payloads/sandbox-tools/child/child.h"
#include "payloads/sandbox-tools/child/process.h"

#include "t/unit/world.h"

static int set_up(void **state)
{
	(void)state;
	world_open();
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	world_close();
	return 0;
}

static void run(void)
{
	world_run(60000);
}

static void on_time(struct loop_timer *timer)
{
	(void)timer;
	loop_stop(&world->loop);
}

static void run_for(int ms)
{
	struct loop_timer timer = {.due = on_time};

	loop_set_timer(&world->loop, &timer, ms);
	run();
}

static void on_exit_stop(struct child *child)
{
	(void)child;
	loop_stop(&world->loop);
}

static void on_done(void *cookie)
{
	++*(int *)cookie;
	loop_stop(&world->loop);
}

static int start(struct child *child, const char *command, int out)
{
	char *const argv[] = {(char *)"sh", (char *)"-c", (char *)command, NULL};
	struct child_options options = {
		.group = "test", .file = "/bin/sh", .argv = argv, .fds = {-1, out, 2}};

	*child = (struct child){.exited = on_exit_stop};
	return child_start(world->children, child, &options);
}

/* Starts a command and reads a number it prints: a pid that is of interest. */
static pid_t start_telling(struct child *child, const char *command)
{
	int ends[2];
	char text[32] = "";

	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	assert_int_equal(start(child, command, ends[1]), 0);
	close(ends[1]);
	assert_true(read(ends[0], text, sizeof(text) - 1) > 0);
	close(ends[0]);
	return (pid_t)strtol(text, NULL, 10);
}

static bool lives(pid_t pid)
{
	struct process process;

	return process_read(pid, &process) == 0 && !process.dead;
}

/* ---- starting ---- */

static void test_child_start__tells_how_it_ended(void **state)
{
	static const struct {
		const char *command;
		int code;
	} cases[] = {{"exit 0", 0}, {"exit 42", 42}, {"kill -9 $$", -9}, {"kill -TERM $$", -15}};
	struct child child;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(start(&child, cases[i].command, 1), 0);
		assert_true(child.running);
		run();
		assert_false(child.running);
		assert_int_equal(child.code, cases[i].code);
		child_forget(&child);
	}
}

static void test_child_start__tells_why_it_failed(void **state)
{
	char *const argv[] = {(char *)"x", NULL};
	struct child_options options = {.file = "/nonexistent", .argv = argv, .fds = {-1, -1, -1}};
	struct child child = {.exited = on_exit_stop};

	(void)state;
	assert_int_equal(child_start(world->children, &child, &options), -ENOENT);
	options.file = "/etc/passwd";
	assert_int_equal(child_start(world->children, &child, &options), -EACCES);
	options.file = "/bin/true";
	options.cwd = "/nonexistent";
	assert_int_equal(child_start(world->children, &child, &options), -ENOENT);
	options.cwd = "/etc/passwd";
	assert_int_equal(child_start(world->children, &child, &options), -ENOTDIR);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	assert_int_equal(errno, ECHILD);
	child_forget(&child);
}

static bool is_odd(void *cookie, pid_t pid)
{
	(void)cookie;
	return pid % 2 == 1;
}

static void test_child_start__takes_another_pid_when_asked(void **state)
{
	char *const argv[] = {(char *)"true", NULL};
	struct child_options options = {
		.file = "/bin/true", .argv = argv, .fds = {-1, -1, -1}, .accepts = is_odd};

	(void)state;
	for (int i = 0; i < 6; i++) {
		struct child child = {.exited = on_exit_stop};

		assert_int_equal(child_start(world->children, &child, &options), 0);
		assert_int_equal(child.pid % 2, 1);
		run();
		child_forget(&child);
	}
}

static void test_child_start__detaches(void **state)
{
	struct process process;
	struct child child;

	(void)state;
	start_telling(&child, "echo 1; exec sleep 10");
	assert_int_equal(process_read(child.pid, &process), 0);
	assert_int_equal(process.group, child.pid);
	assert_int_equal(process.session, child.pid);
	assert_false(process.terminal);
	child_end(&child, 1000, NULL, NULL);
	run();
	child_forget(&child);
}

static void test_child_start__keeps_descriptors_given_in_the_wrong_order(void **state)
{
	char *const argv[] = {
		(char *)"sh", (char *)"-c", (char *)"read a; echo $a; echo e >&2", NULL};
	struct child_options options = {.file = "/bin/sh", .argv = argv};
	struct child child = {.exited = on_exit_stop};
	int in[2], out[2], saved[2] = {dup(0), dup(1)};
	char text[32] = "";

	(void)state;
	assert_int_equal(pipe2(in, O_CLOEXEC), 0);
	assert_int_equal(pipe2(out, O_CLOEXEC), 0);
	assert_int_equal(write(in[1], "x\n", 2), 2);
	/* stdin of the child is our 1, its stdout our 0 */
	dup2(in[0], 1);
	dup2(out[1], 0);
	options.fds[0] = 1;
	options.fds[1] = options.fds[2] = 0;
	assert_int_equal(child_start(world->children, &child, &options), 0);
	run();
	dup2(saved[0], 0);
	dup2(saved[1], 1);
	assert_int_equal(read(out[0], text, sizeof(text)), 4);
	assert_string_equal(text, "x\ne\n");
	for (int i = 0; i < 2; i++) {
		close(saved[i]);
		close(in[i]);
		close(out[i]);
	}
	child_forget(&child);
}

/* ---- ending ---- */

static void test_child_end__reaches_the_tree(void **state)
{
	static const char *const commands[] = {
		"sleep 100 & echo $!; wait",
		"setsid sleep 100 & sleep 0.2; echo $!; wait",
		"set -m; sleep 100 & echo $!; wait",
		"trap '' TERM; sleep 100 & echo $!; while :; do sleep 1; done",
		"sleep 100 & echo $!; kill -STOP $$; wait",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		struct child child;
		pid_t other = start_telling(&child, commands[i]);
		int done = 0;

		assert_true(lives(other));
		child.exited = NULL;
		child_end(&child, 300, on_done, &done);
		assert_int_equal(done, 0);
		run();
		assert_int_equal(done, 1);
		assert_false(child.running);
		assert_false(lives(other));
		child_forget(&child);
	}
}

static void test_child_end__goes_on_when_forgotten(void **state)
{
	struct child child;
	pid_t other = start_telling(
		&child, "trap '' TERM; sleep 100 & echo $!; while :; do sleep 1; done");
	pid_t leader = child.pid;

	(void)state;
	child_end(&child, 100, NULL, NULL);
	child_forget(&child);
	memset(&child, 0xa5, sizeof(child));
	for (int i = 0; i < 300 && (lives(other) || lives(leader)); i++)
		run_for(100);
	assert_false(lives(other));
	assert_false(lives(leader));
}

static void test_child_end__reaches_what_a_dead_leader_left(void **state)
{
	struct child child;
	pid_t other = start_telling(&child, "sleep 100 >/dev/null & echo $!");
	int done = 0;

	(void)state;
	run();
	assert_false(child.running);
	assert_true(lives(other));
	child_end(&child, 1000, on_done, &done);
	run();
	assert_false(lives(other));
	child_forget(&child);
}

static void test_child_end__spares_the_others(void **state)
{
	struct child child, bystander;
	pid_t other = start_telling(&bystander, "sleep 100 & echo $!; wait");
	int done = 0;

	(void)state;
	start_telling(&child, "echo 1; sleep 100");
	child_end(&child, 100, on_done, &done);
	run();
	while (!done)
		run();
	assert_true(lives(other));
	assert_true(bystander.running);
	child_end(&bystander, 100, on_done, &done);
	while (done < 2)
		run();
	child_forget(&child);
	child_forget(&bystander);
}

static void test_children_end_all__finds_orphans(void **state)
{
	struct child child;
	int done = 0;
	pid_t other = start_telling(&child, "(setsid setsid sleep 100 >/dev/null & echo $!)");

	(void)state;
	run();
	child_forget(&child);
	run_for(100);
	/* the number was the middle one's, so count */
	(void)other;
	children_end_all(world->children, 2000, 1000, on_done, &done);
	assert_int_equal(start(&child, "exit 0", 1), -ESHUTDOWN);
	run();
	assert_int_equal(done, 1);
	assert_int_equal(children_errors(world->children)->len, 0);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	assert_int_equal(errno, ECHILD);
}

static void test_children_end_all__kills(void **state)
{
	struct child child;
	int64_t start_ms;
	int done = 0;

	(void)state;
	start_telling(&child, "trap '' TERM; echo 1; while :; do sleep 1; done");
	child.exited = NULL;
	start_ms = io_now();
	children_end_all(world->children, 300, 60000, on_done, &done);
	run();
	assert_true(io_now() - start_ms >= 300);
	assert_false(child.running);
	assert_int_equal(children_errors(world->children)->len, 0);
	child_forget(&child);
}

static void test_children_end_all__of_none_is_soon_done(void **state)
{
	int done = 0;

	(void)state;
	children_end_all(world->children, 30000, 1000, on_done, &done);
	run();
	assert_int_equal(done, 1);
}

/* ---- the rest ---- */

static void test_process_read__copes_with_any_name(void **state)
{
	struct process process;
	int ends[2];
	pid_t pid;

	(void)state;
	assert_int_equal(pipe(ends), 0);
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_NAME, ") R 1 (1 ) 2");
		(void)!write(ends[1], "x", 1);
		pause();
		_exit(0);
	}
	assert_int_equal(read(ends[0], &(char){0}, 1), 1);
	assert_int_equal(process_read(pid, &process), 0);
	assert_int_equal(process.parent, getpid());
	assert_int_equal(process.group, getpgrp());
	assert_true(process_lives(pid, process.born));
	assert_false(process_lives(pid, process.born + 1));
	assert_int_equal(process_signal(pid, process.born + 1, SIGKILL), -ESRCH);
	assert_int_equal(process_signal(pid, process.born, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_false(process_lives(pid, process.born));
	close(ends[0]);
	close(ends[1]);
}

static void test_child_env__sets_and_replaces(void **state)
{
	char *const from[] = {(char *)"A=1", (char *)"AB=2", NULL};
	struct child_env env = CHILD_ENV_INIT;

	(void)state;
	assert_int_equal(child_env_copy(&env, from), 0);
	assert_int_equal(child_env_set(&env, "AB", "x=y"), 0);
	assert_int_equal(child_env_set(&env, "B", ""), 0);
	assert_int_equal(child_env_set(&env, "", "x"), -EINVAL);
	assert_int_equal(child_env_set(&env, "C=", "x"), -EINVAL);
	assert_string_equal(env.vars[0], "A=1");
	assert_string_equal(env.vars[1], "AB=x=y");
	assert_string_equal(env.vars[2], "B=");
	assert_null(env.vars[3]);
	for (int i = 0; i < 100; i++) {
		char name[16];

		snprintf(name, sizeof(name), "N%d", i);
		assert_int_equal(child_env_set(&env, name, "v"), 0);
	}
	assert_int_equal(env.count, 103);
	assert_null(env.vars[103]);
	child_env_release(&env);
}

/* Processor time for so many variables, each set twice. */
static clock_t time_to_set(int count)
{
	struct child_env env = CHILD_ENV_INIT;
	clock_t start = clock();

	for (int i = 0; i < 2 * count; i++) {
		char name[16];

		snprintf(name, sizeof(name), "N%d", i % count);
		assert_int_equal(child_env_set(&env, name, i < count ? "first" : "last"), 0);
	}
	start = clock() - start;
	assert_int_equal(env.count, count);
	assert_string_equal(env.vars[0], "N0=last");
	child_env_release(&env);
	return start + 1;
}

static void test_child_env__of_twenty_times_the_size_is_no_more_work_each(void **state)
{
	(void)state;
	time_to_set(1000);
	/* 20 it should be, and 400 it was */
	assert_true(time_to_set(60000) / time_to_set(3000) < 120);
}

static void test_child_error_text__speaks_python(void **state)
{
	char text[100];

	(void)state;
	child_error_text(-ENOENT, text, sizeof(text));
	assert_string_equal(text, "FileNotFoundError(2, 'No such file or directory')");
	child_error_text(EACCES, text, sizeof(text));
	assert_string_equal(text, "PermissionError(13, 'Permission denied')");
	child_error_text(-ENOMEM, text, sizeof(text));
	assert_string_equal(text, "MemoryError()");
	child_error_text(E2BIG, text, sizeof(text));
	assert_string_equal(text, "OSError(7, 'Argument list too long')");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_child_start__tells_how_it_ended),
		TEST(test_child_start__tells_why_it_failed),
		TEST(test_child_start__takes_another_pid_when_asked),
		TEST(test_child_start__detaches),
		TEST(test_child_start__keeps_descriptors_given_in_the_wrong_order),
		TEST(test_child_end__reaches_the_tree),
		TEST(test_child_end__goes_on_when_forgotten),
		TEST(test_child_end__reaches_what_a_dead_leader_left),
		TEST(test_child_end__spares_the_others),
		TEST(test_children_end_all__finds_orphans),
		TEST(test_children_end_all__kills),
		TEST(test_children_end_all__of_none_is_soon_done),
		cmocka_unit_test(test_process_read__copes_with_any_name),
		cmocka_unit_test(test_child_env__sets_and_replaces),
		cmocka_unit_test(test_child_env__of_twenty_times_the_size_is_no_more_work_each),
		cmocka_unit_test(test_child_error_text__speaks_python),
	};

	return cmocka_run_group_tests_name("payload_child", tests, NULL, NULL);
}
