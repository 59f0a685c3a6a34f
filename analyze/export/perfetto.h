/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * perfetto: state and helpers shared by the parts of an export to Perfetto. Private to
 * analyze/export.
 *
 *     lists of tasks          --[perfetto_tasks]-->  process tree, creations and exits
 *     CPU pieces, wake-ups,   --[perfetto_sched]-->  ftrace events, one bundle per CPU
 *     resident memory
 *     requests, losses, marks --[perfetto_tracks]--> slices, instants and counters
 *     recorded stacks         --[perfetto_stacks]--> samples of a profiler
 *
 * The parts are written one after the other: trace_processor sorts by time. Field numbers are
 * defined in protos/perfetto/trace/perfetto_trace.proto. Threads: one. Errors: 0 or -errno.
 */
#pragma once

#include <stdio.h>

#include "analyze/analyze.h"
#include "analyze/context/context.h"
#include "analyze/export/proto.h"

enum {
	PACKET_FTRACE = 1,
	PACKET_PROCESS_TREE = 2,
	PACKET_CLOCKS = 6,
	PACKET_TIMESTAMP = 8,
	PACKET_SEQUENCE_ID = 10,
	PACKET_TRACK_EVENT = 11,
	PACKET_SEQUENCE_FLAGS = 13,
	PACKET_SYSTEM_INFO = 45,
	PACKET_TRACK = 60,
	/* Fields of PACKET_FTRACE, the events of one CPU: */
	BUNDLE_CPU = 1,
	BUNDLE_EVENT = 2,
	BUNDLE_LOST_EVENTS = 3,
	BUNDLE_COMPACT = 4,
};

struct perfetto {
	struct analysis *a;
	struct trace *t;
	uint64_t from_ns, to_ns;	/* part of the window in the trace, CLOCK_MONOTONIC */
	FILE *out;
	struct proto packet;		/* the packet being written */
	uint64_t *left_cpu_ns;		/* by dense thread: when the thread last left a CPU */
	uint64_t *process_end_ns;	/* by dense process: when its last thread left a CPU */
	uint32_t *maker;	/* by dense thread: its creator, dense; 0: unknown */
	uint64_t row_cnt;		/* events written */
	/* In [ahead_from_ns, ahead_to_ns): CLOCK_BOOTTIME - CLOCK_MONOTONIC. */
	uint64_t ahead_ns, ahead_from_ns, ahead_to_ns;
	uint64_t last_uuid;		/* of the last track */
	uint32_t sequence;		/* id of the present sequence of packets */
};

/* ---- proto.c ---- */

/* Converts an instant to CLOCK_BOOTTIME, Perfetto's time. */
uint64_t perfetto_boot_ns(struct perfetto *x, uint64_t mono_ns);

/* Begins a packet in x->packet. ts_ns 0: a packet without a timestamp. */
void perfetto_packet(struct perfetto *x, uint64_t ts_ns);
/* Ends all open messages and writes the packet. Returns 0, -errno of the file, or -ENOMEM. */
int perfetto_packet_end(struct perfetto *x);
/* Appends a text of the trace, escaped and cut at 4095 bytes. */
void perfetto_text(struct proto *p, unsigned int field, const char *text);

/* Returns the kernel's id of a dense thread; pseudo threads have ids above all kernel ids. */
uint32_t perfetto_tid(const struct perfetto *x, uint32_t thread);
/* Returns the pid: the kernel's id of the process's main thread. */
uint32_t perfetto_pid(const struct perfetto *x, uint32_t process);

/*
 * Begins an ftrace event in a bundle of its own. Append its fields, then call perfetto_event_end().
 */
void perfetto_event(struct perfetto *x, uint64_t ts_ns, unsigned int cpu, uint32_t tid,
		    unsigned int field);
/* As perfetto_event(), but in a packet that has begun. */
void perfetto_event_in(struct perfetto *x, uint64_t ts_ns, unsigned int cpu, uint32_t tid,
		       unsigned int field);
/* Counts an event and ends its packet. */
int perfetto_event_end(struct perfetto *x);

/* ---- the parts ---- */

/* Writes switches, wake-ups and resident memory, and fills left_cpu_ns and maker. */
int perfetto_sched(struct perfetto *x, struct err *e);
int perfetto_stacks(struct perfetto *x, struct err *e);
