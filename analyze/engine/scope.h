/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * scope: which threads and processes a question is about, and under which keys answers are summed.
 *
 *     report_request --[scope]--> thread in or out
 *     by, thread     --[grouping]--> group number, and its labels
 *
 * Without a filter everything is in scope: SQL sees it all. By default a report leaves out the
 * recorder, the idle task and what --only left out. [unknown] and [irq] are in scope unless the
 * filter has a PID or a name. Threads: one.
 */
#ifndef SCOPE_H
#define SCOPE_H

#include <stdbool.h>
#include <stdint.h>

#include "analyze/engine/dense_ids.h"
#include "base/hash_map.h"

enum grouping_by {
	GROUPING_PROCESS,
	GROUPING_THREAD,
	GROUPING_COMM,
	GROUPING_CGROUP,
	GROUPING_NONE
};

struct scope_filter {
	const uint32_t *pids;		/* NULL: all */
	unsigned int pid_cnt;
	const char *comm;		/* exact name or GLOB pattern; NULL: all */
	bool comm_of_thread;		/* match the thread's name, not its process's */
	bool with_recorder, with_idle;
	bool workload_only; /* --only: other processes have no events but edges of its slices */
	bool with_pseudo; /* pseudo ids in any case: a per-CPU account needs them */
};

struct scope {
	uint8_t *threads;		/* by dense_thread(): SCOPE_*; NULL: all are in */
	uint8_t *processes;
	const struct dense_ids *ids;
	struct scope_filter filter;
};

/* Each thread and process is decided on first use. f's pids and comm must outlive s. */
int scope_init(struct scope *s, const struct dense_ids *d, const struct scope_filter *f);
void scope_done(struct scope *s);

enum { SCOPE_UNDECIDED, SCOPE_OUT, SCOPE_IN };

/* The slow path of the functions below. */
bool scope_decide_thread(const struct scope *s, uint32_t thread);
bool scope_decide_process(const struct scope *s, uint32_t process);

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

struct grouping {
	enum grouping_by by;
	const struct dense_ids *ids;
	/* COMM, CGROUP: a group gets its number when one of its processes is first used */
	const struct trace *trace;
	uint32_t cnt;			/* groups so far: 0 .. cnt-1 */
	uint32_t *process_group;	/* + 1; 0: not asked for yet */
	char **names;			/* owned */
	size_t name_cap;
	struct hash_map map;
};

/* 0 or -ENOMEM. */
int grouping_init(struct grouping *g, const struct dense_ids *d, const struct trace *t,
		  enum grouping_by by);
/* Numbers all groups at once, in the order of processes. 0 or -ENOMEM. */
int grouping_number_all(struct grouping *g);
void grouping_done(struct grouping *g);

/*
 * "process", "thread", "comm", "cgroup", "none" (also "cpu", "device", "vector"); -1 for any other.
 */
int grouping_find(const char *name);

#define GROUPING_FAILED UINT32_MAX	/* out of memory */
uint32_t grouping_of_thread(struct grouping *g, uint32_t thread);
/* The group of figures of a whole process, such as RSS: under GROUPING_THREAD a separate one. */
uint32_t grouping_of_process(struct grouping *g, uint32_t process);

struct grouping_label {
	int64_t upid, utid;		/* -1: does not apply */
	const char *name;		/* comm, cgroup path, or "" */
};
void grouping_label(const struct grouping *g, uint32_t group, struct grouping_label *ret);

#endif /* SCOPE_H */
