/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * carry_points: what is carried over at some instants of a finished trace, in a file beside it.
 *
 *     trace_carry --adds--> carry.idx --the last one before an instant--> trace_carry
 *
 * So only the first cut reads what lies before its window; the next one begins at the last point before it. The file holds
 * for the trace when every block's place and header CRC are what they were. Derived data: it can be deleted at any
 * time, and what is damaged is not used. Threads: one.
 */
#ifndef CARRY_POINTS_H
#define CARRY_POINTS_H

#include "event/trace_carry.h"

struct carry_points;

/* What there is for t; nothing where there is no file, or none that fits. -ENOMEM. */
int carry_points_open(struct carry_points **ret, struct trace *t);
void carry_points_free(struct carry_points *p);

/* The last one that is not after at_ns. 1: there is, *ret is for trace_carry_done(); 0: none; -ENOMEM. */
int carry_points_find(struct carry_points *p, uint64_t at_ns, uint64_t *ret_at_ns,
		      struct trace_carry *ret);
/* The last one of all; 0: there is none. */
uint64_t carry_points_last_ns(const struct carry_points *p);

/*
 * Adds one behind the last. Where no file can be made in the trace's directory this does nothing, now and later.
 * -ENOMEM.
 */
int carry_points_add(struct carry_points *p, uint64_t at_ns, const struct trace_carry *c);
/* Puts the file in its place, if points were added. It may fail: there are just none then. */
void carry_points_save(struct carry_points *p);

/*
 * Goes through all points. 1: the file holds together; 0: there is none; -EBADMSG: it is damaged; -ESTALE: it is another
 * trace's; -ENOMEM. *ret_bytes: its size.
 */
int carry_points_check(struct trace *t, uint64_t *ret_bytes);

#endif /* CARRY_POINTS_H */
