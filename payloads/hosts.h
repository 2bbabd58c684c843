/* SPDX-License-Identifier: MIT */
/*
 * What the releases of a client expect of a container. A client is a program on the host, such as
 * inspect_ai, that uses the service; the table, hosts.tsv, is compiled in. No release outside its
 * ranges is taken for one inside: what it expects is not known.
 */
#ifndef PAYLOADS_HOSTS_H
#define PAYLOADS_HOSTS_H

#include "conf/conf.h"

enum { HOST_NEEDS_MAX = 7, HOST_TEXT_SIZE = 64 };

struct host_release {
	unsigned part[3];
};

/* A range of releases, both ends included, that expect the same. */
struct host {
	const char *client;
	struct host_release from, to;
	const char *path; /* where they look for the program; NULL: they cannot be served */
	enum conf_service service; /* whose it must be */
	const char *form;	   /* of the artifact that they bring: "executable" or "tar.gz" */
	unsigned number;	   /* in that artifact's name */
	const char *needs[HOST_NEEDS_MAX + 1]; /* what they run in the container; NULL at the end */
	const char *why;		       /* they cannot be served */
};

size_t host_count(void);
const struct host *host_at(size_t i);

/*
 * Find the range that a client is in, by the text of --client, such as "inspect_ai 0.3.285". NULL
 * without an error: no client, one that the table does not have, or no release is named.
 * SB_MISMATCH: the release is in none of its client's ranges.
 */
int host_find(const char *client, const struct host **ret, struct sb_err *err) sb_must_check;

/* SB_UNSUPPORTED, with the reason, where the releases of a range cannot be served. */
int host_check_served(const struct host *host, struct sb_err *err) sb_must_check;

/* What a need is called: without the mark of where it is looked up (hosts.tsv). */
const char *host_need_name(const char *need);

/* Write a release, or a range of them: "0.3.281 to 0.3.285". Both return text. */
const char *host_release_text(const struct host_release *release, char text[HOST_TEXT_SIZE]);
const char *host_range_text(const struct host *host, char text[HOST_TEXT_SIZE]);

#endif
