/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * irq_track: pairs entries and exits of interrupts, and reports each run with its length.
 *
 *     irq events, by time --[irq_track]--> runs; entries and exits without a partner
 *
 * An interrupt may interrupt another one. The time of the inner interrupt does not count for the
 * outer one, so the times of a CPU's runs never overlap. schema/FORMAT.md, kind 13, has the rule
 * that pairs an exit with its entry and detects a lost partner. A run with a part of unknown length
 * counts as an entry without a partner: lengths are never estimated. Threads: one. Errors: -ENOMEM,
 * -EBADMSG.
 */
#pragma once

#include <stdint.h>

#include "format/event.h"
#include "base/buf.h"

struct irq_span {
	uint64_t from_ns, to_ns;
};

struct irq_run {
	uint32_t cpu, utid;		/* utid is the interrupted thread */
	uint32_t type, vector;		/* enum event_irq_type */
	uint64_t from_ns, to_ns;
	uint64_t own_ns;		/* time without the cuts */
	/* the nested interrupts, ascending and disjoint; valid until the sink returns */
	const struct irq_span *cuts;
	size_t cut_cnt;
};

/* Either function may be NULL. */
struct irq_sink {
	void *ctx;
	/*
	 * Called for each run, in order of to_ns. A result < 0 ends irq_track_event() and becomes
	 * its result.
	 */
	int (*run)(void *ctx, const struct irq_run *r);
	/*
	 * Called for each entry or exit without a partner. Only from_ns and the members cpu to
	 * vector are set.
	 */
	int (*broken)(void *ctx, const struct irq_run *r);
};

struct irq_track;

int irq_track_new(struct irq_track **ret, unsigned int cpu_cnt, const struct irq_sink *sink);
void irq_track_free(struct irq_track *t);

int irq_track_event(struct irq_track *t, const struct event *ev);
/*
 * Call this where events are missing: open interrupts can no longer be matched with certainty to
 * exits.
 */
int irq_track_hole(struct irq_track *t);
/* like irq_track_hole(), for one CPU */
int irq_track_hole_on(struct irq_track *t, unsigned int cpu);
/*
 * Call this at the end of a trace that was cut from a longer one: open interrupts become runs that
 * end at end_ns, unless the cut marked them as broken (EVENT_F_BROKEN).
 */
int irq_track_cut(struct irq_track *t, uint64_t end_ns);
/* Returns the time at which the oldest open interrupt was entered; UINT64_MAX: none is open. */
uint64_t irq_track_oldest_ns(const struct irq_track *t);
/* Returns the number of nested open interrupts on a CPU. */
unsigned int irq_track_depth(const struct irq_track *t, unsigned int cpu);

/* Saves the interrupts that are open at at_ns. Call irq_track_load() before any event. */
void irq_track_save(const struct irq_track *t, uint64_t at_ns, struct buf *out);
int irq_track_load(struct irq_track *t, struct packed_in *in, uint64_t at_ns);
