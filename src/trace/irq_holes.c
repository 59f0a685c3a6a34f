/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * irq_holes: lists, in order, the gaps of sched.irq and the ends of blocks after which data is
 * missing.
 */
#include "trace/irq_holes.h"
#include "base/array.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int irq_holes_find(struct irq_holes *h, const struct trace *t)
{
	size_t block_cnt, gap_cnt, i;
	const struct trace_block *b = trace_blocks(t, &block_cnt);
	const struct trace_gap *g = trace_gaps(t, &gap_cnt);

	*h = (struct irq_holes){ .at_ns = calloc(block_cnt + gap_cnt + 1, sizeof(*h->at_ns)) };
	if (!h->at_ns)
		return -ENOMEM;
	for (i = 0; i < gap_cnt; i++)
		if (!strcmp(g[i].source, "sched.irq"))
			h->at_ns[h->cnt++] = g[i].from_ns;
	for (i = 0; i < block_cnt; i++)
		if (trace_block_is_damaged(t, i) || (i && b[i].from_ns > b[i - 1].to_ns))
			h->at_ns[h->cnt++] = i ? b[i - 1].to_ns : b[i].from_ns;
	qsort(h->at_ns, h->cnt, sizeof(*h->at_ns), compare_u64);
	return 0;
}

void irq_holes_done(struct irq_holes *h)
{
	free(h->at_ns);
}

bool irq_holes_pass(struct irq_holes *h, uint64_t below_ns)
{
	bool passed = false;

	for (; h->next < h->cnt && h->at_ns[h->next] < below_ns; h->next++)
		passed = true;
	return passed;
}
