/* SPDX-License-Identifier: MIT */
/* Feeding a job's pipe. */
#include "payloads/sandbox-tools/exec_remote/input.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "payloads/lib/io.h"

/* What cannot be watched would never be fed again: better an early end than none. */
static void watch(struct input *input)
{
	if (!input->watched)
		input->watched = loop_watch(input->loop, &input->watch, EPOLLOUT) == 0;
	if (!input->watched)
		input_close(input);
}

static void unwatch(struct input *input)
{
	if (input->watched)
		loop_unwatch(input->loop, &input->watch);
	input->watched = false;
}

static void feed(struct input *input)
{
	const char *data;
	size_t len;

	while ((data = queue_front(&input->queue, &len))) {
		ssize_t n = io_write(input->watch.fd, data, len);

		if (n == -EAGAIN) {
			watch(input);
			return;
		}
		if (n < 0) {
			input_close(input);
			return;
		}
		queue_drop(&input->queue, (size_t)n);
	}
	queue_release(&input->queue); /* of empty blocks */
	unwatch(input);
	if (input->finished)
		input_close(input);
}

static void on_ready(struct loop_watch *w, uint32_t events)
{
	(void)events;
	feed((struct input *)w);
}

void input_open(struct input *input, struct loop *loop, int fd)
{
	input->loop = loop;
	input->watch.fd = fd;
	input->watch.ready = on_ready;
	fcntl(fd, F_SETFL, O_NONBLOCK);
}

bool input_is_open(const struct input *input)
{
	return input->loop && input->watch.fd >= 0 && !input->finished;
}

int input_prepare(const struct input *input, const char *data, size_t len, struct queue_block **ret)
{
	if (len > INPUT_MAX || input->queue.len > INPUT_MAX - len)
		return -EMSGSIZE;
	*ret = queue_block(data, len);
	return *ret ? 0 : -ENOMEM;
}

void input_put(struct input *input, struct queue_block *block)
{
	queue_put(&input->queue, block);
	feed(input);
}

int input_add(struct input *input, const char *data, size_t len)
{
	struct queue_block *block;
	int r = input_prepare(input, data, len, &block);

	if (r == 0)
		input_put(input, block);
	return r;
}

void input_finish(struct input *input)
{
	if (!input_is_open(input))
		return;
	input->finished = true;
	feed(input);
}

void input_close(struct input *input)
{
	if (!input->loop || input->watch.fd < 0)
		return;
	unwatch(input);
	io_close(&input->watch.fd);
	queue_release(&input->queue);
}
