/* SPDX-License-Identifier: MIT */
#include "payloads/fetch.h"

#include "engine/clock.h"
#include "engine/file.h"
#include "engine/interrupt.h"
#include "engine/log.h"
#include "engine/zip.h"
#include "payloads/index.h"
#include "payloads/upstream.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum {
	TRIES = 4,
	PAUSE_MS = 500, /* before the second try; twice that before the third */
	DIRECTORY_MAX = 16 << 20,
};

struct job {
	const struct store_want *want;
	const struct fetch_opts *opts;
	const struct upstream *upstream; /* NULL: it is not one */
	const struct store_dir *dir;
	struct store_slot slot;
	char *from;   /* of struct fetched */
	bool resumed; /* something was there already */
};

void fetched_release(struct fetched *fetched)
{
	store_found_release(&fetched->found);
}

/* ---- a download to a file ---- */

struct file {
	struct job *job;
	int fd;
	const char *path;
	uint64_t from;	      /* of the URL's file */
	uint64_t done, total; /* total 0: not known */
	bool all;	      /* the whole of it, not `total` bytes from `from` */
};

static int write_piece(void *ctx, const void *data, size_t len, struct sb_err *err)
{
	struct file *file = ctx;
	const struct job *job = file->job;

	if (sb_file_put(file->fd, file->path, data, len, err) < 0)
		return -1;
	file->done += len;
	if (job->opts->on_progress)
		job->opts->on_progress(job->want->name, file->done, file->total);
	return 0;
}

static int begin_again(struct file *file, struct sb_err *err)
{
	if (ftruncate(file->fd, 0) < 0 || lseek(file->fd, 0, SEEK_SET) < 0)
		return sb_err_set(
			err, SB_FAILED, "cannot write '%s': %s", file->path, strerror(errno));
	file->done = 0;
	return 0;
}

/* Go on from what an earlier try has left. */
static int find_end(struct file *file, struct sb_err *err)
{
	off_t end = lseek(file->fd, 0, SEEK_END);

	if (end < 0 || (file->total && (uint64_t)end > file->total))
		return begin_again(file, err);
	file->done = (uint64_t)end;
	file->job->resumed |= end > 0;
	return 0;
}

enum outcome {
	DONE,
	GONE,	   /* the server does not have it */
	NO_RANGES, /* the server sends files only whole */
	AGAIN,
	FAILED,
};

static const char *range_of(const struct file *file, char *text, size_t size)
{
	if (!file->all)
		snprintf(text, size, "%" PRIu64 "-%" PRIu64, file->from + file->done,
			file->from + file->total - 1);
	else if (file->done)
		snprintf(text, size, "%" PRIu64 "-", file->done);
	else
		return NULL;
	return text;
}

/* The server's word on a request that came to an end. */
static enum outcome judge(struct file *file, const struct eng_download_reply *reply, bool ranged,
	const char *url, struct sb_err *err)
{
	char shown[ENG_URL_TEXT_SIZE];

	switch (reply->status) {
	case 200:
		if (!ranged)
			return DONE;
		if (!file->all)
			return NO_RANGES;
		return begin_again(file, err) < 0 ? FAILED : AGAIN;
	case 206:
		return file->total && file->done < file->total ? AGAIN : DONE;
	case 404:
	case 410:
		return GONE;
	case 416:
		/* It may be there whole: its digest tells. */
		return DONE;
	default:
		sb_err_set(err, SB_FAILED, "cannot download '%s': the server said %d",
			eng_url_text(url, shown), reply->status);
		return reply->status >= 500 || reply->status == 429 ? AGAIN : FAILED;
	}
}

static enum outcome attempt(struct file *file, const char *url, struct sb_err *err)
{
	sb_auto(eng_download_reply_release) struct eng_download_reply reply =
		ENG_DOWNLOAD_REPLY_INIT;
	char range[64];
	const struct eng_download what = {
		.url = url,
		.range = range_of(file, range, sizeof(range)),
		.max = (file->total ? file->total : SB_MAX_ARCHIVE) - file->done,
		.stall_s = file->job->opts->stall_s,
		.sink = write_piece,
		.ctx = file,
	};

	if (eng_download(&what, &reply, err) < 0)
		return reply.passing ? AGAIN : FAILED;
	return judge(file, &reply, what.range != NULL, url, err);
}

static void pause_before(int try)
{
	for (int left = PAUSE_MS << try; left > 0 && !eng_interrupted; left -= 100)
		sb_sleep_ms(100);
}

/* `tries`: so many in a row have brought nothing. */
static bool is_worth_another(const char *url, int tries, struct sb_err *why)
{
	char shown[ENG_URL_TEXT_SIZE];

	if (tries >= TRIES) {
		sb_err_set(why, SB_FAILED, "cannot download '%s': the server sends nothing more",
			eng_url_text(url, shown));
		return false;
	}
	if (why->code != SB_OK) {
		sb_log(SB_NOTE, "%s; trying again", why->text);
		pause_before(tries);
	}
	return true;
}

static enum outcome download(struct file *file, const char *url, struct sb_err *err)
{
	int tries = 0;

	if (find_end(file, err) < 0)
		return FAILED;
	while (!(file->total && file->done == file->total)) {
		uint64_t before = file->done;
		struct sb_err why = SB_ERR_INIT;
		enum outcome outcome = attempt(file, url, &why);

		tries = file->done > before ? 0 : tries + 1;
		if (outcome == AGAIN && is_worth_another(url, tries, &why))
			continue;
		*err = why;
		return outcome == AGAIN ? FAILED : outcome;
	}
	return DONE;
}

/* All of a URL's file, into a slot. 1: it is not there. */
static int download_all(
	struct job *job, const struct store_slot *slot, const char *url, struct sb_err *err)
{
	struct file file = {.job = job,
		.fd = slot->fd,
		.path = slot->path,
		.total = slot->want->size,
		.all = true};

	switch (download(&file, url, err)) {
	case DONE:
		return 0;
	case GONE:
		return 1;
	default:
		return -1;
	}
}

/* ---- from a mirror ---- */

static int from_mirror(struct job *job, struct sb_err *err)
{
	sb_autobuf struct sb_buf url = SB_BUF_INIT(SB_MAX_URL);
	const char *mirror = job->opts->mirror;
	size_t len = mirror ? strlen(mirror) : 0;

	if (!len)
		return 1;
	if (sb_buf_addf(&url, err, "%s%s%s", mirror, mirror[len - 1] == '/' ? "" : "/",
		    job->want->sha256) < 0)
		return -1;
	eng_url_text(url.data, job->from);
	return download_all(job, &job->slot, url.data, err);
}

/* ---- out of a wheel ---- */

static int extract(struct job *job, int fd, const char *path, bool alone, struct sb_err *err)
{
	const struct store_want *want = job->want;
	char name[200];
	struct eng_zip_member member = {
		.fd = fd,
		.path = path,
		.name = name,
		.alone = alone,
		.max = want->size ? want->size : SB_MAX_ARCHIVE,
		.sink = store_slot_write,
		.ctx = &job->slot,
	};
	int missing;

	snprintf(name, sizeof(name), UPSTREAM_FOLDER "%s", job->upstream->file);
	if (store_slot_clear(&job->slot, err) < 0)
		return -1;
	missing = eng_zip_extract(&member, err);
	/* What an archive gave before it failed is nothing to go on from. */
	if (missing && store_slot_clear(&job->slot, err) < 0)
		return -1;
	return missing;
}

static int add_piece(void *ctx, const void *data, size_t len, struct sb_err *err)
{
	return sb_buf_add(ctx, data, len, err);
}

/* A few bytes of a wheel, and the size of all. 1: the server sends it only whole. */
static int read_range(const struct job *job, const char *url, const char *range, struct sb_buf *ret,
	uint64_t *ret_total, struct sb_err *err)
{
	sb_auto(eng_download_reply_release) struct eng_download_reply reply =
		ENG_DOWNLOAD_REPLY_INIT;
	const struct eng_download what = {
		.url = url,
		.range = range,
		.max = ret->max,
		.stall_s = job->opts->stall_s,
		.sink = add_piece,
		.ctx = ret,
	};

	if (eng_download(&what, &reply, err) < 0)
		return -1;
	*ret_total = reply.total;
	return reply.status == 206 && reply.total >= ret->len ? 0 : 1;
}

static int find_span(
	const struct job *job, const char *url, struct eng_zip_span *ret, struct sb_err *err)
{
	sb_autobuf struct sb_buf tail = SB_BUF_INIT(ENG_ZIP_TAIL);
	sb_autobuf struct sb_buf directory = SB_BUF_INIT(DIRECTORY_MAX);
	struct eng_zip_span where;
	uint64_t total;
	char text[200];
	int missing;

	snprintf(text, sizeof(text), "-%d", ENG_ZIP_TAIL);
	missing = read_range(job, url, text, &tail, &total, err);
	if (missing)
		return missing;
	if (eng_zip_find_directory(tail.data, tail.len, total, &where) || !where.size ||
		where.size > DIRECTORY_MAX)
		return 1;
	snprintf(text, sizeof(text), "%" PRIu64 "-%" PRIu64, where.from,
		where.from + where.size - 1);
	missing = read_range(job, url, text, &directory, &total, err);
	if (missing)
		return missing;
	snprintf(text, sizeof(text), UPSTREAM_FOLDER "%s", job->upstream->file);
	return eng_zip_find_member(directory.data, directory.len, where.from, text, ret);
}

/* The member's own bytes, compressed, which are in the way of the slot's: in a file beside it. */
static int from_part(struct job *job, const char *url, struct sb_err *err)
{
	char name[80], path[PATH_MAX + 80];
	struct eng_zip_span span;
	sb_autoclose int fd = -1;
	struct file file;
	int missing = find_span(job, url, &span, err);
	enum outcome outcome;

	if (missing)
		return missing;
	snprintf(name, sizeof(name), "%.64s.entry", job->want->sha256);
	snprintf(path, sizeof(path), "%s/%s", job->dir->path, name);
	fd = openat(
		job->dir->fd, name, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0666);
	if (fd < 0)
		return sb_err_set(err, SB_FAILED, "cannot write '%s': %s", path, strerror(errno));
	file = (struct file){
		.job = job, .fd = fd, .path = path, .from = span.from, .total = span.size};
	outcome = download(&file, url, err);
	if (outcome == FAILED)
		return -1;
	missing = outcome == DONE ? extract(job, fd, path, true, err) : 1;
	unlinkat(job->dir->fd, name, 0);
	return missing;
}

/* The wheel is verified and kept: the next program may be in it, too. */
static int from_whole(struct job *job, const char *url, struct sb_err *err)
{
	const struct store_want wheel = {
		.name = job->upstream->wheel, .sha256 = job->upstream->wheel_sha256};
	sb_auto(store_slot_release) struct store_slot slot = STORE_SLOT_INIT;
	sb_auto(store_found_release) struct store_found found = STORE_FOUND_INIT;
	int there = store_slot_begin(job->dir, &wheel, job->opts->on_wait, &slot, err);

	if (there < 0)
		return -1;
	if (!there) {
		int missing = download_all(job, &slot, url, err);

		if (missing)
			return missing;
		if (store_slot_keep(&slot, job->from, err) < 0)
			return -1;
	}
	if (store_dir_find(job->dir, &wheel, &found, err) != 0)
		return -1;
	return extract(job, found.bytes.fd, found.place, false, err);
}

static int from_index(struct job *job, struct sb_err *err)
{
	sb_autobuf struct sb_buf index = SB_BUF_INIT(SB_MAX_URL), url = SB_BUF_INIT(SB_MAX_URL);
	int missing;

	if (!job->upstream || !job->upstream->wheel)
		return 1;
	if (index_url(job->opts->index, &index, err) < 0)
		return sb_err_wrap(err, "payload '%s'", job->want->name);
	missing = index_find(index.data, job->upstream->wheel, job->opts->stall_s, &url, err);
	if (missing)
		return missing;
	eng_url_text(url.data, job->from);
	missing = from_part(job, url.data, err);
	return missing > 0 ? from_whole(job, url.data, err) : missing;
}

/* ---- from this host ---- */

static int copy_file(struct job *job, int fd, const char *path, struct sb_err *err)
{
	const struct bytes_sink sink = {store_slot_write, &job->slot};
	char hex[SHA256_HEX];
	struct bytes bytes;

	if (bytes_of_file(fd, path, SB_MAX_ARCHIVE, &bytes, err) < 0 ||
		store_slot_clear(&job->slot, err) < 0)
		return -1;
	return bytes_copy(&bytes, path, &sink, hex, err);
}

static int from_file(struct job *job, const char *path, struct sb_err *err)
{
	sb_autoclose int fd = -1;
	char start[4] = "";
	int missing = sb_file_open(path, &fd, err);

	if (missing)
		return missing;
	snprintf(job->from, ENG_URL_TEXT_SIZE, "%s", path);
	if (pread(fd, start, sizeof(start), 0) == 4 && !memcmp(start, "PK\3\4", 4))
		return job->upstream ? extract(job, fd, path, false, err) : 1;
	return copy_file(job, fd, path, err);
}

/* A release of inspect_ai that is installed, or any folder with files by name or digest. */
static int from_folder(struct job *job, const char *folder, struct sb_err *err)
{
	const char *file = job->upstream ? job->upstream->file : job->want->sha256;
	const struct {
		const char *below, *file;
	} places[] = {
		{"", job->want->sha256}, {"", file}, {"binaries/", file}, {UPSTREAM_FOLDER, file}};
	int missing = 1;

	for (size_t i = 0; i < SB_ARRAY_SIZE(places) && missing > 0; i++) {
		char path[PATH_MAX];

		if (snprintf(path, sizeof(path), "%s/%s%s", folder, places[i].below,
			    places[i].file) < PATH_MAX)
			missing = from_file(job, path, err);
	}
	return missing;
}

static int from_path(struct job *job, struct sb_err *err)
{
	const char *path = job->opts->from;
	struct stat st;

	if (stat(path, &st) < 0)
		return sb_err_set(
			err, SB_USAGE, "--from: cannot read '%s': %s", path, strerror(errno));
	return (S_ISDIR(st.st_mode) ? from_folder : from_file)(job, path, err);
}

/* ---- all together ---- */

static int fill(struct job *job, struct sb_err *err)
{
	int missing;

	if (job->opts->from)
		return from_path(job, err);
	missing = from_mirror(job, err);
	return missing > 0 ? from_index(job, err) : missing;
}

/* What an earlier download has left may have been of other bytes: not this source's fault. */
static int fill_and_keep(struct job *job, struct sb_err *err)
{
	for (;;) {
		int missing;

		job->resumed = false;
		missing = fill(job, err);
		if (!missing)
			missing = store_slot_keep(&job->slot, job->from, err);
		if (missing >= 0 || err->code != SB_MISMATCH)
			return missing;
		if (store_slot_clear(&job->slot, err) < 0 || !job->resumed)
			return -1;
		sb_log(SB_NOTE, "%s; beginning again", err->text);
		sb_err_clear(err);
	}
}

static int get(const struct store_want *want, const struct fetch_opts *opts,
	const struct store_dir *dir, struct fetched *ret, struct sb_err *err)
{
	struct job job = {.want = want,
		.opts = opts,
		.upstream = upstream_by_sha256(want->sha256),
		.dir = dir,
		.slot = STORE_SLOT_INIT,
		.from = ret->from};
	int there = store_slot_begin(dir, want, opts->on_wait, &job.slot, err), missing;

	if (there < 0)
		return -1;
	missing = there ? 0 : fill_and_keep(&job, err);
	store_slot_release(&job.slot);
	if (missing)
		return missing;
	if (store_dir_find(dir, want, &ret->found, err) != 0)
		return -1;
	ret->found.tier = there ? STORE_CACHE : STORE_FETCHED;
	return 0;
}

/* From where it is on this host. */
static int copy_to(const struct store_dir *dir, const struct store_want *want,
	const struct fetch_opts *opts, struct fetched *ret, struct sb_err *err)
{
	sb_auto(store_found_release) struct store_found found = STORE_FOUND_INIT;
	sb_auto(store_slot_release) struct store_slot slot = STORE_SLOT_INIT;
	const struct bytes_sink sink = {store_slot_write, &slot};
	char hex[SHA256_HEX];
	int missing = store_find(want, &found, err);

	if (missing)
		return missing;
	missing = store_slot_begin(dir, want, opts->on_wait, &slot, err);
	if (missing < 0)
		return -1;
	if (!missing && (store_slot_clear(&slot, err) < 0 ||
				bytes_copy(&found.bytes, found.place, &sink, hex, err) < 0 ||
				store_slot_keep(&slot, found.place, err) < 0))
		return -1;
	if (store_dir_find(dir, want, &ret->found, err) != 0)
		return -1;
	ret->found.tier = found.tier;
	snprintf(ret->from, sizeof(ret->from), "%.299s", found.place);
	return 0;
}

int fetch_need(const struct store_want *want, const struct fetch_opts *opts, struct fetched *ret,
	struct sb_err *err)
{
	sb_auto(store_dir_release) struct store_dir dir = STORE_DIR_INIT;
	int missing;

	if (!opts->output) {
		missing = store_find(want, &ret->found, err);
		if (missing <= 0)
			return missing;
		if (store_dir_cache(&dir, err) < 0)
			return -1;
		return get(want, opts, &dir, ret, err);
	}
	if (store_dir_open(opts->output, &dir, err) < 0)
		return -1;
	missing = store_dir_find(&dir, want, &ret->found, err);
	if (missing > 0)
		missing = copy_to(&dir, want, opts, ret, err);
	return missing > 0 ? get(want, opts, &dir, ret, err) : missing;
}

int fetch_fail(const struct store_want *want, const struct fetch_opts *opts, struct sb_err *err)
{
	if (opts->from)
		return sb_err_set(
			err, SB_UNSUPPORTED, "payload '%s' is not in '%s'", want->name, opts->from);
	return sb_err_set(err, SB_UNSUPPORTED,
		"payload '%s' is not to be had: neither a mirror nor a wheel on the package index "
		"has it; name a mirror that has it (--mirror) or the file (--from)",
		want->name);
}
