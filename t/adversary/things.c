/* SPDX-License-Identifier: MIT */
/* What an attack can put at a path. */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "t/adversary/adversary.h"

#define DEPTH 40
#define WIDTH 200
#define HUGE_FILE (1LL << 30)
#define EXCHANGE 2 /* RENAME_EXCHANGE */

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st, (void)type, (void)ftw;
	remove(path);
	return 0;
}

void clear(const char *path)
{
	if (unlink(path) < 0 && errno != ENOENT)
		nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
}

static void put_text(const char *path, const char *text, size_t len, mode_t mode)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);

	if (fd < 0)
		return;
	if (write(fd, text, len) == (ssize_t)len)
		fchmod(fd, mode);
	close(fd);
}

static void put_file(const char *path)
{
	put_text(path, "mine\n", 5, 0666);
}

void put_dir(const char *path)
{
	if (mkdir(path, 0777) == 0)
		chmod(path, 0777);
}

static void put_below(const char *path, const char *name, void (*put)(const char *))
{
	char whole[PATH_MAX];

	snprintf(whole, sizeof(whole), "%s/%s", path, name);
	put(whole);
}

static void put_link_to_etc(const char *path)
{
	(void)!symlink("/etc", path);
}

static void put_link_to_host(const char *path)
{
	(void)!symlink(host_dir, path);
}

static void put_link_up_to_host(const char *path)
{
	char to[PATH_MAX];

	snprintf(to, sizeof(to), "../../../../../../../..%s", host_dir);
	(void)!symlink(to, path);
}

static void put_dangling_link(const char *path)
{
	char to[PATH_MAX];

	snprintf(to, sizeof(to), "%s/new", host_dir);
	(void)!symlink(to, path);
}

static void put_loop(const char *path)
{
	(void)!symlink(path, path);
}

static void put_proc_link(const char *path)
{
	(void)!symlink("/proc/1/root/etc", path);
}

static void put_fifo(const char *path)
{
	if (mkfifo(path, 0666) == 0)
		chmod(path, 0666);
}

static void put_socket(const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
	(void)!bind(fd, (struct sockaddr *)&address, sizeof(address));
	close(fd);
}

static void put_dir_with_impostor(const char *path)
{
	put_dir(path);
	put_below(path, PROGRAM_NAME, put_impostor);
}

static void put_dir_with_dirs(const char *path)
{
	static const char *const names[] = {PROGRAM_NAME, SERVER_SOCKET, "server.lock",
		"server-start.lock", "server.pid", "server-stderr.log", "shutdown-status.json"};

	put_dir(path);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		put_below(path, names[i], put_dir);
}

static void put_dir_with_links(const char *path)
{
	static const char *const names[] = {PROGRAM_NAME, SERVER_SOCKET, "server.lock",
		"server-start.lock", "server.pid", "server-stderr.log", "server-stdout.log"};

	put_dir(path);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		put_below(path, names[i], put_dangling_link);
}

static void put_dir_with_fifos(const char *path)
{
	static const char *const names[] = {PROGRAM_NAME, SERVER_SOCKET, "server.lock",
		"server-start.lock", "server.pid", "server-stderr.log", "server-stdout.log"};

	put_dir(path);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		put_below(path, names[i], put_fifo);
}

static void put_deep(const char *path)
{
	char whole[PATH_MAX];
	size_t len = (size_t)snprintf(whole, sizeof(whole), "%s", path);

	put_dir(whole);
	for (int i = 0; i < DEPTH && len + 3 < sizeof(whole); i++) {
		memcpy(whole + len, "/d", 3);
		len += 2;
		put_dir(whole);
	}
}

static void put_wide(const char *path)
{
	char name[16];

	put_dir(path);
	for (int i = 0; i < WIDTH; i++) {
		snprintf(name, sizeof(name), "f%d", i);
		put_below(path, name, put_file);
	}
}

static void put_shut_dir(const char *path)
{
	put_dir(path);
	put_below(path, "inside", put_file);
	chmod(path, 0);
}

void put_obstacle(const char *path, unsigned n)
{
	static void (*const kinds[])(const char *) = {
		put_dir_with_impostor,
		put_link_to_host,
		put_file,
		put_link_to_etc,
		put_fifo,
		put_dir_with_links,
		put_loop,
		put_socket,
		put_dangling_link,
		put_dir_with_dirs,
		put_impostor,
		put_proc_link,
		put_deep,
		put_link_up_to_host,
		put_dir_with_fifos,
		put_wide,
		put_shut_dir,
	};

	kinds[n % ARRAY_SIZE(kinds)](path);
}

static void put_huge(const char *path)
{
	put_file(path);
	(void)!truncate(path, HUGE_FILE);
}

static void put_escapes(const char *path)
{
	static const char text[] = "ID=\x1b]0;owned\a\x1b[2J\nPRETTY_NAME=\"\x1b[31m\xc2\x9b\x9b"
				   "31m\"\r\nVERSION_ID=\b\b\n";

	put_text(path, text, sizeof(text) - 1, 0644);
}

static void put_binary(const char *path)
{
	static const char text[] = "\0\xff\xfe\x7f"
				   "ELF\2\1\1\0\n=\n=\0=\nID=\0\n";

	put_text(path, text, sizeof(text) - 1, 0644);
}

static void put_root_entry(const char *path)
{
	static const char text[] = "root:x:4242:4242:::/bin/false\n0:x:4242:4242::/:/0\n";

	put_text(path, text, sizeof(text) - 1, 0644);
}

void put_nonsense(const char *path, unsigned n, bool may_block)
{
	static void (*const kinds[])(const char *) = {put_huge, put_escapes, put_loop, put_binary,
		put_link_to_host, put_dir, put_root_entry, put_dangling_link, put_proc_link,
		put_impostor, put_fifo};

	kinds[n % (ARRAY_SIZE(kinds) - (may_block ? 0 : 1))](path);
}

/* Into the directory itself: a rename must not cross file systems. */
void put_impostor(const char *path)
{
	char fresh[PATH_MAX], block[65536];
	int from = open(SOURCE, O_RDONLY), to;
	ssize_t n;

	snprintf(fresh, sizeof(fresh), "%s~%ld", path, (long)getpid());
	to = open(fresh, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, 0755);
	while (from >= 0 && to >= 0 && (n = read(from, block, sizeof(block))) > 0)
		if (write(to, block, (size_t)n) != n)
			break;
	if (to >= 0) {
		fchmod(to, 0755);
		close(to);
		if (rename(fresh, path) < 0)
			unlink(fresh);
	}
	if (from >= 0)
		close(from);
}

void swap(const char *one, const char *two)
{
	if (syscall(SYS_renameat2, AT_FDCWD, one, AT_FDCWD, two, EXCHANGE) < 0 && errno == ENOENT)
		(void)!rename(one, two);
}
