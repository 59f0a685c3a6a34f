/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * loss_index: is a window complete, how many events were lost in it, which sources were off?
 *
 *     trace_losses(), trace_gaps(), trace_blocks() --[loss_index]--> complete or not, lost events
 *
 * Every view, title, bin, page, metric and export uses it, with a window and its needs. The window
 * [from, to) is complete if all of this holds:
 *   - no event of a needed source may have been lost in it: no interval of such a loss overlaps it;
 *   - each needed source was recorded, and was not off in the window; a source with a "?" matters
 *     only if it was recorded; alloc.heap must cover all processes of the workload;
 *   - the window is inside the trace and in its valid blocks, and the recording's manifest is
 *     known: it has the size of a page, and the recorded sources;
 *   - LOSS_BEFORE: the trace before the window is valid, too; LOSS_AFTER: the trace after it;
 *   - LOSS_STATE: no event of a needed source was lost before the window, since the state that
 *     the window begins with may be wrong; so it is for class task without LOSS_STATE;
 *   - LOSS_LEVELS: no needed source was off before the window either.
 * A cut has in its manifest what was lost and missing before its start.
 * It is about all processes of the trace: the process of a lost event is unknown, so a result about
 * some processes is as complete as one about all.
 *
 * The time of a loss is known only as an interval of up to about a second. An event counts at its
 * time and a wait at its end; so a loss counts at the end of its interval, and the numbers of lost
 * events of neighbouring windows add up. If such an interval only overlaps a window, the window has
 * none of its events, but is not complete. Times are CLOCK_MONOTONIC. Threads: one.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "trace/trace.h"

enum {
	LOSS_CLASS_CNT = EVENT_CLASS_CNT,
	LOSS_SOURCE_CNT = 32,	/* upper limit */
};

enum loss_reach { LOSS_BEFORE = 1, LOSS_AFTER = 2, LOSS_LEVELS = 4, LOSS_STATE = 8 };

/* The sources that a result depends on, and how far before and after its window. */
struct loss_needs {
	/*
	 * Sources, or classes for any of their sources, separated by commas:
	 * "task,sched.switch,alloc,block?".
	 */
	const char *sources;
	unsigned int reach;	/* enum loss_reach */
};

#define LOSS_SOURCES_MAX 160

/*
 * Returns the needs of a row about one source of a view, such as a row about "slab" of a view of
 * alloc.
 */
struct loss_needs loss_needs_of(struct loss_needs view, const char *source,
				char room[LOSS_SOURCES_MAX]);

/* Everything recorded, including state from before the window. */
#define LOSS_NEEDS_ALL \
	((struct loss_needs){ "task,sched?,alloc?,block?", LOSS_BEFORE | LOSS_STATE })

/* Why a window is not complete. */
struct loss_missing {
	enum {
		LOSS_EVENTS,	/* cnt events of class `what` were lost in it, at most `most` */
		LOSS_EARLIER,	/* cnt events of class `what` were lost before it */
		LOSS_NOT_RECORDED,	/* source `what` */
		LOSS_OFF,	/* source `what` was off for cnt ns, since `reason` */
		LOSS_OUTSIDE,	/* the window is outside the trace, */
		LOSS_TOO_EARLY,	/* begins before it, */
		LOSS_TOO_LATE,	/* ends after it */
		LOSS_HOLE,	/* no valid block has [from_ns, to_ns) */
		LOSS_HOLES,	/* and cnt more like it */
		LOSS_HOLE_EARLIER,	/* a part before the cut is missing */
		LOSS_MANIFEST,	/* the recording's manifest is lost: reason */
		LOSS_HEAPS,	/* cnt heaps were not recorded; `what`: pid of one, or NULL */
	} why;
	const char *what, *reason;
	uint64_t cnt, most, from_ns, to_ns;
};

struct loss_edge {
	uint64_t ts_ns;
	uint64_t sum_cnt;	/* sum of this and all earlier edges */
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
	/* of the trace when holes was made: more may be found later */
	size_t damage_cnt;
};

int loss_index_init(struct loss_index *x, const struct trace *t);
void loss_index_done(struct loss_index *x);

/*
 * Returns whether the window is complete; every part of the program asks here. Calls tell, unless
 * NULL, for each reason why it is not.
 */
bool loss_index_is_complete(struct loss_index *x, struct loss_needs needs, uint64_t from_ns,
			    uint64_t to_ns, void (*tell)(void *ctx, const struct loss_missing *m),
			    void *ctx);

/* Returns the number of events of the sources that were lost in [from_ns, to_ns). */
uint64_t loss_index_lost(const struct loss_index *x, const char *sources, uint64_t from_ns,
			 uint64_t to_ns);

/*
 * Returns the time within [from_ns, to_ns) in which any of the sources was off on purpose.
 * sched.irq does not count for class "sched": a source recorded on request is only for queries that
 * name it.
 */
uint64_t loss_index_off_ns(const struct loss_index *x, const char *sources, uint64_t from_ns,
			   uint64_t to_ns);

/*
 * True if all of [from_ns, to_ns) is inside the span and in valid blocks. Damage inside a block is
 * found when the block is read: call this after reading.
 */
bool loss_index_covered(struct loss_index *x, uint64_t from_ns, uint64_t to_ns);

/* "task", "sched", "alloc", "block", "cpu", or NULL. */
const char *loss_class_name(unsigned int cls);
/* Returns the class of a source, or a class's own number; LOSS_CLASS_CNT: neither. */
unsigned int loss_source_class(const char *source);
