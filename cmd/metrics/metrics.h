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

#include <stdint.h>
#include <stdio.h>

#include "analyze/context/analysis.h"
#include "cmd/input/opts.h"

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

/* metric_options: the common options of `metrics` and `export --to openmetrics`. Threads: one. */
#define METRICS_TOP 20

struct metric_options {
	unsigned int by; /* 1u << REPORT_BY_x; 0: the default */
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

/* The functions below parse their values; see opts_take_fn. */
int metric_options_by(void *by, const char *value, struct err *e);
/* Lists the metrics on stdout, for --list. */
int metric_options_list(void *field, const char *value, struct err *e);

/*
 * metric_table: all metrics, each declared once. The endpoint, the text file, the bins of an
 * export, the list of `metrics --list` and the tests take them from here.
 *
 *     schema/report_metrics.sql --schema/metrics.awk--> build/metric_table.c
 */
enum metric_type {
	METRIC_COUNTER, /* a sum since the counting began */
	METRIC_GAUGE, /* as of the end of the last window */
	METRIC_PEAK, /* a gauge: the highest of an interval */
	METRIC_HISTOGRAM, /* of times, by powers of two */
};

struct metric {
	/* With its unit at the end, if it has one, and without "_total". NULL ends the table. */
	const char *name;
	enum metric_type type;
	/*
	 * Source of its value: a section of schema/report_metrics.sql and a column of it. A name in
	 * _ns is converted to seconds. The program fills a section "program".
	 */
	const char *section, *column;
	const char *label; /* one that all values from there have, or NULL */
	const char *help; /* of the first of several rows with the same name */
};

/* Rows with the same name follow each other, and so do those of a section, in the order of SQL. */
extern const struct metric metric_table[];
