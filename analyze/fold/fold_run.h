/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * fold_run: the only way to evaluate a fold over a window.
 *
 *     window, index --[fold_run]--> merge(interval), or: fold_reader --> findings
 *
 * Intervals of the index that are inside one bin of the window are merged from stored sums. An
 * interval is decoded if it contains an edge of the window or of a bin, if merge() cannot handle
 * it, or if the window has so few events that exact order statistics are cheap. Adjacent intervals
 * to decode form one stretch. Without an index the whole window is one stretch. Threads: one.
 */
#pragma once

#include "analyze/fold/fold_reader.h"
#include "analyze/context/scope.h"

struct fold_run_config {
	const struct fold_def *def;
	const struct window *window;
	/*
	 * With a target: stored sums and findings are added to its sums, and its from_ns and to_ns
	 * are set to the decoded stretch.
	 */
	const struct fold_sums_def *sums;
	struct fold_target *target;
	/*
	 * Without a target: findings go to sink. merge() adds an interval and returns 1, 0 if the
	 * interval must be decoded, or -errno. merge NULL: all intervals are decoded.
	 */
	struct fold_sink sink;
	int (*merge)(void *ctx, const struct index *x, size_t interval, struct err *e);
	void *ctx;
};

struct fold_run {
	struct analysis *a;
	struct fold_run_config c;
	const struct index *index;	/* NULL: none */
	/* reader of the stretch [.., stretch_to_ns); NULL: no stretch is being decoded */
	struct fold_reader *reader;
	uint64_t at_ns, stretch_to_ns;
	uint64_t decided_ns;		/* the reader has reported all findings before this time */
	bool before;	/* current findings are before the window, and only build up state */
	bool decode_all;
	struct buf mem;
	void *ignored;			/* receives the sums of unwanted keys */
};

/*
 * Starts at the beginning of the window, which is not empty. Always call fold_run_done()
 * afterwards.
 */
int fold_run_begin(struct fold_run *r, struct analysis *a, const struct fold_run_config *c,
		   struct err *e);
void fold_run_done(struct fold_run *r);
/*
 * Builds the state at the window's beginning now instead of in the first fold_run_to(). Findings
 * before the window are reported with r->before set. 0 or -errno.
 */
int fold_run_enter(struct fold_run *r, struct err *e);

/*
 * Evaluates until to_ns, the end of a bin of the window; call once per bin. All findings before
 * *ret_decided_ns, which is at least to_ns, have been reported.
 */
int fold_run_to(struct fold_run *r, uint64_t to_ns, uint64_t *ret_decided_ns, struct err *e);
