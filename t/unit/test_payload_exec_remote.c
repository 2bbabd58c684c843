/* SPDX-License-Identifier: MIT */
/* Jobs without requests: queues, acknowledgement, streams, input, and the controller over them. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "payloads/lib/io.h"
#include "payloads/sandbox-tools/exec_remote/controller.h"
#include "payloads/sandbox-tools/exec_remote/held.h"
#include "payloads/sandbox-tools/exec_remote/input.h"
#include "payloads/sandbox-tools/exec_remote/queue.h"
#include "payloads/sandbox-tools/exec_remote/stream.h"

#include "t/unit/world.h"

/* wrap: io_now child_start */

static int64_t shift; /* of the clock, though not of timers that are set */
static pid_t unreal;  /* the pid of the last process that was not started, 0: they are */

int64_t __real_io_now(void);
int64_t __wrap_io_now(void);

int64_t __wrap_io_now(void)
{
	return __real_io_now() + shift;
}

int __real_child_start(
	struct children *children, struct child *child, const struct child_options *options);
int __wrap_child_start(
	struct children *children, struct child *child, const struct child_options *options);

int __wrap_child_start(
	struct children *children, struct child *child, const struct child_options *options)
{
	if (!unreal)
		return __real_child_start(children, child, options);
	child->pid = ++unreal;
	return 0;
}

/* ---- queues ---- */

static void test_queue__gives_back_what_went_in(void **state)
{
	struct queue queue = {NULL, NULL, 0};
	unsigned char next_in = 0, next_out = 0;
	unsigned seed = 7;

	(void)state;
	for (int i = 0; i < 3000; i++) {
		size_t n = (size_t)rand_r(&seed) % 5000, room;
		const char *data;

		while (n > 0) {
			char *to = queue_room(&queue, &room);

			assert_non_null(to);
			room = room < n ? room : n;
			for (size_t k = 0; k < room; k++)
				to[k] = (char)next_in++;
			queue_added(&queue, room);
			n -= room;
		}
		data = queue_front(&queue, &n);
		n = data ? (size_t)rand_r(&seed) % (n + 1) : 0;
		for (size_t k = 0; k < n; k++)
			assert_int_equal((unsigned char)data[k], next_out++);
		queue_drop(&queue, n);
	}
	queue_release(&queue);
	assert_int_equal(queue.len, 0);
	assert_null(queue.head);
	assert_null(queue.tail);
}

/* ---- acknowledgement ---- */

static void say(struct held *held, const char *out, const char *err)
{
	assert_int_equal(held_prepare(held), 0);
	buf_add_str(&held->text[0], out);
	buf_add_str(&held->text[1], err);
	held_count(held);
}

static void check_held(const struct held *held, const char *out, const char *err)
{
	const char *want[2] = {out, err};

	for (int i = 0; i < 2; i++) {
		assert_int_equal(held->text[i].len, strlen(want[i]));
		if (held->text[i].len > 0)
			assert_memory_equal(held->text[i].data, want[i], held->text[i].len);
	}
}

static void test_held__repeats_what_is_not_acknowledged(void **state)
{
	struct held held = {.text = {BUF_INIT(1000), BUF_INIT(1000)}};

	(void)state;
	say(&held, "a", "");
	say(&held, "", "");
	say(&held, "b", "x");
	assert_int_equal(held.seq, 3);
	check_held(&held, "ab", "x");
	held_acknowledge(&held, 0);
	check_held(&held, "ab", "x");
	held_acknowledge(&held, 2);
	check_held(&held, "b", "x");
	say(&held, "c", "y");
	held_acknowledge(&held, 2);
	check_held(&held, "bc", "xy");
	held_acknowledge(&held, 3);
	check_held(&held, "c", "y");
	held_acknowledge(&held, -5);
	check_held(&held, "c", "y");
	held_acknowledge(&held, INT64_MAX);
	check_held(&held, "", "");
	say(&held, "d", "");
	check_held(&held, "d", "");
	for (int i = 0; i < 1000; i++)
		say(&held, "", "");
	assert_int_equal(held.count, 1);
	held_release(&held);
}

/* ---- the loop ---- */

static struct jobs *jobs;
static struct memory_share waiting; /* in streams that belong to no job */

static int set_up(void **state)
{
	(void)state;
	signal(SIGPIPE, SIG_IGN);
	world_open();
	waiting = (struct memory_share){.max = JOBS_OUTPUT_MAX};
	jobs = jobs_new(&world->loop, world->children, MEMORY_ANY);
	return 0;
}

static void run(int ms)
{
	world_run(ms * 10);
}

static void stop_loop(void *cookie)
{
	(void)cookie;
	loop_stop(&world->loop);
}

static int tear_down(void **state)
{
	(void)state;
	children_end_all(world->children, 0, 2000, stop_loop, NULL);
	run(5000);
	jobs_free(jobs);
	world_close();
	return 0;
}

/* ---- streams and input ---- */

static void on_changed(struct stream *stream)
{
	if (stream->ended || stream->paused)
		loop_stop(&world->loop);
}

static void test_stream__stops_reading_when_full_and_goes_on(void **state)
{
	struct stream stream = {.changed = on_changed};
	struct buf text = BUF_INIT((size_t)1 << 30);
	size_t total = STREAM_MAX + 300000;
	pid_t pid;
	int ends[2];

	(void)state;
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	assert_int_equal(stream_open(&stream, &world->loop, &waiting, ends[0]), 0);
	pid = fork();
	if (pid == 0) {
		static char block[65536];

		memset(block, 'x', sizeof(block));
		for (size_t n = 0; n < total;) {
			size_t k = total - n < sizeof(block) ? total - n : sizeof(block);

			n += (size_t)write(ends[1], block, k);
		}
		_exit(0);
	}
	close(ends[1]);
	run(20000);
	assert_true(stream.paused);
	assert_false(stream.ended);
	assert_in_range(stream.queue.len, STREAM_MAX, STREAM_MAX + 65536);
	assert_int_equal(stream_take(&stream, 1000000, &text), 0);
	assert_int_equal(text.len, 1000000);
	assert_false(stream.paused);
	run(20000);
	assert_true(stream.ended);
	assert_int_equal(stream_take(&stream, SIZE_MAX, &text), 0);
	assert_int_equal(text.len, total);
	stream_close(&stream);
	buf_release(&text);
}

static void test_stream__gives_up_without_loss(void **state)
{
	struct stream stream = {.changed = on_changed};
	struct stream_sinks sinks = {.count = 0};
	struct buf text = BUF_INIT(1000000);
	int ends[2];

	(void)state;
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	assert_int_equal(stream_open(&stream, &world->loop, &waiting, ends[0]), 0);
	assert_int_equal(write(ends[1], "last \xe2\x82", 7), 7);
	stream_give_up(&stream, &sinks);
	assert_int_equal(sinks.count, 1);
	assert_int_equal(stream_take(&stream, 100, &text), 0);
	assert_int_equal(text.len, 8);
	assert_memory_equal(text.data, "last \xef\xbf\xbd", 8);
	/* the writer does not notice */
	assert_int_equal(write(ends[1], "more", 4), 4);
	close(ends[1]);
	stream_sinks_close(&sinks);
	assert_int_equal(sinks.count, 0);
	stream_close(&stream);
	buf_release(&text);
}

static void test_stream_cut__does_not_begin_inside_a_character(void **state)
{
	struct stream stream = {
		.loop = &world->loop, .all = &waiting, .ended = true, .paused = true};
	struct buf text = BUF_INIT(1000);

	(void)state;
	waiting.used = 9;
	queue_put(&stream.queue, queue_block("abc\xe2\x82\xac"
					     "def",
					 9));
	assert_int_equal(stream_cut(&stream, 100), 0);
	assert_int_equal(stream_cut(&stream, 5), 6);
	assert_int_equal(stream_take(&stream, 100, &text), 0);
	assert_int_equal(text.len, 3);
	assert_int_equal(waiting.used, 0);
	stream_close(&stream);
	buf_release(&text);
}

static void test_stream__has_to_do_with_little_when_others_have_much(void **state)
{
	struct stream stream = {.changed = on_changed};
	struct buf text = BUF_INIT((size_t)1 << 20);
	char block[16384] = "";
	int ends[2];

	(void)state;
	waiting.used = waiting.max;
	assert_int_equal(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
	assert_int_equal(fcntl(ends[1], F_SETPIPE_SZ, 1 << 19) > 0, 1);
	for (int i = 0; i < 20; i++)
		assert_int_equal(write(ends[1], block, sizeof(block)), sizeof(block));
	assert_int_equal(stream_open(&stream, &world->loop, &waiting, ends[0]), 0);
	run(5000);
	assert_true(stream.paused);
	assert_in_range(stream.queue.len, STREAM_LEAST, 2 * STREAM_LEAST);
	assert_int_equal(waiting.used, waiting.max + stream.queue.len);
	/* who takes it gets more, and all of it in the end */
	close(ends[1]);
	while (!stream.ended) {
		assert_int_equal(stream_take(&stream, SIZE_MAX, &text), 0);
		run(5000);
	}
	assert_int_equal(stream_take(&stream, SIZE_MAX, &text), 0);
	assert_int_equal(text.len, 20 * sizeof(block));
	assert_int_equal(waiting.used, waiting.max);
	stream_close(&stream);
	buf_release(&text);
}

static void test_input__does_not_mind_a_reader_that_goes(void **state)
{
	struct input input = {.watch = {.fd = -1}};
	char *much = calloc(1, 200000);
	int ends[2];

	(void)state;
	assert_false(input_is_open(&input));
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	input_open(&input, &world->loop, ends[1]);
	assert_int_equal(input_add(&input, much, 200000), 0);
	assert_true(input.queue.len > 0);
	assert_int_equal(input_add(&input, NULL, INPUT_MAX), -EMSGSIZE);
	close(ends[0]);
	assert_int_equal(input_add(&input, "x", 1), 0);
	assert_false(input_is_open(&input));
	assert_int_equal(input.queue.len, 0);
	input_finish(&input);
	input_close(&input);
	free(much);
}

static void test_input__ends_when_it_cannot_wait_for_its_reader(void **state)
{
	struct loop broken = {.epoll = -1};
	struct input input = {.watch = {.fd = -1}};
	char *much = calloc(1, 200000);
	size_t got = 0;
	int ends[2];
	ssize_t n;

	(void)state;
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	input_open(&input, &broken, ends[1]);
	assert_int_equal(input_add(&input, much, 200000), 0);
	assert_false(input_is_open(&input));
	assert_int_equal(fcntl(ends[0], F_SETFL, O_NONBLOCK), 0);
	while ((n = read(ends[0], much, 200000)) > 0)
		got += (size_t)n;
	assert_int_equal(n, 0);
	assert_in_range(got, 1, 199999);
	close(ends[0]);
	free(much);
}

/* ---- jobs ---- */

struct asker {
	struct job_waiter waiter; /* first */
	bool unwanted;
	int answers, error;
	struct job_report report;
	char text[2][100];
};

static bool on_answer(struct job_waiter *waiter, const struct job_report *report, int error)
{
	struct asker *asker = (struct asker *)waiter;

	asker->answers++;
	asker->error = error;
	if (report) {
		asker->report = *report;
		for (int i = 0; i < 2; i++)
			snprintf(asker->text[i], sizeof(asker->text[i]), "%.*s",
				(int)report->len[i], report->text[i]);
	}
	loop_stop(&world->loop);
	return true;
}

static bool is_wanted(const struct job_waiter *waiter)
{
	return !((const struct asker *)waiter)->unwanted;
}

static void make(struct asker *asker)
{
	*asker = (struct asker){.waiter = {.answer = on_answer, .is_wanted = is_wanted}};
}

static pid_t start_pid(const char *command)
{
	struct job_order order = {.command = command};
	pid_t pid;

	assert_int_equal(jobs_start(jobs, &order, &pid), 0);
	assert_non_null(jobs_find(jobs, pid));
	return pid;
}

static struct job *start(const char *command)
{
	return jobs_find(jobs, start_pid(command));
}

/* One whose end is there to be heard of: a poll waits a second for it, which is short on a busy
   machine. */
static struct job *start_and_end(const char *command)
{
	pid_t pid = start_pid(command);
	siginfo_t info;

	assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
	return jobs_find(jobs, pid);
}

/* Polls and waits. */
static void poll_job(struct job *job, int64_t ack, struct asker *asker)
{
	make(asker);
	job_poll(job, ack, &asker->waiter);
	if (!asker->answers)
		run(10000);
	assert_int_equal(asker->answers, 1);
}

static void test_job_poll__tells_the_end_with_the_output(void **state)
{
	struct asker asker;

	(void)state;
	poll_job(start_and_end("echo out; echo err >&2; exit 7"), 0, &asker);
	assert_int_equal(asker.report.state, JOB_COMPLETED);
	assert_int_equal(asker.report.code, 7);
	assert_int_equal(asker.report.seq, 1);
	assert_string_equal(asker.text[0], "out\n");
	assert_string_equal(asker.text[1], "err\n");
}

static void test_job_poll__keeps_the_end_for_somebody_who_listens(void **state)
{
	struct job *job = start_and_end("echo out");
	struct asker gone, asker;

	(void)state;
	make(&gone);
	job_poll(job, 0, &gone.waiter);
	gone.unwanted = true;
	run(5000);
	assert_int_equal(gone.answers, 1);
	poll_job(job, 0, &asker);
	assert_int_equal(asker.report.state, JOB_COMPLETED);
	assert_int_equal(asker.report.seq, 1);
	assert_string_equal(asker.text[0], "out\n");
}

static void test_job_poll__many_at_once_are_all_answered(void **state)
{
	struct job *job = start_and_end("echo out");
	struct asker askers[5];

	(void)state;
	for (int i = 0; i < 5; i++) {
		make(&askers[i]);
		job_poll(job, 0, &askers[i].waiter);
	}
	run(5000);
	for (int i = 0; i < 5; i++) {
		assert_int_equal(askers[i].answers, 1);
		assert_int_equal(askers[i].report.state, JOB_COMPLETED);
		assert_int_equal(askers[i].report.seq, i + 1);
		assert_string_equal(askers[i].text[0], "out\n");
	}
}

static void test_job_poll__says_nothing_after_a_second(void **state)
{
	struct job *job = start("sleep 1000");
	struct asker asker;
	int64_t begun = io_now();

	(void)state;
	poll_job(job, JOB_ACK_ALL, &asker);
	assert_int_equal(asker.report.state, JOB_RUNNING);
	assert_true(io_now() - begun >= 990);
}

static void test_job_kill__answers_the_polls_under_way(void **state)
{
	struct job *job = start("echo x; sleep 100");
	struct asker poller, killer;

	(void)state;
	do
		poll_job(job, 0, &poller);
	while (!poller.text[0][0]);
	assert_string_equal(poller.text[0], "x\n");
	make(&poller);
	make(&killer);
	job_poll(job, 1, &poller.waiter);
	job_kill(job, 1, &killer.waiter);
	run(4000);
	assert_int_equal(killer.answers, 1);
	assert_int_equal(poller.answers, 1);
	assert_int_equal(killer.report.state, JOB_KILLED);
	assert_int_equal(poller.report.state, JOB_KILLED);
}

static void stop_at_once(struct loop_timer *timer)
{
	(void)timer;
	loop_stop(&world->loop);
}

/* Lets the loop do what there is to do, but wait for no timer. */
static void let_happen(void)
{
	struct pollfd ready = {.fd = world->loop.epoll, .events = POLLIN};
	struct loop_timer timer = {.due = stop_at_once};

	while (poll(&ready, 1, 200) > 0) {
		loop_set_timer(&world->loop, &timer, -100000);
		world->loop.stopped = false;
		assert_int_equal(loop_run(&world->loop), 0);
	}
}

static void test_job_kill__tells_what_there_is_memory_for(void **state)
{
	char dir[] = "/tmp/test_jobs.XXXXXX", command[200], said[100];
	struct asker killer;
	struct job *job;

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(said, sizeof(said), "%s/said", dir);
	snprintf(command, sizeof(command),
		"head -c 3000000 /dev/zero | tr '\\0' x; touch %s; sleep 100", said);
	jobs_free(jobs);
	jobs = jobs_new(&world->loop, world->children, 32 << 20);
	job = start(command);
	for (int i = 0; i < 1000 && access(said, F_OK) < 0; i++)
		let_happen();
	let_happen();
	make(&killer);
	job_kill(job, 0, &killer.waiter);
	run(10000);
	assert_int_equal(killer.answers, 1);
	assert_string_equal(killer.text[0],
		"\n[inspect_sandbox_tools: exec_remote output exceeded 1 MiB; showing the tail; "
		"1951424 bytes omitted");
	assert_in_range(killer.report.len[0], 1 << 20, (1 << 20) + 200);
	unlink(said);
	rmdir(dir);
}

static void test_jobs__keeps_what_has_ended_for_a_minute(void **state)
{
	static struct {
		int count;
		int64_t shift;
		int left;
	} const phases[] = {
		{JOBS_ENDED_MAX - 24, -JOBS_ENDED_MS - 10000, JOBS_ENDED_MAX - 24},
		{50, -JOBS_ENDED_MS + 20000, JOBS_ENDED_MAX + 26},
		{1, 0, JOBS_ENDED_MAX},
	};
	pid_t pids[JOBS_ENDED_MAX + 27];
	int n = 0, left;

	(void)state;
	unreal = 1000000;
	for (size_t i = 0; i < sizeof(phases) / sizeof(phases[0]); i++) {
		shift = phases[i].shift;
		for (int k = 0; k < phases[i].count; k++) {
			struct job_order order = {.command = ""};

			assert_int_equal(jobs_start(jobs, &order, &pids[n++]), 0);
			if (k % 100 == 99)
				let_happen();
		}
		let_happen();
		left = 0;
		for (int k = 0; k < n; k++)
			left += jobs_find(jobs, pids[k]) != NULL;
		assert_int_equal(left, phases[i].left);
	}
	unreal = 0;
}

static void test_jobs_stop__answers_who_waits(void **state)
{
	struct job *job = start("sleep 100");
	struct asker asker;

	(void)state;
	make(&asker);
	job_poll(job, 0, &asker.waiter);
	assert_int_equal(asker.answers, 0);
	jobs_stop(jobs);
	assert_int_equal(asker.answers, 1);
	assert_int_equal(asker.report.state, JOB_RUNNING);
}

static void test_jobs_free__answers_who_waits(void **state)
{
	struct job *job = start("trap '' TERM; while :; do sleep 1; done");
	struct asker asker;

	(void)state;
	make(&asker);
	job_kill(job, 0, &asker.waiter);
	asker.unwanted = true;
	tear_down(NULL);
	assert_int_equal(asker.answers, 1);
	set_up(NULL);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_queue__gives_back_what_went_in),
		cmocka_unit_test(test_held__repeats_what_is_not_acknowledged),
		TEST(test_stream__stops_reading_when_full_and_goes_on),
		TEST(test_stream__has_to_do_with_little_when_others_have_much),
		TEST(test_stream__gives_up_without_loss),
		TEST(test_stream_cut__does_not_begin_inside_a_character),
		TEST(test_input__does_not_mind_a_reader_that_goes),
		TEST(test_input__ends_when_it_cannot_wait_for_its_reader),
		TEST(test_job_poll__tells_the_end_with_the_output),
		TEST(test_job_poll__keeps_the_end_for_somebody_who_listens),
		TEST(test_job_poll__many_at_once_are_all_answered),
		TEST(test_job_poll__says_nothing_after_a_second),
		TEST(test_job_kill__answers_the_polls_under_way),
		TEST(test_job_kill__tells_what_there_is_memory_for),
		TEST(test_jobs__keeps_what_has_ended_for_a_minute),
		TEST(test_jobs_stop__answers_who_waits),
		TEST(test_jobs_free__answers_who_waits),
	};

	return cmocka_run_group_tests_name("payload_exec_remote", tests, NULL, NULL);
}
