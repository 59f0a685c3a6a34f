/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * pivot: turns the rows of a report with --every into a row per bin and a column per group, with 0
 * where a group has no row.
 *
 *     rows (t_ns, keys, figures) --[pivot]--> rows (t_ns, a figure of each group) --> a renderer
 *
 * Threads: one.
 */
#ifndef PIVOT_H
#define PIVOT_H

#include "analyze/context/analysis.h"

struct pivot_options {
	const char *by; /* columns that name a group: "pid,comm" */
	const char *figure; /* column with the figure */
	int64_t from_ns; /* the first bin's t_ns */
	uint64_t every_ns, bin_cnt; /* > 0 */
	uint64_t limit; /* groups, those with the greatest sums; 0: all */
	const struct row_sink *next;
};

struct pivot;

/* NULL: out of memory. */
struct pivot *pivot_new(const struct pivot_options *o);
void pivot_free(struct pivot *p);
/* Errors: -ENOMEM; -EINVAL, with the reason in pivot_error(); those of the next sink. */
const struct row_sink *pivot_sink(const struct pivot *p);
const char *pivot_error(const struct pivot *p);

#endif /* PIVOT_H */
