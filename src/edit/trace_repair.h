/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * trace_repair: makes a new trace from the valid blocks of another one.
 *
 *     checked trace --[trace_repair]--> new trace: the same blocks, byte for byte, in new files
 *
 * The old trace is only read. Where a block was dropped, the new trace has a hole in time, as the
 * old one had for its readers: reports over it are marked as incomplete. The manifest describes the
 * repair: repaired=1, repaired.state (the state of the old one), repaired.gaps, repaired.gap.N.
 *
 * Threads: one. Errors: 0 or -errno and a struct err; an error leaves no new trace.
 */
#pragma once

#include <stdint.h>

#include "base/err.h"
#include "edit/trace_copy.h"
#include "trace/trace.h"

struct repair_result {
	uint64_t block_cnt, bytes;	/* copied */
	struct trace_copy_gaps gaps;	/* time that no valid block covers */
};

/*
 * Call trace_check() on t before: damage that it found is left out. path must neither exist
 * (-EEXIST) nor be inside t (-EINVAL). -ENODATA: t has no valid block.
 */
int trace_repair(struct trace *t, const char *path, struct repair_result *ret, struct err *e);
