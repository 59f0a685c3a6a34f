/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * index_job: makes the parts of an index that come from folds with the same events.
 *
 *     [index: threads] --job--> events of some kinds --> parts of intervals [from, end)
 *
 * Jobs share only the trace, and run in parallel. Private to index*.c. Threads: a job belongs to
 * one.
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
	JOB_RATES,
	JOB_CARRIED,	/* + enum checkpoint_part, up to CHECKPOINT_IRQ */
	JOB_CNT = JOB_CARRIED + 3,
};

struct index {
	struct analysis *a;
	struct derived_file *d;
	/* number of the trace's blocks; intervals are numbered like blocks */
	size_t interval_cnt;
	/* the intervals for which parts are made are [begin, end) */
	size_t begin, end;
	struct analysis_follow *follow;	/* NULL: the index is the trace's own */
	uint64_t key_base;	/* the key of the parts of interval 0 */
	/* number of intervals, from begin on, with parts of the job */
	size_t made_cnt[JOB_CNT];
	uint32_t has_tail;	/* 1u << job: its tail is stored, so it can continue */
	uint64_t *from_ns;	/* of the intervals */
	size_t damage_cnt;	/* of the trace, when the parts were made or opened */
	bool damaged;
	bool in_use;		/* answers use it */
	bool failed;		/* making parts failed: no further parts are made */
	/*
	 * An index that follows keeps the machines whose state is too large to be stored at each
	 * end, by job. They were made for this many threads and processes, with these last ids.
	 */
	struct fold_machine *kept[JOB_CNT];
	size_t thread_cnt, process_cnt;
	uint32_t last_utid, last_upid;
	/* no longer valid, but in use: this index frees it at its own end */
	struct index *before;
};

/* Reads where the intervals begin, and which of them can have parts. 0 or -ENOMEM. */
int index_place(struct index *x);

/* Reads a part by its type in the derived file. */
int index_read_part(const struct index *x, unsigned int type, uint64_t key, struct buf *mem,
		    struct packed_in *ret);

struct index_job {
	struct analysis *a;
	struct index *x;
	struct zpack *z;
	unsigned int number;
	unsigned int part;	/* enum checkpoint_part of its checkpoints, if it makes any */
	size_t from, end;	/* intervals to make */
	enum fold_reader_start start;
	/* the tail is the state at this interval's beginning; at the trace's end: no tail */
	size_t last;
	uint32_t kinds;		/* kinds of events that it reads */
	_Atomic uint64_t done_events;	/* for progress: events of finished intervals */
	_Atomic bool *stop;	/* set if any job failed */
	struct err *e;
};

/* Sums up a fold's findings in an interval, and stores them, instead of the fold's own sums. */
struct index_keeper {
	struct fold_sink sink;	/* its ctx is also passed to the functions */
	/* The interval begins. May be NULL. 0 or -errno, here and below. */
	int (*begin)(void *ctx, size_t interval);
	/* Writes what precedes the machine's state in the tail. */
	void (*put_tail)(void *ctx, struct buf *out);
	/* The interval has ended. */
	int (*put)(void *ctx, size_t interval);
};

/*
 * Makes the index parts of one or more folds, in one pass over the events they need. keeper is for
 * a single fold; NULL: the folds' own sums are stored.
 */
int index_fold_job(struct index_job *j, const struct fold_def *const *defs, unsigned int cnt,
		   const struct index_keeper *keeper);
int index_memory_job(struct index_job *j, enum index_group group);
