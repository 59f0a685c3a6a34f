/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * task_table: finds the thread of a tid and the process of a pid at a given time.
 *
 *     wire task records --> [task_table] --> utid, upid for every other record; PROCESSES,
 *                                            THREADS, TASK_EVENTS, RSS_* rows of the block
 *
 * At ts, a tid means the thread of its latest creation (TASK_NEW, or the start time of a snapshot
 * row) at or before ts. An exit does not end this, because the last switch away from a thread comes
 * after its exit. A tid without a creation record (its fork was lost) gets an entry, which later
 * records complete. utid and upid count up from EVENT_ID_FIRST and are never reused.
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
#include "format/row_codec.h"
#include "format/rows.h"

#define TASK_TABLE_KEEP_NS 10000000000ull
#define TASK_TABLE_RSS_CNT 5		/* file, anon, swap, shmem, total_vm */

struct task_table;

#define TASK_TABLE_HELPERS 2
struct task_table_config {
	/* the recorder; only the threads of this and helper_pids get TRACE_TASK_RECORDER */
	uint32_t recorder_pid;
	/* helper processes of the recorder; 0: none */
	uint32_t helper_pids[TASK_TABLE_HELPERS];
	uint32_t command_pid;		/* waits for the recorder at the start; 0: no command */
	uint32_t page_bytes;		/* 0: 4096 */
	uint64_t online_cpus;		/* mask; 0: unknown, or a CPU number is above 63 */
	uint32_t online_cnt;		/* 0: unknown */
	bool all_cmdlines; /* keep command lines of every process, not just the workload's */
};

/*
 * Lifetime of a thread or process, whose first member this is. Several of them may have the same
 * id, one after the other.
 */
struct task_life {
	uint64_t since_ns;		/* from this time on, the id means this task */
	uint64_t end_ns;		/* 0: it has not ended */
	void *older;			/* the previous thread or process with this id */
	uint64_t used_block;		/* last epoch in which the task got a row */
	/*
	 * number of CPUs on which the thread is running, or of inodes that the process dirtied
	 * last; if not 0, the task is kept
	 */
	uint32_t pinned;
};

struct task_process {
	struct task_life life;
	uint32_t upid, pid, ns_pid, ppid, uid, flags, exit_code;
	uint32_t parent_upid;
	uint64_t start_ns, cgroup_id;
	uint64_t exec_ns;		/* time of its last exec; 0: not in the trace */
	char comm[TRACE_COMM_LEN + 1];
	char *exe, *cmdline;		/* NULL: unknown */
	struct task_process *parent;	/* NULL: unknown, or forgotten */
	uint32_t thread_cnt;		/* number of threads of this process */
	bool leader_exited;		/* exit_code is the leader's */
	bool changed; /* a caller has changed it between blocks: the next block gets its row */
	uint8_t rss_known;		/* bit per element of rss_bytes */
	uint64_t rss_bytes[TASK_TABLE_RSS_CNT];
	uint64_t rss_ns[TASK_TABLE_RSS_CNT];	/* time of each counter */
};

struct task_thread {
	struct task_life life;
	uint32_t utid, tid, ns_tid, flags;
	struct task_process *process;	/* NULL: unknown */
	uint64_t start_ns, sum_exec_start_ns, sum_exec_end_ns;
	uint64_t seen_ns;		/* time of its first record */
	/*
	 * state and activity of a thread that was off the CPUs at the recording's start, as read at
	 * state_ns; 0: none
	 */
	uint32_t start_state, start_call;
	uint64_t state_ns;
	char comm[TRACE_COMM_LEN + 1];
	struct trace_sched sched;
	uint32_t snap_cnt;
	uint32_t key_tid;		/* the tid in whose chain it is */
	/* the thread that key_tid means from since_ns on; NULL: this thread */
	struct task_thread *same;
	bool took_over;			/* an exec assigned it the tid of the leader */
	uint64_t left_ns; /* last switch away from the thread, if an exec needs it; else 0 */
	uint32_t slot;	/* the block writer's; valid if slot_block is the current epoch */
	uint64_t slot_block;
};

/* The caller keeps config. */
int task_table_new(struct task_table **ret, const struct task_table_config *config);
void task_table_free(struct task_table *id);

int task_table_add_workload(struct task_table *id, uint32_t pid);
int task_table_set_cmdline(struct task_table *id, uint32_t pid, const char *args, size_t args_len);

/*
 * Begins a block whose slice begins at from_ns. epoch: a new number, at least 1; start_ns: start of
 * the recording.
 */
int task_table_begin(struct task_table *id, uint64_t epoch, uint64_t from_ns, uint64_t start_ns);

/* A record. Records are in order of time over all CPUs. */
struct task_step {
	uint64_t ts_ns;
	const struct wire_hdr *h;
	uint32_t row;			/* index among the rows of its kind; not for task records */
	uint32_t number;		/* order of arrival */
};

/* Applies the slice's task records, sorted by ts_ns. Appends TASK_EVENTS and RSS_SNAPS rows. */
int task_table_apply(struct task_table *id, const struct task_step *records, size_t cnt,
		   struct row_writer *task_events, struct row_writer *rss_snaps);

/*
 * Returns the thread that tid (not 0), or the process that pid (not 0), means at ts_ns. Adds an
 * entry if it is unknown; NULL: out of memory. *ret_until_ns (may be NULL): when the id begins to
 * mean another task.
 */
struct task_thread *task_table_thread_at(struct task_table *id, uint32_t tid, uint64_t ts_ns,
					uint64_t *ret_until_ns);
struct task_process *task_table_process_at(struct task_table *id, uint32_t pid, uint64_t ts_ns,
					  uint64_t *ret_until_ns);

/* Call if the block refers to the task: the task gets a row. */
int task_table_use_thread(struct task_table *id, struct task_thread *t);
int task_table_use_process(struct task_table *id, struct task_process *p);

/* Call if the block may be the first of a trace: every task that is alive at from_ns gets a row. */
int task_table_use_alive(struct task_table *id, uint64_t from_ns);

/* Sets a memory counter (0..3: order of trace_rss.bytes, 4: total_vm) to bytes from ts_ns on. */
void task_table_note_rss(struct task_process *p, unsigned int member, uint64_t bytes,
		       uint64_t ts_ns);

/* Writes one RSS_STATE row per live process whose memory is known. */
int task_table_put_rss_state(struct task_table *id, struct row_writer *w, uint64_t ts_ns);

/*
 * Writes PROCESSES and THREADS rows of all used tasks. The block must not use other tasks
 * afterwards.
 */
int task_table_put_tasks(struct task_table *id, struct row_writer *processes,
		       struct row_writer *threads);

/* Returns the used processes; valid until the next task_table_begin(). */
const struct task_process *const *task_table_used_processes(struct task_table *id, size_t *ret_cnt);

/* Returns the last thread that snapshot rows at or after from_ns saw running on cpu; NULL: none. */
struct task_thread *task_table_snap_runner(struct task_table *id, uint32_t cpu, uint64_t from_ns);
/* Returns the number of execs of the workload's processes. */
uint64_t task_table_workload_execs(const struct task_table *id);
/* Returns whether there was a snapshot row at or after from_ns. */
bool task_table_has_snap_since(const struct task_table *id, uint64_t from_ns);
