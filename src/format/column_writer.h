/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * column_writer: the events of one block as arrays per kind and column, and their conversion to
 * sections. Rows are ordered by (cpu, ts_ns, arrival). Codecs: schema/FORMAT.md, "Columns".
 */
#pragma once

#include <stdint.h>

#include "format/block_out.h"
#include "format/event.h"
#include "format/tuple_dict.h"

struct kind_rows {
	uint32_t cnt, cap;
	uint64_t need;		/* rows: see base/need.h */
	uint32_t *cpu_start;	/* cpu_cnt + 1 row numbers */
	uint64_t *ts_ns;
	uint32_t *utid;		/* slots: see column_utids */
	uint32_t *ref;		/* slots: the kind's UTID column, if it has one */
	uint32_t *tuple;	/* numbers in tuples */
	uint64_t *val[EVENT_VALUES];	/* columns that are neither UTID nor TUPLE; else NULL */
	struct tuple_dict tuples;	/* flags, then the TUPLE columns in index order */
};

/* All zeros is an empty struct. 0 or -ENOMEM. */
int kind_rows_init(struct kind_rows *k, unsigned int kind, unsigned int cpu_cnt);
void kind_rows_done(struct kind_rows *k);
/*
 * Assigns each CPU's rows their position, and makes room for all rows. counts[cpu * EVENT_KIND_CNT]
 * are the rows of a CPU; they become the index of its first row. 0 or -ENOMEM.
 */
int kind_rows_place(struct kind_rows *k, unsigned int kind, uint32_t *counts, unsigned int cpu_cnt);

struct column_writer {
	uint8_t *main, *bits, *fresh, *fresh_bits;	/* scratch for the four parts */
	/* capacity of the scratch buffers, in rows */
	uint32_t room;
	uint64_t need;
	uint32_t *rank;					/* scratch: tuple number to rank */
	uint32_t rank_room;
	uint32_t *recent;	/* hash of a value to a row + 1; lossy on purpose */
};

void column_writer_done(struct column_writer *c);

/*
 * Adds all sections of all kinds. rows[kind]; base_ns is the block's first_ns; slot_rank maps a
 * slot to an index of the block's UTIDS.
 */
int column_write_all(struct column_writer *c, struct block_out *o, struct kind_rows *rows,
		     unsigned int cpu_cnt, uint64_t base_ns, const uint32_t *slot_rank);

/*
 * Ranks numbers by falling count, equal counts by number: ret_rank[old] = new for numbers with a
 * count above 0. Returns how many there are. order (cnt entries) gets the old numbers by rank.
 * -ENOMEM.
 */
int column_rank(const uint32_t *hits, uint32_t cnt, uint32_t *ret_rank, uint32_t *ret_order);

/*
 * Adds UTIDS: the utids of slots with hits. ret_rank and order are as in column_rank(). 0 or
 * -ENOMEM.
 */
int column_add_utids(struct block_out *o, const uint32_t *utids, const uint32_t *hits, uint32_t cnt,
		     uint32_t *ret_rank, uint32_t *order);
