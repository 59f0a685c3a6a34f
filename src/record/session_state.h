/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* session_state: private state of session_open.c and session.c. */
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/atomic_output.h"
#include "base/buf.h"
#include "base/privilege.h"
#include "format/rows.h"
#include "probe/span_probes.h"
#include "record/preload.h"
#include "record/session.h"
#include "record/tasks/workload_filter.h"
#include "ring/span_lines.h"

enum { OWN_RECORDER, OWN_COMMAND, OWN_STATS, OWN_OPENER, OWN_CNT };

struct session {
	struct session_options o;
	struct probe *probe;
	struct ring_group *rings;
	struct id_names *names;
	struct user_sites *sites; /* for switches, alloc.heap or stacks; NULL: not available */
	struct sampler *sampler;
	struct workload_filter only;	/* with --only */
	struct overhead *overhead;	/* with --max-overhead */
	struct block_writer *writer;
	bool *online;			/* by CPU: online when the recording began */
	struct store_writer *store;
	struct flight_recorder *flight;
	struct launch *launch;
	struct preload preload;	/* with alloc.heap, if a library records it */
	struct heap_ring *spans;	/* with --spans */
	char *spans_env;		/* environment variable with the name of spans */
	struct span_lines *span_lines;	/* with --span-fd */
	struct span_probes span_probes;	/* of --request */
	struct helper stats_helper;	/* from probe_stats_start(); none without CAP_SYS_ADMIN */
	/* user under which the recorder runs after everything is attached */
	struct privilege_user user;
	/* limitations of this kernel or user, for the manifest */
	struct buf lacks;
	uint32_t sources;
	/* the recorder is in another pid namespace than the initial one, whose pids BPF sees */
	bool other_ids;
	uint32_t own_pids[OWN_CNT];	/* pids in the initial namespace; 0: none, or unknown */

	struct ring_slice *slices;	/* one per ring */
	struct buf snapshot;		/* struct wire_snap rows for the next slice */
	uint64_t start_ns, slice_ns, end_ns;
	struct trace_clock start_clock; /* clocks at start_ns, for the first block */
	/* an older trace still has the output's name, and the new trace has a temporary name */
	bool older;
	uint64_t older_real_ns;		/* wall clock at the start of its recording; 0: unknown */
	struct atomic_output place;
	bool made_output;		/* this session created the directory and may remove it */

	int stop_fd;
	volatile sig_atomic_t stop_cnt;
	struct session_stats stats;
	uint64_t unseen_cnt[SAMPLER_CLASS_CNT];	/* losses found while encoding */
};

/* Returns true if the whole machine is recorded: there is neither a command nor -p nor --cgroup. */
bool session_is_of_all(const struct session *s);

/* Returns the sources that BPF programs record: the selected sources without those of a library. */
uint32_t session_probe_sources(const struct session *s);

/*
 * Frees the flight recorder. Call this before freeing the store, from which a running snapshot
 * reads.
 */
void session_end_flight(struct session *s);
