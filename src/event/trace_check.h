/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * trace_check: is a trace whole? Every byte of it is read.
 *
 *     trace directory --> [trace_check] --parts: valid, damaged, note--> cmd/, trace_repair
 *
 * Of every block: all checksums, every row, every column of every kind, that the events are where the
 * header says, and that the summary is what a count of the events gives. Of every file: header, index,
 * trailer. Of the trace: that slices follow each other, the manifest, lists.idx, carry.idx, files that do not belong to it
 * (analysis.idx is for analyze/analysis.h, analysis_index_check()).
 *
 * A block that fails is damaged from then on for the trace it was found in (trace_damages()).
 * Threads: one. Memory: a few blocks' events.
 */
#ifndef TRACE_CHECK_H
#define TRACE_CHECK_H

#include <stdint.h>

#include "base/err.h"
#include "event/trace.h"

enum check_status {
	CHECK_VALID,	/* a run of blocks without a fault, or a file other than a chunk */
	CHECK_DAMAGED,	/* skipped: what it held is lost */
	CHECK_NOTE,	/* worth knowing; nothing is lost by it */
};

/* A stretch of a file. Stretches of a file come in order, files by number. Strings are valid during the call. */
struct check_part {
	const char *file;
	enum check_status status;
	uint64_t offset, bytes;
	/* The slice of time of the blocks, or of what is missing; from_ns == to_ns: not known, or none. */
	uint64_t from_ns, to_ns;
	uint64_t block_cnt, event_cnt;	/* of valid ones */
	const char *reason;		/* "" when there is nothing to say */
};

struct check_result {
	uint64_t block_cnt, event_cnt;	/* valid */
	uint64_t damaged_cnt, damaged_bytes;
	uint64_t note_cnt;
	uint64_t missing_ns;	/* time between blocks that no block stands for */
	uint64_t valid_to_ns;	/* from the trace's start on without a hole */
};

/* May be NULL when only the result is asked for. A negative return ends the check with it. */
typedef int (*check_part_fn)(void *ctx, const struct check_part *part);

/* 0 also when there is damage. -errno: it could not be checked. */
int trace_check(struct trace *t, check_part_fn fn, void *ctx, struct check_result *ret,
		struct err *e);

#endif /* TRACE_CHECK_H */
