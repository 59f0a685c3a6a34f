/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * page_columns: results as JSON, column by column, which compresses better than rows.
 *
 *     report --rows--> [page_columns] --> "name":{"column":[...],...}
 *
 * A text is written as its index in a list of all texts, which follows the results. Zeros at the
 * end of a column are omitted, except in the first column. A column t_ns, whose instants are
 * beginnings of bins, becomes "bin": the number of bins since the previous row. A column upid
 * becomes "process": a text with number, PID and name, or "other" or "rest" with the name of the
 * others. If a command was recorded, the numbers of processes outside of it have the prefix r.
 * Threads: one.
 */
#pragma once

#include "analyze/context/context.h"
#include "analyze/page/page_rows.h"
#include "base/buf.h"
#include "base/strpool.h"

struct page_columns {
	/* a section's title is the name of its result: letters and underscores */
	struct row_sink sink;
	const struct analysis *a;
	const struct page_bins *bins;
	struct buf *out;
	char name[64];			/* name of the current result */
	const char *prefix;		/* prefix of its name in the data; NULL: none */
	bool is_first;
	struct strpool *texts;
	/* maps (pointer, 0) of a text or (upid, 1) of a process to its index in the list */
	struct hash_map numbers;
	struct buf text_list;
	uint32_t *upids;	/* processes in the list */
	size_t upid_cnt, upid_cap;
	unsigned int col_cnt;
	struct page_column *cols;
};

/* Results are written to out. 0 or -ENOMEM. */
int page_columns_init(struct page_columns *c, const struct analysis *a,
		      const struct page_bins *bins, struct buf *out);
void page_columns_done(struct page_columns *c);
/*
 * Writes a result "who": container, unit, user and cgroup of each process in the list. 0 or
 * -ENOMEM.
 */
int page_columns_put_who(struct page_columns *c);
/* Writes the list of texts, after all results. */
void page_columns_end(struct page_columns *c);

void page_put(struct buf *out, const char *text);
void page_put_int(struct buf *out, int64_t v);
