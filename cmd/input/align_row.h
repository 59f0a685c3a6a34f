/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * align_row: says in front of a row when its bin was by the wall clock (analyze/engine/align.h),
 * and whose the row is.
 */
#pragma once

#include "cmd/render/row_prefix.h"
#include "trace/trace.h"

/* Columns in front of a row. */
#define ALIGN_COLUMNS "unix_ns", "wall_uncertainty_ns"
#define ALIGN_COLUMN_CNT 2

/* Fills row[0] and row[1] for the bin that begins at t_ns, counted from the trace's start. */
void align_row(const struct trace *t, uint64_t every_ns, int64_t t_ns, struct value *row);

/*
 * Prepends host and trace_id to the columns above, for rows that identify their trace. The texts
 * are t's. Call it before row_prefix_init().
 */
void align_name_trace(struct row_prefix *p, const struct trace *t);
