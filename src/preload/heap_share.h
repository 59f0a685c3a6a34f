/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * heap_share: the memory through which the library in the workload (heap_preload.c) passes heap
 * events to the recorder (src/ring/heap_ring.c).
 *
 * It is a file: a head, then chunks of records. A thread claims a chunk by storing its id in the
 * chunk's entry of owner[], with one atomic operation, and writes one record after the other. A
 * record is complete if none of its four words is 0, independent of the order in which they arrive.
 * When all records of a chunk are read, or its owner has ended, the recorder fills it with zeros
 * and sets owner[] to 0. So a thread need not report its end, and may be killed.
 *
 * The workload may write any bytes here at any time. The recorder therefore never maps the file,
 * which the workload may also truncate, but reads each word once.
 */
#pragma once

#include <stdint.h>

#define HEAP_SHARE_MAGIC 0x3170616568626165ULL
#define SPAN_SHARE_ENV "EBPFREC_SPANS"	/* the same, for cmd/ebpfrec.h */
#define HEAP_SHARE_ENV "EBPFREC_HEAP"	/* names the file; LD_PRELOAD names the library */

#define HEAP_CHUNK_BYTES 16384u	/* chunks are aligned to this, in the file and in memory */
#define HEAP_CHUNKS_MAX 8192u
/*
 * The last slots stay empty. When a thread's chunk is full, its next slot is one of these. There
 * are several, because signal handlers may allocate before the thread notices.
 */
#define HEAP_CHUNK_RECORDS 448u

/*
 * A thread that may wait keeps chunks of the first half. Those of the second half are for guests:
 * the thread leaves one after each event, so that idle threads cannot own all chunks.
 *
 * HEAP_SHARE_LEAVE: the thread writes no more to this chunk. HEAP_SHARE_REST: the rest of the chunk
 * is unused. HEAP_SHARE_STACK + n: an allocation, and n slots with the frames of its stack,
 * innermost first; unused words of the last slot are 1.
 *
 * HEAP_SHARE_SPAN + n: an event of a request, as cmd/ebpfrec.h writes it, and n slots with its
 * name; unused words are 1. addr is the id, or 1 if bit 16 of site_kind is 0, which means id 0; the
 * second byte of site_kind is enum event_span. Losses are in lost[0].
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

#define HEAP_SHARE_FRAMES 48u	/* at most */
#define HEAP_SHARE_NAME_SLOTS 2u
#define HEAP_SHARE_SLOTS (HEAP_SHARE_FRAMES / 4)

struct heap_share_record {
	uint64_t at;		/* CLOCK_MONOTONIC, or the time-stamp counter */
	uint64_t addr;
	uint64_t site_kind;	/* the caller's return address << 8 | enum heap_share_kind */
	uint64_t bytes_cpu;	/* requested bytes << 16 | CPU + 1 */
};

#define HEAP_SHARE_CPUS_MAX 0xfffeu
#define HEAP_SHARE_BYTES_MAX (1ULL << 47)

struct heap_share_head {
	uint64_t magic;
	/* the recorder's namespace (inode number); in others, thread ids differ */
	uint64_t pid_ns;
	uint32_t chunk_cnt;
	uint32_t waits;		/* 1: if all chunks are owned, a thread waits for one */
	uint32_t off;		/* 1: the recording has ended */
	uint32_t counts_cycles;	/* 1: timestamps are those of the time-stamp counter */
	uint32_t recorder;	/* its pid, for waiting threads */
	uint32_t stacks_every;	/* stacks of every n-th allocation of a thread; 0: by size */
	uint64_t stacks_min;	/* stacks of allocations of at least this size; 0: none */
	uint32_t own_malloc_cnt;	/* processes that call another malloc than the library's */
	uint32_t own_malloc_pid;	/* pid of the last one */
	uint32_t began_cnt;	/* programs in which the library started */
	uint32_t limited_cnt;	/* processes not recorded: their address space is limited */
	uint64_t lost[HEAP_SHARE_KINDS];	/* for lack of a chunk, by kind */
	/* when a process began and ended writing HEAP_SHARE_TIMED records */
	uint64_t timed_from, timed_to;
	/* total time of stacks_timed allocations with stacks, without the longest */
	uint64_t stack_time;
	uint64_t stacks_timed;
	uint32_t namespace_cnt;	/* processes of other pid namespaces; their events are lost */
	uint32_t apart_cnt;	/* libraries opened in a separate scope: RTLD_DEEPBIND, dlmopen */
	uint32_t owner[HEAP_CHUNKS_MAX];	/* thread id; 0: the chunk is unused */
	uint64_t sample_mean;	/* mean bytes between samples; 0: all allocations are recorded */
};

#define HEAP_SHARE_HEAD_BYTES (3 * HEAP_CHUNK_BYTES)
/* The head's last chunk is unused from here on: a process writes its records for timing there. */
#define HEAP_SHARE_ASIDE (2 * HEAP_CHUNK_BYTES + 1024)
#define HEAP_SHARE_TIMED 512u
#define HEAP_SHARE_TOOK_MAX (1u << 15)	/* a longer time includes an interruption of the thread */

_Static_assert(sizeof(struct heap_share_record) == 32 && HEAP_CHUNK_RECORDS * 32 < HEAP_CHUNK_BYTES,
	       "a chunk has room for its records");
_Static_assert(sizeof(struct heap_share_head) == 136 + 4 * HEAP_CHUNKS_MAX &&
	       sizeof(struct heap_share_head) <= HEAP_SHARE_ASIDE, "the head has no holes");
