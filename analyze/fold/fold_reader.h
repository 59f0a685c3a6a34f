/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * fold_reader: the machines of one or more folds, fed with a trace's events from where they have to
 * begin.
 *
 *     event cursor, block edges, exec and exit, index --[fold_reader: machines]--> what they find
 *
 * At one instant edges come first (the end of a block before the beginning of the next one), then
 * events, then the resets of processes' memory (exec and exit). Every event is decoded once,
 * however many machines there are. One machine gets many events before the next one gets them, so
 * no sink may see two machines. Only this file opens event cursors for folds and views.
 *
 * With an index a machine begins at the interval that holds the instant asked for, with the state
 * that is stored there, and takes over the next interval's state at each edge. Without, it begins
 * at the trace's start. A machine may find something that lies before that instant. Threads: one.
 */
#pragma once

#include "analyze/fold/fold.h"

enum { FOLD_USES_MAX = 3 };

struct fold_use {
	const struct fold_def *def;
	struct fold_sink sink;
	/*
	 * A machine that stands at from_ns, and goes on, if there is one: it is the reader's then.
	 */
	struct fold_machine **kept;
};

enum fold_reader_start {
	FOLD_READER_AT,		/* where the machine has to begin for from_ns */
	FOLD_READER_TRACE,	/* at the trace's start */
	FOLD_READER_TAIL,	/* at from_ns, with the index's tails */
	/* at from_ns, where an interval begins, as if the recording had begun there */
	FOLD_READER_NEW,
};

struct fold_range {
	uint64_t from_ns, to_ns;
	const struct index *index;	/* NULL: none */
	enum fold_reader_start start;
	const struct checkpoint *checkpoint;	/* the state at from_ns; NULL: none */
};

struct fold_reader;

/* -EBADMSG: the index is damaged, here and below; index_fail() has said so. */
int fold_reader_open(struct fold_reader **ret, struct analysis *a, const struct fold_range *r,
		     const struct fold_use *uses, unsigned int cnt, struct err *e);
void fold_reader_close(struct fold_reader *r);

/*
 * Handles all before to_ns (at most the range's end), but at most max events. 1: there are more; 0;
 * -errno. *ret_decided_ns (may be NULL): all that lies before has been found; it is to_ns, or the
 * next edge of a block for folds that go by them.
 */
int fold_reader_run(struct fold_reader *r, uint64_t to_ns, size_t max, uint64_t *ret_decided_ns,
		    struct err *e);
/* Goes on behind the range's end until all that lies before to_ns has been found. */
int fold_reader_run_on(struct fold_reader *r, uint64_t to_ns, struct err *e);

/* The machine of a fold, for its own functions. */
void *fold_reader_machine(const struct fold_reader *r, unsigned int n);
/* The same; it is the caller's from now on, and the reader may only be closed. */
struct fold_machine *fold_reader_take(struct fold_reader *r, unsigned int n);
/* The first block edge that was handed out. */
uint64_t fold_reader_begin_ns(const struct fold_reader *r);
