/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * heap_ring: the memory into which a library in the workload writes heap events, read as a ring.
 *
 *     src/preload (in the workload) --file in memory--> [heap_ring] --wire records--> ring
 *
 * Threads: heap_ring_next() and heap_ring_unread() are for one thread, the reader's;
 * heap_ring_count() for any; the others for the controlling one. src/preload/heap_share.h describes
 * the layout, and why its contents are not trusted.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "bpf/wire.h"
#include "ring/ring.h"

struct heap_ring;

struct heap_ring_config {
	uint64_t bytes;		/* of all chunks; rounded and limited */
	bool waits;		/* the workload waits if the memory is full */
	uint32_t stacks_every;	/* stacks of every n-th allocation of a thread; 0: by size only */
	uint64_t stacks_min_bytes;	/* stacks of allocations of at least this size; 0: none */
	uint64_t sample_bytes;	/* mean distance of samples (heap_sample.h); 0: all allocations */
	bool has_spans;		/* it is for events of requests, not of the heap */
	bool counts_cycles;	/* timestamps are the counter's: heap_clock_is_there() */
	uid_t uid;		/* the workload's; other users must not open the file */
	gid_t gid;
	uid_t owner;		/* owner of the file's directory, who may remove both */
	gid_t group;
};

/* Makes a file in a directory of its own in /dev/shm. -errno: it cannot be made. */
int heap_ring_new(struct heap_ring **ret, const struct heap_ring_config *config, struct err *e);
/* Removes both. NULL is fine. */
void heap_ring_free(struct heap_ring *h);

const char *heap_ring_path(const struct heap_ring *h);

/* Treats records of a CPU from cpu_cnt on as invalid. Call before the first heap_ring_next(). */
void heap_ring_limit_cpus(struct heap_ring *h, unsigned int cpu_cnt);

/* Largest error of a timestamp if the counter is used; 0 otherwise. */
uint64_t heap_ring_clock_error_ns(const struct heap_ring *h);

/*
 * Returns the number of processes that call another malloc than the library's, so that the library
 * cannot record them. *ret_pid is the pid that the last of them reported.
 */
uint32_t heap_ring_own_malloc(const struct heap_ring *h, uint32_t *ret_pid);
/*
 * Counts of cases that the library could not record and reported; correct if the workload is
 * honest.
 */
struct heap_ring_unseen {
	uint32_t limited_cnt;	/* processes with a limited address space */
	uint32_t namespace_cnt;	/* processes of other pid namespaces */
	uint32_t apart_cnt;	/* libraries opened with RTLD_DEEPBIND or dlmopen */
};
void heap_ring_unseen(const struct heap_ring *h, struct heap_ring_unseen *ret);

/*
 * Returns how long the library takes for an event, including the mean cost of stacks, in ps; 0:
 * unknown. Any thread.
 */
uint64_t heap_ring_event_ps(const struct heap_ring *h);

/* Returns the number of programs in which the library started. */
uint32_t heap_ring_began(const struct heap_ring *h);

/* Stops recording: only events already under way are still written. NULL is fine. */
void heap_ring_end(struct heap_ring *h);

/* Functions of a struct ring_feed. */
const struct wire_hdr *heap_ring_next(void *ring, uint64_t end_ns, size_t *ret_bytes);
void heap_ring_unread(void *ring);
struct ring_feed_count heap_ring_count(const void *ring, unsigned int hook);
