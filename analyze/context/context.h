/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * context: state shared by all parts of an open analysis. Private to analyze/.
 *
 * SQL uses time relative to the trace's start, the trace uses CLOCK_MONOTONIC: context_rel() and
 * context_abs() convert between them. Threads: one.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sqlite3.h>

#include "analyze/context/dense_ids.h"
#include "analyze/context/index_use.h"
#include "analyze/context/loss_index.h"
#include "analyze/context/row_sink.h"
#include "analyze/context/scope.h"
#include "base/array.h"
#include "base/err.h"
#include "trace/trace.h"

struct index;
struct source_lines;

/* Block requests whose owner is unknown: a report may lack them; see analyze/engine/unowned.h. */
struct unowned {
	bool of_some;	/* the report is about selected processes or threads */
	bool by_owner;	/* the report's keys include an owner */
	int64_t from_ns, to_ns;		/* range of bins, from the trace's start */
	struct unowned_bin *bins;	/* bins with such requests, in time order */
	size_t bin_cnt, bin_cap;
};

/*
 * The subject of a report. The function that makes the report creates a question and makes it the
 * running question, which tables and SQL functions read. Questions may be nested.
 */
struct question {
	struct scope scope;
	struct loss_needs needs;	/* sources that the answer needs */
	struct unowned unowned;		/* requests that the answer may lack */
	const uint64_t *edges;		/* edges of the bins for WINDOW_OWN_BINS; NULL: none */
	size_t edge_cnt;
	struct scan_memo *memo;	/* rows kept for later statements; NULL: none (table.h) */
	const struct question *outer;	/* continues when this question ends */
};

struct analysis {
	struct trace *trace;
	sqlite3 *db;
	uint64_t start_ns, end_ns;	/* the trace's span, CLOCK_MONOTONIC */
	/* mean number of bytes between samples (heap_weight_cnt()); 0: the heap is not sampled */
	uint64_t heap_mean;
	struct dense_ids ids;
	struct loss_index losses;
	/* the running question; outside of reports, everything is in scope */
	const struct question *question;
	struct task_keys keys;		/* for SQL functions */
	uint32_t *cpus;			/* CPUs that exist in the trace, ascending */
	unsigned int cpu_cnt;
	/*
	 * By block: 1 if no later block has a record from before the block's start, so that the
	 * block's keyframe is reliable.
	 */
	uint8_t *block_is_clean;
	bool declaring; /* a virtual table is declaring its columns, which the guard must allow */
	/*
	 * compiled statements, kept only if the analysis follows a trace, because it then repeats
	 * its queries
	 */
	struct kept_statement *statements;
	size_t statement_cnt, statement_cap;
	struct analysis_index_use index_use;
	struct index *index;
	unsigned int index_tries;	/* number of attempts to open the index */
	/* mask of kinds whose events are read from the trace, not from an index */
	uint32_t direct_kinds;
	struct source_lines *lines;	/* NULL: code is shown without source lines */
	bool has_raw_frames;	/* stacks are shown with frames of interpreters */
	struct scan_memo *memo;	/* rows kept from report to report; NULL: none (table.h) */
	/* rows made by scans without a key, in any thread; for tests */
	_Atomic uint64_t rows_made;
	_Atomic bool is_given_up;
	/* points to is_given_up of this analysis or, in a helper, of the analysis that it helps */
	const _Atomic bool *stop;
	/*
	 * the same trace and its analysis, opened for a second thread when needed; NULL: not opened
	 */
	struct trace *helper_trace;
	struct analysis *helper;
	struct analysis_scan_watch scan_watch;
};

/* The question of a newly opened analysis. */
extern const struct question question_of_all;
/*
 * Makes q the running question, with this scope; scope NULL: everything that was recorded. The
 * caller sets the other members of q. After an error, call question_end(), too. 0 or -ENOMEM.
 */
int question_begin(struct question *q, struct analysis *a, const struct scope_filter *scope);
void question_end(struct question *q, struct analysis *a);

/*
 * Returns the number of events of the kinds (1u << EVENT_x) in the blocks that overlap the window,
 * which is an upper bound for the events in the window.
 */
uint64_t context_events(const struct analysis *a, uint32_t kinds, uint64_t from_ns, uint64_t to_ns);

static inline int64_t context_rel(const struct analysis *a, uint64_t mono_ns)
{
	return (int64_t)(mono_ns - a->start_ns);
}

/* As context_rel(), but saturates, for instants that may be far outside the trace. */
static inline int64_t context_rel_clamped(const struct analysis *a, uint64_t mono_ns)
{
	if (mono_ns >= a->start_ns)
		return mono_ns - a->start_ns > INT64_MAX ? INT64_MAX
							 : (int64_t)(mono_ns - a->start_ns);
	return a->start_ns - mono_ns > INT64_MAX ? INT64_MIN : -(int64_t)(a->start_ns - mono_ns);
}

/*
 * Returns whether the trace contains switches of this CPU. (Other CPUs may have interrupts or
 * requests.)
 */
static inline bool context_has_cpu(const struct analysis *a, uint64_t cpu)
{
	size_t i = cpu;

	/* usually CPU i has index i */
	if (i >= a->cpu_cnt || a->cpus[i] != i)
		i = lower_bound_plain(a->cpus, a->cpu_cnt, cpu);
	return i < a->cpu_cnt && a->cpus[i] == cpu;
}

/* Returns whether the trace was recorded with --only. */
static inline bool context_workload_only(const struct analysis *a)
{
	const char *only = trace_get(a->trace, "only");

	return only && !strcmp(only, "1");
}

/* Converts time from the trace's start to CLOCK_MONOTONIC. Saturates at 0 and UINT64_MAX. */
static inline uint64_t context_abs(const struct analysis *a, int64_t ts_ns)
{
	if (ts_ns < 0 && (uint64_t)-(ts_ns + 1) >= a->start_ns)
		return 0;
	if (ts_ns > 0 && (uint64_t)ts_ns > UINT64_MAX - a->start_ns)
		return UINT64_MAX;
	return a->start_ns + (uint64_t)ts_ns;
}

/* Limits [from, to) to the trace's span. If they do not overlap, from == to. */
void context_clip(const struct analysis *a, uint64_t *from_ns, uint64_t *to_ns);

/* Registers the SQL functions with a->db. */
int sql_functions_register(struct analysis *a, struct err *e);
