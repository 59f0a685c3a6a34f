/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* task_table_state: private state of task_table.c (maps, rows) and task_events.c (task records). */
#pragma once

#include "base/hash_map.h"
#include "record/tasks/task_table.h"

struct task_list {
	void **v;
	size_t cnt, cap;
};

/* A mark or a command line for a pid that is still unknown. */
struct task_waiting {
	uint32_t pid;
	bool workload;
	char *cmdline;
};

struct task_snap_runner {
	uint32_t utid, tid;	/* utid 0: none; the thread may have been dropped */
	uint64_t ts_ns;
};

struct task_table {
	const struct task_table_config *config;
	struct hash_map by_tid, by_pid, by_waiting;
	struct task_list threads, processes;
	struct task_list used_threads, used_processes;
	uint32_t next_utid, next_upid;
	struct row_writer *task_events, *rss_snaps;	/* rows of the current block */
	uint64_t epoch;			/* number of the current block */
	uint64_t start_ns;		/* start of the recording */
	bool is_first;			/* the current block is the recording's first */
	uint64_t snap_ns;		/* time of the last snapshot row; 0: none yet */
	struct task_snap_runner *snap_runners;	/* by cpu */
	size_t snap_runner_cap;
	bool spread;			/* descendants lack workload flags */
	bool failed;			/* out of memory in this block */
	uint64_t workload_execs;
};

void task_spread_workload(struct task_table *id);

/* Joins arguments, which are separated by NUL, with spaces; malloc'ed. */
char *task_join_args(const char *args, size_t args_len);

/* Add a task to the list and to the chain of its id. NULL: out of memory (failed is set). */
struct task_thread *task_thread_make(struct task_table *id, uint32_t tid, uint64_t since_ns,
				       uint64_t seen_ns);
struct task_process *task_process_make(struct task_table *id, uint32_t pid, uint64_t since_ns);

/* Makes tid mean the existing thread `of` from since_ns on. 0 or -ENOMEM. */
int task_thread_alias(struct task_table *id, uint32_t tid, uint64_t since_ns,
		      struct task_thread *of);

static inline struct task_thread *task_thread_self(struct task_thread *t)
{
	return t && t->same ? t->same : t;
}

/*
 * Like task_table_thread_at() and task_table_process_at(), but return NULL if the task is unknown.
 */
struct task_thread *task_thread_find(struct task_table *id, uint32_t tid, uint64_t ts_ns);
struct task_process *task_process_find(struct task_table *id, uint32_t pid, uint64_t ts_ns);
