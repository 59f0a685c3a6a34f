/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * column_writer: holds the events of one block as arrays per kind and column, and converts them to
 * sections. Rows are ordered by CPU, ts_ns and arrival. Codecs: schema/FORMAT.md, "Columns".
 */
#pragma once

#include <stdint.h>

#include "format/block_out.h"
#include "format/event.h"
#include "format/tuple_dict.h"

struct kind_rows {
	uint32_t cnt, cap;
	uint64_t need;		/* rows needed recently: see need_note() */
	uint32_t *cpu_start;	/* first row of each CPU; cpu_cnt + 1 elements */
	uint64_t *ts_ns;
	uint32_t *utid;		/* slots: indices of the caller's list of utids */
	uint32_t *ref;		/* the same for the kind's UTID column, if any */
	uint32_t *tuple;	/* index in tuples */
	uint64_t *val[EVENT_VALUES]; /* columns with other codecs than UTID and TUPLE; else NULL */
	struct tuple_dict tuples;	/* flags, then the TUPLE columns in index order */
};

/* Before the first call, *k is all zeros. 0 or -ENOMEM. */
int kind_rows_init(struct kind_rows *k, unsigned int kind, unsigned int cpu_cnt);
void kind_rows_done(struct kind_rows *k);
/*
 * Assigns rows to each CPU, and makes room for all rows. counts[cpu * EVENT_KIND_CNT]: number of
 * rows of a CPU; replaced by the index of its first row. 0 or -ENOMEM.
 */
int kind_rows_place(struct kind_rows *k, unsigned int kind, uint32_t *counts, unsigned int cpu_cnt);

struct column_writer {
	uint8_t *main, *bits, *fresh, *fresh_bits;	/* scratch buffers for the four parts */
	/* capacity of the scratch buffers, in rows */
	uint32_t room;
	uint64_t need;
	uint32_t *rank;					/* scratch: by tuple: its rank */
	uint32_t rank_room;
	uint32_t *recent;	/* by hash of a value: a row + 1; collisions lose entries */
};

void column_writer_done(struct column_writer *c);

/*
 * Adds all sections of all kinds. rows: by kind; base_ns: the block's first_ns; slot_rank: by slot:
 * index in the block's UTIDS.
 */
int column_write_all(struct column_writer *c, struct block_out *o, struct kind_rows *rows,
		     unsigned int cpu_cnt, uint64_t base_ns, const uint32_t *slot_rank);

/*
 * Ranks the numbers with hits by falling hits, then by number: ret_rank[number] = rank,
 * ret_order[rank] = number (cnt elements). Returns the number of ranks, or -ENOMEM.
 */
int column_rank(const uint32_t *hits, uint32_t cnt, uint32_t *ret_rank, uint32_t *ret_order);

/*
 * Adds UTIDS: the utids of slots with hits, by rank. ret_rank and order: see column_rank(). 0 or
 * -ENOMEM.
 */
int column_add_utids(struct block_out *o, const uint32_t *utids, const uint32_t *hits, uint32_t cnt,
		     uint32_t *ret_rank, uint32_t *order);
