/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* The kernel's numbers of soft interrupts have been the same for longer than there is BTF. */
#include "analyze/engine/irq_name.h"

#include <string.h>

#define NAMES(names) (sizeof(names) / sizeof((names)[0]))

static const char *const types[EVENT_IRQ_TYPE_CNT] = {
	[EVENT_IRQ_LINE] = "irq", [EVENT_IRQ_SOFT] = "softirq", [EVENT_IRQ_LOCAL] = "local"
};

const char *irq_type_name(uint64_t type)
{
	return type < EVENT_IRQ_TYPE_CNT && types[type] ? types[type] : "?";
}

unsigned int irq_type_find(const char *name)
{
	unsigned int i;

	for (i = EVENT_IRQ_LINE; i < EVENT_IRQ_TYPE_CNT; i++)
		if (!strcmp(types[i], name))
			return i;
	return 0;
}

const char *irq_vector_name(const struct trace *t, uint64_t type, uint64_t vector)
{
	static const char *const soft[] = { "HI",	"TIMER",   "NET_TX", "NET_RX",	"BLOCK",
					    "IRQ_POLL", "TASKLET", "SCHED",  "HRTIMER", "RCU" };
	static const char *const local[] = {
		[EVENT_VECTOR_TIMER] = "timer",
		[EVENT_VECTOR_RESCHEDULE] = "reschedule",
		[EVENT_VECTOR_CALL] = "call_function",
		[EVENT_VECTOR_CALL_SINGLE] = "call_function_single",
		[EVENT_VECTOR_IRQ_WORK] = "irq_work",
	};
	const struct trace_name *n;

	switch (type) {
	case EVENT_IRQ_LINE:
		n = trace_name_find(t, TRACE_NAME_IRQ, vector + 1);
		return n ? n->name : NULL;
	case EVENT_IRQ_SOFT:
		return vector < NAMES(soft) ? soft[vector] : NULL;
	case EVENT_IRQ_LOCAL:
		return vector < NAMES(local) ? local[vector] : NULL;
	default:
		return NULL;
	}
}
