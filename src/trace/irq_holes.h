/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * irq_holes: the times from which a trace lacks interrupt events: sched.irq was off, or a block is
 * missing or damaged.
 *
 * A reader of a trace's events calls irq_track_hole() at each of them, before the events of that
 * time. Threads: one.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/trace.h"

struct irq_holes {
	uint64_t *at_ns;	/* ascending */
	size_t cnt, next;
};

int irq_holes_find(struct irq_holes *h, const struct trace *t);	/* 0 or -ENOMEM */
void irq_holes_done(struct irq_holes *h);
/* True: a hole that no earlier call has passed is before below_ns. */
bool irq_holes_pass(struct irq_holes *h, uint64_t below_ns);
