/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * fold_run: the only way to evaluate a fold over a window.
 *
 *     window, index --[fold_run]--> merge(interval), or: fold_reader --> findings
 *
 * Whole intervals of the index inside one bin of the window are merged from stored sums. The others
 * are decoded: intervals at the window's edges, intervals with an edge of a bin inside, intervals
 * that merge() cannot handle, and all intervals if the window has so few events that exact order
 * statistics are cheap. Adjacent intervals to decode form one stretch. Without an index the whole
 * window is one stretch. Threads: one.
 */
#pragma once

#include "analyze/fold/fold_reader.h"
#include "analyze/context/scope.h"

struct fold_run_config {
	const struct fold_def *def;
	const struct window *window;
	/*
	 * Either a target: its sums get the stored sums and the findings, and its from_ns and to_ns
	 * are set to the decoded stretch.
	 */
	const struct fold_sums_def *sums;
	struct fold_target *target;
	/*
	 * Without a target: the caller's functions. merge() adds an interval and returns 1, 0 if
	 * the interval has to be decoded, or -errno. merge NULL: everything is decoded.
	 */
	struct fold_sink sink;
	int (*merge)(void *ctx, const struct index *x, size_t interval, struct err *e);
	void *ctx;
};

struct fold_run {
	struct analysis *a;
	struct fold_run_config c;
	const struct index *index;	/* NULL: none */
	/* of the stretch [.., stretch_to_ns); NULL: no stretch is being decoded */
	struct fold_reader *reader;
	uint64_t at_ns, stretch_to_ns;
	uint64_t decided_ns;		/* the reader's findings before this are complete */
	bool before;	/* current findings are before the window, and only build up state */
	bool decode_all;
	struct buf mem;
	void *ignored;			/* a sum for keys that are not wanted */
};

/* Starts at the window's beginning. The window is not empty. Call fold_run_done() in any case. */
int fold_run_begin(struct fold_run *r, struct analysis *a, const struct fold_run_config *c,
		   struct err *e);
void fold_run_done(struct fold_run *r);
/*
 * Builds the state at the window's beginning now, which the first fold_run_to() would do: findings
 * before the window are reported with r->before set. 0 or -errno.
 */
int fold_run_enter(struct fold_run *r, struct err *e);

/*
 * Evaluates until to_ns, the end of a bin of the window; one bin per call. *ret_decided_ns: all
 * findings before this have been reported; it is to_ns or later.
 */
int fold_run_to(struct fold_run *r, uint64_t to_ns, uint64_t *ret_decided_ns, struct err *e);
