/* SPDX-License-Identifier: MIT */
#include "engine/log.h"

#include "engine/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void to_stderr(const char *line)
{
	fprintf(stderr, "%s\n", line);
}

static void (*write_line)(const char *line) = to_stderr;
static unsigned enabled;

static const struct {
	enum sb_topic topic;
	const char *name;
} topics[] = {
	{SB_NOTE, "note"},
	{SB_TRACE_HTTP, "http"},
	{SB_TRACE_TAR, "tar"},
	{SB_TRACE_EXEC, "exec"},
};

void sb_log_enable(unsigned more)
{
	enabled |= more;
}

static unsigned topic_by_name(const char *name, size_t len)
{
	unsigned all = 0;

	for (size_t i = 0; i < SB_ARRAY_SIZE(topics); i++) {
		if (strlen(topics[i].name) == len && !strncmp(topics[i].name, name, len))
			return topics[i].topic;
		all |= topics[i].topic;
	}
	return len == 3 && !strncmp(name, "all", 3) ? all : 0;
}

int sb_log_enable_list(const char *list, struct sb_err *err)
{
	for (const char *p = list ? list : ""; *p;) {
		size_t len = strcspn(p, ",");
		unsigned topic = topic_by_name(p, len);

		if (len && !topic)
			return sb_err_set(err, SB_USAGE,
				"SBINJECT_TRACE: unknown topic '%.*s'; use http, tar, exec, note or all",
				(int)len, p);
		enabled |= topic;
		p += len + (p[len] == ',');
	}
	return 0;
}

void sb_log_to(void (*sink)(const char *line))
{
	write_line = sink;
}

void sb_log(enum sb_topic topic, const char *fmt, ...)
{
	char raw[2048], line[4096];
	size_t i = 0, len;
	va_list args;

	if (!(enabled & topic))
		return;
	va_start(args, fmt);
	vsnprintf(raw, sizeof(raw), fmt, args);
	va_end(args);
	while (topics[i].topic != topic)
		i++;
	len = (size_t)snprintf(line, sizeof(line), "sbinject: %s: ", topics[i].name);
	sb_text_clean(line + len, sizeof(line) - len, raw, strlen(raw));
	write_line(line);
}
