/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * window: the window of a table-valued function: [from, to), cut into bins of "every".
 *
 * Bins are counted from "from"; the last one is cut at "to". Only bins that overlap the trace's
 * span exist. The length WINDOW_OWN_BINS selects the analysis' own bins, which have any lengths.
 * Instants here are CLOCK_MONOTONIC. Threads: one.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define WINDOW_OWN_BINS INT64_MAX	/* every_ns */

struct window {
	int64_t from, to;		/* as requested, from the trace's start */
	uint64_t every_ns;		/* 0: one bin */
	uint64_t from_ns, to_ns; /* the part inside the trace's span; equal if there is none */
	uint64_t base_ns; /* start of bin 0, extrapolated before time 0 if needed (wraps) */
	uint64_t first_bin, end_bin;	/* the existing bins: [first, end) */
	const uint64_t *edges;		/* of the analysis' bins; NULL: all have every_ns */
	size_t edge_cnt;
	uint64_t span_end_ns;		/* of the trace */
	uint64_t start_ns;
};

/* Edges are ascending; times outside of them belong to the first or the last bin. */
uint64_t window_bin_of_edges(const struct window *w, uint64_t ts_ns);

static inline uint64_t window_bin(const struct window *w, uint64_t ts_ns)
{
	if (w->edges)
		return window_bin_of_edges(w, ts_ns);
	return w->every_ns ? (ts_ns - w->base_ns) / w->every_ns : 0;
}

/* The part of a bin inside window and span, in CLOCK_MONOTONIC. */
void window_bin_span(const struct window *w, uint64_t bin, uint64_t *ret_from_ns,
		     uint64_t *ret_to_ns);
