/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * dense_ids: numbers the threads and processes of a trace from 0 on, for use as array indexes.
 *
 *     utid, upid --[dense_ids]--> 0 .. cnt-1
 *
 * Numbers 0..15 are the pseudo ids (EVENT_ID_*) themselves; 16 + i is row i of trace_threads() or
 * trace_processes(). An id that is in neither list becomes EVENT_ID_UNKNOWN. A row is looked up
 * when its id is first used, so a trace that was opened quickly reads no other rows. Threads: any.
 * The trace must outlive the struct.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/trace.h"

struct dense_ids {
	const struct trace *trace;
	uint32_t thread_cnt, process_cnt;	/* including 16 pseudo ids */
	/*
	 * By dense number; 1: the number equals the id. Relaxed atomics suffice, because elements
	 * do not depend on each other.
	 */
	_Atomic uint8_t *thread_is_id, *process_is_id;
	_Atomic uint32_t *process_of;	/* by thread: process + 1; 0: not looked up yet */
	struct task_names *names;	/* empty until task_names_prepare() */
};

int dense_init(struct dense_ids *d, const struct trace *t);
void dense_done(struct dense_ids *d);

/* The slow path of the functions below. */
uint32_t dense_look_up_thread(const struct dense_ids *d, uint32_t utid);
uint32_t dense_look_up_process(const struct dense_ids *d, uint32_t upid);
uint32_t dense_look_up_process_of(const struct dense_ids *d, uint32_t thread);

static inline uint32_t dense_thread(const struct dense_ids *d, uint32_t utid)
{
	if (utid < d->thread_cnt &&
	    atomic_load_explicit(&d->thread_is_id[utid], memory_order_relaxed))
		return utid;
	return dense_look_up_thread(d, utid);
}

static inline uint32_t dense_process(const struct dense_ids *d, uint32_t upid)
{
	if (upid < d->process_cnt &&
	    atomic_load_explicit(&d->process_is_id[upid], memory_order_relaxed))
		return upid;
	return dense_look_up_process(d, upid);
}

/* Returns the dense process of a dense thread. */
static inline uint32_t dense_process_of(const struct dense_ids *d, uint32_t thread)
{
	uint32_t p = atomic_load_explicit(&d->process_of[thread], memory_order_relaxed);

	return p ? p - 1 : dense_look_up_process_of(d, thread);
}

/* Return the row of a task, by dense number; NULL: pseudo id. */
const struct trace_thread *dense_thread_row(const struct dense_ids *d, uint32_t thread);
const struct trace_process *dense_process_row(const struct dense_ids *d, uint32_t process);

/* Returns "[idle]", "[unknown]", "[irq]" or "[filtered]"; NULL: other id. */
const char *dense_pseudo_name(uint32_t id);

/* Return the last name of a task, by dense number; never NULL. */
const char *dense_thread_comm(const struct dense_ids *d, uint32_t thread);
const char *dense_process_comm(const struct dense_ids *d, uint32_t process);
/* Return the id of a task in the trace, by dense number. */
uint32_t dense_utid(const struct dense_ids *d, uint32_t thread);
uint32_t dense_upid(const struct dense_ids *d, uint32_t process);

/* ---- names over time ---- */

/*
 * Names of threads and processes over time, from task events (new, exec, rename, snapshot). A
 * process has the name of its main thread; a thread that calls exec becomes the main thread. A
 * task's first known name is used for all earlier time, too. A rename that is part of an exec takes
 * effect at the exec. Only tasks with several names take memory.
 *
 * Threads: task_names_prepare() only in the analysis's own thread, all others in any thread.
 */

struct task_name {
	uint64_t from_ns, to_ns;	/* 0: before all events; UINT64_MAX: after all events */
	const char *name;
	bool is_last;		/* same as the name in the row of the thread or process */
};

/* Rename of a member: a dense thread, or thread_cnt + a dense process. */
struct task_rename {
	uint64_t ts_ns;
	uint32_t member;
};

struct task_names {
	bool is_ready;
	/* by member: range of its names; cnt 0: it has only one name */
	uint32_t *first, *cnt;
	struct task_name *names;	/* names of a member are adjacent, in order of time */
	size_t name_cnt;
	struct task_rename *renames;	/* in order of time */
	size_t rename_cnt;
};

/* Reads the task events, on the first call. 0 or -ENOMEM. */
int task_names_prepare(const struct dense_ids *d);

/*
 * Returns the name of a member (a dense thread, or thread_cnt + a dense process) at ts_ns. NULL:
 * the member has only one name, or task_names_prepare() was not called.
 */
const struct task_name *task_name_at(const struct dense_ids *d, uint32_t member, uint64_t ts_ns);
/* As task_name_at(), but returns the text; never NULL. */
const char *task_name_text(const struct dense_ids *d, uint32_t member, uint64_t ts_ns);

/* Returns the index of the first element of renames at or after ts_ns. */
size_t task_renames_from(const struct dense_ids *d, uint64_t ts_ns);

/* Tasks whose renames are counted together; members as in struct task_rename. */
struct task_set {
	uint32_t cnt, members[3];
};

/* Returns the set of a thread and its process. */
static inline struct task_set task_set_of(const struct dense_ids *d, uint32_t thread)
{
	return (struct task_set){ 2, { thread, d->thread_cnt + dense_process_of(d, thread) } };
}

/*
 * task_renames_between() counts the renames of the tasks in (from_ns, to_ns]. task_rename_instant()
 * returns the time of the n-th rename after from_ns; n 0: from_ns.
 */
uint32_t task_renames_between(const struct dense_ids *d, const struct task_set *tasks,
			      uint64_t from_ns, uint64_t to_ns);
uint64_t task_rename_instant(const struct dense_ids *d, const struct task_set *tasks,
			     uint64_t from_ns, uint32_t n);
/* Returns whether any of the tasks has several names. */
static inline bool task_has_renames(const struct dense_ids *d, const struct task_set *tasks)
{
	const struct task_names *n = d->names;

	for (uint32_t i = 0; n->is_ready && i < tasks->cnt; i++)
		if (n->cnt[tasks->members[i]])
			return true;
	return false;
}

/* Returns the first time after ts_ns at which a task is renamed, or UINT64_MAX. */
uint64_t task_names_end(const struct dense_ids *d, const struct task_set *tasks, uint64_t ts_ns);
