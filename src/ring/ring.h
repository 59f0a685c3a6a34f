/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * ring: threads that read the rings, one per ring, and cut their streams into slices of time.
 *
 *     BPF ring buffers --> [ring_group: one reader thread each] --slabs of a slice--> src/record
 *
 * A reader copies records into slabs of memory. ring_group_cut() names an instant in the near
 * future. When every reader has read past that instant, the records before it are a slice. A
 * record's instant is read before the record is put into the ring, so a few records can arrive
 * after the slice they belong to. They are in the next slice, and first_ns of its block tells.
 *
 * Memory is bounded. When the slabs that were not given back reach the limit, readers stop, the
 * rings fill, and the kernel side counts what it could not store. To finish a cut a reader may go
 * beyond the limit by what its ring holds, because otherwise nothing could ever be given back.
 *
 * Threads: one controlling thread calls the functions; the readers are internal.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "bpf/wire.h"

struct ring_group;

/* Records that come from elsewhere; one reader thread more asks for them (heap_ring.h). */
struct ring_feed {
	void *ctx;
	/* As heap_ring_next(). NULL: there is none. */
	const struct wire_hdr *(*next)(void *ctx, uint64_t end_ns, size_t *ret_bytes);
	void (*unread)(void *ctx);
};

struct ring_group_config {
	const int *fds;		/* of the BPF ring buffers; they stay the caller's */
	unsigned int ring_cnt;
	uint64_t ring_bytes;	/* of data in each; a power of two */
	uint64_t memory_bytes;	/* limit of all slabs, except to finish a cut; 0 = 128 MiB */
	unsigned int poll_ms;	/* a reader looks at its ring at least this often; 0 = 50 */
	struct ring_feed feed;
	/*
	 * A reader thread calls this first; may be NULL. ring_group_new() fails with what is < 0.
	 */
	int (*enter)(void *ctx);
	/*
	 * ring_group_cut() calls this: it puts the records into the rings that wait elsewhere.
	 * -EAGAIN: not all of them. NULL: none wait.
	 */
	int (*flush)(void *ctx);
	void *enter_ctx;	/* of both */
};

/* A piece of one ring's stream: whole wire records, each padded to 8 bytes. */
struct ring_slab {
	struct ring_slab *next;
	size_t bytes;
	unsigned char data[];
};

/* Holds what one ring gave for one slice, in the order of arrival. */
struct ring_slice {
	struct ring_slab *first, *last;
};

/* Starts the readers. Until ring_group_start_at() they count records and drop them. */
int ring_group_new(struct ring_group **ret, const struct ring_group_config *config, struct err *e);
/* Stops the readers and frees everything, also slices that were not taken. NULL is fine. */
void ring_group_free(struct ring_group *g);

/*
 * Keeps records from this instant on. It must lie so far in the future that all readers see it in
 * time.
 */
void ring_group_start_at(struct ring_group *g, uint64_t start_ns);

/*
 * Asks all readers to end their slices at cut_ns, likewise in the future. One cut at a time. With
 * config.flush it returns after that instant, when all records before it are in the rings: 0, or
 * the error of flush.
 */
int ring_group_cut(struct ring_group *g, uint64_t cut_ns);

/* The number of slices of a cut: ring_cnt, and one more with a feed. */
unsigned int ring_group_slices(const struct ring_group *g);

/*
 * Waits up to timeout_ms for the cut. 0: slices[ring_group_slices()] are filled and belong to the
 * caller, who gives them back with ring_group_release(). -EAGAIN: the cut is not finished yet.
 */
int ring_group_take(struct ring_group *g, struct ring_slice *slices, unsigned int timeout_ms);
void ring_group_release(struct ring_group *g, struct ring_slice *slices);

struct ring_stats {
	uint64_t read_cnt[WIRE_HOOK_MAX];	/* records taken out of a ring so far, by hook */
	uint64_t kept_cnt[WIRE_HOOK_MAX];	/* of these, the records at or after the start */
	uint64_t slab_bytes;			/* of slabs that were not given back */
	uint64_t slab_spare_bytes;		/* of those that were: they wait for records */
	uint64_t slab_bytes_pending;		/* of records in the slice being filled */
	uint64_t slab_max_bytes;		/* most slab_bytes since the last reset */
	uint64_t slab_limit_bytes;
	uint64_t used_max_bytes;		/* the fullest any ring was since the last reset */
};
void ring_group_stats(struct ring_group *g, struct ring_stats *ret, bool reset);
