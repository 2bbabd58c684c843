/* SPDX-License-Identifier: MIT */
/* Those who keep commands. */
#include "payloads/sandbox-tools/cli_runs.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "payloads/lib/io.h"
#include "payloads/lib/sys.h"
#include "payloads/sandbox-tools/rpc/params.h"

#define READ_SIZE 65536

int runs_open(struct runs *runs, const char *text, struct fail *fail)
{
	if (run_world_open(&runs->world, text, fail) < 0)
		return -1;
	runs->memory = run_memory_open();
	if (!runs->memory)
		return fail_set(fail, "out of memory");
	runs->reply.limit = RUN_REPLY_MAX;
	runs->allowed = true;
	return 0;
}

/* ---- one of them ---- */

static struct runs_one *find_free(struct runs *runs)
{
	if (runs->busy == RUNS_MAX)
		return NULL;
	runs_reap(runs);
	for (size_t i = 0; i < RUNS_KEEPERS_MAX; i++)
		if (runs->all[i].pid == 0)
			return &runs->all[i];
	return NULL;
}

static struct run_share share_of(const struct runs *runs, const struct runs_one *one)
{
	return (struct run_share){runs->memory, &runs->memory->held[one - runs->all]};
}

static void settle(struct runs *runs, struct runs_one *one)
{
	io_close(&one->fd);
	free(one->id);
	one->id = NULL;
	runs->busy--;
	if (runs->heard == one)
		runs->heard = NULL;
}

void runs_reap(struct runs *runs)
{
	for (size_t i = 0; i < RUNS_KEEPERS_MAX; i++) {
		struct runs_one *one = &runs->all[i];
		struct run_share share;

		/* who has not answered is seen by that */
		if (one->pid == 0 || one->fd >= 0 || waitpid(one->pid, NULL, WNOHANG) == 0)
			continue;
		share = share_of(runs, one);
		run_share_give(&share);
		one->pid = 0;
	}
}

/* ---- the methods ---- */

static int check(const json_t *params, int (*look)(const json_t *, struct buf *), struct fail *fail)
{
	struct buf errors = BUF_INIT(PARAMS_ERRORS_MAX);
	int r = look(params, &errors);

	if (r < 0)
		r = fail_sys(fail, r, "cannot read the parameters");
	else if (errors.len > 0)
		r = fail_code(fail, FAIL_PARAMS, "Invalid parameters: %.*s", (int)errors.len,
			errors.data);
	buf_release(&errors);
	return r;
}

/* The caller's end and the other one: 0 or -errno. */
static int open_pair(int ends[2])
{
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
		return -errno;
	fcntl(ends[0], F_SETFL, O_NONBLOCK);
	return 0;
}

static int fail_full(const struct runs *runs, struct fail *fail)
{
	if (runs->busy == RUNS_MAX)
		return fail_code(fail, RPC_NOT_STARTED,
			"not started: %u commands are under way, and %d may be", runs->busy,
			RUNS_MAX);
	return fail_code(fail, RPC_NOT_STARTED,
		"not started: what %u commands have left behind has their outputs open, and no "
		"more may do so",
		RUNS_KEEPERS_MAX - runs->busy);
}

int runs_start(struct runs *runs, struct rpc_request *req, struct fail *fail)
{
	struct runs_one *one = find_free(runs);
	int ends[2], r;

	if (req->flaw)
		return fail_code(fail, RPC_NOT_STARTED, "not started: %s", req->flaw);
	if (check(req->params, command_check, fail) < 0)
		return -1;
	if (!one)
		return fail_full(runs, fail);
	r = open_pair(ends);
	if (r < 0)
		return fail_code(fail, RPC_NOT_STARTED, "not started: no descriptor is free");
	one->pid = fork();
	if (one->pid == 0) {
		runs->heard = one;
		one->fd = ends[1];
		return 1;
	}
	r = one->pid < 0 ? -errno : 0;
	close(ends[1]);
	if (r < 0) {
		close(ends[0]);
		one->pid = 0;
		fail_sys(fail, r, "not started: cannot make a process");
		fail->code = RPC_NOT_STARTED;
		return -1;
	}
	one->fd = ends[0];
	one->id = req->id;
	req->id = NULL;
	runs->busy++;
	return 0;
}

void runs_serve(struct runs *runs, struct rpc_request *req)
{
	struct runs_one *one = runs->heard;
	struct run_order order = {.world = &runs->world,
		.share = share_of(runs, one),
		.params = json_incref(req->params),
		.id = req->id,
		.fd = one->fd};
	int null = sys_null(false);

	for (int fd = 0; fd <= 2 && null >= 0; fd++)
		dup2(null, fd);
	sys_close_from(3, one->fd);
	json_decref(req->doc);
	run_keep(&order);
	_exit(0);
}

static int check_kill(const json_t *params, struct buf *errors)
{
	static const struct param members[] = {
		{"id", PARAM_ID, PARAM_REQUIRED},
		{NULL, 0, PARAM_REQUIRED},
	};

	return params_check(params, members, true, "", errors);
}

int runs_kill(struct runs *runs, const struct rpc_request *req, struct fail *fail)
{
	int n = 0;
	char *id;

	if (check(req->params, check_kill, fail) < 0)
		return -1;
	id = json_dumps(json_object_get(req->params, "id"), JSON_ENCODE_ANY | JSON_ENSURE_ASCII);
	if (!id)
		return fail_set(fail, "out of memory");
	for (size_t i = 0; i < RUNS_KEEPERS_MAX; i++)
		if (runs->all[i].id && strcmp(runs->all[i].id, id) == 0) {
			send(runs->all[i].fd, "", 1, MSG_DONTWAIT | MSG_NOSIGNAL);
			n++;
		}
	free(id);
	return n;
}

void runs_end(struct runs *runs)
{
	for (size_t i = 0; i < RUNS_KEEPERS_MAX; i++)
		if (runs->all[i].pid > 0 && runs->all[i].fd >= 0)
			shutdown(runs->all[i].fd, SHUT_WR);
}

/* ---- the replies ---- */

static bool is_heard(const struct runs *runs, const struct runs_one *one)
{
	return one->pid > 0 && one->fd >= 0 && (!runs->heard || runs->heard == one);
}

size_t runs_poll(const struct runs *runs, struct pollfd fds[RUNS_MAX])
{
	size_t n = 0;

	for (size_t i = 0; i < RUNS_KEEPERS_MAX; i++)
		if (is_heard(runs, &runs->all[i]))
			fds[n++] = (struct pollfd){.fd = runs->all[i].fd, .events = POLLIN};
	return n;
}

static uint64_t length_of(const struct runs *runs)
{
	uint64_t len = 0;

	for (size_t i = 0; i < RUN_HEAD; i++)
		len = len << 8 | runs->head[i];
	return len;
}

/* 1 it is there, 0 not yet, -errno. */
static int hear_head(struct runs *runs, struct runs_one *one)
{
	ssize_t n;

	if (runs->head_len == RUN_HEAD)
		return 1;
	n = io_read(one->fd, runs->head + runs->head_len, RUN_HEAD - runs->head_len);
	if (n <= 0)
		return n == -EAGAIN ? 0 : -ENODATA;
	runs->heard = one;
	runs->head_len += (size_t)n;
	return runs->head_len == RUN_HEAD;
}

/* The same of the whole. */
static int hear(struct runs *runs, struct runs_one *one)
{
	int r = hear_head(runs, one);
	uint64_t left;
	ssize_t n;

	while (r > 0 && (left = length_of(runs) - runs->reply.len) > 0) {
		size_t want = left < READ_SIZE ? (size_t)left : READ_SIZE;

		r = buf_reserve(&runs->reply, want);
		if (r < 0)
			return r;
		n = io_read(one->fd, runs->reply.data + runs->reply.len, want);
		if (n <= 0)
			return n == -EAGAIN ? 0 : -ENODATA;
		runs->reply.len += (size_t)n;
		r = 1;
	}
	return r;
}

/* Somebody inside has killed it, and with it the kernel the command. */
static void tell_lost(struct runs *runs, const struct runs_one *one, int error)
{
	json_t *data =
		json_string(error == -ENODATA ? "the process that kept the command was killed"
					      : "out of memory");

	kill(one->pid, SIGKILL);
	buf_release(&runs->reply);
	if (one->id)
		rpc_write_error(&runs->reply, one->id, RPC_SERVER_ERROR, "Server error", data);
	json_decref(data);
}

bool runs_take(struct runs *runs)
{
	if (!runs->heard) {
		buf_release(&runs->reply);
		runs->head_len = 0;
	}
	for (size_t i = 0; i < RUNS_KEEPERS_MAX; i++) {
		struct runs_one *one = &runs->all[i];
		int r = is_heard(runs, one) ? hear(runs, one) : 0;

		if (r < 0)
			tell_lost(runs, one, r);
		if (r == 0)
			continue;
		settle(runs, one);
		return true;
	}
	return false;
}

void runs_close(struct runs *runs)
{
	for (size_t i = 0; i < RUNS_KEEPERS_MAX; i++)
		if (runs->all[i].pid > 0 && runs->all[i].fd >= 0)
			settle(runs, &runs->all[i]);
	buf_release(&runs->reply);
	run_memory_close(runs->memory);
	run_world_close(&runs->world);
}
