/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * fold_check: what holds for every window function, over random windows of a trace.
 *
 *     answer with an index = answer without = sum of two neighbours' answers = sum of the bins
 *
 * A row of a table says which columns of a function are sums, and what they go by. Windows are cut
 * anywhere: at the edges of blocks, at the trace's, outside of it. Fails the running test.
 */
#pragma once

#include "analyze/analyze.h"
#include "tests/unit/gen/gen_chaos.h"

struct fold_check {
	struct trace *t;
	struct analysis *plain, *indexed;
	/* its index has the parts that spikes need, at first; NULL: the trace had an index */
	struct analysis *partial;
};

/* Opens the trace twice: without an index and with one that is kept beside the trace. */
void fold_check_open(struct fold_check *c, const struct chaos *f);
void fold_check_close(struct fold_check *c);

/* Both analyses return the same rows; percentiles of the index are those of buckets. */
void fold_check_rows(const struct fold_check *c, const char *sql);
/* Every function over cnt random windows, bins and keys; with_sums: neighbours and bins, too. */
void fold_check_windows(const struct fold_check *c, unsigned int cnt, bool with_sums);
