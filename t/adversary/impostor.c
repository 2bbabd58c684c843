/* SPDX-License-Identifier: MIT */
/* Lies: those of a program that was run in the place of ours, and those of a false service. */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "t/adversary/adversary.h"

/* What was put there for us; the text stays as it is where nothing was. */
static void read_told(const char *path, char *text, size_t size)
{
	int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
	ssize_t n;

	if (fd < 0)
		return;
	n = read(fd, text, size - 1);
	if (n >= 0)
		text[n] = '\0';
	close(fd);
}

const char *known_digest(void)
{
	static char hex[65] = "0000000000000000000000000000000000000000000000000000000000000000";

	read_told(DIGEST, hex, sizeof(hex));
	return hex;
}

/* The string that a member of a JSON text has; good enough for what sbinject asks. */
static void member(const char *text, const char *name, char *value, size_t size)
{
	char key[32];
	const char *p;

	snprintf(key, sizeof(key), "\"%s\":\"", name);
	p = strstr(text, key);
	snprintf(value, size, "%.*s", p ? (int)strcspn(p + strlen(key), "\"") : 0,
		p ? p + strlen(key) : "");
}

static void print_receipt(const char *nonce, const char *sha256, const char *more)
{
	printf("{\"sbinject\":1,\"ok\":true,\"nonce\":\"%s\",\"sha256\":\"%s\",\"release\":\"0.1.0\","
	       "\"wire\":1,\"was\":\"absent\",\"started\":true,\"pid\":1,\"uid\":0,\"path_ok\":true,"
	       "\"server\":{\"running\":true,\"pid\":1,\"sha256\":\"%s\",\"uid\":0}%s}\n",
		nonce, sha256, sha256, more);
	fflush(stdout);
}

static void forge(const char *question)
{
	char nonce[64], sha256[80];

	member(question, "nonce", nonce, sizeof(nonce));
	member(question, "sha256", sha256, sizeof(sha256));
	print_receipt(nonce, sha256[0] ? sha256 : known_digest(), "");
}

static void forge_without_nonce(const char *question)
{
	(void)question;
	print_receipt("00000000000000000000000000000000", known_digest(), "");
}

static void forge_twice(const char *question)
{
	char nonce[64];

	member(question, "nonce", nonce, sizeof(nonce));
	print_receipt(nonce, known_digest(), ",\"ok\":false,\"code\":\"\\u001b[2J\"");
}

static void fail_with_escapes(const char *question)
{
	char nonce[64];

	member(question, "nonce", nonce, sizeof(nonce));
	printf("{\"sbinject\":1,\"ok\":false,\"nonce\":\"%s\",\"code\":\"start\",\"what\":"
	       "\"\\u001b]0;owned\\u0007\\u001b[2J\\r\\n\\u009b31m\\u202esecond line\"}\n",
		nonce);
}

static void say_escapes(const char *question)
{
	(void)question;
	fputs("\x1b]0;owned\a\x1b[2J\x9b"
	      "31m\r\npermission denied\x1b[31m\n",
		stdout);
	fputs("\x1b[2J\n\n\nmore\n", stderr);
}

static void flood(const char *question)
{
	static char block[65536];
	time_t end = time(NULL) + 5;

	(void)question;
	memset(block, rand() % 2 ? '{' : '\n', sizeof(block));
	while (time(NULL) < end && write(rand() % 2 ? 1 : 2, block, sizeof(block)) > 0)
		;
}

static void endless_line(const char *question)
{
	time_t end = time(NULL) + 5;

	forge_without_nonce("");
	(void)question;
	(void)!write(1, "{\"sbinject\":1,\"nonce\":\"", 23);
	while (time(NULL) < end && write(1, "0", 1) > 0)
		;
}

static void hang(const char *question)
{
	(void)question;
	sleep(8);
}

/* The output stays open in a child that nobody waits for. */
static void leave_child(const char *question)
{
	(void)question;
	if (fork() == 0) {
		sleep(8);
		_exit(0);
	}
}

static void say_nothing(const char *question)
{
	(void)question;
}

static const struct answer {
	const char *name;
	void (*give)(const char *question);
} answers[] = {
	{"forge", forge},
	{"forge-without-nonce", forge_without_nonce},
	{"forge-twice", forge_twice},
	{"fail-with-escapes", fail_with_escapes},
	{"say-escapes", say_escapes},
	{"flood", flood},
	{"endless-line", endless_line},
	{"hang", hang},
	{"leave-child", leave_child},
	{"say-nothing", say_nothing},
};

/* The one that we were told to give, or any. */
static const struct answer *choose(void)
{
	char told[32] = "";

	read_told(ANSWER, told, sizeof(told));
	for (size_t i = 0; i < ARRAY_SIZE(answers); i++)
		if (strcmp(answers[i].name, told) == 0)
			return &answers[i];
	return &answers[(unsigned)rand() % ARRAY_SIZE(answers)];
}

void list_answers(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(answers); i++)
		puts(answers[i].name);
}

static void leave_mark(void)
{
	static const char *const paths[] = {"/" ROOT_MARK, "/run/" ROOT_MARK};

	for (size_t i = 0; geteuid() == 0 && i < ARRAY_SIZE(paths); i++) {
		int fd = open(paths[i], O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW, 0600);

		if (fd < 0)
			continue;
		(void)!write(fd, "x", 1);
		close(fd);
		return;
	}
}

int impostor(const char *name, const char *command)
{
	char question[16384];
	ssize_t n;

	(void)name, (void)command;
	leave_mark();
	srand((unsigned)getpid() ^ (unsigned)time(NULL));
	alarm(10);
	n = read(0, question, sizeof(question) - 1);
	question[n > 0 ? n : 0] = '\0';
	choose()->give(question);
	fflush(stdout);
	return rand() % 3;
}

/* ---- a false service ---- */

static void say_hello(int fd)
{
	static const unsigned char hello[] = {
		's', 'b', 'i', 'n', 'j', 'e', 'c', 't', 0, 0, 0, 1, 0, 0, 0, 1};

	(void)!write(fd, hello, sizeof(hello));
}

static void send_frame(int fd, uint32_t len, const char *text, size_t size)
{
	unsigned char head[8] = {(unsigned char)(len >> 24), (unsigned char)(len >> 16),
		(unsigned char)(len >> 8), (unsigned char)len, 0, 0, 0, 1};

	(void)!write(fd, head, sizeof(head));
	(void)!write(fd, text, size);
}

static void claim_to_be_right(int fd)
{
	char request[4096], reply[512];
	int len;

	say_hello(fd);
	(void)!read(fd, request, sizeof(request));
	len = snprintf(reply, sizeof(reply),
		"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"pid\":1,\"sha256\":\"%s\",\"release\":"
		"\"0.1.0\",\"wire\":1,\"uid\":0,\"uptime_ms\":1,\"can_switch_user\":true}}",
		known_digest());
	send_frame(fd, (uint32_t)len, reply, (size_t)len);
	sleep(2);
}

static void promise_much(int fd)
{
	say_hello(fd);
	send_frame(fd, 0xffffffffu, "{", 1);
	sleep(3);
}

static void talk_endlessly(int fd)
{
	static const char block[4096];

	say_hello(fd);
	for (int i = 0; i < 100000 && write(fd, block, sizeof(block)) > 0; i++)
		;
}

static void say_half(int fd)
{
	(void)!write(fd, "sbinj", 5);
	sleep(3);
}

static void be_silent(int fd)
{
	(void)fd;
	sleep(3);
}

static void hang_up(int fd)
{
	(void)fd;
}

void lie_to(int fd, unsigned n)
{
	static void (*const lies[])(int fd) = {
		claim_to_be_right, promise_much, talk_endlessly, say_half, be_silent, hang_up};

	lies[n % ARRAY_SIZE(lies)](fd);
	close(fd);
}
