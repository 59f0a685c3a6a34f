/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * diff: compares two traces, role by role (role.h) and figure by figure.
 *
 * A figure has changed if the difference is
 *   - larger than the variation from bin to bin explains (bin_noise), at a level of 1 % for all
 *     figures of the comparison together (Bonferroni's correction), and
 *   - relevant: at least 5 %, and at least the figure's own minimum (diff_metric).
 * wall_ns is the time from the start of the workload's first process to the end of its last one. It
 * is measured only once per trace, so it is not tested: DIFF_SAME below 5 %, else DIFF_UNKNOWN.
 * Variation that exists only between runs of a workload cannot be seen in two traces.
 *
 *     figure            value                                               minimum
 *     oncpu_ns          CPU time of all processes of the role               0.5 % of the window
 *     largest_rss_bytes highest resident size of the role's largest process 1 MiB
 *     ios, io_bytes     block requests owned by the role that ended in the  10; 1 MiB
 *                       window
 *     lat_p50_ns, lat_p99_ns  their time from queueing to completion        10 us, at 30 requests
 *                                                                           on either side
 *
 * Requests of programs (app.span) are compared by name, which takes the place of a role:
 *
 *     requests, requests_per_s  requests that ended in the window           10; none
 *     request_p50_ns, ..., request_max_ns  lengths of these requests        10 us, at 30 requests
 *     request_KIND_ns   mean time per request in this part (request_time)   10 us, at 30 requests
 *
 * Threads: one.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/context/row_sink.h"
#include "base/err.h"
#include "model/call.h"

struct diff_side {
	struct analysis *a;
	uint64_t from_ns, to_ns;	/* CLOCK_MONOTONIC of this trace, inside its span */
};

enum diff_metric {
	DIFF_ONCPU,
	DIFF_RSS_PEAK,
	DIFF_IOS,
	DIFF_IO_BYTES,
	DIFF_LAT_P50,
	DIFF_LAT_P99,
	DIFF_REQUESTS,		/* first metric of names of requests; all above are of roles */
	DIFF_REQUESTS_PER_S,
	DIFF_REQUEST_P50,
	DIFF_REQUEST_P90,
	DIFF_REQUEST_P99,
	DIFF_REQUEST_MAX,
	DIFF_REQUEST_PART,	/* first of several: see diff_part_name() */
	DIFF_METRIC_CNT = DIFF_REQUEST_PART + WAIT_KIND_CNT + 2,
	DIFF_WALL = DIFF_METRIC_CNT	/* wall time of the whole workload; the first row */
};

enum diff_verdict {
	DIFF_SAME,
	DIFF_CHANGED,
	DIFF_ONLY_A,
	DIFF_ONLY_B,
	/* only one side recorded the figure's source, or the figure cannot be tested */
	DIFF_UNKNOWN
};

/* Why a figure is DIFF_SAME although its values differ by at least 5 %. */
enum diff_reason {
	DIFF_NO_REASON,
	DIFF_TOO_SMALL, /* the absolute difference is too small to matter */
	DIFF_TOO_FEW, /* too few requests for a percentile */
	DIFF_NOISE
};

struct diff_row {
	/* metrics of requests: role is the requests' name, parent is ""; valid during the call */
	const char *role, *parent;
	enum diff_metric metric;
	uint64_t processes[2];
	double value[2];		/* in the metric's unit; valid if has[] */
	bool has[2];
	/*
	 * Probability that noise alone causes such a difference in any figure of the comparison.
	 * DIFF_CHANGED requires less than 1 %. 1: not tested.
	 */
	double p;
	enum diff_verdict verdict;
	enum diff_reason reason;
	bool complete; /* in both windows, the data from which the figure is computed is complete */
};

struct diff_summary {
	uint64_t bin_ns;
	uint64_t changed;		/* number of rows whose verdict is a change */
};

bool diff_is_change(enum diff_verdict v);	/* neither DIFF_SAME nor DIFF_UNKNOWN */
/* e.g. "oncpu_ns"; NULL: a part of requests */
const char *diff_metric_name(enum diff_metric m);
const char *diff_part_name(enum diff_metric m);	/* e.g. "lock", "running"; NULL: not a part */
/* Returns "same", "changed", "only A", "only B" or "unknown". */
const char *diff_verdict_name(enum diff_verdict v);

/*
 * Compares two sides. only_workload: ignore processes outside of the workload. bin_ns 0: a fiftieth
 * of the shorter window, at least 10 ms. Passes changed rows first, largest change first, then the
 * other rows. A negative result of row() ends the call with that error. 0 or -errno.
 */
int diff_run(const struct diff_side sides[2], uint64_t bin_ns, bool only_workload,
	     int (*row)(void *ctx, const struct diff_row *row), void *ctx, struct diff_summary *ret,
	     struct err *e);

/*
 * bin_noise: decides whether the difference of two series is larger than the variation from bin to
 * bin.
 *
 * A series is one figure (CPU time, bytes, ...) in consecutive bins of equal length. Its noise is
 * estimated from adjacent bins, s^2 = sum (x[i+1] - x[i])^2 / (2 (n - 1)) (von Neumann 1941), so
 * the phases of a workload do not count as noise. Welch's t-test then compares two series, each
 * with 2 (n - 1) / 3 degrees of freedom, because for pure noise this estimate of the variance is as
 * precise as the usual estimate from two thirds of the bins.
 *
 * Threads: any. No errors.
 */
/* Returns the variance of a bin; 0 for fewer than two bins. */
double bin_noise_variance(const double *bins, size_t cnt);

/*
 * One side of a comparison: a value, the variance of the value, and the degrees of freedom of the
 * estimate.
 */
struct bin_estimate {
	double value, variance, df;
};
/* Estimates the sum of a series; the sum's variance is cnt times the variance of a bin. */
struct bin_estimate bin_estimate_sum(const double *bins, size_t cnt);
/* Estimates the largest bin of a series, with the variance of a single bin. */
struct bin_estimate bin_estimate_max(const double *bins, size_t cnt);

/* Returns the two-sided p of Student's t, 0 <= p <= 1. df > 0; t may be infinite. */
double student_p(double t, double df);

/*
 * Returns the two-sided p of the hypothesis "both are equal" (Welch). Without noise: 1 if equal,
 * else 0.
 */
double bin_compare(const struct bin_estimate *a, const struct bin_estimate *b);

/*
 * Corrects the p of one of cnt comparisons (Bonferroni). The result is an upper bound of the
 * probability that noise alone makes at least one comparison differ that much. Without the
 * correction, 45 % of the comparisons of 60 unchanged figures show a change at a level of 1 %; with
 * it, 1 % do.
 */
double bin_corrected(double p, size_t cnt);
