/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * irq_scan: the interrupts of a trace, in order, from an instant on.
 *
 *     trace, index --[irq_scan]--> irq_track --> runs
 *
 * It begins at the index's cell that holds the instant, or without an index at the trace's start, so runs
 * from before the instant are given, too. Where events are missing (a hole between blocks, a damaged
 * block, sched.irq being off) nothing is taken to go on. Threads: one.
 */
#ifndef IRQ_SCAN_H
#define IRQ_SCAN_H

#include "analyze/context.h"
#include "event/irq_track.h"

struct irq_scan;

/* index may be NULL. 0 or -errno; -EBADMSG: the index is damaged. */
int irq_scan_open(struct irq_scan **ret, struct analysis *a, const struct index *index,
		  uint64_t from_ns, const struct irq_sink *sink, struct err *e);
/* The same from a state of irq_track_save() at from_ns. */
int irq_scan_open_state(struct irq_scan **ret, struct analysis *a, uint64_t from_ns,
			struct index_in *state, const struct irq_sink *sink, struct err *e);
void irq_scan_close(struct irq_scan *s);

/*
 * Takes the next event if it is before to_ns: 1; there is none: 0; or -errno. Behind the trace's last event, with
 * to_ns at UINT64_MAX, what is still being served is given as broken; in a trace that was cut short, as a run that lasts
 * until its end.
 */
int irq_scan_next(struct irq_scan *s, uint64_t to_ns, struct err *e);
const struct irq_track *irq_scan_track(const struct irq_scan *s);

#endif /* IRQ_SCAN_H */
