/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * unowned: block requests of unknown owners, and the answers that may lack them.
 *
 *     io_usage() --[unowned]--> SQL functions, zero rows of report_bins, headings
 *
 * A request whose owner_how is `unknown` belongs to some process, but the trace does not tell
 * which. A number about chosen processes, and a row of a known owner, may lack such requests, and
 * so is a lower bound. A number about the whole machine has them, and so have the row [unknown] and
 * rows that go by device, operation or size alone. Writes of metadata, of a journal and to swap
 * belong to the kernel, and are not counted here. Nor are requests without data: the block layer
 * sends the flushes around a write itself. Private to analyze/. Threads: one.
 */
#pragma once

#include "analyze/context/context.h"

/* Returns whether "block" is among the sources that a view needs in any case. */
bool unowned_matters(const char *sources);

/*
 * Before a report runs: of_some if it is about chosen processes or threads, by: its keys. Counts
 * the requests of each bin if the report needs that. 0 or -errno.
 */
int unowned_begin(struct analysis *a, const struct report_request *r, bool of_some, unsigned int by,
		  struct err *e);
void unowned_end(struct analysis *a);
void unowned_done(struct analysis *a);

/*
 * Requests of unknown owners that ended in a window, which is relative to the trace's start. For a
 * cut of processes this is an upper bound: all requests that the cut omits, whatever their time.
 */
struct request_cnt unowned_count(struct analysis *a, int64_t from_ns, int64_t to_ns);
/*
 * Return the counts of the requests that a figure of the running report may lack: a figure of the
 * report's processes as a whole, or one of a row, whose owner is known or not.
 */
struct request_cnt unowned_of_window(struct analysis *a, int64_t from_ns, int64_t to_ns);
struct request_cnt unowned_of_row(struct analysis *a, int64_t from_ns, int64_t to_ns,
				       bool is_known);
