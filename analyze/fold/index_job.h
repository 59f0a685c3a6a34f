/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * index_job: makes the parts of an index that come from folds which read the same events.
 *
 *     [index: threads] --job--> events of some kinds --> parts of intervals [from, end)
 *
 * Jobs share only the trace, and run in parallel. Private to index*.c. Threads: a job belongs to
 * one thread.
 */
#pragma once

#include <stdatomic.h>

#include "analyze/context/context.h"
#include "analyze/fold/fold_reader.h"
#include "analyze/fold/index.h"

struct derived_file;
struct fold_machine;
struct zpack;

/* The values are stored in files. */
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
	/* parts are made for the intervals [begin, end) */
	size_t begin, end;
	/* NULL: the index belongs to the trace itself, not to a viewer that follows it */
	struct analysis_follow *follow;
	uint64_t key_base;	/* key of the parts of interval 0 */
	/* by job: the intervals [begin, made_cnt[job]) have the job's parts */
	size_t made_cnt[JOB_CNT];
	uint32_t has_tail;	/* 1u << job: its tail is stored, so the job can continue */
	uint64_t *from_ns;	/* beginning of each interval */
	/* number of the trace's damages when the parts were made or opened */
	size_t damage_cnt;
	bool damaged;
	bool in_use;		/* results depend on this index */
	bool failed;		/* making parts failed: do not try again */
	/*
	 * A following index keeps machines, by job, whose state is too large to be stored each
	 * time. The following members are the counts and last ids of threads and processes for
	 * which the machines were made.
	 */
	struct fold_machine *kept[JOB_CNT];
	size_t thread_cnt, process_cnt;
	uint32_t last_utid, last_upid;
	/* an index that is invalid but still in use; freed together with this index */
	struct index *before;
};

/* Reads where the intervals begin, and how many can have parts. 0 or -ENOMEM. */
int index_place(struct index *x);

/* Reads a part, by its type in the derived file. */
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
	/* the tail is the state at this interval's beginning; not saved at the trace's end */
	size_t last;
	bool is_joined;		/* JOB_STATES, with the parts of JOB_SCHED, too */
	uint32_t kinds;		/* kinds of events that the job reads */
	_Atomic uint64_t done_events;	/* progress: number of events in finished intervals */
	_Atomic bool *stop;	/* set if any job failed */
	struct err *e;
};

/* Replaces the fold's own sums: sums up the findings of an interval, and stores the result. */
struct index_keeper {
	struct fold_sink sink;	/* its ctx is also passed to the functions below */
	/* Called when the interval begins. May be NULL. Here and below: 0 or -errno. */
	int (*begin)(void *ctx, size_t interval);
	/* Writes the first part of the tail, which precedes the machine's state. */
	void (*put_tail)(void *ctx, struct buf *out);
	/* Called when the interval has ended. */
	int (*put)(void *ctx, size_t interval);
};

/*
 * Makes the index parts of one or more folds, in one pass over the events they need. keeper
 * requires a single fold; NULL: the folds' own sums are stored.
 */
int index_fold_job(struct index_job *j, const struct fold_def *const *defs, unsigned int cnt,
		   const struct index_keeper *keeper);
int index_memory_job(struct index_job *j, enum index_group group);
/* Reports that an interval is complete. 0, or -ECANCELED if the job must end. */
int index_job_did(struct index_job *j, size_t interval);
