/* SPDX-License-Identifier: MIT */
/*
 * Files from servers: GET over http and https. Proxies are those of the environment, as curl(1)
 * takes them; SSL_CERT_FILE names other certificates than the system's. One that begins with https
 * is never led to http. An interrupt ends it.
 */
#ifndef ENGINE_DOWNLOAD_H
#define ENGINE_DOWNLOAD_H

#include "engine/buf.h"

#include <stdbool.h>
#include <stdint.h>

struct eng_download {
	const char *url;
	const char *accept; /* media types; NULL: any */
	const char *range;  /* "100-199", "100-" or "-200" (the last ones); NULL: all of it */
	uint64_t max;	    /* more is an error */
	int stall_s;	    /* so long nothing may come; 0: no limit */
	int (*sink)(void *ctx, const void *data, size_t len, struct sb_err *err);
	void *ctx;
};

struct eng_download_reply {
	int status;	   /* of HTTP */
	uint64_t total;	   /* with a range: the size of the whole file; 0: not known */
	bool passing;	   /* of a failure: another try may succeed */
	struct sb_buf url; /* after all redirections; owned */
};

/* clang-format off */
#define ENG_DOWNLOAD_REPLY_INIT {0, 0, false, SB_BUF_INIT(SB_MAX_URL)}
/* clang-format on */
void eng_download_reply_release(struct eng_download_reply *reply);

/*
 * 0 for any status. The sink gets what was asked for, of status 200, or of 206 where that is a
 * range; a body of another status is left, also the whole file where a range was asked for. -1: no
 * reply, not all of it, more than max, or the sink's own error.
 */
int eng_download(const struct eng_download *what, struct eng_download_reply *ret,
	struct sb_err *err) sb_must_check;

/* Add what a link in the document at `base` leads to, without a fragment. */
int eng_url_join(
	const char *base, const char *link, struct sb_buf *ret, struct sb_err *err) sb_must_check;

/* Write a URL without name and password, for messages; it is cut where it does not fit. */
enum { ENG_URL_TEXT_SIZE = 300 };
const char *eng_url_text(const char *url, char text[ENG_URL_TEXT_SIZE]);

#endif
