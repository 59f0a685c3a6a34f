/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * trace_cut: a smaller trace of another one, complete in itself.
 *
 *     trace --[trace_cut]--> new trace: a window, fewer sources
 *
 * The new trace has exactly the window. The events that stay are decoded and encoded again, block
 * by block, with the rows of the trace's lists that belong to each slice. The first block has no
 * slice: it carries over what began before the window and still matters (checkpoint.h), so that
 * answers about any window of the new trace are the old trace's. A cut that leaves nothing out
 * copies the blocks as they are stored.
 *
 * An interrupt that is being served when the window ends goes on. Where the old trace says that
 * its end was lost, the cut marks its entry.
 *
 * A source that is left out is a declared gap (GAPS) of every block, so that reports over it say
 * that they are incomplete. Clocks and ids stay. The manifest says what was done (cut.*), and
 * declares as a repair does what of the window is damaged.
 *
 * Threads: one. Errors: 0 or -errno and a struct err; after one there is no new trace.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "edit/checkpoint.h"
#include "edit/trace_copy.h"
#include "trace/trace.h"

#define TRACE_CUT_SOURCE_MAX 32

/* Sources of events by number, as `-e` of record names them. NULL: there are no more. */
const char *trace_cut_source(unsigned int source);

struct trace_cut_request {
	uint64_t from_ns, to_ns;	/* the window; only its part inside of the trace counts */
	uint32_t left_out;	/* bit 1 << source; one that was not recorded changes nothing */
	const uint32_t *upids;	/* the processes whose events stay (cut_filter.h); NULL: all */
	size_t upid_cnt;
	const char *processes;	/* which these are, for people */
	checkpoint_source before;	/* makes the state at the window's beginning */
	void *before_ctx;
	const char *reason;	/* of the gaps that leaves: "cut" */
};

struct trace_cut_result {
	uint64_t block_cnt, bytes;
	uint64_t from_ns, to_ns;	/* what is in it */
	struct trace_copy_gaps gaps;	/* time of the window that no valid block stands for */
};

/* The blocks that a cut of [from_ns, to_ns) would have: [*ret_first, *ret_end), and their bytes. */
void trace_cut_blocks(const struct trace *t, uint64_t from_ns, uint64_t to_ns, size_t *ret_first,
		      size_t *ret_end, uint64_t *ret_bytes);

/*
 * Adds the bytes that leaving out each source saves in a block, those its columns are stored in, to
 * saved[TRACE_CUT_SOURCE_MAX].
 */
int trace_cut_saved(struct trace *t, size_t block, uint64_t *saved, struct err *e);

/* path must not exist nor lie inside of t. -ENODATA: there is no valid block. */
int trace_cut(struct trace *t, const struct trace_cut_request *q, const char *path,
	      struct trace_cut_result *ret, struct err *e);
