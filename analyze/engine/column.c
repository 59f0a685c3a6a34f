/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* column: finds the declaration of a column by the column's name. */
#include "analyze/engine/column.h"

#include <fnmatch.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

const struct column_decl *column_find(const char *name)
{
	static const struct column_decl none = { .kind = COLUMN_COUNT, .unit = "" };

	for (const struct column_decl *c = column_list; c->name; c++)
		if (c->is_pattern ? !fnmatch(c->name, name, 0) : !strcmp(c->name, name))
			return c;
	return &none;
}

/* Returns the length of a column's name without its unit. *ret_unit: the unit for the heading. */
static size_t stem_len(const char *name, const char **ret_unit)
{
	static const struct {
		const char *suffix, *unit;
	} suffixes[] = {
		[COLUMN_INSTANT] = { "_ns", " (s)" },	[COLUMN_DURATION] = { "_ns", "" },
		[COLUMN_BYTE_RATE] = { "_per_s", "/S" }, [COLUMN_RATE] = { "_per_s", "/S" },
		[COLUMN_PERCENT] = { "_pct", " %" },	[COLUMN_YES_NO] = { NULL, NULL },
	};
	enum column_kind kind = column_find(name)->kind;
	const char *suffix = suffixes[kind].suffix;
	size_t n = strlen(name), m = suffix ? strlen(suffix) : 0;

	*ret_unit = "";
	if (!m || n < m || strcmp(name + n - m, suffix))
		return n;
	*ret_unit = suffixes[kind].unit;
	return n - m;
}

char *column_heading(char *buf, size_t size, const char *name)
{
	const char *unit, *heading = column_find(name)->heading;
	size_t n = stem_len(name, &unit);

	if (heading) {
		snprintf(buf, size, "%s", heading);
		return buf;
	}
	snprintf(buf, size, "%.*s%s", (int)n, name, unit);
	for (size_t i = 0; buf[i] && i < n; i++) {
		if (buf[i] == '_')
			buf[i] = ' ';
		else if (buf[i] >= 'a' && buf[i] <= 'z')
			buf[i] = (char)(buf[i] - 'a' + 'A');
	}
	return buf;
}

bool column_is_called(const char *name, const char *word)
{
	const char *unit, *heading = column_find(name)->heading;
	size_t n = stem_len(name, &unit);

	return !strcasecmp(name, word) || (heading && !strcasecmp(heading, word)) ||
	       (strlen(word) == n && !strncasecmp(name, word, n));
}
