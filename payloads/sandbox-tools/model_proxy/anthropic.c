/* SPDX-License-Identifier: MIT */
/* Anthropic's messages: a stream begins before there is a result. */
#include "payloads/sandbox-tools/model_proxy/provider.h"

#include <string.h>

#include "payloads/lib/base.h"
#include "payloads/lib/sys.h"
#include "payloads/sandbox-tools/model_proxy/form.h"

#define PIECE 48      /* characters of text */
#define JSON_PIECE 20 /* of what is given to a tool */
#define PING_BLOCKS 3
#define PING "{'type': 'ping'}"

/* ---- errors ---- */

static int add_missing(struct buf *out, const char *member)
{
	return form_add(out, SPELL_ASCII,
		"{'type': 'error', 'error': {'type': 'invalid_request_error', "
		"'message': 'Missing required parameter: %'%t%'.'}}",
		member);
}

static const struct provider_word types[] = {
	{401, 401, "authentication_error"},
	{402, 402, "billing_error"},
	{403, 403, "permission_error"},
	{404, 404, "not_found_error"},
	{409, 409, "conflict_error"},
	{413, 413, "request_too_large"},
	{429, 429, "rate_limit_error"},
	{400, 499, "invalid_request_error"},
	{504, 504, "timeout_error"},
	{529, 529, "overloaded_error"},
	{0, 0, "api_error"},
};

static int add_error(struct buf *out, enum spelling spelling, const struct provider_error *error)
{
	const char *type = provider_word(types, error->status);

	if (error->message.kind == JSONTEXT_ABSENT)
		return form_add(out, spelling,
			"{'type': 'error', 'error': {'type': %s, 'message': ''}}", type);
	return form_add(out, spelling, "{'type': 'error', 'error': {'type': %s, 'message': %j}}",
		type, &error->message);
}

static void write_failure(struct stream *stream, const char *type, const struct buf *text)
{
	enum spelling spelling = stream->spelling;

	stream->spelling = SPELL_ASCII;
	stream_event(stream, "error", "{'type': 'error', 'error': {'type': %s, 'message': %b}}",
		type, text->data, text->len);
	stream->spelling = spelling;
}

/* ---- deltas ---- */

static void open_delta(struct stream *stream, size_t index)
{
	stream_open_event(stream, "content_block_delta");
	stream_add(stream, "{'type': 'content_block_delta', 'index': %n, 'delta': ", index);
}

static void close_delta(struct stream *stream)
{
	stream_add(stream, "}");
	stream_close_event(stream);
}

/* 'table': the form of a delta. */
static bool run_pieces(struct stream *stream, struct stream_step *step)
{
	if (step->pieces.at == step->pieces.end)
		return false;
	open_delta(stream, step->index);
	stream_add(stream, step->table, &step->pieces);
	close_delta(stream);
	return true;
}

static void push_pieces(struct stream *stream, const struct stream_step *block, const char *member,
	const char *form)
{
	struct jsontext text = jsontext_get(&block->value, member);
	struct stream_step *step = stream_push(stream, run_pieces, &text);

	step->index = block->index;
	step->pieces = spell_pieces(&text, PIECE);
	step->table = form;
}

/* ---- kinds of blocks: what each begins with and consists of ---- */

static void start_text(struct stream *stream, const struct stream_step *block)
{
	(void)block;
	stream_add(stream, "{'type': 'text', 'text': ''}");
}

static void fill_text(struct stream *stream, const struct stream_step *block)
{
	push_pieces(stream, block, "text", "{'type': 'text_delta', 'text': %p}");
}

static void start_thinking(struct stream *stream, const struct stream_step *block)
{
	(void)block;
	stream_add(stream, "{'type': 'thinking', 'thinking': ''}");
}

static bool run_signature(struct stream *stream, struct stream_step *step)
{
	struct jsontext signature = jsontext_get(&step->value, "signature");

	if (!spell_is_true(&signature))
		return false;
	open_delta(stream, step->index);
	stream_add(stream, "{'type': 'signature_delta', 'signature': %j}", &signature);
	close_delta(stream);
	return false;
}

static void fill_thinking(struct stream *stream, const struct stream_step *block)
{
	stream_push(stream, run_signature, &block->value)->index = block->index;
	push_pieces(stream, block, "thinking", "{'type': 'thinking_delta', 'thinking': %p}");
}

static void start_tool(struct stream *stream, const struct stream_step *block)
{
	struct jsontext type = jsontext_get(&block->value, "type");
	struct jsontext id = jsontext_get(&block->value, "id");
	struct jsontext name = jsontext_get(&block->value, "name");

	stream_add(stream, "{'type': %j, 'id': %j, 'name': %j, 'input': {}}", &type, &id, &name);
}

/* What is cut to pieces is JSON, which is put into strings then: pieces of text as it is. */
static bool run_input(struct stream *stream, struct stream_step *step)
{
	const char *at = step->pieces.at, *end = step->pieces.end, *p = at;

	if (at == end)
		return false;
	for (size_t i = 0; i < JSON_PIECE && p < end; i++)
		do
			p++;
		while (p < end && ((unsigned char)*p & 0xc0) == 0x80);
	open_delta(stream, step->index);
	stream_add(
		stream, "{'type': 'input_json_delta', 'partial_json': %b}", at, (size_t)(p - at));
	close_delta(stream);
	step->pieces.at = p;
	return true;
}

static void fill_tool(struct stream *stream, const struct stream_step *block)
{
	struct jsontext input = jsontext_get(&block->value, "input");
	struct stream_step *step = stream_push(stream, run_input, &input);
	int r;

	stream->scratch.len = 0;
	if (input.kind == JSONTEXT_ABSENT)
		r = buf_add_str(&stream->scratch, "{}");
	else
		r = spell_value(&stream->scratch, SPELL_UTF8, &input);
	if (r < 0)
		stream->error = r;
	step->index = block->index;
	step->pieces.at = stream->scratch.data;
	step->pieces.end = step->pieces.at + stream->scratch.len;
}

static void start_search_result(struct stream *stream, const struct stream_step *block)
{
	struct jsontext id = jsontext_get(&block->value, "tool_use_id");
	struct jsontext content = jsontext_get(&block->value, "content");

	stream_add(stream, "{'type': 'web_search_tool_result', 'tool_use_id': %j, 'content': %j}",
		&id, &content);
}

static void start_compaction(struct stream *stream, const struct stream_step *block)
{
	(void)block;
	stream_add(stream, "{'type': 'compaction', 'content': ''}");
}

static void fill_compaction(struct stream *stream, const struct stream_step *block)
{
	struct jsontext content = jsontext_get(&block->value, "content");

	open_delta(stream, block->index);
	stream_add(stream, "{'type': 'compaction_delta', 'content': %j}", &content);
	close_delta(stream);
}

static void start_fallback(struct stream *stream, const struct stream_step *block)
{
	struct jsontext to = jsontext_get(&block->value, "to");
	struct jsontext from = jsontext_get(&block->value, "from");

	if (from.kind == JSONTEXT_ABSENT)
		from = jsontext_get(&block->value, "from_");
	stream_add(stream, "{'type': 'fallback', 'to': %j", &to);
	if (from.kind != JSONTEXT_ABSENT && from.kind != JSONTEXT_NULL)
		stream_add(stream, ", 'from': %j", &from);
	stream_add(stream, "}");
}

static const struct kind {
	const char *type;
	void (*start)(struct stream *stream, const struct stream_step *block);
	void (*fill)(struct stream *stream, const struct stream_step *block); /* NULL: nothing */
} kinds[] = {
	{"text", start_text, fill_text},
	{"thinking", start_thinking, fill_thinking},
	{"tool_use", start_tool, fill_tool},
	{"server_tool_use", start_tool, fill_tool},
	{"web_search_tool_result", start_search_result, NULL},
	{"compaction", start_compaction, fill_compaction},
	{"fallback", start_fallback, NULL},
};

/* ---- blocks ---- */

enum { START, FILL, STOP };

static bool run_block(struct stream *stream, struct stream_step *step)
{
	const struct kind *kind = step->table;

	switch (step->phase++) {
	case START:
		stream_open_event(stream, "content_block_start");
		stream_add(stream, "{'type': 'content_block_start', 'index': %n, 'content_block': ",
			step->index);
		kind->start(stream, step);
		stream_add(stream, "}");
		stream_close_event(stream);
		return true;
	case FILL:
		if (kind->fill)
			kind->fill(stream, step);
		return true;
	default: /* STOP */
		stream_event(stream, "content_block_stop",
			"{'type': 'content_block_stop', 'index': %n}", step->index);
		return false;
	}
}

static bool run_blocks(struct stream *stream, struct stream_step *step)
{
	size_t index = step->index++;
	struct jsontext block, type;
	struct stream_step *next;

	if (!jsontext_item(&step->value, &step->cursor, &block))
		return false;
	if (index > 0 && index % PING_BLOCKS == 0)
		stream_event(stream, "ping", PING);
	type = jsontext_get(&block, "type");
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		if (!jsontext_is(&type, kinds[i].type))
			continue;
		next = stream_push(stream, run_block, &block);
		next->index = index;
		next->table = &kinds[i];
	}
	return true;
}

/* ---- beginning and end ---- */

static bool run_end(struct stream *stream, struct stream_step *step)
{
	static const char *const counts[] = {"input_tokens", "cache_creation_input_tokens",
		"cache_read_input_tokens", "server_tool_use"};
	struct jsontext reason = jsontext_get(&step->value, "stop_reason");
	struct jsontext sequence = jsontext_get(&step->value, "stop_sequence");
	struct jsontext usage = jsontext_get(&step->value, "usage");
	struct jsontext count = jsontext_get(&usage, "output_tokens");

	stream_open_event(stream, "message_delta");
	stream_add(stream,
		"{'type': 'message_delta', 'delta': {'stop_reason': %j, 'stop_sequence': %j}, "
		"'usage': {'output_tokens': ",
		&reason, &sequence);
	if (count.kind == JSONTEXT_ABSENT)
		stream_add(stream, "0");
	else
		stream_add(stream, "%j", &count);
	for (size_t i = 0; i < ARRAY_SIZE(counts); i++) {
		count = jsontext_get(&usage, counts[i]);
		if (count.kind != JSONTEXT_ABSENT)
			stream_add(stream, ", '%t': %j", counts[i], &count);
	}
	stream_add(stream, "}}");
	stream_close_event(stream);
	stream_event(stream, "message_stop", "{'type': 'message_stop'}");
	return false;
}

static void begin(struct stream *stream, const struct jsontext *model)
{
	char id[25];
	int r = sys_random_hex(id, 12);

	if (r < 0)
		stream->error = r;
	stream_event(stream, "message_start",
		"{'type': 'message_start', 'message': {'id': 'msg_%t', 'type': 'message', "
		"'role': 'assistant', 'content': [], 'model': %j, 'stop_reason': null, "
		"'stop_sequence': null, 'usage': {'input_tokens': 0, 'output_tokens': 0}}}",
		id, model);
}

static void push_result(struct stream *stream)
{
	struct jsontext content = jsontext_get(&stream->result, "content");

	stream_push(stream, run_end, &stream->result);
	stream_push(stream, run_blocks, &content);
}

const struct provider provider_anthropic = {
	.method = "generate_anthropic",
	.needed = "messages",
	.early = true,
	.add_missing = add_missing,
	.add_error = add_error,
	.begin = begin,
	.push_result = push_result,
	.write_failure = write_failure,
};
