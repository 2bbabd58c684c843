/* SPDX-License-Identifier: MIT */
/* Requests to the host and its responses, as files. */
#include "payloads/sandbox-tools/model_proxy/channel.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "payloads/lib/base.h"
#include "payloads/lib/io.h"
#include "payloads/lib/memory.h"
#include "payloads/lib/sys.h"
#include "payloads/lib/tree.h"
#include "payloads/lib/utf8.h"
#include "payloads/sandbox-tools/model_proxy/form.h"

#define PIECE 65536 /* of a request, in memory */
#define HELD_MAX ((size_t)512 << 20)
#define NAME_SIZE (36 + sizeof(".json"))

/* ---- directories ---- */

static void close_directories(struct channel *channel)
{
	if (channel->changes.fd >= 0) {
		loop_unwatch(channel->loop, &channel->changes);
		io_close(&channel->changes.fd);
	}
	io_close(&channel->requests);
	io_close(&channel->responses);
}

/* Opens a directory in 'dir', which is closed: descriptor or -errno. */
static int enter(int dir, const char *name)
{
	int fd = dir < 0 ? dir : tree_open_dir(dir, name);

	io_close(&dir);
	return fd;
}

static int open_service(const struct channel *channel)
{
	int fd = enter(io_open(AT_FDCWD, CHANNEL_DIR, O_RDONLY | O_DIRECTORY, 0), CHANNEL_SERVICE);

	if (channel->instance && strchr(channel->instance, '/')) {
		io_close(&fd);
		return -EINVAL;
	}
	return channel->instance ? enter(fd, channel->instance) : fd;
}

static void on_change(struct loop_watch *watch, uint32_t events);

/* Without it responses are found some tenths of a second later. */
static void watch_responses(struct channel *channel)
{
	char path[40];

	channel->changes.ready = on_change;
	channel->changes.fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	if (channel->changes.fd < 0)
		return;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", channel->responses);
	if (inotify_add_watch(channel->changes.fd, path, IN_CLOSE_WRITE | IN_MOVED_TO) < 0 ||
		loop_watch(channel->loop, &channel->changes, EPOLLIN) < 0)
		io_close(&channel->changes.fd);
}

static int open_directories(struct channel *channel)
{
	int service = open_service(channel);

	if (service < 0)
		return service;
	channel->requests = tree_open_dir(service, "requests");
	channel->responses = tree_open_dir(service, "responses");
	io_close(&service);
	if (channel->requests < 0 || channel->responses < 0) {
		int r = channel->requests < 0 ? channel->requests : channel->responses;

		close_directories(channel);
		return r;
	}
	watch_responses(channel);
	return 0;
}

/* ---- requests ---- */

/* A random UUID, of version 4. */
static int make_id(char id[37])
{
	char hex[33];
	int r = sys_random_hex(hex, 16);

	if (r == 0)
		snprintf(id, 37, "%.8s-%.4s-4%.3s-8%.3s-%.12s", hex, hex + 8, hex + 13, hex + 17,
			hex + 20);
	return r;
}

static int write_part(int fd, const struct channel_part *part)
{
	struct spell spell = {part->at, part->at + part->len, SPELL_ASCII, false};
	struct buf piece = BUF_INIT(2 * PIECE);
	int r = 0;

	if (!part->spelled)
		return io_write_full(fd, part->at, part->len, IO_NEVER);
	while (r == 0 && spell.at < spell.end) {
		piece.len = 0;
		r = spell_some(&spell, &piece, PIECE);
		if (r == 0)
			r = io_write_full(fd, piece.data, piece.len, IO_NEVER);
	}
	buf_release(&piece);
	return r;
}

static int write_request(
	int fd, const struct channel_call *call, const struct channel_part *parts, size_t count)
{
	struct buf head = BUF_INIT(PIECE);
	int r = form_add(
		&head, SPELL_ASCII, "{'id': %s, 'method': %s, 'params': ", call->id, call->method);

	if (r == 0)
		r = io_write_full(fd, head.data, head.len, IO_NEVER);
	buf_release(&head);
	for (size_t i = 0; r == 0 && i < count; i++)
		r = write_part(fd, &parts[i]);
	if (r == 0)
		r = io_write_full(fd, "}", 1, IO_NEVER);
	/* its reader is another user than root, whatever the mask says */
	if (r == 0 && geteuid() == 0 && fchmod(fd, 0644) < 0)
		r = -errno;
	return r;
}

static int create(const struct channel *channel, const char *name)
{
	if (channel->requests < 0)
		return -ENOENT;
	return io_open(channel->requests, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0644);
}

/* Directories that were made anew are looked for once. */
static int create_somewhere(struct channel *channel, const char *name)
{
	int fd = create(channel, name), r;

	if (fd != -ENOENT)
		return fd;
	close_directories(channel);
	r = open_directories(channel);
	return r < 0 ? r : create(channel, name);
}

static int put_request(struct channel *channel, const struct channel_call *call,
	const struct channel_part *parts, size_t count)
{
	char draft[NAME_SIZE], name[NAME_SIZE];
	int fd, r;

	snprintf(draft, sizeof(draft), "%s.new", call->id);
	snprintf(name, sizeof(name), "%s.json", call->id);
	fd = create_somewhere(channel, draft);
	if (fd < 0)
		return fd;
	r = write_request(fd, call, parts, count);
	if (close(fd) < 0 && r == 0)
		r = -errno;
	if (r == 0 && renameat(channel->requests, draft, channel->requests, name) < 0)
		r = -errno;
	if (r < 0)
		unlinkat(channel->requests, draft, 0);
	return r;
}

static void on_poll(struct loop_timer *timer);

void channel_init(struct channel *channel, struct loop *loop, const char *instance)
{
	*channel = (struct channel){.loop = loop,
		.instance = instance,
		.requests = -1,
		.responses = -1,
		.changes.fd = -1,
		.poll.due = on_poll,
		.held_max = memory_part(memory_limit(), 2, HELD_MAX)};
}

int channel_ask(struct channel *channel, struct channel_call *call, const char *method,
	const struct channel_part *parts, size_t count, struct fail *fail)
{
	int r = make_id(call->id);

	call->method = method;
	call->seen_size = 0;
	if (r == 0)
		r = put_request(channel, call, parts, count);
	if (r < 0)
		return fail_sys(fail, r, "cannot write a request to '%s/%s/%s/requests'",
			CHANNEL_DIR, CHANNEL_SERVICE, channel->instance ? channel->instance : ".");
	call->next = channel->calls;
	call->link = &channel->calls;
	if (call->next)
		call->next->link = &call->next;
	channel->calls = call;
	channel->call_count++;
	if (!channel->poll.armed)
		loop_set_timer(channel->loop, &channel->poll, CHANNEL_POLL_MS);
	return 0;
}

/* ---- responses ---- */

static int take_error(struct channel_answer *answer, const struct jsontext *error)
{
	if (error->kind == JSONTEXT_STRING)
		return spell_content(&answer->error, error);
	return spell_value(&answer->error, SPELL_UTF8, error);
}

int channel_read(struct channel_answer *answer, const char *method)
{
	const char *text = answer->text.data;
	size_t len = answer->text.len;
	struct jsontext whole, error;
	int r = 0;

	if (!utf8_is_valid(text, len) || !jsontext_read(text, len, &whole) ||
		whole.kind != JSONTEXT_OBJECT)
		return 0;
	error = jsontext_get(&whole, "error");
	answer->result = jsontext_get(&whole, "result");
	if (error.kind != JSONTEXT_ABSENT && error.kind != JSONTEXT_NULL) {
		answer->result.kind = JSONTEXT_ABSENT;
		r = take_error(answer, &error);
	} else if (answer->result.kind == JSONTEXT_ABSENT) {
		r = buf_add_str(&answer->error, "No error or result field in response for method ");
		if (r == 0)
			r = buf_add_str(&answer->error, method);
	}
	return r < 0 ? -ENOMEM : 1;
}

void channel_release(struct channel *channel, struct channel_answer *answer)
{
	channel->held -= answer->held;
	answer->held = 0;
	buf_release(&answer->text);
	buf_release(&answer->error);
	answer->result = (struct jsontext){NULL, 0, JSONTEXT_ABSENT};
}

/* A file of that many bytes, or nothing yet; -EMSGSIZE when it is more than a response can be. */
static int load(struct channel *channel, int fd, size_t size, struct channel_answer *answer)
{
	int r;

	if (size > CHANNEL_RESPONSE_MAX)
		return -EMSGSIZE;
	answer->text.limit = size;
	r = buf_reserve(&answer->text, size);
	if (r == 0)
		r = io_read_full(fd, answer->text.data, size, IO_NEVER);
	if (r < 0)
		return 0;
	answer->text.len = size;
	answer->held = size;
	channel->held += size;
	return 1;
}

static int refuse_size(struct channel_answer *answer)
{
	char size[32], text[80];

	memory_format(CHANNEL_RESPONSE_MAX, size, sizeof(size));
	snprintf(text, sizeof(text), "The response has more than %s", size);
	return buf_add_str(&answer->error, text) < 0 ? -ENOMEM : 1;
}

/* 1 with the answer, 0 when there is none yet. */
static int read_response(
	struct channel *channel, struct channel_call *call, int fd, struct channel_answer *answer)
{
	struct stat st;
	int r;

	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size <= 0)
		return 0;
	if (st.st_size == call->seen_size && st.st_mtim.tv_sec == call->seen.tv_sec &&
		st.st_mtim.tv_nsec == call->seen.tv_nsec)
		return 0;
	if (channel->held > 0 && channel->held + (size_t)st.st_size > channel->held_max)
		return 0;
	r = load(channel, fd, (size_t)st.st_size, answer);
	if (r == 1)
		r = channel_read(answer, call->method);
	else if (r == -EMSGSIZE)
		r = refuse_size(answer);
	if (r == 0 && answer->held > 0) {
		call->seen = st.st_mtim;
		call->seen_size = st.st_size;
	}
	return r > 0;
}

static void finish(
	struct channel *channel, struct channel_call *call, struct channel_answer *answer)
{
	*call->link = call->next;
	if (call->next)
		call->next->link = call->link;
	channel->call_count--;
	call->answered(call, answer);
}

static void look(struct channel *channel, struct channel_call *call)
{
	struct channel_answer answer = {
		.text = BUF_INIT(CHANNEL_RESPONSE_MAX), .error = BUF_INIT(CHANNEL_RESPONSE_MAX)};
	char name[NAME_SIZE];
	int fd;

	snprintf(name, sizeof(name), "%s.json", call->id);
	fd = io_open(channel->responses, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0);
	if (fd < 0)
		return;
	if (read_response(channel, call, fd, &answer)) {
		unlinkat(channel->responses, name, 0);
		finish(channel, call, &answer);
	} else {
		channel_release(channel, &answer);
	}
	io_close(&fd);
}

/* Whoever is answered may make new calls, or end, but no other call goes away. */
static void on_poll(struct loop_timer *timer)
{
	struct channel *channel = container_of(timer, struct channel, poll);
	struct channel_call *call, *next;

	for (call = channel->calls; call && !channel->loop->stopped; call = next) {
		next = call->next;
		look(channel, call);
	}
	if (channel->calls)
		loop_set_timer(channel->loop, &channel->poll, CHANNEL_POLL_MS);
}

static void look_by_name(struct channel *channel, const char *name)
{
	struct channel_call *call = channel->calls;

	while (call && (strncmp(name, call->id, strlen(call->id)) != 0 ||
			       strcmp(name + strlen(call->id), ".json") != 0))
		call = call->next;
	if (call)
		look(channel, call);
}

static void on_change(struct loop_watch *watch, uint32_t events)
{
	struct channel *channel = container_of(watch, struct channel, changes);
	union {
		struct inotify_event event;
		char bytes[4096];
	} read;
	ssize_t len = io_read(watch->fd, read.bytes, sizeof(read.bytes)), at = 0;

	(void)events;
	while (at < len && !channel->loop->stopped) {
		const struct inotify_event *event =
			(const struct inotify_event *)(void *)(read.bytes + at);

		at += (ssize_t)(sizeof(*event) + event->len);
		if (event->len > 0)
			look_by_name(channel, event->name);
	}
}
