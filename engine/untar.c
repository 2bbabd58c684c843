/* SPDX-License-Identifier: MIT */
#include "engine/untar.h"

#include "engine/text.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Of all that comes out of a compressed archive, headers and what is skipped as well. */
static const la_int64_t most_bytes = (la_int64_t)5 << 30;

struct reader {
	const struct eng_untar_source *source;
	uint64_t at;
	bool bursts; /* more comes out than may */
	char piece[65536];
};

static void free_reader(struct archive **a)
{
	archive_read_free(*a);
}

static la_ssize_t on_read(struct archive *a, void *ctx, const void **ret)
{
	struct reader *reader = ctx;
	uint64_t left = reader->source->size - reader->at;
	size_t want = left < sizeof(reader->piece) ? (size_t)left : sizeof(reader->piece);
	ssize_t n;

	reader->bursts = archive_filter_bytes(a, 0) > most_bytes;
	if (reader->bursts)
		return -1;
	do
		n = pread(reader->source->fd, reader->piece, want,
			(off_t)(reader->source->offset + reader->at));
	while (n < 0 && errno == EINTR);
	if (n < 0) {
		archive_set_error(a, errno, "%s", strerror(errno));
		return -1;
	}
	reader->at += (uint64_t)n;
	*ret = reader->piece;
	return n;
}

static int fail_archive(struct archive *a, const struct reader *reader, struct sb_err *err)
{
	const char *why = archive_error_string(a);

	if (reader->bursts)
		return sb_err_set(err, SB_USAGE, "'%s' is too large: more than 5 GiB unpacked",
			reader->source->name);
	return sb_err_set(err, SB_USAGE, "'%s' is not a tar archive that can be read: %s",
		reader->source->name, why ? why : "out of memory");
}

static int open_archive(struct archive *a, struct reader *reader, struct sb_err *err)
{
	if (!a)
		return sb_err_nomem(err);
	if (archive_read_support_filter_gzip(a) != ARCHIVE_OK ||
		archive_read_support_filter_xz(a) != ARCHIVE_OK ||
		archive_read_support_filter_zstd(a) != ARCHIVE_OK ||
		archive_read_support_format_tar(a) != ARCHIVE_OK ||
		archive_read_open(a, reader, NULL, on_read, NULL) != ARCHIVE_OK)
		return fail_archive(a, reader, err);
	return 0;
}

/* ---- members ---- */

static const char *why_unfit(struct archive_entry *entry)
{
	unsigned type = archive_entry_filetype(entry);

	if (!archive_entry_hardlink(entry) && type != AE_IFREG && type != AE_IFDIR &&
		type != AE_IFLNK)
		return "is a device, a FIFO or a socket";
	if (archive_entry_perm(entry) & (S_ISUID | S_ISGID))
		return "has the set-user-ID or set-group-ID bit";
	if (archive_entry_xattr_count(entry) > 0)
		return "has extended attributes";
	if (archive_entry_sparse_count(entry) > 0)
		return "is a sparse file";
	return NULL;
}

/* In the C locale libarchive gives names as text only where they are ASCII. */
static const char *utf8_or(const char *utf8, const char *bytes)
{
	return utf8 ? utf8 : bytes;
}

/* "./a/b/" becomes "a/b"; "" for the top itself. */
static int clean_path(const char *text, char path[4096])
{
	size_t len;

	while (!strncmp(text, "./", 2))
		text += 2 + strspn(text + 2, "/");
	len = strlen(text);
	while (len && text[len - 1] == '/' && len > 1)
		len--;
	if (len >= 4096)
		return -1;
	memcpy(path, text, len);
	path[len] = '\0';
	if (!strcmp(path, "."))
		path[0] = '\0';
	return 0;
}

static enum eng_untar_type type_of(struct archive_entry *entry)
{
	if (archive_entry_hardlink(entry))
		return ENG_UNTAR_AGAIN;
	switch (archive_entry_filetype(entry)) {
	case AE_IFDIR:
		return ENG_UNTAR_DIR;
	case AE_IFLNK:
		return ENG_UNTAR_LINK;
	default:
		return ENG_UNTAR_FILE;
	}
}

static int fail_member(
	const struct reader *reader, const char *path, const char *why, struct sb_err *err)
{
	char text[200];

	sb_text_clean(text, sizeof(text), path, strlen(path));
	return sb_err_set(err, SB_USAGE, "'%s': '%s' %s", reader->source->name, text, why);
}

/* The target's text is to live as long as the member. */
static int describe(struct archive_entry *entry, const struct reader *reader, char path[4096],
	char again[4096], struct eng_untar_member *ret, struct sb_err *err)
{
	const char *name =
		utf8_or(archive_entry_pathname_utf8(entry), archive_entry_pathname(entry));
	const char *why;

	path[0] = '\0';
	if (!name)
		return fail_member(reader, "", "has a name that is not text", err);
	why = why_unfit(entry);
	if (!why && clean_path(name, path) < 0)
		why = "has a path that is too long";
	if (why)
		return fail_member(reader, name, why, err);
	*ret = (struct eng_untar_member){
		.type = type_of(entry),
		.path = path,
		.executable = archive_entry_perm(entry) & S_IXUSR,
		.size = archive_entry_size(entry) > 0 ? (uint64_t)archive_entry_size(entry) : 0,
	};
	if (ret->type == ENG_UNTAR_LINK)
		ret->target =
			utf8_or(archive_entry_symlink_utf8(entry), archive_entry_symlink(entry));
	if (ret->type == ENG_UNTAR_AGAIN) {
		name = utf8_or(archive_entry_hardlink_utf8(entry), archive_entry_hardlink(entry));
		ret->target = name && clean_path(name, again) == 0 ? again : NULL;
	}
	if ((ret->type == ENG_UNTAR_LINK || ret->type == ENG_UNTAR_AGAIN) && !ret->target)
		return fail_member(reader, path, "is a link to what is not text", err);
	return 0;
}

static int pass_data(struct archive *a, const struct reader *reader,
	const struct eng_untar_member *member, const struct eng_untar_sink *sink,
	struct sb_err *err)
{
	uint64_t left = member->size;
	const void *data;
	la_int64_t offset;
	size_t len;

	while (left) {
		int r = archive_read_data_block(a, &data, &len, &offset);

		if (r == ARCHIVE_EOF || r < ARCHIVE_WARN ||
			offset != (la_int64_t)(member->size - left) || len > left)
			return r < ARCHIVE_WARN && r != ARCHIVE_EOF
				       ? fail_archive(a, reader, err)
				       : fail_member(reader, member->path,
						 "has less content than it says", err);
		if (sink->data(sink->ctx, data, len, err) < 0)
			return -1;
		left -= len;
	}
	return 0;
}

static int pass_member(struct archive *a, struct archive_entry *entry, const struct reader *reader,
	const struct eng_untar_sink *sink, struct sb_err *err)
{
	struct eng_untar_member member;
	char path[4096], again[4096];

	if (describe(entry, reader, path, again, &member, err) < 0)
		return -1;
	if (!*path)
		return member.type == ENG_UNTAR_DIR
			       ? 0
			       : fail_member(reader, ".", "is not a directory", err);
	if (sink->member(sink->ctx, &member, err) < 0)
		return -1;
	return member.type == ENG_UNTAR_FILE ? pass_data(a, reader, &member, sink, err) : 0;
}

/* What was cut off between two members looks whole but for the mark at the end. */
static int check_end(struct archive *a, const struct reader *reader, struct sb_err *err)
{
	if (archive_filter_bytes(a, 0) > archive_read_header_position(a))
		return 0;
	return sb_err_set(
		err, SB_USAGE, "'%s' is cut off: it has no mark at its end", reader->source->name);
}

int eng_untar(const struct eng_untar_source *source, const struct eng_untar_sink *sink,
	struct sb_err *err)
{
	sb_auto(free_reader) struct archive *a = archive_read_new();
	sb_autofree struct reader *reader = calloc(1, sizeof(*reader));
	struct archive_entry *entry;
	int r;

	if (!reader)
		return sb_err_nomem(err);
	reader->source = source;
	if (open_archive(a, reader, err) < 0)
		return -1;
	while ((r = archive_read_next_header(a, &entry)) == ARCHIVE_OK || r == ARCHIVE_WARN)
		if (pass_member(a, entry, reader, sink, err) < 0)
			return -1;
	return r == ARCHIVE_EOF ? check_end(a, reader, err) : fail_archive(a, reader, err);
}
