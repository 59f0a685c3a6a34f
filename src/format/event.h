/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * event: the kinds of events, their columns and how each is stored; and the event that an analysis
 * reads: one fixed-size record per event, decoded, with its thread resolved to a utid.
 *
 *     src/format (decode) --columns--> src/trace (order, struct event) --> analyze
 *
 * Kinds and columns are declared in schema/events/; the codec, FORMAT.md's table, the SQL event
 * tables and `info --columns` follow the declarations.
 */
#pragma once

#include <stdint.h>

#include "event_lists.h"

/* utid and upid for things other than tasks. Real ids start at EVENT_ID_FIRST. */
enum {
	EVENT_ID_IDLE = 0,	/* the idle task of any CPU */
	EVENT_ID_UNKNOWN = 1,	/* the thread is unknown, because of a declared loss */
	EVENT_ID_IRQ = 2,	/* interrupt context: no task to charge */
	EVENT_ID_FILTERED = 3,	/* left out of the recording by --only */
	EVENT_ID_FIRST = 16,
};

#define EVENT_VALUES 15	/* columns of a kind at most */

/*
 * How a column is stored (schema/FORMAT.md, "Columns"):
 *   UTID     index into the block's list of utids
 *   PREV     as UTID; 0 if it is the thread the CPU's last switch went to
 *   TUPLE    one index per row into a per-kind list of the value combinations that occur;
 *            shared by all TUPLE columns of the kind and by flags
 *   PLAIN    the value                        DELTA    difference to the row before
 *   TDELTA   difference to the last row with the same tuple
 *   BACKREF  distance in rows to the last equal value; new values as differences
 *   XREF     the row with the value in the kind before this one (alloc of a free)
 */
enum event_codec {
	EVENT_CODEC_UTID = 1,
	EVENT_CODEC_PREV = 2,
	EVENT_CODEC_TUPLE = 3,
	EVENT_CODEC_PLAIN = 4,
	EVENT_CODEC_DELTA = 5,
	EVENT_CODEC_TDELTA = 6,
	EVENT_CODEC_BACKREF = 7,
	EVENT_CODEC_XREF = 8,
};

/* event.flags */
#define EVENT_F_IRQ 0x01	/* interrupt context: utid is the interrupted thread */
#define EVENT_F_PREEMPT 0x02	/* SWITCH, OFFCPU: the thread that left could have gone on */
#define EVENT_F_NEXT_OUT 0x08	/* SWITCH under --only: next is not a recorded thread */
/* REQUEST complete: a flush sequence may continue with this request */
#define EVENT_F_FLUSH_SEQ 0x20
#define EVENT_F_BROKEN                                                                             \
	0x10 /* IRQ entry, in a cut: its exit was lost, after the end of the cut */

struct event {
	uint64_t ts_ns;			/* CLOCK_MONOTONIC */
	uint32_t utid; /* current thread at that time; SWITCH: the thread that leaves */
	uint16_t cpu;
	uint8_t kind;			/* enum event_kind */
	uint8_t flags;
	uint64_t v[EVENT_VALUES];	/* by EV_*; unused values are 0 */
};

/* The type of thing that a column's numbers identify. */
enum event_refers {
	EVENT_REFERS_NOTHING,
	EVENT_REFERS_THREAD,	/* a utid */
	EVENT_REFERS_PROCESS,	/* a upid */
	EVENT_REFERS_STACK,	/* the number of a stack */
	EVENT_REFERS_SITE,	/* a code address of the process of the event's utid */
	EVENT_REFERS_NAME,	/* and higher: the type of a name; the number is the name's id */
#define X(id, name, text, redact) EVENT_REFERS_##name = EVENT_REFERS_NAME + (id),
	EVENT_NAMES(X)
#undef X
};

struct event_column {
	uint8_t kind, index, codec;
	uint8_t xref_kind;		/* the kind its XREF column refers to; 0: none */
	uint8_t is_later;		/* older blocks may lack the column; its value there is 0 */
	uint8_t refers;			/* enum event_refers */
	uint8_t is_null;		/* a table shows 0 as NULL */
	uint8_t shown_cnt;
	const char *const *shown;	/* names by number; NULL: the table shows the number */
	const char *name;
};

/* Returns a column; NULL: no such column. */
const struct event_column *event_column(unsigned int kind, unsigned int index);
unsigned int column_codec(unsigned int kind,
			  unsigned int index); /* enum event_codec; 0: there is none */
unsigned int column_tuple_cnt(unsigned int kind);	/* number of TUPLE columns of the kind */
unsigned int column_xref_kind(unsigned int kind); /* the kind its XREF column refers to; 0: none */
/* Returns the number of values of a kind; 0 for an unknown kind. */
unsigned int event_kind_values(unsigned int kind);
/* "switch", "slab_alloc", ...; "?" for an unknown kind. */
const char *event_kind_name(unsigned int kind);
/* Returns the name of a column's number; NULL: the number has no name; "?": unknown number. */
const char *event_shown(const struct event_column *c, uint64_t value);
/*
 * Returns the column with the thread or process to which an event of the kind belongs; NULL: the
 * event belongs to its utid.
 */
const struct event_column *event_owner_column(unsigned int kind);
