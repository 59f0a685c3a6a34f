/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * page_rows: rows of a table-valued function, reduced to the number that fits on a page.
 *
 *     table --[page_rows: added up by bin and key, small ones as "other"]--> sink
 *
 * The keys with the highest measure have their own rows, up to a number of rows, as does the key
 * with the highest measure in any bin. The rows of all other keys are added up per bin: by name,
 * which replaces the upid, for the names with the highest measure; otherwise in a row whose upid is
 * NULL. So the sums of each bin and of each of these names are exact.
 *
 * If a command was recorded, the processes of its tree get their own rows before other processes.
 * A name that replaces upids begins with 'w' (workload, or no command was recorded) or 'r' (rest of
 * the machine, whose rows always have a name, which may be empty). Threads: one.
 */
#pragma once

#include <stddef.h>

#include "analyze/context/context.h"
#include "base/array.h"
#include "base/buf.h"
#include "base/strpool.h"

enum { PAGE_KEYS_MAX = 5, PAGE_VALUES_MAX = 9 };

struct page_bins {
	uint64_t *edges;
	size_t cnt, cap;	/* number of edges, one more than bins */
	bool are_decoded;	/* events of the bins are decoded, so bins have equal lengths */
	bool are_coarse;	/* finer bins are available if the user stays at the window */
	/* number of slices of the index in the bins; 0: events are decoded */
	size_t slices;
	bool are_long;		/* computing all results would take longer than a step may */
};

/* Returns the first bin that begins at ts_ns or later; if there is none, the number of bins. */
static inline size_t page_bin_of(const struct page_bins *b, uint64_t ts_ns)
{
	return lower_bound_plain(b->edges, b->cnt - 1, ts_ns);
}

struct page_rows_def {
	const char *result, *table;
	const char *by;			/* argument "by" of the table; NULL: none */
	/*
	 * Rows are excluded if their column `without` is without_text (NULL: EVENT_ID_UNKNOWN).
	 * without NULL: no rows are excluded.
	 */
	const char *without, *without_text;
	/* key columns; the first `ranked` of them determine which keys have their own rows */
	const char *keys[PAGE_KEYS_MAX];
	unsigned int ranked;		/* 0: all keys have their own rows */
	/* value columns, which are added up; with prefix ^ the maximum is used */
	const char *values[PAGE_VALUES_MAX];
	/* number of leading value columns that are added up as the measure */
	unsigned int measured;
	/* maximum number of keys with their own rows; 0: limited only by the number of rows */
	unsigned int named_max;
	/*
	 * Most rows have a measure of 0; the measure is activity (table_query.is_of_activity). The
	 * only key is a task, and all values are added up.
	 */
	bool is_sparse;
	/*
	 * another definition for the same table, filled in the same scan, and written after this
	 * one
	 */
	const struct page_rows_def *with;
};

/*
 * Passes these results to the sink: the rows of def; a result whose name is "others_of_" and
 * def->result, with the number of keys without their own rows, by name; and both for def->with.
 * rows_wanted: maximum number of rows for each kind of ranked row; 0: none. Rows are of the whole
 * machine. Columns submitter and owner_how are used only for rows with an unknown owner. 0 or
 * -errno.
 */
int page_rows_put(struct analysis *a, const struct page_rows_def *def, const struct page_bins *bins,
		  const struct row_sink *out, size_t rows_wanted, struct err *e);

/*
 * page_columns: results as JSON, column by column, which compresses better than rows.
 *
 *     report --rows--> [page_columns] --> "name":{"column":[...],...}
 *
 * A text is written as its index in a list of all texts, which follows the results. Zeros at the
 * end of a column are omitted, except in the first column. A column t_ns, whose instants are
 * beginnings of bins, becomes "bin": the number of bins since the previous row. A column upid
 * becomes "process": a text with number, PID and name; or, for rows added up by name, "other" or
 * "rest" and this name. If a command was recorded, the numbers of processes outside of it have the
 * prefix r. Threads: one.
 */
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
