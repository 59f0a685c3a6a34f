/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * identity: which thread a tid, and which process a pid, means at an instant.
 *
 *     wire task records --> [identity] --> utid, upid for every other record; PROCESSES,
 *                                          THREADS, TASK_EVENTS, RSS_* rows of the block
 *
 * A tid at ts means the latest creation (TASK_NEW, or the start time of a snapshot row) of that
 * tid at or before ts. An exit does not end that: the last switch away from a thread comes after
 * it. A tid nobody has announced (its fork was lost) gets an identity of its own, filled in by
 * whatever is learned later. utid and upid count up from EVENT_ID_FIRST and are never reused.
 *
 * Exited tasks are forgotten IDENTITY_KEEP_NS after their end: memory follows the number of live
 * tasks, not the length of the recording.
 *
 * Threads: one. Pointers to tasks stay valid until the next identity_begin().
 */
#ifndef IDENTITY_H
#define IDENTITY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/wire.h"
#include "chunk/row_codec.h"
#include "chunk/rows.h"

#define IDENTITY_KEEP_NS 10000000000ull
#define IDENTITY_RSS_CNT 5		/* file, anon, swap, shmem, total_vm */

struct identity;

struct ident_process {
	uint32_t upid, pid, ns_pid, ppid, uid, flags, exit_code;
	uint32_t parent_upid;
	uint64_t start_ns, end_ns, cgroup_id;
	uint64_t since_ns;		/* the pid means this process from here on */
	char comm[TRACE_COMM_LEN + 1];
	char *exe, *cmdline;		/* NULL: not known */
	struct ident_process *older;	/* who had the pid before */
	struct ident_process *parent;	/* NULL: not known, or forgotten */
	uint32_t thread_cnt;		/* ident_thread.process pointing here */
	bool leader_exited;		/* exit_code is the leader's */
	bool changed; /* from outside, between blocks: the next one gives it a row */
	uint64_t used_block;		/* the last epoch in which it got a row */
	uint8_t rss_known;		/* bit per rss[] */
	uint64_t rss_bytes[IDENTITY_RSS_CNT];
	uint64_t rss_ns[IDENTITY_RSS_CNT];	/* when it was so */
	uint32_t pinned;		/* dirtied that many inodes last: not to be forgotten */
};

struct ident_thread {
	uint32_t utid, tid, ns_tid, flags;
	struct ident_process *process;	/* NULL: not known */
	uint64_t start_ns, end_ns, sum_exec_start_ns, sum_exec_end_ns;
	uint64_t since_ns;		/* the tid means this thread from here on */
	uint64_t seen_ns;		/* first heard of */
	char comm[TRACE_COMM_LEN + 1];
	struct ident_thread *older;	/* who had the tid before */
	uint64_t used_block;
	uint32_t pinned;		/* runs on that many CPUs: not to be forgotten */
	uint32_t snap_cnt;
	uint32_t slot;			/* the block writer's: valid when slot_block is its epoch */
	uint64_t slot_block;
};

struct identity_config {
	uint32_t recorder_pid;
	const uint32_t *helper_pids;	/* helper_cnt, 0: none; they outlive the identity */
	unsigned int helper_cnt;
	uint32_t page_bytes;
	bool all_cmdlines;
};

int identity_new(struct identity **ret, const struct identity_config *config);
void identity_free(struct identity *id);

int identity_add_workload(struct identity *id, uint32_t pid);
int identity_set_cmdline(struct identity *id, uint32_t pid, const char *args, size_t args_len);

/* Starts a block whose slice starts at from_ns; epoch is a new number from 1 up; start_ns is the recording's start. */
int identity_begin(struct identity *id, uint64_t epoch, uint64_t from_ns, uint64_t start_ns);

/*
 * Applies the slice's task records, which are sorted by ts_ns. Appends TASK_EVENTS and RSS_SNAPS rows.
 */
int identity_apply(struct identity *id, const struct wire_hdr *const *records, size_t cnt,
		   struct row_writer *task_events, struct row_writer *rss_snaps);

/*
 * Who tid (not 0) or pid (not 0) is at ts_ns. Makes one up if nobody is known; NULL: out of memory.
 * *ret_until_ns (may be NULL): from then on the id means another one.
 */
struct ident_thread *identity_thread_at(struct identity *id, uint32_t tid, uint64_t ts_ns,
					uint64_t *ret_until_ns);
struct ident_process *identity_process_at(struct identity *id, uint32_t pid, uint64_t ts_ns,
					  uint64_t *ret_until_ns);

/* The block refers to it: it gets a row. */
int identity_use_thread(struct identity *id, struct ident_thread *t);
int identity_use_process(struct identity *id, struct ident_process *p);

/* The block is one to begin with: every task alive at from_ns gets a row, referred to or not. */
int identity_use_alive(struct identity *id, uint64_t from_ns);

/* A memory counter (0..3 as enum TRACE_RSS, 4 total_vm) is bytes from ts_ns on, as far as is known. */
void identity_note_rss(struct ident_process *p, unsigned int member, uint64_t bytes,
		       uint64_t ts_ns);

/* One RSS_STATE row per process alive whose memory is known. */
int identity_put_rss_state(struct identity *id, struct row_writer *w, uint64_t ts_ns);

/* PROCESSES and THREADS rows of all that was used, after which nothing more may be used in this block. */
int identity_put_tasks(struct identity *id, struct row_writer *processes,
		       struct row_writer *threads);

/* Calls f for each used process. */
void identity_each_used_process(struct identity *id,
				void (*f)(void *ctx, const struct ident_process *p), void *ctx);

/* The thread last seen running on cpu by a snapshot row at or after from_ns; NULL: none. */
struct ident_thread *identity_snap_runner(struct identity *id, uint32_t cpu, uint64_t from_ns);
/* A snapshot row came at or after from_ns. */
bool identity_has_snap_since(const struct identity *id, uint64_t from_ns);

#endif /* IDENTITY_H */
