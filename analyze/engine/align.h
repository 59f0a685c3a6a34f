/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * align: bins that begin at multiples of their length in UTC, the same on every host (report
 * --align, export --to openmetrics and clickhouse).
 *
 *     window --[align_window]--> whole bins --report--> rows --[align_real_ns]--> their wall clock
 *
 * Bins have one length on CLOCK_MONOTONIC, so they stay aligned until the wall clock is set or the
 * machine is suspended. After that a bin gets the nearest multiple, and its uncertainty includes
 * the distance. Threads: one.
 */
#pragma once

#include <stdint.h>

#include "base/err.h"
#include "trace/trace.h"

/* Returns the largest uncertainty of t's clock readings. */
uint64_t align_clock_uncertainty(const struct trace *t);

/*
 * Two times given by the wall clock have that distance on it, but the machine's clocks drift
 * between them: adjtime(2) moves the wall clock by at most this much in a second.
 */
#define ALIGN_SLACK_NS 500000

/*
 * Widens a window to whole bins by the wall clock at its start. An edge inside the trace within
 * ALIGN_SLACK_NS of a bin's edge (for short bins, within an eighth) is moved to that edge. -ERANGE:
 * a bin would begin before the machine was up.
 */
int align_window(const struct trace *t, uint64_t every_ns, uint64_t *from_ns, uint64_t *to_ns,
		 struct err *e);

/* Returns the end of a window of whole bins that begin at from_ns. */
uint64_t align_end(uint64_t from_ns, uint64_t to_ns, uint64_t every_ns);

/*
 * Returns the wall clock at the edge mono_ns of a bin: the nearest multiple. *ret_off_ns: the
 * distance to it, plus a step of the clock at about that time. every_ns 0: bins are not aligned.
 */
uint64_t align_real_ns(const struct trace *t, uint64_t every_ns, uint64_t mono_ns,
		       uint64_t *ret_off_ns);
