/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Blocks are slices of time that follow each other. A hole between two (a damaged block) is
 * nobody's: EVENT_ID_UNKNOWN. A keyframe counts when its edge is clean, that is when no record from
 * before the edge sits in a later block; otherwise the chain of switches goes on across it.
 */
#include "analyze/cpu_scan.h"

#include <errno.h>
#include <stdlib.h>

struct cpu_scan {
	struct analysis *a;
	struct cpu_scan_config c;
	struct cpu_timeline *tl;
	struct event_cursor *cursor;
	const struct event *next;	/* read, not yet used */
	const struct trace_block *blocks;
	size_t at, end;			/* blocks still to do */
	uint64_t begin_ns, until_ns;	/* where it began; up to where pieces are given out */
	bool last_done;
};

struct keyframe {
	const struct analysis *a;
	size_t block;
};

static uint32_t runner_of_keyframe(void *ctx, unsigned int cpu)
{
	const struct keyframe *k = ctx;

	return trace_block_running(k->a->trace, k->block, cpu);
}

static uint32_t runner_unknown(void *ctx, unsigned int cpu)
{
	return EVENT_ID_UNKNOWN;
}

static void pick_blocks(struct cpu_scan *s)
{
	size_t cnt, i;

	s->blocks = trace_blocks(s->a->trace, &cnt);
	s->at = 0;
	for (i = 0; i < cnt && !s->c.from_start; i++)
		if (s->blocks[i].from_ns <= s->c.from_ns && s->a->block_is_clean[i])
			s->at = i;
	for (s->end = s->at; s->end < cnt && s->blocks[s->end].from_ns < s->c.to_ns;)
		s->end++;
	/* the first block stands for the trace's start */
	s->begin_ns = s->at ? s->blocks[s->at].from_ns : s->a->start_ns;
}

int cpu_scan_open(struct cpu_scan **ret, struct analysis *a, const struct cpu_scan_config *c,
		  struct err *e)
{
	struct cpu_scan *s = calloc(1, sizeof(*s));
	uint32_t kinds = 1u << EVENT_SWITCH | (c->want_wakeups ? 1u << EVENT_WAKEUP : 0);
	const uint32_t columns[EVENT_KIND_CNT] = {
		[EVENT_SWITCH] = EVENT_COL_UTID | EVENT_COL_FLAGS | 1u << EV_SWITCH_NEXT |
				 (c->event ? 1u << EV_SWITCH_PREV_STATE : 0),
		[EVENT_WAKEUP] = 1u << EV_WAKEUP_TARGET,
	};
	int r;

	if (!s)
		return err_set(e, -ENOMEM, "out of memory");
	s->a = a;
	s->c = *c;
	pick_blocks(s);
	r = cpu_timeline_new(&s->tl, trace_cpu_cnt(a->trace), c->piece, c->ctx);
	if (r < 0) {
		err_set(e, r, "out of memory");
		goto fail;
	}
	s->until_ns = s->end ? s->blocks[s->end - 1].to_ns : s->begin_ns;
	if (s->until_ns < c->to_ns)
		s->until_ns = c->to_ns;
	/* what a cut carried over is heard, but is nobody's time */
	r = event_cursor_open_columns(&s->cursor, a->trace, kinds, columns,
				      c->from_start ? 0 : s->begin_ns, s->until_ns, e);
	if (r < 0)
		goto fail;
	/* before the first block, if there is anything, nothing is known */
	r = cpu_timeline_boundary(s->tl, s->begin_ns, runner_unknown, NULL);
	if (r < 0)
		goto fail;
	*ret = s;
	return 0;
fail:
	cpu_scan_close(s);
	return r;
}

void cpu_scan_close(struct cpu_scan *s)
{
	if (!s)
		return;
	event_cursor_close(s->cursor);
	cpu_timeline_free(s->tl);
	free(s);
}

uint64_t cpu_scan_begin_ns(const struct cpu_scan *s)
{
	return s->begin_ns;
}

static int feed_until(struct cpu_scan *s, uint64_t to_ns, struct err *e)
{
	int ret;

	for (;;) {
		if (!s->next) {
			ret = event_cursor_next(s->cursor, &s->next, e);
			if (ret < 0)
				return ret;
			if (!ret) {
				s->next = NULL;
				return 0;
			}
		}
		if (s->next->ts_ns >= to_ns)
			return 0;
		ret = s->next->kind == EVENT_SWITCH && s->next->ts_ns >= s->begin_ns ?
			      cpu_timeline_switch(s->tl, s->next) :
			      0;
		if (ret >= 0 && s->c.event)
			ret = s->c.event(s->c.ctx, s->next);
		if (ret < 0)
			return ret;
		s->next = NULL;
	}
}

/* Of the last block of a trace that was cut: what came after it is told. */
static void settle(struct cpu_scan *s)
{
	unsigned int cpu;
	uint32_t utid;

	for (cpu = 0; cpu < trace_cpu_cnt(s->a->trace); cpu++)
		if (trace_block_ends(s->a->trace, s->at, cpu, &utid))
			cpu_timeline_settle(s->tl, cpu, utid);
}

static int step_block(struct cpu_scan *s, struct err *e)
{
	const struct trace_block *b = &s->blocks[s->at];
	struct keyframe k = { s->a, s->at };
	bool first = s->at == 0 || b->from_ns == s->begin_ns;
	uint64_t before_to = s->at ? s->blocks[s->at - 1].to_ns : b->from_ns;
	bool hole = !first &&
		    (b->from_ns > before_to || trace_block_is_damaged(s->a->trace, s->at - 1));
	int ret = 0;

	/* what was recorded inside a hole came late, in another block: it is heard, but changes
	 * nobody's time */
	if (hole)
		ret = cpu_timeline_boundary(s->tl, before_to, runner_unknown, NULL);
	if (!ret)
		ret = feed_until(s, b->from_ns, e);
	if (!ret)
		ret = cpu_timeline_boundary(
			s->tl, b->from_ns,
			first || hole || s->a->block_is_clean[s->at] ? runner_of_keyframe : NULL,
			&k);
	if (!ret)
		ret = feed_until(s, b->to_ns, e);
	if (!ret && trace_block_is_damaged(s->a->trace, s->at))
		cpu_timeline_forget(s->tl);
	else if (!ret)
		settle(s);
	if (!ret)
		ret = cpu_timeline_boundary(s->tl, b->to_ns, NULL, NULL);
	return ret;
}

int cpu_scan_step(struct cpu_scan *s, uint64_t *ret_decided_ns, struct err *e)
{
	int ret;

	if (s->at < s->end) {
		ret = step_block(s, e);
		if (ret < 0)
			return ret;
		*ret_decided_ns = s->blocks[s->at].to_ns;
		s->at++;
		return 1;
	}
	if (!s->last_done) {
		s->last_done = true;
		ret = cpu_timeline_boundary(s->tl,
					    s->end ? s->blocks[s->end - 1].to_ns : s->begin_ns,
					    runner_unknown, NULL);
		if (!ret)
			ret = cpu_timeline_boundary(s->tl, s->until_ns, NULL, NULL);
		if (ret < 0)
			return ret;
	}
	*ret_decided_ns = s->until_ns;
	return 0;
}
