/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * fold: one kind of answer that grows from events: CPU time, waits, requests, interrupts, memory.
 *
 *     events --[machine]--> what it found (a wait, a request) --[add]--> sums --[merge]--> sums
 *
 * A fold has a machine, which is a state machine of src/model with a trace's ids, and it may have
 * sums. The builder of the index runs the machine over the whole trace, and stores the sums of
 * every interval and the machine's state at the interval's beginning. A window takes the stored
 * sums of the intervals that lie in it, and decodes the others from the stored states (fold_run.h).
 * Both run the same machine and the same add(), so their answers are equal.
 *
 * Errors: 0 or -errno. Threads: a machine belongs to one.
 */
#pragma once

#include "analyze/context/context.h"
#include "analyze/fold/index.h"
#include "edit/checkpoint.h"

/*
 * Receives what a machine finds; what found points to depends on the fold. 0 or -errno. Without
 * found(), nobody wants to know.
 */
struct fold_sink {
	void *ctx;
	int (*found)(void *ctx, const void *found);
};

/* Says where a machine has to begin to know everything about an instant. */
enum fold_begin {
	FOLD_FROM_STATE,	/* at a stored state, or at the trace's start */
	FOLD_FROM_EDGE,		/* at a block with a complete keyframe */
};

/* Every machine begins with this. */
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

/* Says what the index keeps of a machine. Failures of memory stay in out. */
struct fold_state_def {
	unsigned int part, tail;	/* enum index_part, enum index_tail */
	/*
	 * An interval begins: from now on, note what its events need to know of the time before.
	 * NULL: save() at the interval's beginning is that, and a machine that goes on needs no
	 * other state.
	 */
	void (*begin_interval)(void *m, uint64_t from_ns);
	void (*put_interval)(void *m, struct buf *out);
	/* All that is known at at_ns. */
	void (*save)(void *m, uint64_t at_ns, struct buf *out);
	/* The machine goes on from what put_interval() or (is_tail) save() wrote. Or -EBADMSG. */
	int (*load)(void *m, uint64_t at_ns, struct packed_in *in, bool is_tail);
};

/* Names what sums are kept for, in dense ids; how the two numbers are used is the fold's. */
struct fold_key {
	uint64_t a, b;
};

/*
 * Where is_of_threads: a is a dense thread. In the index it has in its upper half how often the
 * thread or its process was renamed since the interval's beginning: sums are kept per name.
 */
#define FOLD_KEY_RENAMES 32

/* The owner of sums: the builder of the index, or a view. */
struct fold_target {
	const struct dense_ids *ids;
	uint64_t from_ns, to_ns;	/* only what lies in here is added */
	bool by_name;		/* sums depend on the names that tasks have at an instant */
	/*
	 * The sum of a key that holds an instant. 1: *ret_sum; 0: it is not wanted; -errno. The
	 * answer is the same for all instants before *ret_end_ns.
	 */
	int (*sum)(struct fold_target *t, uint64_t ts_ns, const struct fold_key *key,
		   void **ret_sum, uint64_t *ret_end_ns);
};

/*
 * Sums of what a machine finds. Each sum is a struct that folds.h or a view names: first quantiles,
 * then counts (uint64_t), then anything else.
 */
struct fold_sums_def {
	size_t bytes;
	unsigned int quantile_cnt;
	/* A fold_sink's found(); ctx is a struct fold_target. */
	int (*add)(void *ctx, const void *found);

	/* In the index a row is a key, count_cnt counts and the quantiles. */
	unsigned int count_cnt;		/* 0: these sums are not kept there */
	void (*put_key)(const struct dense_ids *d, const struct fold_key *key, struct buf *out);
	void (*get_key)(const struct dense_ids *d, struct packed_in *in, struct fold_key *ret);
	/* counts were added to the sum. May be NULL. */
	void (*merged)(void *sum, const uint64_t *counts);
	unsigned int part;		/* enum index_part */
	bool is_of_threads;	/* keys are FOLD_KEY_RENAMES */
	bool totals_only;	/* no order statistics are asked for but the greatest */
	bool is_exact_decoded;	/* order statistics are exact only when all events are decoded */
};

struct fold_def {
	uint32_t kinds;			/* of events: 1u << EVENT_x */
	/* what index_need() is asked for; 0: kinds */
	uint32_t asks;
	const uint32_t *columns;	/* by kind; NULL: all */
	enum fold_begin begin;
	const struct fold_state_def *state;	/* NULL: the index has none */
	unsigned int group;		/* added to its part and tail: enum index_group */
	const struct fold_sums_def *sums;	/* NULL: the index has none */
	uint32_t arg;			/* for folds that share functions */

	size_t bytes;			/* of the machine */
	/* The machine is zeros but for struct fold_machine. NULL, here and below: nothing to do. */
	int (*open)(void *m);
	void (*close)(void *m);		/* also after open() has failed */
	/*
	 * The machine begins here, at the beginning of block. A fold with a state that goes by
	 * edges then loads the state of block, unless it is 0; another fold loads nothing. May be
	 * NULL.
	 */
	int (*start)(void *m, uint64_t from_ns, size_t block, struct err *e);
	int (*event)(void *m, const struct event *ev);
	/* In place of event(): cnt events in a row. */
	int (*events)(void *m, const struct event *ev, size_t cnt);
	int (*edge)(void *m, size_t block, bool is_end);		/* NULL: not wanted */
	int (*reset)(void *m, const struct trace_mm_reset *t);	/* NULL: not wanted */
	/* Everything before to_ns has been handed in. May be NULL. */
	int (*until)(void *m, uint64_t to_ns);
	/*
	 * The index stores, at some intervals' beginnings: what a trace that begins at at_ns has to
	 * know (edit/checkpoint.h). May be NULL. 0 or -ENOMEM.
	 */
	int (*checkpoint)(void *m, uint64_t at_ns, struct checkpoint *ret);
	/*
	 * In place of start(): the machine goes on from what checkpoint() gave for at_ns. -EBADMSG:
	 * it is not this fold's.
	 */
	int (*restore)(void *m, uint64_t at_ns, const struct checkpoint *from);
	/*
	 * The trace has grown, and the machine goes on as it is: there may be more threads and
	 * processes. NULL: it cannot, and goes on from its tail. 0 or -ENOMEM.
	 */
	int (*resume)(void *m);
	/* There is no more in the trace. May be NULL. */
	int (*end)(void *m);
	/*
	 * Returns the instant before which the machine finds nothing any more. NULL: where it
	 * stands.
	 */
	uint64_t (*undecided_ns)(const void *m);
};
