/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * replay: pieces are sorted by their recorded ends, and linked to the thread's neighbouring pieces
 * and to the waker's piece. REPLAY_SCHEDULED is a simulation with a heap of the threads' next
 * events and a heap of ready threads.
 */
#include "model/replay.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

#define NOT_RUN UINT64_MAX
#define SERVED_STEPS 64		/* most pieces between the wake-ups of a server and of its client */

/* An entry of a heap: a thread's next event, by time, or a thread that is ready. */
struct entry {
	uint64_t key, seq;
	uint32_t thread;
};

struct heap {
	struct entry *entries;
	size_t cnt, cap;
};

/* A thread in the simulation. */
struct sim_thread {
	uint32_t piece;		/* 1 + place of its current piece; 0: the thread has ended */
	uint32_t edge;		/* index in edges: next edge of its piece on a CPU */
	/*
	 * beginning of the piece, plus the time of its interruptions; while it is interrupted: the
	 * time that it ran
	 */
	uint64_t began_ns;
	uint64_t instant;	/* seq of its valid entry in instants; 0: none */
	bool is_on_cpu, is_interrupted;
	bool has_waited;	/* the recorded wait after this piece has already been replayed */
};

struct replay {
	struct replay_piece *pieces;
	size_t cnt, cap;
	uint32_t thread_cnt;
	uint32_t *last_of;	/* by thread: 1 + place of its last piece; 0: none */
	/* by thread: 1 + place of its first piece; set by replay_prepare() */
	uint32_t *first_of;
	uint64_t *keep;		/* by place: ns of the piece that are not left out */
	uint64_t *end_ns;	/* by place: end of the piece in the last run */
	bool *is_bound;		/* by place: a sleep that its waker ended in the last run */
	bool frees_cpus;	/* some time on a CPU is left out */
	uint32_t *edges; /* places of sleeps, by the place of the waker's piece, then by end */
	uint32_t *edge_of;	/* by place: its first index in edges; cnt + 1 elements */
	uint32_t *runs;		/* places of pieces on a CPU, by CPU, then by end */
	uint32_t *runs_of;	/* by CPU: its first index in runs; cpu_cnt + 1 elements */
	unsigned int cpu_cnt;	/* 1 + the highest CPU */
	unsigned int used_cpus;	/* number of CPUs with pieces */
	struct sim_thread *sim;
	uint32_t *on_cpu;	/* threads that have a CPU; used_cpus elements */
	unsigned int on_cpu_cnt;
	struct heap instants, ready;
	uint64_t seq;
};

int replay_new(struct replay **ret, uint32_t thread_cnt)
{
	struct replay *r = calloc(1, sizeof(*r));

	if (!r)
		return -ENOMEM;
	r->thread_cnt = thread_cnt;
	r->last_of = calloc(thread_cnt + 1, sizeof(*r->last_of));
	if (!r->last_of) {
		replay_free(r);
		return -ENOMEM;
	}
	*ret = r;
	return 0;
}

void replay_free(struct replay *r)
{
	if (!r)
		return;
	free(r->pieces);
	free(r->last_of);
	free(r->first_of);
	free(r->keep);
	free(r->end_ns);
	free(r->is_bound);
	free(r->edges);
	free(r->edge_of);
	free(r->runs);
	free(r->runs_of);
	free(r->sim);
	free(r->on_cpu);
	free(r->instants.entries);
	free(r->ready.entries);
	free(r);
}

int replay_add(struct replay *r, const struct replay_piece *p)
{
	if (r->cnt >= UINT32_MAX - 1)
		return -E2BIG;
	if (array_add(&r->pieces, &r->cap, &r->cnt, *p) < 0)
		return -ENOMEM;
	r->last_of[p->thread] = (uint32_t)r->cnt;
	return 0;
}

struct replay_piece *replay_last(struct replay *r, uint32_t thread)
{
	return r->last_of[thread] ? &r->pieces[r->last_of[thread] - 1] : NULL;
}

int replay_add_birth(struct replay *r, uint32_t thread, uint32_t creator, uint64_t at_ns)
{
	return array_add(&r->pieces, &r->cap, &r->cnt,
			 (struct replay_piece){ .from_ns = at_ns, .to_ns = at_ns, .thread = thread,
						.waker = creator, .what = REPLAY_SLEEP });
}

/* ---- preparation ---- */

/* Compares ends; of equal ends, a piece on a CPU precedes the sleeps that its thread ends. */
static int by_end(const void *a, const void *b)
{
	const struct replay_piece *x = a, *y = b;

	return compare_numbers(x->to_ns, y->to_ns) ?:
	       compare_numbers(x->what == REPLAY_SLEEP, y->what == REPLAY_SLEEP) ?:
	       compare_numbers(x->thread, y->thread) ?: compare_numbers(x->from_ns, y->from_ns);
}

/* Links the pieces of each thread. */
static void link_threads(struct replay *r)
{
	memset(r->last_of, 0, r->thread_cnt * sizeof(*r->last_of));
	for (uint32_t i = 0; i < r->cnt; i++) {
		struct replay_piece *p = &r->pieces[i];
		uint32_t *last = &r->last_of[p->thread];

		p->before = *last;
		p->next = p->waker_piece = 0;
		if (*last)
			r->pieces[*last - 1].next = i + 1;
		else
			r->first_of[p->thread] = i + 1;
		*last = i + 1;
	}
}

static bool has_cpu_at(const struct replay *r, uint32_t piece, uint64_t at_ns)
{
	const struct replay_piece *p = piece ? &r->pieces[piece - 1] : NULL;

	return p && p->what == REPLAY_RUN && p->from_ns <= at_ns && p->to_ns >= at_ns;
}

/*
 * An interrupt that wakes the waker of sleep p during p is assumed to do so because of p: for
 * example, a kernel worker finishes a request that the sleeping thread waits for. The waker's own
 * sleep then ends a fixed time after the beginning of p, instead of keeping its length.
 */
static void link_served(struct replay *r, const struct replay_piece *p)
{
	uint32_t at = p->waker_piece;
	struct replay_piece *slept;

	for (int i = 0; i < SERVED_STEPS && at; i++) {
		slept = &r->pieces[at - 1];
		if (slept->to_ns <= p->from_ns)
			return;
		if (slept->what == REPLAY_SLEEP || slept->what == REPLAY_UNKNOWN)
			break;
		at = slept->before;
	}
	if (!at || !p->before || r->pieces[p->before - 1].what != REPLAY_RUN)
		return;
	slept = &r->pieces[at - 1];
	if (slept->what != REPLAY_SLEEP || !slept->is_instant || slept->waker)
		return;
	slept->waker = p->thread;
	slept->waker_piece = p->before;
}

/*
 * Finds the waker's piece of each sleep. During the loop, last_of has the last piece of each thread
 * that has ended so far.
 */
static void link_wakers(struct replay *r)
{
	uint32_t *ended = r->last_of;

	memset(ended, 0, r->thread_cnt * sizeof(*ended));
	for (uint32_t i = 0; i < r->cnt; i++) {
		struct replay_piece *p = &r->pieces[i];
		uint32_t last, now;

		if (p->what == REPLAY_SLEEP && p->waker && p->waker < r->thread_cnt) {
			last = ended[p->waker];
			now = last ? r->pieces[last - 1].next : r->first_of[p->waker];
			p->waker_piece = has_cpu_at(r, last, p->to_ns) ? last :
					 has_cpu_at(r, now, p->to_ns)  ? now :
									 0;
			link_served(r, p);
		}
		ended[p->thread] = i + 1;
	}
}

/* Fills edges and edge_of, and runs and runs_of, by counting. */
static int index_pieces(struct replay *r)
{
	size_t edges = 0, runs = 0;

	for (size_t i = 0; i < r->cnt; i++) {
		const struct replay_piece *p = &r->pieces[i];

		edges += p->waker_piece != 0;
		runs += p->what == REPLAY_RUN;
		if (p->what == REPLAY_RUN && p->cpu >= r->cpu_cnt)
			r->cpu_cnt = p->cpu + 1u;
	}
	r->edges = calloc(edges + 1, sizeof(*r->edges));
	r->edge_of = calloc(r->cnt + 2, sizeof(*r->edge_of));
	r->runs = calloc(runs + 1, sizeof(*r->runs));
	r->runs_of = calloc(r->cpu_cnt + 2, sizeof(*r->runs_of));
	if (!r->edges || !r->edge_of || !r->runs || !r->runs_of)
		return -ENOMEM;
	for (size_t i = 0; i < r->cnt; i++) {
		const struct replay_piece *p = &r->pieces[i];

		if (p->waker_piece)
			r->edge_of[p->waker_piece + 1]++;
		if (p->what == REPLAY_RUN)
			r->runs_of[p->cpu + 2]++;
	}
	for (size_t i = 2; i < r->cnt + 2; i++)
		r->edge_of[i] += r->edge_of[i - 1];
	for (unsigned int i = 2; i < r->cpu_cnt + 2; i++) {
		r->used_cpus += r->runs_of[i] != 0;
		r->runs_of[i] += r->runs_of[i - 1];
	}
	/*
	 * Each insertion increments the first index of a range. After the loop, this index is the
	 * end of the range, which is the first index of the next range.
	 */
	for (uint32_t i = 0; i < r->cnt; i++) {
		const struct replay_piece *p = &r->pieces[i];

		if (p->waker_piece)
			r->edges[r->edge_of[p->waker_piece]++] = i;
		if (p->what == REPLAY_RUN)
			r->runs[r->runs_of[p->cpu + 1]++] = i;
	}
	return 0;
}

int replay_prepare(struct replay *r, size_t *ret_cnt)
{
	if (r->cnt)
		qsort(r->pieces, r->cnt, sizeof(*r->pieces), by_end);
	r->first_of = calloc(r->thread_cnt + 1, sizeof(*r->first_of));
	r->keep = calloc(r->cnt + 1, sizeof(*r->keep));
	r->end_ns = calloc(r->cnt + 1, sizeof(*r->end_ns));
	r->is_bound = calloc(r->cnt + 1, sizeof(*r->is_bound));
	if (!r->first_of || !r->keep || !r->end_ns || !r->is_bound)
		return -ENOMEM;
	link_threads(r);
	link_wakers(r);
	replay_change(r, NULL, NULL);
	*ret_cnt = r->cnt;
	return index_pieces(r);
}

const struct replay_piece *replay_at(const struct replay *r, uint32_t place)
{
	return &r->pieces[place];
}

unsigned int replay_edges(const struct replay *r, const struct replay_piece *p)
{
	return r->edge_of[p - r->pieces + 1] - r->edge_of[p - r->pieces];
}

bool replay_last_run(const struct replay *r, uint32_t thread, uint32_t *ret_place)
{
	uint32_t piece = r->last_of[thread];

	while (piece && r->pieces[piece - 1].what != REPLAY_RUN)
		piece = r->pieces[piece - 1].before;
	if (piece)
		*ret_place = piece - 1;
	return piece != 0;
}

uint64_t replay_change(struct replay *r, replay_keep keep, void *ctx)
{
	uint64_t left_out_ns = 0;

	r->frees_cpus = false;
	for (size_t i = 0; i < r->cnt; i++) {
		const struct replay_piece *p = &r->pieces[i];
		uint64_t dur_ns = p->to_ns - p->from_ns;

		r->keep[i] = keep ? keep(ctx, p) : dur_ns;
		left_out_ns += dur_ns - r->keep[i];
		r->frees_cpus |= p->what == REPLAY_RUN && r->keep[i] < dur_ns;
	}
	return left_out_ns;
}

/* ---- one pass ---- */

/* Returns how much of the first off_ns of a piece is kept. */
static uint64_t scaled(const struct replay *r, uint32_t place, uint64_t off_ns)
{
	const struct replay_piece *p = &r->pieces[place];
	uint64_t dur_ns = p->to_ns - p->from_ns, keep = r->keep[place];

	if (keep == dur_ns || !keep)
		return keep ? off_ns : 0;
	/* exact, because the simulation compares the time that a piece ran with this value */
	if (off_ns == dur_ns)
		return keep;
	return (uint64_t)((double)off_ns * ((double)keep / (double)dur_ns));
}

/*
 * Returns the replayed beginning of a piece. If a thread is created during the replay, its first
 * piece is a wait for this creation, from time 0 on.
 */
static uint64_t begin_of(const struct replay *r, uint32_t place)
{
	const struct replay_piece *p = &r->pieces[place];

	return p->before ? r->end_ns[p->before - 1] : p->waker_piece ? 0 : p->from_ns;
}

/*
 * Returns the time from the beginning of the waker's piece to the instant at which it ends the
 * sleep.
 */
static uint64_t offset_of(const struct replay *r, const struct replay_piece *p)
{
	const struct replay_piece *w = &r->pieces[p->waker_piece - 1];

	return (p->to_ns < w->to_ns ? p->to_ns : w->to_ns) - w->from_ns;
}

/* Returns the time, in ns, from the instant of offset_of() to the end of the sleep. */
static uint64_t delay_of(const struct replay *r, const struct replay_piece *p)
{
	const struct replay_piece *w = &r->pieces[p->waker_piece - 1];

	return p->to_ns > w->to_ns ? p->to_ns - w->to_ns : 0;
}

/* Returns when the waker ends the sleep; NOT_RUN: unknown. */
static uint64_t woken_ns(const struct replay *r, const struct replay_piece *p)
{
	uint32_t waker = p->waker_piece;
	uint64_t begin_ns = waker ? begin_of(r, waker - 1) : NOT_RUN;

	if (begin_ns == NOT_RUN)
		return NOT_RUN;
	return begin_ns + scaled(r, waker - 1, offset_of(r, p)) + delay_of(r, p);
}

/*
 * Finds the first piece on the awaited CPU that ended after the wait began; returns its index in
 * runs.
 */
static uint32_t first_beside(const struct replay *r, const struct replay_piece *p,
			     uint32_t *ret_end)
{
	const struct replay_piece *next = p->next ? &r->pieces[p->next - 1] : NULL;
	uint32_t from, to;

	*ret_end = 0;
	if (!next || next->what != REPLAY_RUN)
		return 0;
	from = r->runs_of[next->cpu];
	to = *ret_end = r->runs_of[next->cpu + 1];
	while (from < to) {
		uint32_t mid = from + (to - from) / 2;

		if (r->pieces[r->runs[mid]].to_ns > p->from_ns)
			to = mid;
		else
			from = mid + 1;
	}
	return from;
}

void replay_beside(const struct replay *r, const struct replay_piece *p, replay_part part,
		   void *ctx)
{
	uint32_t end, i = first_beside(r, p, &end);

	for (; i < end && r->pieces[r->runs[i]].from_ns < p->to_ns; i++) {
		const struct replay_piece *x = &r->pieces[r->runs[i]];
		uint64_t a = x->from_ns > p->from_ns ? x->from_ns : p->from_ns;
		uint64_t b = x->to_ns < p->to_ns ? x->to_ns : p->to_ns;

		if (b > a)
			part(ctx, x, b - a);
	}
}

struct freed {
	const struct replay *r;
	uint64_t ns;
};

static void add_freed(void *ctx, const struct replay_piece *x, uint64_t ns)
{
	struct freed *f = ctx;

	f->ns += ns - scaled(f->r, (uint32_t)(x - f->r->pieces), ns);
}

/* Returns the time that is left out of the pieces on the awaited CPU during the wait. */
static uint64_t freed_ns(const struct replay *r, const struct replay_piece *p)
{
	struct freed f = { r, 0 };

	if (r->frees_cpus)
		replay_beside(r, p, add_freed, &f);
	return f.ns;
}

static void run_structure(struct replay *r, bool is_fixed)
{
	memset(r->end_ns, 0xff, r->cnt * sizeof(*r->end_ns));
	for (uint32_t i = 0; i < r->cnt; i++) {
		const struct replay_piece *p = &r->pieces[i];
		uint64_t begin_ns = begin_of(r, i), keep = r->keep[i], freed, woken;
		bool is_whole = keep == p->to_ns - p->from_ns;

		r->is_bound[i] = false;
		r->end_ns[i] = begin_ns + keep;
		if (p->what == REPLAY_CPU && keep) {
			freed = freed_ns(r, p);
			r->end_ns[i] -= freed < keep ? freed : keep;
		}
		if (p->what != REPLAY_SLEEP || !is_whole)
			continue;
		woken = woken_ns(r, p);
		if (woken != NOT_RUN) {
			r->is_bound[i] = woken >= begin_ns;
			r->end_ns[i] = woken > begin_ns ? woken : begin_ns;
		} else if (!p->before) {
			r->end_ns[i] = p->to_ns;
		} else if (is_fixed && p->is_instant) {
			r->end_ns[i] = p->to_ns > begin_ns ? p->to_ns : begin_ns;
		}
	}
}

void replay_path(const struct replay *r, uint32_t place, replay_part part, void *ctx)
{
	uint64_t at_ns = r->end_ns[place];

	for (;;) {
		const struct replay_piece *p = &r->pieces[place];
		uint64_t begin_ns = begin_of(r, place);

		if (r->is_bound[place]) {
			part(ctx, p, delay_of(r, p));
			at_ns -= delay_of(r, p);
			place = p->waker_piece - 1;
			continue;
		}
		if (at_ns > begin_ns)
			part(ctx, p, at_ns - begin_ns);
		if (begin_ns < at_ns)
			at_ns = begin_ns;
		if (!p->before)
			return;
		place = p->before - 1;
	}
}

/* ---- simulation ---- */

static bool is_before(const struct entry *a, const struct entry *b)
{
	return a->key < b->key || (a->key == b->key && a->seq < b->seq);
}

static int heap_push(struct heap *h, uint64_t key, uint64_t seq, uint32_t thread)
{
	struct entry x = { key, seq, thread };
	size_t i = h->cnt;

	if (array_add(&h->entries, &h->cap, &h->cnt, x) < 0)
		return -ENOMEM;
	for (; i && is_before(&x, &h->entries[(i - 1) / 2]); i = (i - 1) / 2)
		h->entries[i] = h->entries[(i - 1) / 2];
	h->entries[i] = x;
	return 0;
}

static struct entry heap_pop(struct heap *h)
{
	struct entry top = h->entries[0], x = h->entries[--h->cnt];
	size_t i = 0, child;

	while ((child = 2 * i + 1) < h->cnt) {
		if (child + 1 < h->cnt && is_before(&h->entries[child + 1], &h->entries[child]))
			child++;
		if (!is_before(&h->entries[child], &x))
			break;
		h->entries[i] = h->entries[child];
		i = child;
	}
	h->entries[i] = x;
	return top;
}

static int wake_at(struct replay *r, uint32_t thread, uint64_t at_ns)
{
	r->sim[thread].instant = ++r->seq;
	return heap_push(&r->instants, at_ns, r->seq, thread);
}

/* Makes the thread ready. After wait_ns it may preempt another thread. */
static int make_ready(struct replay *r, uint32_t thread, uint64_t now_ns, uint64_t wait_ns)
{
	int ret = heap_push(&r->ready, now_ns + wait_ns, r->sim[thread].piece, thread);

	/* no thread has the number thread_cnt: this entry only causes a dispatch() at that time */
	if (!ret && wait_ns && r->on_cpu_cnt == r->used_cpus)
		ret = heap_push(&r->instants, now_ns + wait_ns, 0, r->thread_cnt);
	return ret;
}

static void leave_cpu(struct replay *r, uint32_t thread)
{
	unsigned int i = 0;

	while (r->on_cpu[i] != thread)
		i++;
	r->on_cpu[i] = r->on_cpu[--r->on_cpu_cnt];
	r->sim[thread].is_on_cpu = false;
}

/* Schedules the next event of a thread that has a CPU: the next edge or the end of its piece. */
static int plan(struct replay *r, uint32_t thread)
{
	struct sim_thread *t = &r->sim[thread];
	uint32_t place = t->piece - 1;
	const struct replay_piece *p = &r->pieces[place];
	uint64_t off_ns = p->to_ns - p->from_ns;

	if (t->edge < r->edge_of[place + 1])
		off_ns = offset_of(r, &r->pieces[r->edges[t->edge]]);
	return wake_at(r, thread, t->began_ns + scaled(r, place, off_ns));
}

/* Begins the thread's current piece; skips pieces that take no time. */
static int enter(struct replay *r, uint32_t thread, uint64_t now_ns)
{
	struct sim_thread *t = &r->sim[thread];
	uint64_t wait_ns = 0;

	for (; t->piece; t->piece = r->pieces[t->piece - 1].next) {
		uint32_t place = t->piece - 1;
		const struct replay_piece *p = &r->pieces[place];
		uint64_t keep = r->keep[place];

		if (p->what == REPLAY_CPU) {
			wait_ns += t->has_waited ? 0 : keep;
			t->has_waited = false;
			continue;
		}
		if (p->what == REPLAY_RUN)
			return make_ready(r, thread, now_ns, wait_ns);
		if (p->waker_piece && keep == p->to_ns - p->from_ns) {
			if (!r->is_bound[place])
				return 0;
			if (r->end_ns[place] > now_ns)
				return wake_at(r, thread, r->end_ns[place]);
			continue;	/* the sleep has already been ended */
		}
		if (keep)
			return wake_at(r, thread, now_ns + keep);
	}
	return 0;
}

/* Ends the sleep to which an edge leads: now or, if it has not begun yet, at its beginning. */
static int follow(struct replay *r, uint32_t place, uint64_t now_ns)
{
	uint32_t thread = r->pieces[place].thread;
	struct sim_thread *t = &r->sim[thread];

	r->is_bound[place] = true;
	r->end_ns[place] = now_ns + delay_of(r, &r->pieces[place]);
	return t->piece == place + 1 ? enter(r, thread, now_ns) : 0;
}

static int step(struct replay *r, uint32_t thread, uint64_t now_ns)
{
	struct sim_thread *t = &r->sim[thread];
	uint32_t place;
	uint64_t off_ns;
	int ret = 0;

	if (!t->is_on_cpu) {	/* its first event, or the end of a sleep */
		t->piece = t->piece ? r->pieces[t->piece - 1].next : r->first_of[thread];
		return enter(r, thread, now_ns);
	}
	place = t->piece - 1;
	off_ns = now_ns - t->began_ns;
	while (t->edge < r->edge_of[place + 1] && !ret) {
		uint32_t sleep = r->edges[t->edge];

		if (scaled(r, place, offset_of(r, &r->pieces[sleep])) > off_ns)
			return plan(r, thread);
		t->edge++;
		ret = follow(r, sleep, now_ns);
	}
	if (ret || off_ns < r->keep[place])
		return ret ?: plan(r, thread);
	r->end_ns[place] = now_ns;
	leave_cpu(r, thread);
	t->piece = r->pieces[place].next;
	return enter(r, thread, now_ns);
}

/*
 * Takes the CPU from one of the threads whose recorded piece ended with a preemption: from the
 * thread that has had its CPU longest. *ret_done false: no running thread is one of these.
 */
static int preempt(struct replay *r, uint64_t now_ns, bool *ret_done)
{
	uint32_t longest = 0;
	struct sim_thread *t;

	for (unsigned int i = 0; i < r->on_cpu_cnt; i++) {
		uint32_t thread = r->on_cpu[i];
		const struct replay_piece *p = &r->pieces[r->sim[thread].piece - 1];

		if (p->next && r->pieces[p->next - 1].what == REPLAY_CPU &&
		    r->sim[thread].began_ns < now_ns &&
		    (!longest || r->sim[thread].began_ns < r->sim[longest].began_ns))
			longest = thread;
	}
	*ret_done = longest != 0;
	if (!longest)
		return 0;
	t = &r->sim[longest];
	leave_cpu(r, longest);
	t->is_interrupted = t->has_waited = true;
	t->instant = 0;
	/* until the thread has a CPU again, began_ns contains the ns that the piece has run */
	t->began_ns = now_ns - t->began_ns;
	longest = r->pieces[t->piece - 1].next - 1;
	return make_ready(r, r->pieces[longest].thread, now_ns,
			  r->pieces[longest].to_ns - r->pieces[longest].from_ns);
}

/*
 * Gives CPUs to ready threads: free CPUs or, if a thread's wait_ns have passed, the CPU of another
 * thread.
 */
static int dispatch(struct replay *r, uint64_t now_ns)
{
	int ret = 0;

	while (r->ready.cnt && !ret) {
		struct sim_thread *t;
		uint32_t thread;
		bool is_free = r->on_cpu_cnt < r->used_cpus;

		if (!is_free && r->ready.entries[0].key <= now_ns)
			ret = preempt(r, now_ns, &is_free);
		if (!is_free || ret)
			break;
		thread = heap_pop(&r->ready).thread;
		t = &r->sim[thread];
		if (!t->is_interrupted)
			t->edge = r->edge_of[t->piece - 1];
		t->began_ns = t->is_interrupted ? now_ns - t->began_ns : now_ns;
		t->is_interrupted = false;
		t->is_on_cpu = true;
		r->on_cpu[r->on_cpu_cnt++] = thread;
		ret = plan(r, thread);
	}
	return ret;
}

static int run_scheduled(struct replay *r)
{
	int ret = 0;

	if (!r->sim)
		r->sim = calloc(r->thread_cnt + 1, sizeof(*r->sim));
	if (!r->on_cpu)
		r->on_cpu = calloc(r->used_cpus + 1, sizeof(*r->on_cpu));
	if (!r->sim || !r->on_cpu)
		return -ENOMEM;
	memset(r->sim, 0, r->thread_cnt * sizeof(*r->sim));
	memset(r->is_bound, 0, r->cnt * sizeof(*r->is_bound));
	memset(r->end_ns, 0xff, r->cnt * sizeof(*r->end_ns));
	r->instants.cnt = r->ready.cnt = r->seq = r->on_cpu_cnt = 0;
	for (uint32_t i = 0; i < r->thread_cnt && !ret; i++) {
		const struct replay_piece *p = &r->pieces[r->first_of[i] ? r->first_of[i] - 1 : 0];

		/* a thread that is created during the replay waits for that from time 0 on */
		if (r->first_of[i])
			ret = wake_at(r, i, p->waker_piece ? 0 : p->from_ns);
	}
	while (r->instants.cnt && !ret) {
		struct entry now = heap_pop(&r->instants);

		/* skip an entry if its thread was interrupted after the entry was added */
		if (now.thread < r->thread_cnt && r->sim[now.thread].instant == now.seq)
			ret = step(r, now.thread, now.key);
		if (!ret && (!r->instants.cnt || r->instants.entries[0].key > now.key))
			ret = dispatch(r, now.key);
	}
	return ret;
}

int replay_run(struct replay *r, enum replay_variant variant, const uint32_t *places, size_t cnt,
	       uint64_t *ret_ns, uint32_t *ret_place)
{
	uint32_t last = places[0];
	int ret = 0;

	if (variant == REPLAY_SCHEDULED)
		ret = run_scheduled(r);
	else
		run_structure(r, variant == REPLAY_FIXED);
	for (size_t i = 0; i < cnt && !ret; i++) {
		if (r->end_ns[places[i]] == NOT_RUN)
			ret = -EDEADLK;
		else if (r->end_ns[places[i]] > r->end_ns[last])
			last = places[i];
	}
	if (!ret) {
		*ret_ns = r->end_ns[last];
		*ret_place = last;
	}
	return ret;
}
