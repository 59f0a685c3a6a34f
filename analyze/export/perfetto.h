/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * perfetto: what the parts of an export to Perfetto share. Private to analyze/export.
 *
 *     lists of tasks          --[perfetto_tasks]-->  process tree, births and deaths
 *     CPU pieces, wake-ups,   --[perfetto_sched]-->  ftrace events, one bundle per CPU
 *     resident memory
 *     requests, losses, marks --[perfetto_tracks]--> slices, instants and counters
 *     recorded stacks         --[perfetto_stacks]--> samples of a profiler
 *
 * The parts are written one after the other: trace_processor sorts by time. Field numbers are those
 * of protos/perfetto/trace/perfetto_trace.proto. Threads: one. Errors: 0 or -errno.
 */
#pragma once

#include <stdio.h>

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
	/* of PACKET_FTRACE: what happened on one CPU */
	BUNDLE_CPU = 1,
	BUNDLE_EVENT = 2,
	BUNDLE_LOST_EVENTS = 3,
	BUNDLE_COMPACT = 4,
};

struct perfetto {
	struct analysis *a;
	struct trace *t;
	uint64_t from_ns, to_ns;	/* the window inside the trace's span, CLOCK_MONOTONIC */
	FILE *out;
	struct proto packet;		/* the one that is being written */
	uint64_t *left_cpu_ns;		/* by dense thread: when it last left a CPU */
	uint64_t *process_end_ns;	/* by dense process: when its last thread did */
	uint32_t *maker;	/* by dense thread: the dense thread that made it; 0: not known */
	uint64_t row_cnt;		/* events written */
	/* CLOCK_BOOTTIME is so far ahead of CLOCK_MONOTONIC in [ahead_from_ns, ahead_to_ns) */
	uint64_t ahead_ns, ahead_from_ns, ahead_to_ns;
	uint64_t last_uuid;		/* of tracks */
	uint32_t sequence;		/* of packets: the one that is being written */
};

/* ---- proto.c ---- */

/* CLOCK_BOOTTIME of an instant: what Perfetto counts in. */
uint64_t perfetto_boot_ns(struct perfetto *x, uint64_t mono_ns);

/* Begins a packet of x->packet. ts_ns 0: it has no instant. */
void perfetto_packet(struct perfetto *x, uint64_t ts_ns);
/* Ends all messages that have begun, and writes the packet. 0, -errno of the file, -ENOMEM. */
int perfetto_packet_end(struct perfetto *x);
/* A name of the trace, made safe and cut at 4095 bytes. */
void perfetto_text(struct proto *p, unsigned int field, const char *text);

/* The kernel's id of a dense thread; pseudo threads have numbers above all ids of the kernel. */
uint32_t perfetto_tid(const struct perfetto *x, uint32_t thread);
/* Returns the kernel's id of a process's main thread, which is the pid. */
uint32_t perfetto_pid(const struct perfetto *x, uint32_t process);

/* One ftrace event in a bundle of its own; write its content between the two. */
void perfetto_event(struct perfetto *x, uint64_t ts_ns, unsigned int cpu, uint32_t tid,
		    unsigned int field);
/* The same in a packet that has begun. */
void perfetto_event_in(struct perfetto *x, uint64_t ts_ns, unsigned int cpu, uint32_t tid,
		       unsigned int field);
/* Counts an event, and ends its packet. */
int perfetto_event_end(struct perfetto *x);

/* ---- the parts ---- */

/* The ends of tasks; after perfetto_sched(). */
int perfetto_sched(struct perfetto *x, struct err *e);
int perfetto_stacks(struct perfetto *x, struct err *e);
