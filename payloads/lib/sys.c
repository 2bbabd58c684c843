/* SPDX-License-Identifier: MIT */
/* Process hygiene and small facts about this process and its surroundings. */
#include "payloads/lib/sys.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "payloads/lib/base.h"
#include "payloads/lib/io.h"
#include "payloads/lib/relro.h"

#define CAP_WORDS 2
#define CAP_BIT_SETGID 6
#define CAP_BIT_SETUID 7
#define CAP_VERSION_3 0x20080522
#define CLOSE_RANGE_NUMBER 436 /* the same on every architecture */

int sys_null(bool for_output)
{
	int fd = io_open(AT_FDCWD, "/dev/null", O_RDWR | O_NOCTTY, 0);
	struct stat st;
	int ends[2];

	if (fd >= 0 && fstat(fd, &st) == 0 && S_ISCHR(st.st_mode))
		return fd;
	io_close(&fd);
	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	close(ends[for_output ? 0 : 1]);
	return ends[for_output ? 1 : 0];
}

/* As the program was started. */
static struct {
	bool ignores_pipe;
	sigset_t mask;
} inherited;

void sys_start(void)
{
	relro_seal();
	sigprocmask(SIG_BLOCK, NULL, &inherited.mask);
	inherited.ignores_pipe = signal(SIGPIPE, SIG_IGN) == SIG_IGN;
	for (int fd = 0; fd <= 2; fd++) {
		int null;

		if (fcntl(fd, F_GETFD) >= 0)
			continue;
		null = sys_null(fd > 0);
		if (null < 0)
			continue;
		if (null != fd) {
			dup2(null, fd);
			close(null);
		} else {
			fcntl(fd, F_SETFD, 0);
		}
	}
}

static void close_range_or_each(unsigned first, unsigned last)
{
	struct rlimit limit;
	unsigned end = 65536;

	if (first > last || syscall(CLOSE_RANGE_NUMBER, first, last, 0) == 0)
		return;
	if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_max < end)
		end = (unsigned)limit.rlim_max;
	for (unsigned fd = first; fd <= last && fd < end; fd++)
		close((int)fd);
}

void sys_close_from(int lowest, int keep)
{
	if (keep < lowest) {
		close_range_or_each((unsigned)lowest, UINT_MAX);
		return;
	}
	if (keep > lowest)
		close_range_or_each((unsigned)lowest, (unsigned)keep - 1);
	close_range_or_each((unsigned)keep + 1, UINT_MAX);
}

void sys_default_signals(void)
{
	sigset_t none;

	for (int s = 1; s < NSIG; s++)
		signal(s, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

void sys_inherited_signals(void)
{
	signal(SIGPIPE, inherited.ignores_pipe ? SIG_IGN : SIG_DFL);
	sigprocmask(SIG_SETMASK, &inherited.mask, NULL);
}

const char *sys_exec_path(void)
{
	return (const char *)getauxval(AT_EXECFN); /* NOLINT: the kernel's own string */
}

/* As we were called, for want of /proc. */
static int find_called(char path[PATH_MAX])
{
	const char *called = sys_exec_path(), *slash = called ? strrchr(called, '/') : NULL;
	char above[PATH_MAX], whole[PATH_MAX];
	int n;

	if (called && realpath(called, path))
		return 0;
	if (!called || strlen(called) >= PATH_MAX)
		return -ENOENT;
	n = slash ? (int)(slash - called) : 0;
	snprintf(above, sizeof(above), "%.*s", n, called);
	if (!realpath(slash == called ? "/" : n > 0 ? above : ".", whole))
		return -errno;
	n = snprintf(path, PATH_MAX, "%s/%s", strcmp(whole, "/") == 0 ? "" : whole,
		slash ? slash + 1 : called);
	return n < PATH_MAX ? 0 : -ENAMETOOLONG;
}

int sys_program_path(char path[PATH_MAX])
{
	static const char deleted[] = " (deleted)";
	ssize_t n = readlink("/proc/self/exe", path, PATH_MAX - 1);
	struct stat st;
	char *end;

	if (n < 1 || path[0] != '/')
		return find_called(path);
	path[n] = '\0';
	end = path + n - (ssize_t)strlen(deleted);
	if (end > path && strcmp(end, deleted) == 0 && lstat(path, &st) < 0)
		*end = '\0';
	return 0;
}

int sys_peer(int fd, struct ucred *ret_peer)
{
	socklen_t len = sizeof(*ret_peer);

	*ret_peer = (struct ucred){0, (uid_t)-1, (gid_t)-1};
	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, ret_peer, &len) < 0 ? -errno : 0;
}

int sys_open_self(void)
{
	const char *path = sys_exec_path();
	int fd = io_open(AT_FDCWD, "/proc/self/exe", O_RDONLY, 0);

	if (fd >= 0 || !path)
		return fd;
	return io_open(AT_FDCWD, path, O_RDONLY, 0);
}

void sys_undumpable(void)
{
	prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}

int sys_digest(int fd, char hex[SHA256_HEX])
{
	struct sha256 ctx;
	char block[16384];
	off_t at = 0;
	ssize_t n;

	sha256_init(&ctx);
	for (;;) {
		n = pread(fd, block, sizeof(block), at);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		sha256_add(&ctx, block, (size_t)n);
		at += n;
	}
	sha256_end_hex(&ctx, hex);
	return n < 0 ? -errno : 0;
}

bool sys_is_same(const struct stat *a, const struct stat *b)
{
	return a->st_ino == b->st_ino && a->st_dev == b->st_dev;
}

bool sys_has_name(const struct stat *file, int dirfd, const char *name)
{
	struct stat there;

	return fstatat(dirfd, name, &there, AT_SYMLINK_NOFOLLOW) == 0 && sys_is_same(file, &there);
}

int sys_know_self(struct sys_self *self)
{
	int fd = sys_open_self();
	int r = fd < 0 ? fd : sys_digest(fd, self->hex);

	if (r == 0 && fstat(fd, &self->st) < 0)
		r = -errno;
	io_close(&fd);
	if (r != 0)
		memset(self, 0, sizeof(*self));
	return r;
}

bool sys_is_self(const struct sys_self *self, const struct stat *st)
{
	return self->hex[0] && sys_is_same(st, &self->st);
}

int sys_random_hex(char *text, size_t bytes)
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < bytes; i++) {
		unsigned char c;

		if (syscall(SYS_getrandom, &c, 1, 0) != 1)
			return -errno;
		text[2 * i] = digits[c >> 4];
		text[2 * i + 1] = digits[c & 15];
	}
	text[2 * bytes] = '\0';
	return 0;
}

static bool is_usable_dir(const char *path)
{
	struct stat st;

	return path && path[0] == '/' && stat(path, &st) == 0 && S_ISDIR(st.st_mode) &&
	       faccessat(AT_FDCWD, path, W_OK | X_OK, 0) == 0;
}

const char *sys_tmpdir(void)
{
	static const char *const variables[] = {"TMPDIR", "TEMP", "TMP"};
	static const char *const places[] = {
		"/tmp", "/var/tmp", "/usr/tmp", "/dev/shm", "/run", "/"};

	for (size_t i = 0; i < ARRAY_SIZE(variables); i++)
		if (is_usable_dir(getenv(variables[i])))
			return getenv(variables[i]);
	for (size_t i = 0; i < ARRAY_SIZE(places); i++)
		if (is_usable_dir(places[i]))
			return places[i];
	return "/";
}

bool sys_can_switch_user(void)
{
	struct {
		uint32_t version;
		int pid;
	} head = {CAP_VERSION_3, 0};
	struct {
		uint32_t effective, permitted, inheritable;
	} data[CAP_WORDS] = {{0, 0, 0}};
	uint32_t need = 1u << CAP_BIT_SETGID | 1u << CAP_BIT_SETUID;

	if (syscall(SYS_capget, &head, data) < 0)
		return geteuid() == 0;
	return (data[0].effective & need) == need;
}

unsigned long long sys_pid_namespace(void)
{
	struct stat st;

	return stat("/proc/self/ns/pid", &st) == 0 ? (unsigned long long)st.st_ino : 0;
}

unsigned long long sys_start_time(pid_t pid)
{
	char path[40], text[1024], *p;
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%ld/stat", (long)pid);
	fd = io_open(AT_FDCWD, path, O_RDONLY, 0);
	if (fd < 0)
		return 0;
	n = io_read(fd, text, sizeof(text) - 1);
	close(fd);
	if (n <= 0)
		return 0;
	text[n] = '\0';
	/* field 22, counted from the ')' that ends the process name, which is field 2 */
	p = strrchr(text, ')');
	for (int field = 2; p && field < 22; field++) {
		p = strchr(p, ' ');
		if (p)
			p++;
	}
	return p ? strtoull(p, NULL, 10) : 0;
}
