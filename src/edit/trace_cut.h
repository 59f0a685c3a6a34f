/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * trace_cut: creates a smaller trace from another trace; the result does not depend on the old
 * trace.
 *
 *     trace --[trace_cut]--> new trace: a window, fewer sources or processes
 *
 * The new trace covers exactly the window. The kept events are decoded and encoded again, block by
 * block, with the rows of the trace's lists that belong to each slice. The first block has no
 * slice: it contains state that began before the window and still matters (checkpoint.h), so that
 * reports over any window of the new trace equal those of the old trace. A cut that leaves nothing
 * out copies the blocks as they are stored.
 *
 * An interrupt that is being served when the window ends has no exit in the new trace. If the old
 * trace shows that the exit was lost, the cut marks the interrupt's entry.
 *
 * Each block declares a gap (GAPS) for every source that is left out, so that reports about the
 * source are marked as incomplete. Clocks and ids do not change. The manifest describes the cut
 * (cut.*), and declares the damaged parts of the window as a repair does.
 *
 * Threads: one. Errors: 0 or -errno and a struct err; on error, no new trace remains.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "edit/checkpoint.h"
#include "edit/trace_copy.h"
#include "trace/trace.h"

#define TRACE_CUT_SOURCE_MAX 32

/* Returns the name of source number `source`, as in `record -e`. NULL: the number is too high. */
const char *trace_cut_source(unsigned int source);

struct trace_cut_request {
	uint64_t from_ns, to_ns;	/* window; clipped to the trace */
	/* mask of 1 << source; sources that were not recorded are ignored */
	uint32_t left_out;
	const uint32_t *upids;	/* processes to keep (cut_state.h); NULL: all */
	size_t upid_cnt;
	const char *processes;	/* text for people that describes the processes */
	/* with upids: requests without a known owner in the window, which the cut drops */
	uint64_t unowned_ios, unowned_bytes;
	checkpoint_source before;	/* makes the checkpoint at the window's start */
	void *before_ctx;
	const char *reason;	/* reason of the gaps that the cut declares: "cut" */
};

struct trace_cut_result {
	uint64_t block_cnt, bytes;
	uint64_t from_ns, to_ns;	/* span of the new trace */
	struct trace_copy_gaps gaps;	/* time in the window that no valid block covers */
};

/* Finds the blocks of a cut of [from_ns, to_ns): indexes [*ret_first, *ret_end), and their size. */
void trace_cut_blocks(const struct trace *t, uint64_t from_ns, uint64_t to_ns, size_t *ret_first,
		      size_t *ret_end, uint64_t *ret_bytes);

/*
 * Adds to saved[TRACE_CUT_SOURCE_MAX], for each source, the size of its columns in a block: the
 * bytes saved if the source is left out.
 */
int trace_cut_saved(struct trace *t, size_t block, uint64_t *saved, struct err *e);

/* Cuts t. path must neither exist nor be inside t. -ENODATA: t has no valid block in the window. */
int trace_cut(struct trace *t, const struct trace_cut_request *q, const char *path,
	      struct trace_cut_result *ret, struct err *e);
