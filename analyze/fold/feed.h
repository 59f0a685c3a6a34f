/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * feed: the events of a trace, with what happens between them, for one or more listeners at once.
 *
 *     event cursor, block edges, exec and exit --[feed]--> listeners, in order of time
 *
 * At one instant edges come first (the end of a block before the beginning of the next one), then
 * events, then the resets of processes' memory (exec and exit). Every event is decoded once,
 * however many listeners there are. Only this file opens event cursors for folds and views.
 * Threads: one.
 */
#ifndef FEED_H
#define FEED_H

#include "analyze/engine/context.h"

enum { FEED_LISTENERS_MAX = 2 };

struct feed_listener {
	uint32_t kinds;			/* of events: 1u << EVENT_x */
	const uint32_t *columns;	/* as event_cursor_open_columns() has them; NULL: all */
	uint64_t from_ns;		/* nothing before this instant is wanted */
	void *ctx;
	/* Each returns 0 or -errno, which ends feed_run(). NULL: not wanted. */
	int (*event)(void *ctx, const struct event *ev);
	int (*edge)(void *ctx, size_t block, bool is_end);
	int (*reset)(void *ctx, const struct trace_mm_reset *t);
};

struct feed_range {
	uint64_t from_ns, to_ns;	/* of events */
	size_t first_block;		/* edges begin with this block's beginning */
};

struct feed;

int feed_open(struct feed **ret, struct analysis *a, const struct feed_range *r,
	      const struct feed_listener *listeners, unsigned int cnt, struct err *e);
void feed_close(struct feed *f);

/*
 * Hands out all events and resets before to_ns, and all edges at or before to_ns, but at most max
 * of them all. 1: there are more; 0: all of them were handed out; -errno.
 */
int feed_run(struct feed *f, uint64_t to_ns, size_t max, struct err *e);

/* True when no event is left in the range. Valid after feed_run() has returned 0. */
bool feed_is_over(const struct feed *f);

#endif /* FEED_H */
