/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* cpu_owner: the block's pieces, as cpu_timeline gives them; those around the instant are kept. */
#include "event/cpu_owner.h"

#include "event/cpu_timeline.h"
#include "event/trace_state.h"

struct owners {
	struct trace *t;
	uint64_t ts_ns;
	uint32_t *owner; /* by CPU */
	size_t block;
	struct event_cursor *cursor;
	const struct event *next;
};

static uint32_t keyframe(void *ctx, unsigned int cpu)
{
	const struct owners *o = ctx;

	return trace_block_running(o->t, o->block, cpu);
}

static int on_piece(void *ctx, const struct cpu_piece *p)
{
	const struct owners *o = ctx;

	if (p->from_ns <= o->ts_ns && p->to_ns > o->ts_ns)
		o->owner[p->cpu] = p->utid;
	return 0;
}

static int feed(struct owners *o, struct cpu_timeline *tl, uint64_t to_ns, struct err *e)
{
	int r = 0;

	while (r >= 0) {
		if (!o->next) {
			r = event_cursor_next(o->cursor, &o->next, e);
			if (r <= 0) {
				o->next = NULL;
				return r;
			}
		}
		if (o->next->ts_ns >= to_ns)
			return 0;
		r = cpu_timeline_switch(tl, o->next);
		o->next = NULL;
	}
	return r;
}

/* Up to the end of block `end`; the one to begin with has a keyframe that holds. */
static int run(struct owners *o, size_t begin, size_t end, struct cpu_timeline *tl, struct err *e)
{
	const struct trace_block *b = o->t->blocks.v;
	unsigned int cpu;
	uint32_t utid;
	int r = 0;

	for (o->block = begin; r >= 0 && o->block <= end; o->block++) {
		r = cpu_timeline_boundary(tl, b[o->block].from_ns,
					  o->block == begin ? keyframe : NULL, o);
		if (r >= 0)
			r = feed(o, tl, b[o->block].to_ns, e);
		if (r < 0)
			break;
		if (trace_block_is_damaged(o->t, o->block))
			cpu_timeline_forget(tl);
		for (cpu = 0; cpu < o->t->cpu_cnt; cpu++)
			if (trace_block_ends(o->t, o->block, cpu, &utid))
				cpu_timeline_settle(tl, cpu, utid);
		r = cpu_timeline_boundary(tl, b[o->block].to_ns, NULL, NULL);
	}
	return r;
}

/* Nothing from before the block sits in a later one, and the one before it ends where it begins. */
static bool begins_anew(const struct trace *t, size_t i)
{
	const struct trace_block *b = (const struct trace_block *)t->blocks.v + i;
	const struct trace_block_more *m = (const struct trace_block_more *)t->more.v + i;

	return !i || m->late_ns >= b->from_ns || b[-1].to_ns < b->from_ns || m[-1].damaged;
}

int cpu_owners_at(struct trace *t, uint64_t ts_ns, uint32_t *ret, struct err *e)
{
	const struct trace_block *b = t->blocks.v;
	struct owners o = { .t = t, .ts_ns = ts_ns, .owner = ret };
	struct cpu_timeline *tl;
	size_t begin, end;
	unsigned int cpu;
	int r;

	for (cpu = 0; cpu < t->cpu_cnt; cpu++)
		ret[cpu] = EVENT_ID_UNKNOWN;
	for (end = 0; end < t->blocks.cnt && b[end].to_ns <= ts_ns; end++)
		;
	if (end == t->blocks.cnt || b[end].from_ns > ts_ns)
		return 0;
	for (begin = end; !begins_anew(t, begin); begin--)
		;
	r = cpu_timeline_new(&tl, t->cpu_cnt, on_piece, &o);
	if (r < 0)
		return err_set(e, r, "out of memory");
	r = event_cursor_open(&o.cursor, t, 1u << EVENT_SWITCH, b[begin].from_ns, b[end].to_ns, e);
	if (r == 0) {
		r = run(&o, begin, end, tl, e);
		event_cursor_close(o.cursor);
	}
	cpu_timeline_free(tl);
	return r < 0 ? err_set(e, r, "%s", err_text(e, r)) : 0;
}
