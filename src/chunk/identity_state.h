/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* identity_state: what identity.c (maps, rows) and identity_task.c (task records) share; nobody else. */
#ifndef IDENTITY_STATE_H
#define IDENTITY_STATE_H

#include "base/idmap.h"
#include "chunk/identity.h"

struct ident_list {
	void **v;
	size_t cnt, cap;
};

/* What was said about a pid whose records have not come yet. */
struct ident_waiting {
	uint32_t pid;
	bool workload;
	char *cmdline;
};

struct ident_snap_runner {
	uint32_t utid, tid;	/* utid 0: none; the thread itself may be forgotten by now */
	uint64_t ts_ns;
};

struct identity {
	struct identity_config config;
	struct idmap by_tid, by_pid, by_waiting;
	struct ident_list threads, processes, waiting;
	struct ident_list used_threads, used_processes;
	uint32_t next_utid, next_upid;
	uint64_t epoch;			/* of the block being made */
	uint64_t start_ns;		/* of the recording */
	uint64_t snap_ns;		/* of the last snapshot row; 0: none yet */
	struct ident_snap_runner *snap_runners;	/* by cpu */
	uint32_t snap_runner_cnt;
	bool spread;			/* workload flags are to be passed on */
	bool failed;			/* out of memory in this block */
};

int ident_list_add(struct ident_list *l, void *p);
struct ident_waiting *ident_waiting_get(struct identity *id, uint32_t pid, bool make);
void ident_spread_workload(struct identity *id);

/* Arguments joined by NUL as one string joined by spaces; malloc'ed. */
char *ident_join_args(const char *args, size_t args_len);

/* New ones, put where they belong in the chain of their id. NULL: out of memory (failed is set). */
struct ident_thread *ident_thread_make(struct identity *id, uint32_t tid, uint64_t since_ns,
				       uint64_t seen_ns);
struct ident_process *ident_process_make(struct identity *id, uint32_t pid, uint64_t since_ns);

/* As identity_x_at(), but NULL when nobody is known. */
struct ident_thread *ident_thread_find(struct identity *id, uint32_t tid, uint64_t ts_ns);
struct ident_process *ident_process_find(struct identity *id, uint32_t pid, uint64_t ts_ns);

#endif /* IDENTITY_STATE_H */
