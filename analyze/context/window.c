/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* window: arithmetic of windows and bins. */
#include "analyze/context/window.h"

#include "analyze/context/context.h"
#include "base/array.h"

void context_clip(const struct analysis *a, uint64_t *from_ns, uint64_t *to_ns)
{
	if (*from_ns < a->start_ns)
		*from_ns = a->start_ns;
	if (*to_ns > a->end_ns)
		*to_ns = a->end_ns;
	if (*from_ns > *to_ns)
		*from_ns = *to_ns = a->start_ns;
}

uint64_t context_events(const struct analysis *a, uint32_t kinds, uint64_t from_ns, uint64_t to_ns)
{
	size_t cnt, i;
	const struct trace_block *b = trace_blocks(a->trace, &cnt);
	uint64_t events = 0;

	for (i = 0; i < cnt; i++)
		if (b[i].first_ns < to_ns && b[i].to_ns > from_ns)
			events += trace_block_events(&b[i], kinds);
	return events;
}

uint64_t window_bin_of_edges(const struct window *w, uint64_t ts_ns)
{
	size_t i = lower_bound_plain(w->edges, w->edge_cnt, ts_ns);

	i -= i == w->edge_cnt || w->edges[i] != ts_ns;
	return i == SIZE_MAX ? 0 : i + 1 < w->edge_cnt ? i : w->edge_cnt - 2;
}

/* Returns where a bin begins, also after the end of the window. */
static uint64_t bin_begin(const struct window *w, uint64_t bin)
{
	return w->edges ? w->edges[bin] : w->base_ns + bin * w->every_ns;
}

void window_bin_span(const struct window *w, uint64_t bin, uint64_t *ret_from_ns,
		     uint64_t *ret_to_ns)
{
	uint64_t from = w->from_ns, to = w->to_ns;

	if (w->every_ns && bin > w->first_bin)
		from = bin_begin(w, bin);
	if (w->every_ns && bin + 1 < w->end_bin)
		to = bin_begin(w, bin + 1);
	*ret_from_ns = from;
	*ret_to_ns = to;
}
