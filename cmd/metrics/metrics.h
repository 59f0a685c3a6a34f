/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * metrics: counts windows of a trace, and writes the sums as text for Prometheus.
 *
 *     window --[schema/report_metrics.sql]--> rows --[metrics]--> series --> text
 *
 * Labels: the `top` largest owners (names, units, containers or users) of each section of a window
 * get a label. At most METRICS_LABELS * top labels are shown. If none is free, the label that has
 * been idle longest is removed, provided that its owner was not among the largest for
 * METRICS_IDLE_NS. Owners without a label are counted as "[other]". So the number of series is
 * bounded, and no counter ever decreases. When an owner gets its label again, its sums continue,
 * unless the label was forgotten because there were too many others (METRICS_KNOWN); then they
 * begin at 0, as after a restart.
 *
 * Threads: one. Errors: 0 or -errno and struct err.
 */
#pragma once

#include <stdint.h>
#include <stdio.h>

#include "analyze/analyze.h"
#include "cmd/input/opts.h"

#define METRICS_LABELS 5 /* maximum number of shown labels, as a multiple of --top */
/* maximum number of remembered labels, as a multiple of the shown labels */
#define METRICS_KNOWN 20
#define METRICS_IDLE_NS 300000000000ull /* 5 minutes */
#define METRICS_DEVICES 64 /* number of devices that get a label */

struct metrics;

/*
 * by: 1u << REPORT_BY_COMM, _UNIT, _CONTAINER or _USER; top: number of largest owners per section.
 * NULL: out of memory.
 */
struct metrics *metrics_new(unsigned int by, unsigned int top);
void metrics_free(struct metrics *m);

/*
 * Adds the window [from_ns, to_ns) to all counters, and sets gauges of the trace to their values at
 * its end. Call it once per window. After an error, a part of the window may have been added. The
 * first call assigns labels and discards earlier values.
 */
int metrics_count(struct metrics *m, struct analysis *a, uint64_t from_ns, uint64_t to_ns,
		  struct err *e);
/*
 * Assigns the first labels to the largest owners in this window, without counting the window. When
 * the window is counted later, an owner that got its label in the last section has it in all
 * sections.
 */
int metrics_give_labels(struct metrics *m, struct analysis *a, uint64_t from_ns, uint64_t to_ns,
			struct err *e);
/* Ends an interval of peaks: publishes the peaks since the last call, and resets them. */
void metrics_end_interval(struct metrics *m);

/*
 * Sets a gauge of the section "program", or adds to a counter without labels. column: its name in
 * metric_table.
 */
int metrics_put(struct metrics *m, const char *column, uint64_t value);

/*
 * Writes all series as OpenMetrics, or in Prometheus' older text format 0.0.4. 0 or -ENOMEM; the
 * caller checks f for other errors.
 */
int metrics_write(const struct metrics *m, FILE *f, bool openmetrics);

/*
 * Writes the window in bins, as OpenMetrics with timestamps. The timestamp of a value is its bin's
 * end; counters begin with a 0 at the first bin's beginning. The window is extended to whole bins
 * of UTC, as in analyze/engine/align.h. Labels are assigned for the whole window. *ret_samples:
 * number of lines written. -EFBIG: more memory than METRICS_BINS_BYTES would be needed; -ERANGE: as
 * align_window().
 */
#define METRICS_BINS_BYTES (1ull << 30)
int metrics_write_bins(struct metrics *m, struct analysis *a, const struct trace *t,
		       uint64_t from_ns, uint64_t to_ns, uint64_t every_ns, FILE *f,
		       uint64_t *ret_samples, struct err *e);

/* metric_options: the common options of `metrics` and `export --to openmetrics`. Threads: one. */
#define METRICS_TOP 20

struct metric_options {
	unsigned int by; /* 1u << REPORT_BY_x; 0: default */
	uint64_t top;
};

#define METRIC_OPTIONS(command, o)                                                                 \
	{ 0,                                                                                       \
	  "by",                                                                                    \
	  "KEY",                                                                                   \
	  "label processes by comm (default), unit, container or user",                            \
	  OPTS_CALL,                                                                               \
	  offsetof(command, o.by),                                                                 \
	  metric_options_by },                                                                     \
	{                                                                                          \
		0, "top", "N",                                                                     \
			"the N largest get a label of their own, the rest is [other] (20)",        \
			OPTS_COUNT, offsetof(command, o.top),                                      \
			.min = 1, .max = 1000, .refuse = " is not between 1 and 1000"              \
	}

/* The functions below parse option values; see opts_take_fn. */
int metric_options_by(void *by, const char *value, struct err *e);
/* Lists the metrics on stdout, for --list. */
int metric_options_list(void *field, const char *value, struct err *e);

/*
 * metric_table: all metrics, each declared once; used by the endpoint, the text file, the bins of
 * an export, `metrics --list` and the tests.
 *
 *     schema/report_metrics.sql --schema/metrics.awk--> build/metric_table.c
 */
enum metric_type {
	METRIC_COUNTER, /* sum since counting began */
	METRIC_GAUGE, /* value at the end of the last window */
	METRIC_PEAK, /* a gauge: highest value in an interval */
	METRIC_HISTOGRAM, /* histogram of times; the limits of buckets are powers of two */
};

struct metric {
	/* Name with its unit, if any, and without "_total". NULL ends the table. */
	const char *name;
	enum metric_type type;
	/*
	 * Source of the value: a section of schema/report_metrics.sql, and a column in it. A column
	 * in ns is converted to seconds. The program itself sets the values of the section
	 * "program".
	 */
	const char *section, *column;
	const char *label; /* label of all values of this row, or NULL */
	const char *help; /* set in the first of several rows with the same name */
};

/*
 * Rows of a section, and rows with the same name, are adjacent; sections are in the order of the
 * SQL.
 */
extern const struct metric metric_table[];
