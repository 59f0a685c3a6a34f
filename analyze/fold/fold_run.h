/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * fold_run: the one way through a window.
 *
 *     window, index --[fold_run]--> merge(interval), or: fold_reader --> what the machine finds
 *
 * Whole intervals of the index that lie in one bin of the window are merged from what is stored.
 * The others are decoded: those at the window's edges, those with an edge of a bin in them, those
 * that merge() cannot do, and all of them when the window has so few events that order statistics
 * may as well be exact. Neighbouring intervals that have to be decoded are one stretch. Without an
 * index the whole window is one. Threads: one.
 */
#pragma once

#include "analyze/fold/fold_reader.h"
#include "analyze/context/window.h"

struct fold_run_config {
	const struct fold_def *def;
	const struct window *window;
	/*
	 * Either a target: its sums get what is stored and what is found, and its from_ns and
	 * to_ns are set to the stretch that is decoded.
	 */
	const struct fold_sums_def *sums;
	struct fold_target *target;
	/*
	 * Or functions of one's own. merge() adds an interval: 1; it has to be decoded: 0; or
	 * -errno. NULL: everything is decoded.
	 */
	struct fold_sink sink;
	int (*merge)(void *ctx, const struct index *x, size_t interval, struct err *e);
	void *ctx;
};

struct fold_run {
	struct analysis *a;
	struct fold_run_config c;
	const struct index *index;	/* NULL: none */
	/* of the stretch [.., stretch_to_ns); NULL: none is decoded */
	struct fold_reader *reader;
	uint64_t at_ns, stretch_to_ns;
	uint64_t decided_ns;		/* of what reader was fed with */
	bool before;	/* what is found now lies before the window and only makes state */
	bool decode_all;
	struct buf mem;
	void *ignored;			/* a sum for keys that are not wanted */
};

/* Begins at the window's beginning. The window is not empty. fold_run_done() in any case. */
int fold_run_begin(struct fold_run *r, struct analysis *a, const struct fold_run_config *c,
		   struct err *e);
void fold_run_done(struct fold_run *r);
/*
 * Makes the state at the window's beginning now, which the first fold_run_to() would do: what the
 * machine finds before the window is given out, with r->before set. 0 or -errno.
 */
int fold_run_enter(struct fold_run *r, struct err *e);

/*
 * Everything up to to_ns, which is the end of a bin of the window, the next one at a time.
 * *ret_decided_ns: all that lies before has been given out; it is to_ns or later.
 */
int fold_run_to(struct fold_run *r, uint64_t to_ns, uint64_t *ret_decided_ns, struct err *e);
