/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * heap_share: layout of the memory through which the library in the workload (heap_preload.c)
 * passes heap events to the recorder (src/ring/heap_ring.c).
 *
 * The memory is a file: a head, then chunks of records. A thread claims a chunk by storing its id
 * in the chunk's entry of owner[], with one atomic operation, and writes one record after the
 * other. A record is complete if none of its four words is 0, in whatever order the words are
 * written. After all records of a chunk have been read, or its owner has ended, the recorder fills
 * the chunk with zeros and sets its owner[] to 0: a thread need not report its end, and may be
 * killed.
 *
 * The workload may write any bytes here at any time. Therefore the recorder does not map the file,
 * which the workload may also truncate, but copies each word once.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define HEAP_SHARE_MAGIC 0x3170616568626165ULL
#define HEAP_SHARE_ENV "EBPFREC_HEAP"	/* names the file; LD_PRELOAD names the library */
#define SPAN_SHARE_ENV "EBPFREC_SPANS"	/* names the file to programs that include cmd/ebpfrec.h */

#define HEAP_CHUNK_BYTES 16384u	/* chunks are aligned to this, in the file and in memory */
#define HEAP_CHUNKS_MAX 8192u
/*
 * Number of slots of a chunk that are used. The slots after these remain empty: one of them is the
 * next slot of a thread whose chunk is full. There are several, because signal handlers may
 * allocate before the thread finds the chunk full.
 */
#define HEAP_CHUNK_RECORDS 448u

/*
 * If threads may wait for chunks (waits), a thread keeps a chunk of the first half, but returns a
 * chunk of the second half after each event: idle threads cannot own all chunks.
 *
 * HEAP_SHARE_LEAVE: the thread writes no more to this chunk. HEAP_SHARE_REST: the remaining slots
 * of the chunk are unused. HEAP_SHARE_STACK + n: an allocation, followed by n slots with the frames
 * of its stack, innermost first; unused words of the last slot are 1.
 *
 * HEAP_SHARE_SPAN + n: an event of a request, written by cmd/ebpfrec.h, followed by n slots with
 * its name; unused words are 1. If bit 16 of site_kind is 1, addr is the id; otherwise the id is 0
 * and addr is 1. The second byte of site_kind is enum event_span. Losses are in lost[0].
 */
enum heap_share_kind {
	HEAP_SHARE_ALLOC = 1,
	HEAP_SHARE_FREE,
	HEAP_SHARE_KINDS,
	HEAP_SHARE_REST = HEAP_SHARE_KINDS,
	HEAP_SHARE_LEAVE,
	HEAP_SHARE_STACK = 16,
	HEAP_SHARE_SPAN = 64,
};

#define HEAP_SHARE_FRAMES 48u	/* most frames of a stack */
#define HEAP_SHARE_NAME_SLOTS 2u
#define HEAP_SHARE_SLOTS (HEAP_SHARE_FRAMES / 4)

struct heap_share_record {
	uint64_t at;		/* CLOCK_MONOTONIC in ns, or the time-stamp counter */
	uint64_t addr;
	uint64_t site_kind;	/* return address in the caller << 8 | enum heap_share_kind */
	uint64_t bytes_cpu;	/* requested bytes << 16 | CPU + 1 */
};

#define HEAP_SHARE_CPUS_MAX 0xfffeu
#define HEAP_SHARE_BYTES_MAX (1ULL << 47)

struct heap_share_head {
	uint64_t magic;
	/* inode number of the recorder's pid namespace; in others, thread ids differ */
	uint64_t pid_ns;
	uint32_t chunk_cnt;
	uint32_t waits;		/* 1: while all chunks are owned, threads wait */
	uint32_t off;		/* 1: the recording has ended */
	uint32_t counts_cycles;	/* 1: timestamps are values of the time-stamp counter */
	uint32_t recorder; /* pid of the recorder; waiting threads check whether it has ended */
	/* record stacks of every n-th allocation of a thread; 0: select by size */
	uint32_t stacks_every;
	uint64_t stacks_min;	/* record stacks of allocations of at least this size; 0: none */
	/* number of processes that call another malloc than the library's */
	uint32_t own_malloc_cnt;
	uint32_t own_malloc_pid;	/* pid of the last one */
	uint32_t began_cnt;	/* number of programs in which the library has started */
	/* number of processes not recorded, because their address space is limited */
	uint32_t limited_cnt;
	uint64_t lost[HEAP_SHARE_KINDS]; /* by kind: events lost because no chunk was unused */
	/* times before and after a process wrote HEAP_SHARE_TIMED records */
	uint64_t timed_from, timed_to;
	/* time to record stacks_timed stacks; longer times than HEAP_SHARE_TOOK_MAX are ignored */
	uint64_t stack_time;
	uint64_t stacks_timed;
	/* number of processes of other pid namespaces; their events are lost */
	uint32_t namespace_cnt;
	/* number of libraries opened in a separate scope: RTLD_DEEPBIND, dlmopen */
	uint32_t apart_cnt;
	uint32_t owner[HEAP_CHUNKS_MAX];	/* thread id; 0: the chunk is unused */
	uint64_t sample_mean;	/* mean bytes between samples; 0: all allocations are recorded */
};

#define HEAP_SHARE_HEAD_BYTES (3 * HEAP_CHUNK_BYTES)
/* From here on, the head's last chunk is unused: a process writes the timed records here. */
#define HEAP_SHARE_ASIDE (2 * HEAP_CHUNK_BYTES + 1024)
#define HEAP_SHARE_TIMED 512u
#define HEAP_SHARE_TOOK_MAX (1u << 15)	/* a longer time includes an interruption of the thread */

_Static_assert(sizeof(struct heap_share_record) == 32 && HEAP_CHUNK_RECORDS * 32 < HEAP_CHUNK_BYTES,
	       "a chunk has room for its records");
_Static_assert(sizeof(struct heap_share_head) == 136 + 4 * HEAP_CHUNKS_MAX &&
	       sizeof(struct heap_share_head) <= HEAP_SHARE_ASIDE, "the head has no holes");

/*
 * heap_sample: selects the allocations of a sampled recording (record --heap=SIZE), and keeps the
 * set of live samples.
 *
 * The bytes that a thread allocates form a line with random points on it, at exponentially
 * distributed distances with a mean of SIZE bytes. An allocation that contains a point is a sample:
 * an allocation of s bytes with the probability 1 - exp(-s / SIZE), independent of all others
 * (src/model/live_objects.h). The distribution is memoryless, so a new distance may be drawn at any
 * time: it is drawn after a sample, after fork() and in a nested allocator.
 *
 * The set of live samples is shared by all threads of a process and has no lock, so that signal
 * handlers and children of fork() may use it at any time. The hash of an address selects a row of
 * slots per level: if all of a row's slots are used, the next level's row is used.
 *
 * A second hash of the address selects a counter of live samples. If the counter is 0, a freed
 * block is not a sample: usually, one load is sufficient to find this out. Neighbouring blocks have
 * neighbouring counters.
 */
#define HEAP_SAMPLE_MAX (1ULL << 30)	/* largest mean distance, bytes */

/* Returns ln(x) with an error below 1e-11. x: in (0, 1). */
static inline double heap_sample_ln(double x)
{
	union {
		double d;
		uint64_t bits;
	} m = { x };
	int exponent = (int)(m.bits >> 52) - 1022;
	double y, y2;

	m.bits = (m.bits & ((1ULL << 52) - 1)) | 1022ULL << 52;	/* m.d is in [0.5, 1) */
	if (m.d < 0.70710678118654752) {
		m.d *= 2;
		exponent--;
	}
	y = (m.d - 1) / (m.d + 1);	/* ln(m) = 2 artanh(y) */
	y2 = y * y;
	y *= 1 + y2 * (1.0 / 3 + y2 * (1.0 / 5 + y2 * (1.0 / 7 + y2 * (1.0 / 9 + y2 *
	     (1.0 / 11 + y2 * (1.0 / 13 + y2 / 15))))));
	return 2 * y + exponent * 0.69314718055994531;
}

/* Returns an initial value for *random. */
static inline uint64_t heap_sample_seed(uint64_t x)
{
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ULL;
	x = (x ^ x >> 27) * 0x94d049bb133111ebULL;
	x ^= x >> 31;
	return x ? x : 1;
}

/* Returns the number of bytes to the next point, at least 1. */
static inline int64_t heap_sample_distance(uint64_t *random, uint64_t mean)
{
	uint64_t x = *random;

	x ^= x >> 12;
	x ^= x << 25;
	x ^= x >> 27;
	*random = x;
	x = x * 0x2545f4914f6cdd1dULL >> 12;	/* xorshift64* */
	return (int64_t)(-heap_sample_ln(((double)x + 0.5) * 0x1p-52) * (double)mean) + 1;
}

/* ---- the live samples ---- */

#define HEAP_SAMPLE_COUNTERS 16384u
#define HEAP_SAMPLE_SLOTS 65536u
#define HEAP_SAMPLE_ROW 16u
#define HEAP_SAMPLE_LEVELS 16u

struct heap_samples {
	uint8_t counters[HEAP_SAMPLE_COUNTERS];	/* a counter that reaches 255 keeps this value */
	unsigned int levels;	/* number of levels in use */
	uintptr_t slots[HEAP_SAMPLE_LEVELS][HEAP_SAMPLE_SLOTS + HEAP_SAMPLE_ROW]; /* 0: unused */
};

static inline unsigned int heap_sample_counter(uintptr_t p)
{
	return (p >> 4 ^ p >> 15) % HEAP_SAMPLE_COUNTERS;
}

static inline uintptr_t *heap_sample_row(struct heap_samples *s, unsigned int level, uintptr_t p)
{
	return &s->slots[level][(uint64_t)p * 0x9e3779b97f4a7c15ULL >> 48];
}

static inline void heap_sample_count(struct heap_samples *s, uintptr_t p, int step)
{
	uint8_t *c = &s->counters[heap_sample_counter(p)], n = __atomic_load_n(c, __ATOMIC_RELAXED);

	while (n < UINT8_MAX &&
	       !__atomic_compare_exchange_n(c, &n, (uint8_t)(n + step), true, __ATOMIC_ACQ_REL,
					    __ATOMIC_RELAXED))
		;
}

/* Adds an address. False: no room. */
static inline bool heap_sample_add(struct heap_samples *s, uintptr_t p)
{
	for (unsigned int i = 0; i < HEAP_SAMPLE_LEVELS * HEAP_SAMPLE_ROW; i++) {
		unsigned int level = i / HEAP_SAMPLE_ROW,
			     seen = __atomic_load_n(&s->levels, __ATOMIC_RELAXED);
		uintptr_t *slot = &heap_sample_row(s, level, p)[i % HEAP_SAMPLE_ROW], none = 0;

		while (seen <= level &&
		       !__atomic_compare_exchange_n(&s->levels, &seen, level + 1, true,
						    __ATOMIC_RELEASE, __ATOMIC_RELAXED))
			;
		if (__atomic_load_n(slot, __ATOMIC_RELAXED) ||
		    !__atomic_compare_exchange_n(slot, &none, p, false, __ATOMIC_ACQ_REL,
						 __ATOMIC_RELAXED))
			continue;
		heap_sample_count(s, p, 1);
		return true;
	}
	return false;
}

/* Removes an address, not 0. True: it was in the set; only one of several callers gets true. */
static inline bool heap_sample_remove(struct heap_samples *s, uintptr_t p)
{
	unsigned int cnt = __atomic_load_n(&s->levels, __ATOMIC_ACQUIRE) * HEAP_SAMPLE_ROW;

	for (unsigned int i = 0; i < cnt; i++) {
		uintptr_t *slot = &heap_sample_row(s, i / HEAP_SAMPLE_ROW, p)[i % HEAP_SAMPLE_ROW],
			  was = p;

		if (__atomic_load_n(slot, __ATOMIC_RELAXED) != p ||
		    !__atomic_compare_exchange_n(slot, &was, 0, false, __ATOMIC_ACQ_REL,
						 __ATOMIC_RELAXED))
			continue;
		heap_sample_count(s, p, -1);
		return true;
	}
	return false;
}
