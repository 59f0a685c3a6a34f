/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
#include "analyze/page/page_bins.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/context/context.h"
#include "analyze/fold/index.h"
#include "base/array.h"

#define BINS_WANTED   800
#define BINS_FINE     300	/* more, around what stands out */
#define PARTS	      20	/* of a bin that is divided */
#define BINS_SERVED   400	/* as many as a chart has points: cmd/page/charts.js */
#define DECODE_EVENTS 10000000	/* as many are decoded in a second or two */
#define BLOCKS_FEW    100	/* a bin of a block would be much wider than a point */
#define BINS_FEW      60
#define BIN_EVENTS    8		/* a bin of less would be empty */
/* a step is to take 0.15 s of CPU time: it decodes at most this many events for all bins, or few */
#define STEP_EVENTS   1000
#define STEP_EVENTS_FEW 350000
/* a step reads at most this many slices of the index; in longer windows it has CPU time only */
#define STEP_SLICES 12

static int add_edge(struct page_bins *b, uint64_t ts_ns)
{
	if (array_reserve(&b->edges, &b->cap, b->cnt + 1) < 0)
		return -ENOMEM;
	b->edges[b->cnt++] = ts_ns;
	return 0;
}

/* 1, 2 or 5 times a power of ten, so that edges are short numbers. */
static uint64_t round_length(uint64_t ns)
{
	static const uint64_t steps[] = { 1, 2, 5 };
	uint64_t power = 1;

	for (;; power *= 10)
		for (unsigned int i = 0; i < 3; i++)
			if (steps[i] * power >= ns)
				return steps[i] * power;
}

/* Rounds a length up to one of two significant digits. */
static uint64_t round_finely(uint64_t ns)
{
	uint64_t power = 1;

	while (ns / power >= 100)
		power *= 10;
	return (ns + power - 1) / power * power;
}

/* Returns how many events a window has: of each of its blocks, its part of them. */
static double events_within(const struct analysis *a, uint64_t from_ns, uint64_t to_ns,
			    size_t *ret_blocks)
{
	double events = 0;
	size_t cnt;
	const struct trace_block *b = trace_blocks(a->trace, &cnt);

	*ret_blocks = 0;
	for (size_t i = 0; i < cnt; i++) {
		uint64_t first = b[i].from_ns > from_ns ? b[i].from_ns : from_ns,
			 end = b[i].to_ns < to_ns ? b[i].to_ns : to_ns;

		if (first >= end)
			continue;
		events += (double)trace_block_events(&b[i], UINT32_MAX) * (double)(end - first) /
			  (double)(b[i].to_ns - b[i].from_ns);
		++*ret_blocks;
	}
	return events;
}

/* Decides how long bins are, and whether so few events are in the window that they are decoded. */
static uint64_t bin_length(struct page_bins *b, const struct analysis *a, uint64_t from_ns,
			   uint64_t to_ns, enum page_effort effort)
{
	size_t blocks;
	double events = events_within(a, from_ns, to_ns, &blocks);
	bool can_decode = events <= DECODE_EVENTS || blocks < BLOCKS_FEW;
	uint64_t bins = (uint64_t)(events / BIN_EVENTS);

	if (effort == PAGE_WHOLE) {
		b->are_decoded = context_events(a, UINT32_MAX, from_ns, to_ns) <= DECODE_EVENTS;
		return round_length((to_ns - from_ns) / BINS_WANTED + 1);
	}
	b->are_coarse = effort == PAGE_STEP && events > STEP_EVENTS && can_decode;
	b->are_decoded = effort == PAGE_STEP ? events <= STEP_EVENTS_FEW : can_decode;
	bins = bins > BINS_SERVED ? BINS_SERVED : bins;
	if (bins < BINS_FEW || (b->are_coarse && b->are_decoded))
		bins = BINS_FEW;
	return round_finely((to_ns - from_ns) / bins + 1);
}

int page_bins_make(struct page_bins *b, struct analysis *a, uint64_t from_ns, uint64_t to_ns,
		   enum page_effort effort, struct err *e)
{
	uint64_t length = bin_length(b, a, from_ns, to_ns, effort), at = from_ns;
	const struct index *x = NULL;
	int ret = b->are_decoded ? 0 : analysis_index_of(a, PAGE_KINDS, &x, e);

	if (ret < 0)
		return ret;
	if (x)
		b->slices = index_interval_at(x, to_ns - 1) - index_interval_at(x, from_ns);
	b->are_long = effort == PAGE_STEP && b->slices > STEP_SLICES;
	ret = add_edge(b, from_ns);
	/* edges that count from the trace's start; an index gives the next edge of a slice */
	while (!ret && at < to_ns) {
		uint64_t next = a->start_ns + ((at - a->start_ns) / length + 1) * length;

		if (x && next < to_ns)
			next = index_interval_to(x, index_interval_at(x, next - 1));
		at = next < to_ns ? next : to_ns;
		ret = add_edge(b, at);
	}
	return ret < 0 ? err_set(e, ret, "out of memory") : 0;
}

/* ---- around what stands out ---- */

/* Marks the bin of an instant and the one before. Returns how many were not marked yet. */
static size_t mark_bins(const struct page_bins *b, uint64_t at_ns, bool *is_fine)
{
	size_t end = 1, marked = 0;

	while (end + 1 < b->cnt && b->edges[end] <= at_ns)
		end++;
	for (size_t bin = end > 1 ? end - 2 : 0; bin < end; bin++) {
		marked += !is_fine[bin];
		is_fine[bin] = true;
	}
	return marked;
}

int page_bins_refine(struct page_bins *b, const uint64_t *at_ns, size_t cnt, struct err *e)
{
	struct page_bins fine = *b;
	bool *is_fine = calloc(b->cnt, sizeof(*is_fine));
	size_t added = 0;
	int ret = is_fine ? 0 : -ENOMEM;

	fine.edges = NULL;
	fine.cnt = fine.cap = 0;
	for (size_t i = 0; !ret && i < cnt && added < BINS_FINE; i++)
		added += mark_bins(b, at_ns[i], is_fine) * (PARTS - 1);
	for (size_t bin = 0; !ret && bin + 1 < b->cnt; bin++) {
		uint64_t length = b->edges[bin + 1] - b->edges[bin];

		ret = add_edge(&fine, b->edges[bin]);
		for (unsigned int i = 1; !ret && is_fine[bin] && length >= PARTS && i < PARTS; i++)
			ret = add_edge(&fine, b->edges[bin] + length / PARTS * i);
	}
	if (!ret)
		ret = add_edge(&fine, b->edges[b->cnt - 1]);
	free(is_fine);
	if (ret) {
		free(fine.edges);
		return err_set(e, ret, "out of memory");
	}
	free(b->edges);
	*b = fine;
	return 0;
}

void page_bins_done(struct page_bins *b)
{
	free(b->edges);
}
