/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * walk: goes through a window, taking whole cells of the index for what they add up to and decoding
 * only the others.
 *
 *     [from, to) --[walk]--> merge(cell), or: open(cell) run(to) close
 *
 * Without an index it opens once, at the trace's start, and runs from there. What a machine hands
 * out before the window's beginning is to be ignored: walk.before says so. Threads: one.
 */
#ifndef WALK_H
#define WALK_H

#include "analyze/context.h"
#include "analyze/index.h"

#define WALK_START SIZE_MAX	/* in place of a cell: the trace's start */

struct walk_ops {
	/* Adds a cell's sums. 1: done; 0: it has to be decoded; or -errno. */
	int (*merge)(void *ctx, size_t cell, struct err *e);
	/* Starts a machine with its state at the cell's beginning. */
	int (*open)(void *ctx, size_t cell, struct err *e);
	/* Handles all before to_ns. The last call of a cell or of the trace may go to its end. */
	int (*run)(void *ctx, uint64_t to_ns, struct err *e);
	void (*close)(void *ctx);
};

struct walk {
	struct analysis *a;
	const struct index *index;	/* NULL: none */
	const struct walk_ops *ops;
	void *ctx;
	uint32_t decode_kinds;	/* decode all of it when the window has few events of these; 0: never */
	size_t cell;
	uint64_t at_ns;
	bool is_open, before, decode;
};

/*
 * Sets out at from_ns, with as much of an index as there is. All of w but the fields named here
 * is the walk's: decode_kinds may be set before.
 */
int walk_begin(struct walk *w, struct analysis *a, const struct walk_ops *ops, void *ctx,
	       uint64_t from_ns, uint64_t to_ns, struct err *e);
/* Everything from where the last call ended to to_ns. */
int walk_to(struct walk *w, uint64_t to_ns, struct err *e);
void walk_end(struct walk *w);

#endif /* WALK_H */
