/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * trace_copy: common part of cut, redact and repair, which make a trace from another one.
 *
 *     trace --[trace_copy_make]--> new directory, blocks and manifest by its caller
 *
 * Threads: one. Errors: 0 or -errno and a struct err.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "store/store_writer.h"
#include "trace/trace.h"

/*
 * Checks whether a new trace may be made at path. -EEXIST: path exists; -EINVAL: it is inside t,
 * which would change t.
 */
int trace_copy_refuse(const struct trace *t, const char *path, struct err *e);

/*
 * Makes a new trace at path from the data that write() adds to w, and finishes it. An error leaves
 * nothing behind. -EEXIST and -EINVAL as above; the result of write(); or the store's error.
 */
int trace_copy_make(const struct trace *t, const char *path, const struct store_config *config,
		    int (*write)(void *ctx, struct store_writer *w, struct err *e), void *ctx,
		    struct err *e);

/*
 * Appends a block byte for byte. The block is checked once more in memory before it is written:
 * data that was valid during the check may have become unreadable on a failing disk. -EIO: it has.
 */
int trace_copy_block(struct trace *t, size_t block, struct store_writer *w, struct err *e);

#define TRACE_COPY_GAPS_MAX 1000	/* listed in the manifest; more are only counted */

struct trace_copy_gaps {
	uint64_t cnt;
	uint64_t ns;	/* sum of all */
};

/*
 * Finds the time within [from_ns, to_ns), and within the trace's span, that no valid block covers.
 * If there is any, the manifest declares it: repaired=1, repaired.gaps, repaired.gap.N. 0 or
 * -ENOMEM.
 */
int trace_copy_declare_gaps(const struct trace *t, uint64_t from_ns, uint64_t to_ns,
			    struct store_writer *w, struct trace_copy_gaps *ret);
/*
 * True for a key that belongs to the whole recording, or to another copy, and not to a part of it.
 */
bool trace_copy_key_is_of_whole(const char *key);

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
struct repair_result {
	uint64_t block_cnt, bytes;	/* copied */
	struct trace_copy_gaps gaps;	/* time that no valid block covers */
};

/*
 * Call trace_check() on t before: damage that it found is left out. path must neither exist
 * (-EEXIST) nor be inside t (-EINVAL). -ENODATA: t has no valid block.
 */
int trace_repair(struct trace *t, const char *path, struct repair_result *ret, struct err *e);
