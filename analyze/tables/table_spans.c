/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * table_spans: requests(from_ns, to_ns), request_steps(from_ns, to_ns), request_threads(from_ns,
 * to_ns), request_time(from_ns, to_ns): requests of programs that ended in the window or were open
 * at its end.
 *
 *     span_events before to_ns --[span_track]--> requests, stays of threads, steps
 *     stays, states of threads --[request_time]--> parts of each request's time
 *
 * The parts of a request add up exactly to its length: the states of its thread, from fold_ends;
 * "queued" while no thread worked for the request; "unknown" while the thread's state is unknown. A
 * wait for a CPU is divided among the threads that had this CPU during the wait; a wait for a lock
 * names the thread that released the lock. An open request counts up to the window's end.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/context/code_text.h"
#include "analyze/engine/table.h"
#include "analyze/fold/fold_run.h"
#include "analyze/fold/folds.h"
#include "base/array.h"
#include "base/strpool.h"
#include "model/span_track.h"
#include "table_columns.h"

/* Columns of span_events: four that all event tables have, then the columns of the kind. */
enum { COL_TS_NS = 0, COL_UTID = 2, COL_ACTION = 4 + EV_SPAN_ACTION, COL_NAME = 4 + EV_SPAN_NAME,
       COL_ID = 4 + EV_SPAN_ID };

struct spans {
	struct analysis *a;
	struct window w;	/* the window of the query */
	struct span_track track;
	size_t at;		/* next row */
	bool is_read;
};

static unsigned int action_of(const char *text)
{
	static const char *const names[] = EVENT_SHOWN_SPAN;

	for (unsigned int i = 1; text && i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(names[i], text))
			return i;
	return 0;
}

/* Reads all span_events before the window's end. Ids of threads and processes are dense. */
static int read_spans(struct spans *s, struct err *e)
{
	struct table_query q = { .from_ns = INT64_MIN, .cols_used = UINT64_MAX };
	const struct dense_ids *ids = &s->a->ids;
	struct table_scan scan = { 0 };
	const struct cell *row;
	int ret;

	q.to_ns = context_rel(s->a, s->w.to_ns);
	ret = table_scan_open(&scan, s->a, table_find("span_events"), &q, e);
	while (!ret && (ret = table_scan_next(&scan, &row, e)) > 0) {
		struct span_event ev = {
			.ts_ns = s->a->start_ns + (uint64_t)row[COL_TS_NS].i,
			.thread = dense_thread(ids, (uint32_t)row[COL_UTID].i),
			.action = action_of(row[COL_ACTION].s),
			.name = (uint64_t)row[COL_NAME].i, .id = (uint64_t)row[COL_ID].i,
		};

		ev.process = dense_process_of(ids, ev.thread);
		ret = row[COL_TS_NS].i < q.to_ns ? span_track_event(&s->track, &ev) : 0;
	}
	table_scan_done(&scan);
	s->is_read = true;
	return ret;
}

static int spans_open(struct analysis *a, const struct table_def *def, const struct table_query *q,
		      void *state, struct err *e)
{
	struct spans *s = state;

	s->a = a;
	return window_init(&s->w, a, q, e);
}

static void spans_close(void *state)
{
	span_track_done(&((struct spans *)state)->track);
}

static bool is_asked(const struct spans *s, const struct span_request *r)
{
	return !r->end_ns || r->end_ns >= s->w.from_ns;
}

static const char *name_of(const struct spans *s, uint64_t name)
{
	const struct trace_name *n = trace_name_find(s->a->trace, TRACE_NAME_SPAN, name);

	return n ? n->name : "(name lost)";
}

static uint64_t end_of(const struct spans *s, uint64_t end_ns)
{
	return end_ns ? end_ns : s->w.to_ns;
}

/* Returns the id that the program set or, for a call, the call's beginning, which is unique. */
static int64_t id_of(const struct spans *s, const struct span_request *r)
{
	return r->id ? (int64_t)r->id : context_rel(s->a, r->begin_ns);
}

/* Adds rows for the next requests, steps or stays. *cnt is read after span_events were read. */
static int add_rows(struct spans *s, struct rowbuf *out, const size_t *cnt,
		    void (*row)(struct spans *s, size_t i, struct rowbuf *out), struct err *e)
{
	int ret = s->is_read || s->w.from_ns == s->w.to_ns ? 0 : read_spans(s, e);

	if (ret)
		return ret;
	for (; s->at < *cnt && out->row_cnt < TABLE_BATCH_ROWS; s->at++)
		row(s, s->at, out);
	return s->at < *cnt;
}

static void request_row(struct spans *s, size_t i, struct rowbuf *out)
{
	const struct span_request *r = &s->track.requests[i];
	struct cell *c;

	if (!is_asked(s, r))
		return;
	c = rowbuf_add(out);
	cell_text(&c[COL_REQUESTS_NAME], name_of(s, r->name));
	cell_int(&c[COL_REQUESTS_ID], id_of(s, r));
	cell_int(&c[COL_REQUESTS_UTID], dense_utid(&s->a->ids, r->thread));
	cell_int(&c[COL_REQUESTS_UPID], dense_upid(&s->a->ids, r->process));
	cell_int(&c[COL_REQUESTS_START_NS], context_rel(s->a, r->begin_ns));
	if (r->end_ns) {
		cell_int(&c[COL_REQUESTS_END_NS], context_rel(s->a, r->end_ns));
		cell_int(&c[COL_REQUESTS_END_UTID], dense_utid(&s->a->ids, r->ender));
	}
	cell_int(&c[COL_REQUESTS_DUR_NS], (int64_t)(end_of(s, r->end_ns) - r->begin_ns));
	cell_int(&c[COL_REQUESTS_FAILED], r->has_failed);
	cell_int(&c[COL_REQUESTS_IS_CALL], !r->id);
}

static int requests_step(void *state, struct rowbuf *out, struct err *e)
{
	struct spans *s = state;

	return add_rows(s, out, &s->track.request_cnt, request_row, e);
}

static void step_row(struct spans *s, size_t i, struct rowbuf *out)
{
	const struct span_step *x = &s->track.steps[i];
	const struct span_request *r = &s->track.requests[x->request];
	struct cell *c;

	if (!is_asked(s, r))
		return;
	c = rowbuf_add(out);
	cell_text(&c[COL_REQUEST_STEPS_NAME], name_of(s, r->name));
	cell_int(&c[COL_REQUEST_STEPS_ID], id_of(s, r));
	cell_int(&c[COL_REQUEST_STEPS_REQUEST_NS], context_rel(s->a, r->begin_ns));
	cell_text(&c[COL_REQUEST_STEPS_STEP], name_of(s, x->name));
	cell_int(&c[COL_REQUEST_STEPS_UTID], dense_utid(&s->a->ids, x->thread));
	cell_int(&c[COL_REQUEST_STEPS_START_NS], context_rel(s->a, x->from_ns));
	cell_int(&c[COL_REQUEST_STEPS_DUR_NS], (int64_t)(end_of(s, x->to_ns) - x->from_ns));
}

static int steps_step(void *state, struct rowbuf *out, struct err *e)
{
	struct spans *s = state;

	return add_rows(s, out, &s->track.step_cnt, step_row, e);
}

static void stay_row(struct spans *s, size_t i, struct rowbuf *out)
{
	const struct span_stay *y = &s->track.stays[i];
	const struct span_request *r = &s->track.requests[y->request];
	struct cell *c;

	if (!is_asked(s, r))
		return;
	c = rowbuf_add(out);
	cell_text(&c[COL_REQUEST_THREADS_NAME], name_of(s, r->name));
	cell_int(&c[COL_REQUEST_THREADS_ID], id_of(s, r));
	cell_int(&c[COL_REQUEST_THREADS_REQUEST_NS], context_rel(s->a, r->begin_ns));
	cell_int(&c[COL_REQUEST_THREADS_UTID], dense_utid(&s->a->ids, y->thread));
	cell_int(&c[COL_REQUEST_THREADS_START_NS], context_rel(s->a, y->from_ns));
	cell_int(&c[COL_REQUEST_THREADS_DUR_NS], (int64_t)(end_of(s, y->to_ns) - y->from_ns));
}

static int stays_step(void *state, struct rowbuf *out, struct err *e)
{
	struct spans *s = state;

	return add_rows(s, out, &s->track.stay_cnt, stay_row, e);
}

/* ---- request_time ---- */

#define NONE UINT32_MAX
#define KIND_RUNNING WAIT_KIND_CNT
#define KIND_QUEUED (WAIT_KIND_CNT + 1)

/* A part of a request's time: a row of request_time. */
struct part {
	uint32_t request, by;	/* by: dense thread; 0: none */
	uint32_t thread;	/* the thread that waited for the object */
	uint16_t call;
	uint8_t kind;
	bool is_timeout, is_irq;
	uint64_t object, at_ns, ns, waits;
};

/* A part of a wait whose end was not found yet. */
struct pending {
	uint32_t request;
	uint64_t from_ns, to_ns;
};

struct worker {			/* a thread that worked for requests */
	uint32_t stay;		/* the first unfinished stay with a request; NONE: no more */
	uint32_t last;		/* the thread's last stay: the end of the list */
	struct pending *waits;
	size_t wait_cnt, wait_cap;
	uint16_t call;		/* of waits */
	uint8_t kind;
};

/* The last stays of threads on a CPU, to divide waits for this CPU. */
#define STAYS 256
struct cpu_past {
	struct { uint32_t thread; uint64_t from_ns, to_ns; } stays[STAYS];
	uint64_t cnt;
};

struct times {
	struct spans s;		/* first member: functions of struct spans use the same state */
	enum call_machine machine;
	uint32_t *next;		/* by stay: the next stay of its thread */
	uint32_t *worker_of;	/* by dense thread: 1 + index of worker; 0: none */
	struct worker *workers;
	size_t worker_cnt, worker_cap;
	uint64_t *found_ns;	/* by request: sum of its parts */
	struct cpu_past *cpus;
	unsigned int cpu_cnt;
	struct hash_map numbers, objects;
	struct part *parts;
	size_t part_cnt, part_cap;
	struct strpool *texts;
};

static void times_close(void *state)
{
	struct times *x = state;

	spans_close(&x->s);
	for (size_t i = 0; i < x->worker_cnt; i++)
		free(x->workers[i].waits);
	free(x->next);
	free(x->worker_of);
	free(x->workers);
	free(x->found_ns);
	free(x->cpus);
	free(x->parts);
	hash_map_done(&x->numbers);
	hash_map_done(&x->objects);
	strpool_free(x->texts);
}

static int add_part(struct times *x, const struct part *p)
{
	uint64_t marks = (uint64_t)p->is_timeout << 1 | p->is_irq;
	uint32_t object = 0, nr;
	int added = p->object ? hash_map_intern(&x->objects, p->object, p->thread, &object) : 0;

	if (added < 0)
		return -ENOMEM;
	object += p->object != 0;
	added = hash_map_intern(&x->numbers, (uint64_t)p->request << 32 | object,
				(uint64_t)p->kind << 56 | marks << 52 | (uint64_t)p->call << 32 |
					p->by, &nr);
	if (added < 0)
		return -ENOMEM;
	x->found_ns[p->request] += p->ns;
	if (added)
		return array_add(&x->parts, &x->part_cap, &x->part_cnt, *p);
	x->parts[nr].ns += p->ns;
	x->parts[nr].waits += p->waits;
	x->parts[nr].at_ns = p->at_ns;
	return 0;
}

/* Links the stays of each thread. *ret_from_ns: start of the first stay. */
static int list_stays(struct times *x, uint64_t *ret_from_ns)
{
	const struct span_track *t = &x->s.track;

	x->next = calloc(t->stay_cnt + 1, sizeof(*x->next));
	x->found_ns = calloc(t->request_cnt + 1, sizeof(*x->found_ns));
	x->worker_of = calloc(x->s.a->ids.thread_cnt + 1, sizeof(*x->worker_of));
	if (!x->next || !x->found_ns || !x->worker_of)
		return -ENOMEM;
	*ret_from_ns = UINT64_MAX;
	for (uint32_t i = 0; i < t->stay_cnt; i++) {
		const struct span_stay *y = &t->stays[i];
		uint32_t *nr = &x->worker_of[y->thread];
		struct worker *w;

		x->next[i] = NONE;
		if (!is_asked(&x->s, &t->requests[y->request]) ||
		    y->from_ns == end_of(&x->s, y->to_ns))
			continue;
		if (*ret_from_ns > y->from_ns)
			*ret_from_ns = y->from_ns;
		if (*nr) {
			w = &x->workers[*nr - 1];
			x->next[w->last] = i;
			w->last = i;
			continue;
		}
		if (array_add(&x->workers, &x->worker_cap, &x->worker_cnt,
			      (struct worker){ .stay = i, .last = i }) < 0)
			return -ENOMEM;
		*nr = (uint32_t)x->worker_cnt;
	}
	return 0;
}

/* Adds the thread's waits as parts. e: what ended them; all zeros: unknown. */
static int end_waits(struct times *x, struct worker *w, const struct part *e)
{
	int ret = 0;

	for (size_t i = 0; i < w->wait_cnt && !ret; i++) {
		struct part p = *e;

		if (w->waits[i].from_ns == w->waits[i].to_ns)
			continue;
		p.request = w->waits[i].request;
		p.kind = w->kind;
		p.call = w->call;
		p.at_ns = w->waits[i].to_ns;
		p.ns = w->waits[i].to_ns - w->waits[i].from_ns;
		p.waits = w->kind != KIND_RUNNING &&
			  (!i || w->waits[i - 1].request != p.request);
		ret = add_part(x, &p);
	}
	w->wait_cnt = 0;
	return ret;
}

/* Returns NULL if the thread works for no request. */
static struct worker *worker_at(struct times *x, uint32_t thread)
{
	return x->worker_of[thread] ? &x->workers[x->worker_of[thread] - 1] : NULL;
}

static int on_piece(struct times *x, const struct thread_piece *p)
{
	struct worker *w = worker_at(x, p->thread);
	enum wait_kind kind = p->state == THREAD_RUNNING ?
				      KIND_RUNNING : wait_kind_of(x->machine, p->state, p->call);
	uint16_t call = kind == KIND_RUNNING || kind == WAIT_CPU ? 0 : p->call;
	uint32_t i;
	int ret = 0;

	if (!w)
		return 0;
	if (w->wait_cnt && (w->kind != kind || w->call != call))
		ret = end_waits(x, w, &(struct part){ 0 });
	w->kind = (uint8_t)kind;
	w->call = call;
	while (w->stay != NONE && end_of(&x->s, x->s.track.stays[w->stay].to_ns) <= p->from_ns)
		w->stay = x->next[w->stay];
	for (i = w->stay; i != NONE && !ret; i = x->next[i]) {
		const struct span_stay *y = &x->s.track.stays[i];
		struct pending wait = { y->request, p->from_ns, p->to_ns };

		if (y->from_ns >= p->to_ns)
			break;
		if (wait.from_ns < y->from_ns)
			wait.from_ns = y->from_ns;
		if (wait.to_ns > end_of(&x->s, y->to_ns))
			wait.to_ns = end_of(&x->s, y->to_ns);
		if (wait.to_ns > wait.from_ns)
			ret = array_add(&w->waits, &w->wait_cap, &w->wait_cnt, wait);
	}
	if (!ret && (kind == KIND_RUNNING || kind == WAIT_UNKNOWN || kind == WAIT_THROTTLED))
		ret = end_waits(x, w, &(struct part){ 0 });
	return ret;
}

static int on_sleep(struct times *x, const struct thread_sleep *s)
{
	struct worker *w = worker_at(x, s->thread);
	struct part e = { .object = s->object, .thread = s->thread };

	if (!w || !w->wait_cnt || w->kind == WAIT_CPU)
		return 0;
	if (s->is_seen && w->kind == WAIT_LOCK)
		e.by = object_releaser(x->machine, s);
	else if (s->is_seen && s->waker_call != CALL_TIMEOUT)
		e.by = object_waker(x->s.a->trace, x->machine, s);
	e.is_timeout = s->waker_call == CALL_TIMEOUT;
	e.is_irq = s->is_seen && s->is_irq && !e.by && !e.is_timeout;
	return end_waits(x, w, &e);
}

/* Divides a wait for a CPU among the threads that had the CPU. */
static int on_wait(struct times *x, const struct thread_wait *t)
{
	struct worker *w = worker_at(x, t->thread);
	const struct cpu_past *c = t->cpu < x->cpu_cnt ? &x->cpus[t->cpu] : NULL;
	int ret = 0;

	if (!w || !w->wait_cnt || w->kind != WAIT_CPU)
		return 0;
	for (size_t i = 0; i < w->wait_cnt && c; i++) {
		struct pending *y = &w->waits[i];

		/* Go back from the last stay; the rest of the wait remains in y. */
		for (uint64_t n = c->cnt; n-- && c->cnt - n <= STAYS && y->to_ns > y->from_ns;) {
			uint64_t from_ns = c->stays[n % STAYS].from_ns;
			uint64_t to_ns = c->stays[n % STAYS].to_ns;
			struct part p = { .request = y->request, .kind = WAIT_CPU,
					  .by = c->stays[n % STAYS].thread, .at_ns = y->to_ns };

			if (to_ns <= y->from_ns)
				break;
			if (to_ns < y->to_ns || from_ns >= y->to_ns)
				continue;
			if (from_ns < y->from_ns)
				from_ns = y->from_ns;
			p.ns = y->to_ns - from_ns;
			p.waits = from_ns == y->from_ns;
			y->to_ns = from_ns;
			ret = add_part(x, &p);
			if (ret)
				return ret;
		}
	}
	return end_waits(x, w, &(struct part){ 0 });
}

static int on_found(void *ctx, const void *found)
{
	const struct states_found *f = found;
	struct times *x = ctx;

	if (f->piece)
		return on_piece(x, f->piece);
	if (f->sleep)
		return on_sleep(x, f->sleep);
	if (f->wait)
		return on_wait(x, f->wait);
	if (f->ran && f->ran->cpu < x->cpu_cnt && f->ran->from_ns < f->ran->to_ns) {
		struct cpu_past *c = &x->cpus[f->ran->cpu];

		c->stays[c->cnt % STAYS].thread = dense_thread(&x->s.a->ids, f->ran->utid);
		c->stays[c->cnt % STAYS].from_ns = f->ran->from_ns;
		c->stays[c->cnt++ % STAYS].to_ns = f->ran->to_ns;
	}
	return 0;
}

/* Adds for each request the time without a thread, and the time with a thread in unknown state. */
static int add_rest(struct times *x)
{
	const struct span_track *t = &x->s.track;
	uint64_t *stays = calloc(t->request_cnt + 1, sizeof(*stays));
	int ret = stays ? 0 : -ENOMEM;

	for (size_t i = 0; i < t->stay_cnt && !ret; i++)
		stays[t->stays[i].request] +=
			end_of(&x->s, t->stays[i].to_ns) - t->stays[i].from_ns;
	for (uint32_t i = 0; i < t->request_cnt && !ret; i++) {
		const struct span_request *r = &t->requests[i];
		uint64_t all = end_of(&x->s, r->end_ns) - r->begin_ns;
		struct part p = { .request = i, .at_ns = r->begin_ns };

		if (!is_asked(&x->s, r))
			continue;
		p.kind = WAIT_UNKNOWN;
		p.ns = stays[i] - x->found_ns[i];
		ret = p.ns ? add_part(x, &p) : 0;
		p.kind = KIND_QUEUED;
		p.ns = all - stays[i];
		ret = ret ?: p.ns ? add_part(x, &p) : 0;
	}
	free(stays);
	return ret;
}

static int run_times(struct times *x, struct err *e)
{
	const struct fold_run_config c = { .def = &fold_ends, .window = &x->s.w,
					   .sink = { x, on_found } };
	uint64_t from_ns, decided, asked_ns = x->s.w.from_ns;
	struct fold_run run = { 0 };
	int ret = read_spans(&x->s, e);

	x->machine = call_machine_of(trace_get(x->s.a->trace, "machine"));
	x->cpu_cnt = trace_cpu_cnt(x->s.a->trace);
	x->cpus = calloc(x->cpu_cnt + 1, sizeof(*x->cpus));
	ret = ret ?: x->cpus ? list_stays(x, &from_ns) : -ENOMEM;
	if (ret || from_ns == UINT64_MAX)
		return ret;
	if (from_ns < x->s.a->start_ns)
		from_ns = x->s.a->start_ns;
	if (from_ns < x->s.w.from_ns)
		x->s.w.from_ns = from_ns;
	ret = fold_run_begin(&run, x->s.a, &c, e);
	ret = ret ?: fold_run_to(&run, x->s.w.to_ns, &decided, e);
	fold_run_done(&run);
	x->s.w.from_ns = asked_ns;
	for (size_t i = 0; i < x->worker_cnt && !ret; i++)
		ret = end_waits(x, &x->workers[i], &(struct part){ 0 });
	return ret ?: add_rest(x);
}

static const char *kind_text(unsigned int kind)
{
	return kind == KIND_RUNNING ? "running" : kind == KIND_QUEUED ? "queued" :
							wait_kind_name(kind);
}

static void part_row(struct times *x, const struct part *p, struct rowbuf *out)
{
	const struct span_request *r = &x->s.track.requests[p->request];
	const struct dense_ids *ids = &x->s.a->ids;
	const char *call = p->call ? call_name(x->machine, p->call) : NULL;
	char text[OBJECT_TEXT_BYTES];
	struct cell *c = rowbuf_add(out);

	cell_text(&c[COL_REQUEST_TIME_NAME], name_of(&x->s, r->name));
	cell_int(&c[COL_REQUEST_TIME_ID], id_of(&x->s, r));
	cell_int(&c[COL_REQUEST_TIME_START_NS], context_rel(x->s.a, r->begin_ns));
	cell_text(&c[COL_REQUEST_TIME_KIND], kind_text(p->kind));
	cell_text(&c[COL_REQUEST_TIME_CALL], call);
	if (p->object && object_text(x->s.a->trace, dense_utid(ids, p->thread), p->at_ns, p->call,
				     p->object, text)) {
		const char *kept = strpool_put(x->texts, text);

		cell_text(&c[COL_REQUEST_TIME_OBJECT], kept);
		out->failed |= !kept;
	}
	if (p->by || (p->kind == WAIT_CPU && p->waits))
		cell_int(&c[COL_REQUEST_TIME_BY_UTID], dense_utid(ids, p->by));
	cell_int(&c[COL_REQUEST_TIME_IRQ], p->is_irq);
	cell_int(&c[COL_REQUEST_TIME_TIMEOUT], p->is_timeout);
	cell_int(&c[COL_REQUEST_TIME_WAITS], (int64_t)p->waits);
	cell_int(&c[COL_REQUEST_TIME_DUR_NS], (int64_t)p->ns);
}

static int times_step(void *state, struct rowbuf *out, struct err *e)
{
	struct times *x = state;
	int ret = 0;

	if (x->s.w.from_ns == x->s.w.to_ns)
		return 0;
	if (!x->texts)
		ret = strpool_new(&x->texts) ?: run_times(x, e);
	for (; !ret && x->s.at < x->part_cnt && out->row_cnt < TABLE_BATCH_ROWS; x->s.at++)
		part_row(x, &x->parts[x->s.at], out);
	return ret ?: x->s.at < x->part_cnt;
}

/* Exported tables have from_ns and to_ns as hidden columns. */
#define SPAN_TABLE(word, lower, text, args, time, is_table, hidden, state, step_, close_)          \
	const struct table_def table_##lower = {                                                   \
		.name = #lower, .doc = (text),                                                     \
		.cols = (const struct table_column[]){ COLS_##word hidden },                       \
		.col_cnt = COL_##word##_CNT, .arg_cnt = (args), .time_col = (time),                \
		.cpu_col = -1, .utid_col = -1, .key_col = -1, .is_exported = (is_table),           \
		.is_ordered = (is_table),                                                          \
		.state_bytes = sizeof(state),                                                      \
		.open = spans_open, .step = step_, .close = close_,                                \
	}

#define NOT_HIDDEN
#define HIDDEN { "from_ns", COLUMN_INT }, { "to_ns", COLUMN_INT },

SPAN_TABLE(REQUESTS, requests, "requests of programs", 2, COL_REQUESTS_START_NS, true, HIDDEN,
	   struct spans, requests_step, spans_close);
SPAN_TABLE(REQUEST_STEPS, request_steps, "steps of requests of programs", 2,
	   COL_REQUEST_STEPS_START_NS, true, HIDDEN, struct spans, steps_step, spans_close);
SPAN_TABLE(REQUEST_THREADS, request_threads, NULL, ARGS_REQUEST_THREADS, -1, false, NOT_HIDDEN,
	   struct spans, stays_step, spans_close);
SPAN_TABLE(REQUEST_TIME, request_time, NULL, ARGS_REQUEST_TIME, -1, false, NOT_HIDDEN,
	   struct times, times_step, times_close);
