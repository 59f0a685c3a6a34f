/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * diff: two traces side by side, role by role (role.h), figure by figure.
 *
 * A figure has changed when the difference is
 *   - more than the variation from bin to bin explains (bin_noise), at a level of 1 % for all
 *     figures of the comparison together (Bonferroni's correction), and
 *   - relevant: at least 5 %, and at least the figure's own minimum (diff_metric).
 * wall_ns is the time from the workload's first process to its last one's end. It is measured once
 * a trace, so it is not tested: DIFF_SAME below 5 %, else DIFF_UNKNOWN.
 * Two traces cannot show a variation between runs of the same workload that no single run has.
 *
 *     figure            value                                               minimum
 *     oncpu_ns          CPU time of all processes of the role               0.5 % of the window
 *     largest_rss_bytes highest resident size of the largest of them        1 MiB
 *     ios, io_bytes     block requests that ended in the window, as owner   10; 1 MiB
 *     lat_p50_ns, lat_p99_ns  of these, queueing to completion              10 us, at 30 requests
 *                                                                           on either side
 *
 * Requests of programs (app.span) are compared by name, which takes the place of a role:
 *
 *     requests, requests_per_s  that ended in the window                    10; none
 *     request_p50_ns, ..., request_max_ns  their lengths                    10 us, at 30 requests
 *     request_KIND_ns   mean of this part (request_time) of their lengths   10 us, at 30 requests
 *
 * Threads: one.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/context/analysis.h"
#include "model/call.h"

struct diff_side {
	struct analysis *a;
	uint64_t from_ns, to_ns;	/* CLOCK_MONOTONIC of that trace, inside its span */
};

enum diff_metric {
	DIFF_ONCPU,
	DIFF_RSS_PEAK,
	DIFF_IOS,
	DIFF_IO_BYTES,
	DIFF_LAT_P50,
	DIFF_LAT_P99,
	DIFF_REQUESTS,		/* the first one of a name of requests; all above are of a role */
	DIFF_REQUESTS_PER_S,
	DIFF_REQUEST_P50,
	DIFF_REQUEST_P90,
	DIFF_REQUEST_P99,
	DIFF_REQUEST_MAX,
	DIFF_REQUEST_PART,	/* and on: see diff_part_name() */
	DIFF_METRIC_CNT = DIFF_REQUEST_PART + WAIT_KIND_CNT + 2,
	DIFF_WALL = DIFF_METRIC_CNT	/* of the workload as a whole: the first row */
};

enum diff_verdict {
	DIFF_SAME,
	DIFF_CHANGED,
	DIFF_ONLY_A,
	DIFF_ONLY_B,
	/* one side did not record the figure's source in its window; or it cannot be tested */
	DIFF_UNKNOWN
};

/* Why a figure whose two values differ by 5 % and more is the same. */
enum diff_reason {
	DIFF_NO_REASON,
	DIFF_TOO_SMALL, /* the difference itself, in ms or bytes, is too small to matter */
	DIFF_TOO_FEW, /* percentiles of too few requests */
	DIFF_NOISE
};

struct diff_row {
	const char *role, *parent;	/* or name of requests, and ""; valid during the call */
	enum diff_metric metric;
	uint64_t processes[2];
	double value[2];		/* in the metric's unit; has[] is false: there is none */
	bool has[2];
	/*
	 * Probability that noise alone makes such a difference in any figure of the comparison:
	 * DIFF_CHANGED when it is below 1 %. 1: not tested.
	 */
	double p;
	enum diff_verdict verdict;
	enum diff_reason reason;
	bool complete; /* what `cpu`, `memory` or `io` needs is there in both windows */
};

struct diff_summary {
	uint64_t bin_ns;
	uint64_t changed;		/* rows whose verdict is one */
};

bool diff_is_change(enum diff_verdict v);	/* neither DIFF_SAME nor DIFF_UNKNOWN */
const char *diff_metric_name(enum diff_metric m);	/* "oncpu_ns"; NULL: a part of requests */
const char *diff_part_name(enum diff_metric m);	/* "lock", "running"; NULL: not a part */
/* "same", "changed", "only A", "only B", "unknown" */
const char *diff_verdict_name(enum diff_verdict v);

/*
 * only_workload leaves out all but the recorded workload. bin_ns 0: a fiftieth of the shorter
 * window, at least 10 ms. Changed rows come first, then rows by size of the change. A negative
 * return of row() ends the call with that error. 0 or -errno.
 */
int diff_run(const struct diff_side sides[2], uint64_t bin_ns, bool only_workload,
	     int (*row)(void *ctx, const struct diff_row *row), void *ctx, struct diff_summary *ret,
	     struct err *e);

/*
 * bin_noise: is the difference of two series larger than the variation from bin to bin?
 *
 * A series is one figure (CPU time, bytes, ...) in consecutive bins of equal length. Its noise is
 * estimated from neighbouring bins, s^2 = sum (x[i+1] - x[i])^2 / (2 (n - 1)) (von Neumann 1941),
 * so a workload's phases do not count as noise. Welch's t-test then compares two series, each with
 * 2 (n - 1) / 3 degrees of freedom: on pure noise, this estimate is worth two thirds of the usual
 * one.
 *
 * Threads: any. Nothing here fails.
 */
/* Variance of one bin. 0 with fewer than two bins. */
double bin_noise_variance(const double *bins, size_t cnt);

/*
 * One side of a comparison: a value, the variance of that value, and that estimate's degrees of
 * freedom.
 */
struct bin_estimate {
	double value, variance, df;
};
/* The sum of a series: its variance is cnt times that of a bin. */
struct bin_estimate bin_estimate_sum(const double *bins, size_t cnt);
/* The largest bin of a series: its variance is that of a bin. */
struct bin_estimate bin_estimate_max(const double *bins, size_t cnt);

/* Two-sided p of Student's t, 0 <= p <= 1. df > 0; t may be infinite. */
double student_p(double t, double df);

/* Two-sided p of "both are the same" (Welch). 1 when neither side has noise and they are equal. */
double bin_compare(const struct bin_estimate *a, const struct bin_estimate *b);

/*
 * A p of one of cnt comparisons, as the probability that noise alone makes any of them differ so
 * much is at most this (Bonferroni). Of comparisons of 60 figures in which nothing changed, 45 %
 * would show a change at a level of 1 % without it, and 1 % do so.
 */
double bin_corrected(double p, size_t cnt);
