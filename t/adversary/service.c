/* SPDX-License-Identifier: MIT */
/* Attacks on the service's meeting place: its socket and its locks. */
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "t/adversary/adversary.h"

static int listen_there(void)
{
	struct sockaddr_un address = {
		.sun_family = AF_UNIX, .sun_path = SERVER_DIR "/" SERVER_SOCKET};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	put_dir(PROGRAM_DIR);
	put_dir(SERVER_DIR);
	unlink(address.sun_path);
	if (bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0 || listen(fd, 64) < 0) {
		close(fd);
		return -1;
	}
	chmod(address.sun_path, 0777);
	return fd;
}

/* Listens where the service would, and lies to whoever comes. */
static void liar(unsigned n)
{
	static int listener = -1;
	struct pollfd ready = {.events = POLLIN};
	int fd;

	if (n % 200 == 0 && listener >= 0) {
		close(listener);
		listener = -1;
	}
	if (listener < 0)
		listener = listen_there();
	ready.fd = listener;
	if (listener < 0 || poll(&ready, 1, 1) <= 0)
		return;
	fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	if (fd < 0)
		return;
	if (fork() == 0) {
		alarm(5);
		lie_to(fd, n);
		_exit(0);
	}
	close(fd);
}

/* The same with a queue of connections that is full, and nobody who accepts. */
static void deaf(unsigned n)
{
	static int listener = -1, callers[80];
	struct sockaddr_un address = {
		.sun_family = AF_UNIX, .sun_path = SERVER_DIR "/" SERVER_SOCKET};

	if (n % 500 != 0)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(callers); i++)
		if (callers[i] > 0)
			close(callers[i]);
	if (listener >= 0)
		close(listener);
	listener = listen_there();
	for (size_t i = 0; listener >= 0 && i < ARRAY_SIZE(callers); i++) {
		callers[i] = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
		(void)!connect(callers[i], (struct sockaddr *)&address, sizeof(address));
	}
}

/* Holds the locks that whoever starts a service takes. */
static void locks(unsigned n)
{
	static const char *const names[] = {SERVER_DIR "/server-start.lock",
		SERVER_DIR "/server.lock", "/tmp/.sbinject/lock", "/run/.sbinject/lock",
		"/var/tmp/.sbinject/lock"};
	static int held[ARRAY_SIZE(names)];
	size_t i = n % ARRAY_SIZE(names);

	put_dir(PROGRAM_DIR);
	put_dir(SERVER_DIR);
	put_dir("/tmp/.sbinject");
	put_dir("/run/.sbinject");
	put_dir("/var/tmp/.sbinject");
	if (held[i] > 0)
		close(held[i]);
	held[i] = open(names[i], O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0666);
	if (held[i] >= 0)
		flock(held[i], LOCK_EX | LOCK_NB);
}

/* Asks whoever listens there to run a command; our client would look first who that is. */
static void ask(const char *dir)
{
	static const char text[] =
		"{\"jsonrpc\":\"2.0\",\"method\":\"exec_remote_start\",\"id\":1,\"params\":"
		"{\"command\":\"echo >" SERVED_MARK "\"}}";
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	unsigned char head[8] = {0, 0, 0, sizeof(text) - 1, 0, 0, 0, 1}, hello[16];
	struct timeval patience = {0, 200000};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(address.sun_path, sizeof(address.sun_path), "%.80s/" SERVER_SOCKET, dir);
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	if (connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0 &&
		read(fd, hello, sizeof(hello)) == (ssize_t)sizeof(hello) &&
		write(fd, head, sizeof(head)) == (ssize_t)sizeof(head) &&
		write(fd, text, sizeof(text) - 1) == (ssize_t)sizeof(text) - 1)
		(void)!read(fd, hello, sizeof(hello));
	close(fd);
}

static void tell_served(void)
{
	struct stat st;

	if (lstat(SERVED_MARK, &st) < 0 || st.st_uid == geteuid())
		return;
	printf("reached the service of user %u\n", (unsigned)st.st_uid);
	fflush(stdout);
}

/* Swaps the service's directory with his own while it is being started, wherever he can write to
   what is above it, and asks for a command by whatever socket comes to be in either. */
static void exchange(unsigned n)
{
	static const char *const dirs[] = {
		SERVER_DIR, "/tmp/sandbox-tools", "/home/tmp/sandbox-tools", "/home/tmp/.server"};
	const char *dir = dirs[n % ARRAY_SIZE(dirs)];
	char mine[64];

	snprintf(mine, sizeof(mine), "%s-mine", dir);
	put_dir("/home/tmp");
	put_dir(mine);
	swap(mine, dir);
	ask(mine);
	ask(dir);
	tell_served();
}

/* Is there first, with a directory that is open to all. */
static void host_them(unsigned n)
{
	static const char *const dirs[] = {
		"/tmp/sandbox-tools", "/home/tmp/sandbox-tools", SERVER_DIR};
	const char *dir = dirs[n % ARRAY_SIZE(dirs)];

	put_dir("/home/tmp");
	put_dir(dir);
	ask(dir);
	tell_served();
}

const struct attack service_attacks[] = {
	{"liar", liar},
	{"deaf", deaf},
	{"locks", locks},
	{"exchange", exchange},
	{"host-them", host_them},
	{NULL, NULL},
};
