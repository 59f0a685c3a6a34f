/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* columns: the list of columns, as lookups for those who write and those who read. */
#include "chunk/columns.h"

static const uint8_t column_codecs[EVENT_KIND_CNT][EVENT_VALUES] = {
#define X(kind, index, name, codec, doc) [EVENT_##kind][index] = EVENT_CODEC_##codec,
	EVENT_COLUMNS(X)
#undef X
};

unsigned int column_codec(unsigned int kind, unsigned int index)
{
	return kind < EVENT_KIND_CNT && index < EVENT_VALUES ? column_codecs[kind][index] : 0;
}

int column_may_lack(unsigned int kind, unsigned int index)
{
	return kind == EVENT_BLOCK && index >= EV_BLOCK_INO;
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
	switch (kind) {
	case EVENT_SLAB_FREE:
		return EVENT_SLAB_ALLOC;
	case EVENT_PAGE_FREE:
		return EVENT_PAGE_ALLOC;
	case EVENT_HEAP_FREE:
		return EVENT_HEAP_ALLOC;
	default:
		return 0;
	}
}
