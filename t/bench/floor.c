/* SPDX-License-Identifier: MIT */
/*
 * floor PROGRAM SIZE JOBS CONTAINER...: the least that injections can cost on an engine: the same
 * requests in a tight loop, JOBS containers at a time, each of these over one connection, with
 * nothing done in between and a PROGRAM in the container that writes a line at once when its
 * argument is "version". Prints the milliseconds that all of them took.
 *
 * A ping for each connection; for each container: container, image, HEAD, PUT of SIZE bytes and one
 * exec, until that line. SIZE 0: without the PUT, as for a container that has the payload already.
 */
#include "engine/engine.h"
#include "engine/tar.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>

enum { JOBS_MAX = 256, WAIT_MS = 60 * 1000 };

struct work {
	struct eng_endpoint endpoint;
	const char *program;
	struct sb_buf tar;
	char **containers;
	size_t count;
	atomic_size_t next;
	atomic_bool failed;
};

static double now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

/* An injection, too, waits for a line, and not for the engine to notice the end. */
static int run_program(
	struct eng_client *client, const char *id, const char *program, struct sb_err *err)
{
	sb_auto(eng_exec_closep) struct eng_exec *exec = NULL;
	sb_autobuf struct sb_buf out = SB_BUF_INIT(65536);
	const char *argv[] = {program, "version", NULL};
	int ret;

	if (eng_exec_start(client, id, ENG_AS_ROOT, argv, &exec, err) < 0)
		return -1;
	ret = eng_exec_read(exec, -1, &out, err);
	return ret > 0 ? sb_err_set(err, SB_FAILED, "'%s' says nothing", program) : ret;
}

static int once(
	const struct work *work, struct eng_client *client, const char *ref, struct sb_err *err)
{
	sb_auto(eng_container_release) struct eng_container container = ENG_CONTAINER_INIT;
	struct eng_image image;
	struct eng_stat stat;

	eng_begin_work(client, WAIT_MS);
	if (eng_container_inspect(client, ref, &container, err) < 0 ||
		eng_image_inspect(client, &container, &image, err) < 0 ||
		eng_archive_stat(client, container.id, work->program, &stat, err) < 0)
		return -1;
	if (work->tar.len &&
		eng_archive_put(client, container.id, "/", work->tar.data, work->tar.len, err) < 0)
		return -1;
	return run_program(client, container.id, work->program, err);
}

static void *worker(void *ctx)
{
	sb_auto(eng_closep) struct eng_client *client = NULL;
	struct work *work = ctx;
	struct sb_err err = SB_ERR_INIT;
	size_t i;
	int ret = eng_open(&work->endpoint, WAIT_MS, &client, &err);

	while (ret == 0 && (i = work->next++) < work->count)
		ret = once(work, client, work->containers[i], &err);
	if (ret < 0) {
		fprintf(stderr, "floor: %s\n", err.text);
		work->failed = true;
	}
	return NULL;
}

static int fill(struct work *work, size_t size, struct sb_err *err)
{
	sb_autofree char *data = calloc(1, size + 1);

	if (!data)
		return sb_err_nomem(err);
	return eng_tar_write((const struct eng_tar_member[]){{".floor/", 0700, NULL, 0, NULL},
				     {".floor/data", 0755, data, size, NULL}},
		2, &work->tar, err);
}

static void run(struct work *work, size_t jobs)
{
	pthread_t threads[JOBS_MAX];
	size_t count = 0;

	while (count < jobs && pthread_create(&threads[count], NULL, worker, work) == 0)
		count++;
	if (count < jobs) {
		fprintf(stderr, "floor: cannot start a thread\n");
		work->failed = true;
	}
	while (count)
		pthread_join(threads[--count], NULL);
}

int main(int argc, char **argv)
{
	static struct work work = {
		.endpoint = ENG_ENDPOINT_INIT, .tar = SB_BUF_INIT(SB_MAX_PAYLOAD)};
	struct sb_err err = SB_ERR_INIT;
	size_t size = argc > 4 ? strtoul(argv[2], NULL, 10) : 0;
	size_t jobs = argc > 4 ? strtoul(argv[3], NULL, 10) : 0;
	double start;

	if (!jobs || jobs > JOBS_MAX)
		return 2;
	work.program = argv[1];
	work.containers = argv + 4;
	work.count = (size_t)argc - 4;
	if (eng_global_init(&err) < 0 || eng_endpoint_find(NULL, &work.endpoint, &err) < 0 ||
		(size && fill(&work, size, &err) < 0)) {
		fprintf(stderr, "floor: %s\n", err.text);
		return 1;
	}
	start = now_ms();
	run(&work, jobs);
	printf("%.3f\n", now_ms() - start);
	sb_buf_release(&work.tar);
	eng_endpoint_release(&work.endpoint);
	return work.failed ? 1 : 0;
}
