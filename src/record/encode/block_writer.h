/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * block_writer: turns one slice of time, all CPUs, into one self-contained block.
 *
 * src/ring --raw wire records--> [block_writer] --bytes--> src/store
 *
 * A slice is [from_ns, to_ns), and each slice starts where the previous one ended. The caller
 * passes every record it has read with ts_ns < to_ns that was in no earlier slice. A late record
 * (ts_ns < from_ns) is kept, with its true time; the block's first_ns covers it.
 *
 * The writer keeps the state that makes a block decodable alone: the thread that each tid means,
 * the thread on each CPU, RSS and mapped size per process, names. Layout and validity rule:
 * schema/FORMAT.md.
 *
 * Threads: a writer belongs to one thread. Errors: 0 or -errno; never prints.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/wire.h"
#include "format/event.h"
#include "format/rows.h"
#include "model/writeback_owners.h"
#include "record/tasks/id_names.h"
#include "record/tasks/task_table.h"

struct block_writer;

#define BLOCK_LEVEL_NONE (-1)	/* sections are stored as they are */

struct block_writer_config {
	unsigned int cpu_cnt;		/* highest possible CPU number + 1 */
	int zstd_level;			/* 1..19; 0 picks the default; BLOCK_LEVEL_NONE */
	bool filtered;			/* --only: a CPU's chain of switches has holes on purpose */
	bool no_switches; /* switches are not recorded: the thread on a CPU is unknown */
	struct task_table_config tasks;
	bool watch_requests;		/* declare unseen ends of requests: block_requests.c */
	/*
	 * cpu_cnt entries, which the caller keeps. NULL: unknown; then a CPU is idle only on
	 * evidence.
	 */
	const bool *cpu_online;
	struct id_names_calls names;
	const char *const *span_names;	/* of wire_span.nr - 1; the caller keeps them */
	unsigned int span_name_cnt;
};

/* Whole wire records, one after the other, each at an 8-byte boundary. */
struct block_segment {
	const void *data;	/* not NULL */
	size_t bytes;
};

struct block_slice {
	uint64_t from_ns, to_ns;
	const struct block_segment
		*segments; /* records of one ring stay in arrival order across its segments */
	size_t segment_cnt;
	const struct trace_loss *losses;
	size_t loss_cnt;
	const struct trace_cost *costs;
	size_t cost_cnt;
	const struct trace_hook_stat *hook_stats;
	size_t hook_stat_cnt;
	/* cut to the slice; no record of a gap's hooks is inside it */
	const struct trace_gap *gaps;
	size_t gap_cnt;
	const struct trace_clock *clocks;	/* at least one */
	size_t clock_cnt;
	const struct trace_mark *marks;
	size_t mark_cnt;
	bool is_last;			/* the recording ends with this slice */
};

/*
 * True when events of this hook were lost in the slice, or not taken because their source was off.
 * whole_class: also true if this holds for any other hook of its class.
 */
bool block_slice_lacks(const struct block_slice *s, unsigned int hook, bool whole_class);

/* Statistics that a caller may print. */
struct block_stats {
	/* by enum event_class, without rows of snapshots and names */
	uint64_t event_cnt[EVENT_CLASS_CNT];
	uint64_t late_cnt;		/* records with ts_ns < from_ns */
	uint64_t bad_cnt;		/* invalid records: 0 unless there is a bug */
	uint64_t unseen_cnt[EVENT_CLASS_CNT];	/* losses that only the records reveal */
};

int block_writer_new(struct block_writer **ret, const struct block_writer_config *config);
void block_writer_free(struct block_writer *w);

/*
 * Marks a process (by its pid now) as the workload's; its present and later descendants follow.
 * May be called at any time before the slice in which it first matters.
 */
int block_writer_add_workload(struct block_writer *w, uint32_t pid);

/* Returns how often processes of the workload have started a program, in all blocks so far. */
uint64_t block_writer_workload_execs(const struct block_writer *w);

/* Sets a command line read elsewhere (/proc at the snapshot); NUL separates the arguments. */
int block_writer_set_cmdline(struct block_writer *w, uint32_t pid, const char *args,
			     size_t args_len);

/*
 * The next block may become the first of a trace, if older ones are dropped: it gets a row for
 * every task alive, whether its events refer to it or not.
 */
void block_writer_force_keyframe(struct block_writer *w);

/*
 * Encodes a slice. *ret_block is owned by the writer and valid until the next call. TASK_SNAP
 * records may be in the segments like any other. -E2BIG: more than CHUNK_EVENTS_MAX (8 Mi) events;
 * -EINVAL: to_ns < from_ns. A call that fails makes no block; the next slice may start at its
 * from_ns.
 */
int block_writer_encode(struct block_writer *w, const struct block_slice *s, const void **ret_block,
			size_t *ret_bytes, struct block_stats *ret_stats);

extern const uint8_t wire_hook_class[];	/* by hook: enum event_class */

/*
 * request_event: converts a record of class block to the event that its block will have.
 *
 *     wire record --[request_event]--> struct event --> src/model/request_track
 *                                  \--> struct writeback --> src/model/writeback_owners
 *
 * Columns that the recorder looks up by itself (thread, path, owner) stay 0.
 */
/* Returns whether a record is a step of a request or a bio. */
bool request_is_step(const struct wire_hdr *h);
/* Returns whether such a record has pages: then it is a struct wire_request_issue. */
bool request_has_pages(const struct wire_hdr *h);
/* h: request_is_step(). */
void request_event_of(const struct wire_hdr *h, struct event *ret);
/* Returns the pages of a record that has them, to find their owner. */
struct writeback request_writeback_of(const struct wire_request_issue *r);
