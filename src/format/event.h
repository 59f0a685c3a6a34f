/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * event: what an analysis sees. One fixed-size record per kept event, decoded,
 * with its thread already resolved to a utid.
 *
 *     src/format (decode) --columns--> src/trace (order, struct event) --> analyze
 *
 * Kinds, columns and flags are in format/columns.h.
 */
#ifndef EVENT_H
#define EVENT_H

#include <stdint.h>

#include "format/columns.h"

struct event {
	uint64_t ts_ns;			/* CLOCK_MONOTONIC */
	uint32_t utid; /* current thread at that instant; SWITCH: the one that leaves */
	uint16_t cpu;
	uint8_t kind;			/* enum event_kind */
	uint8_t flags;
	uint64_t v[EVENT_VALUES];	/* by EV_*; unused ones are 0 */
};

/* What the numbers of a column stand for. */
enum event_refers {
	EVENT_REFERS_NOTHING,
	EVENT_REFERS_THREAD,	/* a utid */
	EVENT_REFERS_PROCESS,	/* a upid */
};

struct event_column {
	uint8_t kind, index, codec;
	uint8_t refers;			/* enum event_refers */
	uint8_t is_null;		/* in a table, NULL stands for 0 if the column has names */
	uint8_t shown_cnt;
	const char *const *shown;	/* names by number; NULL: the table shows the number */
	const char *name;
};

/* All columns, by kind then index; *ret_cnt is their number. */
const struct event_column *event_columns(unsigned int *ret_cnt);
/* Number of values of a kind; 0 for an unknown kind. */
unsigned int event_kind_values(unsigned int kind);
/* "switch", "slab_alloc", ...; "?" for an unknown kind. */
const char *event_kind_name(unsigned int kind);
/* A column; NULL: no such column. */
const struct event_column *event_column(unsigned int kind, unsigned int index);
/* The name of a column's number; NULL: the number means nothing; "?": it is unknown. */
const char *event_shown(const struct event_column *c, uint64_t value);
/*
 * The column with the thread or process to which an event of the kind belongs; NULL: the event
 * belongs to its utid.
 */
const struct event_column *event_owner_column(unsigned int kind);

#endif /* EVENT_H */
