/* SPDX-License-Identifier: MIT */
#include "engine/json.h"

#include <string.h>

json_t *sb_json_parse(const char *data, size_t len, const char *what, struct sb_err *err)
{
	json_error_t why;
	json_t *doc = json_loadb(data, len, JSON_ALLOW_NUL, &why);

	if (!doc) {
		/* What stands there may be a password. */
		const char *near = strstr(why.text, " near '");

		sb_err_set(err, SB_FAILED, "%s is not valid JSON: %.*s (line %d, column %d)", what,
			near ? (int)(near - why.text) : (int)strlen(why.text), why.text, why.line,
			why.column);
	}
	return doc;
}

json_t *sb_json_at(const json_t *doc, const char *path)
{
	while (doc && *path) {
		size_t len = strcspn(path, ".");
		char key[64];

		if (len >= sizeof(key))
			return NULL;
		memcpy(key, path, len);
		key[len] = '\0';
		doc = json_object_get(doc, key);
		path += len + (path[len] == '.');
	}
	return (json_t *)doc;
}

const char *sb_json_text(const json_t *value)
{
	const char *text = json_string_value(value);

	return text && strlen(text) == json_string_length(value) ? text : NULL;
}

const char *sb_json_str(const json_t *doc, const char *path)
{
	return sb_json_text(sb_json_at(doc, path));
}

long long sb_json_int(const json_t *doc, const char *path, long long other)
{
	const json_t *value = sb_json_at(doc, path);

	return json_is_integer(value) ? json_integer_value(value) : other;
}

bool sb_json_bool(const json_t *doc, const char *path)
{
	return json_is_true(sb_json_at(doc, path));
}
