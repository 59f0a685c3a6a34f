/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * scope: the threads and processes of a query, and the keys by which its results are grouped.
 *
 *     report_request --[scope]--> thread in or out
 *     by, thread     --[grouping]--> group number, and its labels
 *
 * Without a filter everything is in scope: SQL sees it all. By default a report leaves out the
 * recorder, the idle task and threads that --only left out. [unknown] and [irq] are in scope unless
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
 * All given filters must match. tids and thread select threads: figures of a whole process, such as
 * RSS, are then out of scope.
 */
struct scope_filter {
	const uint32_t *pids, *tids;	/* NULL: all */
	unsigned int pid_cnt, tid_cnt;
	const char *comm, *thread;	/* exact name or GLOB pattern; NULL: all */
	bool workload;			/* only the workload */
	bool with_recorder, with_idle;
	/*
	 * --only: other processes have no events except those at the edges of the workload's slices
	 */
	bool workload_only;
	bool merges_unknown; /* requests of [unknown] are one row, for all submitters */
	bool with_pseudo; /* always include pseudo ids: per-CPU sums need them */
};

struct scope {
	uint8_t *threads;		/* by dense_thread(): SCOPE_*; NULL: all are in scope */
	uint8_t *processes;
	/* by name of task_names: SCOPE_*; NULL: no filter by name */
	uint8_t *names;
	const struct dense_ids *ids;
	struct scope_filter filter;
};

/*
 * Each thread and process is decided on first use: it is in the scope if it ever had the wanted
 * names. The functions ending in _at() return whether it has them at a time. f's lists and names
 * must outlive s.
 */
int scope_init(struct scope *s, const struct dense_ids *d, const struct scope_filter *f);
void scope_done(struct scope *s);

enum { SCOPE_UNDECIDED, SCOPE_OUT, SCOPE_IN };

/* The slow path of the functions below. */
bool scope_decide_thread(const struct scope *s, uint32_t thread);
bool scope_decide_process(const struct scope *s, uint32_t process);

/* Returns whether the filter selects threads. */
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

/* Lowers *end_ns, unless NULL, to the end of the time for which the result is valid. */
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

/* Merges a group that is a task into another row: returns that row's group, or GROUPING_FAILED. */
struct group_merge {
	uint32_t (*into)(void *ctx, uint32_t group);
	void *ctx;
};

struct group_first {		/* a member, and its former names; NULL: its last name */
	uint32_t member;
	const char *comm, *thread_name;
};

/*
 * The groups of a set of keys. Of the keys of tasks, a thread is the finest: with it, a group is a
 * thread. Otherwise the threads and processes of a group have the process and the texts in common.
 * If a name is among the keys, a thread or process counts in the group of its name at the time; a
 * group by process and name is the process while it had the name.
 *
 * A member of groups is a thread, or thread_cnt + process for figures of a whole process.
 */
struct grouping {
	unsigned int by;		/* KEYS_WHO among the keys; 0: all is one group */
	unsigned int others;		/* the other keys, which the view handles itself */
	const struct dense_ids *ids;
	const struct group_merge *merge;	/* NULL: each group has its own row */
	/* by texts: a group gets its number when one of its members is first used */
	struct task_keys keys;
	uint32_t first;			/* the first member that has an element in groups */
	uint32_t *groups;		/* group of each member, + 1; 0: not numbered yet */
	struct group_first *firsts;	/* of each group, its first used member */
	size_t first_cap;
	uint64_t label_ns;	/* time of the names in labels; 0: the last names */
	/* a text or process, combined with the number of the keys before it */
	struct hash_map map;
};

/* by: 1u << REPORT_BY_x. 0 or -ENOMEM. */
int grouping_init(struct grouping *g, const struct dense_ids *d, unsigned int by);
/* Numbers all groups at once, in the order of members. 0 or -ENOMEM. */
int grouping_number_all(struct grouping *g);
void grouping_done(struct grouping *g);

#define GROUPING_FAILED UINT32_MAX	/* out of memory */
/*
 * Returns the group of a thread at ts_ns. *end_ns, unless NULL, is lowered to the end of the time
 * for which the result is valid.
 */
uint32_t grouping_of_thread(struct grouping *g, uint32_t thread, uint64_t ts_ns,
			    uint64_t *end_ns);
/*
 * Returns the group for figures of a whole process, such as RSS: separate if by thread or its name.
 */
uint32_t grouping_of_process(struct grouping *g, uint32_t process, uint64_t ts_ns,
			     uint64_t *end_ns);

/* Returns whether the groups depend on the time. */
static inline bool grouping_is_by_name(const struct grouping *g)
{
	return g->by & KEYS_NAME;
}

/* Returns whether each group is a process, with the process's number. */
static inline bool grouping_is_of_processes(const struct grouping *g)
{
	return g->by & KEY(PROCESS) && !(g->by & KEY(THREAD)) && !g->groups;
}

struct grouping_label {
	int64_t upid;			/* -1: does not apply */
	/* the thread; by thread_name, one thread with the name; or -1 */
	int64_t utid;
	int64_t member_upid;		/* a process of the group; -1: all is one group */
	const char *name;		/* comm, the text of the first key, or "" */
	const char *comm, *thread_name;	/* as keys; NULL: not among the keys */
};
void grouping_label(struct grouping *g, uint32_t group, struct grouping_label *ret);

/*
 * window: the window of a table-valued function: [from, to), cut into bins of "every".
 *
 * Bins are counted from "from"; the last one is cut at "to". Only bins that overlap the trace's
 * span exist. The length WINDOW_OWN_BINS selects the analysis' own bins, which have any lengths.
 * Instants here are CLOCK_MONOTONIC. Threads: one.
 */
#define WINDOW_OWN_BINS INT64_MAX	/* every_ns */

struct window {
	int64_t from, to;		/* as requested, from the trace's start */
	uint64_t every_ns;		/* 0: one bin */
	uint64_t from_ns, to_ns; /* the part inside the trace's span; equal if there is none */
	uint64_t base_ns; /* start of bin 0, extrapolated before time 0 if needed (wraps) */
	uint64_t first_bin, end_bin;	/* the existing bins: [first, end) */
	const uint64_t *edges;		/* of the analysis' bins; NULL: all have every_ns */
	size_t edge_cnt;
	uint64_t span_end_ns;		/* of the trace */
	uint64_t start_ns;
};

/* Edges are ascending; times outside of them belong to the first or the last bin. */
uint64_t window_bin_of_edges(const struct window *w, uint64_t ts_ns);

static inline uint64_t window_bin(const struct window *w, uint64_t ts_ns)
{
	if (w->edges)
		return window_bin_of_edges(w, ts_ns);
	return w->every_ns ? (ts_ns - w->base_ns) / w->every_ns : 0;
}

/* The part of a bin inside window and span, in CLOCK_MONOTONIC. */
void window_bin_span(const struct window *w, uint64_t bin, uint64_t *ret_from_ns,
		     uint64_t *ret_to_ns);
