/* SPDX-License-Identifier: MIT */
/*
 * Foreign text made fit for a terminal or a one-line message. Control characters, DEL, C1 controls,
 * invalid UTF-8 and the bidirectional overrides become \xNN; everything else stays.
 */
#ifndef ENGINE_TEXT_H
#define ENGINE_TEXT_H

#include "engine/base.h"

#include <stdbool.h>

/*
 * Write a printable form of src[0..len) to dst (always terminated). What does not fit is cut on a
 * character boundary and ends in "...". Returns the length written.
 */
size_t sb_text_clean(char *dst, size_t size, const char *src, size_t len);

/* Bytes that the UTF-8 character at s takes (1 to 4), or 0 when it is not valid or not printable.
 */
size_t sb_text_char(const char *s, size_t len);

/* A SHA-256 or a container's id: 64 lower-case hexadecimal digits and no more. */
bool sb_is_hex64(const char *text);

#endif
