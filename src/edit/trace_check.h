/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * trace_check: reads every byte of a trace and checks that the trace is complete and valid.
 *
 *     trace directory --> [trace_check] --parts: valid, damaged, note--> cmd/, trace_repair
 *
 * Checks of every block: all checksums, every row, every column of every kind, and times of events
 * against the header's times. Checks of every file: the header. Checks of the trace: slices without
 * holes, the manifest, the derived file, and files that do not belong to a trace.
 *
 * A block that fails becomes a damaged block of the open trace (trace_damages()). Threads: one.
 * Memory: a few blocks' events.
 */
#pragma once

#include <stdint.h>

#include "base/err.h"
#include "trace/trace.h"

enum check_status {
	CHECK_VALID,	/* valid blocks, or a valid file that is not a chunk file */
	CHECK_DAMAGED,	/* skipped; its contents are lost */
	CHECK_NOTE,	/* information: no data is lost */
};

/*
 * A stretch of a file. Stretches are reported in order of offset, files in order of number. Strings
 * are valid only during the call.
 */
struct check_part {
	const char *file;
	enum check_status status;
	uint64_t offset, bytes;
	/* span of the blocks, or the missing time; from_ns == to_ns: unknown, or none */
	uint64_t from_ns, to_ns;
	uint64_t block_cnt, event_cnt;	/* of valid blocks */
	const char *reason;		/* never NULL; "": no reason */
};

struct check_result {
	uint64_t block_cnt, event_cnt;	/* valid */
	uint64_t damaged_cnt, damaged_bytes;
	uint64_t note_cnt;
	uint64_t missing_ns;	/* sum of the times that no valid block covers */
	/*
	 * Number of blocks lost before the first valid one. Their times are unknown: the trace
	 * seems to start later than it did.
	 */
	uint64_t missing_first;
	uint64_t valid_to_ns;	/* end of the part from the trace's start that has no hole */
};

/* Called for each stretch; may be NULL. A result < 0 ends the check and becomes its result. */
typedef int (*check_part_fn)(void *ctx, const struct check_part *part);

/* Checks t. 0, even if there is damage; -errno: the check itself failed. */
int trace_check(struct trace *t, check_part_fn fn, void *ctx, struct check_result *ret,
		struct err *e);
