/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * groups: compares two groups of recordings, role by role (role.h) and figure by figure (ranks).
 *
 * Each run has a value of each figure: the sum or the maximum over the role's processes; 0 if the
 * role did not run. A figure is better or worse if the groups differ by more than chance
 * explains, and by at least 2 % and the figure's own minimum. At most 5 % of the figures with this
 * verdict are wrong (ranks_correct()). Less is better, except for requests_per_s. For requests of
 * programs, the name takes the place of the role.
 *
 * Threads: one.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "analyze/diff/diff.h"

struct groups;

enum groups_verdict {
	GROUPS_WORSE, GROUPS_BETTER, GROUPS_CANNOT_TELL, GROUPS_SMALL, GROUPS_SAME
};

/* Why the verdict is GROUPS_CANNOT_TELL. */
enum groups_reason { GROUPS_NO_REASON, GROUPS_FEW, GROUPS_INCOMPLETE, GROUPS_NOISE };

struct groups_row {
	/* figure: e.g. "oncpu_ns", "wait_lock_ns"; valid during the call */
	const char *role, *parent, *figure;
	double median[2];
	bool has_change; /* change_pct is valid */
	bool has_interval; /* low_pct and high_pct are valid */
	bool is_tiny; /* both medians are below the smallest relevant change */
	double change_pct, low_pct, high_pct; /* shift and its 90 % interval, % of group 0 */
	double p; /* corrected; 1: not tested */
	unsigned int runs[2]; /* number of runs with complete data for the figure */
	enum groups_verdict verdict;
	enum groups_reason reason;
	const double *by_run; /* for groups_values() */
};

int groups_new(struct groups **ret, bool only_workload);
void groups_free(struct groups *g);
/* Reads a run's figures into group 0 or 1. The analysis may be closed afterwards. */
int groups_add(struct groups *g, int group, const struct diff_side *of, struct err *e);
/*
 * Begins a run whose figures are added by groups_put(). A figure's name begins with "self_ns",
 * "offcpu_ns" or "stack_bytes"; values with the same name are added up.
 */
int groups_begin(struct groups *g, int group, const struct diff_side *of, struct err *e);
int groups_put(struct groups *g, const char *figure, double value);
/*
 * Passes the workload's wall time first, then other figures by verdict, in the order of enum
 * groups_verdict.
 */
int groups_compare(struct groups *g, int (*row)(void *ctx, const struct groups_row *row), void *ctx,
		   struct err *e);

/*
 * Stores the values of a group's complete runs, ascending, in ret, which has space for all runs.
 * Returns their number.
 */
size_t groups_values(const struct groups *g, const struct groups_row *row, int group, double *ret);

const char *groups_verdict_name(enum groups_verdict v); /* e.g. "cannot tell" */

/*
 * ranks: decides whether the values of one group are larger than the values of another, and by how
 * much. The distribution of the values is arbitrary, and single outliers do not matter.
 *
 * The shift is the median of all differences b - a (Hodges and Lehmann 1963). Its interval follows
 * from the Mann-Whitney test (Hollander and Wolfe, Nonparametric Statistical Methods, 4.3; Lehmann,
 * Nonparametrics, 2.5). p is the two-sided p of that test. Up to RANKS_EXACT_MAX values, p is
 * exact: computed over all ways to divide the values, including ties, into groups of the same
 * sizes. For more values, p is computed from the normal distribution.
 *
 * Threads: any. Errors: -ENOMEM.
 */
#define RANKS_EXACT_MAX 50
#define RANKS_LEVEL 0.90 /* level of the interval */

struct ranks {
	double median[2];
	double shift, low, high;
	bool has_interval; /* false: too few values */
	/* least_p: smallest possible p, the p of groups of n and m values that do not overlap */
	double p, least_p;
};

/* Compares two groups, n > 0 and m > 0. Sorts a and b. */
int ranks_compare(double *a, size_t n, double *b, size_t m, struct ranks *ret);

/*
 * Replaces each p by the smallest false discovery rate at which it would be significant (Benjamini
 * and Hochberg 1995).
 */
int ranks_correct(double *p, size_t cnt);
