/* SPDX-License-Identifier: MIT */
/* Children that answer as other users. */
#include "payloads/sandbox-tools/cli_apart.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "payloads/lib/frame.h"
#include "payloads/lib/io.h"
#include "payloads/lib/sys.h"
#include "payloads/sandbox-tools/cli.h"

#define READ_SIZE 65536
#define END_MS 5000 /* for who has been killed, or has said all */

enum apart_state {
	APART_WAITS, /* for another one of its user */
	APART_RUNS,
	APART_DONE, /* its reply waits to be taken */
	APART_TOLD, /* only its child is left, which has been killed */
};

struct apart {
	enum apart_state state;
	struct user user;
	struct rpc_request req; /* its text is gone */
	pid_t child;		/* 0: none, or none any more */
	int status;
	int fd; /* of what it says; -1: it has said all */
	int64_t deadline;
	struct buf reply;
	struct apart *next;
};

/* ---- the child ---- */

static void refuse(const char *id, const struct fail *fail, struct buf *reply)
{
	if (id)
		rpc_write_error(reply, id, rpc_code_of(fail), fail->text, NULL);
}

static _Noreturn void answer_as(struct apart *apart, int out)
{
	struct buf reply = BUF_INIT(FRAME_REPLY_MAX);
	struct fail fail = FAIL_INIT;
	int null = sys_null(false);

	if (null >= 0)
		dup2(null, 0);
	if (null >= 0)
		dup2(null, 1);
	sys_close_from(3, out);
	if (cli_become_user(&apart->user, &fail) < 0)
		refuse(apart->req.id, &fail, &reply);
	else if (cli_answer(&apart->req, &reply) < 0)
		_exit(1);
	_exit(io_write_full(out, reply.data, reply.len, IO_NEVER) < 0 ? 1 : 0);
}

static int start(struct apart *apart)
{
	int ends[2], r;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	apart->child = fork();
	if (apart->child == 0)
		answer_as(apart, ends[1]);
	r = apart->child < 0 ? -errno : 0;
	close(ends[1]);
	fcntl(ends[0], F_SETFL, O_NONBLOCK);
	apart->fd = ends[0];
	if (r < 0) {
		apart->child = 0;
		io_close(&apart->fd);
	}
	return r;
}

static void reap(struct apart *apart)
{
	if (apart->child > 0 && waitpid(apart->child, &apart->status, WNOHANG) == apart->child)
		apart->child = 0;
}

/* What nothing can end any more is left to others. */
static void await_end(struct apart *apart, int64_t deadline)
{
	for (reap(apart); apart->child > 0 && io_now() < deadline; reap(apart))
		io_sleep(1);
}

static void stop(struct apart *apart)
{
	if (apart->child > 0)
		kill(apart->child, SIGKILL);
	await_end(apart, io_in(END_MS));
}

/* ---- one request ---- */

static struct apart *apart_new(struct rpc_request *req, const struct user *user)
{
	struct apart *apart = calloc(1, sizeof(*apart));

	if (!apart)
		return NULL;
	apart->user = *user;
	apart->req = *req;
	apart->req.text = NULL;
	*req = (struct rpc_request)RPC_REQUEST_INIT;
	apart->fd = -1;
	apart->deadline = io_in(APART_MS);
	apart->reply.limit = FRAME_REPLY_MAX;
	return apart;
}

static void apart_free(struct apart *apart)
{
	io_close(&apart->fd);
	buf_release(&apart->reply);
	rpc_request_release(&apart->req);
	free(apart);
}

static void fail_with(struct apart *apart, int error)
{
	struct fail fail = FAIL_INIT;

	if (apart->child > 0)
		kill(apart->child, SIGKILL);
	io_close(&apart->fd);
	apart->reply.len = 0;
	fail_sys(&fail, error, APART_FAILED);
	refuse(apart->req.id, &fail, &apart->reply);
	apart->state = APART_DONE;
}

/* 0, also while there may be more. */
static int read_reply(struct apart *apart)
{
	while (apart->fd >= 0) {
		int r = buf_reserve(&apart->reply, READ_SIZE);
		ssize_t n;

		if (r < 0)
			return r;
		n = io_read(apart->fd, apart->reply.data + apart->reply.len, READ_SIZE);
		if (n < 0)
			return n == -EAGAIN ? 0 : (int)n;
		if (n == 0)
			io_close(&apart->fd);
		apart->reply.len += (size_t)n;
	}
	return 0;
}

/* ---- all of them ---- */

int aparts_listen(struct aparts *aparts)
{
	sigset_t set;

	if (aparts->signals >= 0)
		return 0;
	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigprocmask(SIG_BLOCK, &set, NULL);
	aparts->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return aparts->signals < 0 ? -errno : 0;
}

/* Its user is still waiting for somebody, but not in vain. */
static void renew(struct aparts *aparts, uid_t uid)
{
	for (struct apart *apart = aparts->first; apart; apart = apart->next)
		if (apart->state == APART_WAITS && apart->user.uid == uid)
			apart->deadline = io_in(APART_MS);
}

static void advance(struct aparts *aparts, struct apart *apart)
{
	int r = apart->state == APART_RUNS ? read_reply(apart) : 0;

	reap(apart);
	if (r == 0 && apart->state == APART_RUNS && apart->fd < 0 && apart->child == 0) {
		r = apart->status == 0 ? 0 : -ECHILD;
		apart->state = APART_DONE;
		renew(aparts, apart->user.uid);
	} else if (r == 0 && apart->state <= APART_RUNS && io_now() >= apart->deadline) {
		r = -ETIMEDOUT;
	}
	if (r < 0)
		fail_with(apart, r);
}

/* Nobody of its user is at work, and there are not too many of others. */
static bool may_start(const struct aparts *aparts, const struct apart *next)
{
	unsigned running = 0;

	for (const struct apart *apart = aparts->first; apart; apart = apart->next) {
		if (apart->state == APART_RUNS && apart->user.uid == next->user.uid)
			return false;
		running += apart->state == APART_RUNS;
	}
	return running < APART_CHILDREN_MAX;
}

static void start_more(struct aparts *aparts)
{
	for (struct apart *apart = aparts->first; apart; apart = apart->next) {
		int r;

		if (apart->state != APART_WAITS || !may_start(aparts, apart))
			continue;
		apart->state = APART_RUNS;
		r = start(apart);
		if (r < 0)
			fail_with(apart, r);
	}
}

static void drop_told(struct aparts *aparts)
{
	struct apart **link = &aparts->first, *apart;

	while ((apart = *link)) {
		if (apart->state == APART_TOLD && apart->child == 0) {
			*link = apart->next;
			apart_free(apart);
		} else {
			link = &apart->next;
		}
	}
}

int aparts_add(struct aparts *aparts, struct rpc_request *req, const struct user *user)
{
	struct apart **link = &aparts->first, *apart;
	int r = aparts_listen(aparts);

	if (r < 0)
		return r;
	apart = apart_new(req, user);
	if (!apart)
		return -ENOMEM;
	while (*link)
		link = &(*link)->next;
	*link = apart;
	aparts->count++;
	aparts->bytes += apart->req.len;
	start_more(aparts);
	return 0;
}

size_t aparts_poll(const struct aparts *aparts, struct pollfd fds[APART_FDS], int *ret_ms)
{
	int64_t first = IO_NEVER, left;
	size_t n = 0;

	fds[n++] = (struct pollfd){.fd = aparts->signals, .events = POLLIN};
	for (const struct apart *apart = aparts->first; apart; apart = apart->next) {
		if (apart->state == APART_RUNS && apart->fd >= 0)
			fds[n++] = (struct pollfd){.fd = apart->fd, .events = POLLIN};
		if (apart->state <= APART_RUNS && apart->deadline < first)
			first = apart->deadline;
	}
	left = first - io_now();
	*ret_ms = first == IO_NEVER ? -1 : left <= 0 ? 0 : left > INT_MAX ? INT_MAX : (int)left;
	return n;
}

void aparts_run(struct aparts *aparts)
{
	struct signalfd_siginfo info;

	while (aparts->signals >= 0 && io_read(aparts->signals, &info, sizeof(info)) > 0)
		;
	for (struct apart *apart = aparts->first; apart; apart = apart->next)
		advance(aparts, apart);
	drop_told(aparts);
	start_more(aparts);
}

bool aparts_take(struct aparts *aparts, struct buf *ret)
{
	struct apart *apart = aparts->first;

	while (apart && apart->state != APART_DONE)
		apart = apart->next;
	if (!apart)
		return false;
	*ret = apart->reply;
	apart->reply = (struct buf)BUF_INIT(0);
	apart->state = APART_TOLD;
	aparts->count--;
	aparts->bytes -= apart->req.len;
	drop_told(aparts);
	return true;
}

/* A file should not be left half edited because nobody wants to hear of it. */
void aparts_close(struct aparts *aparts)
{
	int64_t deadline = io_in(END_MS);

	for (struct apart *apart = aparts->first; apart; apart = apart->next)
		io_close(&apart->fd);
	while (aparts->first) {
		struct apart *apart = aparts->first;

		aparts->first = apart->next;
		await_end(apart, deadline);
		stop(apart);
		apart_free(apart);
	}
	io_close(&aparts->signals);
}

/* ---- one request only ---- */

/* The parent's part: its exit status. */
static int pass_on(struct apart *apart)
{
	struct fail fail = FAIL_INIT;
	int r = io_read_all(apart->fd, &apart->reply, io_in(APART_MS));

	if (r == 0)
		await_end(apart, io_in(END_MS));
	stop(apart);
	if (r == 0 && (apart->child > 0 || !WIFEXITED(apart->status)))
		r = -ECHILD;
	if (r < 0) {
		fail_sys(&fail, r, APART_FAILED);
		return cli_complain(&fail);
	}
	r = io_write_full(1, apart->reply.data, apart->reply.len, IO_NEVER);
	if (r == 0)
		return WEXITSTATUS(apart->status);
	fail_sys(&fail, r, "cannot write the reply");
	return cli_complain(&fail);
}

int apart_leave(struct fail *fail)
{
	struct apart apart = {.reply = BUF_INIT(2 * FRAME_REPLY_MAX)};
	int ends[2], r = 0;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return fail_sys(fail, errno, APART_FAILED);
	apart.fd = ends[0];
	apart.child = fork();
	if (apart.child > 0) {
		close(ends[1]);
		exit(pass_on(&apart));
	}
	if (apart.child < 0 || dup2(ends[1], 1) < 0)
		r = fail_sys(fail, errno, APART_FAILED);
	close(ends[0]);
	close(ends[1]);
	return r;
}
