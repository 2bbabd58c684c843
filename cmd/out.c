/* SPDX-License-Identifier: MIT */
#include "cmd/out.h"

#include "engine/interrupt.h"
#include "engine/log.h"
#include "engine/text.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool want_json, want_quiet, progress_shown, result_lost;

static void let_go(pthread_mutex_t **held)
{
	pthread_mutex_unlock(*held);
}

#define LOCKED                                         \
	sb_auto(let_go) pthread_mutex_t *held = &lock; \
	pthread_mutex_lock(held)

static void wipe_progress(void)
{
	if (progress_shown)
		fputs("\r\033[K", stderr);
	progress_shown = false;
}

static void put_log(const char *line)
{
	LOCKED;

	wipe_progress();
	fprintf(stderr, "%s\n", line);
}

void out_init(bool json, bool quiet)
{
	static bool again;

	want_json = json;
	want_quiet = quiet;
	sb_log_to(put_log);
	/* A progress line that came after the last result must not stay before the prompt. */
	if (!again)
		atexit(wipe_progress);
	again = true;
}

/* Then nothing more is tried: the next write would only wait again. out_finish tells. */
static bool stdout_failed(void)
{
	return ferror(stdout) != 0;
}

json_t *out_string(const char *text)
{
	json_t *string = json_string(text);
	size_t len = strlen(text), size = 4 * len + 1;
	sb_autofree char *clean = string ? NULL : malloc(size);

	if (clean) {
		sb_text_clean(clean, size, text, len);
		string = json_string(clean);
	}
	return string;
}

static void put_json(const json_t *json)
{
	sb_autofree char *text = json ? json_dumps(json, JSON_COMPACT | JSON_ENSURE_ASCII) : NULL;
	size_t len;

	if (!text) {
		result_lost = true;
		return;
	}
	/* The one control character that jansson does not escape. */
	for (const char *rest = text; *rest; rest += len + (rest[len] != '\0')) {
		len = strcspn(rest, "\x7f");
		printf("%.*s%s", (int)len, rest, rest[len] ? "\\u007f" : "");
	}
	putchar('\n');
}

void out_result(const char *line, const json_t *json)
{
	char clean[2048];
	LOCKED;

	wipe_progress();
	if (stdout_failed())
		return;
	if (want_json) {
		put_json(json);
	} else if (!want_quiet) {
		sb_text_clean(clean, sizeof(clean), line, strlen(line));
		puts(clean);
	}
	fflush(stdout);
}

void out_line(const char *fmt, ...)
{
	va_list args;
	LOCKED;

	wipe_progress();
	if (stdout_failed())
		return;
	va_start(args, fmt);
	vprintf(fmt, args);
	va_end(args);
	putchar('\n');
}

static void put_escaped(const char *data, size_t len)
{
	while (len && !stdout_failed()) {
		size_t n = *data == '\n' || *data == '\t' ? 1 : sb_text_char(data, len);

		if (n)
			fwrite(data, 1, n, stdout);
		else
			printf("\\x%02x", (unsigned char)*data);
		data += n ? n : 1;
		len -= n ? n : 1;
	}
}

/* A write that a signal broke off is no trouble with stdout. */
static int fail_stdout(struct sb_err *err)
{
	if (eng_interrupted)
		return sb_err_set(err, SB_INTERRUPTED, "interrupted");
	return sb_err_set(err, SB_FAILED, "cannot write to stdout: %s", strerror(errno));
}

int out_foreign(const char *data, size_t len, struct sb_err *err)
{
	LOCKED;

	wipe_progress();
	if (isatty(STDOUT_FILENO))
		put_escaped(data, len);
	else
		fwrite(data, 1, len, stdout);
	if (stdout_failed() || fflush(stdout) == EOF)
		return fail_stdout(err);
	return 0;
}

static void put_json_error(const char *subject, const struct sb_err *err)
{
	json_auto_t *object = json_pack("{s:o*, s:b, s:s, s:i, s:o}", "container",
		subject ? out_string(subject) : NULL, "ok", 0, "code", sb_code_name(err->code),
		"exit", (int)err->code, "error", out_string(err->text));

	put_json(object);
	fflush(stdout);
}

void out_error(const char *subject, const struct sb_err *err)
{
	char clean[256];
	LOCKED;

	wipe_progress();
	sb_text_clean(clean, sizeof(clean), subject ? subject : "", subject ? strlen(subject) : 0);
	if (want_json && !stdout_failed())
		put_json_error(subject, err);
	fprintf(stderr, "sbinject: %s%s%s\n", clean, subject ? ": " : "", err->text);
}

void out_note(const char *subject, const char *fmt, ...)
{
	char raw[1024], clean[1024];
	int n = snprintf(raw, sizeof(raw), "%.255s: ", subject);
	va_list args;
	LOCKED;

	if (want_quiet)
		return;
	wipe_progress();
	va_start(args, fmt);
	vsnprintf(raw + n, sizeof(raw) - (size_t)n, fmt, args);
	va_end(args);
	sb_text_clean(clean, sizeof(clean), raw, strlen(raw));
	fprintf(stderr, "sbinject: note: %s\n", clean);
}

void out_progress(const char *fmt, ...)
{
	char raw[512], clean[512];
	va_list args;
	LOCKED;

	if (want_quiet || !isatty(STDERR_FILENO))
		return;
	va_start(args, fmt);
	vsnprintf(raw, sizeof(raw), fmt, args);
	va_end(args);
	sb_text_clean(clean, sizeof(clean), raw, strlen(raw));
	fprintf(stderr, "\r\033[K%.78s", clean);
	fflush(stderr);
	progress_shown = true;
}

/* Columns on a terminal, near enough: characters, not bytes. */
static size_t width(const char *text)
{
	size_t n = 0;

	for (; *text; text++)
		n += (*text & 0xc0) != 0x80;
	return n;
}

void out_table(const char *const *cells, size_t columns, size_t rows)
{
	sb_autofree size_t *widest = calloc(columns, sizeof(*widest));
	char clean[512];
	LOCKED;

	wipe_progress();

	for (size_t i = 0; widest && i < columns * rows; i++) {
		sb_text_clean(clean, sizeof(clean), cells[i], strlen(cells[i]));
		if (width(clean) > widest[i % columns])
			widest[i % columns] = width(clean);
	}
	for (size_t i = 0; i < columns * rows && !stdout_failed(); i++) {
		bool last = i % columns == columns - 1;
		size_t pad;

		sb_text_clean(clean, sizeof(clean), cells[i], strlen(cells[i]));
		pad = last || !widest ? 0 : widest[i % columns] - width(clean) + 2;
		printf("%s%*s%s", clean, (int)pad, "", last ? "\n" : "");
	}
}

int out_finish(struct sb_err *err)
{
	LOCKED;

	wipe_progress();
	if (stdout_failed() || fflush(stdout) == EOF)
		return fail_stdout(err);
	if (result_lost)
		return sb_err_set(err, SB_FAILED,
			"cannot write a result as JSON: out of memory, or its text is not "
			"valid UTF-8");
	return 0;
}
