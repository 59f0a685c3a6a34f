/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * trace_layout: where a trace's bytes are: per column of events, per small section, and the rest.
 *
 * Reads the section tables of all blocks, no events. Threads: the trace's.
 */
#ifndef TRACE_LAYOUT_H
#define TRACE_LAYOUT_H

#include <stdint.h>

#include "event/trace.h"

/* Parts beside the sections: numbers no section type has. */
enum trace_layout_part {
	TRACE_LAYOUT_FILE_HEADERS = 0x10000,
	TRACE_LAYOUT_BLOCK_HEADERS,	/* with section tables and padding; raw = stored */
	TRACE_LAYOUT_DAMAGED,
	TRACE_LAYOUT_REST,	/* indices and trailers; a block not finished yet */
	TRACE_LAYOUT_MANIFEST,
};

/* All bytes of one kind; those of a column in all its parts: tokens, bits, tables. */
struct trace_layout {
	uint32_t part;			/* enum trace_layout_part or a section type */
	uint8_t kind, column;		/* of event columns (CHUNK_COLUMN, CHUNK_TUPLES), else 0 */
	bool is_event;			/* an event column: its part is CHUNK_COLUMN */
	const char *kind_name, *name;	/* "switch", "ts_ns"; "?" for what a later version wrote */
	const char *codec;		/* "XREF", "rows", ... */
	uint64_t row_cnt;		/* events of the kind, rows of the section, files, blocks */
	uint64_t raw_bytes;		/* unpacked */
	uint64_t stored_bytes;		/* on disk; their sum is the size of all the trace's files */
};

/* *ret malloc'ed, event columns first by kind and column. The sizes are those of the files as they are now. */
int trace_layout_read(struct trace *t, struct trace_layout **ret, size_t *ret_cnt, struct err *e);

#endif /* TRACE_LAYOUT_H */
