/* SPDX-License-Identifier: MIT */
#include "recon/io.h"

#include <string.h>

enum { LINKS_MAX = 4 };

static int engine_stat(void *ctx, const char *path, struct eng_stat *ret, struct sb_err *err)
{
	const struct recon_engine_ctx *engine = ctx;

	return eng_archive_stat(engine->client, engine->id, path, ret, err);
}

static int engine_read(
	void *ctx, const char *path, size_t max_bytes, struct sb_buf *out, struct sb_err *err)
{
	const struct recon_engine_ctx *engine = ctx;

	return eng_archive_read(engine->client, engine->id, path, max_bytes, out, err);
}

struct recon_io recon_engine_io(struct recon_engine_ctx *ctx)
{
	return (struct recon_io){engine_stat, engine_read, ctx};
}

/*
 * Engines answer 500 to a loop of links, a path through a file and the like: SB_FAILED, which the
 * container can have caused. All other codes are about the engine, or end the program.
 */
static int judge(int outcome, const struct sb_err *why, struct sb_err *err)
{
	if (outcome >= 0)
		return outcome;
	if (why->code == SB_FAILED)
		return 1;
	*err = *why;
	return -1;
}

int recon_stat(
	const struct recon_io *io, const char *path, struct eng_stat *ret, struct sb_err *err)
{
	struct sb_err why = SB_ERR_INIT;

	return judge(io->stat(io->ctx, path, ret, &why), &why, err);
}

int recon_read(const struct recon_io *io, const char *path, size_t max_bytes, struct sb_buf *out,
	struct sb_err *err)
{
	struct sb_err why = SB_ERR_INIT;

	return judge(io->read(io->ctx, path, max_bytes, out, &why), &why, err);
}

int recon_resolve(const struct recon_io *io, const char *path, char resolved[RECON_PATH_MAX],
	struct eng_stat *ret, struct sb_err *err)
{
	for (int links = 0; links <= LINKS_MAX; links++) {
		size_t len = strnlen(path, RECON_PATH_MAX);
		int outcome;

		if (len == 0 || len == RECON_PATH_MAX)
			return 1;
		memmove(resolved, path, len + 1);
		outcome = recon_stat(io, resolved, ret, err);
		if (outcome != 0 || ret->type != ENG_LINK)
			return outcome;
		path = ret->link;
	}
	return 1;
}
