/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * ring: reads the rings, with a thread per ring, and divides their streams into slices of time;
 * iterates over the records of a slice.
 *
 *     BPF ring buffers --> [ring_group: one reader thread each] --slabs of a slice--> src/record
 *
 * A reader copies records into slabs of memory. ring_group_cut() sets a time in the near future.
 * After every reader has read past that time, the records before it are a slice. A record's
 * timestamp is taken before the record is added to the ring, so a few records can arrive after the
 * end of their slice. They become part of the next slice, whose block's first_ns covers them.
 *
 * Memory is bounded. When the slabs in use reach the limit, readers stop, the rings fill up, and
 * the BPF programs count the events that do not fit. To finish a cut, a reader may exceed the limit
 * by its ring's contents; otherwise no slab could ever be released.
 *
 * Threads: a controlling thread calls the functions; reader threads are internal.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "bpf/wire.h"

struct ring_group;

/* Counts of a feed's records of one hook. */
struct ring_feed_count {
	uint64_t attempted;	/* read + lost */
	uint64_t lost_full;	/* there was no room for the record */
	uint64_t lost_other;	/* invalid records */
};

/* Another origin of records, with an additional reader thread (heap_ring.h, span_lines.h). */
struct ring_feed {
	void *ctx;
	/*
	 * Returns the next record with a timestamp up to end_ns, the current time. NULL: no more;
	 * the next call begins a new pass. The record is valid until the next call.
	 */
	const struct wire_hdr *(*next)(void *ctx, uint64_t end_ns, size_t *ret_bytes);
	/* Makes the next call return the same record again. */
	void (*unread)(void *ctx);
	/* Returns the counts since the feed was created. Any thread. */
	struct ring_feed_count (*count)(const void *ctx, unsigned int hook);
};

#define RING_FEEDS_MAX 3

struct ring_group_config {
	const int *fds;		/* of the BPF ring buffers; owned by the caller */
	unsigned int ring_cnt;
	uint64_t ring_bytes;	/* data size of each ring; a power of two */
	/* limit of all slabs, which a reader exceeds only to finish a cut; 0 = 128 MiB */
	uint64_t memory_bytes;
	unsigned int poll_ms;	/* a reader checks its ring at least this often; 0 = 50 */
	struct ring_feed feeds[RING_FEEDS_MAX];
	unsigned int feed_cnt;
	/*
	 * Each reader thread calls this first; may be NULL. A result < 0 makes ring_group_new()
	 * fail.
	 */
	int (*enter)(void *ctx);
	/*
	 * ring_group_cut() calls this to move records from the CPUs' areas (struct wire_stage) into
	 * the rings. -EAGAIN: some were not moved. NULL: there are no such areas.
	 */
	int (*flush)(void *ctx);
	void *enter_ctx;	/* ctx of enter and flush */
};

/* A part of one ring's stream: whole wire records, each padded to 8 bytes. */
struct ring_slab {
	struct ring_slab *next;
	size_t bytes;
	unsigned char data[];
};

/* The records of one ring for one slice, in order of arrival. */
struct ring_slice {
	struct ring_slab *first, *last;
};

/* Starts the readers. They count records and drop them until ring_group_start_at(). */
int ring_group_new(struct ring_group **ret, const struct ring_group_config *config, struct err *e);
/* Stops the readers and frees everything, including slices that were not taken. NULL is fine. */
void ring_group_free(struct ring_group *g);

/*
 * Keeps records with timestamps from start_ns on. start_ns must be late enough that every reader
 * sees it before the reader copies records of that time.
 */
void ring_group_start_at(struct ring_group *g, uint64_t start_ns);

/*
 * Requests all readers to end their slices at cut_ns, which must be in the future. Only one cut may
 * be pending. With config.flush, returns after cut_ns, when all records before it are in the rings.
 * Returns 0, or the error of flush.
 */
int ring_group_cut(struct ring_group *g, uint64_t cut_ns);

/* Returns the number of slices of a cut: one per ring and per feed. */
unsigned int ring_group_slices(const struct ring_group *g);

/*
 * Waits up to timeout_ms for the cut. 0: fills slices[ring_group_slices()]; the caller owns them
 * and returns them with ring_group_release(). -EAGAIN: the cut is not finished yet.
 */
int ring_group_take(struct ring_group *g, struct ring_slice *slices, unsigned int timeout_ms);
void ring_group_release(struct ring_group *g, struct ring_slice *slices);

struct ring_stats {
	uint64_t read_cnt[WIRE_HOOK_MAX];	/* by hook: number of records read so far */
	/* by hook: number of records at or after the start */
	uint64_t kept_cnt[WIRE_HOOK_MAX];
	uint64_t slab_bytes;			/* size of the slabs in use */
	uint64_t slab_spare_bytes;		/* size of the slabs in the pool */
	uint64_t slab_bytes_pending; /* bytes of records in the slice that is being filled */
	uint64_t slab_max_bytes;		/* maximum of slab_bytes since the last reset */
	uint64_t slab_limit_bytes;
	uint64_t used_max_bytes; /* highest fill level of any ring since the last reset */
};
void ring_group_stats(struct ring_group *g, struct ring_stats *ret, bool reset);

/* wire_record: the length of a wire record, and iteration over the records of a slice. */

/* By hook: bytes of a record, rounded up to 8; 0: the record contains its length. */
extern const uint16_t wire_record_room[WIRE_HOOK_MAX];

extern const uint8_t wire_hook_class[WIRE_HOOK_MAX];	/* by hook: enum event_class */

/* Returns the length of a record whose hook has no fixed length. 0: invalid. */
size_t wire_record_size_odd(const void *data, size_t max);

/* Returns the bytes of the wire record at data, rounded up to 8; 0: invalid, or longer than max. */
static inline size_t wire_record_size(const void *data, size_t max)
{
	const struct wire_hdr *h = data;
	size_t bytes;

	if (__builtin_expect(max < sizeof(*h) || h->hook >= WIRE_HOOK_MAX, 0))
		return 0;
	bytes = wire_record_room[h->hook];
	if (__builtin_expect(bytes - 1 >= max, 0))	/* bytes is 0, or greater than max */
		return bytes ? 0 : wire_record_size_odd(data, max);
	return bytes;
}

/* Returns whether records of the hook are not events, but describe objects in other records. */
static inline bool wire_hook_is_name(unsigned int hook)
{
	return hook == WIRE_PATH || hook == WIRE_SOCKET || hook == WIRE_PLACE ||
	       hook == WIRE_SCHED_FACTS;
}

/* Returns the record at *at, and advances *at to the next one. NULL: end of the slab. */
const struct wire_hdr *slab_next_record(const struct ring_slab *s, size_t *at);
/* Calls keep for each record of the slices; removes the record if keep returns false. */
void slices_filter(struct ring_slice *slices, unsigned int slice_cnt,
		   bool (*keep)(void *ctx, const struct wire_hdr *h), void *ctx);
