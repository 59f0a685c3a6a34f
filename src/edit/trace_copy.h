/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * trace_copy: what cut, redact and repair share, which make a trace of another one.
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
#include "trace/trace.h"
#include "store/store_writer.h"

/*
 * Checks whether a new trace may be made at path. -EEXIST: path exists; -EINVAL: it lies inside of
 * t, which would be a change to t.
 */
int trace_copy_refuse(const struct trace *t, const char *path, struct err *e);

/*
 * Makes a new trace at path with what write() puts into w, and finishes it. After an error there
 * is no new trace. -EEXIST and -EINVAL as above; what write() returned; or what the store says.
 */
int trace_copy_make(const struct trace *t, const char *path, const struct store_config *config,
		    int (*write)(void *ctx, struct store_writer *w, struct err *e), void *ctx,
		    struct err *e);

/*
 * Appends a block byte for byte. The block is checked once more in memory before it is written:
 * what was valid when the trace was checked may have gone bad on a dying disk. -EIO: it has.
 */
int trace_copy_block(struct trace *t, size_t block, struct store_writer *w, struct err *e);

#define TRACE_COPY_GAPS_MAX 1000	/* named in the manifest; more are only counted */

struct trace_copy_gaps {
	uint64_t cnt;
	uint64_t ns;	/* of all together */
};

/*
 * The time within [from_ns, to_ns), and within the trace's span, that no valid block stands for.
 * Where there is some, the manifest declares it: repaired=1, repaired.gaps, repaired.gap.N. 0 or
 * -ENOMEM.
 */
int trace_copy_declare_gaps(const struct trace *t, uint64_t from_ns, uint64_t to_ns,
			    struct store_writer *w, struct trace_copy_gaps *ret);
/* A key of what belongs to the recording as a whole, or to another copy: not of a part of it. */
bool trace_copy_key_is_of_whole(const char *key);
