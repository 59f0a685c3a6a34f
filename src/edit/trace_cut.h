/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * trace_cut: makes a smaller trace from another one, complete in itself.
 *
 *     trace --[trace_cut]--> new trace: a window, fewer sources
 *
 * The new trace has exactly the window. The remaining events are decoded and encoded again, block
 * by block, with the rows of the trace's lists that belong to each slice. The first block has no
 * slice: it carries over state that began before the window and still matters (checkpoint.h), so
 * that answers about any window of the new trace equal those of the old trace. A cut that leaves
 * nothing out copies the blocks as they are stored.
 *
 * An interrupt that is being served when the window ends goes on. If the old trace shows that its
 * end was lost, the cut marks its entry.
 *
 * A source that is left out is a declared gap (GAPS) of every block, so that reports over it are
 * marked as incomplete. Clocks and ids stay. The manifest describes the cut (cut.*), and declares
 * the damaged parts of the window as a repair does.
 *
 * Threads: one. Errors: 0 or -errno and a struct err; an error leaves no new trace.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "edit/checkpoint.h"
#include "edit/trace_copy.h"
#include "trace/trace.h"

#define TRACE_CUT_SOURCE_MAX 32

/* Returns a source's name by number, as in `-e` of record. NULL: number is too high. */
const char *trace_cut_source(unsigned int source);

struct trace_cut_request {
	uint64_t from_ns, to_ns;	/* the window; clipped to the trace */
	/* mask of 1 << source; a source that was not recorded changes nothing */
	uint32_t left_out;
	const uint32_t *upids;	/* the processes whose events stay (cut_state.h); NULL: all */
	size_t upid_cnt;
	const char *processes;	/* description of the processes, for people */
	/* with upids: requests of unknown owners in the window, which the cut leaves out */
	uint64_t unowned_ios, unowned_bytes;
	checkpoint_source before;	/* makes the state at the window's beginning */
	void *before_ctx;
	const char *reason;	/* of the gaps that this leaves: "cut" */
};

struct trace_cut_result {
	uint64_t block_cnt, bytes;
	uint64_t from_ns, to_ns;	/* span of the new trace */
	struct trace_copy_gaps gaps;	/* time of the window that no valid block covers */
};

/*
 * Returns the blocks that a cut of [from_ns, to_ns) would have, [*ret_first, *ret_end), and their
 * size.
 */
void trace_cut_blocks(const struct trace *t, uint64_t from_ns, uint64_t to_ns, size_t *ret_first,
		      size_t *ret_end, uint64_t *ret_bytes);

/*
 * Adds the bytes that leaving out each source saves in a block, the size of its columns, to
 * saved[TRACE_CUT_SOURCE_MAX].
 */
int trace_cut_saved(struct trace *t, size_t block, uint64_t *saved, struct err *e);

/* path must neither exist nor be inside t. -ENODATA: t has no valid block. */
int trace_cut(struct trace *t, const struct trace_cut_request *q, const char *path,
	      struct trace_cut_result *ret, struct err *e);
