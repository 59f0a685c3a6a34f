/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* irq_name: what interrupts are called. Numbers are those of EVENT_IRQ rows. Threads: any. */
#ifndef IRQ_NAME_H
#define IRQ_NAME_H

#include <stdint.h>

#include "trace/trace.h"

/* "irq", "softirq", "local"; "?" for any other number. */
const char *irq_type_name(uint64_t type);
/* The type of such a name, or 0. */
unsigned int irq_type_find(const char *name);
/*
 * "NET_RX", "timer"; of a line the names of its handlers, which belong to the trace. NULL: none is
 * known.
 */
const char *irq_vector_name(const struct trace *t, uint64_t type, uint64_t vector);

#endif /* IRQ_NAME_H */
