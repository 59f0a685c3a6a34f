/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * row_log: results that are kept, to be given to sinks later.
 *
 *     report in any thread --rows--> [row_log] --rows, in the order wanted--> row_sink
 *
 * All zeros, then row_log_init(). Threads: one at a time.
 */
#pragma once

#include "analyze/context/analysis.h"
#include "base/buf.h"

struct row_log {
	struct row_sink sink;	/* the log keeps all rows */
	struct buf bytes;
	unsigned int col_cnt;
	const char *without;	/* this section is left out, and its place is kept; or NULL */
};

/* The sink points to the log: it must not move. */
void row_log_init(struct row_log *l);
void row_log_done(struct row_log *l);
/* Gives the sink all that is kept. 0 or -errno. */
int row_log_replay(const struct row_log *l, const struct row_sink *to);
