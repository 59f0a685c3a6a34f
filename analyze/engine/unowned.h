/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * unowned: block requests of unknown owners, and results that may lack them.
 *
 *     io_usage() --[unowned]--> SQL functions, zero rows of report_bins, headings
 *
 * A request whose owner_how is `unknown` belongs to some process, but the trace does not show to
 * which one. A number about selected processes, or in a row of a known owner, may lack such
 * requests, and so is a lower bound. Numbers about the whole machine include them, as do the row
 * [unknown] and rows whose keys are only device, operation or size. Not counted here are writes of
 * metadata, of a journal and to swap, which belong to the kernel, and requests without data, such
 * as the flushes that the block layer sends around a write. Private to analyze/. Threads: one.
 */
#pragma once

#include "analyze/analyze.h"
#include "analyze/context/context.h"

/* Returns whether a view with these sources always needs the source "block". */
bool unowned_matters(const char *sources);

/*
 * Sets q->unowned of a report with the keys `by`, after its scope and needs. Counts the requests of
 * each bin if the report needs them; the caller frees the bins. 0 or -errno.
 */
int unowned_find(struct question *q, struct analysis *a, const struct report_request *r,
		 unsigned int by, struct err *e);

/*
 * Counts requests of unknown owners that ended in a window, relative to the trace's start. In a
 * trace that was cut to some processes, this is an upper bound: it includes all requests that the
 * cut omitted, at any time.
 */
struct request_cnt unowned_count(struct analysis *a, int64_t from_ns, int64_t to_ns);
/*
 * Return the requests that a figure of the running report may lack. unowned_of_window(): a figure
 * about all of the report's processes. unowned_of_row(): a figure in a row; is_known: the owner of
 * the row is known.
 */
struct request_cnt unowned_of_window(struct analysis *a, int64_t from_ns, int64_t to_ns);
struct request_cnt unowned_of_row(struct analysis *a, int64_t from_ns, int64_t to_ns,
				       bool is_known);
