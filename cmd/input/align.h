/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * align: bins that begin at whole multiples of their length of UTC, on every host alike (report
 * --align, export --to openmetrics).
 *
 *     window --[align_window]--> whole bins --analyze--> rows --[align_row]--> unix_ns,
 *                                                                    wall_uncertainty_ns, row
 *
 * Bins have one length on CLOCK_MONOTONIC, so they stay aligned until the wall clock is set or the
 * machine is suspended. From then on a bin has the nearest multiple, and its uncertainty holds the
 * distance. Threads: one.
 */
#ifndef ALIGN_H
#define ALIGN_H

#include <stdbool.h>
#include <stdint.h>

#include "analyze/context/analysis.h"
#include "base/err.h"
#include "cmd/render/row_prefix.h"
#include "trace/trace.h"

/* Columns in front of a row. */
#define ALIGN_COLUMNS "unix_ns", "wall_uncertainty_ns"
#define ALIGN_COLUMN_CNT 2

/* How far the readings of t's clocks may be apart. */
uint64_t align_clock_uncertainty(const struct trace *t);

/*
 * Widens a window to whole bins by the wall clock at its start. -ERANGE: a bin would begin before
 * the machine was up.
 */
int align_window(const struct trace *t, uint64_t every_ns, uint64_t *from_ns, uint64_t *to_ns,
		 struct err *e);

/* The end of a window of whole bins that begin at from_ns. */
uint64_t align_end(uint64_t from_ns, uint64_t to_ns, uint64_t every_ns);

/*
 * The wall clock at the edge mono_ns of a bin: the nearest multiple, and its distance. every_ns 0:
 * bins are not aligned.
 */
uint64_t align_real_ns(const struct trace *t, uint64_t every_ns, uint64_t mono_ns,
		       uint64_t *ret_off_ns);
/* Fills row[0] and row[1] for the bin that begins at t_ns, counted from the trace's start. */
void align_row(const struct trace *t, uint64_t every_ns, int64_t t_ns, struct value *row);

/*
 * Puts host and trace_id before the columns above, for rows that say themselves where they come
 * from. The texts are t's. Call it before row_prefix_init().
 */
void align_name_trace(struct row_prefix *p, const struct trace *t);

#endif /* ALIGN_H */
