/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * trace_layout: reports how many bytes of a trace each event column, each small section and
 * everything else takes. Reads the section tables of all blocks, but no events. Threads: the
 * trace's.
 */
#pragma once

#include <stdint.h>

#include "trace/trace.h"

/* Parts that are not sections. The numbers differ from all section types. */
enum trace_layout_part {
	TRACE_LAYOUT_FILE_HEADERS = 0x10000,
	TRACE_LAYOUT_BLOCK_HEADERS,	/* including section tables and padding; raw = stored */
	TRACE_LAYOUT_DAMAGED,
	TRACE_LAYOUT_REST,	/* bytes of an unfinished block */
	TRACE_LAYOUT_MANIFEST,
};

/* Sum over all parts of one type. A column includes its tokens, bits and tables. */
struct trace_layout {
	uint32_t part;			/* enum trace_layout_part or a section type */
	uint8_t kind, column;		/* of event columns (CHUNK_COLUMN, CHUNK_TUPLES), else 0 */
	bool is_event;			/* the part is an event column, CHUNK_COLUMN */
	const char *kind_name, *name;	/* "switch", "ts_ns"; "?": from a later version */
	const char *codec;		/* "XREF", "rows", ... */
	uint64_t row_cnt;		/* events of the kind, rows of the section, files, blocks */
	uint64_t raw_bytes;		/* unpacked */
	uint64_t stored_bytes;	/* on disk; all rows add up to the size of the trace's files */
};

/*
 * Sets *ret to a malloc'ed array: event columns first, by kind and column. The sizes are those of
 * the files at the time of the call.
 */
int trace_layout_read(struct trace *t, struct trace_layout **ret, size_t *ret_cnt, struct err *e);
