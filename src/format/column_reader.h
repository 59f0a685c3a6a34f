/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * column_reader: decodes the event columns of one kind in one block. Columns that are not requested
 * are neither read nor unpacked.
 *
 * Threads: one. Memory: 4 or 8 bytes per row and decoded column.
 */
#pragma once

#include <stdint.h>

#include "format/block_meta.h"
#include "format/event.h"

#define COLUMN_ASK_UTID (1u << EVENT_VALUES)	/* bit of event.utid; lower bits: event.v */
#define COLUMN_ASK_FLAGS (1u << (EVENT_VALUES + 1))
#define COLUMN_ASK_ALL ((1u << (EVENT_VALUES + 2)) - 1)

/* Rows [start, start + cnt) belong to one CPU, in order of time. */
struct column_run {
	uint32_t cpu, start, cnt;
};

struct kind_columns {
	unsigned int kind;
	unsigned int value_cnt;		/* columns of the kind */
	uint32_t cnt;
	struct column_run *runs;
	uint32_t run_cnt;
	uint64_t *ts_ns;
	uint32_t *utid;			/* NULL: not requested */
	uint32_t *tuple; /* index of the tuple by row; NULL: 0 in every row, or not needed */
	uint32_t tuple_cnt;
	uint64_t *flags;		/* by tuple */
	uint64_t *tuple_value[EVENT_VALUES];	/* by tuple; requested TUPLE columns */
	uint32_t *ref[EVENT_VALUES];	/* UTID columns, converted to utids */
	uint64_t *value[EVENT_VALUES];	/* all columns with other codecs */
};

struct column_source {
	const struct block_meta *meta;
	struct block_io io;
	struct zunpack *zunpack;
	const uint32_t *utids;		/* block_meta_utids() */
	uint32_t utid_cnt;
	/* by kind: values of its first column; NULL: not read yet */
	const uint64_t *first_values[EVENT_KIND_CNT];
};

/*
 * ask: COLUMN_ASK_* and 1 << column. -EBADMSG: the block is damaged, and must be ignored; *ret_why
 * has the reason.
 */
int column_read_kind(struct kind_columns *ret, const struct column_source *s, unsigned int kind,
		     uint32_t ask, const char **ret_why);
void kind_columns_done(struct kind_columns *k);
