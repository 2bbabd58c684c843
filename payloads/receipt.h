/* SPDX-License-Identifier: MIT */
/* The one-line JSON answers of the in-container program. Pure: bytes in, checked values out. */
#ifndef PAYLOADS_RECEIPT_H
#define PAYLOADS_RECEIPT_H

#include "payloads/deliver.h"
#include "payloads/lib/wire.h"

/*
 * Parse one line: strict JSON of ours, with this nonce (then *ret_ours is set, whatever it says);
 * returns a new reference. Anything else is SB_MISMATCH; a well-formed report of a failure is the
 * failure's own code.
 */
json_t *receipt_parse(const char *line, size_t len, const char *nonce, bool *ret_ours,
	struct sb_err *err) sb_must_check;

/*
 * Read the answers to `install`, `graft` and `status`. A missing or odd member is SB_MISMATCH.
 * WAS_USERS comes alone.
 */
int receipt_read_install(const json_t *doc, const char *sha256, struct deliver_receipt *ret,
	struct sb_err *err) sb_must_check;
/* 1: nothing was brought; `current` is the digest of what is there, or "". */
int receipt_read_graft(const json_t *doc, char current[65], struct sb_err *err) sb_must_check;
int receipt_read_status(
	const json_t *doc, struct deliver_status *ret, struct sb_err *err) sb_must_check;

#endif
