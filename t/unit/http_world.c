/* SPDX-License-Identifier: MIT */
/* Included by the tests that use it: every test is one program from one file. */
#include "t/unit/http_world.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "t/unit/fake_engine.c"

void open_world(struct world *w, const struct fake_step *const *scripts, size_t count)
{
	*w = (struct world){.reply = ENG_HTTP_REPLY_INIT, .err = SB_ERR_INIT};
	eng_interrupted = 0;
	w->fake = fake_start(scripts, count);
	assert_int_equal(eng_http_new(fake_endpoint(w->fake), &w->http, &w->err), 0);
}

void hang_up(struct world *w)
{
	eng_http_free(w->http);
	w->http = NULL;
	fake_stop(w->fake);
}

void close_world(struct world *w)
{
	hang_up(w);
	eng_http_reply_release(&w->reply);
	fake_free(w->fake);
	eng_interrupted = 0;
}

int get(struct world *w, int timeout_ms)
{
	const struct eng_http_req req = {
		.method = "GET", .path = "/v1.41/x", .max_reply = 1000, .timeout_ms = timeout_ms};

	eng_http_reply_release(&w->reply);
	w->reply = (struct eng_http_reply)ENG_HTTP_REPLY_INIT;
	sb_err_clear(&w->err);
	return eng_http_do(w->http, &req, &w->reply, &w->err);
}

int upgrade(struct world *w, int timeout_ms, struct eng_stream **ret)
{
	static const char body[] = "{\"Tty\":false}";
	const struct eng_http_req req = {.method = "POST",
		.path = "/v1.41/exec/ab/start",
		.type = "application/json",
		.body = body,
		.body_len = sizeof(body) - 1,
		.timeout_ms = timeout_ms};

	return eng_stream_open(w->http, &req, ret, &w->reply, &w->err);
}

void open_far(struct far *far, const char *url)
{
	struct world *w = &far->world;

	*far = (struct far){.endpoint = ENG_ENDPOINT_INIT,
		.world = {.reply = ENG_HTTP_REPLY_INIT, .err = SB_ERR_INIT}};
	eng_interrupted = 0;
	assert_int_equal(eng_endpoint_parse(url, "a test", &far->endpoint, &w->err), 0);
	assert_int_equal(eng_http_new(&far->endpoint, &w->http, &w->err), 0);
}

void close_far(struct far *far)
{
	eng_http_free(far->world.http);
	eng_http_reply_release(&far->world.reply);
	eng_endpoint_release(&far->endpoint);
}

int listen_tcp(int *ret_port)
{
	struct sockaddr_in at = {
		.sin_family = AF_INET, .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)}};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	socklen_t size = sizeof(at);

	assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof(at)), 0);
	assert_int_equal(listen(fd, 1), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &size), 0);
	*ret_port = ntohs(at.sin_port);
	return fd;
}

pid_t fork_child(void)
{
	pid_t pid = fork();

	if (pid == 0)
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	return pid;
}

static pid_t spawn(const char *const *argv, int in, int out)
{
	pid_t pid = fork_child();

	if (pid)
		return pid;
	if (in >= 0)
		dup2(in, STDIN_FILENO);
	if (out >= 0)
		dup2(out, STDOUT_FILENO);
	if (!freopen("/dev/null", "w", stderr))
		_exit(126);
	execvp(argv[0], (char *const *)argv);
	_exit(127);
}

void start_tls(struct tls_server *s, int port)
{
	const char *make[] = {"openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days",
		"1", "-subj", "/CN=localhost", "-keyout", s->key, "-out", s->cert, NULL};
	const char *serve[] = {"openssl", "s_server", "-quiet", port ? "-accept" : "-unix",
		s->address, "-key", s->key, "-cert", s->cert, NULL};
	int in[2], out[2], status;

	strcpy(s->dir, "/tmp/sbu-XXXXXX"); /* s_server takes 31 bytes for a socket */
	assert_non_null(mkdtemp(s->dir));
	snprintf(s->key, sizeof(s->key), "%s/key.pem", s->dir);
	snprintf(s->cert, sizeof(s->cert), "%s/cert.pem", s->dir);
	if (port)
		snprintf(s->address, sizeof(s->address), "127.0.0.1:%d", port);
	else
		snprintf(s->address, sizeof(s->address), "%s/e.sock", s->dir);
	assert_true(waitpid(spawn(make, -1, -1), &status, 0) > 0);
	assert_int_equal(status, 0);
	assert_int_equal(pipe2(in, O_CLOEXEC), 0);
	assert_int_equal(pipe2(out, O_CLOEXEC), 0);
	s->pid = spawn(serve, in[0], out[1]);
	close(in[0]);
	close(out[1]);
	s->in = in[1];
	s->out = out[0];
}

void stop_tls(struct tls_server *s)
{
	kill(s->pid, SIGKILL);
	waitpid(s->pid, NULL, 0);
	close(s->in);
	close(s->out);
	unlink(s->key);
	unlink(s->cert);
	unlink(s->address);
	rmdir(s->dir);
}

int reach(struct world *w, struct eng_stream **ret)
{
	int64_t until = sb_deadline(10000);
	int rc;

	for (;;) {
		rc = ret ? upgrade(w, 5000, ret) : get(w, 5000);
		if (rc == 0 || !strstr(w->err.text, "is the engine running?") ||
			!sb_left_ms(until, 1))
			return rc;
		sb_err_clear(&w->err);
		sb_sleep_ms(20);
	}
}
