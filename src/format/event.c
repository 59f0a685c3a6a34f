/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* event: tables made from the declarations in schema/events/. */
#include <stddef.h>

#include "format/event.h"

/* unused: a list of names without a column */
#define X(name) \
	static const char *const shown_##name[] __attribute__((unused)) = EVENT_SHOWN_##name;
EVENT_ENUMS(X)
#undef X
#define shown_NUMBER ((const char *const *)NULL)
#define shown_cnt_NUMBER 0

enum {
#define X(name) shown_cnt_##name = sizeof(shown_##name) / sizeof(shown_##name[0]),
	EVENT_ENUMS(X)
#undef X
};

static const struct event_column columns[EVENT_KIND_CNT][EVENT_VALUES] = {
#define X(of, at, sql_name, coding, xref, numbers, type, later, null, refers)                      \
	[EVENT_##of][at] = { EVENT_##of, at, EVENT_CODEC_##coding, EVENT_##xref, later,            \
			     EVENT_REFERS_##refers, null, shown_cnt_##numbers, shown_##numbers,    \
			     sql_name },
	EVENT_COLUMNS(X)
#undef X
};

static const char *const kind_names[EVENT_KIND_CNT] = {
#define X(id, kind, name, table, flag, bit, about) [id] = name,
	EVENT_KINDS(X)
#undef X
};

const struct event_column *event_column(unsigned int kind, unsigned int index)
{
	return column_codec(kind, index) ? &columns[kind][index] : NULL;
}

unsigned int column_codec(unsigned int kind, unsigned int index)
{
	return kind < EVENT_KIND_CNT && index < EVENT_VALUES ? columns[kind][index].codec : 0;
}

unsigned int column_tuple_cnt(unsigned int kind)
{
	unsigned int i, n = 0;

	for (i = 0; i < EVENT_VALUES; i++)
		n += column_codec(kind, i) == EVENT_CODEC_TUPLE;
	return n;
}

unsigned int column_xref_kind(unsigned int kind)
{
	return kind < EVENT_KIND_CNT ? columns[kind][0].xref_kind : 0;
}

const char *event_shown(const struct event_column *c, uint64_t value)
{
	if (value < c->shown_cnt && c->shown[value])
		return c->shown[value];
	return c->is_null && !value ? NULL : "?";
}

unsigned int event_kind_values(unsigned int kind)
{
	unsigned int i = 0;

	while (i < EVENT_VALUES && column_codec(kind, i))
		i++;
	return i;
}

const char *event_kind_name(unsigned int kind)
{
	return kind < EVENT_KIND_CNT && kind_names[kind] ? kind_names[kind] : "?";
}

const struct event_column *event_owner_column(unsigned int kind)
{
	/* column + 1; 0: none */
	static const uint8_t after[EVENT_KIND_CNT] = {
#define X(of, index) [EVENT_##of] = (index) + 1,
		EVENT_OWNED(X)
#undef X
	};

	return kind < EVENT_KIND_CNT && after[kind] ? event_column(kind, after[kind] - 1u) : NULL;
}
