/* SPDX-License-Identifier: MIT */
/* OpenAI's responses: numbered events, of each item what its kind has. */
#include "payloads/sandbox-tools/model_proxy/provider.h"

#include <errno.h>
#include <stdio.h>

#include "payloads/lib/base.h"

#define TEXT_PIECE 48 /* characters */
#define CODE_PIECE 32
#define EVENT_MAX 80
#define IN_PROGRESS "\"in_progress\""
#define COMPLETED "\"completed\""

/* ---- events ---- */

/* What is added between these has a comma behind it. */
static void open_event(struct stream *stream, const char *name)
{
	stream_open_event(stream, name);
	stream_add(stream, "{");
}

static void close_event(struct stream *stream, const char *name)
{
	stream_add(stream, "'sequence_number': %n, 'type': '%t'}", ++stream->sequence, name);
	stream_close_event(stream);
}

static void add_with_status(
	struct stream *stream, const struct jsontext *object, const char *status, bool add)
{
	int r = 0;

	if (object->kind != JSONTEXT_OBJECT)
		stream_add(stream, "%j", object);
	else if (stream->error == 0)
		r = spell_with(stream->out, stream->spelling, object, "status", status, add);
	if (r < 0)
		stream->error = r;
}

/* ---- text in pieces ---- */

/* Which text, and by what events it is told. */
struct text {
	const char *type;   /* of the part that it is in; NULL: it is the item's own */
	const char *member; /* that has it */
	const char *event;  /* "response.", this, ".delta" and ".done" */
	const char *extra;  /* in each event */
	size_t piece;
	bool index_first; /* the events name the item's index before its id */
	bool optional;	  /* no event for an empty one */
};

/* The item whose events these are, and the part of it. */
static void add_place(struct stream *stream, const struct stream_step *step, bool index_first)
{
	const struct jsontext *id = &stream->frame[0];

	if (index_first)
		stream_add(stream, "'output_index': %n, 'item_id': %j, ", step->index, id);
	else
		stream_add(stream, "'item_id': %j, 'output_index': %n, ", id, step->index);
	if (step->list)
		stream_add(stream, "'%t': %n, ", step->list, step->part);
}

static void event_name(char name[EVENT_MAX], const char *event, const char *end)
{
	snprintf(name, EVENT_MAX, "response.%s.%s", event, end);
}

static bool run_text(struct stream *stream, struct stream_step *step)
{
	const struct text *text = step->table;
	bool more = step->pieces.at < step->pieces.end;
	char name[EVENT_MAX];

	event_name(name, text->event, more ? "delta" : "done");
	open_event(stream, name);
	add_place(stream, step, text->index_first);
	if (more)
		stream_add(stream, "'delta': %p, ", &step->pieces);
	else if (step->value.kind == JSONTEXT_STRING)
		stream_add(stream, "'%t': %j, ", text->member, &step->value);
	else
		stream_add(stream, "'%t': '', ", text->member);
	stream_add(stream, text->extra);
	close_event(stream, name);
	return more;
}

/* 'owner' is the item or part that has it. */
static void push_text(
	struct stream *stream, const struct stream_step *owner, const struct text *text)
{
	struct jsontext value = jsontext_get(&owner->value, text->member);
	struct stream_step *step;

	if (text->optional && !spell_is_true(&value))
		return;
	step = stream_push(stream, run_text, &value);
	step->index = owner->index;
	step->list = owner->list;
	step->part = owner->part;
	step->pieces = spell_pieces(&value, text->piece);
	step->table = text;
}

/* ---- parts of an item ---- */

struct list {
	const char *member; /* that has the parts */
	const char *index;  /* what the number of a part is called */
	const char *event;  /* "response.", this, ".added" and ".done"; NULL: none */
	bool blank;	    /* what is added has no text yet */
	struct text texts[3];
};

static const struct text *text_of(const struct list *list, const struct jsontext *part)
{
	struct jsontext type = jsontext_get(part, "type");

	for (const struct text *text = list->texts; text->type; text++)
		if (jsontext_is(&type, text->type))
			return text;
	return NULL;
}

static void write_part(struct stream *stream, const struct stream_step *step, bool added)
{
	const struct list *list = step->table;
	const struct text *text = text_of(list, &step->value);
	char name[EVENT_MAX];

	if (!list->event)
		return;
	event_name(name, list->event, added ? "added" : "done");
	open_event(stream, name);
	add_place(stream, step, false);
	stream_add(stream, "'part': ");
	if (added && list->blank && text && stream->error == 0)
		stream->error = spell_with(
			stream->out, stream->spelling, &step->value, text->member, "\"\"", true);
	else
		stream_add(stream, "%j", &step->value);
	stream_add(stream, ", ");
	close_event(stream, name);
}

enum { PART_ADDED, PART_TEXT, PART_DONE };

static bool run_part(struct stream *stream, struct stream_step *step)
{
	const struct text *text = text_of(step->table, &step->value);

	switch (step->phase++) {
	case PART_ADDED:
		write_part(stream, step, true);
		return true;
	case PART_TEXT:
		if (text)
			push_text(stream, step, text);
		return true;
	default: /* PART_DONE */
		write_part(stream, step, false);
		return false;
	}
}

static bool run_parts(struct stream *stream, struct stream_step *step)
{
	const struct list *list = step->table;
	struct stream_step *next;
	struct jsontext part;

	if (!jsontext_item(&step->value, &step->cursor, &part))
		return false;
	next = stream_push(stream, run_part, &part);
	next->index = step->index;
	next->list = list->index;
	next->part = step->part++;
	next->table = list;
	return true;
}

static void push_parts(
	struct stream *stream, const struct stream_step *item, const struct list *list)
{
	struct jsontext parts = jsontext_get(&item->value, list->member);
	struct stream_step *step = stream_push(stream, run_parts, &parts);

	step->index = item->index;
	step->table = list;
}

static const struct list message_content = {"content", "content_index", "content_part", true,
	{{"output_text", "text", "output_text", "'logprobs': [], ", TEXT_PIECE, false, false},
		{"refusal", "refusal", "refusal", "", TEXT_PIECE, false, false}}};
static const struct list reasoning_content = {"content", "content_index", NULL, false,
	{{"reasoning_text", "text", "reasoning_text", "", TEXT_PIECE, false, false}}};
static const struct list reasoning_summary = {"summary", "summary_index", "reasoning_summary_part",
	false, {{"summary_text", "text", "reasoning_summary_text", "", TEXT_PIECE, false, false}}};

static const struct text function_arguments = {
	NULL, "arguments", "function_call_arguments", "", CODE_PIECE, false, false};
static const struct text code = {
	NULL, "code", "code_interpreter_call_code", "", TEXT_PIECE, true, true};
static const struct text mcp_arguments = {
	NULL, "arguments", "mcp_call_arguments", "", CODE_PIECE, true, false};
static const struct text custom_input = {
	NULL, "input", "custom_tool_call_input", "", CODE_PIECE, true, false};

/* ---- items ---- */

/* One of the three is given; or none, for whether there was an error. */
struct move {
	const char *state; /* the event "response.TYPE.", this */
	const struct text *text;
	const struct list *list;
};

#define STATE(word)              \
	{                        \
		word, NULL, NULL \
	}
#define TEXT(which)                  \
	{                            \
		NULL, &(which), NULL \
	}
#define LIST(which)                  \
	{                            \
		NULL, NULL, &(which) \
	}
#define OUTCOME                  \
	{                        \
		NULL, NULL, NULL \
	}

static const struct kind {
	const char *type;
	bool always_status; /* its "done" has one, whether it had one or not */
	size_t count;
	struct move moves[5];
} kinds[] = {
	{"message", false, 1, {LIST(message_content)}},
	{"function_call", false, 1, {TEXT(function_arguments)}},
	{"reasoning", false, 2, {LIST(reasoning_content), LIST(reasoning_summary)}},
	{"file_search_call", false, 3,
		{STATE("in_progress"), STATE("searching"), STATE("completed")}},
	{"web_search_call", false, 3,
		{STATE("in_progress"), STATE("searching"), STATE("completed")}},
	{"image_generation_call", false, 3,
		{STATE("in_progress"), STATE("generating"), STATE("completed")}},
	{"code_interpreter_call", false, 4,
		{STATE("in_progress"), TEXT(code), STATE("interpreting"), STATE("completed")}},
	{"mcp_call", false, 3, {STATE("in_progress"), TEXT(mcp_arguments), OUTCOME}},
	{"mcp_list_tools", false, 2, {STATE("in_progress"), OUTCOME}},
	{"custom_tool_call", true, 1, {TEXT(custom_input)}},
	{NULL, false, 0, {OUTCOME}},
};

static const struct kind *kind_of(const struct jsontext *item)
{
	struct jsontext type = jsontext_get(item, "type");
	const struct kind *kind = kinds;

	while (kind->type && !jsontext_is(&type, kind->type))
		kind++;
	return kind;
}

static void write_state(struct stream *stream, const struct stream_step *step, const char *state)
{
	const struct kind *kind = step->table;
	char name[EVENT_MAX];

	event_name(name, kind->type, state);
	open_event(stream, name);
	add_place(stream, step, true);
	close_event(stream, name);
}

static void run_move(struct stream *stream, const struct stream_step *step, const struct move *move)
{
	struct jsontext error;

	if (move->state) {
		write_state(stream, step, move->state);
	} else if (move->text) {
		push_text(stream, step, move->text);
	} else if (move->list) {
		push_parts(stream, step, move->list);
	} else {
		error = jsontext_get(&step->value, "error");
		write_state(stream, step, spell_is_true(&error) ? "failed" : "completed");
	}
}

static void write_item(struct stream *stream, const struct stream_step *step, const char *name,
	const char *status, bool add)
{
	open_event(stream, name);
	stream_add(stream, "'item': ");
	add_with_status(stream, &step->value, status, add);
	stream_add(stream, ", 'output_index': %n, ", step->index);
	close_event(stream, name);
}

static bool run_item(struct stream *stream, struct stream_step *step)
{
	const struct kind *kind = step->table;
	size_t phase = step->phase++;

	if (phase == 0) {
		write_item(stream, step, "response.output_item.added", IN_PROGRESS, false);
		return true;
	}
	if (phase <= kind->count) {
		run_move(stream, step, &kind->moves[phase - 1]);
		return true;
	}
	write_item(stream, step, "response.output_item.done", COMPLETED, kind->always_status);
	return false;
}

/* An id for one that has none, kept as long as the item is worked on. */
static struct jsontext make_id(struct stream *stream, size_t index)
{
	char text[40];
	int len = snprintf(text, sizeof(text), "\"item_%zu\"", index);

	stream->scratch.len = 0;
	if (buf_add(&stream->scratch, text, (size_t)len) < 0)
		stream->error = -ENOMEM;
	return (struct jsontext){stream->scratch.data, (size_t)len, JSONTEXT_STRING};
}

static bool run_items(struct stream *stream, struct stream_step *step)
{
	struct stream_step *next;
	struct jsontext item;

	if (!jsontext_item(&step->value, &step->cursor, &item))
		return false;
	stream->frame[0] = jsontext_get(&item, "id");
	if (stream->frame[0].kind == JSONTEXT_ABSENT)
		stream->frame[0] = make_id(stream, step->index);
	next = stream_push(stream, run_item, &item);
	next->index = step->index++;
	next->table = kind_of(&item);
	return true;
}

/* ---- the whole ---- */

/* 'status': NULL for the one it has. */
static void write_response(struct stream *stream, const char *name, const char *status)
{
	open_event(stream, name);
	stream_add(stream, "'response': ");
	if (status)
		add_with_status(stream, &stream->result, status, true);
	else
		stream_add(stream, "%j", &stream->result);
	stream_add(stream, ", ");
	close_event(stream, name);
}

enum { CREATED, BEGUN, ITEMS, COMPLETE };

static bool run_response(struct stream *stream, struct stream_step *step)
{
	struct jsontext output;

	switch (step->phase++) {
	case CREATED:
		write_response(stream, "response.created", NULL);
		return true;
	case BEGUN:
		write_response(stream, "response.in_progress", IN_PROGRESS);
		return true;
	case ITEMS:
		output = jsontext_get(&stream->result, "output");
		stream_push(stream, run_items, &output);
		return true;
	default: /* COMPLETE */
		write_response(stream, "response.completed", COMPLETED);
		return false;
	}
}

static void push_result(struct stream *stream)
{
	stream_push(stream, run_response, &stream->result);
}

const struct provider provider_responses = {
	.method = "generate_responses",
	.needed = "input",
	.add_missing = openai_add_missing,
	.add_error = openai_add_error,
	.push_result = push_result,
	.write_failure = openai_write_failure,
};
