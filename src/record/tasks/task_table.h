/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * task_table: finds the thread of a tid and the process of a pid at a given time.
 *
 *     wire task records --> [task_table] --> utid, upid for every other record; PROCESSES,
 *                                            THREADS, TASK_EVENTS, RSS_* rows of the block
 *
 * At ts, a tid means the last thread that was created with this tid (TASK_NEW, or the start time of
 * a snapshot row) at or before ts. A tid keeps its meaning after the thread's exit, because the
 * last switch away from a thread follows its exit. For a tid without a creation record (its fork
 * was lost) an entry is added, which later records complete. utid and upid are ascending from
 * EVENT_ID_FIRST and are never reused.
 *
 * Exited tasks are dropped TASK_TABLE_KEEP_NS after their end: memory is proportional to the number
 * of live tasks, not to the recording's length.
 *
 * Threads: one. Pointers to tasks are valid until the next task_table_begin().
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/wire.h"
#include "format/rows.h"

#define TASK_TABLE_KEEP_NS 10000000000ull
#define TASK_TABLE_RSS_CNT 5		/* file, anon, swap, shmem, total_vm */

struct task_table;

#define TASK_TABLE_HELPERS 2
struct task_table_config {
	/*
	 * pid of the recorder; TRACE_TASK_RECORDER is set only for threads of this process and of
	 * the processes in helper_pids
	 */
	uint32_t recorder_pid;
	/* pids of the recorder's helpers; 0: none */
	uint32_t helper_pids[TASK_TABLE_HELPERS];
	uint32_t command_pid;		/* pid of the command; 0: none */
	uint32_t page_bytes;		/* 0: 4096 */
	uint64_t online_cpus;		/* mask; 0: unknown, or there are CPUs above 63 */
	uint32_t online_cnt;		/* 0: unknown */
	bool all_cmdlines; /* keep all command lines, not just those of the workload */
};

/*
 * Lifetime of a thread or process, of which this is the first member. Successive tasks may have the
 * same id.
 */
struct task_life {
	uint64_t since_ns;		/* time from which the id means this task */
	uint64_t end_ns;		/* 0: not ended */
	void *older;			/* the previous thread or process with this id */
	uint64_t used_block;		/* epoch of the last block in which the task has a row */
	/*
	 * number of CPUs on which the thread runs, or of inodes that the process was the last to
	 * dirty; a pinned task is not dropped
	 */
	uint32_t pinned;
};

struct task_process {
	struct task_life life;
	uint32_t upid, pid, ns_pid, ppid, uid, flags, exit_code;
	uint32_t parent_upid;
	uint64_t start_ns, cgroup_id;
	uint64_t exec_ns;		/* time of the last recorded exec; 0: none */
	char comm[TRACE_COMM_LEN + 1];
	char *exe, *cmdline;		/* NULL: unknown */
	struct task_process *parent;	/* NULL: unknown, or dropped */
	uint32_t thread_cnt;		/* number of threads of this process */
	bool leader_exited;		/* exit_code is the leader's */
	bool changed; /* changed by a caller between blocks: add a row to the next block */
	uint8_t rss_known;		/* bit per element of rss_bytes */
	uint64_t rss_bytes[TASK_TABLE_RSS_CNT];
	uint64_t rss_ns[TASK_TABLE_RSS_CNT];	/* time of each value */
};

struct task_thread {
	struct task_life life;
	uint32_t utid, tid, ns_tid, flags;
	struct task_process *process;	/* NULL: unknown */
	uint64_t start_ns, sum_exec_start_ns, sum_exec_end_ns;
	uint64_t seen_ns;		/* time of its first record */
	/*
	 * state and activity at the recording's start, as read at state_ns, if the thread was not
	 * running; else 0
	 */
	uint32_t start_state, start_call;
	uint64_t state_ns;
	char comm[TRACE_COMM_LEN + 1];
	struct trace_sched sched;
	uint32_t snap_cnt;
	uint32_t key_tid;		/* tid by which this entry is found */
	/* thread that key_tid means from since_ns on; NULL: this entry itself */
	struct task_thread *same;
	bool took_over;			/* has taken the leader's tid by an exec */
	/* time of the last switch away from the thread; set only if exec_takes_over() uses it */
	uint64_t left_ns;
	uint32_t slot;	/* slot in the block writer; valid if slot_block is the current epoch */
	uint64_t slot_block;
};

/* config must stay valid until task_table_free(). */
int task_table_new(struct task_table **ret, const struct task_table_config *config);
void task_table_free(struct task_table *id);

int task_table_add_workload(struct task_table *id, uint32_t pid);
int task_table_set_cmdline(struct task_table *id, uint32_t pid, const char *args, size_t args_len);

/*
 * Begins a block whose slice begins at from_ns. epoch: increases with every call, from 1; start_ns:
 * start of the recording.
 */
int task_table_begin(struct task_table *id, uint64_t epoch, uint64_t from_ns, uint64_t start_ns);

/* A record. Records are sorted by time over all CPUs. */
struct task_step {
	uint64_t ts_ns;
	const struct wire_hdr *h;
	uint32_t row;			/* index in the rows of its kind; unused for task records */
	uint32_t number;		/* order of arrival */
};

/* Applies the slice's task records, sorted by ts_ns. Appends TASK_EVENTS and RSS_SNAPS rows. */
int task_table_apply(struct task_table *id, const struct task_step *records, size_t cnt,
		   struct row_writer *task_events, struct row_writer *rss_snaps);

/*
 * Return the thread that tid (not 0), or the process that pid (not 0), means at ts_ns. An unknown
 * task gets a new entry. NULL: out of memory. *ret_until_ns (may be NULL): time from which the id
 * means another task.
 */
struct task_thread *task_table_thread_at(struct task_table *id, uint32_t tid, uint64_t ts_ns,
					uint64_t *ret_until_ns);
struct task_process *task_table_process_at(struct task_table *id, uint32_t pid, uint64_t ts_ns,
					  uint64_t *ret_until_ns);

/* Add the task's row to the block. Call these for each task to which the block refers. */
int task_table_use_thread(struct task_table *id, struct task_thread *t);
int task_table_use_process(struct task_table *id, struct task_process *p);

/*
 * Adds the rows of all tasks alive at from_ns. Call this if the block may become the first of a
 * trace.
 */
int task_table_use_alive(struct task_table *id, uint64_t from_ns);

/*
 * Sets a memory counter (0..3: order of trace_rss.bytes, 4: total_vm) to `bytes` at ts_ns, unless a
 * later value is known.
 */
void task_table_note_rss(struct task_process *p, unsigned int member, uint64_t bytes,
		       uint64_t ts_ns);

/* Writes one RSS_STATE row per live process whose memory is known. */
int task_table_put_rss_state(struct task_table *id, struct row_writer *w, uint64_t ts_ns);

/*
 * Writes PROCESSES and THREADS rows of all used tasks. No further tasks may be used in this block.
 */
int task_table_put_tasks(struct task_table *id, struct row_writer *processes,
		       struct row_writer *threads);

/* Returns the used processes; valid until the next task_table_begin(). */
const struct task_process *const *task_table_used_processes(struct task_table *id, size_t *ret_cnt);

/* Returns the thread on cpu according to snapshot rows at or after from_ns; NULL: none. */
struct task_thread *task_table_snap_runner(struct task_table *id, uint32_t cpu, uint64_t from_ns);
/* Returns the number of execs by processes of the workload. */
uint64_t task_table_workload_execs(const struct task_table *id);
/* Returns true if a snapshot row at or after from_ns was applied. */
bool task_table_has_snap_since(const struct task_table *id, uint64_t from_ns);
