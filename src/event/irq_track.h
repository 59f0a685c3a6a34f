/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * irq_track: from entries and exits of interrupts to what was served, when and for how long.
 *
 *     irq events, by time --[irq_track]--> runs; entries and exits that have no partner
 *
 * One interrupt may interrupt another. The time of the inner one is its own and not the outer one's, so
 * the times of all runs of a CPU never overlap. The rule that pairs an exit with its entry, and tells
 * when one of the two was lost, is in schema/FORMAT.md, kind 13. A run that something of unknown length lies
 * in counts as one whose partner is lost: nothing is guessed. Threads: one. Errors: -ENOMEM, -EBADMSG.
 */
#ifndef IRQ_TRACK_H
#define IRQ_TRACK_H

#include <stdbool.h>
#include <stdint.h>

#include "event/event.h"
#include "event/index_number.h"
#include "event/trace.h"

struct irq_span {
	uint64_t from_ns, to_ns;
};

struct irq_run {
	uint32_t cpu, utid;		/* utid was interrupted */
	uint32_t type, vector;		/* enum event_irq_type */
	uint64_t from_ns, to_ns;
	uint64_t own_ns;		/* without cuts */
	const struct irq_span *cuts;	/* what interrupted it: ascending, apart; until the sink returns */
	size_t cut_cnt;
};

struct irq_sink {
	void *ctx;
	/* By to_ns. A negative result ends irq_track_event() with it. */
	int (*run)(void *ctx, const struct irq_run *r);
	/* An entry or exit without its partner. NULL: nobody wants to know. Only cpu .. vector and from_ns are set. */
	int (*broken)(void *ctx, const struct irq_run *r);
};

struct irq_track;

int irq_track_new(struct irq_track **ret, unsigned int cpu_cnt, const struct irq_sink *sink);
void irq_track_free(struct irq_track *t);

int irq_track_event(struct irq_track *t, const struct event *ev);
/* Events are missing here: nothing that is served now has an exit that could be told to be its own. */
int irq_track_hole(struct irq_track *t);
int irq_track_hole_on(struct irq_track *t, unsigned int cpu);	/* of one CPU only */
/*
 * The trace ends at end_ns, but was cut from one that went on: what is being served is given as a run until then, unless
 * the cut says that it is broken (EVENT_F_BROKEN).
 */
int irq_track_cut(struct irq_track *t, uint64_t end_ns);
/* When the oldest of what is being served began; UINT64_MAX: nothing is. */
uint64_t irq_track_oldest_ns(const struct irq_track *t);
/* How many are being served on a CPU, one in the middle of another. */
unsigned int irq_track_depth(const struct irq_track *t, unsigned int cpu);

/* What is being served at at_ns, for who begins there; a tracker that is loaded has seen nothing before. */
void irq_track_save(const struct irq_track *t, uint64_t at_ns, struct buf *out);
int irq_track_load(struct irq_track *t, struct index_in *in, uint64_t at_ns);

/*
 * Instants from which on events are missing: sched.irq was off, or there is no block, or a damaged one. Whoever goes
 * through the events of a trace calls irq_track_hole() at each, before the events of that instant.
 */
struct irq_holes {
	uint64_t *at_ns;	/* ascending */
	size_t cnt, next;
};

int irq_holes_find(struct irq_holes *h, const struct trace *t);
void irq_holes_done(struct irq_holes *h);
/* Whether there is one before below_ns that was not told of yet. */
bool irq_holes_pass(struct irq_holes *h, uint64_t below_ns);

#endif /* IRQ_TRACK_H */
