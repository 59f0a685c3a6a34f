/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * fold_reader: feeds the machines of one or more folds with a trace's events, from the time at
 * which they have to begin.
 *
 *     event cursor, block edges, exec and exit, index --[fold_reader: machines]--> findings
 *
 * At one instant edges come first (the end of a block before the beginning of the next one), then
 * events, then the resets of processes' memory (exec and exit). Every event is decoded only once
 * for all machines. One machine gets many events before the next one gets them, so no sink may
 * serve two machines. Only this file opens event cursors for folds and views.
 *
 * With an index a machine begins at the interval that holds the requested time, with the state
 * stored there, and loads the next interval's state at each edge. Without, it begins at the trace's
 * start. A machine may report findings before the requested time. Threads: one.
 */
#pragma once

#include "analyze/fold/fold.h"

enum { FOLD_USES_MAX = 3 };

struct fold_use {
	const struct fold_def *def;
	struct fold_sink sink;
	/* A machine that is at from_ns and continues, or NULL in it; the reader takes it over. */
	struct fold_machine **kept;
};

enum fold_reader_start {
	FOLD_READER_AT,		/* where the machine has to begin to be correct at from_ns */
	FOLD_READER_TRACE,	/* at the trace's start */
	FOLD_READER_TAIL,	/* at from_ns, with the index's tails */
	/* at from_ns, the beginning of an interval, as if the recording had begun there */
	FOLD_READER_NEW,
};

struct fold_range {
	uint64_t from_ns, to_ns;
	const struct index *index;	/* NULL: none */
	enum fold_reader_start start;
	const struct checkpoint *checkpoint;	/* the state at from_ns; NULL: none */
};

struct fold_reader;

/* -EBADMSG, here and below: the index is damaged; index_fail() has reported it. */
int fold_reader_open(struct fold_reader **ret, struct analysis *a, const struct fold_range *r,
		     const struct fold_use *uses, unsigned int cnt, struct err *e);
void fold_reader_close(struct fold_reader *r);

/*
 * Processes events before to_ns (at most the range's end), but at most max of them. 1: some are
 * left; 0; -errno. *ret_decided_ns (may be NULL): all findings before this time have been reported.
 * It is to_ns, or the next edge of a block for folds that start at edges.
 */
int fold_reader_run(struct fold_reader *r, uint64_t to_ns, size_t max, uint64_t *ret_decided_ns,
		    struct err *e);
/* Continues after the range's end until all findings before to_ns have been reported. */
int fold_reader_run_on(struct fold_reader *r, uint64_t to_ns, struct err *e);

/* Returns a fold's machine, for its own functions. */
void *fold_reader_machine(const struct fold_reader *r, unsigned int n);
/* The same; the caller takes it over, and the reader may only be closed. */
struct fold_machine *fold_reader_take(struct fold_reader *r, unsigned int n);
/* Returns the first block edge that was passed on. */
uint64_t fold_reader_begin_ns(const struct fold_reader *r);
