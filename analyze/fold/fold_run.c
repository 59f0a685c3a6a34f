/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * fold_run: merges intervals one by one or decodes a stretch of intervals, until the end of a bin.
 */
#include "analyze/fold/fold_run.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/fold/fold_sums.h"
#include "analyze/fold/folds.h"
#include "base/array.h"

/*
 * fold_parallel: the machine uses the CPU timeline of fold_cpu. A piece is reported when it ends,
 * at the latest at its block's edge. Pieces are collected until the edge, then processed in time
 * order.
 */

struct busy_piece {
	uint64_t from_ns, to_ns;
	uint32_t thread;
};

struct parallel_machine {
	struct fold_machine f;
	struct fold_machine *cpu;	/* machine of fold_cpu */
	struct busy_piece *pieces;	/* pieces of the current block */
	size_t piece_cnt, piece_cap;
	/* pieces that contain the current time, at most one per CPU */
	struct busy_piece *active;
	size_t active_cnt, active_cap;
};

static int on_cpu_piece(void *ctx, const void *found)
{
	struct parallel_machine *m = ctx;
	const struct cpu_piece *p = found;
	const struct analysis *a = m->f.a;
	uint32_t thread = dense_thread(&a->ids, p->utid);
	uint64_t end_ns;
	int ret = 0;

	if (!context_has_cpu(a, p->cpu) || p->from_ns == p->to_ns)
		return 0;	/* the CPU does not exist, or the piece is empty */
	/* a CPU with an unknown thread may be idle */
	if (thread == EVENT_ID_IDLE || thread == EVENT_ID_FILTERED || thread == EVENT_ID_UNKNOWN)
		return 0;
	for (uint64_t at_ns = p->from_ns; at_ns < p->to_ns && ret >= 0; at_ns = end_ns) {
		bool is_in;

		end_ns = p->to_ns;
		is_in = scope_has_thread_at(&a->question->scope, thread, at_ns, &end_ns);
		if (is_in)
			ret = array_add(&m->pieces, &m->piece_cap, &m->piece_cnt,
					(struct busy_piece){ at_ns, end_ns, thread });
	}
	return ret;
}

static int parallel_open(void *machine)
{
	struct parallel_machine *m = machine;

	m->cpu = calloc(1, fold_cpu.bytes);
	if (!m->cpu)
		return -ENOMEM;
	*m->cpu = (struct fold_machine){ m->f.a, &fold_cpu, { m, on_cpu_piece } };
	return fold_cpu.open(m->cpu);
}

static void parallel_close(void *machine)
{
	struct parallel_machine *m = machine;

	if (m->cpu)
		fold_cpu.close(m->cpu);
	free(m->cpu);
	free(m->pieces);
	free(m->active);
}

static int parallel_start(void *machine, uint64_t from_ns, size_t block, struct err *e)
{
	return fold_cpu.start(((struct parallel_machine *)machine)->cpu, from_ns, block, e);
}

static int parallel_event(void *machine, const struct event *ev)
{
	return fold_cpu.event(((struct parallel_machine *)machine)->cpu, ev);
}

/* Reports [from_ns, to_ns), during which the set of active threads does not change. */
static int give_active(struct parallel_machine *m, uint64_t from_ns, uint64_t to_ns)
{
	int ret = 0;

	for (size_t i = 0; i < m->active_cnt && ret >= 0; i++)
		ret = fold_found(&m->f, &(struct parallel_piece){
					       m->active[i].thread, (uint32_t)m->active_cnt,
					       from_ns, to_ns });
	return ret;
}

/* Removes the threads whose piece ends at ts_ns. Returns the time at which the next piece ends. */
static uint64_t drop_ended(struct parallel_machine *m, uint64_t ts_ns)
{
	uint64_t next = UINT64_MAX;
	size_t i, kept = 0;

	for (i = 0; i < m->active_cnt; i++) {
		if (m->active[i].to_ns <= ts_ns)
			continue;
		next = m->active[i].to_ns < next ? m->active[i].to_ns : next;
		m->active[kept++] = m->active[i];
	}
	m->active_cnt = kept;
	return next;
}

static int sweep(struct parallel_machine *m)
{
	uint64_t at = 0, next;
	size_t i = 0;
	int ret = 0;

	if (m->piece_cnt)
		qsort(m->pieces, m->piece_cnt, sizeof(*m->pieces), compare_u64);
	while (ret >= 0) {
		next = drop_ended(m, at);
		if (i < m->piece_cnt && m->pieces[i].from_ns < next)
			next = m->pieces[i].from_ns;
		if (next == UINT64_MAX)
			break;
		ret = give_active(m, at, next);
		for (at = next; i < m->piece_cnt && m->pieces[i].from_ns == at && ret >= 0; i++)
			ret = array_add(&m->active, &m->active_cap, &m->active_cnt, m->pieces[i]);
	}
	m->piece_cnt = 0;
	return ret;
}

static int parallel_edge(void *machine, size_t block, bool is_end)
{
	struct parallel_machine *m = machine;
	int ret = fold_cpu.edge(m->cpu, block, is_end);

	return ret < 0 ? ret : sweep(m);
}

static int parallel_until(void *machine, uint64_t to_ns)
{
	struct parallel_machine *m = machine;
	int ret = fold_cpu.until(m->cpu, to_ns);

	return ret < 0 ? ret : sweep(m);
}

static int parallel_add(void *ctx, const void *found)
{
	const struct parallel_piece *p = found;
	const struct fold_key key = { p->thread, p->busy };

	return fold_sum_add_time(ctx, &key, offsetof(struct parallel_sum, oncpu_ns), p->from_ns,
				 p->to_ns);
}

static const struct fold_sums_def parallel_sums = {
	.bytes = sizeof(struct parallel_sum), .add = parallel_add,
};

static const uint32_t parallel_columns[EVENT_KIND_CNT] = {
	[EVENT_SWITCH] = FOLD_CPU_COLUMNS,
};

const struct fold_def fold_parallel = {
	.kinds = 1u << EVENT_SWITCH, .columns = parallel_columns, .begin = FOLD_FROM_EDGE,
	.sums = &parallel_sums, .bytes = sizeof(struct parallel_machine), .open = parallel_open,
	.close = parallel_close, .start = parallel_start, .event = parallel_event,
	.edge = parallel_edge, .until = parallel_until,
};

/*
 * Decoding up to this many events takes some tenths of a second, and makes order statistics exact.
 */
#define FEW_EVENTS 1000000

static bool has_few_events(const struct fold_run *r)
{
	const struct index *x = r->index;
	const struct window *w = r->c.window;

	return index_events(x, index_interval_at(x, w->from_ns),
			    index_interval_at(x, w->to_ns - 1) + 1, r->c.def->kinds) <= FEW_EVENTS;
}

static bool can_merge(const struct fold_run *r)
{
	return r->c.target ? r->c.sums->count_cnt != 0 : r->c.merge != NULL;
}

int fold_run_begin(struct fold_run *r, struct analysis *a, const struct fold_run_config *c,
		   struct err *e)
{
	int ret;

	*r = (struct fold_run){ .a = a, .c = *c, .at_ns = c->window->from_ns };
	ret = c->def->state || can_merge(r) ?
		      analysis_index_of(a, c->def->asks ? c->def->asks : c->def->kinds, &r->index,
					e) : 0;
	if (ret < 0)
		return ret;
	if (c->target) {
		r->c.sink = (struct fold_sink){ c->target, c->sums->add };
		r->ignored = calloc(1, c->sums->bytes);
		if (!r->ignored)
			return err_set(e, -ENOMEM, "out of memory");
	}
	r->decode_all = !r->index || !can_merge(r) ||
			(c->sums && c->sums->is_exact_decoded && !a->index_use.always &&
			 has_few_events(r));
	return 0;
}

void fold_run_done(struct fold_run *r)
{
	fold_reader_close(r->reader);
	if (r->ignored)
		fold_sum_done(r->c.sums, r->ignored);
	free(r->ignored);
	buf_done(&r->mem);
	r->reader = NULL;
	r->ignored = NULL;
}

/* ---- merging ---- */

/* Returns the interval that begins at ts_ns if it is inside one bin, else SIZE_MAX. */
static size_t whole_interval_at(const struct fold_run *r, uint64_t ts_ns)
{
	uint64_t bin_from, bin_to;
	size_t i;

	if (r->decode_all || ts_ns >= r->c.window->to_ns)
		return SIZE_MAX;
	i = index_interval_at(r->index, ts_ns);
	window_bin_span(r->c.window, window_bin(r->c.window, ts_ns), &bin_from, &bin_to);
	if (index_interval_from(r->index, i) != ts_ns || index_interval_to(r->index, i) > bin_to)
		return SIZE_MAX;
	return i;
}

/*
 * Merges a row of the index, or only checks its key (merges false). 1: done; 0: decode instead;
 * -errno.
 */
static int merge_row(struct fold_run *r, struct packed_in *in, bool merges)
{
	const struct fold_sums_def *sums = r->c.sums;
	struct fold_target *t = r->c.target;
	uint64_t at_ns = r->at_ns, renames, end;
	void *sum = r->ignored;
	struct fold_key key;
	int ret;

	sums->get_key(t->ids, in, &key);
	if (in->bad)
		return -EBADMSG;
	renames = fold_renames_get(sums->renames, &key);
	fold_renames_set(sums->renames, &key, 0);
	if (!merges && renames == fold_renames_max(sums->renames))
		return 0;
	if (renames) {
		struct task_set tasks;

		sums->renames->tasks(t->ids, &key, &tasks);
		at_ns = task_rename_instant(t->ids, &tasks, at_ns, (uint32_t)renames);
	}
	ret = merges ? t->sum(t, at_ns, &key, &sum, &end) : 0;
	if (ret >= 0)
		ret = fold_sum_merge(sums, ret ? sum : r->ignored, in);
	return ret < 0 ? ret : 1;
}

/* Returns whether some key may have too few bits for its renames in the interval. */
static bool has_many_renames(const struct fold_run *r, size_t interval)
{
	const struct fold_target *t = r->c.target;

	return t->by_name &&
	       task_renames_from(t->ids, index_interval_to(r->index, interval)) -
			       task_renames_from(t->ids, index_interval_from(r->index, interval)) >=
		       fold_renames_max(r->c.sums->renames);
}

/* Merges the stored sums. 1: merged; 0: the interval must be decoded; -errno. */
static int merge_sums(struct fold_run *r, size_t interval)
{
	struct packed_in in, again;
	int ret = index_read(r->index, interval, r->c.sums->part, &r->mem, &in);

	again = in;
	if (!ret && has_many_renames(r, interval))
		for (ret = 1; ret > 0 && again.p != again.end;)
			ret = merge_row(r, &again, false);
	else if (!ret)
		ret = 1;
	while (ret > 0 && in.p != in.end)
		ret = merge_row(r, &in, true);
	return ret;
}

/* Merges an interval. 1: merged; 0: the interval must be decoded; -errno. */
static int merge(struct fold_run *r, size_t interval, struct err *e)
{
	int ret;

	if (!r->c.target)
		return r->c.merge(r->c.ctx, r->index, interval, e);
	ret = merge_sums(r, interval);
	return ret < 0 ? index_fail(r->index, ret, e) : ret;
}

/* ---- decoding ---- */

/* Returns the end of the stretch that begins at at_ns: the start of the next interval to merge. */
static uint64_t end_of_stretch(const struct fold_run *r)
{
	uint64_t to = r->c.window->to_ns, at = r->at_ns;

	if (r->decode_all)
		return to;
	do {
		at = index_interval_to(r->index, index_interval_at(r->index, at));
	} while (at < to && whole_interval_at(r, at) == SIZE_MAX);
	return at < to ? at : to;
}

static int open_stretch(struct fold_run *r, struct err *e)
{
	const struct fold_use use = { r->c.def, r->c.sink };
	struct fold_range range = { r->at_ns, 0, r->index, FOLD_READER_AT };
	int ret;

	r->stretch_to_ns = range.to_ns = end_of_stretch(r);
	r->decided_ns = r->at_ns;
	if (r->c.target) {
		r->c.target->from_ns = r->at_ns;
		r->c.target->to_ns = r->stretch_to_ns;
	}
	r->before = true;
	ret = fold_reader_open(&r->reader, r->a, &range, &use, 1, e);
	if (!ret && !r->c.def->edge)
		ret = fold_reader_run(r->reader, r->at_ns, SIZE_MAX, NULL, e);
	r->before = false;
	return ret;
}

int fold_run_enter(struct fold_run *r, struct err *e)
{
	bool is_at_edge =
		r->index &&
		index_interval_from(r->index, index_interval_at(r->index, r->at_ns)) == r->at_ns;

	return is_at_edge ? 0 : open_stretch(r, e);
}

static int decode_to(struct fold_run *r, uint64_t to_ns, struct err *e)
{
	int ret = r->reader ? 0 : open_stretch(r, e);

	if (ret < 0)
		return ret;
	if (to_ns > r->stretch_to_ns)
		to_ns = r->stretch_to_ns;
	if (to_ns > r->decided_ns)
		ret = fold_reader_run(r->reader, to_ns, SIZE_MAX, &r->decided_ns, e);
	ret = ret ?: fold_reader_run_on(r->reader, to_ns, e);
	if (ret < 0)
		return ret;
	if (r->decided_ns > r->stretch_to_ns)
		r->decided_ns = r->stretch_to_ns;
	r->at_ns = to_ns;
	if (to_ns == r->stretch_to_ns) {
		fold_reader_close(r->reader);
		r->reader = NULL;
	}
	return 0;
}

int fold_run_to(struct fold_run *r, uint64_t to_ns, uint64_t *ret_decided_ns, struct err *e)
{
	int ret = 0;

	while (r->at_ns < to_ns && ret >= 0) {
		size_t interval = r->reader ? SIZE_MAX : whole_interval_at(r, r->at_ns);

		if (*r->a->stop)
			return err_set(e, -EINTR, "given up");
		ret = interval == SIZE_MAX ? 0 : merge(r, interval, e);
		if (ret > 0)
			r->at_ns = index_interval_to(r->index, interval);
		else if (!ret)
			ret = decode_to(r, to_ns, e);
	}
	if (ret < 0)
		return ret;
	*ret_decided_ns = r->reader && r->decided_ns > to_ns ? r->decided_ns : to_ns;
	return 0;
}
