/* SPDX-License-Identifier: MIT */
/* Search (Knuth, Morris, Pratt over the text as shown, made up on the way) and change. */
#include "payloads/sandbox-tools/text_editor/match.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "payloads/sandbox-tools/text_editor/commands.h"
#include "payloads/sandbox-tools/text_editor/tabs.h"

/* A piece of the raw text that is shown as one thing: a byte, a line end, a tab. */
struct token {
	size_t start, len; /* raw */
	char shown;	   /* the byte */
	size_t width;	   /* how many times */
};

struct cursor {
	struct text raw;
	size_t at, column;
};

static bool next_token(struct cursor *c, struct token *t)
{
	size_t column;
	char byte;

	if (c->at == c->raw.len)
		return false;
	byte = c->raw.data[c->at];
	column = tab_column(c->column, byte);
	*t = (struct token){c->at, 1, byte, 1};
	if (byte == '\t')
		*t = (struct token){c->at, 1, ' ', column - c->column};
	if (byte == '\r') {
		t->shown = '\n';
		if (c->at + 1 < c->raw.len && c->raw.data[c->at + 1] == '\n')
			t->len = 2;
	}
	c->at += t->len;
	c->column = column;
	return true;
}

/* ---- search ---- */

/* For each prefix of 'wanted', the length of the longest shorter one it ends with; it is no longer
   than FILE_SIZE_MAX. */
static uint32_t *make_table(struct text wanted)
{
	uint32_t *table = calloc(wanted.len, sizeof(*table)), k = 0;

	for (size_t i = 1; table && i < wanted.len; i++) {
		while (k > 0 && wanted.data[i] != wanted.data[k])
			k = table[k - 1];
		if (wanted.data[i] == wanted.data[k])
			k++;
		table[i] = k;
	}
	return table;
}

struct search {
	struct text wanted;
	const uint32_t *table;
	size_t k; /* bytes that match so far */
	int64_t line, last_line;
	int64_t spans; /* line ends within 'wanted' */
	uint64_t at;
	struct match *match;
};

static int note(struct search *s)
{
	char number[32];

	if (s->match->count++ == 0) {
		s->match->at = s->at + 1 - s->wanted.len;
		s->match->line = s->line - s->spans;
	}
	if (s->spans > 0 || !s->match->lines || s->line == s->last_line)
		return 0;
	snprintf(number, sizeof(number), "%s%" PRId64, s->last_line >= 0 ? ", " : "", s->line + 1);
	s->last_line = s->line;
	return buf_add_str(s->match->lines, number);
}

static int take(struct search *s, char c)
{
	int r = 0;

	while (s->k > 0 && s->wanted.data[s->k] != c)
		s->k = s->table[s->k - 1];
	if (s->wanted.data[s->k] == c)
		s->k++;
	if (c == '\n')
		s->line++;
	if (s->k == s->wanted.len) {
		r = note(s);
		s->k = 0;
	}
	s->at++;
	return r;
}

static int search(struct text raw, struct text wanted, const uint32_t *table, struct match *match)
{
	struct search s = {.wanted = wanted, .table = table, .last_line = -1, .match = match};
	struct cursor c = {.raw = raw};
	struct token t;
	int r = 0;

	for (size_t i = 0; i < wanted.len; i++)
		s.spans += wanted.data[i] == '\n';
	while (r == 0 && next_token(&c, &t))
		for (size_t i = 0; i < t.width && r == 0; i++)
			r = take(&s, t.shown);
	return r;
}

int match_find(struct text raw, struct text wanted, struct match *match)
{
	uint32_t *table;
	int r;

	match->count = 0;
	/* longer than all of it would be if it were tabs: worth no memory */
	if (wanted.len / TAB_WIDTH > raw.len)
		return 0;
	table = make_table(wanted);
	if (!table)
		return -ENOMEM;
	r = search(raw, wanted, table, match);
	free(table);
	return r;
}

/* ---- change ---- */

/* The raw side of the text to be replaced. */
struct region {
	struct text raw;
	size_t start, end;   /* whole tokens */
	size_t lead, tail;   /* spaces of the first and the last tab that are not meant */
	size_t column;	     /* of the first token */
	unsigned char *tabs; /* owned: widths of the tabs in it, as far as they are meant */
	size_t tab_count, tab_room;
};

static int add_tab(struct region *g, size_t width)
{
	if (g->tab_count == g->tab_room) {
		size_t room = g->tab_room ? 2 * g->tab_room : 64;
		unsigned char *tabs = realloc(g->tabs, room);

		if (!tabs)
			return -ENOMEM;
		g->tabs = tabs;
		g->tab_room = room;
	}
	g->tabs[g->tab_count++] = (unsigned char)width;
	return 0;
}

static int find_region(struct text raw, uint64_t from, uint64_t to, struct region *ret)
{
	struct cursor c = {.raw = raw};
	uint64_t at = 0;
	struct token t;
	int r = 0;

	*ret = (struct region){.raw = raw};
	while (at < to && r == 0) {
		size_t column = c.column;

		if (!next_token(&c, &t))
			return -EINVAL;
		at += t.width;
		if (at <= from)
			continue;
		if (at - t.width <= from) {
			ret->start = t.start;
			ret->lead = (size_t)(from - (at - t.width));
			ret->column = column;
		}
		if (at >= to)
			ret->tail = (size_t)(at - to);
		ret->end = c.at;
		if (raw.data[t.start] == '\t')
			r = add_tab(
				ret, t.width - (t.start == ret->start ? ret->lead : 0) - ret->tail);
	}
	return r;
}

static bool is_spaces(const char *data, size_t len)
{
	while (len > 0 && data[len - 1] == ' ')
		len--;
	return len == 0;
}

/* Does the new text go on at 'j' with what this token stands for? Its bytes there, 0 if not. */
static size_t same_ahead(
	const struct change_opts *o, const char *raw, const struct token *t, size_t width, size_t j)
{
	size_t left = o->text.len - j;
	const char *next = o->text.data + j;

	if (left == 0)
		return 0;
	if (raw[t->start] == '\t') {
		if (*next == '\t')
			return width == t->width ? 1 : 0;
		return !o->knows_tabs && left >= width && is_spaces(next, width) ? width : 0;
	}
	if (t->len == 2 && left >= 2 && memcmp(next, "\r\n", 2) == 0)
		return 2;
	return *next == t->shown ? 1 : 0;
}

/* From the front: how far raw and new text agree. */
static void trim_front(const struct region *g, const struct change_opts *o, size_t *i, size_t *j)
{
	struct cursor c = {g->raw, g->start, g->column};
	struct token t;

	*i = g->start;
	*j = 0;
	while (*i < g->end && next_token(&c, &t)) {
		size_t width = t.width - (t.start == g->start ? g->lead : 0), n;

		if (c.at == g->end && g->tail > 0)
			return;
		n = same_ahead(o, g->raw.data, &t, width, *j);
		if (n == 0)
			return;
		*i = c.at;
		*j += n;
	}
}

/* A comparison from the back: how far it has come. */
struct back {
	const struct region *g;
	const struct change_opts *o;
	size_t front; /* of what is compared */
	size_t i, j;  /* ends of the raw text and of the new one that are still to be compared */
};

/* Does the new text end with what the tab stands for? Its bytes there, 0 if not. */
static size_t same_tab(const struct back *b, size_t width)
{
	const struct region *g = b->g;
	bool whole = !((b->i == g->end && g->tail > 0) || (b->i - 1 == g->start && g->lead > 0));
	const char *end = b->o->text.data + b->j;

	if (end[-1] == '\t')
		return whole ? 1 : 0;
	return !b->o->knows_tabs && b->j >= width && is_spaces(end - width, width) ? width : 0;
}

/* The last token, and how much of the end of the new text says the same. */
static size_t same_behind(const struct back *b, size_t width, size_t *ret_len)
{
	const char *raw = b->g->raw.data + b->i, *end = b->o->text.data + b->j;

	*ret_len = 1;
	if (raw[-1] == '\t')
		return same_tab(b, width);
	if (raw[-1] == '\n' && b->i - 1 > b->front && raw[-2] == '\r') {
		*ret_len = 2;
		if (end[-1] != '\n')
			return 0;
		return b->j >= 2 && end[-2] == '\r' ? 2 : 1;
	}
	return end[-1] == (raw[-1] == '\r' ? '\n' : raw[-1]) ? 1 : 0;
}

/* From the back, not beyond 'front' and 'new_front'. A tab is only kept when the line it is on
   begins in what is kept: else its width may have changed. */
static void trim_back(const struct region *g, const struct change_opts *o, size_t front,
	size_t new_front, size_t *ret_i, size_t *ret_j)
{
	struct back b = {g, o, front, g->end, o->text.len};
	size_t tabs = g->tab_count;
	bool pending = false;

	*ret_i = b.i;
	*ret_j = b.j;
	while (b.i > front && b.j > new_front) {
		bool is_tab = g->raw.data[b.i - 1] == '\t';
		size_t width = is_tab ? g->tabs[--tabs] : 1, len;
		size_t n = same_behind(&b, width, &len);

		if (n == 0 || n > b.j - new_front)
			return;
		b.i -= len;
		b.j -= n;
		if (is_tab)
			pending = true;
		else if (g->raw.data[b.i] == '\n' || g->raw.data[b.i] == '\r')
			pending = false;
		if (!pending) {
			*ret_i = b.i;
			*ret_j = b.j;
		}
	}
}

static int add_spaces(struct buf *out, size_t count)
{
	static const char spaces[TAB_WIDTH + 1] = "        ";

	return buf_add(out, spaces, count);
}

int change_make(struct text raw, const struct change_opts *opts, struct change *ret)
{
	size_t i, j, back, new_back;
	struct region region;
	struct text middle;
	int r = find_region(raw, opts->at, opts->at + opts->len, &region);

	if (r == 0) {
		trim_front(&region, opts, &i, &j);
		trim_back(&region, opts, i, j, &back, &new_back);
		middle = (struct text){opts->text.data + j, new_back - j};
		ret->start = i;
		ret->end = back;
		if (i == region.start)
			r = add_spaces(&ret->text, region.lead);
		if (r == 0)
			r = add_with_line_ends(&ret->text, middle, opts->line_end);
		if (r == 0 && back == region.end && i < region.end)
			r = add_spaces(&ret->text, region.tail);
	}
	free(region.tabs);
	return r;
}
