/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * tables_list: the tables of lists that a trace keeps in memory: tasks, names, losses, cost,
 * clocks, blocks.
 *
 * processes and threads begin with the pseudo ids, so that every id in any table has a row. A query
 * for a key (first column) looks it up instead of searching.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/engine/site_text.h"
#include "analyze/engine/table.h"
#include "format/hook_name.h"

#define BATCH_ROWS 256

struct list_ops {
	size_t (*cnt)(const struct analysis *a);
	void (*row)(const struct analysis *a, size_t i, struct cell *c);
	/*
	 * The first row with this key, or SIZE_MAX; *ret_cnt, initially 1, is the number of such
	 * rows, which are neighbours. NULL: the list is searched.
	 */
	size_t (*find)(const struct analysis *a, int64_t key, size_t *ret_cnt);
};

struct list_scan {
	struct analysis *a;
	const struct list_ops *ops;
	size_t at, end;
};

static int list_open(struct analysis *a, const struct table_def *def, const struct table_query *q,
		     void **ret_state, struct err *e)
{
	struct list_scan *s = calloc(1, sizeof(*s));

	if (!s)
		return err_set(e, -ENOMEM, "out of memory");
	s->a = a;
	s->ops = def->data;
	s->end = s->ops->cnt(a);
	if (q->has_key && q->key.type == VALUE_INT && s->ops->find) {
		size_t cnt = 1, i = s->ops->find(a, q->key.i, &cnt);

		s->at = i < s->end ? i : s->end;
		s->end = i < s->end && cnt < s->end - i ? i + cnt : s->end;
	}
	*ret_state = s;
	return 0;
}

static int list_step(void *state, struct rowbuf *out, struct err *e)
{
	struct list_scan *s = state;
	struct cell *c;

	while (s->at < s->end && out->row_cnt < BATCH_ROWS) {
		c = rowbuf_add(out);
		if (!c)
			return err_set(e, -ENOMEM, "out of memory");
		s->ops->row(s->a, s->at++, c);
	}
	return s->at < s->end;
}

static void cell_instant(const struct analysis *a, struct cell *c, uint64_t mono_ns)
{
	if (mono_ns)	/* 0: not known */
		cell_int(c, context_rel(a, mono_ns));
}

/* ---- processes, threads: pseudo ids first ---- */

enum { PSEUDO_CNT = EVENT_ID_FILTERED + 1 };

static const struct table_column process_cols[] = {
	{ "upid", COLUMN_INT },	       { "pid", COLUMN_INT },	      { "ns_pid", COLUMN_INT },
	{ "ppid", COLUMN_INT },	       { "parent_upid", COLUMN_INT }, { "uid", COLUMN_INT },
	{ "comm", COLUMN_TEXT },       { "exe", COLUMN_TEXT },	      { "cmdline", COLUMN_TEXT },
	{ "cgroup_id", COLUMN_INT },   { "cgroup", COLUMN_TEXT },     { "start_ns", COLUMN_INT },
	{ "end_ns", COLUMN_INT },      { "exit_code", COLUMN_INT },   { "is_kthread", COLUMN_INT },
	{ "is_recorder", COLUMN_INT }, { "is_workload", COLUMN_INT }, { "at_start", COLUMN_INT },
};

static size_t process_cnt(const struct analysis *a)
{
	return a->ids.process_cnt - EVENT_ID_FIRST + PSEUDO_CNT;
}

static void flag_cells(struct cell *c, uint32_t flags)
{
	cell_int(&c[0], !!(flags & TRACE_TASK_KTHREAD));
	cell_int(&c[1], !!(flags & TRACE_TASK_RECORDER));
	cell_int(&c[2], !!(flags & TRACE_TASK_WORKLOAD));
	cell_int(&c[3], !!(flags & TRACE_TASK_AT_START));
}

static void process_row(const struct analysis *a, size_t i, struct cell *c)
{
	const struct trace_process *p;
	const struct trace_name *cgroup;

	flag_cells(&c[14], 0);
	if (i < PSEUDO_CNT) {
		cell_int(&c[0], (int64_t)i);
		cell_int(&c[4], EVENT_ID_UNKNOWN);
		cell_text(&c[6], dense_pseudo_name((uint32_t)i));
		cell_text(&c[7], "");
		cell_text(&c[8], "");
		return;
	}
	p = dense_process_row(&a->ids, (uint32_t)(i - PSEUDO_CNT + EVENT_ID_FIRST));
	cell_int(&c[0], p->upid);
	cell_int(&c[1], p->pid);
	cell_int(&c[2], p->ns_pid);
	cell_int(&c[3], p->ppid);
	cell_int(&c[4], dense_upid(&a->ids, dense_process(&a->ids, p->parent_upid)));
	cell_int(&c[5], p->uid);
	cell_text(&c[6], p->comm);
	cell_text(&c[7], p->exe);
	cell_text(&c[8], p->cmdline);
	cell_int(&c[9], (int64_t)p->cgroup_id);
	cgroup = trace_name_find(a->trace, TRACE_NAME_CGROUP, p->cgroup_id);
	cell_text(&c[10], cgroup ? cgroup->name : NULL);
	cell_instant(a, &c[11], p->start_ns);
	cell_instant(a, &c[12], p->end_ns);
	if (p->end_ns)
		cell_int(&c[13], p->exit_code);
	flag_cells(&c[14], p->flags);
}

static size_t row_of_dense(uint32_t dense, int64_t key, bool is_real)
{
	if (key < PSEUDO_CNT)
		return key < 0 ? SIZE_MAX : (size_t)key;
	return is_real ? dense - EVENT_ID_FIRST + PSEUDO_CNT : SIZE_MAX;
}

static size_t process_find(const struct analysis *a, int64_t key, size_t *ret_cnt)
{
	uint32_t dense =
		key >= 0 && key <= UINT32_MAX ? dense_process(&a->ids, (uint32_t)key) : 0;

	return row_of_dense(dense, key, dense >= EVENT_ID_FIRST);
}

static const struct table_column thread_cols[] = {
	{ "utid", COLUMN_INT },
	{ "upid", COLUMN_INT },
	{ "tid", COLUMN_INT },
	{ "ns_tid", COLUMN_INT },
	{ "comm", COLUMN_TEXT },
	{ "start_ns", COLUMN_INT },
	{ "end_ns", COLUMN_INT },
	{ "sum_exec_start_ns", COLUMN_INT },
	{ "sum_exec_end_ns", COLUMN_INT },
	{ "is_kthread", COLUMN_INT },
	{ "is_recorder", COLUMN_INT },
	{ "is_workload", COLUMN_INT },
	{ "at_start", COLUMN_INT },
};

static size_t thread_cnt(const struct analysis *a)
{
	return a->ids.thread_cnt - EVENT_ID_FIRST + PSEUDO_CNT;
}

static void thread_row(const struct analysis *a, size_t i, struct cell *c)
{
	const struct trace_thread *t;

	flag_cells(&c[9], 0);
	if (i < PSEUDO_CNT) {
		cell_int(&c[0], (int64_t)i);
		cell_int(&c[1], (int64_t)i);
		cell_text(&c[4], dense_pseudo_name((uint32_t)i));
		return;
	}
	t = dense_thread_row(&a->ids, (uint32_t)(i - PSEUDO_CNT + EVENT_ID_FIRST));
	cell_int(&c[0], t->utid);
	cell_int(&c[1], dense_upid(&a->ids, dense_process(&a->ids, t->upid)));
	cell_int(&c[2], t->tid);
	cell_int(&c[3], t->ns_tid);
	cell_text(&c[4], t->comm);
	cell_instant(a, &c[5], t->start_ns);
	cell_instant(a, &c[6], t->end_ns);
	if (t->sum_exec_start_ns || (t->flags & TRACE_TASK_AT_START))
		cell_int(&c[7], (int64_t)t->sum_exec_start_ns);
	if (t->sum_exec_end_ns)
		cell_int(&c[8], (int64_t)t->sum_exec_end_ns);
	flag_cells(&c[9], t->flags);
}

static size_t thread_find(const struct analysis *a, int64_t key, size_t *ret_cnt)
{
	uint32_t dense = key >= 0 && key <= UINT32_MAX ? dense_thread(&a->ids, (uint32_t)key) : 0;

	return row_of_dense(dense, key, dense >= EVENT_ID_FIRST);
}

/* ---- life of tasks ---- */

static const struct table_column task_event_cols[] = {
	{ "ts_ns", COLUMN_INT },     { "cpu", COLUMN_INT },   { "utid", COLUMN_INT },
	{ "upid", COLUMN_INT },	     { "type", COLUMN_TEXT }, { "exit_code", COLUMN_INT },
	{ "cgroup_id", COLUMN_INT }, { "comm", COLUMN_TEXT }, { "exe", COLUMN_TEXT },
	{ "cmdline", COLUMN_TEXT },
};

static void task_event_row(const struct analysis *a, size_t i, struct cell *c)
{
	static const char *const types[] = {
		"?", "new", "exec", "rename", "exit", "cgroup", "snap"
	};
	size_t cnt;
	const struct trace_task_event *ev = &trace_task_events(a->trace, &cnt)[i];
	bool named = ev->type == TRACE_TASK_NEW || ev->type == TRACE_TASK_EXEC ||
		     ev->type == TRACE_TASK_RENAME || ev->type == TRACE_TASK_SNAP;

	cell_int(&c[0], context_rel(a, ev->ts_ns));
	cell_int(&c[1], ev->cpu);
	cell_int(&c[2], dense_utid(&a->ids, dense_thread(&a->ids, ev->utid)));
	cell_int(&c[3], dense_upid(&a->ids, dense_process(&a->ids, ev->upid)));
	cell_text(&c[4], types[ev->type <= TRACE_TASK_SNAP ? ev->type : 0]);
	if (ev->type == TRACE_TASK_EXIT)
		cell_int(&c[5], ev->exit_code);
	cell_int(&c[6], (int64_t)ev->cgroup_id);
	cell_text(&c[7], named ? ev->comm : NULL);
	cell_text(&c[8], ev->type == TRACE_TASK_EXEC ? ev->exe : NULL);
	cell_text(&c[9], ev->cmdline && *ev->cmdline ? ev->cmdline : NULL);
}

static const struct table_column rss_baseline_cols[] = {
	{ "ts_ns", COLUMN_INT },	  { "upid", COLUMN_INT },
	{ "file_bytes", COLUMN_INT },	  { "anon_bytes", COLUMN_INT },
	{ "swap_bytes", COLUMN_INT },	  { "shmem_bytes", COLUMN_INT },
	{ "total_vm_bytes", COLUMN_INT },
};

static void rss_baseline_row(const struct analysis *a, size_t i, struct cell *c)
{
	size_t cnt;
	const struct trace_rss *r = &trace_rss_baselines(a->trace, &cnt)[i];
	unsigned int k;

	cell_int(&c[0], context_rel(a, r->ts_ns));
	cell_int(&c[1], dense_upid(&a->ids, dense_process(&a->ids, r->upid)));
	for (k = 0; k < 4; k++)
		cell_int(&c[2 + k], (int64_t)r->bytes[k]);
	cell_int(&c[6], (int64_t)r->total_vm_bytes);
}

/* ---- machine and names ---- */

static const struct table_column cpu_cols[] = { { "cpu", COLUMN_INT } };

static size_t cpu_cnt(const struct analysis *a)
{
	return a->cpu_cnt;
}

static void cpu_row(const struct analysis *a, size_t i, struct cell *c)
{
	cell_int(&c[0], a->cpus[i]);
}

static const struct table_column device_cols[] = {
	{ "dev", COLUMN_INT },	 { "major", COLUMN_INT },   { "minor", COLUMN_INT },
	{ "name", COLUMN_TEXT }, { "sectors", COLUMN_INT },
};

static size_t device_cnt(const struct analysis *a)
{
	size_t cnt;

	trace_names(a->trace, TRACE_NAME_DEVICE, &cnt);
	return cnt;
}

static void device_row(const struct analysis *a, size_t i, struct cell *c)
{
	size_t cnt;
	const struct trace_name *n = &trace_names(a->trace, TRACE_NAME_DEVICE, &cnt)[i];

	cell_int(&c[0], (int64_t)n->id);
	cell_int(&c[1], (int64_t)(n->id >> 20));
	cell_int(&c[2], (int64_t)(n->id & 0xfffff));
	cell_text(&c[3], n->name);
	if (n->arg)
		cell_int(&c[4], (int64_t)n->arg);
}

static const struct table_column name_cols[] = {
	{ "type", COLUMN_TEXT },
	{ "id", COLUMN_INT },
	{ "arg", COLUMN_INT },
	{ "name", COLUMN_TEXT },
};

static const char *const name_types[TRACE_NAME_TYPE_CNT] = {
#define X(id, name, text, redact) [id] = text,
	EVENT_NAMES(X)
#undef X
};

static size_t name_cnt(const struct analysis *a)
{
	size_t cnt, sum = 0;
	unsigned int type;

	for (type = TRACE_NAME_CACHE; type < TRACE_NAME_TYPE_CNT; type++) {
		trace_names(a->trace, type, &cnt);
		sum += cnt;
	}
	return sum;
}

static void name_row(const struct analysis *a, size_t i, struct cell *c)
{
	const struct trace_name *n;
	unsigned int type = TRACE_NAME_CACHE;
	size_t cnt;

	while (n = trace_names(a->trace, type, &cnt), i >= cnt) {
		i -= cnt;
		type++;
	}
	cell_text(&c[0], name_types[type]);
	cell_int(&c[1], (int64_t)n[i].id - (type == TRACE_NAME_IRQ));
	cell_int(&c[2], (int64_t)n[i].arg);
	cell_text(&c[3], n[i].name);
}

static const struct table_column user_site_cols[] = {
	{ "upid", COLUMN_INT },		 { "addr", COLUMN_INT },
	{ "from_ns", COLUMN_INT },	 { "symbol", COLUMN_TEXT },
	{ "symbol_offset", COLUMN_INT }, { "module", COLUMN_TEXT },
	{ "module_offset", COLUMN_INT }, { "build_id", COLUMN_TEXT },
	{ "unresolved", COLUMN_TEXT },
};

static void user_site_row(const struct analysis *a, size_t i, struct cell *c)
{
	size_t cnt;
	const struct trace_site *s = &trace_sites(a->trace, &cnt)[i];

	cell_int(&c[0], s->upid);
	cell_int(&c[1], (int64_t)s->addr);
	cell_int(&c[2], s->from_ns ? context_rel(a, s->from_ns) : INT64_MIN);
	if (s->symbol[0]) {
		cell_text(&c[3], s->symbol);
		cell_int(&c[4], (int64_t)s->symbol_offset);
	}
	if (s->module[0]) {
		cell_text(&c[5], s->module);
		cell_int(&c[6], (int64_t)s->module_offset);
	}
	cell_text(&c[7], s->build_id[0] ? s->build_id : NULL);
	cell_text(&c[8], site_text_why(s));
}

static const struct table_column frame_cols[] = {
	{ "stack", COLUMN_INT },
	{ "nth", COLUMN_INT },
	{ "upid", COLUMN_INT },
	{ "addr", COLUMN_INT },
};

static void frame_row(const struct analysis *a, size_t i, struct cell *c)
{
	size_t cnt;
	const struct trace_frame *f = &trace_frames(a->trace, &cnt)[i];

	cell_int(&c[0], (int64_t)f->stack);
	cell_int(&c[1], f->nth);
	if (f->upid)
		cell_int(&c[2], f->upid);
	cell_int(&c[3], (int64_t)f->addr);
}

static size_t frame_find(const struct analysis *a, int64_t key, size_t *ret_cnt)
{
	size_t cnt;
	const struct trace_frame *f = trace_stack_find(a->trace, (uint64_t)key, ret_cnt);

	return f ? (size_t)(f - trace_frames(a->trace, &cnt)) : SIZE_MAX;
}

/* ---- what was lost, what it cost ---- */

static const struct table_column loss_cols[] = {
	{ "from_ns", COLUMN_INT },    { "to_ns", COLUMN_INT },	  { "cpu", COLUMN_INT },
	{ "class", COLUMN_TEXT },     { "source", COLUMN_TEXT },  { "hook", COLUMN_TEXT },
	{ "lost_cnt", COLUMN_INT },   { "full_cnt", COLUMN_INT }, { "other_cnt", COLUMN_INT },
	{ "missed_cnt", COLUMN_INT },
};

static void loss_row(const struct analysis *a, size_t i, struct cell *c)
{
	size_t cnt;
	const struct trace_loss *l = &trace_losses(a->trace, &cnt)[i];
	const struct hook_name *h = hook_name_find(l->hook);

	cell_int(&c[0], context_rel(a, l->from_ns));
	cell_int(&c[1], context_rel(a, l->to_ns));
	if (l->cpu != 0xffff)
		cell_int(&c[2], l->cpu);
	cell_text(&c[3], loss_class_name(l->cls));
	cell_text(&c[4], h ? h->source : NULL);
	cell_text(&c[5], h ? h->name : NULL);
	cell_int(&c[6], (int64_t)(l->full_cnt + l->other_cnt + l->missed_cnt));
	cell_int(&c[7], (int64_t)l->full_cnt);
	cell_int(&c[8], (int64_t)l->other_cnt);
	cell_int(&c[9], (int64_t)l->missed_cnt);
}

static const struct table_column cost_cols[] = {
	{ "from_ns", COLUMN_INT },	   { "to_ns", COLUMN_INT },
	{ "user_ns", COLUMN_INT },	   { "sys_ns", COLUMN_INT },
	{ "bytes_written", COLUMN_INT },   { "ring_used_max_bytes", COLUMN_INT },
	{ "ring_size_bytes", COLUMN_INT }, { "rss_bytes", COLUMN_INT },
	{ "queue_max_bytes", COLUMN_INT }, { "queue_size_bytes", COLUMN_INT },
	{ "cpu_cnt", COLUMN_INT },
};

static void cost_row(const struct analysis *a, size_t i, struct cell *c)
{
	size_t cnt;
	const struct trace_cost *k = &trace_costs(a->trace, &cnt)[i];

	cell_int(&c[0], context_rel(a, k->from_ns));
	cell_int(&c[1], context_rel(a, k->to_ns));
	cell_int(&c[2], (int64_t)k->user_ns);
	cell_int(&c[3], (int64_t)k->sys_ns);
	cell_int(&c[4], (int64_t)k->bytes_written);
	cell_int(&c[5], (int64_t)k->ring_used_max_bytes);
	cell_int(&c[6], (int64_t)k->ring_size_bytes);
	cell_int(&c[7], (int64_t)k->rss_bytes);
	cell_int(&c[8], (int64_t)k->queue_max_bytes);
	cell_int(&c[9], (int64_t)k->queue_size_bytes);
	if (k->cpu_cnt)
		cell_int(&c[10], (int64_t)k->cpu_cnt);
}

static const struct table_column hook_stat_cols[] = {
	{ "from_ns", COLUMN_INT },  { "to_ns", COLUMN_INT },   { "class", COLUMN_TEXT },
	{ "source", COLUMN_TEXT },  { "hook", COLUMN_TEXT },   { "attempted_cnt", COLUMN_INT },
	{ "read_cnt", COLUMN_INT }, { "run_cnt", COLUMN_INT }, { "run_time_ns", COLUMN_INT },
	{ "sampled_ns", COLUMN_INT }, { "sampled_cnt", COLUMN_INT }, { "cost_ns", COLUMN_INT },
};

static void hook_stat_row(const struct analysis *a, size_t i, struct cell *c)
{
	size_t cnt;
	const struct trace_hook_stat *s = &trace_hook_stats(a->trace, &cnt)[i];
	const struct hook_name *h = hook_name_find(s->hook);

	cell_int(&c[0], context_rel(a, s->from_ns));
	cell_int(&c[1], context_rel(a, s->to_ns));
	cell_text(&c[2], h ? loss_class_name(h->cls) : NULL);
	cell_text(&c[3], h ? h->source : NULL);
	cell_text(&c[4], h ? h->name : NULL);
	cell_int(&c[5], (int64_t)s->attempted_cnt);
	cell_int(&c[6], (int64_t)s->read_cnt);
	cell_int(&c[7], (int64_t)s->run_cnt);
	cell_int(&c[8], (int64_t)s->run_time_ns);
	cell_int(&c[9], (int64_t)s->sampled_ns);
	cell_int(&c[10], (int64_t)s->sampled_cnt);
	cell_int(&c[11], (int64_t)s->cost_ns);
}

static const struct table_column mark_cols[] = {
	{ "ts_ns", COLUMN_INT }, { "name", COLUMN_TEXT },
	{ "nr", COLUMN_INT },    { "origin", COLUMN_TEXT },
};

static void mark_row(const struct analysis *a, size_t i, struct cell *c)
{
	static const char *const origins[] = { "command", "fd", "trigger" };
	size_t cnt;
	const struct trace_mark *m = &trace_marks(a->trace, &cnt)[i];

	cell_int(&c[0], context_rel(a, m->ts_ns));
	cell_text(&c[1], m->text);
	cell_int(&c[2], m->nr);
	cell_text(&c[3],
		  m->origin < sizeof(origins) / sizeof(*origins) ? origins[m->origin] : NULL);
}

static const struct table_column gap_cols[] = {
	{ "from_ns", COLUMN_INT },  { "to_ns", COLUMN_INT },   { "class", COLUMN_TEXT },
	{ "source", COLUMN_TEXT },  { "reason", COLUMN_TEXT }, { "cost_pct", COLUMN_REAL },
	{ "budget_pct", COLUMN_REAL },
};

static void gap_row(const struct analysis *a, size_t i, struct cell *c)
{
	size_t cnt;
	const struct trace_gap *g = &trace_gaps(a->trace, &cnt)[i];

	cell_int(&c[0], context_rel(a, g->from_ns));
	cell_int(&c[1], context_rel(a, g->to_ns));
	cell_text(&c[2], loss_class_name(loss_source_class(g->source)));
	cell_text(&c[3], g->source);
	cell_text(&c[4], g->reason);
	cell_real(&c[5], (double)g->cost_ppm / 1e4);
	cell_real(&c[6], (double)g->budget_ppm / 1e4);
}

static const struct table_column clock_cols[] = {
	{ "ts_ns", COLUMN_INT },   { "mono_ns", COLUMN_INT }, { "boot_ns", COLUMN_INT },
	{ "real_ns", COLUMN_INT }, { "tai_ns", COLUMN_INT },  { "uncertainty_ns", COLUMN_INT },
};

static void clock_row(const struct analysis *a, size_t i, struct cell *c)
{
	size_t cnt;
	const struct trace_clock *k = &trace_clocks(a->trace, &cnt)[i];

	cell_int(&c[0], context_rel(a, k->mono_ns));
	cell_int(&c[1], (int64_t)k->mono_ns);
	cell_int(&c[2], (int64_t)k->boot_ns);
	cell_int(&c[3], (int64_t)k->real_ns);
	cell_int(&c[4], (int64_t)k->tai_ns);
	cell_int(&c[5], (int64_t)k->uncertainty_ns);
}

/* ---- the trace itself ---- */

static const struct table_column info_cols[] = { { "key", COLUMN_TEXT }, { "value", COLUMN_TEXT } };

static void info_row(const struct analysis *a, size_t i, struct cell *c)
{
	size_t cnt;
	const struct trace_kv *kv = &trace_manifest(a->trace, &cnt)[i];

	cell_text(&c[0], kv->key);
	cell_text(&c[1], kv->value);
}

static const struct table_column block_cols[] = {
	{ "block", COLUMN_INT },     { "from_ns", COLUMN_INT },	     { "to_ns", COLUMN_INT },
	{ "file", COLUMN_TEXT },     { "offset_bytes", COLUMN_INT }, { "bytes", COLUMN_INT },
	{ "event_cnt", COLUMN_INT },
};

static void block_row(const struct analysis *a, size_t i, struct cell *c)
{
	size_t cnt;
	const struct trace_block *b = &trace_blocks(a->trace, &cnt)[i];
	uint64_t events = 0;
	unsigned int k;

	for (k = 0; k < EVENT_KIND_CNT; k++)
		events += b->kind_cnt[k];
	cell_int(&c[0], (int64_t)i);
	cell_int(&c[1], context_rel(a, b->from_ns));
	cell_int(&c[2], context_rel(a, b->to_ns));
	cell_text(&c[3], b->file);
	cell_int(&c[4], (int64_t)b->offset);
	cell_int(&c[5], (int64_t)b->bytes);
	cell_int(&c[6], (int64_t)events);
}

static const struct table_column damage_cols[] = {
	{ "file", COLUMN_TEXT },
	{ "offset_bytes", COLUMN_INT },
	{ "bytes", COLUMN_INT },
	{ "reason", COLUMN_TEXT },
};

static void damage_row(const struct analysis *a, size_t i, struct cell *c)
{
	size_t cnt;
	const struct trace_damage *d = &trace_damages(a->trace, &cnt)[i];

	cell_text(&c[0], d->file);
	cell_int(&c[1], (int64_t)d->offset);
	cell_int(&c[2], (int64_t)d->bytes);
	cell_text(&c[3], d->reason);
}

#define LIST_CNT(name, list)                                                                       \
	static size_t name(const struct analysis *a)                                               \
	{                                                                                          \
		size_t cnt;                                                                        \
                                                                                                   \
		list(a->trace, &cnt);                                                              \
		return cnt;                                                                        \
	}

LIST_CNT(task_event_cnt, trace_task_events)
LIST_CNT(user_site_cnt, trace_sites)
LIST_CNT(frame_cnt, trace_frames)
LIST_CNT(rss_baseline_cnt, trace_rss_baselines)
LIST_CNT(loss_cnt, trace_losses)
LIST_CNT(cost_cnt, trace_costs)
LIST_CNT(hook_stat_cnt, trace_hook_stats)
LIST_CNT(gap_cnt, trace_gaps)
LIST_CNT(mark_cnt, trace_marks)
LIST_CNT(clock_cnt, trace_clocks)
LIST_CNT(info_cnt, trace_manifest)
LIST_CNT(block_cnt, trace_blocks)
LIST_CNT(damage_cnt, trace_damages)

static double list_row_cnt(const struct analysis *a, const struct table_def *def)
{
	const struct list_ops *ops = def->data;

	return (double)ops->cnt(a);
}

/* clang-format off */
#define LIST_TABLE(sql_name, columns, time, key, cnt_, row_, find_, doc_)                          \
	{                                                                                          \
		.name = sql_name, .doc = doc_, .cols = columns,                                    \
		.col_cnt = sizeof(columns) / sizeof(columns[0]), .time_col = time, .cpu_col = -1,  \
		.utid_col = -1, .key_col = key, .is_exported = true, .row_cnt = list_row_cnt,      \
		.data = &(const struct list_ops){ cnt_, row_, find_ },                     \
		.open = list_open, .step = list_step, .close = free,                               \
	}

const struct table_def tables_of_lists[] = {
	LIST_TABLE("processes", process_cols, -1, 0, process_cnt, process_row, process_find,
		   "processes; upid is never reused"),
	LIST_TABLE("threads", thread_cols, -1, 0, thread_cnt, thread_row, thread_find,
		   "threads; utid is never reused"),
	LIST_TABLE("cpus", cpu_cols, -1, -1, cpu_cnt, cpu_row, NULL, "CPUs that were seen"),
	LIST_TABLE("devices", device_cols, -1, -1, device_cnt, device_row, NULL, "block devices"),
	LIST_TABLE("names", name_cols, -1, -1, name_cnt, name_row, NULL,
		   "names of caches, devices, cgroups, kernel code addresses and files"),
	LIST_TABLE("user_sites", user_site_cols, -1, -1, user_site_cnt, user_site_row, NULL,
		   "what is at user-space code addresses that asked for memory"),
	LIST_TABLE("stack_frames", frame_cols, -1, 0, frame_cnt, frame_row, frame_find,
		   "frames of the stacks of allocations"),
	LIST_TABLE("task_events", task_event_cols, 0, -1, task_event_cnt, task_event_row, NULL,
		   "forks, execs, renames, exits, cgroup moves, snapshot rows"),
	LIST_TABLE("rss_baselines", rss_baseline_cols, -1, -1, rss_baseline_cnt, rss_baseline_row,
		   NULL,
		   "memory of each process when the recording began"),
	LIST_TABLE("losses", loss_cols, -1, -1, loss_cnt, loss_row, NULL,
		   "events that were lost, where and why"),
	LIST_TABLE("cost", cost_cols, -1, -1, cost_cnt, cost_row, NULL,
		   "what the recorder itself used"),
	LIST_TABLE("hook_stats", hook_stat_cols, -1, -1, hook_stat_cnt,
		      hook_stat_row, NULL,
		   "events attempted and read per kernel hook"),
	LIST_TABLE("source_gaps", gap_cols, -1, -1, gap_cnt, gap_row, NULL,
		   "when a source was off on purpose"),
	LIST_TABLE("marks", mark_cols, 0, -1, mark_cnt, mark_row, NULL, "instants with a name"),
	LIST_TABLE("clocks", clock_cols, 0, -1, clock_cnt, clock_row, NULL, "clocks read together"),
	LIST_TABLE("info", info_cols, -1, -1, info_cnt, info_row, NULL, "the trace's manifest"),
	LIST_TABLE("blocks", block_cols, -1, -1, block_cnt, block_row, NULL,
		   "blocks of the trace's files"),
	LIST_TABLE("damages", damage_cols, -1, -1, damage_cnt, damage_row, NULL,
		   "parts of files that were skipped as damaged"),
	{ .name = NULL },
};
