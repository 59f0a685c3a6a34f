/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * metrics: counts windows of a trace, and writes what they add up to as text for Prometheus.
 *
 *     window --[schema/report_metrics.sql]--> rows --[metrics]--> series --> text
 *
 * Labels: the `top` largest owners (names, units, containers or users) of each section of a
 * window get a label. At most METRICS_LABELS * top labels are shown. If there is no free one, the
 * label that has been idle longest is removed, if it was not among the largest for METRICS_IDLE_NS.
 * Owners without a label count for "[other]". So the number of series is bounded, and no counter
 * ever decreases: each is the sum of all additions to it. A label that returns continues its sums.
 * If too many others have been large since (METRICS_KNOWN), it was forgotten and begins at 0, as
 * after a restart.
 *
 * Threads: one. Errors: 0 or -errno and struct err.
 */
#pragma once

#include <stdio.h>

#include "analyze/context/analysis.h"

#define METRICS_LABELS 5 /* times the number of --top */
#define METRICS_KNOWN 20 /* times the number of shown labels: remembered labels */
#define METRICS_IDLE_NS 300000000000ull /* 5 minutes */
#define METRICS_DEVICES 64 /* that have a label of their own */

struct metrics;

/* by: 1u << REPORT_BY_COMM, _UNIT, _CONTAINER or _USER. NULL: out of memory. */
struct metrics *metrics_new(unsigned int by, unsigned int top);
void metrics_free(struct metrics *m);

/*
 * Adds the window [from_ns, to_ns) to all counters, once; gauges of the trace then have the values
 * of its end. After an error a part of the window may have been added. Assigns labels on first use
 * and discards earlier values.
 */
int metrics_count(struct metrics *m, struct analysis *a, uint64_t from_ns, uint64_t to_ns,
		  struct err *e);
/*
 * Assigns the first labels, to the largest owners in this window, without counting the window. An
 * owner that gets one in the last section then has it in all sections.
 */
int metrics_give_labels(struct metrics *m, struct analysis *a, uint64_t from_ns, uint64_t to_ns,
			struct err *e);
/* Publishes the peaks since the last call and begins new ones. */
void metrics_end_interval(struct metrics *m);

/*
 * Sets a gauge of the section "program", or adds to a counter without labels, by its column in
 * metric_table.
 */
int metrics_put(struct metrics *m, const char *column, uint64_t value);

/*
 * All series, as OpenMetrics or as Prometheus' older text format 0.0.4. 0 or -ENOMEM; the caller
 * looks at f for other errors.
 */
int metrics_write(const struct metrics *m, FILE *f, bool openmetrics);

/*
 * Writes the window in bins, as OpenMetrics with timestamps: the timestamp of each value is its
 * bin's end, and counters begin with a 0 at the first bin's beginning. The window grows to whole
 * bins of UTC, as in analyze/engine/align.h. The labels are those of the whole window.
 * *ret_samples: lines written. -EFBIG: that would take more memory than METRICS_BINS_BYTES;
 * -ERANGE: as align_window().
 */
#define METRICS_BINS_BYTES (1ull << 30)
int metrics_write_bins(struct metrics *m, struct analysis *a, const struct trace *t,
		       uint64_t from_ns, uint64_t to_ns, uint64_t every_ns, FILE *f,
		       uint64_t *ret_samples, struct err *e);
