/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * woken_by(from_ns, to_ns): who ended the sleeps of the report's threads; a row per process, and
 * one of interrupts.
 * blocking_chain(from_ns, to_ns): from the thread of the report that was on a CPU last, back along
 * the wake-ups. A row is a link: the thread until to_ns, and the sleep before, if there is one. A
 * thread that began without one was made by the next.
 *
 * Both are about sleeps that lie in the window whole and whose wake-up was seen.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/context/object_text.h"
#include "analyze/fold/folds.h"
#include "analyze/views/view.h"
#include "base/array.h"
#include "base/strpool.h"
#include "model/call.h"
#include "table_columns.h"

/* NULL: what was found is no sleep, or none that counts. */
static const struct thread_sleep *sleep_of(const struct view *v, const struct states_found *x)
{
	const struct thread_sleep *s = x->sleep;

	return s && s->is_seen && s->left_ns >= v->w.from_ns && s->end_ns < v->w.to_ns ? s : NULL;
}

/* ---- who ended sleeps ---- */

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

	if (!s || !scope_has_thread(&v->a->scope, s->thread))
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

static int give_waker(struct view *v, const struct view_place *at, void *sum)
{
	struct cell *c = view_row(v, 0, sum);

	if (!c)
		return -ENOMEM;
	if (!at->group)
		cell_int(&c[COL_WOKEN_BY_UPID], dense_upid(&v->a->ids, (uint32_t)at->b));
	cell_int(&c[COL_WOKEN_BY_IRQ], at->group);
	return 0;
}

static const struct view_def woken_by_view = {
	.bytes = sizeof(struct view), .is_one_bin = true, .fold = &fold_sleeps,
	.sums = &wakers_def, .carry = on_woken, .row = give_waker,
};

/* ---- the chain ---- */

#define SLEEP_MAX (1u << 20)	/* so many are kept at least, the last ones */

struct link {
	struct thread_sleep sleep;
	uint32_t before;	/* 1 + place of the thread's sleep before; 0: none is kept */
};

struct chain {
	struct view v;
	enum call_machine machine;
	struct link *links;		/* those of a thread are in order of time */
	size_t cnt, cap;
	uint32_t *last_of;		/* by thread: 1 + place of its last sleep; 0: none */
	struct strpool *texts;
	uint32_t last;			/* the thread that was on a CPU last; 0: none */
	uint64_t last_ns;
};

/* The lowest number counts among threads that have a CPU until the same instant. */
static void note_stay(struct chain *c, const struct cpu_piece *p)
{
	const struct view *v = &c->v;
	uint64_t to_ns = p->to_ns < v->w.to_ns ? p->to_ns : v->w.to_ns;
	uint32_t thread = dense_thread(&v->a->ids, p->utid);

	bool is_last = to_ns > c->last_ns || (to_ns == c->last_ns && thread < c->last);

	if (p->from_ns < v->w.to_ns && to_ns + (p->end != NULL) > v->w.from_ns && is_last &&
	    thread >= EVENT_ID_FIRST && scope_has_thread(&v->a->scope, thread)) {
		c->last = thread;
		c->last_ns = to_ns;
	}
}

static void forget_half(struct chain *c)
{
	uint32_t half = (uint32_t)c->cnt / 2, i;

	c->cnt -= half;
	memmove(c->links, c->links + half, c->cnt * sizeof(*c->links));
	for (i = 0; i < c->cnt; i++)
		c->links[i].before -= c->links[i].before > half ? half : c->links[i].before;
	for (i = 0; i < c->v.a->ids.thread_cnt; i++)
		c->last_of[i] -= c->last_of[i] > half ? half : c->last_of[i];
}

static int on_link(void *ctx, const void *found)
{
	struct chain *c = ctx;
	const struct states_found *x = found;
	const struct thread_sleep *s = sleep_of(&c->v, x);

	if (x->ran)
		note_stay(c, x->ran);
	if (!s)
		return 0;
	if (c->cnt == 2 * SLEEP_MAX)
		forget_half(c);
	if (array_reserve(&c->links, &c->cap, c->cnt + 1) < 0)
		return -ENOMEM;
	c->links[c->cnt] = (struct link){ *s, c->last_of[s->thread] };
	c->links[c->cnt].sleep.is_irq = !object_waker(c->v.a->trace, s);
	c->last_of[s->thread] = (uint32_t)++c->cnt;
	return 0;
}

/* The thread's last sleep that ended before to_ns, which only falls; NULL: there is none. */
static const struct thread_sleep *sleep_before(struct chain *c, uint32_t thread, uint64_t to_ns)
{
	uint32_t *last = &c->last_of[thread];

	while (*last && c->links[*last - 1].sleep.end_ns >= to_ns)
		*last = c->links[*last - 1].before;
	return *last ? &c->links[*last - 1].sleep : NULL;
}

static int give_sleep(struct chain *c, struct cell *cells, const struct thread_sleep *s)
{
	const struct analysis *a = c->v.a;
	char text[OBJECT_TEXT_BYTES];
	const char *copy;

	cell_int(&cells[COL_BLOCKING_CHAIN_LEFT_NS], context_rel(a, s->left_ns));
	cell_int(&cells[COL_BLOCKING_CHAIN_WOKEN_NS], context_rel(a, s->end_ns));
	cell_int(&cells[COL_BLOCKING_CHAIN_WAKER_UTID], dense_utid(&a->ids, s->waker));
	cell_int(&cells[COL_BLOCKING_CHAIN_IRQ], s->is_irq);
	cell_text(&cells[COL_BLOCKING_CHAIN_KIND],
		  wait_kind_name(wait_kind_of(c->machine, s->state, s->call)));
	cell_text(&cells[COL_BLOCKING_CHAIN_CALL], call_name(c->machine, s->call));
	if (!object_text(a->trace, s->call, s->object, text))
		return 0;
	copy = strpool_put(c->texts, text);
	cell_text(&cells[COL_BLOCKING_CHAIN_OBJECT], copy);
	return copy ? 0 : -ENOMEM;
}

/*
 * Finds who made a thread that began in the window, before to_ns: the first thread of its process,
 * or of its parent if it is that itself. 0: nobody that is known.
 */
static uint32_t maker_of(const struct chain *c, uint32_t thread, uint64_t to_ns, uint64_t *ret_ns)
{
	const struct analysis *a = c->v.a;
	const struct trace_thread *h = trace_thread_find(a->trace, dense_utid(&a->ids, thread));
	const struct trace_process *p = h ? trace_process_find(a->trace, h->upid) : NULL;
	size_t cnt, i;

	if (p && h->tid == p->pid)
		p = trace_process_find(a->trace, p->parent_upid);
	if (!p || h->start_ns < c->v.w.from_ns || h->start_ns >= to_ns)
		return 0;
	*ret_ns = h->start_ns;
	h = trace_threads(a->trace, &cnt);
	for (i = 0; i < cnt && (h[i].upid != p->upid || h[i].tid != p->pid); i++)
		;
	return i < cnt ? dense_thread(&a->ids, h[i].utid) : 0;
}

static int give_link(struct chain *c, unsigned int n, uint32_t thread, uint64_t to_ns,
		     uint64_t born_ns, const struct thread_sleep *s)
{
	const struct analysis *a = c->v.a;
	struct cell *cells = view_row(&c->v, 0, NULL);

	if (!cells)
		return -ENOMEM;
	cell_int(&cells[COL_BLOCKING_CHAIN_N], n);
	cell_int(&cells[COL_BLOCKING_CHAIN_UTID], dense_utid(&a->ids, thread));
	cell_int(&cells[COL_BLOCKING_CHAIN_UNTIL_NS], context_rel(a, to_ns));
	if (born_ns)
		cell_int(&cells[COL_BLOCKING_CHAIN_WOKEN_NS], context_rel(a, born_ns));
	return s ? give_sleep(c, cells, s) : 0;
}

static int give_chain(struct chain *c)
{
	uint32_t thread = c->last;
	uint64_t to_ns = c->last_ns, born_ns;
	const struct thread_sleep *s;
	unsigned int n;
	int ret = 0;

	for (n = 1; thread >= EVENT_ID_FIRST && !ret; n++) {
		uint32_t maker = 0;

		born_ns = 0;
		s = sleep_before(c, thread, to_ns);
		if (!s)
			maker = maker_of(c, thread, to_ns, &born_ns);
		ret = give_link(c, n, thread, to_ns, born_ns, s);
		thread = !s ? maker : s->is_irq ? thread : s->waker;
		to_ns = !s ? born_ns : s->is_irq ? s->left_ns : s->end_ns;
	}
	return ret;
}

static int open_chain(struct view *v, const struct table_query *q, struct err *e)
{
	struct chain *c = (struct chain *)v;

	c->machine = call_machine_of(trace_get(v->a->trace, "machine"));
	c->last_of = calloc(v->a->ids.thread_cnt + 1, sizeof(*c->last_of));
	if (!c->last_of || strpool_new(&c->texts) < 0)
		return err_set(e, -ENOMEM, "out of memory");
	return 0;
}

static int begin_chain(struct view *v, struct err *e)
{
	const struct fold_run_config c = { .def = &fold_sleeps, .window = &v->w,
					   .sink = { v, on_link } };

	return fold_run_begin(&v->run, v->a, &c, e);
}

static int run_chain(struct view *v, struct err *e)
{
	uint64_t decided;
	int ret = fold_run_to(&v->run, v->bin_to_ns, &decided, e);

	if (!ret && give_chain((struct chain *)v) < 0)
		ret = err_set(e, -ENOMEM, "out of memory");
	return ret;
}

static void close_chain(struct view *v)
{
	struct chain *c = (struct chain *)v;

	free(c->links);
	free(c->last_of);
	strpool_free(c->texts);
}

static const struct view_def chain_view = {
	.bytes = sizeof(struct chain), .is_one_bin = true, .open = open_chain,
	.begin = begin_chain, .run_bin = run_chain, .close = close_chain,
};

const struct table_def table_woken_by =
	VIEW_TABLE(WOKEN_BY, woken_by_view);

const struct table_def table_blocking_chain =
	VIEW_TABLE(BLOCKING_CHAIN, chain_view);
