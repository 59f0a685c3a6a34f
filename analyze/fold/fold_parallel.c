/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * fold_parallel: the machine is the CPU timeline of fold_cpu. Its pieces are reported when they
 * end, at the latest at their block's edge. They are collected until then, and processed in order
 * of time.
 */
#include "analyze/fold/fold_sums.h"
#include "analyze/fold/folds.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"

struct busy_piece {
	uint64_t from_ns, to_ns;
	uint32_t thread;
};

struct parallel_machine {
	struct fold_machine f;
	struct fold_machine *cpu;	/* of fold_cpu */
	struct busy_piece *pieces;	/* of the block */
	size_t piece_cnt, piece_cap;
	/* the pieces that contain the current time, at most one per CPU */
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
		return 0;	/* a CPU that does not exist, or an empty piece */
	/* a CPU with an unknown thread is not known to be busy */
	if (thread == EVENT_ID_IDLE || thread == EVENT_ID_FILTERED || thread == EVENT_ID_UNKNOWN)
		return 0;
	for (uint64_t at_ns = p->from_ns; at_ns < p->to_ns && ret >= 0; at_ns = end_ns) {
		bool is_in;

		end_ns = p->to_ns;
		is_in = scope_has_thread_at(&a->scope, thread, at_ns, &end_ns);
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

/* The set of active threads does not change between the two times. */
static int give_active(struct parallel_machine *m, uint64_t from_ns, uint64_t to_ns)
{
	int ret = 0;

	for (size_t i = 0; i < m->active_cnt && ret >= 0; i++)
		ret = fold_found(&m->f, &(struct parallel_piece){
					       m->active[i].thread, (uint32_t)m->active_cnt,
					       from_ns, to_ns });
	return ret;
}

/* Removes the threads whose piece ends at ts_ns. Returns when the next piece ends. */
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
