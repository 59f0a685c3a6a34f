/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * block_writer: encodes one slice of time, over all CPUs, as one self-contained block.
 *
 * src/ring --raw wire records--> [block_writer] --bytes--> src/store
 *
 * A slice is [from_ns, to_ns), and each slice starts at the end of the previous slice. The caller
 * passes all records with ts_ns < to_ns that it has read and not passed before. A late record
 * (ts_ns < from_ns) keeps its time, so the block's first_ns may be before from_ns.
 *
 * The writer keeps the state that makes each block decodable without other blocks: the thread of
 * each tid, the thread on each CPU, RSS and mapped size of processes, names. Layout and validity
 * rule: schema/FORMAT.md.
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

#define BLOCK_LEVEL_NONE (-1)	/* store sections unpacked */

struct block_writer_config {
	unsigned int cpu_cnt;		/* highest possible CPU number + 1 */
	int zstd_level;			/* 1..19; 0: default; or BLOCK_LEVEL_NONE */
	bool filtered;	/* --only: switches of threads outside the workload are not recorded */
	bool no_switches; /* switches are not recorded, so threads on CPUs are unknown */
	struct task_table_config tasks;
	bool watch_requests;	/* add LOSS rows for missing ends of requests: block_requests.c */
	/*
	 * cpu_cnt entries, owned by the caller. NULL: unknown; then no CPU is assumed to be idle.
	 */
	const bool *cpu_online;
	struct id_names_calls names;
	const char *const *span_names;	/* span_names[wire_span.nr - 1]; owned by the caller */
	unsigned int span_name_cnt;
};

/* Complete wire records, one after another, each aligned to 8 bytes. */
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
	/* clipped to the slice; there are no records of a source during its gaps */
	const struct trace_gap *gaps;
	size_t gap_cnt;
	const struct trace_clock *clocks;	/* at least one */
	size_t clock_cnt;
	const struct trace_mark *marks;
	size_t mark_cnt;
	bool is_last;			/* the recording ends with this slice */
};

/*
 * Returns true if events of this hook were lost in the slice, or not recorded because their source
 * was off. whole_class: also if events of another hook of the same class were lost.
 */
bool block_slice_lacks(const struct block_slice *s, unsigned int hook, bool whole_class);

/* Statistics that a caller may print. */
struct block_stats {
	/* by enum event_class; snapshot rows and names are not counted */
	uint64_t event_cnt[EVENT_CLASS_CNT];
	uint64_t late_cnt;		/* records with ts_ns < from_ns */
	uint64_t bad_cnt;		/* invalid records: 0 unless there is a bug */
	uint64_t unseen_cnt[EVENT_CLASS_CNT];	/* losses that no counter shows */
};

int block_writer_new(struct block_writer **ret, const struct block_writer_config *config);
void block_writer_free(struct block_writer *w);

/*
 * Marks a process, by its present pid, as part of the workload, with its present and later
 * descendants. Call this before the first slice in which the process is to be marked.
 */
int block_writer_add_workload(struct block_writer *w, uint32_t pid);

/* Returns the number of execs by processes of the workload in all blocks so far. */
uint64_t block_writer_workload_execs(const struct block_writer *w);

/*
 * Sets a command line from another source (/proc at the snapshot). Arguments are separated by NUL.
 */
int block_writer_set_cmdline(struct block_writer *w, uint32_t pid, const char *args,
			     size_t args_len);

/*
 * Adds a row for every live task to the next block, even if its events do not refer to the task.
 * This block may become the first block of a trace if older ones are dropped.
 */
void block_writer_force_keyframe(struct block_writer *w);

/*
 * Encodes a slice. The writer owns *ret_block, which is valid until the next call. Segments may
 * contain TASK_SNAP records. -E2BIG: more than CHUNK_EVENTS_MAX (8 Mi) events; -EINVAL: to_ns <
 * from_ns. After an error there is no block, and the next slice may start at the same from_ns.
 */
int block_writer_encode(struct block_writer *w, const struct block_slice *s, const void **ret_block,
			size_t *ret_bytes, struct block_stats *ret_stats);

/*
 * request_event: converts a record of class block to the corresponding event.
 *
 *     wire record --[request_event]--> struct event --> src/model/request_track
 *                                  \--> struct writeback --> src/model/writeback_owners
 *
 * Columns that the recorder fills later (thread, path, owner) are 0.
 */
/* Returns true if a record is a step of a request or a bio. */
bool request_is_step(const struct wire_hdr *h);
/* Returns true if a step has pages; the type of h is then struct wire_request_issue. */
bool request_has_pages(const struct wire_hdr *h);
/* Converts h, for which request_is_step() is true. */
void request_event_of(const struct wire_hdr *h, struct event *ret);
/* Returns the pages of a record, for writeback_owners_of(). */
struct writeback request_writeback_of(const struct wire_request_issue *r);
