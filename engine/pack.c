/* SPDX-License-Identifier: MIT */
#include "engine/pack.h"

#include "engine/file.h"
#include "engine/interrupt.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>

enum { BLOCK = 512, TAIL = 2 * BLOCK };

static void free_entry(struct archive_entry **entry)
{
	archive_entry_free(*entry);
}

/* ---- writing ---- */

struct eng_pack {
	struct archive *archive;
	int fd;
	const char *path;
	struct sb_err err; /* of a write: libarchive would keep no more than its text */
};

static la_ssize_t on_write(struct archive *a, void *ctx, const void *data, size_t len)
{
	struct eng_pack *pack = ctx;

	if (sb_file_put(pack->fd, pack->path, data, len, &pack->err) < 0) {
		archive_set_error(a, EIO, "%s", pack->err.text);
		return -1;
	}
	return (la_ssize_t)len;
}

static int fail_write(struct eng_pack *pack, struct sb_err *err)
{
	const char *why = archive_error_string(pack->archive);

	if (pack->err.code != SB_OK)
		return sb_err_set(err, pack->err.code, "%s", pack->err.text);
	return sb_err_set(
		err, SB_FAILED, "cannot write '%s': %s", pack->path, why ? why : "out of memory");
}

int eng_pack_new(int fd, const char *path, struct eng_pack **ret, struct sb_err *err)
{
	struct eng_pack *pack = calloc(1, sizeof(*pack));

	if (!pack)
		return sb_err_nomem(err);
	pack->fd = fd;
	pack->path = path;
	pack->archive = archive_write_new();
	if (!pack->archive || archive_write_set_format_ustar(pack->archive) != ARCHIVE_OK ||
		archive_write_set_bytes_per_block(pack->archive, 0) != ARCHIVE_OK ||
		archive_write_open2(pack->archive, pack, NULL, on_write, NULL, NULL) !=
			ARCHIVE_OK) {
		eng_pack_free(pack);
		return sb_err_nomem(err);
	}
	*ret = pack;
	return 0;
}

void eng_pack_free(struct eng_pack *pack)
{
	if (!pack)
		return;
	/* After a failed write, only closing gives back what the writer holds. */
	if (pack->archive)
		archive_write_close(pack->archive);
	archive_write_free(pack->archive);
	free(pack);
}

int eng_pack_add(struct eng_pack *pack, const char *name, uint64_t size, struct sb_err *err)
{
	sb_auto(free_entry) struct archive_entry *entry = archive_entry_new();

	if (!entry)
		return sb_err_nomem(err);
	archive_entry_set_pathname(entry, name);
	archive_entry_set_filetype(entry, S_IFREG);
	archive_entry_set_perm(entry, 0644);
	archive_entry_set_size(entry, (la_int64_t)size);
	archive_entry_set_mtime(entry, 0, 0);
	if (archive_write_header(pack->archive, entry) != ARCHIVE_OK)
		return fail_write(pack, err);
	return 0;
}

int eng_pack_write(void *ctx, const void *data, size_t len, struct sb_err *err)
{
	struct eng_pack *pack = ctx;

	if (archive_write_data(pack->archive, data, len) != (la_ssize_t)len)
		return fail_write(pack, err);
	return 0;
}

int eng_pack_finish(struct eng_pack *pack, struct sb_err *err)
{
	return archive_write_close(pack->archive) == ARCHIVE_OK ? 0 : fail_write(pack, err);
}

/* ---- reading ---- */

struct reader {
	const struct eng_pack_source *source;
	uint64_t at;   /* what libarchive reads next */
	uint64_t next; /* where the next header must be */
	char piece[16 << 10];
};

static void free_reader(struct archive **a)
{
	archive_read_free(*a);
}

static la_ssize_t on_read(struct archive *a, void *ctx, const void **ret)
{
	struct reader *reader = ctx;
	ssize_t n;

	do
		n = pread(reader->source->fd, reader->piece, sizeof(reader->piece),
			(off_t)reader->at);
	while (n < 0 && errno == EINTR && !eng_interrupted);
	if (n < 0) {
		archive_set_error(a, errno, "%s", strerror(errno));
		return -1;
	}
	reader->at += (uint64_t)n;
	*ret = reader->piece;
	return n;
}

static la_int64_t on_skip(struct archive *a, void *ctx, la_int64_t count)
{
	struct reader *reader = ctx;
	uint64_t left = reader->at < reader->source->size ? reader->source->size - reader->at : 0;

	(void)a;
	if ((uint64_t)count > left)
		count = (la_int64_t)left;
	reader->at += (uint64_t)count;
	return count;
}

static int refuse(const struct reader *reader, const char *why, struct sb_err *err)
{
	return sb_err_set(err, SB_MISMATCH, "'%s' is no bundle of sbinject, or a damaged one: %s",
		reader->source->path, why);
}

static bool is_plain(struct archive_entry *entry)
{
	return archive_entry_filetype(entry) == AE_IFREG && !archive_entry_hardlink(entry) &&
	       archive_entry_size_is_set(entry);
}

static int take(
	struct reader *reader, struct archive *a, struct archive_entry *entry, struct sb_err *err)
{
	const char *name = archive_entry_pathname(entry);
	struct eng_pack_member member = {"", reader->next + BLOCK, 0};
	la_int64_t size = archive_entry_size(entry);

	if (!is_plain(entry) || !name || strlen(name) > ENG_PACK_NAME_MAX)
		return refuse(reader, "something other than a file is in it", err);
	/* A header of an extension stands before the one that it is for. */
	if ((uint64_t)archive_read_header_position(a) != reader->next)
		return refuse(reader, "a header is not where it should be", err);
	if (size < 0 || (uint64_t)size > SB_MAX_ARCHIVE)
		return refuse(reader, "a file in it is too large", err);
	strcpy(member.name, name);
	member.size = (uint64_t)size;
	reader->next = member.offset + (member.size + BLOCK - 1) / BLOCK * BLOCK;
	if (reader->next > reader->source->size)
		return refuse(reader, "it is cut off", err);
	return reader->source->on_member(reader->source->ctx, &member, err);
}

static int read_members(struct reader *reader, struct archive *a, struct sb_err *err)
{
	for (size_t count = 0;; count++) {
		struct archive_entry *entry;
		int ret = archive_read_next_header(a, &entry);

		if (ret == ARCHIVE_EOF)
			break;
		if (eng_interrupted)
			return sb_err_set(err, SB_INTERRUPTED, "interrupted");
		if (ret != ARCHIVE_OK)
			return refuse(reader, archive_error_string(a), err);
		if (count == ENG_PACK_MEMBERS_MAX)
			return refuse(reader, "too many files are in it", err);
		if (take(reader, a, entry, err) < 0)
			return -1;
	}
	if (reader->source->size != reader->next + TAIL)
		return refuse(reader, "it is cut off, or something is behind its end", err);
	return 0;
}

int eng_pack_read(const struct eng_pack_source *source, struct sb_err *err)
{
	sb_auto(free_reader) struct archive *a = archive_read_new();
	struct reader reader = {.source = source};

	if (!a)
		return sb_err_nomem(err);
	if (archive_read_support_format_tar(a) != ARCHIVE_OK ||
		archive_read_support_format_empty(a) != ARCHIVE_OK ||
		archive_read_set_read_callback(a, on_read) != ARCHIVE_OK ||
		archive_read_set_skip_callback(a, on_skip) != ARCHIVE_OK ||
		archive_read_set_callback_data(a, &reader) != ARCHIVE_OK)
		return sb_err_nomem(err);
	if (archive_read_open1(a) != ARCHIVE_OK)
		return refuse(&reader, archive_error_string(a), err);
	return read_members(&reader, a, err);
}
