/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * woken_by(from_ns, to_ns): who ended the sleeps of the report's threads; a row per process, and
 * one of interrupts.
 * blocking_chain(from_ns, to_ns): from the thread of the report that was on a CPU last, back along
 * the wake-ups. A row is a link: the thread until to_ns, and the sleep before, if there is one.
 *
 * Both are about sleeps that lie in the window whole (analyze/fold/sleeps.h).
 */
#include <errno.h>
#include <stdlib.h>

#include "analyze/fold/sleeps.h"
#include "analyze/views/view.h"
#include "base/array.h"

/* ---- who ended sleeps ---- */

struct waker {
	struct view_carried carried;
	uint64_t wakeups, slept_ns, slept_max_ns, at_ns;	/* at_ns: the end of the longest */
	uint32_t longest;		/* the thread */
};

#define WAKER(name, field, take) VIEW_COLUMN(name, struct waker, field, VIEW_TAKES_##take)

static const struct table_column waker_cols[] = {
	{ "upid", COLUMN_INT },
	{ "irq", COLUMN_INT },
	WAKER("wakeups", wakeups, NUMBER), WAKER("slept_ns", slept_ns, NUMBER),
	WAKER("slept_max_ns", slept_max_ns, NUMBER), WAKER("at_ns", at_ns, INSTANT),
	{ "from_ns", COLUMN_INT }, { "to_ns", COLUMN_INT },
};

static const struct fold_sums_def wakers_def = { .bytes = sizeof(struct waker) };

static int on_woken(void *ctx, const struct sleep *s)
{
	struct view *v = ctx;
	uint32_t process = dense_process_of(&v->a->ids, s->waker);
	uint64_t slept_ns = s->woken_ns - s->left_ns;
	struct waker *w;

	if (!scope_has_thread(&v->a->scope, s->thread))
		return 0;
	w = view_carry(v, s->is_irq, s->is_irq ? 0 : process);
	if (!w)
		return -ENOMEM;
	if (!w->wakeups++ || slept_ns > w->slept_max_ns ||
	    (slept_ns == w->slept_max_ns && s->thread < w->longest)) {
		w->slept_max_ns = slept_ns;
		w->at_ns = s->woken_ns;
		w->longest = s->thread;
	}
	w->slept_ns += slept_ns;
	return 0;
}

static int give_waker(struct view *v, const struct view_place *at, void *sum)
{
	struct cell *c = view_row(v, 0, sum);

	if (!c)
		return -ENOMEM;
	if (!at->group)
		cell_int(&c[0], dense_upid(&v->a->ids, (uint32_t)at->b));
	cell_int(&c[1], at->group);
	return 0;
}

static int read_wakers(struct view *v, struct err *e)
{
	const struct sleeps_sink sink = { .ctx = v, .slept = on_woken };

	return sleeps_read(v->a, v->w.from_ns, v->w.to_ns, &sink, e);
}

static const struct view_def woken_by_view = {
	.bytes = sizeof(struct view), .is_one_bin = true, .sums = &wakers_def,
	.run_bin = read_wakers, .row = give_waker,
};

/* ---- the chain ---- */

#define LINK_MAX 20

enum { LINK_N, LINK_UTID, LINK_TO, LINK_LEFT, LINK_WOKEN, LINK_WAKER, LINK_IRQ, LINK_COLS };

static const struct table_column chain_cols[] = {
	[LINK_N] = { "n", COLUMN_INT },
	[LINK_UTID] = { "utid", COLUMN_INT },
	[LINK_TO] = { "until_ns", COLUMN_INT },
	[LINK_LEFT] = { "left_ns", COLUMN_INT },
	[LINK_WOKEN] = { "woken_ns", COLUMN_INT },
	[LINK_WAKER] = { "waker_utid", COLUMN_INT },
	[LINK_IRQ] = { "irq", COLUMN_INT },
	{ "from_ns", COLUMN_INT }, { "to_ns", COLUMN_INT },
};

struct chain {
	struct view v;
	struct sleep *sleeps;		/* of all threads, by the instant they end */
	size_t cnt, cap;
	uint32_t last;			/* the thread that was on a CPU last; 0: none */
	uint64_t last_ns;
};

static int on_slept(void *ctx, const struct sleep *s)
{
	struct chain *c = ctx;

	if (array_reserve(&c->sleeps, &c->cap, c->cnt + 1) < 0)
		return -ENOMEM;
	c->sleeps[c->cnt++] = *s;
	return 0;
}

static int on_ran(void *ctx, uint32_t thread, uint64_t to_ns)
{
	struct chain *c = ctx;

	if (to_ns > c->last_ns && thread >= EVENT_ID_FIRST &&
	    scope_has_thread(&c->v.a->scope, thread)) {
		c->last = thread;
		c->last_ns = to_ns;
	}
	return 0;
}

/* The thread's last sleep that ended before to_ns; NULL: there is none. */
static const struct sleep *sleep_before(const struct chain *c, uint32_t thread, uint64_t to_ns)
{
	size_t i = c->cnt;

	while (i && (c->sleeps[i - 1].woken_ns >= to_ns || c->sleeps[i - 1].thread != thread))
		i--;
	return i ? &c->sleeps[i - 1] : NULL;
}

static int give_link(struct chain *c, unsigned int n, uint32_t thread, uint64_t to_ns,
		     const struct sleep *s)
{
	const struct analysis *a = c->v.a;
	struct cell *cells = view_row(&c->v, 0, NULL);

	if (!cells)
		return -ENOMEM;
	cell_int(&cells[LINK_N], n);
	cell_int(&cells[LINK_UTID], dense_utid(&a->ids, thread));
	cell_int(&cells[LINK_TO], context_rel(a, to_ns));
	if (!s)
		return 0;
	cell_int(&cells[LINK_LEFT], context_rel(a, s->left_ns));
	cell_int(&cells[LINK_WOKEN], context_rel(a, s->woken_ns));
	cell_int(&cells[LINK_WAKER], dense_utid(&a->ids, s->waker));
	cell_int(&cells[LINK_IRQ], s->is_irq);
	return 0;
}

static int give_chain(struct chain *c)
{
	uint32_t thread = c->last;
	uint64_t to_ns = c->last_ns;
	const struct sleep *s;
	unsigned int n;
	int ret = 0;

	for (n = 1; n <= LINK_MAX && thread >= EVENT_ID_FIRST && !ret; n++) {
		s = sleep_before(c, thread, to_ns);
		ret = give_link(c, n, thread, to_ns, s);
		if (!s)
			break;
		thread = s->is_irq ? thread : s->waker;
		to_ns = s->is_irq ? s->left_ns : s->woken_ns;
	}
	return ret;
}

static int read_chain(struct view *v, struct err *e)
{
	struct chain *c = (struct chain *)v;
	const struct sleeps_sink sink = { .ctx = c, .slept = on_slept, .ran = on_ran };
	int ret = sleeps_read(v->a, v->w.from_ns, v->w.to_ns, &sink, e);

	if (!ret && give_chain(c) < 0)
		ret = err_set(e, -ENOMEM, "out of memory");
	return ret;
}

static void close_chain(struct view *v)
{
	free(((struct chain *)v)->sleeps);
}

static const struct view_def chain_view = {
	.bytes = sizeof(struct chain), .is_one_bin = true, .run_bin = read_chain,
	.close = close_chain,
};

const struct table_def tables_of_sleeps[] = {
	VIEW_TABLE("woken_by", "who ended the sleeps of threads", waker_cols, 2, woken_by_view),
	VIEW_TABLE("blocking_chain", "back along the wake-ups from the thread that ran last",
		   chain_cols, 2, chain_view),
	{ .name = NULL },
};
