/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * fold_irq: the interrupts that were served. Found: struct irq_found, a run by the instant it ends.
 * A run is found when it is over, so what lies before an instant is known when nothing that began
 * before it is still being served.
 *
 * Where events are missing (a hole between blocks, a damaged block, sched.irq being off) nothing
 * is taken to go on. At the end of the trace, what is still being served is broken; in a trace
 * that was cut short, it is a run that lasts until the end. The index has no sums: interrupts are
 * few among the events of a trace, and decoded fast.
 */
#ifndef FOLD_IRQ_H
#define FOLD_IRQ_H

#include "analyze/fold/fold.h"
#include "model/irq_track.h"

extern const struct fold_def fold_irq;

struct irq_found {
	const struct irq_run *run;
	bool is_broken;		/* an entry or exit without its partner */
};

#endif /* FOLD_IRQ_H */
