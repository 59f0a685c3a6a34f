/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * ring: consumer threads, one per ring, and the cutting of their streams into slices of time.
 *
 *     rings in memory shared with the BPF programs --> [ring_group: one reader thread each] --slabs of a slice--> src/session
 *
 * A reader copies records into slabs of memory. ring_group_cut() names an instant in the near
 * future; once every reader has drained past it, what lies before the cut is a slice. A
 * record's instant is taken before it is put into the ring, so a few can arrive after the
 * slice they belong to; they are in the next one (and first_ns of its block tells).
 *
 * Memory is bounded: when the slabs not yet given back reach the limit, readers stop, the
 * rings fill, and the kernel side counts what it could not store. To finish a cut a reader may go
 * beyond the limit, by what its ring holds: else nothing could ever be given back.
 *
 * Threads: functions are for one controlling thread; readers are internal.
 */
#ifndef RING_H
#define RING_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "bpf/wire.h"
#include "ring/ringmap.h"

struct ring_group;

struct ring_group_config {
	const struct ring_place *places;	/* read by ring_group_new() only; descriptors stay the caller's */
	unsigned int ring_cnt;
	uint64_t memory_bytes;		/* limit for all slabs together, but for a cut's end; 0 = 128 MiB */
	unsigned int poll_ms;		/* look at a ring at least this often; 0 = 50 */
	/* What a reader thread does first; may be NULL. < 0: ring_group_new() fails with it. */
	int (*enter)(void *ctx);
	void *enter_ctx;
};

/* A piece of one ring's stream: whole wire records, each rounded up to 8 bytes. */
struct ring_slab {
	struct ring_slab *next;
	size_t bytes;
	unsigned char data[];
};

/* What one ring gave for one slice, in order of arrival. */
struct ring_slice {
	struct ring_slab *first, *last;
};

/* Starts the readers. They drop everything (but count it) until ring_group_start_at(). */
int ring_group_new(struct ring_group **ret, const struct ring_group_config *config, struct err *e);
/* Stops the readers; frees everything, slices not taken too. NULL is fine. */
void ring_group_free(struct ring_group *g);

/* Keep records from this instant on, which must lie in the future by more than the time to publish it. */
void ring_group_start_at(struct ring_group *g, uint64_t start_ns);

/* Asks all readers to end their slices at cut_ns, in the future likewise. One cut at a time. */
void ring_group_cut(struct ring_group *g, uint64_t cut_ns);

/*
 * Waits up to timeout_ms for the cut. 0: slices[ring_cnt] are filled and the caller's, to be
 * given back with ring_group_release(); -EAGAIN: not yet.
 */
int ring_group_take(struct ring_group *g, struct ring_slice *slices, unsigned int timeout_ms);
void ring_group_release(struct ring_group *g, struct ring_slice *slices);

/* Records kept and dropped so far, by hook; bytes waiting in slabs; the fullest any ring was since the last reset. */
struct ring_stats {
	uint64_t read_cnt[WIRE_HOOK_MAX];	/* every record taken out of a ring */
	uint64_t kept_cnt[WIRE_HOOK_MAX];	/* of these, at or after the start */
	uint64_t slab_bytes;
	uint64_t slab_bytes_pending;		/* bytes of records in the slice being filled */
	uint64_t slab_max_bytes;		/* most slab_bytes since the last reset */
	uint64_t slab_limit_bytes;
	uint64_t used_max_bytes;
};
void ring_group_stats(struct ring_group *g, struct ring_stats *ret);
void ring_group_reset_used_max(struct ring_group *g);

#endif /* RING_H */
