/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * fold: one kind of result that is computed from events: CPU time, waits, requests, interrupts,
 * memory.
 *
 *     events --[machine]--> findings (a wait, a request) --[add]--> sums --[merge]--> sums
 *
 * A fold consists of a machine, which is a state machine of src/model that uses the trace's ids,
 * and optionally of sums. To build the index, the machine runs over the whole trace; the sums of
 * every interval are stored together with the machine's state at the interval's beginning. To
 * evaluate a window, the stored sums of the intervals inside it are merged, and the other intervals
 * are decoded from their stored states (fold_run.h). Both paths use the same machine and the same
 * add(), so their results are equal.
 *
 * Errors: 0 or -errno. Threads: a machine belongs to one thread.
 */
#pragma once

#include "analyze/context/context.h"
#include "analyze/fold/index.h"
#include "edit/checkpoint.h"

/*
 * Receives the findings of a machine; the fold defines the type of `found`. found() returns 0 or
 * -errno, and may be NULL.
 */
struct fold_sink {
	void *ctx;
	int (*found)(void *ctx, const void *found);
};

/* The place from which a machine must read to have a complete state at a given time. */
enum fold_begin {
	FOLD_FROM_STATE,	/* a stored state, or the trace's start */
	FOLD_FROM_EDGE,		/* a block with a complete keyframe */
	FOLD_FROM_ANYWHERE,	/* any place: the machine has no state */
};

/* First member of every machine. */
struct fold_machine {
	struct analysis *a;
	const struct fold_def *def;
	struct fold_sink sink;
};

/* m may be NULL. */
void fold_machine_free(struct fold_machine *m);

static inline int fold_found(const struct fold_machine *m, const void *found)
{
	return m->sink.found ? m->sink.found(m->sink.ctx, found) : 0;
}

/* Saves and loads a machine's state in the index. Memory errors are recorded in out. */
struct fold_state_def {
	unsigned int part, tail;	/* enum index_part, enum index_tail */
	/*
	 * Begins an interval: from now on the machine collects the earlier state that the
	 * interval's events need. NULL: the state that save() writes at the beginning is enough for
	 * the interval and for continuing after it.
	 */
	void (*begin_interval)(void *m, uint64_t from_ns);
	void (*put_interval)(void *m, struct buf *out);
	/* Saves the whole state at at_ns. */
	void (*save)(void *m, uint64_t at_ns, struct buf *out);
	/*
	 * Loads a state and continues from it. is_tail: save() wrote the state; otherwise
	 * put_interval() did, or save() if there is no begin_interval(). 0, -ENOMEM or -EBADMSG.
	 */
	int (*load)(void *m, uint64_t at_ns, struct packed_in *in, bool is_tail);
};

/* Key of a sum, in dense ids; each fold defines the meaning of the two numbers. */
struct fold_key {
	uint64_t a, b;
};

/*
 * The index keeps sums per name: a field of the key counts how often the key's tasks were renamed
 * since the interval's beginning. A count that exceeds the field is stored as the field's maximum.
 * In keys of threads, whose `a` is a dense thread, the field is the upper half of `a`.
 */
#define FOLD_KEY_RENAMES 32
struct fold_renames_def {
	bool is_in_b;
	uint8_t at, bits;	/* position and width of the field */
	/* Sets *ret to the tasks of a key. (A set returned by value would be slow to read.) */
	void (*tasks)(const struct dense_ids *d, const struct fold_key *key, struct task_set *ret);
};
extern const struct fold_renames_def fold_thread_renames;

/* Owner of sums: the index builder or a view. */
struct fold_target {
	const struct dense_ids *ids;
	uint64_t from_ns, to_ns;	/* findings outside this range are ignored */
	bool by_name;		/* sums depend on the tasks' names at the time of a finding */
	/*
	 * Finds the sum of a key at ts_ns. 1: *ret_sum is the sum; 0: the key is not wanted;
	 * -errno. The result is valid for all times before *ret_end_ns.
	 */
	int (*sum)(struct fold_target *t, uint64_t ts_ns, const struct fold_key *key,
		   void **ret_sum, uint64_t *ret_end_ns);
};

/*
 * Sums of a machine's findings. Each sum is a struct, defined by folds.h or a view: quantiles
 * first, then counts (uint64_t), then other members.
 */
struct fold_sums_def {
	size_t bytes;
	unsigned int quantile_cnt;
	/* Adds a finding. Implements fold_sink.found(); ctx is a struct fold_target. */
	int (*add)(void *ctx, const void *found);

	/* An index row consists of a key, count_cnt counts and the quantiles. */
	unsigned int count_cnt;		/* 0: the index does not keep these sums */
	void (*put_key)(const struct dense_ids *d, const struct fold_key *key, struct buf *out);
	void (*get_key)(const struct dense_ids *d, struct packed_in *in, struct fold_key *ret);
	/* Called after counts have been added to a sum. May be NULL. */
	void (*merged)(void *sum, const uint64_t *counts);
	unsigned int part;		/* enum index_part */
	const struct fold_renames_def *renames;	/* NULL: the index does not keep these sums */
	bool totals_only;	/* only the maximum is needed, no other order statistic */
	bool is_exact_decoded;	/* order statistics are exact only if all events are decoded */
};

struct fold_def {
	uint32_t kinds;			/* kinds of events to read: 1u << EVENT_x */
	/* kinds for index_need(); 0: same as kinds */
	uint32_t asks;
	const uint32_t *columns;	/* columns to decode, by kind; NULL: all */
	enum fold_begin begin;
	const struct fold_state_def *state;	/* NULL: not in the index */
	/* enum index_group: added to the numbers of the part and the tail */
	unsigned int group;
	const struct fold_sums_def *sums;	/* NULL: not in the index */
	uint32_t arg;			/* parameter of functions that several folds share */

	size_t bytes;			/* size of the machine */
	/*
	 * Called with a machine that is zeroed except for struct fold_machine. Here and below,
	 * NULL: no action.
	 */
	int (*open)(void *m);
	void (*close)(void *m);		/* also called after open() failed */
	/*
	 * Starts the machine at the beginning of block. If the fold starts at edges, has a state,
	 * and block is not 0, the block's state is loaded next; otherwise none is loaded. May be
	 * NULL.
	 */
	int (*start)(void *m, uint64_t from_ns, size_t block, struct err *e);
	int (*event)(void *m, const struct event *ev);
	/* Replaces event(): passes cnt consecutive events. */
	int (*events)(void *m, const struct event *ev, size_t cnt);
	/* at a block's start and end; may be NULL */
	int (*edge)(void *m, size_t block, bool is_end);
	/* at an exec or exit; may be NULL */
	int (*reset)(void *m, const struct trace_mm_reset *t);
	/* Called when all events before to_ns have been passed in. May be NULL. */
	int (*until)(void *m, uint64_t to_ns);
	/*
	 * Returns the state needed by a trace that begins at at_ns (edit/checkpoint.h). The index
	 * stores this state for some intervals. May be NULL. 0 or -ENOMEM.
	 */
	int (*checkpoint)(void *m, uint64_t at_ns, struct checkpoint *ret);
	/*
	 * Replaces start(): continues from the checkpoint() of at_ns. -EBADMSG: the checkpoint
	 * belongs to another fold.
	 */
	int (*restore)(void *m, uint64_t at_ns, const struct checkpoint *from);
	/*
	 * Adapts the machine after the trace has grown, possibly with more threads and processes.
	 * NULL: the machine cannot continue in place; a new machine loads the saved state instead.
	 * 0 or -ENOMEM.
	 */
	int (*resume)(void *m);
	/* Called at the end of the trace. May be NULL. */
	int (*end)(void *m);
	/*
	 * Returns the time before which all findings have been reported. NULL: the time up to which
	 * events have been passed in.
	 */
	uint64_t (*undecided_ns)(const void *m);
};
