/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * woken_by(from_ns, to_ns): who ended the sleeps of the report's threads; a row per process, and
 * one of interrupts. It is about sleeps that lie in the window whole and whose wake-up was seen.
 */
#include <errno.h>

#include "analyze/fold/folds.h"
#include "analyze/views/view.h"
#include "table_columns.h"

/* NULL: not a sleep, or a sleep that does not count. */
static const struct thread_sleep *sleep_of(const struct view *v, const struct states_found *x)
{
	const struct thread_sleep *s = x->sleep;

	return s && s->is_seen && s->left_ns >= v->w.from_ns && s->end_ns < v->w.to_ns ? s : NULL;
}

struct waker {
	struct view_carried carried;
	uint64_t wakeups, slept_ns, slept_max_ns, at_ns;	/* at_ns: the end of the longest */
	uint32_t longest;		/* the thread */
};

static const struct fold_sums_def wakers_def = { .bytes = sizeof(struct waker) };

static int on_woken(void *ctx, const void *found)
{
	struct view *v = ctx;
	const struct thread_sleep *s = sleep_of(v, found);
	uint64_t slept_ns;
	struct waker *w;

	if (!s || !scope_has_thread_at(&v->a->scope, s->thread, s->end_ns, NULL))
		return 0;
	slept_ns = s->end_ns - s->left_ns;
	w = view_carry(v, s->is_irq, s->is_irq ? 0 : dense_process_of(&v->a->ids, s->waker));
	if (!w)
		return -ENOMEM;
	if (!w->wakeups++ || slept_ns > w->slept_max_ns ||
	    (slept_ns == w->slept_max_ns && s->thread < w->longest)) {
		w->slept_max_ns = slept_ns;
		w->at_ns = s->end_ns;
		w->longest = s->thread;
	}
	w->slept_ns += slept_ns;
	return 0;
}

static void give_waker(struct view *v, const struct view_place *at, void *sum)
{
	struct cell *c = view_row(v, 0, sum);

	if (!at->group)
		cell_int(&c[COL_WOKEN_BY_UPID], dense_upid(&v->a->ids, (uint32_t)at->b));
	cell_int(&c[COL_WOKEN_BY_IRQ], at->group);
}

static const struct view_def woken_by_view = {
	.is_one_bin = true, .fold = &fold_sleeps,
	.sums = &wakers_def, .carry = on_woken, .row = give_waker,
};

const struct table_def table_woken_by = VIEW_TABLE(WOKEN_BY, woken_by_view, struct view);
