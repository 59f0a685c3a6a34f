/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * replay: when threads would have ended if some of their time had been shorter.
 *
 *     pieces of threads' time, wakers --[replay_add, replay_prepare]--> pieces, edges
 *     pieces, time that stays of each --[replay_run]--> end of a piece --[replay_path]--> its path
 *
 * The life of a thread is a sequence of pieces without holes: on a CPU, waiting for a CPU, asleep,
 * or unknown. A sleep that a thread ended has an edge from the instant within the waker's piece;
 * the replayed sleep ends at the replayed instant, or at once if that has passed. A sleep that an
 * interrupt or a time ended keeps its length. A thread that was created in the replayed time begins
 * at the replayed instant of its creation, by a sleep of length 0 that its creator ended.
 *
 *   - REPLAY_STRUCTURE: a wait for a CPU keeps its length, less the time that the replay takes from
 *     the threads that had this CPU meanwhile. It is one pass over the pieces by their recorded
 *     ends: an edge never goes back in time. Without a change every piece ends when it did.
 *   - REPLAY_FIXED: the same, but a sleep with is_instant ends when it did, unless it is changed.
 *   - REPLAY_SCHEDULED: a thread that is ready gets any free CPU at once; if several are ready, the
 *     one that has to get it first if each waits as long as in the trace. A thread that has waited
 *     as long takes the CPU from one that was preempted at the end of its piece in the trace.
 *
 * For example, thread A waits for lock L from 2 to 7, which B releases at 5 of its piece 2 .. 8:
 * without 2 of B's time before 5, A's wait is over at 5; without A's wait, at 2.
 *
 * Times are in ns. Memory is proportional to the pieces. Functions return 0 or -errno. Threads:
 * one.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct replay;

enum replay_what {
	REPLAY_RUN = 0,
	REPLAY_CPU = 1,		/* a wait for a CPU */
	REPLAY_SLEEP = 2,
	REPLAY_UNKNOWN = 3,
};

struct replay_piece {
	uint64_t from_ns, to_ns;
	uint32_t thread;
	uint32_t waker;		/* thread that ended a sleep; 0: none */
	uint32_t object;	/* of the caller, as call, kind and flag */
	uint16_t call;
	uint16_t cpu;		/* REPLAY_RUN */
	uint8_t what;		/* enum replay_what */
	uint8_t kind;
	bool flag;
	bool is_instant;	/* whether its end depends on its beginning is unknown */
	/* Set by replay_prepare(): 1 + place; 0: none. */
	uint32_t before, next;	/* pieces of the thread */
	uint32_t waker_piece;	/* piece of the waker that contains the end */
};

enum replay_variant { REPLAY_STRUCTURE, REPLAY_FIXED, REPLAY_SCHEDULED };

/* thread_cnt: threads are below it. */
int replay_new(struct replay **ret, uint32_t thread_cnt);
void replay_free(struct replay *r);

/* Appends a piece. Those of a thread come in order and without holes. */
int replay_add(struct replay *r, const struct replay_piece *p);
/* Returns the thread's last piece, to be changed until the next replay_add(); NULL: none. */
struct replay_piece *replay_last(struct replay *r, uint32_t thread);
/* Another thread creates the thread, whose first piece begins at at_ns. Call after replay_add(). */
int replay_add_birth(struct replay *r, uint32_t thread, uint32_t creator, uint64_t at_ns);

/* Sorts pieces and connects them: from here on they have places, 0 .. *ret_cnt - 1. */
int replay_prepare(struct replay *r, size_t *ret_cnt);
const struct replay_piece *replay_at(const struct replay *r, uint32_t place);
/* Number of sleeps that the thread ended during the piece. */
unsigned int replay_edges(const struct replay *r, const struct replay_piece *p);
/* The thread's last piece on a CPU. False: it has none. */
bool replay_last_run(const struct replay *r, uint32_t thread, uint32_t *ret_place);

/* Returns how much of a piece stays; at most its length. */
typedef uint64_t (*replay_keep)(void *ctx, const struct replay_piece *p);
/* Sets what stays of every piece. NULL: all. Returns the time that is left out. */
uint64_t replay_change(struct replay *r, replay_keep keep, void *ctx);

/* *ret_ns: when the last of cnt pieces ends; *ret_place: that piece, the first of equal ones. */
int replay_run(struct replay *r, enum replay_variant variant, const uint32_t *places, size_t cnt,
	       uint64_t *ret_ns, uint32_t *ret_place);

/*
 * Passes on what determined the end of the piece in the last run of REPLAY_STRUCTURE or
 * REPLAY_FIXED, from the end to the beginning: ns of a piece; and with ns 0 each sleep that the
 * path leaves for its waker.
 */
typedef void (*replay_part)(void *ctx, const struct replay_piece *p, uint64_t ns);
void replay_path(const struct replay *r, uint32_t place, replay_part part, void *ctx);
/* Passes on the stays on the CPU of a wait for a CPU, and how much of the wait each took. */
void replay_beside(const struct replay *r, const struct replay_piece *p, replay_part part,
		   void *ctx);
