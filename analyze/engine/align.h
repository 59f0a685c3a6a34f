/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * align: bins that begin at multiples of their length in UTC, and so are the same on every host
 * (report --align, export --to openmetrics and clickhouse).
 *
 *     window --[align_window]--> whole bins --report--> rows --[align_real_ns]--> their wall clock
 *
 * All bins have the same length on CLOCK_MONOTONIC, so they stay aligned until the wall clock is
 * set or the machine is suspended. A later bin is assigned the nearest multiple, and its
 * uncertainty includes the distance to that multiple. Threads: one.
 */
#pragma once

#include <stdint.h>

#include "base/err.h"
#include "trace/trace.h"

/* Returns the largest uncertainty of t's clock readings. */
uint64_t align_clock_uncertainty(const struct trace *t);

/*
 * Largest difference that drift causes in a second: adjtime(2) slows down or speeds up the wall
 * clock by up to 0.5 ms per second, and a span is longer or shorter by as much on CLOCK_MONOTONIC.
 */
#define ALIGN_SLACK_NS 500000

/*
 * Widens a window to whole bins, the first of which begins at a multiple of every_ns on the wall
 * clock. Only the window's start is converted to the wall clock. An edge inside the trace that is
 * within ALIGN_SLACK_NS (for short bins: an eighth of a bin) of a bin's edge is moved to that edge
 * instead. -ERANGE: the first bin would begin before the machine booted.
 */
int align_window(const struct trace *t, uint64_t every_ns, uint64_t *from_ns, uint64_t *to_ns,
		 struct err *e);

/* Returns to_ns, rounded up to a whole number of bins from from_ns. */
uint64_t align_end(uint64_t from_ns, uint64_t to_ns, uint64_t every_ns);

/*
 * Returns the wall clock at the bin edge mono_ns, rounded to the nearest multiple of every_ns.
 * *ret_off_ns: the rounding error, plus the step of the clock at mono_ns, if any. every_ns 0: no
 * rounding.
 */
uint64_t align_real_ns(const struct trace *t, uint64_t every_ns, uint64_t mono_ns,
		       uint64_t *ret_off_ns);
