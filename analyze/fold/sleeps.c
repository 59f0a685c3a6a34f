/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * The CPU timeline says when a thread leaves its CPU, since a switch may tell of another thread
 * than the one that had the CPU. The wake-ups of an instant wait until nothing else comes at this
 * instant: a thread that falls asleep then is woken by them.
 */
#include "analyze/fold/sleeps.h"

#include <errno.h>
#include <stdlib.h>

#include "analyze/fold/fold_reader.h"
#include "analyze/fold/folds.h"
#include "base/array.h"

struct wakeup {
	uint32_t thread, waker;
	bool is_irq;
};

struct stay {			/* of a thread on a CPU, joined of pieces */
	bool exists;			/* the CPU does */
	bool is_open;
	uint32_t utid;
	uint64_t to_ns;
};

struct sleeps {
	const struct dense_ids *ids;
	const struct sleeps_sink *sink;
	uint64_t from_ns, to_ns;
	uint64_t *left_ns;		/* by thread; 0: it does not sleep */
	struct stay *stays;		/* by CPU */
	unsigned int cpu_cnt;
	struct wakeup *wakeups;		/* of the instant at_ns */
	size_t wakeup_cnt, wakeup_cap;
	uint64_t at_ns;
};

static int end_sleeps(struct sleeps *s, bool is_irq)
{
	int ret = 0;
	size_t i;

	for (i = 0; i < s->wakeup_cnt && ret >= 0; i++) {
		const struct wakeup *w = &s->wakeups[i];
		struct sleep x = { w->thread, w->waker, is_irq, s->left_ns[w->thread], s->at_ns };

		if (w->is_irq != is_irq || !x.left_ns)
			continue;
		s->left_ns[w->thread] = 0;
		ret = s->sink->slept(s->sink->ctx, &x);
	}
	return ret;
}

/* Everything up to the instant of the wake-ups is known. */
static int take_wakeups(struct sleeps *s)
{
	int ret = end_sleeps(s, false);

	if (ret >= 0)
		ret = end_sleeps(s, true);
	s->wakeup_cnt = 0;
	return ret;
}

static int on_wakeup(void *ctx, const void *found)
{
	struct sleeps *s = ctx;
	const struct event *ev = found;
	int ret = 0;

	if (ev->ts_ns < s->from_ns || ev->ts_ns >= s->to_ns)
		return 0;
	if (ev->ts_ns > s->at_ns)
		ret = take_wakeups(s);
	s->at_ns = ev->ts_ns;
	if (ret < 0 || array_reserve(&s->wakeups, &s->wakeup_cap, s->wakeup_cnt + 1) < 0)
		return ret < 0 ? ret : -ENOMEM;
	s->wakeups[s->wakeup_cnt++] = (struct wakeup){
		.thread = dense_thread(s->ids, (uint32_t)ev->v[EV_WAKEUP_TARGET_UTID]),
		.waker = dense_thread(s->ids, ev->utid), .is_irq = ev->flags & EVENT_F_IRQ,
	};
	return 0;
}

static int give_stay(struct sleeps *s, struct stay *x, bool has_end)
{
	uint64_t to_ns = x->to_ns < s->to_ns ? x->to_ns : s->to_ns;

	if (!x->is_open || !s->sink->ran || to_ns + has_end <= s->from_ns)
		return 0;
	x->is_open = false;
	return s->sink->ran(s->sink->ctx, dense_thread(s->ids, x->utid), to_ns);
}

static bool is_sleep(const struct cpu_piece *p)
{
	return p->end && p->end->utid == p->utid && !(p->end->flags & EVENT_F_PREEMPT) &&
	       p->end->v[EV_SWITCH_PREV_STATE];
}

static int on_piece(void *ctx, const void *found)
{
	struct sleeps *s = ctx;
	const struct cpu_piece *p = found;
	struct stay *x = &s->stays[p->cpu];
	int ret = 0;

	if (!x->exists)
		return 0;
	if (x->utid != p->utid)
		ret = give_stay(s, x, false);
	if (ret < 0 || (!x->is_open && p->from_ns >= s->to_ns))
		return ret;
	*x = (struct stay){ .exists = true, .is_open = true, .utid = p->utid, .to_ns = p->to_ns };
	if (p->end)
		ret = give_stay(s, x, true);
	if (p->to_ns > s->at_ns && ret >= 0)
		ret = take_wakeups(s);
	if (is_sleep(p) && p->to_ns >= s->from_ns && p->to_ns <= s->to_ns)
		s->left_ns[dense_thread(s->ids, p->utid)] = p->to_ns;
	return ret;
}

/* ---- a fold that finds every wake-up ---- */

static int wakeups_open(void *machine)
{
	return 0;
}

static void wakeups_close(void *machine)
{
}

static int wakeups_event(void *machine, const struct event *ev)
{
	return fold_found(machine, ev);
}

static const uint32_t wakeup_columns[EVENT_KIND_CNT] = {
	[EVENT_WAKEUP] = EVENT_COL_UTID | EVENT_COL_FLAGS | 1u << EV_WAKEUP_TARGET_UTID,
};

static const struct fold_def fold_wakeups = {
	.kinds = 1u << EVENT_WAKEUP, .columns = wakeup_columns, .begin = FOLD_FROM_EDGE,
	.bytes = sizeof(struct fold_machine), .open = wakeups_open, .close = wakeups_close,
	.event = wakeups_event,
};

/* ---- reading ---- */

static const uint32_t cpu_columns[EVENT_KIND_CNT] = {
	[EVENT_SWITCH] = FOLD_CPU_COLUMNS | 1u << EV_SWITCH_PREV_STATE,
};

static int run(struct sleeps *s, struct analysis *a, struct err *e)
{
	struct fold_def cpu = fold_cpu;
	const struct fold_use uses[] = { { &cpu, { s, on_piece } },
					 { &fold_wakeups, { s, on_wakeup } } };
	const struct fold_range range = { .from_ns = s->from_ns, .to_ns = s->to_ns,
					  .start = FOLD_READER_AT };
	struct fold_reader *reader = NULL;
	int ret;

	cpu.columns = cpu_columns;
	ret = fold_reader_open(&reader, a, &range, uses, 2, e);
	if (!ret)
		ret = fold_reader_run(reader, s->to_ns, SIZE_MAX, NULL, e);
	fold_reader_close(reader);
	return ret;
}

int sleeps_read(struct analysis *a, uint64_t from_ns, uint64_t to_ns,
		const struct sleeps_sink *sink, struct err *e)
{
	struct sleeps s = { .ids = &a->ids, .sink = sink, .from_ns = from_ns, .to_ns = to_ns };
	unsigned int cpu_cnt = trace_cpu_cnt(a->trace), i;
	int ret;

	s.left_ns = calloc(a->ids.thread_cnt, sizeof(*s.left_ns));
	s.stays = calloc(cpu_cnt + 1, sizeof(*s.stays));
	for (i = 0; s.stays && i < a->cpu_cnt; i++)
		s.stays[a->cpus[i]].exists = true;
	ret = s.left_ns && s.stays ? run(&s, a, e) : -ENOMEM;
	for (i = 0; i < cpu_cnt && ret >= 0; i++)
		ret = give_stay(&s, &s.stays[i], false);
	if (ret >= 0)
		ret = take_wakeups(&s);
	free(s.left_ns);
	free(s.stays);
	free(s.wakeups);
	return ret < 0 ? err_set(e, ret, "out of memory") : 0;
}
