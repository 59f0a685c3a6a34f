/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * export_rows: the rows of an event table, or of a table made of events, that an export writes.
 *
 *     table_def --rows of cells--> [export_rows: those of the window] --> bulk_load
 *
 * Threads: opened and closed in the thread of the analysis. Any one thread may read it while that
 * thread does nothing but look at lists.
 */
#ifndef EXPORT_ROWS_H
#define EXPORT_ROWS_H

#include "analyze/engine/table.h"

struct export_part {
	bool whole; /* the whole trace; else the window */
	int64_t from_ns, to_ns; /* the window, from the trace's start */
};

struct export_rows;

int export_rows_open(struct export_rows **ret, struct analysis *a, const struct table_def *def,
		     const struct export_part *part, struct err *e);
void export_rows_close(struct export_rows *r);
/* 1 and a row, valid until the next call; 0: no more; -errno. */
int export_rows_next(struct export_rows *r, const struct cell **ret, struct err *e);

/*
 * A text of the trace, safe to print (base/textsafe.h): the text itself where it is safe already,
 * else a copy in room, which grows. NULL: out of memory.
 */
struct export_text {
	char *data;
	size_t cap;
};
const char *export_text_safe(struct export_text *room, const char *text, size_t *ret_bytes);

#endif /* EXPORT_ROWS_H */
