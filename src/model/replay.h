/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * replay: computes when threads would have ended if some of their time had been shorter.
 *
 *     pieces of threads' time, wakers --[replay_add, replay_prepare]--> pieces, edges
 *     pieces, time to keep of each --[replay_run]--> end of a piece --[replay_path]--> its path
 *
 * The life of a thread is a sequence of pieces without holes: on a CPU, waiting for a CPU, asleep,
 * or unknown. If a thread ended a sleep, an edge leads from that moment in the waker's piece to the
 * sleep's end. The replayed sleep ends at the replayed moment, or at once if that has passed. A
 * sleep that an interrupt or a timer ended keeps its length. Exception: if such a sleep has
 * is_instant, and its thread then ended another thread's sleep that had already begun, the first
 * sleep ends a fixed time after the beginning of the other sleep. A thread that is created during
 * the replay begins with a sleep of length 0 that its creator ends.
 *
 *   - REPLAY_STRUCTURE: a wait for a CPU keeps its length, minus the time that is left out of the
 *     threads that had this CPU during the wait. This is one pass over the pieces in order of their
 *     recorded ends, because an edge never goes back in time. If no time is left out, every piece
 *     has its recorded end.
 *   - REPLAY_FIXED: as REPLAY_STRUCTURE, but a sleep with is_instant keeps its recorded end,
 *     unless a part of it is left out.
 *   - REPLAY_SCHEDULED: a ready thread gets any free CPU at once. If several are ready, the first
 *     is the thread whose recorded wait would end first. A thread that has waited as long as in the
 *     trace takes the CPU from a running thread whose recorded piece ended with a preemption.
 *
 * For example, thread A waits for lock L from 2 to 7, which B releases at 5 of its piece 2 .. 8: if
 * 2 of B's time before 5 are left out, A's wait ends at 5; if A's wait is left out, it ends at 2.
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
	uint32_t waker;		/* thread that ended the sleep; 0: none */
	uint32_t object;	/* the caller's, as are call, kind and flag */
	uint16_t call;
	uint16_t cpu;		/* REPLAY_RUN */
	uint8_t what;		/* enum replay_what */
	uint8_t kind;
	bool flag;
	bool is_instant;	/* unknown whether the sleep's end depends on its beginning */
	/* Set by replay_prepare(): 1 + place; 0: none. */
	uint32_t before, next;	/* neighbouring pieces of the thread */
	uint32_t waker_piece;	/* the waker's piece at the end of the sleep, or before it */
};

enum replay_variant { REPLAY_STRUCTURE, REPLAY_FIXED, REPLAY_SCHEDULED };

/* Threads have numbers below thread_cnt. */
int replay_new(struct replay **ret, uint32_t thread_cnt);
void replay_free(struct replay *r);

/* Appends a piece. The pieces of a thread come in order and without holes. */
int replay_add(struct replay *r, const struct replay_piece *p);
/*
 * Returns the thread's last piece, which the caller may change until the next replay_add(); NULL:
 * none.
 */
struct replay_piece *replay_last(struct replay *r, uint32_t thread);
/* Adds the creation of a thread whose first piece begins at at_ns. Call it after replay_add(). */
int replay_add_birth(struct replay *r, uint32_t thread, uint32_t creator, uint64_t at_ns);

/* Sorts and connects the pieces. From now on a piece has a place, 0 .. *ret_cnt - 1. */
int replay_prepare(struct replay *r, size_t *ret_cnt);
const struct replay_piece *replay_at(const struct replay *r, uint32_t place);
/* Returns the number of sleeps that the thread ended during the piece. */
unsigned int replay_edges(const struct replay *r, const struct replay_piece *p);
/* Returns the thread's last piece on a CPU. False: there is none. */
bool replay_last_run(const struct replay *r, uint32_t thread, uint32_t *ret_place);

/* Returns the time of a piece to keep; at most its length. */
typedef uint64_t (*replay_keep)(void *ctx, const struct replay_piece *p);
/* Sets the time to keep of every piece; NULL: all of it. Returns the sum of the time left out. */
uint64_t replay_change(struct replay *r, replay_keep keep, void *ctx);

/* Sets *ret_ns to the latest end of cnt pieces, and *ret_place to the first piece with this end. */
int replay_run(struct replay *r, enum replay_variant variant, const uint32_t *places, size_t cnt,
	       uint64_t *ret_ns, uint32_t *ret_place);

/*
 * Calls part for everything that determined the end of a piece in the last run of REPLAY_STRUCTURE
 * or REPLAY_FIXED, from the end back to the beginning: pieces with their ns on the path; and each
 * sleep at whose end the path continues in the waker, with the ns from the end of the waker's piece
 * to the end of the sleep (0 unless is_instant).
 */
typedef void (*replay_part)(void *ctx, const struct replay_piece *p, uint64_t ns);
void replay_path(const struct replay *r, uint32_t place, replay_part part, void *ctx);
/*
 * Calls part for each piece of another thread on the awaited CPU during p, a wait for a CPU; ns:
 * how much of the wait the piece took.
 */
void replay_beside(const struct replay *r, const struct replay_piece *p, replay_part part,
		   void *ctx);
