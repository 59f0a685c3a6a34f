/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * export_rows: the rows of an event table, or one made of events, that an export has to write.
 *
 *     table_def --rows of cells--> [export_rows: those of the window, or the new ones] --> pages or INSERT
 *
 * Threads: opened and closed in the analysis' one; read in any one, while that does nothing but look at lists.
 */
#ifndef EXPORT_ROWS_H
#define EXPORT_ROWS_H

#include "analyze/table.h"

struct export_part {
	bool whole; /* the whole trace; else the window */
	int64_t from_ns, to_ns; /* the window, from the trace's start */
	/*
	 * Of the whole trace those rows only that were not settled before cut_ns: events from there on, and what
	 * is made of events unless it ended before. Slices of CPUs that are not in old_cpus (a byte for each) are
	 * all new.
	 */
	bool has_cut;
	int64_t cut_ns;
	const uint8_t *old_cpus;
	size_t old_cpu_cnt;
};

/* The column that says when a row made of events was settled; -1: of an event table, whose time says. */
int export_end_column(const struct table_def *def);

struct export_rows;

int export_rows_open(struct export_rows **ret, struct analysis *a, const struct table_def *def,
		     const struct export_part *part, struct err *e);
void export_rows_close(struct export_rows *r);
/* 1 and a row, valid until the next call; 0: no more; -errno. */
int export_rows_next(struct export_rows *r, const struct cell **ret, struct err *e);

/*
 * A text of the trace as it is written: made safe as textsafe.h has it. Of text itself where that is safe
 * already, else in room, which grows. NULL: out of memory.
 */
struct export_text {
	char *data;
	size_t cap;
};
const char *export_text_safe(struct export_text *room, const char *text, size_t *ret_bytes);

#endif /* EXPORT_ROWS_H */
