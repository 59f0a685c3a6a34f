/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* trace_copy: checks that a trace is whole; makes a trace from another trace; repairs a trace. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "store/store_writer.h"
#include "trace/trace.h"

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
	uint64_t valid_to_ns;	/* valid blocks cover the trace up to here without a hole */
};

/* Called for each stretch; may be NULL. A result < 0 ends the check and becomes its result. */
typedef int (*check_part_fn)(void *ctx, const struct check_part *part);

/* Checks t. 0, even if there is damage; -errno: the check itself failed. */
int trace_check(struct trace *t, check_part_fn fn, void *ctx, struct check_result *ret,
		struct err *e);

/*
 * trace_copy: functions shared by cut, redact and repair, which make a trace from another trace.
 *
 *     trace --[trace_copy_make]--> new directory; the caller adds blocks and manifest
 *
 * Threads: one. Errors: 0 or -errno and a struct err.
 */
/*
 * Checks whether a new trace may be created at path. 0: yes; -EEXIST: path exists; -EINVAL: path is
 * inside t, which must not change.
 */
int trace_copy_refuse(const struct trace *t, const char *path, struct err *e);

/*
 * Creates a trace at path from the data that write() adds to w, and finishes the trace. On error,
 * no file remains. 0, -EEXIST or -EINVAL as in trace_copy_refuse(), the result of write(), or the
 * store's error.
 */
int trace_copy_make(const struct trace *t, const char *path, const struct store_config *config,
		    int (*write)(void *ctx, struct store_writer *w, struct err *e), void *ctx,
		    struct err *e);

/*
 * Copies a block byte for byte. The block is checked once more in memory before it is written,
 * because a failing disk may have damaged data that was valid before. -EIO: the block is now
 * damaged.
 */
int trace_copy_block(struct trace *t, size_t block, struct store_writer *w, struct err *e);

#define TRACE_COPY_GAPS_MAX 1000	/* gaps in the manifest; further gaps are only counted */

struct trace_copy_gaps {
	uint64_t cnt;
	uint64_t ns;	/* total length */
};

/*
 * Finds the time in [from_ns, to_ns), within the trace's span, that no valid block covers, and
 * declares it in the manifest: repaired=1, repaired.gaps, repaired.gap.N. Adds no entry if there is
 * no such time. 0 or -ENOMEM.
 */
int trace_copy_declare_gaps(const struct trace *t, uint64_t from_ns, uint64_t to_ns,
			    struct store_writer *w, struct trace_copy_gaps *ret);
/*
 * True for a key that describes the whole recording or another copy, and is wrong for a part of the
 * trace.
 */
bool trace_copy_key_is_of_whole(const char *key);

/*
 * trace_repair: creates a new trace from the valid blocks of another trace.
 *
 *     checked trace --[trace_repair]--> new trace: the same blocks, byte for byte, in new files
 *
 * The old trace is only read. In place of a dropped block, both traces have a hole in time, and
 * reports over the hole are marked as incomplete. The manifest describes the repair: repaired=1,
 * repaired.state (the state of the old trace), repaired.gaps, repaired.gap.N.
 *
 * Threads: one. Errors: 0 or -errno and a struct err; on error, no new trace remains.
 */
struct repair_result {
	uint64_t block_cnt, bytes;	/* copied */
	struct trace_copy_gaps gaps;	/* time that no valid block covers */
};

/*
 * Repairs t. Call trace_check() on t first: damage that the check found is left out. path must
 * neither exist (-EEXIST) nor be inside t (-EINVAL). -ENODATA: t has no valid block.
 */
int trace_repair(struct trace *t, const char *path, struct repair_result *ret, struct err *e);
