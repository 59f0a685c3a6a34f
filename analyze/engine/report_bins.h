/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * report_bins: adds rows of 0 to a report with --every, for bins without events.
 *
 *     rows of the whole window --> groups     rows of bins --[report_bins]--> no bin is missing
 *
 * A group of the window's rows gets a row in each bin, a process or thread in each bin in which the
 * process was alive. Such a row has 0 in its figures, NULL in those of single events (percentiles,
 * longest), and shows whether its bin is complete. Only views whose rows are declared to have zeros
 * get such rows, because their figures are sums of events; rows of other views describe the state
 * in each bin, and are not changed. A row of 0 of alloc has levels of 0, since the view returns all
 * others.
 *
 * Memory: the groups, and no rows. Threads: one. Errors: -ENOMEM, and those of the next sink.
 */
#pragma once

#include "analyze/context/context.h"
#include "analyze/engine/report_view.h"

struct report_bins;

/* *ret stays NULL: this view gets no rows. */
int report_bins_new(struct report_bins **ret, struct analysis *a, const struct report_view *v,
		    const struct report_request *r, const struct row_sink *next);
void report_bins_free(struct report_bins *b);

/* Receives the rows of the whole window; without them only bins without any row get one. */
const struct row_sink *report_bins_groups(struct report_bins *b);
/* Then receives the rows of the bins. */
const struct row_sink *report_bins_rows(struct report_bins *b);
/* Returns whether no rows are added, because they would be too many. */
bool report_bins_is_sparse(const struct report_bins *b);
