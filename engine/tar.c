/* SPDX-License-Identifier: MIT */
#include "engine/tar.h"

#include "engine/log.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

struct target {
	struct sb_buf *out;
	struct sb_err *err;
};

static void free_writer(struct archive **a)
{
	/* After a failed write, only closing gives back what the writer holds. */
	if (*a)
		archive_write_close(*a);
	archive_write_free(*a);
}

static void free_reader(struct archive **a)
{
	archive_read_free(*a);
}

static void free_entry(struct archive_entry **entry)
{
	archive_entry_free(*entry);
}

static la_ssize_t on_write(struct archive *a, void *ctx, const void *data, size_t len)
{
	struct target *target = ctx;

	if (sb_buf_add(target->out, data, len, target->err) < 0) {
		archive_set_error(a, EIO, "%s", target->err->text);
		return -1;
	}
	return (la_ssize_t)len;
}

static int fail(struct archive *a, struct sb_err *err)
{
	const char *why = archive_error_string(a);

	return sb_err_set(
		err, SB_FAILED, "cannot make an archive: %s", why ? why : "out of memory");
}

static mode_t member_type(const struct eng_tar_member *member)
{
	if (member->link)
		return S_IFLNK;
	return member->name[strlen(member->name) - 1] == '/' ? S_IFDIR : S_IFREG;
}

static int add_member(struct archive *a, const struct eng_tar_member *member, struct sb_err *err)
{
	sb_auto(free_entry) struct archive_entry *entry = archive_entry_new();
	mode_t type = member_type(member);
	size_t len = type == S_IFREG ? member->len : 0;

	if (!entry)
		return sb_err_nomem(err);
	archive_entry_set_pathname(entry, member->name);
	archive_entry_set_filetype(entry, type);
	archive_entry_set_symlink(entry, member->link);
	archive_entry_set_perm(entry, (mode_t)member->mode);
	archive_entry_set_size(entry, (la_int64_t)len);
	archive_entry_set_mtime(entry, 0, 0);
	if (archive_write_header(a, entry) != ARCHIVE_OK)
		return fail(a, err);
	if (len && archive_write_data(a, member->data, len) != (la_ssize_t)len)
		return fail(a, err);
	sb_log(SB_TRACE_TAR, "%s mode %o, %zu bytes", member->name, member->mode, member->len);
	return 0;
}

/* Whatever libarchive warns of would not be what was asked for. */
static int compress(struct archive *a)
{
	bool done = archive_write_add_filter_gzip(a) == ARCHIVE_OK &&
		    archive_write_set_filter_option(a, "gzip", "compression-level", "9") ==
			    ARCHIVE_OK &&
		    archive_write_set_filter_option(a, "gzip", "timestamp", NULL) == ARCHIVE_OK;

	return done ? 0 : -1;
}

static int write_archive(const struct eng_tar_member *members, size_t count, bool compressed,
	struct sb_buf *out, struct sb_err *err)
{
	sb_auto(free_writer) struct archive *a = archive_write_new();
	struct target target = {out, err};

	if (!a)
		return sb_err_nomem(err);
	if (archive_write_set_format_ustar(a) != ARCHIVE_OK || (compressed && compress(a) < 0) ||
		archive_write_set_bytes_per_block(a, 0) != ARCHIVE_OK ||
		archive_write_open2(a, &target, NULL, on_write, NULL, NULL) != ARCHIVE_OK)
		return fail(a, err);
	for (size_t i = 0; i < count; i++)
		if (add_member(a, &members[i], err) < 0)
			return -1;
	return archive_write_close(a) == ARCHIVE_OK ? 0 : fail(a, err);
}

int eng_tar_write(
	const struct eng_tar_member *members, size_t count, struct sb_buf *out, struct sb_err *err)
{
	return write_archive(members, count, false, out, err);
}

int eng_tar_write_gzip(
	const struct eng_tar_member *members, size_t count, struct sb_buf *out, struct sb_err *err)
{
	return write_archive(members, count, true, out, err);
}

static enum eng_type entry_type(struct archive_entry *entry)
{
	switch (archive_entry_filetype(entry)) {
	case AE_IFREG:
		return archive_entry_hardlink(entry) ? ENG_SPECIAL : ENG_FILE;
	case AE_IFDIR:
		return ENG_DIR;
	case AE_IFLNK:
		return ENG_LINK;
	default:
		return ENG_SPECIAL;
	}
}

static int read_data(struct archive *a, size_t max_bytes, struct sb_buf *out, struct sb_err *err)
{
	char chunk[8192];

	while (max_bytes) {
		size_t want = max_bytes < sizeof(chunk) ? max_bytes : sizeof(chunk);
		la_ssize_t n = archive_read_data(a, chunk, want);

		/* The archive is cut off on purpose where the file is longer than wanted. */
		if (n <= 0)
			return 0;
		if (sb_buf_add(out, chunk, (size_t)n, err) < 0)
			return -1;
		max_bytes -= (size_t)n;
	}
	return 0;
}

int eng_tar_first(const void *tar, size_t len, size_t max_bytes, enum eng_type *ret_type,
	struct sb_buf *out, struct sb_err *err)
{
	sb_auto(free_reader) struct archive *a = archive_read_new();
	struct archive_entry *entry;
	int ret;

	if (!a)
		return sb_err_nomem(err);
	if (archive_read_support_format_tar(a) != ARCHIVE_OK ||
		archive_read_support_format_empty(a) != ARCHIVE_OK ||
		archive_read_open_memory(a, tar, len) != ARCHIVE_OK)
		return sb_err_set(err, SB_FAILED, "the engine's archive cannot be read: %s",
			archive_error_string(a));
	ret = archive_read_next_header(a, &entry);
	if (ret == ARCHIVE_EOF)
		return 1;
	if (ret < ARCHIVE_WARN)
		return sb_err_set(err, SB_FAILED, "the engine's archive cannot be read: %s",
			archive_error_string(a));
	*ret_type = entry_type(entry);
	return *ret_type == ENG_FILE ? read_data(a, max_bytes, out, err) : 0;
}
