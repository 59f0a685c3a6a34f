/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * blocking_chain(from_ns, to_ns): from the window's end back to its beginning, along what held the
 * report's threads up. It begins with the thread of the report that was on a CPU last. Where a
 * thread ended the sleep of another one, or began it, the chain goes on with that thread; from a
 * kernel thread that had waited for work until then, which no thread is known to have given it, it
 * goes back to the sleep that this one ended.
 *
 *     what each thread did, who ended its sleeps --[view_chain]--> parts that are the window
 *
 * A row is a part: what one thread did from start_ns to end_ns. An instant of the window is in
 * one part.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/context/object_text.h"
#include "analyze/context/thread_makers.h"
#include "analyze/fold/folds.h"
#include "analyze/views/view.h"
#include "base/array.h"
#include "base/strpool.h"
#include "model/call.h"
#include "table_columns.h"

#define PIECE_MAX (1u << 20)	/* so many are kept at least, the last ones of all threads */

/* A piece of a thread's time, in the window. */
struct piece {
	uint64_t from_ns, to_ns;
	uint64_t object;
	uint32_t thread;
	uint32_t before;	/* 1 + place of the thread's piece before; 0: none is kept */
	uint32_t waker;		/* the thread that ended the sleep with it; 0: none is known */
	uint16_t call;
	uint8_t state;		/* enum thread_state */
	bool is_over;		/* the sleep ended with it */
};

struct chain {
	struct view v;
	enum call_machine machine;
	struct piece *pieces;		/* those of a thread are in order of time */
	size_t cnt, cap;
	uint32_t *last_of;		/* by thread: 1 + place of its last piece; 0: none */
	uint32_t *woke;			/* the same of the sleep from which the chain came to it */
	struct thread_makers makers;
	struct strpool *texts;
	uint64_t known_ns;		/* all pieces are kept that end behind it */
	uint32_t last;			/* the thread that was on a CPU last; 0: none */
	uint64_t last_ns;
};

static struct piece *piece_at(const struct chain *c, uint32_t place)
{
	return place ? &c->pieces[place - 1] : NULL;
}

static void forget_half(struct chain *c)
{
	uint32_t half = (uint32_t)c->cnt / 2, i;

	for (i = 0; i < half; i++)
		if (c->pieces[i].to_ns > c->known_ns)
			c->known_ns = c->pieces[i].to_ns;
	c->cnt -= half;
	memmove(c->pieces, c->pieces + half, c->cnt * sizeof(*c->pieces));
	for (i = 0; i < c->cnt; i++)
		c->pieces[i].before -= c->pieces[i].before > half ? half : c->pieces[i].before;
	for (i = 0; i < c->v.a->ids.thread_cnt; i++)
		c->last_of[i] -= c->last_of[i] > half ? half : c->last_of[i];
}

/*
 * The lowest number counts among threads that have a CPU until the same instant. A path cannot
 * begin with nobody: when it is not known who had the CPU, it begins with who had one before.
 */
static void note_last(struct chain *c, const struct thread_piece *p, uint64_t to_ns)
{
	bool is_last = to_ns > c->last_ns || (to_ns == c->last_ns && p->thread < c->last);

	if (p->state == THREAD_RUNNING && is_last && p->thread >= EVENT_ID_FIRST &&
	    scope_has_thread(&c->v.a->scope, p->thread)) {
		c->last = p->thread;
		c->last_ns = to_ns;
	}
}

static int note_piece(struct chain *c, const struct thread_piece *p)
{
	const struct window *w = &c->v.w;
	uint64_t from_ns = p->from_ns > w->from_ns ? p->from_ns : w->from_ns;
	uint64_t to_ns = p->to_ns < w->to_ns ? p->to_ns : w->to_ns;
	uint32_t last = c->last_of[p->thread];
	struct piece *before = piece_at(c, last);

	if (from_ns >= to_ns)
		return 0;
	note_last(c, p, to_ns);
	if (last && before->to_ns == from_ns && before->state == p->state &&
	    before->call == p->call && !before->is_over) {
		before->to_ns = to_ns;
		return 0;
	}
	if (c->cnt == 2 * PIECE_MAX)
		forget_half(c);
	if (array_add(&c->pieces, &c->cap, &c->cnt,
		      (struct piece){ .from_ns = from_ns, .to_ns = to_ns, .call = p->call,
				      .state = p->state, .thread = p->thread,
				      .before = c->last_of[p->thread] }) < 0)
		return -ENOMEM;
	c->last_of[p->thread] = (uint32_t)c->cnt;
	return 0;
}

/* The last piece of a sleep says how it ended, and each what it was for. */
static void note_sleep(struct chain *c, const struct thread_sleep *s)
{
	struct piece *p = piece_at(c, c->last_of[s->thread]);

	if (!p || p->to_ns != s->end_ns)
		return;
	p->is_over = true;
	if (s->is_seen && s->waker != s->thread)
		p->waker = object_waker(c->v.a->trace, s);
	for (; p && p->to_ns > s->left_ns; p = piece_at(c, p->before))
		p->object = s->object;
}

static int on_found(void *ctx, const void *found)
{
	const struct states_found *x = found;

	if (x->sleep)
		note_sleep(ctx, x->sleep);
	return x->piece ? note_piece(ctx, x->piece) : 0;
}

/* The thread's last piece that begins before to_ns, which only falls; NULL: there is none. */
static struct piece *piece_before(struct chain *c, uint32_t thread, uint64_t to_ns)
{
	uint32_t *last = &c->last_of[thread];

	while (*last && c->pieces[*last - 1].from_ns >= to_ns)
		*last = c->pieces[*last - 1].before;
	return piece_at(c, *last);
}

/* Finds who made a thread that began in the window, before to_ns; 0: nobody that is known. */
static uint32_t maker_of(struct chain *c, uint32_t thread, uint64_t to_ns)
{
	uint64_t start_ns;
	uint32_t maker = thread_maker(&c->makers, thread, &start_ns);

	return start_ns < c->v.w.from_ns || start_ns < c->known_ns || start_ns >= to_ns ? 0 : maker;
}

static void give_piece(struct chain *c, struct cell *cells, const struct piece *p)
{
	const struct trace *t = c->v.a->trace;
	char text[OBJECT_TEXT_BYTES];

	cell_text(&cells[COL_BLOCKING_CHAIN_KIND],
		  p->state == THREAD_RUNNING ?
			  "running" :
			  wait_kind_name(wait_kind_of(c->machine, p->state, p->call)));
	cell_text(&cells[COL_BLOCKING_CHAIN_CALL], call_name(c->machine, p->call));
	if (object_text(t, dense_utid(&c->v.a->ids, p->thread), p->to_ns, p->call, p->object,
			text))
		view_text(&c->v, &cells[COL_BLOCKING_CHAIN_OBJECT], strpool_put(c->texts, text));
}

/* p: NULL: nothing is known of the thread then, or it had ended. */
static void give_part(struct chain *c, uint32_t thread, uint64_t from_ns, uint64_t to_ns,
		      const struct piece *p)
{
	const struct analysis *a = c->v.a;
	const struct trace_thread *h = trace_thread_find(a->trace, dense_utid(&a->ids, thread));
	struct cell *cells = view_row(&c->v, 0, NULL);

	cell_int(&cells[COL_BLOCKING_CHAIN_UTID], dense_utid(&a->ids, thread));
	cell_int(&cells[COL_BLOCKING_CHAIN_START_NS], context_rel(a, from_ns));
	cell_int(&cells[COL_BLOCKING_CHAIN_END_NS], context_rel(a, to_ns));
	if (p)
		give_piece(c, cells, p);
	else
		cell_text(&cells[COL_BLOCKING_CHAIN_KIND],
			  h && h->end_ns && from_ns >= h->end_ns ? "ended" : "unknown");
}

/* p ends where the chain is. Returns the thread that the chain goes on with; 0: with p itself. */
static uint32_t other_than(struct chain *c, struct piece *p)
{
	bool is_idle = p->state == THREAD_SLEEPING && p->call == CALL_KERNEL;
	struct piece *woken = is_idle ? piece_at(c, c->woke[p->thread]) : NULL;
	uint32_t waker = p->waker;

	if (waker >= EVENT_ID_FIRST) {
		c->woke[waker] = c->last_of[p->thread];
		c->last_of[p->thread] = p->before;
		p->waker = 0;
		return waker;
	}
	if (!woken)
		return 0;
	c->last_of[woken->thread] = c->woke[p->thread];
	c->woke[p->thread] = 0;
	return woken->thread;
}

static void give_chain(struct chain *c)
{
	const struct window *w = &c->v.w;
	uint32_t thread = c->last;
	uint64_t to_ns = w->to_ns;

	while (thread >= EVENT_ID_FIRST && to_ns > w->from_ns) {
		struct piece *p = piece_before(c, thread, to_ns);
		uint64_t from_ns = p ? p->from_ns : w->from_ns;
		uint32_t other = !p		       ? maker_of(c, thread, to_ns) :
				 p->to_ns == to_ns ? other_than(c, p) :
						       0;

		if (other) {
			thread = other;
			continue;
		}
		if (p && p->to_ns < to_ns) {
			from_ns = p->to_ns;
			p = NULL;
		}
		give_part(c, thread, from_ns, to_ns, p);
		to_ns = from_ns;
	}
}

static int open_chain(struct view *v, const struct table_query *q, struct err *e)
{
	struct chain *c = (struct chain *)v;

	c->machine = call_machine_of(trace_get(v->a->trace, "machine"));
	c->last_of = calloc(v->a->ids.thread_cnt + 1, sizeof(*c->last_of));
	c->woke = calloc(v->a->ids.thread_cnt + 1, sizeof(*c->woke));
	if (!c->last_of || !c->woke || thread_makers_init(&c->makers, &v->a->ids) < 0)
		return -ENOMEM;
	return strpool_new(&c->texts);
}

static int begin_chain(struct view *v, struct err *e)
{
	const struct fold_run_config c = { .def = &fold_ends, .window = &v->w,
					   .sink = { v, on_found } };

	return fold_run_begin(&v->run, v->a, &c, e);
}

static int run_chain(struct view *v, struct err *e)
{
	uint64_t decided;
	int ret = fold_run_to(&v->run, v->bin_to_ns, &decided, e);

	if (!ret)
		give_chain((struct chain *)v);
	return ret;
}

static void close_chain(struct view *v)
{
	struct chain *c = (struct chain *)v;

	free(c->pieces);
	free(c->last_of);
	free(c->woke);
	thread_makers_done(&c->makers);
	strpool_free(c->texts);
}

static const struct view_def chain_view = {
	.is_one_bin = true, .open = open_chain,
	.begin = begin_chain, .run_bin = run_chain, .close = close_chain,
};

const struct table_def table_blocking_chain = VIEW_TABLE(BLOCKING_CHAIN, chain_view, struct chain);
