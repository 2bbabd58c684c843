/* SPDX-License-Identifier: MIT */
/*
 * floor CONTAINER RUNS NOOP SIZE FULL: the least that an injection can cost on an engine: the same
 * requests, over one connection, in a tight loop, with nothing done in between and a program that
 * ends at once. Prints one line of milliseconds per run.
 *
 * FULL 1: ping, container, image, HEAD, PUT of SIZE bytes and one exec. FULL 0: without the PUT, as
 * for a container that has the payload already.
 */
#include "engine/engine.h"
#include "engine/tar.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

static double now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static int noop(struct eng_client *client, const char *id, const char *program, struct sb_err *err)
{
	sb_auto(eng_exec_closep) struct eng_exec *exec = NULL;
	sb_autobuf struct sb_buf out = SB_BUF_INIT(65536);
	const char *argv[] = {program, NULL};
	int ret;

	if (eng_exec_start(client, id, ENG_AS_ROOT, argv, &exec, err) < 0)
		return -1;
	while ((ret = eng_exec_read(exec, -1, &out, err)) == 0)
		;
	return ret < 0 ? -1 : 0;
}

static int once(const struct eng_endpoint *endpoint, char **argv, const struct sb_buf *tar,
	struct sb_err *err)
{
	sb_auto(eng_container_release) struct eng_container container = ENG_CONTAINER_INIT;
	sb_auto(eng_closep) struct eng_client *client = NULL;
	struct eng_image image;
	struct eng_stat stat;

	if (eng_open(endpoint, 60000, &client, err) < 0 ||
		eng_container_inspect(client, argv[1], &container, err) < 0 ||
		eng_image_inspect(client, &container, &image, err) < 0 ||
		eng_archive_stat(client, container.id, argv[3], &stat, err) < 0)
		return -1;
	if (argv[5][0] == '1' &&
		eng_archive_put(client, container.id, "/", tar->data, tar->len, err) < 0)
		return -1;
	return noop(client, container.id, argv[3], err);
}

int main(int argc, char **argv)
{
	sb_auto(eng_endpoint_release) struct eng_endpoint endpoint = ENG_ENDPOINT_INIT;
	sb_autobuf struct sb_buf tar = SB_BUF_INIT(SB_MAX_PAYLOAD);
	struct sb_err err = SB_ERR_INIT;
	size_t size;
	sb_autofree char *data = NULL;

	if (argc != 6)
		return 2;
	size = strtoul(argv[4], NULL, 10);
	data = calloc(1, size);
	if (!data || eng_global_init(&err) < 0 || eng_endpoint_find(NULL, &endpoint, &err) < 0 ||
		eng_tar_write((const struct eng_tar_member[]){{".floor/", 0700, NULL, 0, NULL},
				      {".floor/data", 0755, data, size, NULL}},
			2, &tar, &err) < 0)
		goto failed;
	for (long i = strtol(argv[2], NULL, 10); i > 0; i--) {
		double start = now_ms();

		if (once(&endpoint, argv, &tar, &err) < 0)
			goto failed;
		printf("%.3f\n", now_ms() - start);
	}
	return 0;
failed:
	fprintf(stderr, "floor: %s\n", err.text);
	return 1;
}
