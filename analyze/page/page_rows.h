/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * page_rows: the rows of a table-valued function, as few as a page can hold.
 *
 *     table --[page_rows: added up by bin and key, small ones as "other"]--> sink
 *
 * The keys with most of a measure have rows of their own, up to a number of rows, and so has the
 * one that leads in any bin. What all others have is added up in rows of their bin: where they have
 * one of the names with most, by this name, which stands in place of the upid; of the rest the upid
 * is NULL. So the sums of a bin, and those of these names, are always exact.
 *
 * Where a command was recorded, its process tree has rows of its own before others have. The name
 * of others begins with 'w' (of the workload, or no command was recorded) or 'r' (the rest of the
 * machine, which always has a name, that may be empty). Threads: one.
 */
#pragma once

#include <stddef.h>

#include "analyze/context/analysis.h"

enum { PAGE_KEYS_MAX = 5, PAGE_VALUES_MAX = 9 };

struct page_rows_def {
	const char *result, *table;
	const char *by;			/* argument of the table; NULL: it has none */
	/*
	 * Column that must not have a text, and that text, or NULL: not EVENT_ID_UNKNOWN.
	 * without NULL: all rows count.
	 */
	const char *without, *without_text;
	/* columns of the key; the first "ranked" of them decide which rows are of others */
	const char *keys[PAGE_KEYS_MAX];
	unsigned int ranked;		/* 0: none is */
	/* columns that add up, or ^ and a column whose largest counts */
	const char *values[PAGE_VALUES_MAX];
	unsigned int measured;		/* number of leading columns in the measure */
	unsigned int named_max;		/* keys with rows of their own; 0: as many as have room */
	/*
	 * Most rows have nothing of the measure, which is activity (struct table_query); the only
	 * key is a task, and all values add up.
	 */
	bool is_sparse;
	/* another one of the same table, which comes behind it: one scan finds the rows of both */
	const struct page_rows_def *with;
};

/*
 * Gives the sink a result for the def, one "others_of_" it, with the number of keys that have no
 * rows of their own, by name, and those of its "with". rows_wanted: by kind of row that is
 * ranked; 0: no rows are wanted. Columns submitter and owner_how count for rows without a known
 * owner only. 0 or -errno.
 */
int page_rows_put(struct analysis *a, const struct page_rows_def *def, const struct row_sink *out,
		  size_t rows_wanted, struct err *e);
