/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * scope: the threads and processes of a query, and the keys by which its results are grouped.
 *
 *     report_request --[scope]--> thread in or out
 *     by, thread     --[grouping]--> group number, and its labels
 *
 * Without a filter, as in plain SQL, everything is in scope. By default a report excludes the
 * recorder, the idle task and threads excluded by --only. [unknown] and [irq] are in scope unless
 * the filter has an id or a name, or selects the workload. Threads: one.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/context/dense_ids.h"
#include "analyze/context/keys.h"
#include "base/hash_map.h"

/*
 * Filters, which are combined with "and". tids and thread select threads, which excludes figures of
 * whole processes, such as RSS.
 */
struct scope_filter {
	const uint32_t *pids, *tids;	/* NULL: no filter */
	unsigned int pid_cnt, tid_cnt;
	const char *comm, *thread;	/* exact name or GLOB pattern; NULL: no filter */
	bool workload;			/* only processes and threads of the workload */
	bool with_recorder, with_idle;
	/*
	 * recorded with --only: other processes have events only at the edges of the workload's
	 * slices
	 */
	bool workload_only;
	bool merges_unknown; /* merge rows of [unknown] that differ only in submitter and reason */
	bool with_pseudo; /* always include pseudo ids, so that sums per CPU are complete */
};

struct scope {
	/* by dense_thread(): SCOPE_x; NULL: everything is in scope */
	uint8_t *threads;
	uint8_t *processes;
	/* by index in task_names: SCOPE_x; NULL: no filter by name */
	uint8_t *names;
	const struct dense_ids *ids;
	struct scope_filter filter;
};

/*
 * Initializes s. Whether a thread or process is in the scope is decided on first use: it must match
 * f, with any name that it ever had; functions ending in _at() also require that the name at the
 * time matches. f's lists and names must outlive s. 0 or -ENOMEM.
 */
int scope_init(struct scope *s, const struct dense_ids *d, const struct scope_filter *f);
void scope_done(struct scope *s);

enum { SCOPE_UNDECIDED, SCOPE_OUT, SCOPE_IN };

/* The slow path of the functions below. */
bool scope_decide_thread(const struct scope *s, uint32_t thread);
bool scope_decide_process(const struct scope *s, uint32_t process);

/* Returns whether the filter selects single threads. */
static inline bool scope_is_of_threads(const struct scope *s)
{
	return s->filter.tids || s->filter.thread;
}

/* Returns whether the filter selects processes or threads. */
static inline bool scope_is_of_some(const struct scope *s)
{
	return scope_is_of_threads(s) || s->filter.pids || s->filter.comm || s->filter.workload;
}

static inline bool scope_has_thread(const struct scope *s, uint32_t thread)
{
	return !s->threads || s->threads[thread] == SCOPE_IN ||
	       (s->threads[thread] == SCOPE_UNDECIDED && scope_decide_thread(s, thread));
}

static inline bool scope_has_process(const struct scope *s, uint32_t process)
{
	return !s->processes || s->processes[process] == SCOPE_IN ||
	       (s->processes[process] == SCOPE_UNDECIDED && scope_decide_process(s, process));
}

/*
 * Returns whether the names at ts_ns match. Lowers *end_ns, unless NULL, to the end of the time for
 * which the result is valid.
 */
bool scope_decide_at(const struct scope *s, uint32_t thread, uint32_t process, uint64_t ts_ns,
		     uint64_t *end_ns);

/* Returns whether the thread is in the scope at ts_ns. */
static inline bool scope_has_thread_at(const struct scope *s, uint32_t thread, uint64_t ts_ns,
				       uint64_t *end_ns)
{
	return scope_has_thread(s, thread) &&
	       (!s->names || scope_decide_at(s, thread, dense_process_of(s->ids, thread), ts_ns,
					     end_ns));
}

static inline bool scope_has_process_at(const struct scope *s, uint32_t process, uint64_t ts_ns,
					uint64_t *end_ns)
{
	return scope_has_process(s, process) &&
	       (!s->names || scope_decide_at(s, UINT32_MAX, process, ts_ns, end_ns));
}

/*
 * Merges groups, each of which is a task: into() returns the group whose row includes this group,
 * or GROUPING_FAILED.
 */
struct group_merge {
	uint32_t (*into)(void *ctx, uint32_t group);
	void *ctx;
};

struct group_first {		/* a member with its names at the time; NULL: last name */
	uint32_t member;
	const char *comm, *thread_name;
};

/*
 * Groups by a set of keys. If thread is a key, a group is a thread. Otherwise a group consists of
 * the threads and processes that have the same process and texts. If a name is a key, a thread or
 * process belongs to the group of its name at the time; if process and name are keys, a group is a
 * process while it has the name.
 *
 * A member of a group is a thread, or thread_cnt + a process for figures of whole processes.
 */
struct grouping {
	unsigned int by;		/* keys in KEYS_WHO; 0: all members are one group */
	unsigned int others;		/* other keys, which the view handles itself */
	const struct dense_ids *ids;
	const struct group_merge *merge;	/* NULL: each group has its own row */
	/* for text keys: groups are numbered when a member is first used */
	struct task_keys keys;
	uint32_t first;			/* first member with an element in groups */
	uint32_t *groups;		/* by member: group + 1; 0: not numbered yet */
	struct group_first *firsts;	/* by group: the member that was used first */
	size_t first_cap;
	uint64_t label_ns;	/* time for the names in labels; 0: last names */
	/* maps (value of a key, number of the keys before it) to a number */
	struct hash_map map;
};

/* by: 1u << REPORT_BY_x. 0 or -ENOMEM. */
int grouping_init(struct grouping *g, const struct dense_ids *d, unsigned int by);
/* Numbers all groups in the order of members. 0 or -ENOMEM. */
int grouping_number_all(struct grouping *g);
void grouping_done(struct grouping *g);

#define GROUPING_FAILED UINT32_MAX	/* returned as group: out of memory */
/*
 * Returns the group of a thread at ts_ns. Lowers *end_ns, unless NULL, to the end of the time for
 * which the result is valid.
 */
uint32_t grouping_of_thread(struct grouping *g, uint32_t thread, uint64_t ts_ns,
			    uint64_t *end_ns);
/*
 * Returns the group for figures of a whole process, such as RSS. If threads or thread names are
 * grouped, these figures have a group of their own, which contains no thread.
 */
uint32_t grouping_of_process(struct grouping *g, uint32_t process, uint64_t ts_ns,
			     uint64_t *end_ns);

/* Returns whether the groups depend on the time. */
static inline bool grouping_is_by_name(const struct grouping *g)
{
	return g->by & KEYS_NAME;
}

/* Returns whether each group is a process, and has the process's number. */
static inline bool grouping_is_of_processes(const struct grouping *g)
{
	return g->by & KEY(PROCESS) && !(g->by & KEY(THREAD)) && !g->groups;
}

struct grouping_label {
	int64_t upid;			/* -1: not applicable */
	/* the thread; if only its name is a key: any thread of the group; -1: not applicable */
	int64_t utid;
	/* any process of the group; -1: all members are one group */
	int64_t member_upid;
	const char *name;		/* name of the task, text of the first key, or "" */
	const char *comm, *thread_name;	/* NULL: not a key */
};
void grouping_label(struct grouping *g, uint32_t group, struct grouping_label *ret);

/*
 * window: the window [from, to) of a table-valued function, divided into bins of length "every".
 *
 * Bins are counted from `from`; the last bin ends at `to`. Only bins that overlap the trace's span
 * exist. The length WINDOW_OWN_BINS selects the bins of the running question, which may differ in
 * length. Instants are CLOCK_MONOTONIC unless noted. Threads: one.
 */
#define WINDOW_OWN_BINS INT64_MAX	/* a value of every_ns */

struct window {
	int64_t from, to;		/* as requested, from the trace's start */
	uint64_t every_ns;		/* 0: a single bin */
	uint64_t from_ns, to_ns; /* part inside the trace's span; equal if there is none */
	uint64_t base_ns; /* start of bin 0; wraps around if it is before time 0 */
	uint64_t first_bin, end_bin;	/* bins that exist: [first_bin, end_bin) */
	/* edges of the bins; NULL: all bins have length every_ns */
	const uint64_t *edges;
	size_t edge_cnt;
	uint64_t span_end_ns;		/* end of the trace's span */
	uint64_t start_ns;
};

/*
 * Returns the bin of ts_ns. Times before the first edge or after the last belong to the nearest
 * bin.
 */
uint64_t window_bin_of_edges(const struct window *w, uint64_t ts_ns);

static inline uint64_t window_bin(const struct window *w, uint64_t ts_ns)
{
	if (w->edges)
		return window_bin_of_edges(w, ts_ns);
	return w->every_ns ? (ts_ns - w->base_ns) / w->every_ns : 0;
}

/* Returns the part of a bin that is inside the window and the trace's span, in CLOCK_MONOTONIC. */
void window_bin_span(const struct window *w, uint64_t bin, uint64_t *ret_from_ns,
		     uint64_t *ret_to_ns);
