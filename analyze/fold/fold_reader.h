/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * fold_reader: feeds a trace's events to the machines of one or more folds, each from the time at
 * which it must begin.
 *
 *     event cursor, block edges, exec and exit, index --[fold_reader: machines]--> findings
 *
 * At equal times edges come first (a block's end before the next block's beginning), then events,
 * then the resets of processes' memory (exec and exit). Every event is decoded only once for all
 * machines. Events are passed on in batches, one machine after the other, so two machines must not
 * share a sink. Only this file opens event cursors for folds and views.
 *
 * With an index a machine begins at the interval that contains the requested time, with the stored
 * state, and loads the next interval's state at each edge. Without an index it begins at the
 * trace's start. A machine may report findings before the requested time. Threads: one.
 */
#pragma once

#include "analyze/fold/fold.h"

enum { FOLD_USES_MAX = 3 };

struct fold_use {
	const struct fold_def *def;
	struct fold_sink sink;
	/*
	 * *kept is a machine that continues at from_ns, and that the reader then owns. If kept or
	 * *kept is NULL, the reader starts a new machine.
	 */
	struct fold_machine **kept;
};

enum fold_reader_start {
	FOLD_READER_AT,		/* early enough to be correct at from_ns */
	FOLD_READER_TRACE,	/* at the trace's start */
	FOLD_READER_TAIL,	/* at from_ns, from the index's tails */
	/* at from_ns, an interval's beginning, as if the recording had begun there */
	FOLD_READER_NEW,
};

struct fold_range {
	uint64_t from_ns, to_ns;
	const struct index *index;	/* NULL: none */
	enum fold_reader_start start;
	const struct checkpoint *checkpoint;	/* the state at from_ns; NULL: none */
};

struct fold_reader;

/* Here and below, -EBADMSG: the index is damaged; index_fail() has reported it. */
int fold_reader_open(struct fold_reader **ret, struct analysis *a, const struct fold_range *r,
		     const struct fold_use *uses, unsigned int cnt, struct err *e);
void fold_reader_close(struct fold_reader *r);

/*
 * Processes at most max entries before to_ns, which is at most the range's end. 1: entries are
 * left; 0: done; -errno. *ret_decided_ns (may be NULL) is the time before which all findings have
 * been reported: to_ns or, for folds that start at edges, the next edge of a block.
 */
int fold_reader_run(struct fold_reader *r, uint64_t to_ns, size_t max, uint64_t *ret_decided_ns,
		    struct err *e);
/* Continues after the range's end until all findings before to_ns have been reported. */
int fold_reader_run_on(struct fold_reader *r, uint64_t to_ns, struct err *e);

/* Returns the machine of the n-th fold, for use with the fold's own functions. */
void *fold_reader_machine(const struct fold_reader *r, unsigned int n);
/*
 * As fold_reader_machine(), but the caller becomes the owner; the reader may then only be closed.
 */
struct fold_machine *fold_reader_take(struct fold_reader *r, unsigned int n);
/* Returns the first block edge that was passed on. */
uint64_t fold_reader_begin_ns(const struct fold_reader *r);
