/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * index_job: makes the parts of an index that come from folds with the same events.
 *
 *     [index: threads] --job--> events of some kinds --> parts of intervals [from, end)
 *
 * Jobs have nothing in common but the trace, and run side by side. Private to index*.c. Threads: a
 * job belongs to one.
 */
#pragma once

#include <stdatomic.h>

#include "analyze/context/context.h"
#include "analyze/fold/fold_reader.h"
#include "analyze/fold/index.h"

struct derived_file;
struct fold_machine;
struct zpack;

/* The values are in files. */
enum {
	JOB_SCHED, JOB_REQUESTS, JOB_IRQ, JOB_MEMORY, JOB_STATES = JOB_MEMORY + INDEX_GROUP_CNT,
	JOB_RATES, JOB_CNT
};

struct index {
	struct analysis *a;
	struct derived_file *d;
	size_t interval_cnt;	/* as many as the trace has blocks; their numbers are those */
	/* parts are made of the intervals [begin, end) */
	size_t begin, end;
	struct analysis_follow *follow;	/* NULL: the index is the trace's own */
	uint64_t key_base;	/* the key of the parts of interval 0 */
	/* the first of these, from begin on, have the parts of the job */
	size_t made_cnt[JOB_CNT];
	uint32_t has_tail;	/* 1u << job: it can go on from there */
	uint64_t *from_ns;	/* of the intervals */
	size_t damage_cnt;	/* of the trace, when the parts were made or opened */
	bool damaged;
	bool in_use;		/* answers come from it */
	bool failed;		/* parts could not be made: no more are */
	/*
	 * An index that follows keeps the machines whose state is too large to be stored at each
	 * end, by job. They know so many threads and processes, and the last rows of both.
	 */
	struct fold_machine *kept[JOB_CNT];
	size_t thread_cnt, process_cnt;
	uint32_t last_utid, last_upid;
	struct index *before;	/* no longer true, but in use: this one frees it at its end */
};

/* Reads where the intervals begin, and of which of them parts can be made. 0 or -ENOMEM. */
int index_place(struct index *x);
/* Takes over what was kept at the end of the analysis before, or begins anew. 0 or -ENOMEM. */
int index_follow_open(struct index *x);
/* Keeps what the next analysis goes on from. */
void index_follow_close(struct index *x);

/* A part by its type in the derived file. */
int index_read_part(const struct index *x, unsigned int type, uint64_t key, struct buf *mem,
		    struct packed_in *ret);

struct index_job {
	struct analysis *a;
	struct index *x;
	struct zpack *z;
	unsigned int number;	/* and enum checkpoint_part */
	size_t from, end;	/* intervals to make */
	enum fold_reader_start start;
	/* the tail is the state at this interval's beginning; the trace's end: there is none */
	size_t last;
	uint32_t kinds;		/* of events it reads */
	_Atomic uint64_t done_events;	/* for progress: of the intervals that are done */
	_Atomic bool *stop;	/* somebody failed */
	struct err *e;
};

/* Adds up what a fold finds in an interval, and stores it, in place of the fold's own sums. */
struct index_keeper {
	struct fold_sink sink;	/* its ctx is that of the functions, too */
	/* The interval begins. May be NULL. 0 or -errno, here and below. */
	int (*begin)(void *ctx, size_t interval);
	/* Goes before the machine's state in the tail. */
	void (*put_tail)(void *ctx, struct buf *out);
	/* The interval is over. */
	int (*put)(void *ctx, size_t interval);
};

/*
 * Makes what one or more folds keep in the index, in one pass over the events they need. keeper is
 * that of the only fold; NULL: the folds' own sums are kept.
 */
int index_fold_job(struct index_job *j, const struct fold_def *const *defs, unsigned int cnt,
		   const struct index_keeper *keeper);
int index_memory_job(struct index_job *j, enum index_group group);
