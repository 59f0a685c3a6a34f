/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * host_columns: rows of a trace's table, made fit to stand beside those of other hosts: two columns
 * more in front.
 *
 *     analyze --rows--> [host_columns: host, unix_ns] --rows--> a renderer
 *
 * host is what the manifest says, NULL if it does not; unix_ns the CLOCK_REALTIME of the row's
 * first instant that is not NULL, NULL when there is none. It comes from the nearest clock reading.
 * Threads: one. Errors: -ENOMEM.
 */
#ifndef HOST_COLUMNS_H
#define HOST_COLUMNS_H

#include "analyze/engine/analysis.h"
#include "trace/trace.h"

struct host_columns;

/* t and next stay the caller's and must outlive it. */
int host_columns_new(struct host_columns **ret, const struct trace *t, const struct row_sink *next);
void host_columns_free(struct host_columns *h);
const struct row_sink *host_columns_sink(struct host_columns *h);

#endif /* HOST_COLUMNS_H */
