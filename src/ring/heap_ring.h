/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * heap_ring: reads heap events from memory into which a library in the workload writes.
 *
 *     src/preload (in the workload) --file in memory--> [heap_ring] --wire records--> ring
 *
 * Threads: the reader's thread calls heap_ring_next() and heap_ring_unread(), any thread
 * heap_ring_count(), and the controlling thread the other functions. src/preload/heap_share.h
 * describes the layout, and why its contents are not trusted.
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
	uint64_t bytes;		/* size of all chunks; rounded and limited */
	bool waits;		/* if the memory is full, the workload waits */
	/* record stacks of every n-th allocation of a thread; 0: select by size only */
	uint32_t stacks_every;
	uint64_t stacks_min_bytes; /* record stacks of allocations of at least this size; 0: none */
	/* mean bytes between samples (heap_share.h); 0: record all allocations */
	uint64_t sample_bytes;
	bool has_spans;		/* the workload writes events of requests, not of the heap */
	bool counts_cycles;	/* timestamps are counter values: see heap_clock_is_there() */
	uid_t uid;		/* the workload's user; other users cannot open the file */
	gid_t gid;
	uid_t owner; /* owner of the file's directory, who may remove the file and the directory */
	gid_t group;
};

/* Creates the file in a new directory in /dev/shm. 0 or -errno. */
int heap_ring_new(struct heap_ring **ret, const struct heap_ring_config *config, struct err *e);
/* Removes the file and the directory. NULL is fine. */
void heap_ring_free(struct heap_ring *h);

const char *heap_ring_path(const struct heap_ring *h);

/* Declares records of CPUs >= cpu_cnt invalid. Call this before the first heap_ring_next(). */
void heap_ring_limit_cpus(struct heap_ring *h, unsigned int cpu_cnt);

/* Returns the largest error of timestamps if they are counter values; 0: they are not. */
uint64_t heap_ring_clock_error_ns(const struct heap_ring *h);

/*
 * Returns the number of processes that call another malloc than the library's. The library cannot
 * record these calls. *ret_pid: pid of the last such process, as the process reported it.
 */
uint32_t heap_ring_own_malloc(const struct heap_ring *h, uint32_t *ret_pid);
/* Numbers of cases that the library could not record; the workload may report false numbers. */
struct heap_ring_unseen {
	uint32_t limited_cnt;	/* processes with a limited address space */
	uint32_t namespace_cnt;	/* processes of other pid namespaces */
	uint32_t apart_cnt;	/* libraries that were opened with RTLD_DEEPBIND or dlmopen */
};
void heap_ring_unseen(const struct heap_ring *h, struct heap_ring_unseen *ret);

/*
 * Returns the time that the library takes per event, including the mean cost of stacks, in ps; 0:
 * unknown. Any thread.
 */
uint64_t heap_ring_event_ps(const struct heap_ring *h);

/* Returns the number of programs in which the library has started. */
uint32_t heap_ring_began(const struct heap_ring *h);

/* Ends the recording: the library finishes only events in progress. NULL is fine. */
void heap_ring_end(struct heap_ring *h);

/* Functions of a struct ring_feed. */
const struct wire_hdr *heap_ring_next(void *ring, uint64_t end_ns, size_t *ret_bytes);
void heap_ring_unread(void *ring);
struct ring_feed_count heap_ring_count(const void *ring, unsigned int hook);

/*
 * heap_clock: converts the processor's time-stamp counter to CLOCK_MONOTONIC, the clock of a trace.
 * Pairs of both clocks are read repeatedly; a counter value between two pairs is interpolated
 * linearly, so the conversion is monotonic.
 */
#define HEAP_CLOCK_PAIRS 256u

struct heap_clock_pair {
	uint64_t cycles, ns;
};

/* All zeros: no pairs. */
struct heap_clock {
	/* pair number i is at i % HEAP_CLOCK_PAIRS */
	struct heap_clock_pair pairs[HEAP_CLOCK_PAIRS];
	unsigned int cnt;
	uint64_t error_ns;	/* largest possible error of a pair */
};

/*
 * Returns whether this machine has a usable counter: on all CPUs, used by the kernel as its clock,
 * and with an instruction that reads the counter and the CPU's number together.
 */
bool heap_clock_is_there(void);

/* Reads the next pair. */
void heap_clock_read(struct heap_clock *c);
/* Adds a pair, which must be later than all others. */
void heap_clock_add(struct heap_clock *c, struct heap_clock_pair pair);

/*
 * Converts cycles to ns. 0: there are fewer than two pairs, or the distance of cycles to the pairs
 * (before the oldest or after the newest) exceeds the distance between the oldest and the newest.
 */
uint64_t heap_clock_ns(const struct heap_clock *c, uint64_t cycles);
