/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * phases: a report over each interval between marks, as one result.
 *
 *     report_request --[phases]--> analysis_report() per interval
 *                              --> rows that begin with phase, t_ns, dur_ns
 *
 * A phase is called after the mark it begins with; the one before the first mark is [start]. Marks
 * that triggers made begin none. Threads: one.
 */
#ifndef PHASES_H
#define PHASES_H

#include "analyze/engine/analysis.h"

#define PHASES_NAME_MAX (TRACE_MARK_TEXT_MAX + 16)

/* How --from and --to name a mark: "build", and the second one "build#2". buf: PHASES_NAME_MAX. */
void phases_mark_name(char *buf, const struct trace_mark *m);

/* The window of q is cut at the marks inside it. Errors as analysis_report(). */
int phases_report(struct analysis *a, const struct trace *t, const struct report_request *q,
		  const struct row_sink *sink, struct err *e);

#endif /* PHASES_H */
