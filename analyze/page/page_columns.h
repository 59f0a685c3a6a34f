/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * page_columns: results as JSON, column by column, which compresses better than rows.
 *
 *     report --rows--> [page_columns] --> "name":{"column":[...],...}
 *
 * A text is a number, an index into a list of all texts, which is written at the end. The zeros of
 * a column's last rows are left out; the first column has all of its rows. In a column
 * t_ns, instants at which a bin begins become "bin": how many bins later than the row before. A
 * column upid becomes "process": a text of number, PID and name, or "other" or "rest" and the name
 * of others. With a recorded command, the number of a process that is not its begins with an r.
 * Threads: one.
 */
#pragma once

#include "analyze/context/context.h"
#include "base/buf.h"
#include "base/strpool.h"

struct page_columns {
	struct row_sink sink;	/* a section's title names its result: letters and underscores */
	const struct analysis *a;
	struct buf *out;
	char name[64];			/* of the present result */
	const char *prefix;		/* of its name in the data; or NULL */
	bool is_first;
	struct strpool *texts;
	/* in the list: (pointer, 0) of a text, (upid, 1) of a process */
	struct hash_map numbers;
	struct buf text_list;
	uint32_t *upids;	/* of processes in the list */
	size_t upid_cnt, upid_cap;
	unsigned int col_cnt;
	struct page_column *cols;
};

/* Writes to out. 0 or -ENOMEM. */
int page_columns_init(struct page_columns *c, const struct analysis *a, struct buf *out);
void page_columns_done(struct page_columns *c);
/* A result "who": the container, the unit and the user of each process that came before. */
int page_columns_put_who(struct page_columns *c);
/* All results are there: the list of texts. */
void page_columns_end(struct page_columns *c);

void page_put(struct buf *out, const char *text);
void page_put_int(struct buf *out, int64_t v);
