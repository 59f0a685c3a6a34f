/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* columns: the list of columns, as lookups for those who write and those who read. */
#include "format/columns.h"

static const struct {
	uint8_t codec, xref_kind, is_later;
} columns[EVENT_KIND_CNT][EVENT_VALUES] = {
#define X(kind, index, name, codec, of, shown, type, later, null, refers) \
	[EVENT_##kind][index] = { EVENT_CODEC_##codec, EVENT_##of, later },
	EVENT_COLUMNS(X)
#undef X
};

unsigned int column_codec(unsigned int kind, unsigned int index)
{
	return kind < EVENT_KIND_CNT && index < EVENT_VALUES ? columns[kind][index].codec : 0;
}

int column_may_lack(unsigned int kind, unsigned int index)
{
	return column_codec(kind, index) && columns[kind][index].is_later;
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
