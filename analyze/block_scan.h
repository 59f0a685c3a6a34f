/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * block_scan: runs block_track over a trace.
 *
 *     trace, block events --[block_scan]--> requests, as they end
 *
 * Starts at the trace's start: a request may have been queued any time before it completes.
 * Threads: one.
 */
#ifndef BLOCK_SCAN_H
#define BLOCK_SCAN_H

#include "event/block_track.h"
#include "analyze/context.h"

struct block_scan;

int block_scan_open(struct block_scan **ret, struct analysis *a, block_track_sink sink, void *ctx,
		    struct err *e);
/* The same from a cell on, with the state in (block_track_load()). */
int block_scan_open_cell(struct block_scan **ret, struct analysis *a, uint64_t from_ns,
			 struct index_in *in, block_track_sink sink, void *ctx, struct err *e);
void block_scan_close(struct block_scan *s);

/*
 * Handles up to max events before to_ns. 1: there are more; 0: all before to_ns are handled; at the
 * trace's end this hands out, too, what completed without an end of accounting. -errno.
 */
int block_scan_run(struct block_scan *s, uint64_t to_ns, size_t max, struct err *e);

struct block_track *block_scan_track(struct block_scan *s);

#endif /* BLOCK_SCAN_H */
