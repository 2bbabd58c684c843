/* SPDX-License-Identifier: MIT */
/*
 * What is particular to the interface of one provider of models; see generate.h for what is common
 * to all. Each is one file. Pure.
 */
#ifndef PAYLOADS_SANDBOX_TOOLS_MODEL_PROXY_PROVIDER_H
#define PAYLOADS_SANDBOX_TOOLS_MODEL_PROXY_PROVIDER_H

#include <stdbool.h>

#include "payloads/lib/buf.h"
#include "payloads/lib/jsontext.h"
#include "payloads/sandbox-tools/model_proxy/stream.h"

/* An error that the model's provider has answered with. */
struct provider_error {
	int status;
	struct jsontext message; /* ABSENT: "" */
	struct jsontext body;	 /* what it said in detail */
};

struct provider {
	const char *method; /* of the host */
	const char *needed; /* a member of a request, besides the model; NULL: see google */
	bool parallel_off;  /* tools are called one by one */
	bool early;  /* a stream begins before there is a result, with begin(), and has pings */
	bool strict; /* a result that is a string has to be JSON */
	/* Appends the body of a reply: 0, -ENOMEM or -EMSGSIZE. */
	int (*add_missing)(struct buf *out, const char *member);
	int (*add_error)(
		struct buf *out, enum spelling spelling, const struct provider_error *error);
	/* Events: of a result, or the end of a stream for want of one. 'type' is for people. */
	void (*begin)(struct stream *stream, const struct jsontext *model);
	void (*push_result)(struct stream *stream);
	void (*write_failure)(struct stream *stream, const char *type, const struct buf *text);
};

extern const struct provider provider_chat, provider_responses, provider_anthropic, provider_google;

/* The word for a status, from a table that is ended by status 0. */
struct provider_word {
	int first, last;
	const char *word;
};
const char *provider_word(const struct provider_word *table, int status);

/* What both interfaces of OpenAI share. */
int openai_add_missing(struct buf *out, const char *member);
int openai_add_error(struct buf *out, enum spelling spelling, const struct provider_error *error);
void openai_write_failure(struct stream *stream, const char *type, const struct buf *text);

#endif
