/* SPDX-License-Identifier: MIT */
/* Google's generateContent: the path names the model; a stream is one event. */
#include "payloads/sandbox-tools/model_proxy/provider.h"

#include "payloads/sandbox-tools/model_proxy/form.h"

static int add_missing(struct buf *out, const char *member)
{
	(void)member;
	return form_add(out, SPELL_ASCII,
		"{'error': {'code': 400, 'message': 'Missing required model in request path.', "
		"'status': 'INVALID_ARGUMENT'}}");
}

static const struct provider_word words[] = {
	{400, 400, "INVALID_ARGUMENT"},
	{401, 401, "UNAUTHENTICATED"},
	{403, 403, "PERMISSION_DENIED"},
	{404, 404, "NOT_FOUND"},
	{429, 429, "RESOURCE_EXHAUSTED"},
	{500, 500, "INTERNAL"},
	{503, 503, "UNAVAILABLE"},
	{504, 504, "DEADLINE_EXCEEDED"},
	{0, 0, "UNKNOWN"},
};

static int add_error(struct buf *out, enum spelling spelling, const struct provider_error *error)
{
	int r = form_add(
		out, spelling, "{'error': {'code': %n, 'message': ", (size_t)error->status);

	if (r == 0 && error->message.kind == JSONTEXT_ABSENT)
		r = buf_add_str(out, "\"\"");
	else if (r == 0)
		r = spell_value(out, spelling, &error->message);
	return r < 0 ? r
		     : form_add(out, spelling, ", 'status': %s}}",
			       provider_word(words, error->status));
}

static bool run_all(struct stream *stream, struct stream_step *step)
{
	stream->spelling = SPELL_ASCII;
	stream_event(stream, NULL, "%j", &step->value);
	return false;
}

static void push_result(struct stream *stream)
{
	stream_push(stream, run_all, &stream->result);
}

const struct provider provider_google = {
	.method = "generate_google",
	.strict = true,
	.add_missing = add_missing,
	.add_error = add_error,
	.push_result = push_result,
};
