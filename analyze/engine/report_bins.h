/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * report_bins: adds rows of 0 to a report with --every, where nothing happened.
 *
 *     rows of the whole window --> groups     rows of bins --[report_bins]--> no bin is missing
 *
 * A group of the window's rows gets a row in each bin, a process or thread in each bin in which the
 * process lived. Such a row has 0 in its figures, NULL in those that are of single events
 * (percentiles, longest), and says whether its bin is complete. The views are those whose rows are
 * declared to have zeros, since their figures are sums of what happened; others have a row for what
 * is there in each bin, as it is. A row of 0 of alloc has levels of 0, since the view gives the
 * others.
 *
 * Memory: the groups, and no rows. Threads: one. Errors: -ENOMEM, and those of the next sink.
 */
#pragma once

#include "analyze/context/context.h"
#include "analyze/engine/report_view.h"

struct report_bins;

/* *ret stays NULL: nothing is added to this view. */
int report_bins_new(struct report_bins **ret, struct analysis *a, const struct report_view *v,
		    const struct report_request *r, const struct row_sink *next);
void report_bins_free(struct report_bins *b);

/* Takes the rows of the whole window; without them only bins without any row get one. */
const struct row_sink *report_bins_groups(struct report_bins *b);
/* Then takes the rows of the bins. */
const struct row_sink *report_bins_rows(struct report_bins *b);
/* Nothing is added, since it would be too much. */
bool report_bins_is_sparse(const struct report_bins *b);
