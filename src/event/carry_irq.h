/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * carry_irq: the interrupts that are being served at an instant, as the events that tell of them.
 *
 *     irq events, by time --[carry_irq]--> of each CPU, those since the outermost one began
 *
 * Replayed, they leave an irq_track in the state that all events before would. Threads: one.
 */
#ifndef CARRY_IRQ_H
#define CARRY_IRQ_H

#include <stddef.h>
#include <stdint.h>

#include "event/event.h"
#include "event/trace.h"

struct carry_irq;

int carry_irq_new(struct carry_irq **ret, const struct trace *t); /* 0 or -ENOMEM */
void carry_irq_free(struct carry_irq *q);

/* An EVENT_IRQ, and a number that counts events. 0 or -ENOMEM. */
int carry_irq_event(struct carry_irq *q, const struct event *ev, uint64_t nr);

/* What is being served at at_ns: fn gets each event, by CPU and then time. 0, or what fn returned. */
typedef int (*carry_irq_fn)(void *ctx, const struct event *ev, uint64_t nr);
int carry_irq_give(struct carry_irq *q, uint64_t at_ns, carry_irq_fn fn, void *ctx);

#endif /* CARRY_IRQ_H */
