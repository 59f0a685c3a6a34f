/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * trigger: conditions on the recorded events, evaluated for each slice.
 *
 *     --trigger EXPR --[trigger_parse]--> trigger_set --feed(slice)--> fired(which, when, why)
 *
 *     spike>SIZE[/DUR]  resident memory grew by more than SIZE within DUR (1s): of a process, of
 *                       all processes with one name, or of all processes
 *     io-latency>DUR    a block request took longer, from being queued to its completion
 *     runq>DUR          a runnable thread waited longer for a CPU
 *     request:NAME>DUR  a request of a program took longer; NAME may be a pattern
 *     loss>N            more than N events were lost in a slice of about a second
 *     exit!=N           the command ended with another status (also exit=N, exit>N)
 *
 * A trigger costs the encoding thread a few nanoseconds per record that its condition needs. Memory
 * grows with the number of live processes, threads or requests, and of different names of processes
 * or requests. Threads: one.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "record/encode/block_writer.h"
#include "ring/ring.h"

enum trigger_kind {
	TRIGGER_SPIKE,
	TRIGGER_IO_LATENCY,
	TRIGGER_RUNQ,
	TRIGGER_LOSS,
	TRIGGER_EXIT,
	TRIGGER_REQUEST,
};

enum trigger_op { TRIGGER_ABOVE, TRIGGER_NOT, TRIGGER_IS };

#define TRIGGER_NAME_BYTES 64

struct trigger {
	enum trigger_kind kind;
	enum trigger_op op;
	uint64_t value;			/* bytes, ns, events, exit status */
	uint64_t window_ns;		/* SPIKE */
	char name[TRIGGER_NAME_BYTES];	/* REQUEST: a pattern */
	const char *text;		/* as given; owned by the caller */
};

/*
 * Parses a condition. -EINVAL or -ERANGE: e lists the conditions or shows the form of this one.
 * sources: mask of the recorded sources, which must include all that the condition needs.
 */
int trigger_parse(const char *text, uint32_t sources, bool has_command, struct trigger *ret,
		  struct err *e);

struct trigger_set;

struct trigger_sink {
	void *ctx;
	/*
	 * Called when a trigger fires. why: "spike>500MiB: process 123 (cc1) grew by 612 MiB". A
	 * result < 0 ends the calling function and is returned.
	 */
	int (*fired)(void *ctx, const struct trigger *t, uint64_t ts_ns, const char *why);
};

/* Copies the triggers, but not their texts, which the caller keeps. */
int trigger_set_new(struct trigger_set **ret, const struct trigger *triggers, size_t cnt,
		    const struct trigger_sink *sink);
void trigger_set_free(struct trigger_set *s);
/* Sets the names of --request: names[nr - 1] for wire_span.nr. The caller owns the names. */
void trigger_set_name_requests(struct trigger_set *s, const char *const *names, size_t cnt);

/*
 * Sets the recorder's processes (0: none). Their memory and requests are ignored, as in reports:
 * otherwise the snapshot for a slow request would cause another slow request.
 */
#define TRIGGER_OWN_MAX 3
void trigger_set_leave_out(struct trigger_set *s, const uint32_t pids[TRIGGER_OWN_MAX]);

/*
 * Evaluates a slice: the records of all rings and the snapshot rows (struct wire_snap). Of `slice`,
 * only losses, gaps and end are used. A trigger fires at most once per slice.
 */
int trigger_set_feed(struct trigger_set *s, const struct ring_slice *rings, size_t ring_cnt,
		     const struct buf *snapshot, const struct block_slice *slice);
/* Evaluates the exit status, after the command has ended. */
int trigger_set_exit(struct trigger_set *s, uint64_t ts_ns, int status);
