/* SPDX-License-Identifier: MIT */
/*
 * For tests with t/unit/fake_engine.c, which they include: scripts that are made step by step, and
 * what has been sent.
 */
#ifndef T_UNIT_SCRIPT_H
#define T_UNIT_SCRIPT_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "t/unit/fake_engine.h"

enum { SCRIPT_MAX_STEPS = 60 };

/* What the engine does on one connection. */
struct script {
	struct fake_step steps[SCRIPT_MAX_STEPS];
	size_t count;
};

/* Adds a step. The script takes the data over, which is NULL or came from malloc. */
static inline void script_add(struct script *script, enum fake_do what, char *data)
{
	assert_true(script->count < SCRIPT_MAX_STEPS);
	script->steps[script->count++] = (struct fake_step){what, data, data ? strlen(data) : 0, 0};
}

/* Waits for a request and sends that text. */
static inline void script_reply(struct script *script, const char *text)
{
	script_add(script, FAKE_REQUEST, NULL);
	script_add(script, FAKE_SEND, strdup(text));
}

/* Waits for a request and answers it, with more headers ("" or "Name: value\r\n"). */
static inline void script_answer_with(
	struct script *script, const char *status, const char *headers, const char *body)
{
	char *text;

	assert_true(asprintf(&text, "HTTP/1.1 %s\r\n%sContent-Length: %zu\r\n\r\n%s", status,
			    headers, strlen(body), body) > 0);
	script_add(script, FAKE_REQUEST, NULL);
	script_add(script, FAKE_SEND, text);
}

static inline void script_answer(struct script *script, const char *status, const char *body)
{
	script_answer_with(script, status, "", body);
}

static inline void script_release(struct script *script)
{
	for (size_t i = 0; i < script->count; i++)
		free((char *)(uintptr_t)script->steps[i].data);
}

/* How often that was sent on a connection, also among archives, which are not text. */
static inline int script_count_sent(
	const struct fake_engine *fake, size_t connection, const char *text)
{
	size_t len;
	const char *at = fake_received(fake, connection, &len), *end = at + len;
	int count = 0;

	for (; (at = memmem(at, (size_t)(end - at), text, strlen(text))) != NULL; at++)
		count++;
	return count;
}

#endif
