/* SPDX-License-Identifier: MIT */
/* Errors in the words of OpenAI. */
#include "payloads/sandbox-tools/model_proxy/provider.h"

#include <stddef.h>

#include "payloads/lib/base.h"
#include "payloads/sandbox-tools/model_proxy/form.h"

int openai_add_missing(struct buf *out, const char *member)
{
	return form_add(out, SPELL_ASCII,
		"{'error': {'message': 'Missing required parameter: %'%t%'.', "
		"'type': 'invalid_request_error', 'param': '%t', "
		"'code': 'missing_required_parameter'}}",
		member, member);
}

static const char *const usual[] = {"message", "type", "param", "code"};

static bool is_usual(const struct jsontext *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(usual); i++)
		if (jsontext_is(name, usual[i]))
			return true;
	return false;
}

/* One of the usual members, which the provider may have said something else of. */
static int add_usual(struct buf *out, enum spelling spelling, const struct provider_error *error,
	const char *name)
{
	struct jsontext theirs = jsontext_get(&error->body, name);
	bool ours = theirs.kind == JSONTEXT_ABSENT;

	if (!ours)
		return form_add(out, spelling, "%s: %j", name, &theirs);
	if (name == usual[0] && error->message.kind == JSONTEXT_ABSENT)
		return form_add(out, spelling, "%s: ''", name);
	if (name == usual[0])
		return form_add(out, spelling, "%s: %j", name, &error->message);
	if (name == usual[1])
		return form_add(out, spelling, "%s: %s", name,
			error->status >= 400 && error->status < 500 ? "invalid_request_error"
								    : "api_error");
	return form_add(out, spelling, "%s: null", name);
}

int openai_add_error(struct buf *out, enum spelling spelling, const struct provider_error *error)
{
	int r = buf_add_str(out, "{\"error\": {");
	struct jsontext name, value;
	const char *cursor = NULL;

	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(usual); i++) {
		r = i > 0 ? buf_add_str(out, ", ") : 0;
		if (r == 0)
			r = add_usual(out, spelling, error, usual[i]);
	}
	while (r == 0 && jsontext_next(&error->body, &cursor, &name, &value))
		if (!is_usual(&name))
			r = form_add(out, spelling, ", %j: %j", &name, &value);
	return r < 0 ? r : buf_add_str(out, "}}");
}

void openai_write_failure(struct stream *stream, const char *type, const struct buf *text)
{
	(void)type;
	stream_event(stream, "error",
		"{'error': {'message': %b, 'type': 'internal_error', 'code': 500}}", text->data,
		text->len);
}
