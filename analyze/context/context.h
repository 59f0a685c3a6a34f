/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * context: state shared by all parts of one open analysis. Private to analyze/.
 *
 * SQL counts time from the trace's start, the trace in CLOCK_MONOTONIC: context_rel() and
 * context_abs() convert. Threads: one.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sqlite3.h>

#include "analyze/context/analysis.h"
#include "analyze/context/dense_ids.h"
#include "analyze/context/loss_index.h"
#include "analyze/context/scope.h"
#include "base/array.h"
#include "trace/trace.h"

struct index;
struct source_lines;

/* Block requests of unknown owners that the report that runs may lack: analyze/engine/unowned.h */
struct unowned {
	bool of_some;	/* the report is about chosen processes or threads */
	bool by_owner;	/* its rows are of owners */
	int64_t from_ns, to_ns;		/* what bins covers, from the trace's start */
	struct unowned_bin *bins;	/* those that have such requests, in order */
	size_t bin_cnt, bin_cap;
};

struct analysis {
	struct trace *trace;
	sqlite3 *db;
	uint64_t start_ns, end_ns;	/* the trace's span, CLOCK_MONOTONIC */
	uint64_t heap_mean;		/* of samples (model/heap_weight.h); 0: none */
	struct dense_ids ids;
	struct loss_index losses;
	struct scope scope;		/* of the current report, */
	struct loss_needs needs;	/* the sources it needs, */
	struct unowned unowned;		/* and the requests it may lack */
	struct task_keys keys;		/* for SQL functions */
	uint32_t *cpus;			/* CPUs that exist in the trace, ascending */
	unsigned int cpu_cnt;
	/*
	 * By block: later blocks have no record from before its start, so its keyframe is certain.
	 */
	uint8_t *block_is_clean;
	bool declaring; /* a virtual table is declaring its columns: the guard allows it */
	bool needs_verified; /* the statement reads events, or queries missing data */
	/* of an analysis that follows a trace, and repeats its queries */
	struct kept_statement *statements;
	size_t statement_cnt, statement_cap;
	struct analysis_index_use index_use;
	struct index *index;
	unsigned int index_tries;	/* how often it was opened */
	/* mask of kinds whose events are read from the trace and not indexed */
	uint32_t direct_kinds;
	struct source_lines *lines;	/* NULL: code is shown without lines */
	bool has_raw_frames;	/* stacks are shown with frames of interpreters */
	_Atomic uint64_t rows_made;	/* by scans without a key, in any thread; for tests */
	_Atomic bool is_given_up;
	const _Atomic bool *stop;	/* its own, or that of the analysis it helps */
	/* the same trace and analysis for a second thread, made when needed; or NULL */
	struct trace *helper_trace;
	struct analysis *helper;
	/* the edges of WINDOW_OWN_BINS (scope.h), one more than bins; NULL: none */
	const uint64_t *bin_edges;
	size_t bin_cnt;
	struct analysis_scan_watch scan_watch;
	struct scan_memo *scan_memo;	/* while a report is answered; or NULL (engine) */
	int failed;			/* negative errno that made a statement fail */
	char failed_text[512];
};

/*
 * Returns the number of events of the kinds (1u << EVENT_x) in the blocks that overlap the window:
 * at least as many as the window has.
 */
uint64_t context_events(const struct analysis *a, uint32_t kinds, uint64_t from_ns, uint64_t to_ns);

static inline int64_t context_rel(const struct analysis *a, uint64_t mono_ns)
{
	return (int64_t)(mono_ns - a->start_ns);
}

/* The same for instants that may be far outside the trace: saturates. */
static inline int64_t context_rel_clamped(const struct analysis *a, uint64_t mono_ns)
{
	if (mono_ns >= a->start_ns)
		return mono_ns - a->start_ns > INT64_MAX ? INT64_MAX
							 : (int64_t)(mono_ns - a->start_ns);
	return a->start_ns - mono_ns > INT64_MAX ? INT64_MIN : -(int64_t)(a->start_ns - mono_ns);
}

/*
 * Returns whether the trace has the threads of this CPU. (Other CPUs only had interrupts or
 * requests.)
 */
static inline bool context_has_cpu(const struct analysis *a, uint64_t cpu)
{
	size_t i = cpu;

	/* mostly CPU i has index i */
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

/* Saturates: the result is limited to 0 .. 2^64 - 1. */
static inline uint64_t context_abs(const struct analysis *a, int64_t ts_ns)
{
	if (ts_ns < 0 && (uint64_t)-(ts_ns + 1) >= a->start_ns)
		return 0;
	if (ts_ns > 0 && (uint64_t)ts_ns > UINT64_MAX - a->start_ns)
		return UINT64_MAX;
	return a->start_ns + (uint64_t)ts_ns;
}

/* Clips [from, to) to the trace's span; from == to if they do not overlap. */
void context_clip(const struct analysis *a, uint64_t *from_ns, uint64_t *to_ns);

/* Registers the SQL functions with a->db. */
int sql_functions_register(struct analysis *a, struct err *e);
