/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Interrupts in an index: the part INDEX_IRQ_STATE, what is being served at a cell's beginning. Sums are not
 * kept: interrupts are few among the events of a trace, and decoded fast.
 */
#include <errno.h>

#include "analyze/index_job.h"
#include "analyze/irq_scan.h"

static int on_run(void *ctx, const struct irq_run *r)
{
	return 0;
}

static int open_scan(struct irq_scan **ret, struct index_job *j)
{
	const struct irq_sink sink = { .run = on_run };
	struct buf mem = { 0 };
	struct index_in in;
	int r;

	if (!j->from)
		return irq_scan_open(ret, j->a, NULL, 0, &sink, &j->e);
	r = index_read_tail(j->x, INDEX_TAIL_IRQ, &mem, &in);
	if (!r)
		r = irq_scan_open_state(ret, j->a, index_job_from_ns(j), &in, &sink, &j->e);
	buf_done(&mem);
	return r;
}

static int run_to(struct irq_scan *s, uint64_t to_ns, struct err *e)
{
	int r;

	while ((r = irq_scan_next(s, to_ns, e)) > 0)
		;
	return r;
}

int index_irq_job(struct index_job *j)
{
	struct irq_scan *s = NULL;
	struct buf out = { 0 };
	size_t i;
	int r = open_scan(&s, j);

	for (i = j->from; i < j->end && !r; i++) {
		uint64_t from_ns = index_cell_from(j->x, i);

		r = run_to(s, from_ns, &j->e);
		if (r < 0)
			break;
		buf_reset(&out);
		irq_track_save(irq_scan_track(s), from_ns, &out);
		r = index_add(j->x, j->z, i, INDEX_IRQ_STATE, &out);
		if (!r && i == j->last)
			r = index_add_tail(j->x, j->z, INDEX_TAIL_IRQ, &out);
		if (!r)
			r = index_job_done_cell(j, i);
	}
	irq_scan_close(s);
	buf_done(&out);
	return r;
}
