/* SPDX-License-Identifier: MIT */
/* Opening pseudo terminals, also where /dev or /dev/pts is not all there. */
#include "payloads/sandbox-tools/bash_session/pty.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "payloads/lib/base.h"
#include "payloads/lib/io.h"

#ifndef TIOCGPTPEER
#define TIOCGPTPEER _IO('T', 0x41)
#endif

#ifndef TIOCSIG
#define TIOCSIG _IOW('T', 0x36, int)
#endif
#define UNREAD_MAX 2048 /* less than what the kernel takes without looking for signals */

static int open_master(struct fail *fail)
{
	static const char *const paths[] = {"/dev/ptmx", "/dev/pts/ptmx"};
	int error = 0, unlock = 0;

	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		int fd = io_open(AT_FDCWD, paths[i], O_RDWR | O_NOCTTY | O_NONBLOCK, 0);

		if (fd >= 0 && ioctl(fd, TIOCSPTLCK, &unlock) == 0)
			return fd;
		if (fd >= 0)
			fd = -errno;
		if (!error || error == ENOENT)
			error = -fd;
	}
	return fail_sys(fail, error, "cannot get a pseudo terminal from /dev/ptmx");
}

static int open_slave(int master, struct fail *fail)
{
	char path[32];
	int number, fd = ioctl(master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);

	if (fd >= 0)
		return fd;
	/* before Linux 4.13 there was only the path */
	if (ioctl(master, TIOCGPTN, &number) < 0)
		return fail_sys(fail, errno, "cannot get a pseudo terminal from /dev/ptmx");
	snprintf(path, sizeof(path), "/dev/pts/%d", number);
	fd = io_open(AT_FDCWD, path, O_RDWR | O_NOCTTY, 0);
	return fd < 0 ? fail_sys(fail, fd, "cannot open '%s'", path) : fd;
}

int pty_open(struct pty *pty, const struct user *owner, struct fail *fail)
{
	struct termios settings;

	pty->slave = -1;
	pty->master = open_master(fail);
	if (pty->master < 0)
		return -1;
	pty->slave = open_slave(pty->master, fail);
	if (pty->slave < 0) {
		pty_close(pty);
		return -1;
	}
	if (tcgetattr(pty->slave, &settings) == 0) {
		settings.c_oflag &= ~(tcflag_t)OPOST;
		settings.c_lflag &= ~(tcflag_t)(ECHO | ECHONL | ICANON);
		tcsetattr(pty->slave, TCSANOW, &settings);
	}
	/* where it is not ours to give, /dev/tty works all the same */
	if (owner && fchown(pty->slave, owner->uid, (gid_t)-1) < 0)
		return 0;
	return 0;
}

void pty_set_canonical(struct pty *pty)
{
	struct termios settings;

	if (tcgetattr(pty->slave, &settings) < 0)
		return;
	settings.c_lflag |= ICANON;
	tcsetattr(pty->slave, TCSANOW, &settings);
}

bool pty_interrupt(int master, bool stuck)
{
	struct termios settings;
	int unread = 0, slave;

	if (tcgetattr(master, &settings) < 0 || !(settings.c_lflag & ISIG) ||
		settings.c_cc[VINTR] != '\003')
		return false;
	slave = ioctl(master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (slave < 0)
		return false;
	stuck = stuck || (ioctl(slave, FIONREAD, &unread) == 0 && unread > UNREAD_MAX);
	if (stuck) {
		tcflush(master, TCOFLUSH);
		tcflush(slave, TCIFLUSH);
		stuck = ioctl(master, TIOCSIG, SIGINT) == 0;
	}
	close(slave);
	return stuck;
}

void pty_close(struct pty *pty)
{
	io_close(&pty->master);
	io_close(&pty->slave);
}
