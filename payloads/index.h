/* SPDX-License-Identifier: MIT */
/*
 * The package index that this user's pip would use, and where on it a wheel is. No index is known
 * here: a host may be cut off from the public one, or must not ask it.
 */
#ifndef PAYLOADS_INDEX_H
#define PAYLOADS_INDEX_H

#include "engine/buf.h"

/*
 * Find its URL: `given`, if not NULL; else PIP_INDEX_URL; else index-url in the first of pip's
 * files that has it. SB_USAGE: there is none.
 */
int index_url(const char *given, struct sb_buf *ret, struct sb_err *err) sb_must_check;

/*
 * Find the URL of a file of the project on the index's page (PEP 503 or 691). 1: the page does not
 * have it. `stall_s` as for eng_download.
 */
int index_find(const char *index, const char *file, int stall_s, struct sb_buf *ret,
	struct sb_err *err) sb_must_check;

/* The same, of a page that has come from `url`: JSON or HTML. */
int index_parse(const struct sb_buf *page, const char *url, const char *file, struct sb_buf *ret,
	struct sb_err *err) sb_must_check;

#endif
