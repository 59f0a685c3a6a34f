/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * loss_index: what was lost in a window, which sources were off, and whether the trace covers it.
 *
 *     trace_losses(), trace_blocks() --[loss_index]--> lost events of a class in [from, to)
 *
 * A loss is only known to lie somewhere in its interval, so it counts in every window that
 * interval touches. In neighbouring windows it may count twice, but never not at all.
 * Times are CLOCK_MONOTONIC. Threads: one.
 */
#ifndef LOSS_INDEX_H
#define LOSS_INDEX_H

#include <stdbool.h>
#include <stdint.h>

#include "trace/trace.h"

enum {
	LOSS_CLASS_CNT = 4,	/* enum event_class: task, sched, alloc, block */
	LOSS_OFF_CNT = 16,	/* sources and classes whose times off are kept */
};

struct loss_edge {
	uint64_t ts_ns;
	uint64_t sum_cnt;	/* of this and all edges before */
};

struct loss_span {
	uint64_t from_ns, to_ns;
	uint64_t sum_ns;	/* of all spans before */
};

/* The times in which what was off, in order; they do not overlap. */
struct loss_off {
	char *what;
	struct loss_span *spans;
	size_t cnt;
};

struct loss_index {
	const struct trace *trace;
	uint64_t start_ns, end_ns;	/* the trace's span */
	struct loss_edge *from[LOSS_CLASS_CNT], *to[LOSS_CLASS_CNT];
	size_t cnt[LOSS_CLASS_CNT];
	struct loss_off off[LOSS_OFF_CNT];	/* made when asked for */
	unsigned int next_off;
	struct loss_span *holes;	/* time that no valid block covers, in order */
	size_t hole_cnt;
	size_t damage_cnt;		/* of the trace when holes was made: more may be found */
};

int loss_index_init(struct loss_index *x, const struct trace *t);
void loss_index_done(struct loss_index *x);

/* Events of the class (>= LOSS_CLASS_CNT: all) that may have been lost in [from_ns, to_ns). */
uint64_t loss_index_lost(const struct loss_index *x, unsigned int cls, uint64_t from_ns,
			 uint64_t to_ns);

/*
 * Time within [from_ns, to_ns) in which a source was off on purpose. what: a source ("alloc.slab"),
 * a class ("alloc": any of its sources; "sched" leaves out sched.irq) or "all".
 */
uint64_t loss_index_off_ns(struct loss_index *x, const char *what, uint64_t from_ns,
			   uint64_t to_ns);

/*
 * True when the source was recorded at all, or for a class, the sources its answers need. what: as
 * above; "all" is always recorded.
 */
bool loss_index_recorded(const struct loss_index *x, const char *what);

/*
 * True when every instant of [from_ns, to_ns) lies in the span and in a valid block. Damage inside
 * a block is found when the block is read: ask after reading.
 */
bool loss_index_covered(struct loss_index *x, uint64_t from_ns, uint64_t to_ns);

/* True when nothing of what, whose class is cls, is missing in [from_ns, to_ns). */
bool loss_index_is_complete(struct loss_index *x, const char *what, unsigned int cls,
			    uint64_t from_ns, uint64_t to_ns);

/* "task", "sched", "alloc", "block", or NULL. */
const char *loss_class_name(unsigned int cls);
/* The class a source is part of ("alloc.slab": alloc), or LOSS_CLASS_CNT. */
unsigned int loss_source_class(const char *source);
/* The class of a name, LOSS_CLASS_CNT for "all", or -1. */
int loss_class_find(const char *name);

#endif /* LOSS_INDEX_H */
