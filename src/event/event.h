/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * event: what an analysis sees. One fixed-size record per kept event, decoded,
 * with its thread already resolved to a utid.
 *
 *     src/chunk (decode) --columns--> src/event (order, struct event) --> analyze
 *
 * Kinds, columns and flags are in chunk/columns.h.
 */
#ifndef EVENT_H
#define EVENT_H

#include <stdint.h>

#include "chunk/columns.h"

struct event {
	uint64_t ts_ns;			/* CLOCK_MONOTONIC */
	uint32_t utid; /* current thread at that instant; SWITCH: the one that leaves */
	uint16_t cpu;
	uint8_t kind;			/* enum event_kind */
	uint8_t flags;
	uint64_t v[EVENT_VALUES];	/* by EV_*; unused ones are 0 */
};

struct event_column {
	uint8_t kind, index, codec;
	const char *name;
	const char *doc;
};

/* All columns, by kind then index; *ret_cnt is their number. */
const struct event_column *event_columns(unsigned int *ret_cnt);
/* Number of values of a kind; 0 for an unknown kind. */
unsigned int event_kind_values(unsigned int kind);
/* "switch", "slab_alloc", ...; "?" for an unknown kind. */
const char *event_kind_name(unsigned int kind);

#endif /* EVENT_H */
