/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * groups: several recordings against several, role by role (role.h), figure by figure (ranks).
 *
 * Of each figure, all runs give a value: the sum over the role's processes, or the largest of them;
 * 0 where the role did not run. A figure is better or worse when the groups differ by more than
 * runs differ by chance, where of all figures called so at most 5 % are wrong (ranks_correct()),
 * and by at least 2 % and the figure's own minimum. Less is better, except of requests_per_s.
 * Names of requests of programs take the place of roles.
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

/* Why it cannot be told. */
enum groups_reason { GROUPS_NO_REASON, GROUPS_FEW, GROUPS_INCOMPLETE, GROUPS_NOISE };

struct groups_row {
	const char *role, *parent, *figure; /* "oncpu_ns", "wait_lock_ns"; valid during the call */
	double median[2];
	bool has_change; /* in percent of A: the shift, and its 90 % interval if there is one */
	bool has_interval;
	bool is_tiny; /* both medians are below the least change that matters */
	double change_pct, low_pct, high_pct;
	double p; /* as corrected; 1: not tested */
	unsigned int runs[2]; /* whose figure is complete */
	enum groups_verdict verdict;
	enum groups_reason reason;
	const double *by_run; /* for groups_values() */
};

int groups_new(struct groups **ret, bool only_workload);
void groups_free(struct groups *g);
/* Takes a run's figures into group 0 or 1. The analysis is not needed afterwards. */
int groups_add(struct groups *g, int group, const struct diff_side *of, struct err *e);
/*
 * Begins a run whose figures groups_put() adds. A name begins with "self_ns", "offcpu_ns" or
 * "stack_bytes"; values of one name are added up.
 */
int groups_begin(struct groups *g, int group, const struct diff_side *of, struct err *e);
int groups_put(struct groups *g, const char *figure, double value);
/* The workload's wall time first, then what is worse, better, not known, small, the same. */
int groups_compare(struct groups *g, int (*row)(void *ctx, const struct groups_row *row), void *ctx,
		   struct err *e);

/* Puts a group's complete runs, least first, to room for all runs. Returns how many there are. */
size_t groups_values(const struct groups *g, const struct groups_row *row, int group, double *ret);

const char *groups_verdict_name(enum groups_verdict v); /* "cannot tell" */

/*
 * ranks: is one group of values larger than another, and by how much? Nothing is assumed of how the
 * values are distributed, and single outliers do not matter.
 *
 * The shift is the median of all differences b - a (Hodges and Lehmann 1963); its interval is that
 * of the Mann-Whitney test (Hollander and Wolfe, Nonparametric Statistical Methods, 4.3; Lehmann,
 * Nonparametrics, 2.5), and p is that test's, two-sided: of all ways to divide these values, ties
 * included, into groups of these sizes, exactly up to RANKS_EXACT_MAX values, and by the normal
 * distribution beyond.
 *
 * Threads: any. Errors: -ENOMEM.
 */
#define RANKS_EXACT_MAX 50
#define RANKS_LEVEL 0.90 /* of the interval */

struct ranks {
	double median[2];
	double shift, low, high;
	bool has_interval; /* false: there are too few values for one */
	double p, least_p; /* least_p: of groups of these sizes that do not overlap */
};

/* n > 0, m > 0; sorts a and b. */
int ranks_compare(double *a, size_t n, double *b, size_t m, struct ranks *ret);

/*
 * Changes each p to the least share of wrong ones at which it would be among those that are called
 * a change (Benjamini and Hochberg 1995).
 */
int ranks_correct(double *p, size_t cnt);
