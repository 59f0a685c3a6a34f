/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* event: the column list as a table. */
#include <stddef.h>

#include "event/event.h"

static const struct event_column columns[] = {
#define X(of, at, sql_name, coding, text) { EVENT_##of, at, EVENT_CODEC_##coding, sql_name, text },
	EVENT_COLUMNS(X)
#undef X
};

static const char *const kind_names[EVENT_KIND_CNT] = {
#define X(id, kind, name) [id] = name,
	EVENT_KINDS(X)
#undef X
};

const struct event_column *event_columns(unsigned int *ret_cnt)
{
	*ret_cnt = sizeof(columns) / sizeof(*columns);
	return columns;
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
