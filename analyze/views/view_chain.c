/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * view_chain: blocking_chain(from_ns, to_ns, of_utid) follows the threads that delayed thread
 * of_utid (NULL: the thread of the report that was on a CPU last) from the window's end back to its
 * beginning.
 *
 *     states of threads, wakers of their sleeps --[view_chain]--> parts that cover the window
 *
 * If another thread ended a sleep, the chain continues with that thread back to the beginning of
 * the sleep, and returns there to the thread that slept. At the creation of a thread the chain
 * continues with its creator. If a kernel thread had waited for work, and the thread that queued
 * the work is unknown, the chain returns to the sleep that the kernel thread ended. At a wait for a
 * lock, the chain continues only with the thread whose release ended the wait.
 *
 * Each row is a part: what one thread did from start_ns to end_ns. Every instant of the window is
 * in exactly one part.
 *
 * For example, a window of 10 ms in which thread A waits for a lock that B holds:
 *
 *     A    running 0 .. 2, lock 2 .. 7 (released by B), running 7 .. 10
 *     B    disk 1 .. 3 (ended by an interrupt), running 3 .. 8
 *
 * From A running 7 .. 10 the chain continues with B, which ended A's sleep, and returns to A at the
 * beginning of that sleep. The rows are A running 0 .. 2, B disk 2 .. 3, B running 3 .. 7, A
 * running 7 .. 10.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/context/code_text.h"
#include "analyze/fold/folds.h"
#include "analyze/views/view.h"
#include "base/array.h"
#include "base/strpool.h"
#include "model/call.h"
#include "table_columns.h"

#define PIECE_MAX (1u << 20)	/* at least the last PIECE_MAX pieces are kept */

/* A part of a thread's time, clipped to the window. */
struct piece {
	uint64_t from_ns, to_ns;
	uint64_t object;
	uint64_t left_ns;	/* if is_over: start of the sleep; 0: before the trace */
	uint32_t thread;
	uint32_t before;	/* 1 + index of the thread's previous piece; 0: none */
	uint32_t waker;		/* the thread that ended the sleep at to_ns; 0: unknown */
	uint16_t call;
	uint8_t state;		/* enum thread_state */
	bool is_over;		/* the sleep ended at to_ns */
};

/*
 * A sleep that the chain has left for the thread that ended the sleep. The chain returns to the
 * sleep's thread at from_ns.
 */
struct visit {
	uint64_t from_ns;
	uint32_t sleep;		/* 1 + index of the sleep's last piece */
	uint32_t waker;		/* the thread that ended the sleep */
};

struct chain {
	struct view v;
	enum call_machine machine;
	struct piece *pieces;		/* pieces of one thread are in order of time */
	size_t cnt, cap;
	uint32_t *last_of;		/* by thread: 1 + index of its last piece; 0: none */
	struct visit *visits;		/* stack of the sleeps that the chain has left */
	size_t visit_cnt, visit_cap;
	struct thread_makers makers;
	struct strpool *texts;
	uint64_t known_ns;		/* all pieces that end later are kept */
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
 * Tracks the thread that was on a CPU last; of several such threads, the one with the lowest
 * number. Unknown threads are skipped: the chain then begins with the last known thread.
 */
static void note_last(struct chain *c, const struct thread_piece *p, uint64_t to_ns)
{
	bool is_last = to_ns > c->last_ns || (to_ns == c->last_ns && p->thread < c->last);

	if (p->state == THREAD_RUNNING && is_last && p->thread >= EVENT_ID_FIRST &&
	    scope_has_thread(c->v.scope, p->thread)) {
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

/* Stores the sleep's end in its last piece, and its object in all of its pieces. */
static void note_sleep(struct chain *c, const struct thread_sleep *s)
{
	struct piece *p = piece_at(c, c->last_of[s->thread]);

	if (!p || p->to_ns != s->end_ns)
		return;
	p->is_over = true;
	p->left_ns = s->left_ns;
	if (!s->is_seen || s->waker == s->thread)
		p->waker = 0;
	else if (wait_kind_of(c->machine, s->state, s->call) == WAIT_LOCK)
		p->waker = object_releaser(c->machine, s);
	else
		p->waker = object_waker(c->v.a->trace, c->machine, s);
	for (; p && p->to_ns > s->left_ns; p = piece_at(c, p->before))
		p->object = s->object;
}

static int on_found(void *ctx, const void *found)
{
	const struct states_found *x = found;

	if (x->sleep)
		note_sleep(ctx, x->sleep);
	if (x->wait)
		thread_makers_note(&((struct chain *)ctx)->makers, x->wait);
	return x->piece ? note_piece(ctx, x->piece) : 0;
}

/*
 * Returns the thread's last piece that begins before to_ns, or NULL. For each thread, to_ns must
 * not increase between calls.
 */
static struct piece *piece_before(struct chain *c, uint32_t thread, uint64_t to_ns)
{
	uint32_t *last = &c->last_of[thread];

	while (*last && c->pieces[*last - 1].from_ns >= to_ns)
		*last = c->pieces[*last - 1].before;
	return piece_at(c, *last);
}

/* Returns the creator of a thread that was created in the window, before to_ns; 0: unknown. */
static uint32_t maker_of(struct chain *c, uint32_t thread, uint64_t to_ns)
{
	uint64_t start_ns;
	uint32_t maker = thread_maker(&c->makers, thread, &start_ns);

	return start_ns < c->v.w.from_ns || start_ns < c->known_ns || start_ns >= to_ns ? 0 : maker;
}

/* Fills three cells: kind, call and object. */
static void give_piece(struct chain *c, struct cell *cells, const struct piece *p)
{
	const struct trace *t = c->v.a->trace;
	char text[OBJECT_TEXT_BYTES];

	cell_text(&cells[0], p->state == THREAD_RUNNING ?
				     "running" :
				     wait_kind_name(wait_kind_of(c->machine, p->state, p->call)));
	cell_text(&cells[1], call_name(c->machine, p->call));
	if (object_text(t, dense_utid(&c->v.a->ids, p->thread), p->to_ns, p->call, p->object,
			text))
		view_text(&c->v, &cells[2], strpool_put(c->texts, text));
}

/* Fills the cells for the innermost sleep in visits that is a wait for a lock or a stop. */
static void give_held(struct chain *c, struct cell *cells)
{
	for (size_t i = c->visit_cnt; i--;) {
		const struct piece *p = &c->pieces[c->visits[i].sleep - 1];
		enum wait_kind kind = wait_kind_of(c->machine, p->state, p->call);

		if (kind != WAIT_LOCK && kind != WAIT_STOPPED)
			continue;
		cell_int(&cells[COL_BLOCKING_CHAIN_HELD_UTID],
			 dense_utid(&c->v.a->ids, p->thread));
		give_piece(c, &cells[COL_BLOCKING_CHAIN_HELD_KIND], p);
		cell_int(&cells[COL_BLOCKING_CHAIN_HOLDER_UTID],
			 dense_utid(&c->v.a->ids, c->visits[i].waker));
		return;
	}
}

/* Adds a row. p NULL: the thread had ended, or its state is unknown. */
static void give_part(struct chain *c, uint32_t thread, uint64_t from_ns, uint64_t to_ns,
		      const struct piece *p)
{
	const struct analysis *a = c->v.a;
	const struct trace_thread *h = trace_thread_find(a->trace, dense_utid(&a->ids, thread));
	struct cell *cells = view_row(&c->v, 0, NULL);

	cell_int(&cells[COL_BLOCKING_CHAIN_UTID], dense_utid(&a->ids, thread));
	cell_int(&cells[COL_BLOCKING_CHAIN_START_NS], context_rel(a, from_ns));
	cell_int(&cells[COL_BLOCKING_CHAIN_END_NS], context_rel(a, to_ns));
	give_held(c, cells);
	if (p)
		give_piece(c, &cells[COL_BLOCKING_CHAIN_KIND], p);
	else
		cell_text(&cells[COL_BLOCKING_CHAIN_KIND],
			  h && h->end_ns && from_ns >= h->end_ns ? "ended" : "unknown");
}

/*
 * Finds the thread with which the chain continues after p, a piece that ends at the chain's
 * position. *ret is 0 if the chain continues with p itself. Returns 0 or -ENOMEM.
 */
static int other_than(struct chain *c, struct piece *p, uint32_t *ret)
{
	bool is_idle = p->state == THREAD_SLEEPING && p->call == CALL_KERNEL;
	uint32_t sleep = c->last_of[p->thread];
	uint64_t from_ns = p->left_ns;

	*ret = p->waker >= EVENT_ID_FIRST ? p->waker : 0;
	if (*ret) {
		if (c->visit_cnt && c->visits[c->visit_cnt - 1].from_ns > from_ns)
			from_ns = c->visits[c->visit_cnt - 1].from_ns;
		c->last_of[p->thread] = p->before;
		p->waker = 0;
		return array_add(&c->visits, &c->visit_cap, &c->visit_cnt,
				 (struct visit){ from_ns, sleep, *ret });
	}
	if (!is_idle || !c->visit_cnt)
		return 0;
	sleep = c->visits[--c->visit_cnt].sleep;
	*ret = c->pieces[sleep - 1].thread;
	c->last_of[*ret] = sleep;
	return 0;
}

/* Pops the visits that begin at or after to_ns. Returns the thread to continue with. */
static uint32_t return_from(struct chain *c, uint32_t thread, uint64_t to_ns)
{
	while (c->visit_cnt && c->visits[c->visit_cnt - 1].from_ns >= to_ns)
		thread = c->pieces[c->visits[--c->visit_cnt].sleep - 1].thread;
	return thread;
}

static int give_chain(struct chain *c)
{
	const struct window *w = &c->v.w;
	uint32_t thread = c->last, other;
	uint64_t to_ns = w->to_ns;
	int ret = 0;

	while (thread >= EVENT_ID_FIRST && to_ns > w->from_ns) {
		struct piece *p = piece_before(c, thread, to_ns);
		uint64_t floor_ns = w->from_ns, from_ns;

		if (c->visit_cnt && c->visits[c->visit_cnt - 1].from_ns > floor_ns)
			floor_ns = c->visits[c->visit_cnt - 1].from_ns;
		from_ns = p && p->from_ns > floor_ns ? p->from_ns : floor_ns;
		other = p ? 0 : maker_of(c, thread, to_ns);
		if (p && p->to_ns == to_ns)
			ret = other_than(c, p, &other);
		if (ret < 0)
			return ret;
		if (other) {
			thread = other;
			continue;
		}
		if (p && p->to_ns < to_ns) {
			from_ns = p->to_ns > floor_ns ? p->to_ns : floor_ns;
			p = NULL;
		}
		give_part(c, thread, from_ns, to_ns, p);
		to_ns = from_ns;
		thread = return_from(c, thread, to_ns);
	}
	return 0;
}

static int open_chain(struct view *v, const struct table_query *q, struct err *e)
{
	struct chain *c = (struct chain *)v;

	if (q->args[2].type == VALUE_INT) {
		c->last = dense_thread(&v->a->ids, (uint32_t)q->args[2].i);
		c->last_ns = UINT64_MAX;
	}
	c->machine = call_machine_of(trace_get(v->a->trace, "machine"));
	c->last_of = calloc(v->a->ids.thread_cnt + 1, sizeof(*c->last_of));
	if (!c->last_of || thread_makers_init(&c->makers, &v->a->ids) < 0)
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

	return ret ?: give_chain((struct chain *)v);
}

static void close_chain(struct view *v)
{
	struct chain *c = (struct chain *)v;

	free(c->pieces);
	free(c->last_of);
	free(c->visits);
	thread_makers_done(&c->makers);
	strpool_free(c->texts);
}

static const struct view_def chain_view = {
	.is_one_bin = true, .open = open_chain,
	.begin = begin_chain, .run_bin = run_chain, .close = close_chain,
};

const struct table_def table_blocking_chain = VIEW_TABLE(BLOCKING_CHAIN, chain_view, struct chain);
