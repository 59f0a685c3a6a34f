/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * align: bins that begin at whole multiples of their length of UTC, on every host alike (report
 * --align, export --to openmetrics and clickhouse).
 *
 *     window --[align_window]--> whole bins --report--> rows --[align_real_ns]--> their wall clock
 *
 * Bins have one length on CLOCK_MONOTONIC, so they stay aligned until the wall clock is set or the
 * machine is suspended. From then on a bin has the nearest multiple, and its uncertainty holds the
 * distance. Threads: one.
 */
#pragma once

#include <stdint.h>

#include "base/err.h"
#include "trace/trace.h"

/* Returns how far the readings of t's clocks may be apart. */
uint64_t align_clock_uncertainty(const struct trace *t);

/*
 * Two instants that were named by the wall clock are as far apart as it says, but the machine's
 * clocks drift meanwhile: adjtime(2) moves the wall clock by at most this much in a second.
 */
#define ALIGN_SLACK_NS 500000

/*
 * Widens a window to whole bins by the wall clock at its start. An edge inside the trace that
 * lies within ALIGN_SLACK_NS (of short bins, within an eighth) of a bin's edge means that edge.
 * -ERANGE: a bin would begin before the machine was up.
 */
int align_window(const struct trace *t, uint64_t every_ns, uint64_t *from_ns, uint64_t *to_ns,
		 struct err *e);

/* The end of a window of whole bins that begin at from_ns. */
uint64_t align_end(uint64_t from_ns, uint64_t to_ns, uint64_t every_ns);

/*
 * The wall clock at the edge mono_ns of a bin: the nearest multiple, and its distance, to which a
 * step of the clock at about that instant is added. every_ns 0: bins are not aligned.
 */
uint64_t align_real_ns(const struct trace *t, uint64_t every_ns, uint64_t mono_ns,
		       uint64_t *ret_off_ns);
