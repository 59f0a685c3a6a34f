/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Finds what a cut takes over of switches, requests and interrupts. */
#include "analyze/fold/folds.h"

#include "edit/carry_events.h"

struct carried_machine {
	struct fold_machine f;
	struct carry_events *carry;
};

static int carried_open(void *machine)
{
	struct carried_machine *m = machine;

	return carry_events_new(&m->carry, m->f.a->trace);
}

static void carried_close(void *machine)
{
	carry_events_free(((struct carried_machine *)machine)->carry);
}

static int carried_event(void *machine, const struct event *ev)
{
	return carry_events_take(((struct carried_machine *)machine)->carry, ev);
}

static int carried_checkpoint(void *machine, uint64_t at_ns, struct checkpoint *ret)
{
	return carry_events_save(((struct carried_machine *)machine)->carry, at_ns, ret);
}

static int carried_restore(void *machine, uint64_t at_ns, const struct checkpoint *from)
{
	size_t i;
	int ret = 0;

	for (i = 0; i < from->event_cnt && ret >= 0; i++)
		ret = carried_event(machine, &from->events[i]);
	return ret;
}

/* ---- states: only the tail has one ---- */

static void carried_begin_interval(void *machine, uint64_t from_ns)
{
}

static void carried_save(void *machine, uint64_t at_ns, struct buf *out)
{
	struct checkpoint c = { 0 };

	if (carried_checkpoint(machine, at_ns, &c) == 0)
		checkpoint_encode(&c, at_ns, out);
	else
		out->failed = true;
	checkpoint_done(&c);
}

static int carried_load(void *machine, uint64_t at_ns, struct packed_in *in, bool is_tail)
{
	struct carried_machine *m = machine;
	size_t cnt = (size_t)(in->end - in->p);
	struct checkpoint c;
	int ret = checkpoint_decode(in->p, cnt, cnt, at_ns, trace_cpu_cnt(m->f.a->trace), &c);

	if (ret < 0)
		return ret;
	ret = carried_restore(machine, at_ns, &c);
	checkpoint_done(&c);
	return ret;
}

static const struct fold_state_def carried_state = {
	.tail = INDEX_TAIL_CARRIED, .begin_interval = carried_begin_interval,
	.save = carried_save, .load = carried_load,
};

#define CARRIED_FOLD(part, event_kinds)                                                           \
	[part] = {                                                                                \
		.kinds = event_kinds, .state = &carried_state, .group = part,                     \
		.bytes = sizeof(struct carried_machine), .open = carried_open,                    \
		.close = carried_close, .event = carried_event, .checkpoint = carried_checkpoint, \
		.restore = carried_restore,                                                       \
	}

const struct fold_def fold_carried[] = {
	CARRIED_FOLD(CHECKPOINT_SCHED, 1u << EVENT_SWITCH | 1u << EVENT_WAKEUP),
	CARRIED_FOLD(CHECKPOINT_REQUESTS, 1u << EVENT_REQUEST),
	CARRIED_FOLD(CHECKPOINT_IRQ, 1u << EVENT_IRQ),
};
