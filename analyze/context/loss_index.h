/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * loss_index: decides whether a window is complete, and counts its lost events and time off.
 *
 *     trace_losses(), trace_gaps(), trace_blocks() --[loss_index]--> complete or not, lost events
 *
 * Used by every view, title, bin, page, metric and export, with a window and its needs. The window
 * [from, to) is complete if:
 *   - no event of a needed source was lost in it, that is, no interval of such a loss overlaps it;
 *   - each needed source was recorded, and was not off in the window; a source with a "?" matters
 *     only if it was recorded; alloc.heap must cover all processes of the workload;
 *   - the window is inside the trace and in its valid blocks, and the recording's manifest, which
 *     has the page size and the recorded sources, is known;
 *   - LOSS_BEFORE: the trace before the window is valid, too; LOSS_AFTER: the trace after it;
 *   - LOSS_STATE, and for class task always: no event of a needed source was lost before the
 *     window, because the state at the window's start may then be wrong (trace_loss_lasting());
 *   - LOSS_LEVELS: no needed source was off before the window.
 * The manifest of a cut trace lists the losses and missing parts before the cut's start.
 * Completeness does not depend on the selected processes: the process of a lost event is unknown,
 * so a result about some processes is as complete as a result about all.
 *
 * The time of a loss is known only as an interval of up to about a second. Events count at their
 * time and waits at their end, so a loss counts at the end of its interval; the lost events of
 * adjacent windows add up. If an interval overlaps a window but ends after it, none of the lost
 * events count in the window, but the window is incomplete. Times are CLOCK_MONOTONIC. Threads:
 * one.
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

/* The sources that a result depends on, and the time before and after its window that matters. */
struct loss_needs {
	/*
	 * Sources, or classes (any source of the class), separated by commas:
	 * "task,sched.switch,alloc,block?".
	 */
	const char *sources;
	unsigned int reach;	/* enum loss_reach */
};

#define LOSS_SOURCES_MAX 160

/*
 * Returns the needs of a row about one source of a view, e.g. "slab" in a view about alloc. The
 * result may point into room.
 */
struct loss_needs loss_needs_of(struct loss_needs view, const char *source,
				char room[LOSS_SOURCES_MAX]);

/* Everything that was recorded, including the state from before the window. */
#define LOSS_NEEDS_ALL \
	((struct loss_needs){ "task,sched?,alloc?,block?", LOSS_BEFORE | LOSS_STATE })

/* A reason why a window is not complete. */
struct loss_missing {
	enum {
		/* cnt events of class `what` were lost in the window, at most `most` */
		LOSS_EVENTS,
		LOSS_EARLIER,	/* cnt events of class `what` were lost before the window */
		LOSS_NOT_RECORDED,	/* source `what` was not recorded */
		LOSS_OFF,	/* source `what` was off for cnt ns because of `reason` */
		LOSS_OUTSIDE,	/* the window is outside the trace */
		LOSS_TOO_EARLY,	/* the window begins before the trace */
		LOSS_TOO_LATE,	/* the window ends after the trace */
		LOSS_HOLE,	/* no valid block covers [from_ns, to_ns) */
		LOSS_HOLES,	/* cnt further holes */
		LOSS_HOLE_EARLIER,	/* a part of the trace before the cut is missing */
		LOSS_MANIFEST,	/* the recording's manifest is lost: `reason` */
		/* cnt heaps were not recorded; `what`: pid of one of them, or NULL */
		LOSS_HEAPS,
	} why;
	const char *what, *reason;
	uint64_t cnt, most, from_ns, to_ns;
};

struct loss_edge {
	uint64_t ts_ns;
	/* sums of this and all earlier edges: lost events, and trace_loss_lasting() */
	uint64_t lost_cnt, lasting_cnt;
};

struct loss_span {
	uint64_t from_ns, to_ns;
};

/* Losses of a source, sorted by beginning and by end. */
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
	struct loss_span *holes;	/* times that no valid block covers, in order */
	size_t hole_cnt;
	/* number of known damages when `holes` was made; more may be found later */
	size_t damage_cnt;
};

int loss_index_init(struct loss_index *x, const struct trace *t);
void loss_index_done(struct loss_index *x);

/*
 * Returns whether the window is complete; the only function that decides this. tell, unless NULL,
 * is called for each reason why the window is not complete.
 */
bool loss_index_is_complete(struct loss_index *x, struct loss_needs needs, uint64_t from_ns,
			    uint64_t to_ns, void (*tell)(void *ctx, const struct loss_missing *m),
			    void *ctx);

/* Returns the number of events of the sources that were lost in [from_ns, to_ns). */
uint64_t loss_index_lost(const struct loss_index *x, const char *sources, uint64_t from_ns,
			 uint64_t to_ns);

/*
 * Returns the time within [from_ns, to_ns) during which any of the sources was off on purpose.
 * sched.irq does not count for class "sched": a source that is recorded only on request matters
 * only to queries that name it.
 */
uint64_t loss_index_off_ns(const struct loss_index *x, const char *sources, uint64_t from_ns,
			   uint64_t to_ns);

/*
 * Returns whether all of [from_ns, to_ns) is inside the span and in valid blocks. Damage inside a
 * block is found when the block is read, so call this after reading.
 */
bool loss_index_covered(struct loss_index *x, uint64_t from_ns, uint64_t to_ns);

/* Returns "task", "sched", "alloc", "block" and so on; NULL: not a class. */
const char *loss_class_name(unsigned int cls);
/* Returns the class of a source, or the number of a class; LOSS_CLASS_CNT: neither. */
unsigned int loss_source_class(const char *source);
