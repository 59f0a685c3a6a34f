/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * pivot: turns the rows of a report with --every into a row per bin and a column per group, with 0
 * where a group has no row.
 *
 *     rows (t_ns, keys, figures) --[pivot]--> rows (t_ns, a figure of each group) --> a renderer
 *
 * Threads: one.
 */
#pragma once

#include "cmd/render/bin_groups.h"

struct pivot {
	/* the caller sets the options by, figure, from_ns, every_ns and bin_cnt, and frees it */
	struct bin_groups groups;
	const struct row_sink *next;
	uint64_t limit; /* groups with the greatest sums; 0: all */
	bool has_rest; /* a last column has the sum of the groups beyond limit */
};

/* Receives the rows. Errors: those of bin_groups, and of the next sink. */
struct row_sink pivot_sink(struct pivot *p);
