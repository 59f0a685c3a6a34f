/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * loss_index: is a window complete, how many events were lost in it, which sources were off?
 *
 *     trace_losses(), trace_gaps(), trace_blocks() --[loss_index]--> complete or not, lost events
 *
 * Every view, title, bin, page, metric and export asks here, with a window and what it needs. The
 * window [from, to) is complete when all of this holds:
 *   - no event of a needed source may have been lost in it: no interval of such a loss touches it;
 *   - each needed source was recorded, and was not off in the window; a source with a "?" matters
 *     only as far as it was recorded; alloc.heap, of all processes of the workload;
 *   - the window lies inside the trace and in its valid blocks, and the recording's manifest is
 *     known: it has the size of a page, and which sources were recorded;
 *   - LOSS_BEFORE: so does all of the trace before the window, LOSS_AFTER: all behind it;
 *   - LOSS_LEVELS: no needed source was off before the window either.
 * It is about all processes that the trace has: nobody knows whose event was lost, so an answer
 * about some of them is as complete as the one about all.
 *
 * A loss is known to lie somewhere in an interval of up to about a second. As an event counts where
 * it happens and a wait where it ends, all of it counts where its interval ends, so the numbers of
 * lost events of neighbouring windows add up. A window that such an interval only touches has none
 * of its events, and is not complete.
 * Times are CLOCK_MONOTONIC. Threads: one.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "trace/trace.h"

enum {
	LOSS_CLASS_CNT = 6,	/* enum event_class: task, sched, alloc, block, cpu, mem */
	LOSS_SOURCE_CNT = 32,	/* there are fewer */
};

enum loss_reach { LOSS_BEFORE = 1, LOSS_AFTER = 2, LOSS_LEVELS = 4 };

/* The sources that an answer depends on, and how far before and behind its window. */
struct loss_needs {
	/*
	 * Sources, or classes for any of their sources, with commas between them:
	 * "task,sched.switch,alloc,block?".
	 */
	const char *sources;
	unsigned int reach;	/* enum loss_reach */
};

#define LOSS_SOURCES_MAX 160

/* The needs of a row about one source of a view, as a row about "slab" of a view of alloc. */
struct loss_needs loss_needs_of(struct loss_needs view, const char *source,
				char room[LOSS_SOURCES_MAX]);

/* All that was recorded, with what began before the window. */
#define LOSS_NEEDS_ALL ((struct loss_needs){ "task,sched?,alloc?,block?", LOSS_BEFORE })

/* Why a window is not complete. */
struct loss_missing {
	enum {
		LOSS_EVENTS,	/* cnt events of class what were lost in it, at most most of them */
		LOSS_NOT_RECORDED,	/* source what */
		LOSS_OFF,	/* source what was off for cnt ns, since reason */
		LOSS_OUTSIDE,	/* the window lies outside of the trace, */
		LOSS_TOO_EARLY,	/* begins before it, */
		LOSS_TOO_LATE,	/* ends after it */
		LOSS_HOLE,	/* no valid block has [from_ns, to_ns) */
		LOSS_HOLES,	/* and cnt more like it */
		LOSS_MANIFEST,	/* the recording's manifest is not known: reason */
		LOSS_HEAPS,	/* heaps of cnt processes, one of which is what (NULL: unknown) */
	} why;
	const char *what, *reason;
	uint64_t cnt, most, from_ns, to_ns;
};

struct loss_edge {
	uint64_t ts_ns;
	uint64_t sum_cnt;	/* of this and all edges before */
};

struct loss_span {
	uint64_t from_ns, to_ns;
};

/* The losses of a source, in order of their beginnings and of their ends. */
struct loss_edges {
	const char *source;
	unsigned int cls;
	struct loss_edge *from, *to;
	size_t cnt;
};

struct loss_index {
	const struct trace *trace;
	uint64_t start_ns, end_ns;	/* the trace's span */
	struct loss_edges edges[LOSS_SOURCE_CNT];
	unsigned int source_cnt;
	struct loss_span *holes;	/* time that no valid block covers, in order */
	size_t hole_cnt;
	size_t damage_cnt;		/* of the trace when holes was made: more may be found */
};

int loss_index_init(struct loss_index *x, const struct trace *t);
void loss_index_done(struct loss_index *x);

/* The one answer. tell, unless NULL, gets each reason why it is not complete. */
bool loss_index_is_complete(struct loss_index *x, struct loss_needs needs, uint64_t from_ns,
			    uint64_t to_ns, void (*tell)(void *ctx, const struct loss_missing *m),
			    void *ctx);

/* Events of the sources that were lost in [from_ns, to_ns). */
uint64_t loss_index_lost(const struct loss_index *x, const char *sources, uint64_t from_ns,
			 uint64_t to_ns);

/*
 * Time within [from_ns, to_ns) in which any of the sources was off on purpose. sched.irq is no part
 * of class "sched": what is recorded on request is for questions that name it.
 */
uint64_t loss_index_off_ns(const struct loss_index *x, const char *sources, uint64_t from_ns,
			   uint64_t to_ns);

/*
 * True when every instant of [from_ns, to_ns) lies in the span and in a valid block. Damage inside
 * a block is found when the block is read: ask after reading.
 */
bool loss_index_covered(struct loss_index *x, uint64_t from_ns, uint64_t to_ns);

/* "task", "sched", "alloc", "block", "cpu", or NULL. */
const char *loss_class_name(unsigned int cls);
/* The class that a source is part of, or a class's own number; LOSS_CLASS_CNT: it is neither. */
unsigned int loss_source_class(const char *source);
