/* SPDX-License-Identifier: MIT */
#include "payloads/bytes.h"

#include "engine/interrupt.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

int bytes_of_file(int fd, const char *path, uint64_t max, struct bytes *ret, struct sb_err *err)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return sb_err_set(err, SB_FAILED, "cannot read '%s': %s", path, strerror(errno));
	if ((uint64_t)st.st_size > max)
		return sb_err_set(err, SB_MISMATCH, "'%s' has more than the permitted %llu bytes",
			path, (unsigned long long)max);
	*ret = (struct bytes){fd, 0, (uint64_t)st.st_size};
	return 0;
}

static int read_piece(const struct bytes *bytes, uint64_t at, char *piece, size_t max,
	const char *path, struct sb_err *err)
{
	uint64_t left = bytes->size - at;
	ssize_t n;

	do {
		if (eng_interrupted)
			return sb_err_set(err, SB_INTERRUPTED, "interrupted");
		n = pread(bytes->fd, piece, left < max ? (size_t)left : max,
			(off_t)(bytes->offset + at));
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		return sb_err_set(err, SB_FAILED, "cannot read '%s': %s", path, strerror(errno));
	if (n == 0)
		return sb_err_set(err, SB_MISMATCH, "'%s' is cut off", path);
	return (int)n;
}

int bytes_copy(const struct bytes *bytes, const char *path, const struct bytes_sink *to,
	char hex[SHA256_HEX], struct sb_err *err)
{
	char piece[64 << 10];
	struct sha256 hash;
	int n;

	sha256_init(&hash);
	for (uint64_t at = 0; at < bytes->size; at += (unsigned)n) {
		n = read_piece(bytes, at, piece, sizeof(piece), path, err);
		if (n < 0)
			return -1;
		sha256_add(&hash, piece, (size_t)n);
		if (to && to->write(to->ctx, piece, (size_t)n, err) < 0)
			return -1;
	}
	sha256_end_hex(&hash, hex);
	return 0;
}

int bytes_sha256(
	const struct bytes *bytes, const char *path, char hex[SHA256_HEX], struct sb_err *err)
{
	return bytes_copy(bytes, path, NULL, hex, err);
}
