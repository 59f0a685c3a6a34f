/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * One pass of the CPU timeline feeds both: its pieces make CPU time, its events the run queue. A
 * piece never crosses the edge of a block, so it lies in one cell; a cell is over when an event or
 * a piece of a later one comes.
 */
#include "analyze/index_sched.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/cpu_scan.h"
#include "analyze/index_job.h"
#include "event/keymap.h"
#include "analyze/quantile.h"
#include "analyze/run_queue.h"

struct wait_row {
	struct index_wait_row row;
	struct quantile waits;
};

struct sched_job {
	struct index_job *j;
	size_t cell;
	uint64_t cell_to_ns;
	struct keymap cpu_map, wait_map;	/* (thread, cpu), thread -> rows of this cell */
	struct index_cpu_row *cpus;
	struct wait_row *waits;
	size_t cpu_cap, wait_cap, wait_used;	/* wait_used: rows with memory in them */
	struct run_queue *queue;
	struct buf out;
	uint32_t last;			/* row of cpus used last */
	bool has_last;
};

int index_cpu_next(struct index_in *in, struct index_cpu_row *ret)
{
	if (in->p == in->end)
		return in->bad ? -EBADMSG : 0;
	ret->utid = (uint32_t)index_get(in);
	ret->cpu = (uint32_t)index_get(in);
	ret->oncpu_ns = index_get(in);
	ret->switches = index_get(in);
	ret->preempted = index_get(in);
	return in->bad ? -EBADMSG : 1;
}

int index_wait_next(struct index_in *in, struct index_wait_row *ret)
{
	unsigned int i;

	if (in->p == in->end)
		return in->bad ? -EBADMSG : 0;
	ret->utid = (uint32_t)index_get(in);
	for (i = 0; i < 3; i++)
		ret->by_reason[i] = index_get(in);
	ret->migrations = index_get(in);
	return in->bad ? -EBADMSG : 1;
}

static struct index_cpu_row *cpu_row(struct sched_job *s, uint32_t utid, uint32_t cpu)
{
	uint32_t i;
	int ret;

	if (s->has_last && s->cpus[s->last].utid == utid && s->cpus[s->last].cpu == cpu)
		return &s->cpus[s->last];
	ret = keymap_intern(&s->cpu_map, utid, cpu, &i);
	if (ret < 0)
		return NULL;
	if (i >= s->cpu_cap) {
		size_t cap = s->cpu_cap ? s->cpu_cap * 2 : 256;
		struct index_cpu_row *rows = realloc(s->cpus, cap * sizeof(*rows));

		if (!rows)
			return NULL;
		s->cpus = rows;
		s->cpu_cap = cap;
	}
	if (ret)
		s->cpus[i] = (struct index_cpu_row){ .utid = utid, .cpu = cpu };
	s->last = i;
	s->has_last = true;
	return &s->cpus[i];
}

static struct wait_row *wait_row(struct sched_job *s, uint32_t thread)
{
	struct wait_row *x;
	uint32_t i;
	int ret = keymap_intern(&s->wait_map, thread, 0, &i);

	if (ret < 0)
		return NULL;
	if (i >= s->wait_cap) {
		size_t cap = s->wait_cap ? s->wait_cap * 2 : 256;

		x = realloc(s->waits, cap * sizeof(*x));
		if (!x)
			return NULL;
		s->waits = x;
		s->wait_cap = cap;
	}
	x = &s->waits[i];
	if (i >= s->wait_used) {
		memset(x, 0, sizeof(*x));
		s->wait_used = i + 1;
	}
	if (ret) {
		quantile_reset(&x->waits);
		x->row = (struct index_wait_row){ .utid = ident_utid(&s->j->a->ident, thread) };
	}
	return x;
}

static int put_cell(struct sched_job *s)
{
	struct index_job *j = s->j;
	size_t i;
	int ret;

	buf_reset(&s->out);
	for (i = 0; i < s->cpu_map.cnt; i++) {
		const struct index_cpu_row *r = &s->cpus[i];

		index_put(&s->out, r->utid);
		index_put(&s->out, r->cpu);
		index_put(&s->out, r->oncpu_ns);
		index_put(&s->out, r->switches);
		index_put(&s->out, r->preempted);
	}
	ret = index_add(j->x, j->z, s->cell, INDEX_CPU, &s->out);
	if (ret < 0)
		return ret;
	buf_reset(&s->out);
	for (i = 0; i < s->wait_map.cnt; i++) {
		const struct index_wait_row *r = &s->waits[i].row;

		index_put(&s->out, r->utid);
		index_put(&s->out, r->by_reason[0]);
		index_put(&s->out, r->by_reason[1]);
		index_put(&s->out, r->by_reason[2]);
		index_put(&s->out, r->migrations);
		quantile_put(&s->waits[i].waits, &s->out);
	}
	ret = index_add(j->x, j->z, s->cell, INDEX_WAITS, &s->out);
	if (!ret)
		ret = index_add(j->x, j->z, s->cell, INDEX_WAIT_STATE,
				run_queue_take_cell(s->queue));
	keymap_clear(&s->cpu_map);
	keymap_clear(&s->wait_map);
	s->has_last = false;
	return ret;
}

static int begin_cell(struct sched_job *s, size_t cell)
{
	struct index_job *j = s->j;
	int ret = 0;

	s->cell = cell;
	s->cell_to_ns = cell < j->end ? index_cell_to(j->x, cell) : UINT64_MAX;
	if (cell == j->last && cell < j->end) {
		buf_reset(&s->out);
		run_queue_save(s->queue, index_cell_from(j->x, cell), &s->out);
		ret = index_add_tail(j->x, j->z, INDEX_TAIL_WAITS, &s->out);
	}
	if (cell < j->end)
		run_queue_begin_cell(s->queue, index_cell_from(j->x, cell));
	return ret;
}

/* Ends the cells that are over at ts. */
static int advance(struct sched_job *s, uint64_t ts_ns)
{
	int ret = 0;

	while (ts_ns >= s->cell_to_ns && s->cell < s->j->end && !ret) {
		ret = put_cell(s);
		if (!ret)
			ret = index_job_done_cell(s->j, s->cell);
		if (!ret)
			ret = begin_cell(s, s->cell + 1);
	}
	return ret;
}

static int on_piece(void *ctx, const struct cpu_piece *p)
{
	struct sched_job *s = ctx;
	const struct ident *d = &s->j->a->ident;
	uint64_t from_ns = index_job_from_ns(s->j);
	struct index_cpu_row *r;
	int ret;

	if (p->from_ns >= from_ns && p->from_ns < p->to_ns) {
		ret = advance(s, p->from_ns);
		if (ret < 0 || s->cell == s->j->end)
			return ret;
		r = cpu_row(s, ident_utid(d, ident_thread(d, p->utid)), p->cpu);
		if (!r)
			return -ENOMEM;
		r->oncpu_ns += p->to_ns - p->from_ns;
	}
	if (!p->end || p->end->ts_ns < from_ns)
		return 0;
	ret = advance(s, p->end->ts_ns);
	if (ret < 0 || s->cell == s->j->end)
		return ret;
	r = cpu_row(s, ident_utid(d, ident_thread(d, p->end->utid)), p->cpu);
	if (!r)
		return -ENOMEM;
	r->switches++;
	r->preempted += !!(p->end->flags & EVENT_F_PREEMPT);
	return 0;
}

static int on_event(void *ctx, const struct event *ev)
{
	struct sched_job *s = ctx;
	struct run_queue_wait w;
	struct wait_row *x;
	int ret;

	if (ev->ts_ns < index_job_from_ns(s->j))
		return 0;
	ret = advance(s, ev->ts_ns);
	if (ret < 0 || s->cell == s->j->end || run_queue_event(s->queue, ev, &w) <= 0)
		return ret;
	x = wait_row(s, w.thread);
	if (!x)
		return -ENOMEM;
	x->row.by_reason[w.reason]++;
	x->row.migrations += w.migrated;
	return w.reason ? quantile_add(&x->waits, w.to_ns - w.from_ns) : 0;
}

/* What was recorded before the trace's span begins, or the state where an older index ended. */
static int begin_state(struct sched_job *s)
{
	struct index_job *j = s->j;
	uint32_t kinds = 1u << EVENT_SWITCH | 1u << EVENT_WAKEUP;
	struct event_cursor *c;
	struct run_queue_wait w;
	const struct event *ev;
	struct index_in in;
	struct buf mem = { 0 };
	int ret;

	if (j->from) {
		ret = index_read_tail(j->x, INDEX_TAIL_WAITS, &mem, &in);
		if (!ret)
			ret = run_queue_load(s->queue, &in, index_job_from_ns(j));
		buf_done(&mem);
		return ret;
	}
	ret = event_cursor_open(&c, j->a->trace, kinds, 0, j->a->start_ns, &j->e);
	if (ret < 0)
		return ret;
	while ((ret = event_cursor_next(c, &ev, &j->e)) > 0)
		run_queue_event(s->queue, ev, &w);
	event_cursor_close(c);
	return ret;
}

static int run_job(struct sched_job *s)
{
	struct index_job *j = s->j;
	struct cpu_scan_config c = { .from_ns = index_job_from_ns(j), .to_ns = j->a->end_ns,
				     .from_start = !j->from, .want_wakeups = true,
				     .piece = on_piece, .event = on_event, .ctx = s };
	struct cpu_scan *scan;
	uint64_t decided;
	int ret = begin_state(s);

	if (!ret)
		ret = begin_cell(s, j->from);
	if (ret < 0 || c.from_ns >= c.to_ns)
		return ret < 0 ? ret : advance(s, UINT64_MAX);
	ret = cpu_scan_open(&scan, j->a, &c, &j->e);
	if (ret < 0)
		return ret;
	while ((ret = cpu_scan_step(scan, &decided, &j->e)) > 0)
		;
	cpu_scan_close(scan);
	return ret < 0 ? ret : advance(s, UINT64_MAX);
}

int index_sched_job(struct index_job *j)
{
	struct sched_job s = { .j = j };
	size_t i;
	int ret = run_queue_new(&s.queue, &j->a->ident);

	if (!ret)
		ret = run_job(&s);
	for (i = 0; i < s.wait_used; i++)
		quantile_done(&s.waits[i].waits);
	free(s.waits);
	free(s.cpus);
	keymap_done(&s.cpu_map);
	keymap_done(&s.wait_map);
	run_queue_free(s.queue);
	buf_done(&s.out);
	return ret;
}
