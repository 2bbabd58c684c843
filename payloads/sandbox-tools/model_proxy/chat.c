/* SPDX-License-Identifier: MIT */
/* OpenAI's chat completions: one event per piece of text, with an end of its own. */
#include "payloads/sandbox-tools/model_proxy/provider.h"

#define PIECE 48 /* characters */

enum { ID, CREATED, MODEL, FINGERPRINT }; /* of stream->frame */

/* All events are the same but for their choices, and usage in the last. */
static void open_chunk(struct stream *stream)
{
	stream_open_event(stream, NULL);
	stream_add(stream,
		"{'id': %j, 'object': 'chat.completion.chunk', 'created': %j, 'model': %j, "
		"'choices': [",
		&stream->frame[ID], &stream->frame[CREATED], &stream->frame[MODEL]);
}

static void close_chunk(struct stream *stream, const struct jsontext *usage)
{
	const struct jsontext *fingerprint = &stream->frame[FINGERPRINT];

	stream_add(stream, "]");
	if (fingerprint->kind != JSONTEXT_ABSENT && fingerprint->kind != JSONTEXT_NULL)
		stream_add(stream, ", 'system_fingerprint': %j", fingerprint);
	if (usage)
		stream_add(stream, ", 'usage': %j", usage);
	stream_add(stream, "}");
	stream_close_event(stream);
}

/* The delta is to be added between these two. */
static void open_delta(struct stream *stream, size_t index)
{
	open_chunk(stream);
	stream_add(stream, "{'index': %n, 'delta': {", index);
}

static void close_delta(struct stream *stream)
{
	stream_add(stream, "}, 'finish_reason': null}");
	close_chunk(stream, NULL);
}

static bool run_content(struct stream *stream, struct stream_step *step)
{
	if (step->pieces.at == step->pieces.end)
		return false;
	open_delta(stream, step->index);
	stream_add(stream, step->phase ? "'function_call': {'arguments': %p}" : "'content': %p",
		&step->pieces);
	close_delta(stream);
	return true;
}

static void push_content(
	struct stream *stream, size_t index, const struct jsontext *text, unsigned phase)
{
	struct stream_step *step = stream_push(stream, run_content, text);

	step->index = index;
	step->phase = phase;
	step->pieces = spell_pieces(text, PIECE);
}

/* A function call as it was before there were tools. */
static void start_function(struct stream *stream, size_t index, const struct jsontext *call)
{
	struct jsontext name = jsontext_get(call, "name");
	struct jsontext arguments = jsontext_get(call, "arguments");

	open_delta(stream, index);
	stream_add(stream, "'function_call': {'name': %j}", &name);
	close_delta(stream);
	push_content(stream, index, &arguments, 1);
}

static void write_tool_call(
	struct stream *stream, const struct stream_step *step, size_t call, const char *member)
{
	struct jsontext id = jsontext_get(&step->value, "id");
	struct jsontext type = jsontext_get(&step->value, "type");
	struct jsontext function = jsontext_get(&step->value, "function");
	struct jsontext value = jsontext_get(&function, member);

	open_delta(stream, step->index);
	stream_add(stream,
		"'tool_calls': [{'index': %n, 'id': %j, 'type': %j, 'function': {%s: %j}}]", call,
		&id, &type, member, &value);
	close_delta(stream);
}

/* phase: the number of the next call. */
static bool run_tool_calls(struct stream *stream, struct stream_step *step)
{
	struct stream_step call = *step;
	struct jsontext function, arguments;

	if (!jsontext_item(&step->value, &step->cursor, &call.value))
		return false;
	function = jsontext_get(&call.value, "function");
	arguments = jsontext_get(&function, "arguments");
	write_tool_call(stream, &call, step->phase, "name");
	if (spell_is_true(&arguments))
		write_tool_call(stream, &call, step->phase, "arguments");
	step->phase++;
	return true;
}

static void write_role(struct stream *stream, size_t index, const struct jsontext *message)
{
	struct jsontext role = jsontext_get(message, "role");

	open_delta(stream, index);
	if (spell_is_true(message))
		stream_add(stream, "'role': %j", &role);
	else
		stream_add(stream, "'role': 'assistant'");
	close_delta(stream);
}

static void write_finish(struct stream *stream, const struct stream_step *step)
{
	struct jsontext reason = jsontext_get(&step->value, "finish_reason");

	open_chunk(stream);
	stream_add(stream, "{'index': %n, 'delta': {}, 'finish_reason': %j}", step->index, &reason);
	close_chunk(stream, NULL);
}

enum { ROLE, CONTENT, FUNCTION, TOOLS, FINISH };

static bool run_choice(struct stream *stream, struct stream_step *step)
{
	struct jsontext message = jsontext_get(&step->value, "message"), part;

	switch (step->phase++) {
	case ROLE:
		write_role(stream, step->index, &message);
		return true;
	case CONTENT:
		part = jsontext_get(&message, "content");
		push_content(stream, step->index, &part, 0);
		return true;
	case FUNCTION:
		part = jsontext_get(&message, "function_call");
		if (spell_is_true(&part))
			start_function(stream, step->index, &part);
		return true;
	case TOOLS:
		part = jsontext_get(&message, "tool_calls");
		stream_push(stream, run_tool_calls, &part)->index = step->index;
		return true;
	default: /* FINISH */
		write_finish(stream, step);
		return false;
	}
}

static bool run_choices(struct stream *stream, struct stream_step *step)
{
	struct jsontext choice;

	if (!jsontext_item(&step->value, &step->cursor, &choice))
		return false;
	stream_push(stream, run_choice, &choice)->index = step->index++;
	return true;
}

static bool run_end(struct stream *stream, struct stream_step *step)
{
	struct jsontext usage = jsontext_get(&step->value, "usage");

	if (stream->wants_usage && usage.kind != JSONTEXT_ABSENT && usage.kind != JSONTEXT_NULL) {
		open_chunk(stream);
		close_chunk(stream, &usage);
	}
	stream_event(stream, NULL, "[DONE]");
	return false;
}

static void push_result(struct stream *stream)
{
	struct jsontext choices = jsontext_get(&stream->result, "choices");

	stream->frame[ID] = jsontext_get(&stream->result, "id");
	stream->frame[CREATED] = jsontext_get(&stream->result, "created");
	stream->frame[MODEL] = jsontext_get(&stream->result, "model");
	stream->frame[FINGERPRINT] = jsontext_get(&stream->result, "system_fingerprint");
	stream_push(stream, run_end, &stream->result);
	stream_push(stream, run_choices, &choices);
}

const struct provider provider_chat = {
	.method = "generate_completions",
	.needed = "messages",
	.parallel_off = true,
	.add_missing = openai_add_missing,
	.add_error = openai_add_error,
	.push_result = push_result,
	.write_failure = openai_write_failure,
};
