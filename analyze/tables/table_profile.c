/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * table_profile: cpu_profile(from_ns, to_ns): each thread's time on the CPU, divided among its
 * samples.
 *
 *     cpu_usage(), how long --+
 *                             +--[by thread and stack]--> rows, which add up to cpu_usage()
 *     cpu_samples, where -----+
 *
 * The n-th of a thread's cnt samples ends at n / cnt of the thread's time, so that no ns is left
 * over and a sample has the same ns in any grouping. A thread without samples has one row without a
 * stack. Without recorded samples the table is empty.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/context/keys.h"
#include "analyze/engine/table.h"
#include "base/array.h"
#include "base/hash_map.h"
#include "table_columns.h"

/* Columns of cpu_samples: ts_ns, cpu, utid, irq, stack. */
enum { SAMPLES_TS_NS = 0, SAMPLES_UTID = 2, SAMPLES_STACK = 4 };

struct thread {			/* with by_name: a thread while it has these names */
	int64_t utid, upid;
	const char *comm, *thread_name;
	uint64_t oncpu_ns, sample_cnt;
	uint64_t given_cnt;	/* number of the thread's samples that have their time already */
};

struct stack {
	uint32_t thread;
	int64_t stack, last_ns;
	uint64_t sample_cnt, oncpu_ns;
};

struct profile {
	struct analysis *a;
	bool by_name;
	struct task_keys keys;		/* owns the names */
	struct hash_map name_map;	/* (comm, thread_name), by address -> number of the pair */
	struct table_query window;	/* args 0 and 1: from_ns, to_ns */
	struct hash_map thread_map, stack_map;
	struct thread *threads;
	struct stack *stacks;
	uint32_t *samples;	/* index of the stack per sample, in order of time */
	size_t thread_cap, stack_cap, sample_cap, thread_cnt, stack_cnt, sample_cnt;
};

/* comm and thread_name are NULL or in the pool. Returns NULL if out of memory. */
static struct thread *thread_of(struct profile *p, int64_t utid, const char *comm,
				const char *thread_name, uint32_t *ret_number)
{
	uint32_t names;
	int r = hash_map_intern(&p->name_map, (uintptr_t)comm, (uintptr_t)thread_name, &names);

	if (r >= 0)
		r = hash_map_intern(&p->thread_map, (uint64_t)utid, names, ret_number);

	if (r > 0 && array_reserve(&p->threads, &p->thread_cap, p->thread_cnt + 1) < 0)
		r = -ENOMEM;
	if (r > 0) {
		const struct dense_ids *d = &p->a->ids;
		uint32_t process = dense_process_of(d, dense_thread(d, (uint32_t)utid));

		p->threads[p->thread_cnt++] =
			(struct thread){ .utid = utid, .upid = dense_upid(d, process),
					 .comm = comm, .thread_name = thread_name };
	}
	return r < 0 ? NULL : &p->threads[*ret_number];
}

static int add_usage(struct profile *p, const struct cell *row)
{
	const char *comm = NULL, *name = NULL;
	struct thread *t;
	uint32_t number;

	if (p->by_name) {
		comm = task_keys_put(&p->keys, row[COL_CPU_USAGE_COMM_THEN].s);
		name = task_keys_put(&p->keys, row[COL_CPU_USAGE_THREAD_NAME_THEN].s);
		if (!comm || !name)
			return -ENOMEM;
	}
	t = thread_of(p, row[COL_CPU_USAGE_UTID].i, comm, name, &number);
	if (!t)
		return -ENOMEM;
	t->oncpu_ns += (uint64_t)row[COL_CPU_USAGE_ONCPU_NS].i;
	return 0;
}

/* Finds the names at ts_ns, the same as in cpu_usage(). */
static int names_at(struct profile *p, uint32_t thread, uint64_t ts_ns, const char **ret_comm,
		    const char **ret_name)
{
	const struct dense_ids *d = &p->a->ids;
	uint32_t process = dense_process_of(d, thread);
	const struct task_name *c = task_name_at(d, d->thread_cnt + process, ts_ns),
			       *t = task_name_at(d, thread, ts_ns);

	*ret_comm = c ? task_keys_name(&p->keys, c->name) :
			task_keys_text(&p->keys, REPORT_BY_COMM, process);
	*ret_name = t ? task_keys_name(&p->keys, t->name) :
			task_keys_thread_name(&p->keys, thread);
	return *ret_comm && *ret_name ? 0 : -ENOMEM;
}

static int add_sample(struct profile *p, const struct cell *row)
{
	int64_t ts_ns = row[SAMPLES_TS_NS].i, utid = row[SAMPLES_UTID].i;
	int64_t stack = row[SAMPLES_STACK].i;
	uint32_t thread = dense_thread(&p->a->ids, (uint32_t)utid), number;
	const char *comm = NULL, *name = NULL;
	struct thread *t;
	int r;

	if (ts_ns < p->window.from_ns || ts_ns >= p->window.to_ns ||
	    !scope_has_thread_at(&p->a->question->scope, thread, context_abs(p->a, ts_ns), NULL))
		return 0;
	if (p->by_name && names_at(p, thread, context_abs(p->a, ts_ns), &comm, &name) < 0)
		return -ENOMEM;
	t = thread_of(p, utid, comm, name, &thread);
	r = t ? hash_map_intern(&p->stack_map, thread, (uint64_t)stack, &number) : -ENOMEM;
	if (r > 0 && array_reserve(&p->stacks, &p->stack_cap, p->stack_cnt + 1) < 0)
		r = -ENOMEM;
	if (r > 0)
		p->stacks[p->stack_cnt++] = (struct stack){ .thread = thread, .stack = stack };
	if (r < 0 || array_reserve(&p->samples, &p->sample_cap, p->sample_cnt + 1) < 0)
		return -ENOMEM;
	p->samples[p->sample_cnt++] = number;
	t->sample_cnt++;
	p->stacks[number].sample_cnt++;
	p->stacks[number].last_ns = ts_ns;
	return 0;
}

static int read_table(struct profile *p, const struct table_def *def, uint32_t cols,
		      int (*add)(struct profile *p, const struct cell *row), struct err *e)
{
	struct table_query q = p->window;
	struct table_scan scan = { 0 };
	const struct cell *row;
	int ret;

	q.cols_used = cols;
	ret = table_scan_open(&scan, p->a, def, &q, e);
	while (ret >= 0 && (ret = table_scan_next(&scan, &row, e)) > 0) {
		ret = add(p, row);
		if (ret < 0)
			err_set(e, ret, "out of memory");
	}
	table_scan_done(&scan);
	return ret;
}

static int read_both(struct profile *p, struct err *e)
{
	int ret = read_table(p, &table_cpu_usage,
			     1u << COL_CPU_USAGE_UTID | 1u << COL_CPU_USAGE_ONCPU_NS |
				     (p->by_name ? 1u << COL_CPU_USAGE_COMM_THEN : 0),
			     add_usage, e);

	return ret ? ret :
		     read_table(p, table_find("cpu_samples"),
				1u << SAMPLES_TS_NS | 1u << SAMPLES_UTID | 1u << SAMPLES_STACK,
				add_sample, e);
}

static void divide(struct profile *p)
{
	for (size_t i = 0; i < p->sample_cnt; i++) {
		struct stack *s = &p->stacks[p->samples[i]];
		struct thread *t = &p->threads[s->thread];
		unsigned __int128 all_ns = t->oncpu_ns;
		uint64_t from_ns = (uint64_t)(all_ns * t->given_cnt++ / t->sample_cnt);

		s->oncpu_ns += (uint64_t)(all_ns * t->given_cnt / t->sample_cnt) - from_ns;
	}
}

static void profile_close(void *state)
{
	struct profile *p = state;

	task_keys_done(&p->keys);
	hash_map_done(&p->name_map);
	hash_map_done(&p->thread_map);
	hash_map_done(&p->stack_map);
	free(p->threads);
	free(p->stacks);
	free(p->samples);
}

static int profile_open(struct analysis *a, const struct table_def *def,
			const struct table_query *q, void *state, struct err *e)
{
	struct profile *p = state;
	struct window w = { 0 };
	int ret;

	p->a = a;
	p->by_name = q->cols_used & (1u << COL_CPU_PROFILE_COMM_THEN |
				     1u << COL_CPU_PROFILE_THREAD_NAME_THEN);
	task_keys_init(&p->keys, &a->ids);
	memcpy(p->window.args, q->args, 2 * sizeof(q->args[0]));
	ret = window_init(&w, a, &p->window, e);
	p->window.from_ns = context_rel(a, w.from_ns);
	p->window.to_ns = context_rel(a, w.to_ns);
	if (!ret && trace_was_recorded(a->trace, "cpu.sample"))
		ret = read_both(p, e);
	if (!ret)
		divide(p);
	return ret;
}

static struct cell *give(struct rowbuf *out, const struct thread *t, uint64_t sample_cnt,
			 uint64_t oncpu_ns)
{
	struct cell *c = rowbuf_add(out);

	cell_int(&c[COL_CPU_PROFILE_UTID], t->utid);
	cell_int(&c[COL_CPU_PROFILE_UPID], t->upid);
	cell_int(&c[COL_CPU_PROFILE_SAMPLES], (int64_t)sample_cnt);
	cell_int(&c[COL_CPU_PROFILE_ONCPU_NS], (int64_t)oncpu_ns);
	cell_text(&c[COL_CPU_PROFILE_COMM_THEN], t->comm);
	cell_text(&c[COL_CPU_PROFILE_THREAD_NAME_THEN], t->thread_name);
	return c;
}

static int profile_step(void *state, struct rowbuf *out, struct err *e)
{
	struct profile *p = state;
	struct cell *c;

	for (size_t i = 0; i < p->stack_cnt; i++) {
		const struct stack *s = &p->stacks[i];

		c = give(out, &p->threads[s->thread], s->sample_cnt, s->oncpu_ns);
		cell_int(&c[COL_CPU_PROFILE_STACK], s->stack);
		cell_int(&c[COL_CPU_PROFILE_LAST_NS], s->last_ns);
	}
	for (size_t i = 0; i < p->thread_cnt; i++) {
		const struct thread *t = &p->threads[i];

		if (!t->sample_cnt && t->oncpu_ns)
			give(out, t, 0, t->oncpu_ns);
	}
	return 0;
}

const struct table_def table_cpu_profile = {
	.name = NAME_CPU_PROFILE, .cols = (const struct table_column[]){ COLS_CPU_PROFILE },
	.col_cnt = COL_CPU_PROFILE_CNT, .arg_cnt = ARGS_CPU_PROFILE,
	.time_col = -1, .cpu_col = -1, .utid_col = -1, .key_col = -1,
	.state_bytes = sizeof(struct profile),
	.open = profile_open, .step = profile_step, .close = profile_close,
};
