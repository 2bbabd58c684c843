/* SPDX-License-Identifier: MIT */
#include "payloads/treefile.h"

#include "engine/json.h"
#include "engine/text.h"
#include "payloads/lib/treesum.h"
#include "payloads/lib/utf8.h"
#include "payloads/lib/wire.h"
#include "recon/elf.h"

#include <stdio.h>
#include <string.h>

enum {
	HEAD_SIZE = 4096, /* of the launcher, for its ELF header */
	BATCH_SIZE = 1 << 18,
};

struct reading;

/* What is done with the tree. A directory comes before what is in it, once. */
struct doing {
	int (*dir)(struct reading *r, const char *path, struct sb_err *err);
	int (*member)(struct reading *r, const struct eng_untar_member *m, struct sb_err *err);
	int (*data)(struct reading *r, const void *data, size_t len, struct sb_err *err);
};

struct reading {
	const struct treefile *file;
	const struct doing *doing;
	json_t *seen; /* owned: path -> true for a directory, the size of a file, null for a link */
	size_t members;
	uint64_t bytes, left; /* in all; of the file that is coming */
	bool launcher_seen, launcher_coming;
	char head[HEAD_SIZE];
	size_t head_len;

	/* of a survey */
	struct treesum sum;
	struct sha256 hash;
	char *path; /* of the file that is coming; owned */
	uint64_t size;
	bool executable;

	/* of a sending */
	const struct treefile_out *out;
	struct sb_buf batch;
	bool ended; /* by `out` */
};

static int refuse(const struct reading *r, const char *path, const char *why, struct sb_err *err)
{
	char text[200];

	sb_text_clean(text, sizeof(text), path, strlen(path));
	return sb_err_set(err, SB_USAGE, "'%s': '%s': %s", r->file->source.name, text, why);
}

/* ---- what may be in a tree ---- */

static int count_one(struct reading *r, const char *path, struct sb_err *err)
{
	if (++r->members > TREESUM_MEMBERS_MAX)
		return refuse(r, path, "a tree can have 20000 files and directories at most", err);
	return 0;
}

/* `what` is stolen. */
static int note(struct reading *r, const char *path, json_t *what, struct sb_err *err)
{
	json_auto_t *seen = what;

	if (count_one(r, path, err) < 0)
		return -1;
	return json_object_set(r->seen, path, seen) < 0 ? sb_err_nomem(err) : 0;
}

/* The directories above it, which an archive need not have. */
static int enter(struct reading *r, const char *path, struct sb_err *err)
{
	char dir[TREESUM_PATH_MAX + 1];

	for (const char *slash = strchr(path, '/'); slash; slash = strchr(slash + 1, '/')) {
		const json_t *seen;

		snprintf(dir, sizeof(dir), "%.*s", (int)(slash - path), path);
		seen = json_object_get(r->seen, dir);
		if (seen && !json_is_true(seen))
			return refuse(r, path, "it is in what is no directory", err);
		if (!seen && (note(r, dir, json_true(), err) < 0 || r->doing->dir(r, dir, err) < 0))
			return -1;
	}
	return 0;
}

static uint64_t size_of(const struct reading *r, const struct eng_untar_member *m)
{
	if (m->type == ENG_UNTAR_AGAIN)
		return (uint64_t)json_integer_value(json_object_get(r->seen, m->target));
	return m->type == ENG_UNTAR_FILE ? m->size : 0;
}

/* For `seen`; not of a directory. */
static json_t *what_is(const struct reading *r, const struct eng_untar_member *m)
{
	return m->type == ENG_UNTAR_LINK ? json_null() : json_integer((json_int_t)size_of(r, m));
}

static const char *why_unfit(const struct reading *r, const struct eng_untar_member *m)
{
	const char *why = treesum_unfit(m->path);
	const json_t *first;

	if (why)
		return why;
	/* JSON is */
	if (!utf8_is_valid(m->path, strlen(m->path)) ||
		(m->target && !utf8_is_valid(m->target, strlen(m->target))))
		return "its path is not UTF-8";
	if (m->type == ENG_UNTAR_LINK)
		return treesum_unfit_link(m->path, m->target);
	first = m->type == ENG_UNTAR_AGAIN ? json_object_get(r->seen, m->target) : NULL;
	if (json_is_null(first))
		return "it is a second name of a link";
	if (m->type == ENG_UNTAR_AGAIN && !json_is_integer(first))
		return "it is the same as a file that did not come before";
	/* second names count as well: whoever examines the tree reads them all */
	return size_of(r, m) > TREEFILE_BYTES_MAX - r->bytes ? "a tree can have 4 GiB at most"
							     : NULL;
}

static int on_dir(struct reading *r, const struct eng_untar_member *m, struct sb_err *err)
{
	if (json_is_true(json_object_get(r->seen, m->path)))
		return 0;
	if (note(r, m->path, json_true(), err) < 0)
		return -1;
	return r->doing->dir(r, m->path, err);
}

static int on_member(void *ctx, const struct eng_untar_member *m, struct sb_err *err)
{
	struct reading *r = ctx;
	const char *why = why_unfit(r, m);
	const json_t *seen;

	if (why)
		return refuse(r, m->path, why, err);
	seen = json_object_get(r->seen, m->path);
	if (seen && (m->type != ENG_UNTAR_DIR || !json_is_true(seen)))
		return refuse(r, m->path, "it comes twice", err);
	if (enter(r, m->path, err) < 0)
		return -1;
	if (m->type == ENG_UNTAR_DIR)
		return on_dir(r, m, err);
	if (note(r, m->path, what_is(r, m), err) < 0)
		return -1;
	r->left = m->type == ENG_UNTAR_FILE ? m->size : 0;
	r->bytes += size_of(r, m);
	r->launcher_coming = m->type == ENG_UNTAR_FILE && m->executable && r->file->launcher &&
			     !strcmp(m->path, r->file->launcher);
	r->launcher_seen |= r->launcher_coming;
	return r->doing->member(r, m, err);
}

static int on_data(void *ctx, const void *data, size_t len, struct sb_err *err)
{
	struct reading *r = ctx;
	size_t room = sizeof(r->head) - r->head_len;

	if (r->launcher_coming) {
		memcpy(r->head + r->head_len, data, len < room ? len : room);
		r->head_len += len < room ? len : room;
	}
	r->left -= len;
	return r->doing->data(r, data, len, err);
}

static int check_launcher(const struct reading *r, struct sb_err *err)
{
	const char *name = r->file->launcher;
	struct elf_info elf;

	if (!name)
		return 0;
	if (!r->launcher_seen)
		return sb_err_set(err, SB_UNSUPPORTED, "'%s' has no executable file '%s'",
			r->file->source.name, name);
	if (elf_parse(r->head, r->head_len, &elf) != 0)
		return sb_err_set(err, SB_UNSUPPORTED,
			"'%s': the launcher '%s' is not an ELF program", r->file->source.name,
			name);
	if (r->file->arch && strcmp(elf.arch, r->file->arch) != 0)
		return sb_err_set(err, SB_UNSUPPORTED,
			"'%s': the launcher '%s' is for %s, the container is %s",
			r->file->source.name, name, *elf.arch ? elf.arch : "another machine",
			r->file->arch);
	return 0;
}

static int read_all(struct reading *r, struct sb_err *err)
{
	const struct eng_untar_sink sink = {on_member, on_data, r};
	int ret = -1;

	r->seen = json_object();
	if (!r->seen)
		sb_err_nomem(err);
	else
		ret = eng_untar(&r->file->source, &sink, err);
	json_decref(r->seen);
	if (ret == 0 && r->members == 0)
		return sb_err_set(err, SB_USAGE, "'%s' is empty", r->file->source.name);
	return ret < 0 ? -1 : check_launcher(r, err);
}

/* ---- its digest ---- */

static int add(struct reading *r, enum treesum_kind kind, const char *path, uint64_t size,
	const char *hex, struct sb_err *err)
{
	return treesum_add(&r->sum, kind, path, size, hex) < 0 ? sb_err_nomem(err) : 0;
}

static int sum_dir(struct reading *r, const char *path, struct sb_err *err)
{
	return add(r, TREESUM_DIR, path, 0, NULL, err);
}

static int sum_end_file(struct reading *r, struct sb_err *err)
{
	char hex[SHA256_HEX];

	sha256_end_hex(&r->hash, hex);
	return add(r, r->executable ? TREESUM_EXEC : TREESUM_FILE, r->path, r->size, hex, err);
}

/* Such links are rare, and a tree has few members. */
static int sum_again(struct reading *r, const struct eng_untar_member *m, struct sb_err *err)
{
	size_t len = strlen(m->target);
	const struct treesum *sum = &r->sum;

	for (size_t i = 0; i < sum->count; i++) {
		unsigned long long size;
		char kind[5], hex[SHA256_HEX];

		if (strncmp(sum->lines[i], m->target, len) != 0 || sum->lines[i][len] != '\t')
			continue;
		if (sscanf(sum->lines[i] + len, "\t%4s\t%llu\t%64s", kind, &size, hex) != 3)
			continue;
		return add(r, !strcmp(kind, "exec") ? TREESUM_EXEC : TREESUM_FILE, m->path, size,
			hex, err);
	}
	return refuse(r, m->path, "it is the same as a file that did not come before", err);
}

static int sum_member(struct reading *r, const struct eng_untar_member *m, struct sb_err *err)
{
	char hex[SHA256_HEX];

	if (m->type == ENG_UNTAR_AGAIN)
		return sum_again(r, m, err);
	if (m->type == ENG_UNTAR_LINK) {
		sha256_hex(m->target, strlen(m->target), hex);
		return add(r, TREESUM_LINK, m->path, strlen(m->target), hex, err);
	}
	free(r->path);
	r->path = strdup(m->path);
	if (!r->path)
		return sb_err_nomem(err);
	r->size = m->size;
	r->executable = m->executable;
	sha256_init(&r->hash);
	return m->size ? 0 : sum_end_file(r, err);
}

static int sum_data(struct reading *r, const void *data, size_t len, struct sb_err *err)
{
	sha256_add(&r->hash, data, len);
	return r->left ? 0 : sum_end_file(r, err);
}

int treefile_survey(const struct treefile *file, struct treefile_facts *ret, struct sb_err *err)
{
	static const struct doing doing = {sum_dir, sum_member, sum_data};
	sb_autofree struct reading *r = calloc(1, sizeof(*r));
	int failed;

	if (!r)
		return sb_err_nomem(err);
	r->file = file;
	r->doing = &doing;
	failed = read_all(r, err);
	treesum_end(&r->sum, ret->tree);
	ret->files = r->sum.files;
	ret->bytes = r->sum.bytes;
	treesum_release(&r->sum);
	free(r->path);
	return failed;
}

/* ---- sending it ---- */

static int pass(struct reading *r, const void *data, size_t len, struct sb_err *err)
{
	int ret = r->out->write(r->out->ctx, data, len, err);

	r->ended = ret > 0;
	return ret ? -1 : 0;
}

static int flush(struct reading *r, struct sb_err *err)
{
	int ret = r->batch.len ? pass(r, r->batch.data, r->batch.len, err) : 0;

	sb_buf_consume(&r->batch, r->batch.len);
	return ret;
}

/* Small things go together. */
static int put(struct reading *r, const void *data, size_t len, struct sb_err *err)
{
	if (len > r->batch.max - r->batch.len && flush(r, err) < 0)
		return -1;
	return len > r->batch.max ? pass(r, data, len, err) : sb_buf_add(&r->batch, data, len, err);
}

static int put_line(struct reading *r, json_t *line, struct sb_err *err)
{
	json_auto_t *doc = line;
	sb_autofree char *text = doc ? json_dumps(doc, JSON_COMPACT) : NULL;

	if (!text)
		return sb_err_nomem(err);
	return put(r, text, strlen(text), err) < 0 ? -1 : put(r, "\n", 1, err);
}

static int send_dir(struct reading *r, const char *path, struct sb_err *err)
{
	return put_line(r, json_pack("{s:s}", WIRE_DIR, path), err);
}

static json_t *line_of(const struct eng_untar_member *m)
{
	if (m->type == ENG_UNTAR_LINK)
		return json_pack("{s:s, s:s}", WIRE_LINK, m->path, WIRE_TO, m->target);
	if (m->type == ENG_UNTAR_AGAIN)
		return json_pack("{s:s, s:s}", WIRE_AGAIN, m->path, WIRE_OF, m->target);
	return json_pack("{s:s, s:I, s:b}", WIRE_FILE, m->path, WIRE_SIZE, (json_int_t)m->size,
		WIRE_EXEC, (int)m->executable);
}

static int send_member(struct reading *r, const struct eng_untar_member *m, struct sb_err *err)
{
	return put_line(r, line_of(m), err);
}

static int send_data(struct reading *r, const void *data, size_t len, struct sb_err *err)
{
	return put(r, data, len, err);
}

int treefile_send(const struct treefile *file, const struct treefile_out *out, struct sb_err *err)
{
	static const struct doing doing = {send_dir, send_member, send_data};
	sb_autofree struct reading *r = calloc(1, sizeof(*r));
	int ret;

	if (!r)
		return sb_err_nomem(err);
	r->file = file;
	r->doing = &doing;
	r->out = out;
	r->batch = (struct sb_buf)SB_BUF_INIT(BATCH_SIZE);
	ret = read_all(r, err);
	if (ret == 0)
		ret = put_line(r, json_pack("{s:b}", WIRE_END, 1), err);
	if (ret == 0)
		ret = flush(r, err);
	sb_buf_release(&r->batch);
	return r->ended ? 1 : ret;
}
