/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * fold: one kind of result that is computed from events: CPU time, waits, requests, interrupts,
 * memory.
 *
 *     events --[machine]--> findings (a wait, a request) --[add]--> sums --[merge]--> sums
 *
 * A fold has a machine, which is a state machine of src/model with a trace's ids, and it may have
 * sums. The builder of the index runs the machine over the whole trace, and stores the sums of
 * every interval and the machine's state at the interval's beginning. For a window, the stored sums
 * of the intervals inside it are merged, and the others are decoded from the stored states
 * (fold_run.h). Both run the same machine and the same add(), so their answers are equal.
 *
 * Errors: 0 or -errno. Threads: a machine belongs to one.
 */
#pragma once

#include "analyze/context/context.h"
#include "analyze/fold/index.h"
#include "edit/checkpoint.h"

/*
 * Receives the findings of a machine; the type behind `found` depends on the fold. 0 or -errno.
 * found() may be NULL.
 */
struct fold_sink {
	void *ctx;
	int (*found)(void *ctx, const void *found);
};

/* Where a machine has to begin so that its state at an instant is complete. */
enum fold_begin {
	FOLD_FROM_STATE,	/* at a stored state, or at the trace's start */
	FOLD_FROM_EDGE,		/* at a block with a complete keyframe */
	FOLD_FROM_ANYWHERE,	/* it has no state */
};

/* First member of every machine. */
struct fold_machine {
	struct analysis *a;
	const struct fold_def *def;
	struct fold_sink sink;
};

/* NULL is fine. */
void fold_machine_free(struct fold_machine *m);

static inline int fold_found(const struct fold_machine *m, const void *found)
{
	return m->sink.found ? m->sink.found(m->sink.ctx, found) : 0;
}

/* The parts of a machine's state in the index. Failures of memory stay in out. */
struct fold_state_def {
	unsigned int part, tail;	/* enum index_part, enum index_tail */
	/*
	 * An interval begins: from now on, collect the earlier state that its events need. NULL:
	 * save() at the interval's beginning suffices, and the machine needs no other state to
	 * continue.
	 */
	void (*begin_interval)(void *m, uint64_t from_ns);
	void (*put_interval)(void *m, struct buf *out);
	/* Saves the whole state at at_ns. */
	void (*save)(void *m, uint64_t at_ns, struct buf *out);
	/*
	 * Loads what put_interval() or (is_tail) save() wrote, and continues from there. Or
	 * -EBADMSG.
	 */
	int (*load)(void *m, uint64_t at_ns, struct packed_in *in, bool is_tail);
};

/* The key of a sum, in dense ids; the fold defines the meaning of the two numbers. */
struct fold_key {
	uint64_t a, b;
};

/*
 * In the index sums are kept per name: a part of the key counts how often the key's tasks were
 * renamed since the interval's beginning. For keys of threads, whose a is a dense thread, it is the
 * upper half of a. The largest count stands for all counts from there on.
 */
#define FOLD_KEY_RENAMES 32
struct fold_renames_def {
	bool is_in_b;
	uint8_t at, bits;	/* of the part */
	/* Returns the tasks of a key. */
	struct task_set (*tasks)(const struct dense_ids *d, const struct fold_key *key);
};
extern const struct fold_renames_def fold_thread_renames;

/* The owner of sums: the builder of the index, or a view. */
struct fold_target {
	const struct dense_ids *ids;
	uint64_t from_ns, to_ns;	/* findings outside are ignored */
	bool by_name;		/* sums depend on the names of tasks at the time of a finding */
	/*
	 * Finds the sum of a key at a time. 1: *ret_sum; 0: not wanted; -errno. The answer is the
	 * same for all times before *ret_end_ns.
	 */
	int (*sum)(struct fold_target *t, uint64_t ts_ns, const struct fold_key *key,
		   void **ret_sum, uint64_t *ret_end_ns);
};

/*
 * Sums of a machine's findings. Each sum is a struct that folds.h or a view defines: first
 * quantiles, then counts (uint64_t), then other members.
 */
struct fold_sums_def {
	size_t bytes;
	unsigned int quantile_cnt;
	/* A fold_sink's found(); ctx is a struct fold_target. */
	int (*add)(void *ctx, const void *found);

	/* In the index a row is a key, count_cnt counts and the quantiles. */
	unsigned int count_cnt;		/* 0: the index does not keep these sums */
	void (*put_key)(const struct dense_ids *d, const struct fold_key *key, struct buf *out);
	void (*get_key)(const struct dense_ids *d, struct packed_in *in, struct fold_key *ret);
	/* Called after counts were added to the sum. May be NULL. */
	void (*merged)(void *sum, const uint64_t *counts);
	unsigned int part;		/* enum index_part */
	const struct fold_renames_def *renames;	/* NULL: the index does not keep these sums */
	bool totals_only;	/* the greatest value is the only order statistic needed */
	bool is_exact_decoded;	/* order statistics are exact only if all events are decoded */
};

struct fold_def {
	uint32_t kinds;			/* of events: 1u << EVENT_x */
	/* kinds for index_need(); 0: same as kinds */
	uint32_t asks;
	const uint32_t *columns;	/* by kind; NULL: all */
	enum fold_begin begin;
	const struct fold_state_def *state;	/* NULL: not in the index */
	unsigned int group;		/* enum index_group: added to its part and tail */
	const struct fold_sums_def *sums;	/* NULL: not in the index */
	uint32_t arg;			/* for folds that share functions */

	size_t bytes;			/* of the machine */
	/* The machine is zeroed except for struct fold_machine. NULL, here and below: no action. */
	int (*open)(void *m);
	void (*close)(void *m);		/* also after open() has failed */
	/*
	 * Starts the machine at the beginning of block. A fold with a state that starts at edges
	 * then loads the state of block, unless block is 0; another fold loads nothing. May be
	 * NULL.
	 */
	int (*start)(void *m, uint64_t from_ns, size_t block, struct err *e);
	int (*event)(void *m, const struct event *ev);
	/* Replaces event(): cnt events in a row. */
	int (*events)(void *m, const struct event *ev, size_t cnt);
	int (*edge)(void *m, size_t block, bool is_end);		/* NULL: not needed */
	int (*reset)(void *m, const struct trace_mm_reset *t);	/* NULL: not needed */
	/* All events before to_ns have been passed in. May be NULL. */
	int (*until)(void *m, uint64_t to_ns);
	/*
	 * Returns the state that a trace that begins at at_ns needs (edit/checkpoint.h). The index
	 * stores it at the beginning of some intervals. May be NULL. 0 or -ENOMEM.
	 */
	int (*checkpoint)(void *m, uint64_t at_ns, struct checkpoint *ret);
	/*
	 * Replaces start(): continues from the checkpoint() of at_ns. -EBADMSG: it is another
	 * fold's.
	 */
	int (*restore)(void *m, uint64_t at_ns, const struct checkpoint *from);
	/*
	 * The trace has grown, possibly with more threads and processes; the machine continues in
	 * place. NULL: it cannot, and continues from its tail. 0 or -ENOMEM.
	 */
	int (*resume)(void *m);
	/* Called at the end of the trace. May be NULL. */
	int (*end)(void *m);
	/*
	 * Returns the time before which the machine has reported all findings. NULL: its current
	 * time.
	 */
	uint64_t (*undecided_ns)(const void *m);
};
