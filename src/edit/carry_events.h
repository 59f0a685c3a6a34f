/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * carry_events: of the events before an instant, those that a trace which begins there still needs.
 *
 *     switches, wake-ups, block events, irq events, by time --[carry_events]--> a few of them
 *
 * Replayed, these leave a state machine (thread_states, request_track, irq_track) in the
 * state that all events would:
 *   - of a thread stay the last switch to it, the last one away from it, the first wake-up after
 *     each, and the second one after the latter: they say whether, and since when, the thread
 *     waits, or that it has run unseen. Of a thread that ended and left its CPU nothing stays;
 *   - the events of a request stay until a new life begins at its address;
 *   - of a CPU stay the events since the outermost interrupt that is being served began.
 *
 * Threads: one. Memory: in proportion to threads, request addresses and CPUs. Errors: 0 or -ENOMEM.
 */
#ifndef CARRY_EVENTS_H
#define CARRY_EVENTS_H

#include "edit/checkpoint.h"

struct carry_events;

int carry_events_new(struct carry_events **ret, struct trace *t);
void carry_events_free(struct carry_events *c);	/* NULL is fine */
/* An event of any kind; only EVENT_SWITCH, _WAKEUP, _REQUEST and _IRQ matter. */
int carry_events_take(struct carry_events *c, const struct event *ev);
/* Adds what stays as of at_ns to ret, in order. Events from at_ns on may follow. */
int carry_events_save(struct carry_events *c, uint64_t at_ns, struct checkpoint *ret);

#endif /* CARRY_EVENTS_H */
