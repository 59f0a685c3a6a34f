/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * tables_trace: tables of what a trace contains: its lists, and its events.
 *
 * The lists, which a trace keeps in memory, are tasks, names, losses, cost, clocks and blocks. Most
 * columns are fields of a list's rows; the list's more() fills the others. The tables processes and
 * threads begin with the pseudo ids, so that every id in any table has a row. A query for a key
 * (first column) uses find() instead of reading all rows.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/context/code_text.h"
#include "analyze/engine/table.h"
#include "format/event.h"
#include "table_columns.h"

struct list {
	/* Returns row i, or NULL if more() fills all cells. Sets *ret_cnt to the number of rows. */
	const void *(*row)(const struct analysis *a, size_t i, size_t *ret_cnt);
	/* Fills the columns that are not fields. NULL: all are fields. */
	void (*more)(const struct analysis *a, size_t i, const void *row, struct cell *c);
	/*
	 * Returns the index of the first row with this key, or SIZE_MAX. *ret_cnt, initially 1, is
	 * the number of such rows, which are adjacent. NULL: all rows are read.
	 */
	size_t (*find)(const struct analysis *a, int64_t key, size_t *ret_cnt);
	/*
	 * Returns the first row that may end at or after an instant. NULL: rows are not ordered by
	 * their ends.
	 */
	size_t (*ending)(const struct trace *t, uint64_t ts_ns);
	/*
	 * Returns a row's process, whose container, unit and user are the last columns. NULL: no
	 * such columns.
	 */
	uint32_t (*process)(const struct analysis *a, size_t i);
};

struct list_scan {
	struct analysis *a;
	const struct table_def *def;
	const struct list *list;
	uint64_t cols_used;
	size_t at, end;
};

static size_t list_cnt(const struct analysis *a, const struct list *l)
{
	size_t cnt;

	l->row(a, SIZE_MAX, &cnt);
	return cnt;
}

static int list_open(struct analysis *a, const struct table_def *def, const struct table_query *q,
		     void *state, struct err *e)
{
	struct list_scan *s = state;

	s->a = a;
	s->def = def;
	s->list = def->data;
	s->cols_used = q->cols_used;
	s->end = list_cnt(a, s->list);
	if (q->has_key && q->key.type == VALUE_INT && s->list->find) {
		size_t cnt = 1, i = s->list->find(a, q->key.i, &cnt);

		s->at = i < s->end ? i : s->end;
		s->end = i < s->end && cnt < s->end - i ? i + cnt : s->end;
	}
	if (s->list->ending && q->from_ns > INT64_MIN)
		s->at = s->list->ending(a->trace, context_abs(a, q->from_ns));
	return 0;
}

/* Fills the process's container, unit and user; NULL for a pseudo name in brackets. */
static int who_cells(struct list_scan *s, struct cell *c)
{
	static const uint8_t who[] = { REPORT_BY_CONTAINER, REPORT_BY_UNIT, REPORT_BY_USER };
	unsigned int first = s->def->col_cnt - sizeof(who), i;
	uint32_t process = s->list->process(s->a, s->at);
	const char *text;

	for (i = 0; i < sizeof(who) && process >= EVENT_ID_FIRST; i++) {
		if (!(s->cols_used >> (first + i) & 1))
			continue;
		text = task_keys_text(&s->a->keys, who[i], process);
		if (!text)
			return -ENOMEM;
		cell_text(&c[first + i], *text == '[' ? NULL : text);
	}
	return 0;
}

static int list_step(void *state, struct rowbuf *out, struct err *e)
{
	struct list_scan *s = state;
	const void *row;
	struct cell *c;
	size_t cnt;

	for (; s->at < s->end && out->row_cnt < TABLE_BATCH_ROWS; s->at++) {
		c = rowbuf_add(out);
		row = s->list->row(s->a, s->at, &cnt);
		if (row)
			table_row_cells(s->a, s->def, s->cols_used, row, c);
		if (s->list->more)
			s->list->more(s->a, s->at, row, c);
		if (s->list->process && who_cells(s, c) < 0)
			return -ENOMEM;
	}
	return s->at < s->end;
}

#define LIST_ROW(list)                                                                             \
	static const void *row_of_##list(const struct analysis *a, size_t i, size_t *ret_cnt)      \
	{                                                                                          \
		const typeof(*trace_##list(a->trace, ret_cnt)) *rows =                             \
			trace_##list(a->trace, ret_cnt);                                           \
                                                                                                   \
		return i < *ret_cnt ? &rows[i] : NULL;                                             \
	}

LIST_ROWS(LIST_ROW)

/* ---- processes, threads: pseudo ids first ---- */

enum { PSEUDO_CNT = EVENT_ID_FILTERED + 1 };

static uint32_t process_at(const struct analysis *a, size_t i)
{
	return (uint32_t)(i < PSEUDO_CNT ? i : i - PSEUDO_CNT + EVENT_ID_FIRST);
}

static const void *process_row(const struct analysis *a, size_t i, size_t *ret_cnt)
{
	*ret_cnt = a->ids.process_cnt - EVENT_ID_FIRST + PSEUDO_CNT;
	return i < PSEUDO_CNT || i >= *ret_cnt
		       ? NULL
		       : dense_process_row(&a->ids, (uint32_t)(i - PSEUDO_CNT + EVENT_ID_FIRST));
}

static void no_flags(struct cell *c)
{
	for (unsigned int i = 0; i < 4; i++)
		cell_int(&c[i], 0);
}

static void process_more(const struct analysis *a, size_t i, const void *row, struct cell *c)
{
	const struct trace_process *p = row;

	if (!p) {
		cell_int(&c[COL_PROCESSES_UPID], (int64_t)i);
		cell_int(&c[COL_PROCESSES_PARENT_UPID], EVENT_ID_UNKNOWN);
		cell_text(&c[COL_PROCESSES_COMM], dense_pseudo_name((uint32_t)i));
		cell_text(&c[COL_PROCESSES_EXE], "");
		cell_text(&c[COL_PROCESSES_CMDLINE], "");
		no_flags(&c[COL_PROCESSES_IS_KTHREAD]);
		return;
	}
	cell_text(&c[COL_PROCESSES_CGROUP], name_text(a->trace, TRACE_NAME_CGROUP, p->cgroup_id));
	if (p->end_ns)
		cell_int(&c[COL_PROCESSES_EXIT_CODE], p->exit_code);
}

/* Converts a key to an id; 0 if the key is out of range and matches no row. */
static uint32_t id_of(int64_t key)
{
	return key >= 0 && key <= UINT32_MAX ? (uint32_t)key : 0;
}

static size_t row_of_dense(uint32_t dense, int64_t key)
{
	if (key < PSEUDO_CNT)
		return key < 0 ? SIZE_MAX : (size_t)key;
	return dense >= EVENT_ID_FIRST ? dense - EVENT_ID_FIRST + PSEUDO_CNT : SIZE_MAX;
}

static size_t process_find(const struct analysis *a, int64_t key, size_t *ret_cnt)
{
	return row_of_dense(dense_process(&a->ids, id_of(key)), key);
}

static uint32_t process_of_thread_at(const struct analysis *a, size_t i)
{
	return i < PSEUDO_CNT ? 0 : dense_process_of(&a->ids, process_at(a, i));
}

/* Fills five cells from c on. */
static void sched_cells(struct cell *c, const struct trace_sched *s)
{
	static const char *const policies[] = { "?", "other", "fifo", "rr", "batch", "?",
						"idle", "deadline", "ext" };

	if (!s->policy1)
		return;
	cell_text(&c[0], policies[s->policy1 <= 8 ? s->policy1 : 0]);
	cell_int(&c[1], (int64_t)s->static_prio - 120);
	if (s->rt_priority)
		cell_int(&c[2], s->rt_priority);
	cell_int(&c[3], s->cpu_cnt);
	if (s->cpus)
		cell_int(&c[4], (int64_t)s->cpus);
}

static const void *thread_row(const struct analysis *a, size_t i, size_t *ret_cnt)
{
	*ret_cnt = a->ids.thread_cnt - EVENT_ID_FIRST + PSEUDO_CNT;
	return i < PSEUDO_CNT || i >= *ret_cnt
		       ? NULL
		       : dense_thread_row(&a->ids, (uint32_t)(i - PSEUDO_CNT + EVENT_ID_FIRST));
}

static void thread_more(const struct analysis *a, size_t i, const void *row, struct cell *c)
{
	const struct trace_thread *t = row;

	if (!t) {
		cell_int(&c[COL_THREADS_UTID], (int64_t)i);
		cell_int(&c[COL_THREADS_UPID], (int64_t)i);
		cell_text(&c[COL_THREADS_COMM], dense_pseudo_name((uint32_t)i));
		no_flags(&c[COL_THREADS_IS_KTHREAD]);
		return;
	}
	if (t->flags & TRACE_TASK_AT_START)	/* a recorded 0 is not NULL */
		cell_int(&c[COL_THREADS_SUM_EXEC_START_NS], (int64_t)t->sum_exec_start_ns);
	sched_cells(&c[COL_THREADS_POLICY], &t->sched);
}

static size_t thread_find(const struct analysis *a, int64_t key, size_t *ret_cnt)
{
	return row_of_dense(dense_thread(&a->ids, id_of(key)), key);
}

/* ---- events of tasks ---- */

static void task_event_more(const struct analysis *a, size_t i, const void *row, struct cell *c)
{
	static const char *const types[] = {
		"?", "new", "exec", "rename", "exit", "cgroup", "snap", "sched"
	};
	const struct trace_task_event *ev = row;

	cell_text(&c[COL_TASK_EVENTS_TYPE], types[ev->type <= TRACE_TASK_SCHED ? ev->type : 0]);
	if (ev->type == TRACE_TASK_EXIT)
		cell_int(&c[COL_TASK_EVENTS_EXIT_CODE], ev->exit_code);
	if (ev->type == TRACE_TASK_NEW || ev->type == TRACE_TASK_EXEC ||
	    ev->type == TRACE_TASK_RENAME || ev->type == TRACE_TASK_SNAP)
		cell_text(&c[COL_TASK_EVENTS_COMM], ev->comm);
	if (ev->type == TRACE_TASK_EXEC)
		cell_text(&c[COL_TASK_EVENTS_EXE], ev->exe);
	sched_cells(&c[COL_TASK_EVENTS_POLICY], &ev->sched);
}

/* ---- machine and names ---- */

static const void *cpu_row(const struct analysis *a, size_t i, size_t *ret_cnt)
{
	*ret_cnt = a->cpu_cnt;
	return i < a->cpu_cnt ? &a->cpus[i] : NULL;
}

static void cpu_more(const struct analysis *a, size_t i, const void *row, struct cell *c)
{
	cell_int(&c[COL_CPUS_CPU], a->cpus[i]);
}

static const void *device_row(const struct analysis *a, size_t i, size_t *ret_cnt)
{
	const struct trace_name *n = trace_names(a->trace, TRACE_NAME_DEVICE, ret_cnt);

	return i < *ret_cnt ? &n[i] : NULL;
}

static void device_more(const struct analysis *a, size_t i, const void *row, struct cell *c)
{
	const struct trace_name *n = row;

	cell_int(&c[COL_DEVICES_MAJOR], (int64_t)(n->id >> 20));
	cell_int(&c[COL_DEVICES_MINOR], (int64_t)(n->id & 0xfffff));
}

static const char *const name_types[TRACE_NAME_TYPE_CNT] = {
#define X(id, name, text, redact) [id] = text,
	EVENT_NAMES(X)
#undef X
};

/* Returns the i-th name in the lists of all types, one list after the other. */
static const struct trace_name *name_at(const struct analysis *a, size_t i, unsigned int *ret_type,
					size_t *ret_cnt)
{
	const struct trace_name *found = NULL;
	size_t cnt;

	*ret_cnt = 0;
	for (unsigned int type = TRACE_NAME_CACHE; type < TRACE_NAME_TYPE_CNT; type++) {
		const struct trace_name *n = trace_names(a->trace, type, &cnt);

		if (i >= *ret_cnt && i - *ret_cnt < cnt) {
			found = &n[i - *ret_cnt];
			*ret_type = type;
		}
		*ret_cnt += cnt;
	}
	return found;
}

static const void *name_row(const struct analysis *a, size_t i, size_t *ret_cnt)
{
	unsigned int type;

	return name_at(a, i, &type, ret_cnt);
}

static void name_more(const struct analysis *a, size_t i, const void *row, struct cell *c)
{
	const struct trace_name *n = row;
	unsigned int type = 0;
	size_t cnt;

	name_at(a, i, &type, &cnt);
	cell_text(&c[COL_NAMES_TYPE], name_types[type]);
	cell_int(&c[COL_NAMES_ID], (int64_t)n->id - (type == TRACE_NAME_IRQ));
}

static void user_site_more(const struct analysis *a, size_t i, const void *row, struct cell *c)
{
	const struct trace_site *s = row;

	cell_int(&c[COL_USER_SITES_FROM_NS], s->from_ns ? context_rel(a, s->from_ns) : INT64_MIN);
	if (s->symbol[0])
		cell_int(&c[COL_USER_SITES_SYMBOL_OFFSET], (int64_t)s->symbol_offset);
	if (s->module[0])
		cell_int(&c[COL_USER_SITES_MODULE_OFFSET], (int64_t)s->module_offset);
	cell_text(&c[COL_USER_SITES_UNRESOLVED], site_text_why(s));
}

static size_t frame_find(const struct analysis *a, int64_t key, size_t *ret_cnt)
{
	size_t cnt;
	const struct trace_frame *f = trace_stack_find(a->trace, (uint64_t)key, ret_cnt);

	return f ? (size_t)(f - trace_frames(a->trace, &cnt)) : SIZE_MAX;
}

/* ---- losses and cost ---- */

static void loss_more(const struct analysis *a, size_t i, const void *row, struct cell *c)
{
	const struct trace_loss *l = row;
	const struct hook_name *h = hook_name_find(l->hook);

	if (l->cpu != 0xffff)
		cell_int(&c[COL_LOSSES_CPU], l->cpu);
	cell_text(&c[COL_LOSSES_CLASS], loss_class_name(l->cls));
	cell_text(&c[COL_LOSSES_SOURCE], h ? h->source : NULL);
	cell_text(&c[COL_LOSSES_HOOK], h ? h->name : NULL);
	cell_int(&c[COL_LOSSES_LOST_CNT], (int64_t)(l->full_cnt + l->other_cnt + l->missed_cnt));
}

static void hook_stat_more(const struct analysis *a, size_t i, const void *row, struct cell *c)
{
	const struct hook_name *h = hook_name_find(((const struct trace_hook_stat *)row)->hook);

	cell_text(&c[COL_HOOK_STATS_CLASS], h ? loss_class_name(h->cls) : NULL);
	cell_text(&c[COL_HOOK_STATS_SOURCE], h ? h->source : NULL);
	cell_text(&c[COL_HOOK_STATS_HOOK], h ? h->name : NULL);
}

static void mark_more(const struct analysis *a, size_t i, const void *row, struct cell *c)
{
	static const char *const origins[] = { "command", "fd", "trigger" };
	unsigned int origin = ((const struct trace_mark *)row)->origin;

	cell_text(&c[COL_MARKS_ORIGIN],
		  origin < sizeof(origins) / sizeof(*origins) ? origins[origin] : NULL);
}

static void gap_more(const struct analysis *a, size_t i, const void *row, struct cell *c)
{
	const struct trace_gap *g = row;

	cell_text(&c[COL_SOURCE_GAPS_CLASS], loss_class_name(loss_source_class(g->source)));
	cell_real(&c[COL_SOURCE_GAPS_COST_PCT], (double)g->cost_ppm / 1e4);
	cell_real(&c[COL_SOURCE_GAPS_BUDGET_PCT], (double)g->budget_ppm / 1e4);
}

static void quota_more(const struct analysis *a, size_t i, const void *row, struct cell *c)
{
	const struct trace_quota *q = row;

	cell_text(&c[COL_QUOTAS_CGROUP], name_text(a->trace, TRACE_NAME_CGROUP, q->cgroup_id));
	cell_text(&c[COL_QUOTAS_QUOTA_OF], name_text(a->trace, TRACE_NAME_CGROUP, q->limit_id));
}

static void block_more(const struct analysis *a, size_t i, const void *row, struct cell *c)
{
	cell_int(&c[COL_BLOCKS_BLOCK], (int64_t)i);
	cell_int(&c[COL_BLOCKS_EVENT_CNT], (int64_t)trace_block_events(row, UINT32_MAX));
}

static double list_row_cnt(const struct analysis *a, const struct table_def *def)
{
	const struct list *list = def->data;

	return (double)list_cnt(a, list);
}

/* clang-format off */
const struct table_def tables_of_lists[] = {
#define X(name_, text, about, time, end, key, window_, ...)                                        \
	{                                                                                          \
		.name = text, .doc = about, .cols = (const struct table_column[]){ COLS_##name_ }, \
		.col_cnt = COL_##name_##_CNT, .time_col = time, .cpu_col = -1, .utid_col = -1,     \
		.end_col = end,                                                                    \
		.key_col = key, .is_exported = true, .window = window_, .row_cnt = list_row_cnt,   \
		.data = &(const struct list){ __VA_ARGS__ },                                       \
		.state_bytes = sizeof(struct list_scan),                                           \
		.open = list_open, .step = list_step,                                              \
	},
	LIST_TABLES(X)
#undef X
	{ .name = NULL },
};

/*
 * The event tables: one row per recorded event, read with the trace's cursor. The
 * cursor skips blocks outside of the time range and rows of other CPUs; the thread is checked here,
 * before a row is built.
 *
 * Columns are declared in schema/events/. Kernel addresses have their top bit set, so they are
 * negative as SQL integers; hex(), symbol() and joins accept the negative values.
 */

#define FIXED_COLS 4	/* ts_ns, cpu, utid, irq or preempted */

struct event_scan {
	struct analysis *a;
	struct event_cursor *cursor;
	struct table_query q;
	unsigned int kind;
	uint32_t values;	/* bit per used column of the kind */
	const struct event_column *cols;	/* columns of the kind */
};

/* The columns of each kind. */
static const struct table_column event_cols[EVENT_KIND_CNT][FIXED_COLS + EVENT_VALUES] = {
#define X(id, kind, name, table, flag, bit, about)                                                 \
	[EVENT_##kind][0] = { "ts_ns", COLUMN_INT }, [EVENT_##kind][1] = { "cpu", COLUMN_INT },    \
	[EVENT_##kind][2] = { "utid", COLUMN_INT }, [EVENT_##kind][3] = { flag, COLUMN_INT },
	EVENT_KINDS(X)
#undef X
#define X(kind, index, name, codec, of, shown, type, later, null, refers) \
	[EVENT_##kind][FIXED_COLS + (index)] = { name, COLUMN_##type },
	EVENT_COLUMNS(X)
#undef X
};

/* The flag that column 3 shows, by kind. */
static const uint8_t event_flags[EVENT_KIND_CNT] = {
#define X(id, kind, name, table, flag, bit, about) [EVENT_##kind] = EVENT_F_##bit,
	EVENT_KINDS(X)
#undef X
};

/* The column that is EVENT_ID_FILTERED if an event has the flag, by kind. */
static const struct {
	uint8_t index, flag;
} event_filtered[EVENT_KIND_CNT] = {
#define X(kind, index, flag) [EVENT_##kind] = { index, EVENT_F_##flag },
	EVENT_FILTERED(X)
#undef X
};

static int events_open(struct analysis *a, const struct table_def *def, const struct table_query *q,
		       void *state, struct err *e)
{
	struct event_scan *s = state;
	uint32_t columns[EVENT_KIND_CNT] = { 0 };
	uint64_t from_ns;
	int ret;

	s->a = a;
	s->q = *q;
	s->kind = def->kind;
	s->cols = event_column(def->kind, 0);
	s->values = columns[def->kind] = q->cols_used >> FIXED_COLS &
					 ((1u << event_kind_values(def->kind)) - 1);
	if ((q->cols_used & 1u << 2) || q->has_utid)
		columns[def->kind] |= EVENT_COL_UTID;
	if ((q->cols_used & 1u << 3) || event_filtered[def->kind].flag)
		columns[def->kind] |= EVENT_COL_FLAGS;
	from_ns = q->from_ns == INT64_MIN ? 0 : context_abs(a, q->from_ns);
	if (from_ns < trace_carried_ns(a->trace))
		from_ns = trace_carried_ns(a->trace);
	ret = event_cursor_open_columns(
				&s->cursor, a->trace, 1u << def->kind, columns, from_ns,
				q->to_ns == INT64_MAX ? UINT64_MAX : context_abs(a, q->to_ns), e);
	if (ret < 0)
		return ret;
	/* A pseudo id matches events of many threads: the cursor cannot filter by this id. */
	if (q->has_utid && q->utid >= EVENT_ID_FIRST && q->utid <= UINT32_MAX)
		event_cursor_want_thread(s->cursor, (uint32_t)q->utid);
	/* an impossible CPU number matches no event */
	if (q->has_cpu)
		event_cursor_want_cpu(s->cursor, q->cpu >= 0 && q->cpu <= UINT16_MAX
							 ? (uint32_t)q->cpu
							 : UINT32_MAX);
	return 0;
}

static void events_close(void *state)
{
	struct event_scan *s = state;

	event_cursor_close(s->cursor);
}

/*
 * Fills a cell with a value of an event. Ids are mapped to dense ids and back, so that every id is
 * a row of threads or processes.
 */
static void put_value(const struct event_scan *s, const struct event *ev,
		      const struct event_column *col, struct cell *c)
{
	const struct dense_ids *d = &s->a->ids;
	uint64_t v = ev->v[col->index];

	if (col->shown)
		cell_text(c, event_shown(col, v));
	else if (col->is_null && !v)
		c->type = VALUE_NULL;
	else if (col->refers == EVENT_REFERS_THREAD)
		cell_int(c, dense_utid(d, dense_thread(d, (uint32_t)v)));
	else if (col->refers == EVENT_REFERS_PROCESS)
		cell_int(c, dense_upid(d, dense_process(d, (uint32_t)v)));
	else
		cell_int(c, (int64_t)v);
}

static int events_step(void *state, struct rowbuf *out, struct err *e)
{
	struct event_scan *s = state;
	const struct dense_ids *d = &s->a->ids;
	const struct event *ev;
	struct cell *c;
	uint32_t utid, left;
	int ret;

	while (out->row_cnt < TABLE_BATCH_ROWS) {
		ret = event_cursor_next(s->cursor, &ev, e);
		if (ret <= 0)
			return ret;
		utid = dense_utid(d, dense_thread(d, ev->utid));
		if (s->q.has_utid && s->q.utid != utid)
			continue;
		c = rowbuf_add(out);
		cell_int(&c[0], context_rel(s->a, ev->ts_ns));
		cell_int(&c[1], ev->cpu);
		cell_int(&c[2], utid);
		cell_int(&c[3], !!(ev->flags & event_flags[s->kind]));
		for (left = s->values; left; left &= left - 1) {
			unsigned int i = (unsigned int)__builtin_ctz(left);

			put_value(s, ev, &s->cols[i], &c[FIXED_COLS + i]);
		}
		if (ev->flags & event_filtered[s->kind].flag)
			cell_int(&c[FIXED_COLS + event_filtered[s->kind].index], EVENT_ID_FILTERED);
	}
	return 1;
}

const struct table_def tables_of_events[] = {
#define X(id, kind_, kind_name, table, flag, bit, about)                                           \
	{                                                                                          \
		.name = table, .doc = about, .cols = event_cols[id],                               \
		.col_cnt = FIXED_COLS + EV_##kind_##_CNT, .time_col = 0, .cpu_col = 1,             \
		.utid_col = 2, .key_col = -1, .is_ordered = true, .is_exported = true,             \
		.window = WINDOW_INSTANT,                                                          \
		.kind = id, .kinds = 1u << (id), .events_per_row = 1,                              \
		.state_bytes = sizeof(struct event_scan), .open = events_open,                     \
		.step = events_step, .close = events_close,                                        \
	},
	EVENT_KINDS(X)
#undef X
	{ .name = NULL },
};
