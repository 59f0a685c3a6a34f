/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * trace_repair: a new trace of all that is valid in another one.
 *
 *     checked trace --[trace_repair]--> new trace: the same blocks, byte for byte, in new files
 *
 * The old trace is only read. Where a block was dropped the new trace has a hole in time, as the
 * old one had for its readers: reports over it say that they are incomplete. The manifest says
 * what was done: repaired=1, repaired.state (the state of the old one), repaired.gaps,
 * repaired.gap.N.
 *
 * Threads: one. Errors: 0 or -errno and a struct err; after one there is no new trace.
 */
#pragma once

#include <stdint.h>

#include "base/err.h"
#include "edit/trace_copy.h"
#include "trace/trace.h"

struct repair_result {
	uint64_t block_cnt, bytes;	/* copied */
	struct trace_copy_gaps gaps;	/* time that no valid block stands for */
};

/*
 * Call trace_check() on t before: what it found damaged is left out. path must not exist (-EEXIST)
 * nor lie inside of t (-EINVAL). -ENODATA: there is nothing valid in t.
 */
int trace_repair(struct trace *t, const char *path, struct repair_result *ret, struct err *e);
