/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * new_trace: writes a trace that gets its name only when it is complete (base/atomic_output.h), for
 * cut, redact, repair and snapshot. Threads: one. Prints errors.
 */
#pragma once

#include "trace/trace.h"

/*
 * Calls write() to make a trace at a temporary path, and renames it to output. Refuses an output
 * that exists or is inside the trace `of` (may be NULL). write() returns 0, -errno with e, or an
 * exit status if it has printed the error. Returns an exit status.
 *
 * If checked_block_cnt is not NULL, the new trace is checked before it is renamed: it must be
 * undamaged and have that number of blocks, which write() has counted.
 */
int new_trace_make(const struct trace *of, const char *output,
		   int (*write)(void *ctx, const char *path, struct err *e), void *ctx,
		   const uint64_t *checked_block_cnt);
