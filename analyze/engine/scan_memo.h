/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * scan_memo: the rows of small tables of windows that the sections of one report ask for more than
 * once, such as causes() and memory_spikes(). Only whole results of table-valued functions are
 * kept; an analysis has at most one memo, while it answers a report. Threads: one.
 */
#pragma once

#include "analyze/engine/table.h"

struct scan_memo;

/* Begins and ends the time in which a's results are kept. Without memory nothing is kept. */
void scan_memo_begin(struct analysis *a);
void scan_memo_end(struct analysis *a);
/* Forgets all rows: they may have come from a damaged index. */
void scan_memo_clear(struct analysis *a);

/* Returns whether the rows of this query may be kept. */
bool scan_memo_takes(const struct analysis *a, const struct table_def *def,
		     const struct table_query *q);
/* Returns the kept rows, valid until scan_memo_end() or scan_memo_clear(); NULL: none. */
const struct rowbuf *scan_memo_find(const struct analysis *a, const struct table_def *def,
				    const struct table_query *q);
/* Keeps a copy of all rows of a query, if they are few. */
void scan_memo_keep(struct analysis *a, const struct table_def *def, const struct table_query *q,
		    const struct rowbuf *rows);
