/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* check_rows: the parts that trace_check() finds, as rows of a table. Threads: one. */
#ifndef CHECK_ROWS_H
#define CHECK_ROWS_H

#include "analyze/engine/analysis.h"
#include "edit/trace_check.h"

struct check_rows {
	const struct row_sink *sink;
	uint64_t start_ns;
};

/*
 * Columns: file, status, offset, bytes, from_ns, to_ns (from the trace's start), blocks, events,
 * reason.
 */
int check_rows_begin(struct check_rows *r, const struct row_sink *sink, uint64_t start_ns);
int check_rows_add(void *ctx, const struct check_part *part);	/* ctx: struct check_rows */
int check_rows_end(struct check_rows *r);

#endif /* CHECK_ROWS_H */
