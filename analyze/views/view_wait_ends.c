/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * view_wait_ends: wait_ends(from_ns, to_ns): the threads that ended the sleeps of the report's
 * threads, and what these threads did during the sleeps. The key of a row is the thread that slept,
 * the kind, call and object of the wait, and the thread that ended it, or interrupts. Each key has
 * one row for the waits, and one for each activity of the other thread during the waits (a kind of
 * wait, or running).
 *
 * A sleep counts if it ended in the window and its wake-up was recorded. Only its part in the
 * window counts; a sleep that began before the trace counts from the trace's start.
 *
 * Locks: if the thread that ended a wait for a lock had itself waited for a lock during more than
 * half of that wait, it only passed the lock on: the thread that ended its wait counts instead. A
 * wait for a lock that ended without a release (by a signal, a timeout or the like) counts for the
 * thread whose release ends the same thread's next wait for this lock; without such a wait the
 * holder is unknown.
 *
 * Activities: while the other thread waited for a lock itself, the activity of the thread that
 * ended that wait counts, and so on along the successive holders. Before the other thread was
 * created, its creator's activity counts. A local thread that sent to a socket counts as the thread
 * that ended the wait, although an interrupt delivers the data.
 *
 * The last HISTORY_MAX pieces of each thread are kept, or fewer if all threads together have
 * PIECES_MAX; earlier activity is unknown. A thread that ends a sleep has been running since the
 * end of its last complete piece. If its switch to the CPU was lost, or none of its pieces is
 * complete, the sleep stays open until the thread leaves the CPU.
 */
#include <errno.h>
#include <stdlib.h>

#include "analyze/context/code_text.h"
#include "analyze/fold/folds.h"
#include "analyze/views/view.h"
#include "base/array.h"
#include "base/hash_map.h"
#include "base/strpool.h"
#include "model/call.h"
#include "table_columns.h"

#define HISTORY_MIN 32
#define HISTORY_MAX 16384	/* a power of 2 times HISTORY_MIN */
/* limit of the pieces of all threads, 64 MiB; at the limit, histories no longer grow */
#define PIECES_MAX (2 << 20)
#define HOLDERS_MAX HISTORY_MAX	/* successive holders of a lock during one wait */
#define OPEN_MAX 256	/* open sleeps; the activity during further sleeps stays unknown */
#define CUT_MAX 4096	/* interrupted waits of a thread for one lock, holder unknown so far */
#define RUNNING WAIT_KIND_CNT	/* the activity "running", after the kinds of waits */

/* A stay of a thread in one kind of wait, or on CPUs. */
struct piece {
	uint64_t from_ns, to_ns;
	/* if kind is WAIT_LOCK: the lock's holder, and the thread that released it; 0: unknown */
	uint32_t holder, waker;
	uint8_t kind;
};

/* A wait; in struct history: an interrupted wait for a lock whose holder is still unknown. */
struct cut_wait {
	uint64_t left_ns, from_ns, end_ns, key;
};

struct history {		/* the last pieces of a thread; a ring */
	struct piece *pieces;
	unsigned int cnt;	/* pieces ever added */
	unsigned int cap;
	/* Interrupted waits for one lock, or in one call; the next wait may show the holder. */
	struct cut_wait *cuts;
	size_t cut_cnt, cut_cap;
	uint64_t cut_object;
	uint16_t cut_call;
};

/* The waiter and object of a row. The row's key contains the index in ends_view.objects. */
struct object {
	uint32_t waiter;	/* the thread that slept */
	uint64_t what;		/* object of the switch, or 0 */
};

struct wait_end {
	struct view_carried carried;
	uint64_t waits, wait_ns, wait_max_ns, at_ns;	/* at_ns: end of the longest wait */
	uint64_t meanwhile_ns[WAIT_KIND_CNT + 1];
};

/* A sleep in row (ender, key). The waker's activity during this sleep is not known yet. */
struct open_sleep {
	uint64_t from_ns, end_ns, key;
	uint32_t waker, ender;
};

static const struct fold_sums_def ends_def = { .bytes = sizeof(struct wait_end) };

struct ends_view {
	struct view v;
	enum call_machine machine;
	struct history *threads;	/* by dense thread */
	size_t piece_cap;	/* sum of cap over all threads */
	struct thread_makers makers;
	struct hash_map numbers;	/* (waiter, what) -> index in objects */
	struct object *objects;
	size_t object_cap;
	struct strpool *texts;
	struct open_sleep open[OPEN_MAX];
	unsigned int open_cnt;
};

#define KEY_NO_HOLDER (1ULL << 56)	/* a wait for a lock whose holder is unknown */
#define KEY_TIMEOUT (1ULL << 57)	/* the wait timed out */

/* A row's key: kind, call, and the number of its object. */
static uint64_t key_of(enum wait_kind kind, uint32_t call, uint32_t object)
{
	return (uint64_t)kind << 48 | (uint64_t)call << 32 | object;
}

/* Returns the n-th piece from the end; NULL: not kept. */
static struct piece *piece_at(const struct history *h, unsigned int n)
{
	return n < h->cnt && n < h->cap ? &h->pieces[(h->cnt - 1 - n) % h->cap] : NULL;
}

static int note_piece(struct ends_view *x, const struct thread_piece *p)
{
	struct history *h = &x->threads[p->thread];
	uint8_t kind = p->state == THREAD_RUNNING ?
			       RUNNING : (uint8_t)wait_kind_of(x->machine, p->state, p->call);
	struct piece *last = piece_at(h, 0);

	if (p->thread < EVENT_ID_FIRST)
		return 0;
	if (last && last->kind == kind && last->to_ns == p->from_ns) {
		last->to_ns = p->to_ns;
		return 0;
	}
	if (!h->cap || (h->cnt == h->cap && h->cap < HISTORY_MAX && x->piece_cap < PIECES_MAX)) {
		unsigned int cap = h->cap ? 2 * h->cap : HISTORY_MIN;
		struct piece *pieces = realloc(h->pieces, cap * sizeof(*pieces));

		if (!pieces)
			return -ENOMEM;
		x->piece_cap += cap - h->cap;
		h->pieces = pieces;
		h->cap = cap;
	}
	h->pieces[h->cnt++ % h->cap] = (struct piece){ .from_ns = p->from_ns, .to_ns = p->to_ns,
						       .kind = kind };
	return 0;
}

/*
 * Returns the index, counted from the end, of the last piece that began before at_ns. If there is
 * no such piece, returns the number of pieces kept.
 */
static unsigned int last_before(const struct history *h, uint64_t at_ns)
{
	unsigned int from = 0, to = h->cnt < h->cap ? h->cnt : h->cap;

	while (from < to) {
		unsigned int n = from + (to - from) / 2;

		if (piece_at(h, n)->from_ns < at_ns)
			to = n;
		else
			from = n + 1;
	}
	return to;
}

/*
 * Adds a thread's activities backward from to_ns, at which the thread ran, to from_ns, or to the
 * end of a wait for a lock, which *ret_waker ended. Returns the instant reached.
 */
static uint64_t add_stays(const struct history *h, uint64_t from_ns, uint64_t to_ns,
			  uint64_t ns[WAIT_KIND_CNT + 1], uint32_t *ret_waker)
{
	unsigned int n = last_before(h, to_ns);
	const struct piece *p;

	for (; to_ns > from_ns && (p = piece_at(h, n)) != NULL; n++) {
		uint64_t begin_ns = p->from_ns > from_ns ? p->from_ns : from_ns;
		uint64_t end_ns = p->to_ns < to_ns ? p->to_ns : to_ns;
		uint64_t since_ns = end_ns > from_ns ? end_ns : from_ns;

		ns[n ? WAIT_UNKNOWN : RUNNING] += to_ns - since_ns;
		if (since_ns == from_ns)
			return from_ns;
		*ret_waker = p->waker;
		if (*ret_waker)
			return end_ns;
		ns[p->kind] += end_ns - begin_ns;
		to_ns = begin_ns;
	}
	return to_ns;
}

/* Returns the creator of a thread created after from_ns, if all of its pieces are kept; else 0. */
static uint32_t maker_of(struct ends_view *x, uint32_t thread, uint64_t from_ns)
{
	const struct history *h = &x->threads[thread];
	uint64_t start_ns;
	uint32_t maker;

	if (h->cnt > h->cap)
		return 0;
	maker = thread_maker(&x->makers, thread, &start_ns);
	return start_ns > from_ns ? maker : 0;
}

/* Adds the activities in [from_ns, to_ns) of the thread that ended a wait at to_ns. */
static void add_meanwhile(struct ends_view *x, uint32_t thread, uint64_t from_ns, uint64_t to_ns,
			  uint64_t ns[WAIT_KIND_CNT + 1])
{
	for (unsigned int i = 0; thread && to_ns > from_ns && i < HOLDERS_MAX; i++) {
		uint32_t other = 0;

		to_ns = add_stays(&x->threads[thread], from_ns, to_ns, ns, &other);
		thread = other ? other : maker_of(x, thread, from_ns);
	}
	ns[WAIT_UNKNOWN] += to_ns - from_ns;
}

/*
 * Returns the holder of a lock that waker released at to_ns: waker, or the holder for which waker
 * itself waited during more than half of [from_ns, to_ns).
 */
static uint32_t holder_of(const struct ends_view *x, uint32_t waker, uint64_t from_ns,
			  uint64_t to_ns)
{
	const struct history *h = &x->threads[waker];
	const struct piece *p;

	for (unsigned int n = 0; (p = piece_at(h, n)) != NULL && p->to_ns > from_ns; n++) {
		uint64_t begin_ns = p->from_ns > from_ns ? p->from_ns : from_ns;
		uint64_t end_ns = p->to_ns < to_ns ? p->to_ns : to_ns;

		if (p->kind == WAIT_LOCK && p->holder && end_ns > begin_ns &&
		    end_ns - begin_ns > (to_ns - from_ns) / 2)
			return p->holder;
	}
	return waker;
}

/* Stores holder and waker in the thread's pieces of a wait for a lock that has just ended. */
static void note_holder(struct history *h, uint64_t from_ns, uint32_t holder, uint32_t waker)
{
	struct piece *p;

	for (unsigned int n = 0; (p = piece_at(h, n)) != NULL && p->to_ns > from_ns; n++) {
		if (p->kind == WAIT_LOCK) {
			p->holder = holder;
			p->waker = waker;
		}
	}
}

static int object_of(struct ends_view *x, const struct thread_sleep *s, uint32_t *ret)
{
	int added = hash_map_intern(&x->numbers, s->thread, s->object, ret);

	if (added < 0 || (*ret >= x->object_cap &&
			  array_reserve(&x->objects, &x->object_cap, *ret + 1) < 0))
		return -ENOMEM;
	x->objects[*ret] = (struct object){ s->thread, s->object };
	return 0;
}

/*
 * Closes the open sleeps that ended at to_ns or earlier and whose waker is this thread: the waker's
 * activities during these sleeps are known now, and are added to the sleeps' rows.
 */
static int close_sleeps(struct ends_view *x, uint32_t thread, uint64_t to_ns)
{
	for (unsigned int i = x->open_cnt; i-- > 0;) {
		const struct open_sleep o = x->open[i];
		struct wait_end *w;

		if (o.waker != thread || o.end_ns > to_ns)
			continue;
		w = view_carry(&x->v, o.ender, o.key);
		if (!w)
			return -ENOMEM;
		w->meanwhile_ns[WAIT_UNKNOWN] -= o.end_ns - o.from_ns;
		add_meanwhile(x, o.waker, o.from_ns, o.end_ns, w->meanwhile_ns);
		x->open[i] = x->open[--x->open_cnt];
	}
	return 0;
}

/* Adds a wait that ended in the window. waker: the thread that ended the wait, or 0. */
static int add_wait(struct ends_view *x, const struct cut_wait *c, uint32_t ender, uint32_t waker,
		    bool is_waker_unseen)
{
	struct wait_end *w = view_carry(&x->v, ender, c->key);

	if (!w)
		return -ENOMEM;
	w->waits++;
	w->wait_ns += c->end_ns - c->from_ns;
	if (c->end_ns - c->left_ns > w->wait_max_ns) {
		w->wait_max_ns = c->end_ns - c->left_ns;
		w->at_ns = c->end_ns;
	}
	if (ender && (is_waker_unseen || !x->threads[waker].cnt)) {
		w->meanwhile_ns[WAIT_UNKNOWN] += c->end_ns - c->from_ns;
		if (x->open_cnt < OPEN_MAX)
			x->open[x->open_cnt++] = (struct open_sleep){
				c->from_ns, c->end_ns, c->key, waker, ender };
	} else if (ender) {
		add_meanwhile(x, waker, c->from_ns, c->end_ns, w->meanwhile_ns);
	}
	return 0;
}

static int end_cuts(struct ends_view *x, struct history *h, uint32_t ender, uint32_t waker,
		    bool is_waker_unseen)
{
	int ret = 0;

	for (size_t i = 0; i < h->cut_cnt && !ret; i++) {
		if (!ender)
			h->cuts[i].key |= KEY_NO_HOLDER;
		ret = add_wait(x, &h->cuts[i], ender, waker, is_waker_unseen);
	}
	h->cut_cnt = 0;
	return ret;
}

/*
 * Returns the identity of a lock: a condition variable of glibc has several addresses to wait at.
 */
static uint64_t lock_of(const struct thread_sleep *s)
{
	return call_object_of(s->call) == CALL_OBJECT_LOCK ? site_lock_of(s->object) : s->object;
}

static int on_lock(struct ends_view *x, const struct thread_sleep *s, const struct cut_wait *c,
		   bool is_counted)
{
	struct history *h = &x->threads[s->thread];
	uint32_t waker = object_releaser(x->machine, s), ender = 0;
	uint64_t first_ns = c->from_ns;
	int ret = 0;

	if (h->cut_cnt && (h->cut_call != s->call || h->cut_object != lock_of(s) ||
			   h->cut_cnt == CUT_MAX))
		ret = end_cuts(x, h, 0, 0, false);
	if (waker) {
		ender = holder_of(x, waker, c->from_ns, c->end_ns);
		if (h->cut_cnt)
			first_ns = h->cuts[0].from_ns;
		note_holder(h, first_ns, ender, waker);
		ret = ret ?: end_cuts(x, h, ender, waker, s->is_waker_unseen);
		return ret ?: is_counted ? add_wait(x, c, ender, waker, s->is_waker_unseen) : 0;
	}
	h->cut_call = s->call;
	h->cut_object = lock_of(s);
	if (!ret && is_counted)
		ret = array_add(&h->cuts, &h->cut_cap, &h->cut_cnt, *c);
	return ret;
}

static int on_sleep(struct ends_view *x, const struct thread_sleep *s)
{
	struct view *v = &x->v;
	enum wait_kind kind = wait_kind_of(x->machine, s->state, s->call);
	struct cut_wait c = { .left_ns = s->left_ns, .end_ns = s->end_ns };
	bool is_counted = s->end_ns >= v->w.from_ns && s->end_ns < v->w.to_ns &&
			  scope_has_thread_at(v->scope, s->thread, s->end_ns, NULL);
	uint32_t waker, object;

	c.from_ns = s->left_ns > v->w.from_ns ? s->left_ns : v->w.from_ns;
	if (!c.left_ns)
		c.left_ns = c.from_ns;
	if (is_counted && object_of(x, s, &object) < 0)
		return -ENOMEM;
	if (is_counted)
		c.key = key_of(kind, s->call, object);
	if (kind == WAIT_LOCK)
		return on_lock(x, s, &c, is_counted);
	if (s->waker_call == CALL_TIMEOUT)
		c.key |= KEY_TIMEOUT;
	waker = object_waker(v->a->trace, x->machine, s);
	return is_counted ? add_wait(x, &c, waker, waker, s->is_waker_unseen) : 0;
}

static int on_found(void *ctx, const void *found)
{
	const struct states_found *f = found;

	if (f->piece) {
		int ret = note_piece(ctx, f->piece);

		return ret < 0 ? ret : close_sleeps(ctx, f->piece->thread, f->piece->to_ns);
	}
	if (f->wait)
		thread_makers_note(&((struct ends_view *)ctx)->makers, f->wait);
	return f->sleep && f->sleep->is_seen ? on_sleep(ctx, f->sleep) : 0;
}

/* Adds the row of the activity `meanwhile`, or if that is RUNNING + 1, the row of the waits. */
static void give_row(struct ends_view *x, const struct view_place *at, struct wait_end *w,
		     unsigned int meanwhile)
{
	static const struct wait_end none;
	const struct dense_ids *ids = &x->v.a->ids;
	const struct object *o = &x->objects[(uint32_t)at->b];
	const char *call = call_name(x->machine, (uint16_t)(at->b >> 32));
	char text[OBJECT_TEXT_BYTES];
	struct cell *c = view_row(&x->v, 0, meanwhile > RUNNING ? w : (void *)&none);

	cell_text(&c[COL_WAIT_ENDS_KIND], wait_kind_name(at->b >> 48 & 0xff));
	if (call)
		cell_text(&c[COL_WAIT_ENDS_CALL], call);
	cell_int(&c[COL_WAIT_ENDS_UTID], dense_utid(ids, o->waiter));
	if (object_text(x->v.a->trace, dense_utid(ids, o->waiter), w->at_ns,
			(uint16_t)(at->b >> 32), o->what, text))
		view_text(&x->v, &c[COL_WAIT_ENDS_OBJECT], strpool_put(x->texts, text));
	if (at->group)
		cell_int(&c[COL_WAIT_ENDS_ENDER_UTID], dense_utid(ids, at->group));
	cell_int(&c[COL_WAIT_ENDS_IRQ], !at->group && !(at->b & (KEY_NO_HOLDER | KEY_TIMEOUT)));
	cell_int(&c[COL_WAIT_ENDS_TIMEOUT], !!(at->b & KEY_TIMEOUT));
	if (meanwhile > RUNNING) {
		cell_int(&c[COL_WAIT_ENDS_AT_NS], context_rel(x->v.a, w->at_ns));
		return;
	}
	cell_text(&c[COL_WAIT_ENDS_MEANWHILE],
		  meanwhile == RUNNING ? "running" : wait_kind_name(meanwhile));
	cell_int(&c[COL_WAIT_ENDS_MEANWHILE_NS], (int64_t)w->meanwhile_ns[meanwhile]);
}

static void give_end(struct view *v, const struct view_place *at, void *sum)
{
	struct ends_view *x = (struct ends_view *)v;
	struct wait_end *w = sum;

	give_row(x, at, w, RUNNING + 1);
	for (unsigned int kind = 0; kind <= RUNNING; kind++)
		if (w->meanwhile_ns[kind])
			give_row(x, at, w, kind);
}

static int open_ends(struct view *v, const struct table_query *q, struct err *e)
{
	struct ends_view *x = (struct ends_view *)v;

	x->machine = call_machine_of(trace_get(v->a->trace, "machine"));
	x->threads = calloc(v->a->ids.thread_cnt + 1, sizeof(*x->threads));
	if (!x->threads || thread_makers_init(&x->makers, &v->a->ids) < 0)
		return -ENOMEM;
	return strpool_new(&x->texts);
}

static int finish_ends(struct view *v)
{
	struct ends_view *x = (struct ends_view *)v;
	int ret = 0;

	for (uint32_t i = 0; i < v->a->ids.thread_cnt && !ret; i++)
		ret = end_cuts(x, &x->threads[i], 0, 0, false);
	return ret;
}

static void close_ends(struct view *v)
{
	struct ends_view *x = (struct ends_view *)v;

	for (uint32_t i = 0; x->threads && i < v->a->ids.thread_cnt; i++) {
		free(x->threads[i].pieces);
		free(x->threads[i].cuts);
	}
	free(x->threads);
	thread_makers_done(&x->makers);
	free(x->objects);
	strpool_free(x->texts);
	hash_map_done(&x->numbers);
}

static const struct view_def ends_view = {
	.is_one_bin = true, .fold = &fold_ends,
	.sums = &ends_def, .open = open_ends, .close = close_ends, .carry = on_found,
	.row = give_end, .finish = finish_ends,
};

const struct table_def table_wait_ends = VIEW_TABLE(WAIT_ENDS, ends_view, struct ends_view);
