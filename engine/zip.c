/* SPDX-License-Identifier: MIT */
#include "engine/zip.h"

#include "engine/interrupt.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <string.h>

enum { MEMBERS_MAX = 1 << 20, END_SIZE = 22, ENTRY_SIZE = 46 };

static uint32_t number(const unsigned char *at, size_t bytes)
{
	uint32_t value = 0;

	while (bytes--)
		value = value << 8 | at[bytes];
	return value;
}

static bool is_record(const unsigned char *at, const char *signature)
{
	return !memcmp(at, signature, 4);
}

/* The comment at the very end may look like the record before it; the last one is it. */
int eng_zip_find_directory(const void *tail, size_t len, uint64_t total, struct eng_zip_span *ret)
{
	const unsigned char *data = tail;

	for (size_t left = len; left >= END_SIZE; left--) {
		const unsigned char *at = data + left - END_SIZE;

		if (!is_record(at, "PK\5\6"))
			continue;
		ret->size = number(at + 12, 4);
		ret->from = number(at + 16, 4);
		return ret->size != UINT32_MAX && ret->from != UINT32_MAX &&
				       ret->from + ret->size <= total - (len - (size_t)(at - data))
			       ? 0
			       : 1;
	}
	return 1;
}

struct entry {
	uint64_t from;
	size_t len; /* of the record */
	const char *name;
	size_t name_len;
};

static bool read_entry(const unsigned char *at, size_t left, struct entry *ret)
{
	if (left < ENTRY_SIZE || !is_record(at, "PK\1\2"))
		return false;
	ret->from = number(at + 42, 4);
	ret->name = (const char *)at + ENTRY_SIZE;
	ret->name_len = number(at + 28, 2);
	ret->len = ENTRY_SIZE + ret->name_len + number(at + 30, 2) + number(at + 32, 2);
	return ret->len <= left;
}

/* Where the member that begins after `from` begins, or the directory does. */
static uint64_t next_of(const unsigned char *data, size_t len, uint64_t end, uint64_t from)
{
	struct entry entry;

	for (size_t at = 0; at < len && read_entry(data + at, len - at, &entry); at += entry.len)
		if (entry.from > from && entry.from < end)
			end = entry.from;
	return end;
}

int eng_zip_find_member(const void *directory, size_t len, uint64_t end, const char *member,
	struct eng_zip_span *ret)
{
	const unsigned char *data = directory;
	struct entry entry;

	for (size_t at = 0; at < len && read_entry(data + at, len - at, &entry); at += entry.len) {
		if (entry.name_len != strlen(member) ||
			memcmp(entry.name, member, entry.name_len) != 0)
			continue;
		ret->from = entry.from;
		if (entry.from >= end)
			return 1;
		ret->size = next_of(data, len, end, entry.from) - entry.from;
		return 0;
	}
	return 1;
}

static void free_reader(struct archive **a)
{
	archive_read_free(*a);
}

static int refuse(const struct eng_zip_member *member, struct archive *a, struct sb_err *err)
{
	const char *why = archive_error_string(a);

	return sb_err_set(err, SB_MISMATCH, "cannot read '%s' in '%s': %s", member->name,
		member->path, why ? why : "it is damaged");
}

static int open_archive(struct archive *a, const struct eng_zip_member *member, struct sb_err *err)
{
	int failed = member->alone ? archive_read_support_format_zip_streamable(a)
				   : archive_read_support_format_zip_seekable(a);

	if (failed != ARCHIVE_OK)
		return sb_err_nomem(err);
	if (lseek(member->fd, 0, SEEK_SET) < 0)
		return sb_err_set(
			err, SB_FAILED, "cannot read '%s': %s", member->path, strerror(errno));
	if (archive_read_open_fd(a, member->fd, 64 << 10) != ARCHIVE_OK)
		return refuse(member, a, err);
	return 0;
}

static int find(struct archive *a, const struct eng_zip_member *member, struct sb_err *err)
{
	struct archive_entry *entry;

	for (size_t count = 0; count < MEMBERS_MAX; count++) {
		int ret = archive_read_next_header(a, &entry);
		const char *name;

		if (ret == ARCHIVE_EOF)
			return 1;
		if (ret < ARCHIVE_WARN)
			return refuse(member, a, err);
		name = archive_entry_pathname(entry);
		if (name && !strcmp(name, member->name))
			return 0;
		if (member->alone)
			return 1;
	}
	return 1;
}

static int copy(struct archive *a, const struct eng_zip_member *member, struct sb_err *err)
{
	char piece[64 << 10];
	uint64_t len = 0;

	for (;;) {
		la_ssize_t n = archive_read_data(a, piece, sizeof(piece));

		if (eng_interrupted)
			return sb_err_set(err, SB_INTERRUPTED, "interrupted");
		if (n < 0)
			return refuse(member, a, err);
		if (n == 0)
			return 0;
		len += (uint64_t)n;
		if (len > member->max)
			return sb_err_set(err, SB_MISMATCH,
				"'%s' in '%s' is larger than the expected %llu bytes", member->name,
				member->path, (unsigned long long)member->max);
		if (member->sink(member->ctx, piece, (size_t)n, err) < 0)
			return -1;
	}
}

int eng_zip_extract(const struct eng_zip_member *member, struct sb_err *err)
{
	sb_auto(free_reader) struct archive *a = archive_read_new();
	int missing;

	if (!a)
		return sb_err_nomem(err);
	if (open_archive(a, member, err) < 0)
		return -1;
	missing = find(a, member, err);
	return missing ? missing : copy(a, member, err);
}
