/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * page_bins: the bins of a page, the finest that it can show; it adds them up to coarser ones
 * itself.
 *
 * A bin of a window with many events consists of whole slices of blocks, so that all of it comes
 * from the index. A window with fewer is decoded, and its bins are of equal lengths. How many are
 * few depends on how long somebody is to wait: a step is answered at once, and where somebody
 * stays, the same window comes with finer bins. Threads: one.
 */
#pragma once

#include <stddef.h>

#include "analyze/context/analysis.h"

#define PAGE_KINDS (ANALYSIS_KINDS | ANALYSIS_STATES) /* of the index */

struct page_bins {
	uint64_t *edges;
	size_t cnt, cap;	/* of edges */
	bool are_decoded;	/* they are of equal lengths */
	bool are_coarse;	/* finer bins are available if the user stays at the window */
	size_t slices;		/* of blocks in them; 0 if they are decoded */
	bool are_long;		/* finding everything in them takes longer than a step may */
};

/* 0 or -errno. */
int page_bins_make(struct page_bins *b, struct analysis *a, uint64_t from_ns, uint64_t to_ns,
		   enum page_effort effort, struct err *e);
/*
 * Divides the bins that have one of these instants, and those before them, into fine ones, as long
 * as there is room for more; the first instants matter most. The other edges stay.
 */
int page_bins_refine(struct page_bins *b, const uint64_t *at_ns, size_t cnt, struct err *e);
void page_bins_done(struct page_bins *b);
