/* SPDX-License-Identifier: MIT */
#include "payloads/hosts.h"

#include <stdio.h>
#include <string.h>

static const struct host table[] = {
#include "hosts.inc"
};

size_t host_count(void)
{
	return SB_ARRAY_SIZE(table);
}

const struct host *host_at(size_t i)
{
	return &table[i];
}

static int compare(const struct host_release *a, const struct host_release *b)
{
	for (size_t i = 0; i < SB_ARRAY_SIZE(a->part); i++)
		if (a->part[i] != b->part[i])
			return a->part[i] < b->part[i] ? -1 : 1;
	return 0;
}

const char *host_need_name(const char *need)
{
	return need + (*need == '=');
}

const char *host_release_text(const struct host_release *release, char text[HOST_TEXT_SIZE])
{
	snprintf(text, HOST_TEXT_SIZE, "%u.%u.%u", release->part[0], release->part[1],
		release->part[2]);
	return text;
}

const char *host_range_text(const struct host *host, char text[HOST_TEXT_SIZE])
{
	char from[HOST_TEXT_SIZE], to[HOST_TEXT_SIZE];

	host_release_text(&host->from, from);
	host_release_text(&host->to, to);
	if (!compare(&host->from, &host->to))
		snprintf(text, HOST_TEXT_SIZE, "%s", from);
	else
		snprintf(text, HOST_TEXT_SIZE, "%.20s to %.20s", from, to);
	return text;
}

/* The length of the name that a client's text begins with, if it is this one. */
static size_t has_name(const struct host *host, const char *client)
{
	size_t len = strlen(host->client);

	return !strncmp(client, host->client, len) && strchr(" =", client[len]) ? len : 0;
}

static bool parse(const char *text, struct host_release *ret)
{
	int end = -1;

	return sscanf(text, "%5u.%5u.%5u%n", &ret->part[0], &ret->part[1], &ret->part[2], &end) ==
		       3 &&
	       end > 0 && !text[end] && *text >= '0' && *text <= '9';
}

static bool holds(const struct host *host, const struct host_release *release)
{
	return compare(&host->from, release) <= 0 && compare(release, &host->to) <= 0;
}

/* The last range of a client is its newest. */
static int fail_unknown(const struct host *last, const char *release, struct sb_err *err)
{
	char newest[HOST_TEXT_SIZE];

	host_release_text(&last->to, newest);
	return sb_err_set(err, SB_MISMATCH,
		"%s '%.40s' is not a release that this sbinject knows ('sbinject hosts' lists "
		"them); use a newer sbinject, or --client '%s %s' to treat it as that release",
		last->client, release, last->client, newest);
}

int host_find(const char *client, const struct host **ret, struct sb_err *err)
{
	const struct host *last = NULL;
	struct host_release release;
	const char *text = "";

	*ret = NULL;
	for (size_t i = 0; client && i < host_count(); i++) {
		size_t len = has_name(&table[i], client);

		if (!len)
			continue;
		last = &table[i];
		text = client + len + strspn(client + len, " =");
		if (parse(text, &release) && holds(last, &release)) {
			*ret = last;
			return 0;
		}
	}
	return *text ? fail_unknown(last, text, err) : 0;
}

int host_check_served(const struct host *host, struct sb_err *err)
{
	char range[HOST_TEXT_SIZE];

	if (host->path)
		return 0;
	return sb_err_set(err, SB_UNSUPPORTED,
		"%s %s cannot be served: %s, which this sbinject does not provide", host->client,
		host_range_text(host, range), host->why);
}
