/* SPDX-License-Identifier: MIT */
/* Filling in forms. */
#include "payloads/sandbox-tools/model_proxy/form.h"

#include <stdio.h>
#include <string.h>

static int add_number(struct buf *out, size_t number)
{
	char text[24];

	snprintf(text, sizeof(text), "%zu", number);
	return buf_add_str(out, text);
}

/* What stands between the arguments. */
static int add_plain(struct buf *out, const char **form)
{
	size_t len = strcspn(*form, "'%");
	int r = buf_add(out, *form, len);

	*form += len;
	if (r == 0 && **form == '\'') {
		r = buf_add(out, "\"", 1);
		++*form;
	}
	return r;
}

int form_add_list(struct buf *out, enum spelling spelling, const char *form, va_list arguments)
{
	const char *text;
	int r = 0;

	while (r == 0 && *form) {
		if (*form != '%') {
			r = add_plain(out, &form);
			continue;
		}
		switch (form[1]) {
		case 'j':
			r = spell_value(out, spelling, va_arg(arguments, const struct jsontext *));
			break;
		case 's':
			text = va_arg(arguments, const char *);
			r = spell_text(out, spelling, text, strlen(text));
			break;
		case 'b':
			text = va_arg(arguments, const char *);
			r = spell_text(out, spelling, text, va_arg(arguments, size_t));
			break;
		case 'p':
			r = spell_piece(out, spelling, va_arg(arguments, struct spell_pieces *));
			break;
		case 'n':
			r = add_number(out, va_arg(arguments, size_t));
			break;
		case 't':
			r = buf_add_str(out, va_arg(arguments, const char *));
			break;
		default: /* %' */
			r = buf_add(out, form + 1, 1);
			break;
		}
		form += 2;
	}
	return r;
}

int form_add(struct buf *out, enum spelling spelling, const char *form, ...)
{
	va_list arguments;
	int r;

	va_start(arguments, form);
	r = form_add_list(out, spelling, form, arguments);
	va_end(arguments);
	return r;
}
