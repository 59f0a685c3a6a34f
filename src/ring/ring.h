/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * ring: threads that read the rings, one per ring, and cut their streams into slices of time.
 *
 *     BPF ring buffers --> [ring_group: one reader thread each] --slabs of a slice--> src/record
 *
 * A reader copies records into slabs of memory. ring_group_cut() sets an instant in the near
 * future. When every reader has read past that instant, the records before it are a slice. A
 * record's timestamp is taken before the record is added to the ring, so a few records can arrive
 * after the slice they belong to. They go to the next slice, and first_ns of its block covers them.
 *
 * Memory is bounded. When the slabs in use reach the limit, readers stop, the rings fill, and the
 * kernel side counts the events it could not store. To finish a cut a reader may exceed the limit
 * by its ring's contents, because otherwise no slab could ever be released.
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

/* Records of a feed, by hook. */
struct ring_feed_count {
	uint64_t attempted;	/* read + lost */
	uint64_t lost_full;	/* there was no room for the record */
	uint64_t lost_other;	/* invalid records */
};

/* Another source of records, read by an additional reader thread (heap_ring.h, span_lines.h). */
struct ring_feed {
	void *ctx;
	/*
	 * Returns the next record with a timestamp up to end_ns, which is now. NULL: none; the next
	 * call starts a new pass. The record is valid until the next call.
	 */
	const struct wire_hdr *(*next)(void *ctx, uint64_t end_ns, size_t *ret_bytes);
	/* Makes the next call return the same record again. */
	void (*unread)(void *ctx);
	/* Counts since the feed was made. Any thread. */
	struct ring_feed_count (*count)(const void *ctx, unsigned int hook);
};

#define RING_FEEDS_MAX 3

struct ring_group_config {
	const int *fds;		/* of the BPF ring buffers; the caller keeps them */
	unsigned int ring_cnt;
	uint64_t ring_bytes;	/* of data in each; a power of two */
	uint64_t memory_bytes;	/* limit of all slabs, except to finish a cut; 0 = 128 MiB */
	unsigned int poll_ms;	/* a reader checks its ring at least this often; 0 = 50 */
	struct ring_feed feeds[RING_FEEDS_MAX];
	unsigned int feed_cnt;
	/* A reader thread calls this first; may be NULL. A result < 0 fails ring_group_new(). */
	int (*enter)(void *ctx);
	/*
	 * ring_group_cut() calls this to move records that wait elsewhere into the rings. -EAGAIN:
	 * some still wait. NULL: none wait.
	 */
	int (*flush)(void *ctx);
	void *enter_ctx;	/* argument of both */
};

/* A piece of one ring's stream: whole wire records, each padded to 8 bytes. */
struct ring_slab {
	struct ring_slab *next;
	size_t bytes;
	unsigned char data[];
};

/* The records that one ring delivered for one slice, in order of arrival. */
struct ring_slice {
	struct ring_slab *first, *last;
};

/* Starts the readers. Until ring_group_start_at() they count records and drop them. */
int ring_group_new(struct ring_group **ret, const struct ring_group_config *config, struct err *e);
/* Stops the readers and frees everything, including slices that were not taken. NULL is fine. */
void ring_group_free(struct ring_group *g);

/*
 * Keeps records from this instant on. It must be far enough in the future that all readers see it
 * in time.
 */
void ring_group_start_at(struct ring_group *g, uint64_t start_ns);

/*
 * Requests all readers to end their slices at cut_ns, which must also be in the future. One cut at
 * a time. With config.flush it returns after that instant, when all records before it are in the
 * rings: 0, or the error of flush.
 */
int ring_group_cut(struct ring_group *g, uint64_t cut_ns);

/* Returns the number of slices of a cut: one per ring and per feed. */
unsigned int ring_group_slices(const struct ring_group *g);

/*
 * Waits up to timeout_ms for the cut. 0: slices[ring_group_slices()] are filled and belong to the
 * caller, who returns them with ring_group_release(). -EAGAIN: the cut is not finished yet.
 */
int ring_group_take(struct ring_group *g, struct ring_slice *slices, unsigned int timeout_ms);
void ring_group_release(struct ring_group *g, struct ring_slice *slices);

struct ring_stats {
	uint64_t read_cnt[WIRE_HOOK_MAX];	/* records read from a ring so far, by hook */
	uint64_t kept_cnt[WIRE_HOOK_MAX];	/* of these, records at or after the start */
	uint64_t slab_bytes;			/* of slabs in use */
	uint64_t slab_spare_bytes;		/* of slabs in the pool */
	uint64_t slab_bytes_pending;		/* of records in the slice being filled */
	uint64_t slab_max_bytes;		/* most slab_bytes since the last reset */
	uint64_t slab_limit_bytes;
	uint64_t used_max_bytes;		/* highest fill of any ring since the last reset */
};
void ring_group_stats(struct ring_group *g, struct ring_stats *ret, bool reset);
