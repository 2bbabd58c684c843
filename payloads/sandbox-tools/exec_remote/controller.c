/* SPDX-License-Identifier: MIT */
/* The life of jobs. */
#include "payloads/sandbox-tools/exec_remote/controller.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "payloads/lib/base.h"
#include "payloads/lib/io.h"
#include "payloads/lib/memory.h"
#include "payloads/sandbox-tools/exec_remote/held.h"
#include "payloads/sandbox-tools/exec_remote/input.h"
#include "payloads/sandbox-tools/exec_remote/stream.h"

#define HOLD_MS 1000   /* a poll with nothing to report */
#define LINGER_MS 10   /* after output, for more of it or the end: a round trip costs more */
#define PIPES_MS 1000  /* after the leader's end, for background processes to let go of them */
#define GRACE_MS 5000  /* between TERM and KILL */
#define STUCK_MS 12000 /* for a leader not even KILL ends */
/* Of the memory there is, if that makes it less: */
#define HELD_MAX ((size_t)8 << 20) /* text nobody acknowledges; no more is added then */
#define HELD_PART 16
#define TAKE_PART 64 /* in JSON it can become six times as much, and for a moment twice that */
#define KILLED_MAX ((size_t)4 << 20) /* what is told of a killed job's stream */
#define KILLED_PART 32
#define OUTPUT_PART 4
#define TEXT_MAX ((size_t)64 << 20) /* what that may grow to */
#define TOGETHER_MAX \
	((size_t)65536) /* last output that may come with the end: lost if the reply is */

struct output {
	struct stream stream; /* first, so that a stream is its output */
	struct job *job;
};

struct job {
	struct child child; /* first, so that a child is its job */
	struct jobs *jobs;
	pid_t pid;
	char *request_id; /* of the request that started it, NULL if it had none */
	struct output out[2];
	struct input input;
	struct held held;
	bool killed;
	bool ended; /* the leader has, and its output */
	int64_t ended_at;
	struct loop_timer timer;
	struct job_waiter *pollers, *killer;
	struct job *next, **link;
};

struct jobs {
	struct loop *loop;
	struct children *children;
	struct job *first, **last;
	struct stream_sinks sinks;
	struct memory_share waiting;	       /* bytes in all streams */
	size_t held_max, take_max, killed_max; /* bytes of a stream */
	bool stopping;
};

/* ---- the end of a job ---- */

static void job_free(struct job *job)
{
	struct jobs *jobs = job->jobs;

	child_forget(&job->child);
	loop_clear_timer(jobs->loop, &job->timer);
	input_close(&job->input);
	for (int i = 0; i < 2; i++)
		stream_close(&job->out[i].stream);
	held_release(&job->held);
	if (job->link) {
		*job->link = job->next;
		if (job->next)
			job->next->link = job->link;
		else
			jobs->last = job->link;
	}
	free(job->request_id);
	free(job);
}

static size_t waiting_bytes(const struct job *job)
{
	return job->out[0].stream.queue.len + job->out[1].stream.queue.len +
	       job->held.text[0].size + job->held.text[1].size;
}

/* Is it one too many? */
static bool may_go(const struct job *job, unsigned count, size_t bytes)
{
	if (!job->ended || job->pollers || job->killer || count == 1)
		return false;
	return count > JOBS_ENDED_ALL_MAX || bytes > job->jobs->waiting.max ||
	       (count > JOBS_ENDED_MAX && io_now() - job->ended_at > JOBS_ENDED_MS);
}

/* Forgets ended jobs nobody asked for; the newest ones stay. */
static void forget_old(struct jobs *jobs)
{
	size_t bytes = 0;
	unsigned count = 0;
	struct job *next;

	for (struct job *job = jobs->first; job; job = job->next)
		if (job->ended) {
			bytes += waiting_bytes(job);
			count++;
		}
	for (struct job *job = jobs->first;
		job && (count > JOBS_ENDED_MAX || bytes > jobs->waiting.max); job = next) {
		next = job->next;
		if (!may_go(job, count, bytes))
			continue;
		bytes -= waiting_bytes(job);
		count--;
		job_free(job);
	}
}

/* ---- reports ---- */

/* A killed job's report is its last one: too much of it is cut, and that is said. */
static int cut(struct job *job, int i)
{
	size_t max = job->jobs->killed_max, n = stream_cut(&job->out[i].stream, max);
	char notice[160], size[40];
	int len;

	if (n == 0)
		return 0;
	memory_format(max, size, sizeof(size));
	len = snprintf(notice, sizeof(notice),
		"\n[inspect_sandbox_tools: exec_remote output exceeded %s; showing the tail; "
		"%zu bytes omitted]\n",
		size, n);
	return buf_add(&job->held.text[i], notice, (size_t)len);
}

/* Makes the next report: takes what there is. 0, or -ENOMEM, and then nothing has happened that the
   next call could not make good. */
static int take_report(struct job *job, int64_t ack, struct job_report *ret)
{
	const struct jobs *jobs = job->jobs;
	struct held *held = &job->held;
	int r = held_prepare(held);

	if (r < 0)
		return r;
	if (ack == JOB_ACK_ALL)
		ack = held->seq;
	for (int i = 0; i < 2; i++) {
		size_t max = job->killed ? jobs->killed_max : jobs->take_max;

		if (job->killed && job->ended && cut(job, i) < 0)
			return -ENOMEM;
		if (held->text[i].len < jobs->held_max &&
			stream_take(&job->out[i].stream, max, &held->text[i]) < 0)
			return -ENOMEM;
	}
	held_count(held);
	held_acknowledge(held, ack);
	*ret = (struct job_report){.state = JOB_RUNNING, .seq = held->seq};
	for (int i = 0; i < 2; i++) {
		ret->text[i] = held->text[i].data ? held->text[i].data : "";
		ret->len[i] = held->text[i].len;
	}
	return 0;
}

/* The end comes with the last output only if little is lost should this reply get lost. */
static enum job_state final_state(const struct job *job, size_t before)
{
	if (!job->ended)
		return JOB_RUNNING;
	if (job->killed)
		return JOB_KILLED;
	if (job->out[0].stream.queue.len > 0 || job->out[1].stream.queue.len > 0)
		return JOB_RUNNING;
	if (before > 0 && job->held.text[0].len + job->held.text[1].len > TOGETHER_MAX)
		return JOB_RUNNING;
	return JOB_COMPLETED;
}

/* Answers one waiter. True if that was the job's last report. */
static bool answer(struct job *job, struct job_waiter *waiter, int64_t ack)
{
	size_t before = job->out[0].stream.queue.len + job->out[1].stream.queue.len;
	struct job_report report;
	int r;

	if (!waiter->is_wanted(waiter)) {
		waiter->answer(waiter, NULL, 0);
		return false;
	}
	r = take_report(job, ack, &report);
	if (r < 0) {
		waiter->answer(waiter, NULL, r);
		return false;
	}
	report.state = final_state(job, before);
	report.code = job->child.code;
	return waiter->answer(waiter, &report, 0) && report.state != JOB_RUNNING;
}

static void forget_waiter(struct job *job, struct job_waiter *waiter)
{
	struct job_waiter **link = &job->pollers;

	loop_clear_timer(job->jobs->loop, &waiter->timer);
	while (*link && *link != waiter)
		link = &(*link)->next;
	if (*link)
		*link = waiter->next;
}

/* Answers everybody; the job is freed if one of them has heard of its end. */
static void answer_all(struct job *job)
{
	bool over = false;

	if (job->killer && job->ended) {
		struct job_waiter *killer = job->killer;

		job->killer = NULL;
		answer(job, killer, killer->ack);
		/* killed it is, whether or not anybody wanted to know what it had said */
		over = true;
	}
	while (job->pollers) {
		struct job_waiter *waiter = job->pollers;

		forget_waiter(job, waiter);
		over |= answer(job, waiter, waiter->ack);
	}
	if (over)
		job_free(job);
}

static void on_waited(struct loop_timer *timer)
{
	struct job_waiter *waiter = container_of(timer, struct job_waiter, timer);
	struct job *job = waiter->job;

	if (job->ended) {
		answer_all(job);
		return;
	}
	forget_waiter(job, waiter);
	answer(job, waiter, waiter->ack);
}

/* Something has happened: who waits need not do so much longer. */
static void wake(struct job *job)
{
	size_t bytes = job->out[0].stream.queue.len;

	if (job->out[1].stream.queue.len > bytes)
		bytes = job->out[1].stream.queue.len;
	if (job->ended || bytes >= job->jobs->take_max) {
		answer_all(job);
		return;
	}
	for (struct job_waiter *waiter = job->pollers; waiter && bytes > 0; waiter = waiter->next)
		if (waiter->timer.at > io_in(LINGER_MS))
			loop_set_timer(job->jobs->loop, &waiter->timer, LINGER_MS);
}

/* ---- events ---- */

static void end(struct job *job)
{
	struct jobs *jobs = job->jobs;

	loop_clear_timer(jobs->loop, &job->timer);
	for (int i = 0; i < 2; i++)
		stream_give_up(&job->out[i].stream, &jobs->sinks);
	input_close(&job->input);
	job->ended = true;
	job->ended_at = io_now();
	wake(job);
	forget_old(jobs);
}

static void on_time(struct loop_timer *timer)
{
	struct job *job = container_of(timer, struct job, timer);
	bool starved = stream_starves(&job->out[0].stream);

	/* what it has said last is worth waiting for memory */
	starved |= stream_starves(&job->out[1].stream);
	if (starved && !job->killed)
		loop_set_timer(job->jobs->loop, timer, PIPES_MS);
	else
		end(job);
}

static bool has_all_output(const struct job *job)
{
	return job->out[0].stream.ended && job->out[1].stream.ended;
}

static void on_output(struct stream *stream)
{
	struct job *job = ((struct output *)stream)->job;

	if (!job->child.running && has_all_output(job))
		end(job);
	else
		wake(job);
}

static void on_leader_exit(struct child *child)
{
	struct job *job = (struct job *)child;

	input_close(&job->input);
	if (has_all_output(job))
		end(job);
	else
		loop_set_timer(job->jobs->loop, &job->timer, PIPES_MS);
}

/* ---- starting ---- */

static bool is_free_pid(void *cookie, pid_t pid)
{
	const struct jobs *jobs = cookie;

	for (const struct job *job = jobs->first; job; job = job->next)
		if (job->pid == pid)
			return false;
	return true;
}

static struct job *job_new(struct jobs *jobs)
{
	struct job *job = calloc(1, sizeof(*job));

	if (!job)
		return NULL;
	job->jobs = jobs;
	job->child.exited = on_leader_exit;
	job->timer.due = on_time;
	for (int i = 0; i < 2; i++) {
		job->out[i].job = job;
		job->out[i].stream.watch.fd = -1;
		job->out[i].stream.changed = on_output;
		job->held.text[i].limit = TEXT_MAX;
	}
	job->input.watch.fd = -1;
	return job;
}

/* Makes the pipes: our ends belong to the job, the others to the caller. 0 or -errno. */
static int open_pipes(struct job *job, bool input, int fds[3])
{
	int ends[2], r = 0;

	for (int i = 0; r == 0 && i < 2; i++) {
		if (pipe2(ends, O_CLOEXEC) < 0)
			return -errno;
		fds[i + 1] = ends[1];
		r = stream_open(&job->out[i].stream, job->jobs->loop, &job->jobs->waiting, ends[0]);
	}
	if (r < 0 || !input)
		return r;
	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	fds[0] = ends[0];
	input_open(&job->input, job->jobs->loop, ends[1]);
	return 0;
}

static int start_shell(struct job *job, const struct job_order *order)
{
	char *const argv[] = {(char *)"/bin/sh", (char *)"-c", (char *)order->command, NULL};
	struct child_options options = {.group = "exec_remote",
		.file = "/bin/sh",
		.argv = argv,
		.env = order->env,
		.cwd = order->cwd,
		.user = order->user,
		.fds = {-1, -1, -1},
		.oom_first = true,
		.accepts = is_free_pid,
		.cookie = job->jobs};
	int r = open_pipes(job, order->input || order->stdin_open, options.fds);

	/* before the start: afterwards there would be a job, and no way to say that it lacks input
	 */
	if (r == 0 && order->input)
		r = input_add(&job->input, order->input, order->input_len);
	if (r == 0)
		r = child_start(job->jobs->children, &job->child, &options);
	for (int i = 0; i < 3; i++)
		io_close(&options.fds[i]);
	return r;
}

/* The job a request has started before, when its reply was lost. */
static const struct job *find_request(const struct jobs *jobs, const char *id)
{
	const struct job *job = id ? jobs->first : NULL;

	while (job && (!job->request_id || strcmp(job->request_id, id) != 0))
		job = job->next;
	return job;
}

int jobs_start(struct jobs *jobs, const struct job_order *order, pid_t *ret_pid)
{
	const struct job *known = find_request(jobs, order->request_id);
	struct job *job;
	int r = 0;

	if (known) {
		*ret_pid = known->pid;
		return 0;
	}
	job = job_new(jobs);
	if (!job)
		return -ENOMEM;
	if (order->request_id) {
		job->request_id = strdup(order->request_id);
		r = job->request_id ? 0 : -ENOMEM;
	}
	if (r == 0)
		r = start_shell(job, order);
	if (r < 0) {
		job_free(job);
		return r;
	}
	*ret_pid = job->pid = job->child.pid;
	job->link = jobs->last;
	*jobs->last = job;
	jobs->last = &job->next;
	if (!order->stdin_open)
		input_finish(&job->input);
	return 0;
}

/* ---- the public face ---- */

struct jobs *jobs_new(struct loop *loop, struct children *children, size_t memory)
{
	struct jobs *jobs = calloc(1, sizeof(*jobs));

	if (!jobs)
		return NULL;
	jobs->loop = loop;
	jobs->children = children;
	jobs->last = &jobs->first;
	jobs->waiting.max = memory_part(memory, OUTPUT_PART, JOBS_OUTPUT_MAX);
	jobs->held_max = memory_part(memory, HELD_PART, HELD_MAX);
	jobs->take_max = memory_part(memory, TAKE_PART, JOBS_TAKE_MAX);
	jobs->killed_max = memory_part(memory, KILLED_PART, KILLED_MAX);
	return jobs;
}

void jobs_stop(struct jobs *jobs)
{
	struct job *next;

	jobs->stopping = true;
	for (struct job *job = jobs->first; job; job = next) {
		next = job->next;
		answer_all(job);
	}
}

void jobs_free(struct jobs *jobs)
{
	while (jobs->first) {
		struct job *job = jobs->first;

		job->ended = true;
		answer_all(job);
		if (jobs->first == job)
			job_free(job);
	}
	stream_sinks_close(&jobs->sinks);
	free(jobs);
}

struct job *jobs_find(struct jobs *jobs, int64_t pid)
{
	struct job *job = jobs->first;

	while (job && (job->pid != pid || job->killed))
		job = job->next;
	return job;
}

void job_poll(struct job *job, int64_t ack, struct job_waiter *waiter)
{
	struct job_waiter **link = &job->pollers;
	bool news = job->out[0].stream.queue.len > 0 || job->out[1].stream.queue.len > 0;

	/* what the client knows is no reason to answer, what it does not is */
	if (ack != JOB_ACK_ALL)
		held_acknowledge(&job->held, ack);
	news |= ack != JOB_ACK_ALL && job->held.count > 0;
	while (*link)
		link = &(*link)->next;
	*link = waiter;
	waiter->job = job;
	waiter->ack = ack;
	waiter->next = NULL;
	waiter->timer = (struct loop_timer){.due = on_waited};
	loop_set_timer(job->jobs->loop, &waiter->timer, news ? LINGER_MS : HOLD_MS);
	if (job->ended || job->jobs->stopping)
		answer_all(job);
	else
		wake(job);
}

void job_kill(struct job *job, int64_t ack, struct job_waiter *waiter)
{
	job->killed = true;
	job->killer = waiter;
	waiter->job = job;
	waiter->ack = ack;
	child_end(&job->child, GRACE_MS, NULL, NULL);
	if (job->child.running)
		loop_set_timer(job->jobs->loop, &job->timer, STUCK_MS);
	if (job->ended)
		answer_all(job);
}

static bool tell(struct job *job, int64_t ack, struct job_waiter *waiter)
{
	struct job_report report;
	int r = take_report(job, ack, &report);

	return waiter->answer(waiter, r < 0 ? NULL : &report, r);
}

void job_tell(struct job *job, int64_t ack, struct job_waiter *waiter)
{
	tell(job, ack, waiter);
}

enum job_input job_input_state(const struct job *job)
{
	if (!job->input.loop)
		return JOB_INPUT_NONE;
	return input_is_open(&job->input) ? JOB_INPUT_OPEN : JOB_INPUT_CLOSED;
}

int job_write(struct job *job, const char *data, size_t len, int64_t ack, struct job_waiter *waiter)
{
	struct queue_block *block;
	int r = input_prepare(&job->input, data, len, &block);

	if (r < 0)
		return r;
	/* not before the answer is on its way: who is told of an error may write the same again */
	if (tell(job, ack, waiter))
		input_put(&job->input, block);
	else
		free(block);
	return 0;
}

void job_close_input(struct job *job)
{
	input_finish(&job->input);
}
