/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * trace_check: checks whether a trace is complete, and reads every byte of it.
 *
 *     trace directory --> [trace_check] --parts: valid, damaged, note--> cmd/, trace_repair
 *
 * In every block it checks all checksums, every row, every column of every kind, and that the
 * events are within the header's times; in every file the header; in the trace that slices follow
 * each other, the manifest, the derived file, and files that do not belong to it.
 *
 * In the checked trace, a block that fails counts as damaged afterwards (trace_damages()). Threads:
 * one. Memory: a few blocks' events.
 */
#pragma once

#include <stdint.h>

#include "base/err.h"
#include "trace/trace.h"

enum check_status {
	CHECK_VALID,	/* blocks without a fault, or a file other than a chunk file */
	CHECK_DAMAGED,	/* skipped; its contents are lost */
	CHECK_NOTE,	/* information; no data is lost */
};

/*
 * A stretch of a file. Stretches of a file come in order, files by number. Strings are valid during
 * the call.
 */
struct check_part {
	const char *file;
	enum check_status status;
	uint64_t offset, bytes;
	/* The slice of the blocks, or of the missing time; from_ns == to_ns: unknown, or none. */
	uint64_t from_ns, to_ns;
	uint64_t block_cnt, event_cnt;	/* of valid blocks */
	const char *reason;		/* "" if there is no reason */
};

struct check_result {
	uint64_t block_cnt, event_cnt;	/* valid */
	uint64_t damaged_cnt, damaged_bytes;
	uint64_t note_cnt;
	uint64_t missing_ns;	/* time between blocks that no block covers */
	/*
	 * Blocks before the first valid one whose time is unknown: the trace then seems to start
	 * later than it did.
	 */
	uint64_t missing_first;
	uint64_t valid_to_ns;	/* end of the first hole-free part, from the trace's start */
};

/* May be NULL. A result < 0 ends the check and becomes its result. */
typedef int (*check_part_fn)(void *ctx, const struct check_part *part);

/* Returns 0 even if there is damage. -errno: the check itself failed. */
int trace_check(struct trace *t, check_part_fn fn, void *ctx, struct check_result *ret,
		struct err *e);
