/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * event: the kinds of events, their columns and the codec of each column; and struct event, a
 * decoded event of fixed size, with its thread as a utid.
 *
 *     src/format (decode) --columns--> src/trace (order, struct event) --> analyze
 *
 * Kinds and columns are declared in schema/events/; the codec, FORMAT.md's table, the SQL event
 * tables and `info --columns` follow the declarations.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "event_lists.h"
#include "format/rows.h"

/* utid and upid for things other than tasks. Real ids start at EVENT_ID_FIRST. */
enum {
	EVENT_ID_IDLE = 0,	/* the idle task of any CPU */
	EVENT_ID_UNKNOWN = 1,	/* unknown thread, because of a declared loss */
	EVENT_ID_IRQ = 2,	/* interrupt context: belongs to no task */
	EVENT_ID_FILTERED = 3,	/* thread that --only excludes */
	EVENT_ID_FIRST = 16,
};

#define EVENT_VALUES 15	/* maximum number of columns of a kind */

/*
 * The codec of a column (schema/FORMAT.md, "Columns"):
 *   UTID     index into the block's list of utids
 *   PREV     as UTID; 0: the thread to which the CPU's last switch went
 *   TUPLE    the kind has one index per row, shared by its TUPLE columns and flags, into a
 *            list of the combinations of values that occur
 *   PLAIN    the value                        DELTA    difference to the previous row
 *   TDELTA   difference to the last row with the same tuple
 *   BACKREF  distance in rows to the last equal value; new values as differences
 *   XREF     row with the same value in another kind (a free: the row of its allocation)
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
#define EVENT_F_PREEMPT 0x02	/* SWITCH, OFFCPU: the thread was still ready to run when it left */
#define EVENT_F_NEXT_OUT 0x08	/* SWITCH under --only: next is not recorded */
/* REQUEST complete: a flush sequence may continue with this request */
#define EVENT_F_FLUSH_SEQ 0x20
#define EVENT_F_BROKEN                                                                             \
	0x10 /* IRQ entry in a cut trace: the exit was after the end of the cut, and was lost */

struct event {
	uint64_t ts_ns;			/* CLOCK_MONOTONIC */
	uint32_t utid; /* the current thread; SWITCH: the leaving thread */
	uint16_t cpu;
	uint8_t kind;			/* enum event_kind */
	uint8_t flags;
	uint64_t v[EVENT_VALUES];	/* by EV_*; unused values are 0 */
};

/* The type of object that a column's numbers identify. */
enum event_refers {
	EVENT_REFERS_NOTHING,
	EVENT_REFERS_THREAD,	/* a utid */
	EVENT_REFERS_PROCESS,	/* a upid */
	EVENT_REFERS_STACK,	/* the number of a stack */
	EVENT_REFERS_SITE,	/* code address in the process of the event's utid */
	/* this and higher values: a type of names; the number is an id of that type */
	EVENT_REFERS_NAME,
#define X(id, name, text, redact) EVENT_REFERS_##name = EVENT_REFERS_NAME + (id),
	EVENT_NAMES(X)
#undef X
};

struct event_column {
	uint8_t kind, index, codec;
	uint8_t xref_kind;		/* XREF column: the kind to which it refers; else 0 */
	uint8_t is_later;		/* older blocks may lack the column: its value is then 0 */
	uint8_t refers;			/* enum event_refers */
	uint8_t is_null;		/* a table shows 0 as NULL */
	uint8_t shown_cnt;
	const char *const *shown;	/* names by number; NULL: the table shows the number */
	const char *name;
};

/* Returns a column; NULL: no such column. */
const struct event_column *event_column(unsigned int kind, unsigned int index);
unsigned int column_codec(unsigned int kind,
			  unsigned int index); /* enum event_codec; 0: no such column */
unsigned int column_tuple_cnt(unsigned int kind);	/* number of TUPLE columns of the kind */
/* Returns the kind to which the kind's XREF column refers; 0: no XREF column. */
unsigned int column_xref_kind(unsigned int kind);
/* Returns the number of values of a kind; 0 for an unknown kind. */
unsigned int event_kind_values(unsigned int kind);
/* "switch", "slab_alloc", ...; "?" for an unknown kind. */
const char *event_kind_name(unsigned int kind);
/*
 * Returns the name of a column's value; NULL: the column's values have no names; "?": unknown
 * value.
 */
const char *event_shown(const struct event_column *c, uint64_t value);
/*
 * Returns the column with the thread or process that an event of the kind belongs to; NULL: the
 * event belongs to its utid.
 */
const struct event_column *event_owner_column(unsigned int kind);

/*
 * hook: names of the hook numbers in rows of losses and cost, and an estimate of the run time of a
 * hook's programs in an interval, from a sample. Threads: any. No errors.
 */
struct hook_name {
	const char *name;	/* "KMALLOC" */
	const char *source;	/* name of the source in -e: "alloc.slab" */
	uint8_t cls;		/* enum event_class */
};

/* Returns the names of a hook; NULL: this version has no such hook. */
const struct hook_name *hook_name_find(unsigned int hook);

/* Sums over many intervals of one hook, for means. All zeros: no data. */
struct hook_mean {
	uint64_t run_cnt, run_time_ns, sampled_cnt, sampled_ns;
};

static inline void hook_mean_add(struct hook_mean *m, const struct trace_hook_stat *row)
{
	m->run_cnt += row->run_cnt;
	m->run_time_ns += row->run_time_ns;
	m->sampled_cnt += row->sampled_cnt;
	m->sampled_ns += row->sampled_ns;
}

/*
 * Returns whether the programs reject most events: their number of runs does not depend on recorded
 * events.
 */
static inline bool hook_mean_filters(const struct hook_mean *m)
{
	return m->run_cnt / 4 > m->sampled_cnt;
}

/*
 * Estimates the run time of a hook's programs in the row's interval: time per event while
 * statistics were on (weighted with the mean of all intervals if there were few events), times the
 * number of events. If programs ran but rejected all events, the measured time is scaled to the
 * interval. If nothing was measured and the programs reject most events, the mean time per length
 * of interval is used. Without any data: 0. At most INT64_MAX.
 */
uint64_t hook_cost_ns(const struct trace_hook_stat *row, const struct hook_mean *mean);
