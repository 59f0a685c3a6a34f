/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * wait_ends(from_ns, to_ns): who ended the sleeps of the report's threads, and what that thread did
 * meanwhile. A row is a kind of wait, a call and the thread that ended such waits, or interrupts.
 *
 * A sleep counts if it ended in the window and its wake-up was seen; its time, and what the other
 * thread did, are of its part in the window. Of each thread the last HISTORY pieces of its life are
 * kept; what lies before these is unknown. Since its last piece that ended, the thread that ends a
 * sleep has been running.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "analyze/fold/folds.h"
#include "analyze/views/view.h"
#include "model/call.h"
#include "table_columns.h"

#define HISTORY 64
#define RUNNING WAIT_KIND_CNT	/* beside the kinds of waits */

struct history {		/* of a thread */
	uint64_t from_ns[HISTORY], to_ns[HISTORY];
	uint8_t kind[HISTORY];
	unsigned int cnt;	/* of all that there were */
};

struct wait_end {
	struct view_carried carried;
	uint64_t waits, wait_ns, wait_max_ns, at_ns;	/* at_ns: the end of the longest */
	uint32_t longest;				/* the thread that waited */
	uint64_t meanwhile_ns[WAIT_KIND_CNT + 1];
	char text[96];
};

static const struct fold_sums_def ends_def = { .bytes = sizeof(struct wait_end) };

struct ends_view {
	struct view v;
	enum call_machine machine;
	struct history **threads;	/* by number, dense */
};

static int note_piece(struct ends_view *x, const struct thread_piece *p)
{
	struct history *h = x->threads[p->thread];
	uint8_t kind = p->state == THREAD_RUNNING ?
			       RUNNING : (uint8_t)wait_kind_of(x->machine, p->state, p->call);
	unsigned int last;

	if (p->thread < EVENT_ID_FIRST)
		return 0;
	if (!h)
		h = x->threads[p->thread] = calloc(1, sizeof(*h));
	if (!h)
		return -ENOMEM;
	last = (h->cnt - 1) % HISTORY;
	if (h->cnt && h->kind[last] == kind && h->to_ns[last] == p->from_ns) {
		h->to_ns[last] = p->to_ns;
		return 0;
	}
	last = h->cnt++ % HISTORY;
	h->from_ns[last] = p->from_ns;
	h->to_ns[last] = p->to_ns;
	h->kind[last] = kind;
	return 0;
}

/* Adds what a thread did in [from_ns, to_ns), at whose end it ran. */
static void add_meanwhile(const struct history *h, uint64_t from_ns, uint64_t to_ns,
			  uint64_t ns[WAIT_KIND_CNT + 1])
{
	unsigned int n;

	for (n = 0; h && n < h->cnt && n < HISTORY && to_ns > from_ns; n++) {
		unsigned int i = (h->cnt - 1 - n) % HISTORY;
		uint64_t begin_ns = h->from_ns[i] > from_ns ? h->from_ns[i] : from_ns;
		uint64_t end_ns = h->to_ns[i] < to_ns ? h->to_ns[i] : to_ns;

		if (end_ns <= begin_ns)
			continue;
		ns[n ? WAIT_UNKNOWN : RUNNING] += to_ns - end_ns;
		ns[h->kind[i]] += end_ns - begin_ns;
		to_ns = begin_ns;
	}
	ns[WAIT_UNKNOWN] += to_ns - from_ns;
}

static int on_end(void *ctx, const void *found)
{
	struct ends_view *x = ctx;
	struct view *v = &x->v;
	const struct states_found *f = found;
	const struct thread_sleep *s = f->sleep;
	uint64_t from_ns, slept_ns;
	struct wait_end *w;
	enum wait_kind kind;

	if (f->piece)
		return note_piece(x, f->piece);
	if (!s || !s->is_seen || s->end_ns < v->w.from_ns || s->end_ns >= v->w.to_ns ||
	    !scope_has_thread(&v->a->scope, s->thread))
		return 0;
	kind = wait_kind_of(x->machine, s->state, s->call);
	w = view_carry(v, s->is_irq ? 0 : s->waker, (uint64_t)kind << 32 | s->call);
	if (!w)
		return -ENOMEM;
	slept_ns = s->end_ns - s->left_ns;
	if (!w->waits++ || slept_ns > w->wait_max_ns ||
	    (slept_ns == w->wait_max_ns && s->thread < w->longest)) {
		w->wait_max_ns = slept_ns;
		w->at_ns = s->end_ns;
		w->longest = s->thread;
	}
	from_ns = s->left_ns > v->w.from_ns ? s->left_ns : v->w.from_ns;
	w->wait_ns += s->end_ns - from_ns;
	if (!s->is_irq)
		add_meanwhile(x->threads[s->waker], from_ns, s->end_ns, w->meanwhile_ns);
	return 0;
}

/* The kinds that took the most of the time, in order, each with its share: "timer 91 %, disk 8 %". */
static const char *meanwhile(struct wait_end *w)
{
	uint64_t limit = UINT64_MAX;
	size_t len = 0;

	w->text[0] = 0;
	for (unsigned int n = 0; n < 3; n++) {
		unsigned int k, best = 0;
		uint64_t pct;

		for (k = 1; k <= RUNNING; k++)
			if (w->meanwhile_ns[k] < limit &&
			    (w->meanwhile_ns[k] > w->meanwhile_ns[best] ||
			     w->meanwhile_ns[best] >= limit))
				best = k;
		pct = (w->meanwhile_ns[best] * 200 + w->wait_ns) / (2 * w->wait_ns + !w->wait_ns);
		if (w->meanwhile_ns[best] >= limit || !pct)
			break;
		len += (size_t)snprintf(w->text + len, sizeof(w->text) - len, "%s%s %llu %%",
					n ? ", " : "",
					best == RUNNING ? "running" : wait_kind_name(best),
					(unsigned long long)pct);
		limit = w->meanwhile_ns[best];
	}
	return w->text;
}

static int give_end(struct view *v, const struct view_place *at, void *sum)
{
	const struct ends_view *x = (struct ends_view *)v;
	struct wait_end *w = sum;
	const char *call = call_name(x->machine, (uint32_t)at->b);
	struct cell *c = view_row(v, 0, sum);

	if (!c)
		return -ENOMEM;
	cell_text(&c[COL_WAIT_ENDS_KIND], wait_kind_name(at->b >> 32));
	if (call)
		cell_text(&c[COL_WAIT_ENDS_CALL], call);
	cell_int(&c[COL_WAIT_ENDS_IRQ], !at->group);
	cell_int(&c[COL_WAIT_ENDS_WAITER_UTID], dense_utid(&v->a->ids, w->longest));
	if (at->group) {
		cell_int(&c[COL_WAIT_ENDS_UTID], dense_utid(&v->a->ids, at->group));
		cell_text(&c[COL_WAIT_ENDS_MEANWHILE], meanwhile(w));
	}
	return 0;
}

static int open_ends(struct view *v, const struct table_query *q, struct err *e)
{
	struct ends_view *x = (struct ends_view *)v;

	x->machine = call_machine_of(trace_get(v->a->trace, "machine"));
	x->threads = calloc(v->a->ids.thread_cnt + 1, sizeof(*x->threads));
	return x->threads ? 0 : err_set(e, -ENOMEM, "out of memory");
}

static void close_ends(struct view *v)
{
	struct ends_view *x = (struct ends_view *)v;

	for (uint32_t i = 0; x->threads && i < v->a->ids.thread_cnt; i++)
		free(x->threads[i]);
	free(x->threads);
}

static const struct view_def ends_view = {
	.bytes = sizeof(struct ends_view), .is_one_bin = true, .fold = &fold_ends,
	.sums = &ends_def, .open = open_ends, .close = close_ends, .carry = on_end,
	.row = give_end,
};

const struct table_def table_wait_ends =
	VIEW_TABLE(WAIT_ENDS, ends_view);
