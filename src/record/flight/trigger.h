/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * trigger: conditions on what is being recorded, evaluated slice by slice.
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
 * A trigger costs a few nanoseconds per record that its condition is about, in the encoding thread.
 * Memory grows with the number of live processes, threads or requests, and of names that processes
 * had or requests have. Threads: one.
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
	const char *text;		/* as written; the caller keeps it */
};

/*
 * Parses a condition. -EINVAL or -ERANGE, with the possible conditions. sources: mask of recorded
 * sources; the condition's sources must be among them.
 */
int trigger_parse(const char *text, uint32_t sources, bool has_command, struct trigger *ret,
		  struct err *e);

struct trigger_set;

struct trigger_sink {
	void *ctx;
	/*
	 * why: "spike>500MiB: process 123 (cc1) grew by 612 MiB". A result < 0 ends the feeding and
	 * is its error.
	 */
	int (*fired)(void *ctx, const struct trigger *t, uint64_t ts_ns, const char *why);
};

/* Copies the triggers; the caller keeps their texts. */
int trigger_set_new(struct trigger_set **ret, const struct trigger *triggers, size_t cnt,
		    const struct trigger_sink *sink);
void trigger_set_free(struct trigger_set *s);
/* Sets the names of --request, of which records have the numbers. The caller keeps them. */
void trigger_set_name_requests(struct trigger_set *s, const char *const *names, size_t cnt);

/*
 * Sets the recorder's processes (0: none), whose memory and requests are ignored, as in reports: a
 * snapshot of a slow request would write another slow one.
 */
#define TRIGGER_OWN_MAX 3
void trigger_set_leave_out(struct trigger_set *s, const uint32_t pids[TRIGGER_OWN_MAX]);

/*
 * Feeds the records of a slice, of each ring, and the snapshot rows (struct wire_snap) that belong
 * to it. Of the slice itself it reads losses, gaps and end. A trigger fires at most once per slice.
 */
int trigger_set_feed(struct trigger_set *s, const struct ring_slice *rings, size_t ring_cnt,
		     const struct buf *snapshot, const struct block_slice *slice);
/* The command has ended. */
int trigger_set_exit(struct trigger_set *s, uint64_t ts_ns, int status);
