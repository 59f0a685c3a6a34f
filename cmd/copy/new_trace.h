/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * new_trace: how cut, redact, repair and snapshot write a trace that has its name only when it is
 * whole (base/atomic_output.h). Threads: one. Prints what goes wrong.
 */
#pragma once

#include "trace/trace.h"

/*
 * Refuses an output that exists or lies in the trace of (which may be NULL), has write() make it at
 * another path, and gives it its name. write() returns 0, -errno with e, or an exit status when the
 * error has been printed. Returns an exit status.
 *
 * checked_block_cnt is not NULL: before the new trace gets its name it must be found to be whole,
 * with that many blocks, which write() has counted.
 */
int new_trace_make(const struct trace *of, const char *output,
		   int (*write)(void *ctx, const char *path, struct err *e), void *ctx,
		   const uint64_t *checked_block_cnt);
