/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * tables_list: the tables of lists that a trace keeps in memory: tasks, names, losses, cost,
 * clocks, blocks.
 *
 * Most columns are fields of a list's rows; a list's more() fills the others. processes and threads
 * begin with the pseudo ids, so that every id in any table has a row. A query for a key (first
 * column) looks it up instead of searching.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/context/code_text.h"
#include "analyze/engine/table.h"
#include "format/hook.h"

#define BATCH_ROWS 256

struct list {
	/* The row at a place, and how many there are; NULL: more() fills all cells. */
	const void *(*row)(const struct analysis *a, size_t i, size_t *ret_cnt);
	/* Fills the columns that are no fields; NULL: there are none. */
	void (*more)(const struct analysis *a, size_t i, const void *row, struct cell *c);
	/*
	 * The first row with this key, or SIZE_MAX; *ret_cnt, initially 1, is the number of such
	 * rows, which are neighbours. NULL: the list is searched.
	 */
	size_t (*find)(const struct analysis *a, int64_t key, size_t *ret_cnt);
	/* The process of a row; its container, unit and user are the last columns. NULL: they are
	 * not. */
	uint32_t (*process)(const struct analysis *a, size_t i);
};

struct list_scan {
	struct analysis *a;
	const struct table_def *def;
	const struct list *list;
	uint32_t cols_used;
	size_t at, end;
	struct task_keys keys;
};

static size_t list_cnt(const struct analysis *a, const struct list *l)
{
	size_t cnt;

	l->row(a, SIZE_MAX, &cnt);
	return cnt;
}

static int list_open(struct analysis *a, const struct table_def *def, const struct table_query *q,
		     void **ret_state, struct err *e)
{
	struct list_scan *s = calloc(1, sizeof(*s));

	if (!s)
		return err_set(e, -ENOMEM, "out of memory");
	s->a = a;
	s->def = def;
	s->list = def->data;
	s->cols_used = q->cols_used;
	task_keys_init(&s->keys, &a->ids);
	s->end = list_cnt(a, s->list);
	if (q->has_key && q->key.type == VALUE_INT && s->list->find) {
		size_t cnt = 1, i = s->list->find(a, q->key.i, &cnt);

		s->at = i < s->end ? i : s->end;
		s->end = i < s->end && cnt < s->end - i ? i + cnt : s->end;
	}
	*ret_state = s;
	return 0;
}

static void list_close(void *state)
{
	struct list_scan *s = state;

	task_keys_done(&s->keys);
	free(s);
}

#define WHO_COLS { "container", COLUMN_TEXT }, { "unit", COLUMN_TEXT }, { "user", COLUMN_TEXT }

/* What is in brackets is no name. */
static int who_cells(struct list_scan *s, struct cell *c)
{
	static const uint8_t who[] = { REPORT_BY_CONTAINER, REPORT_BY_UNIT, REPORT_BY_USER };
	unsigned int first = s->def->col_cnt - sizeof(who), i;
	uint32_t process = s->list->process(s->a, s->at);
	const char *text;

	for (i = 0; i < sizeof(who) && process >= EVENT_ID_FIRST; i++) {
		if (!(s->cols_used & 1u << (first + i)))
			continue;
		text = task_keys_text(&s->keys, who[i], process);
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

	for (; s->at < s->end && out->row_cnt < BATCH_ROWS; s->at++) {
		c = rowbuf_add(out);
		if (!c)
			return err_set(e, -ENOMEM, "out of memory");
		row = s->list->row(s->a, s->at, &cnt);
		if (row)
			table_row_cells(s->a, s->def, s->cols_used, row, c);
		if (s->list->more)
			s->list->more(s->a, s->at, row, c);
		if (s->list->process && who_cells(s, c) < 0)
			return err_set(e, -ENOMEM, "out of memory");
	}
	return s->at < s->end;
}

#define LIST_ROW(list)                                                                             \
	static const void *row_of_##list(const struct analysis *a, size_t i, size_t *ret_cnt)      \
	{                                                                                          \
		const typeof(*trace_##list(NULL, NULL)) *rows = trace_##list(a->trace, ret_cnt);   \
                                                                                                   \
		return i < *ret_cnt ? &rows[i] : NULL;                                             \
	}

LIST_ROW(task_events)
LIST_ROW(sites)
LIST_ROW(frames)
LIST_ROW(rss_baselines)
LIST_ROW(losses)
LIST_ROW(costs)
LIST_ROW(hook_stats)
LIST_ROW(gaps)
LIST_ROW(marks)
LIST_ROW(clocks)
LIST_ROW(manifest)
LIST_ROW(blocks)
LIST_ROW(damages)

/* ---- processes, threads: pseudo ids first ---- */

enum { PSEUDO_CNT = EVENT_ID_FILTERED + 1 };

#define TASK_FLAG(name_, row, mask_)                                                               \
	{ .name = name_, .type = COLUMN_INT, .use = FIELD_FLAG, .bytes = 4,                        \
	  .offset = offsetof(struct row, flags), .mask = mask_ }
#define TASK_FLAGS(row)                                                                            \
	TASK_FLAG("is_kthread", row, TRACE_TASK_KTHREAD),                                          \
	TASK_FLAG("is_recorder", row, TRACE_TASK_RECORDER),                                        \
	TASK_FLAG("is_workload", row, TRACE_TASK_WORKLOAD),                                        \
	TASK_FLAG("at_start", row, TRACE_TASK_AT_START)

static const struct table_column process_cols[] = {
	NUMBER(trace_process, upid),		NUMBER(trace_process, pid),
	NUMBER(trace_process, ns_pid),		NUMBER(trace_process, ppid),
	PROCESS(trace_process, parent_upid),	NUMBER(trace_process, uid),
	TEXT(trace_process, comm),		TEXT(trace_process, exe),
	TEXT(trace_process, cmdline),		NUMBER(trace_process, cgroup_id),
	{ "cgroup", COLUMN_TEXT },		KNOWN_INSTANT(trace_process, start_ns),
	KNOWN_INSTANT(trace_process, end_ns),	{ "exit_code", COLUMN_INT },
	TASK_FLAGS(trace_process),		WHO_COLS,
};

enum { PROCESS_CGROUP = 10, PROCESS_EXIT_CODE = 13, PROCESS_FLAGS = 14 };

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
	unsigned int i;

	for (i = 0; i < 4; i++)
		cell_int(&c[i], 0);
}

static void process_more(const struct analysis *a, size_t i, const void *row, struct cell *c)
{
	const struct trace_process *p = row;

	if (!p) {
		cell_int(&c[0], (int64_t)i);
		cell_int(&c[4], EVENT_ID_UNKNOWN);
		cell_text(&c[6], dense_pseudo_name((uint32_t)i));
		cell_text(&c[7], "");
		cell_text(&c[8], "");
		no_flags(&c[PROCESS_FLAGS]);
		return;
	}
	cell_text(&c[PROCESS_CGROUP], name_text(a->trace, TRACE_NAME_CGROUP, p->cgroup_id));
	if (p->end_ns)
		cell_int(&c[PROCESS_EXIT_CODE], p->exit_code);
}

/* A key that is no id finds nothing either way. */
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

static const struct table_column thread_cols[] = {
	NUMBER(trace_thread, utid),		PROCESS(trace_thread, upid),
	NUMBER(trace_thread, tid),		NUMBER(trace_thread, ns_tid),
	TEXT(trace_thread, comm),		KNOWN_INSTANT(trace_thread, start_ns),
	KNOWN_INSTANT(trace_thread, end_ns),	NOT_ZERO(trace_thread, sum_exec_start_ns),
	NOT_ZERO(trace_thread, sum_exec_end_ns),	TASK_FLAGS(trace_thread),
	WHO_COLS,
};

enum { THREAD_SUM_EXEC_START = 7, THREAD_FLAGS = 9 };

static uint32_t process_of_thread_at(const struct analysis *a, size_t i)
{
	return i < PSEUDO_CNT ? 0 : dense_process_of(&a->ids, process_at(a, i));
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
		cell_int(&c[0], (int64_t)i);
		cell_int(&c[1], (int64_t)i);
		cell_text(&c[4], dense_pseudo_name((uint32_t)i));
		no_flags(&c[THREAD_FLAGS]);
	} else if (t->flags & TRACE_TASK_AT_START) {	/* 0 is known, too */
		cell_int(&c[THREAD_SUM_EXEC_START], (int64_t)t->sum_exec_start_ns);
	}
}

static size_t thread_find(const struct analysis *a, int64_t key, size_t *ret_cnt)
{
	return row_of_dense(dense_thread(&a->ids, id_of(key)), key);
}

/* ---- life of tasks ---- */

static const struct table_column task_event_cols[] = {
	INSTANT(trace_task_event, ts_ns),	NUMBER(trace_task_event, cpu),
	THREAD(trace_task_event, utid),		PROCESS(trace_task_event, upid),
	{ "type", COLUMN_TEXT },		{ "exit_code", COLUMN_INT },
	NUMBER(trace_task_event, cgroup_id),	{ "comm", COLUMN_TEXT },
	{ "exe", COLUMN_TEXT },			NOT_EMPTY(trace_task_event, cmdline),
};

static void task_event_more(const struct analysis *a, size_t i, const void *row, struct cell *c)
{
	static const char *const types[] = {
		"?", "new", "exec", "rename", "exit", "cgroup", "snap"
	};
	const struct trace_task_event *ev = row;

	cell_text(&c[4], types[ev->type <= TRACE_TASK_SNAP ? ev->type : 0]);
	if (ev->type == TRACE_TASK_EXIT)
		cell_int(&c[5], ev->exit_code);
	if (ev->type == TRACE_TASK_NEW || ev->type == TRACE_TASK_EXEC ||
	    ev->type == TRACE_TASK_RENAME || ev->type == TRACE_TASK_SNAP)
		cell_text(&c[7], ev->comm);
	if (ev->type == TRACE_TASK_EXEC)
		cell_text(&c[8], ev->exe);
}

static const struct table_column rss_baseline_cols[] = {
	INSTANT(trace_rss, ts_ns),		PROCESS(trace_rss, upid),
	COLUMN_FIELD("file_bytes", INT, NUMBER, trace_rss, bytes[0]),
	COLUMN_FIELD("anon_bytes", INT, NUMBER, trace_rss, bytes[1]),
	COLUMN_FIELD("swap_bytes", INT, NUMBER, trace_rss, bytes[2]),
	COLUMN_FIELD("shmem_bytes", INT, NUMBER, trace_rss, bytes[3]),
	NUMBER(trace_rss, total_vm_bytes),
};

/* ---- machine and names ---- */

static const struct table_column cpu_cols[] = {
	{ .name = "cpu", .type = COLUMN_INT, .use = FIELD_NUMBER, .bytes = sizeof(uint32_t) }
};

static const void *cpu_row(const struct analysis *a, size_t i, size_t *ret_cnt)
{
	*ret_cnt = a->cpu_cnt;
	return i < a->cpu_cnt ? &a->cpus[i] : NULL;
}

static const struct table_column device_cols[] = {
	COLUMN_FIELD("dev", INT, NUMBER, trace_name, id),
	{ "major", COLUMN_INT },		{ "minor", COLUMN_INT },
	TEXT(trace_name, name),
	COLUMN_FIELD("sectors", INT, NOT_ZERO, trace_name, arg),
};

static const void *device_row(const struct analysis *a, size_t i, size_t *ret_cnt)
{
	const struct trace_name *n = trace_names(a->trace, TRACE_NAME_DEVICE, ret_cnt);

	return i < *ret_cnt ? &n[i] : NULL;
}

static void device_more(const struct analysis *a, size_t i, const void *row, struct cell *c)
{
	const struct trace_name *n = row;

	cell_int(&c[1], (int64_t)(n->id >> 20));
	cell_int(&c[2], (int64_t)(n->id & 0xfffff));
}

static const struct table_column name_cols[] = {
	{ "type", COLUMN_TEXT },		{ "id", COLUMN_INT },
	NUMBER(trace_name, arg),		TEXT(trace_name, name),
};

static const char *const name_types[TRACE_NAME_TYPE_CNT] = {
#define X(id, name, text, redact) [id] = text,
	EVENT_NAMES(X)
#undef X
};

/* The names of all types, one type after the other. */
static const struct trace_name *name_at(const struct analysis *a, size_t i, unsigned int *ret_type,
					size_t *ret_cnt)
{
	const struct trace_name *found = NULL;
	unsigned int type;
	size_t cnt;

	*ret_cnt = 0;
	for (type = TRACE_NAME_CACHE; type < TRACE_NAME_TYPE_CNT; type++) {
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
	cell_text(&c[0], name_types[type]);
	cell_int(&c[1], (int64_t)n->id - (type == TRACE_NAME_IRQ));
}

static const struct table_column user_site_cols[] = {
	NUMBER(trace_site, upid),		NUMBER(trace_site, addr),
	{ "from_ns", COLUMN_INT },		NOT_EMPTY(trace_site, symbol),
	{ "symbol_offset", COLUMN_INT },	NOT_EMPTY(trace_site, module),
	{ "module_offset", COLUMN_INT },	NOT_EMPTY(trace_site, build_id),
	{ "unresolved", COLUMN_TEXT },
};

static void user_site_more(const struct analysis *a, size_t i, const void *row, struct cell *c)
{
	const struct trace_site *s = row;

	cell_int(&c[2], s->from_ns ? context_rel(a, s->from_ns) : INT64_MIN);
	if (s->symbol[0])
		cell_int(&c[4], (int64_t)s->symbol_offset);
	if (s->module[0])
		cell_int(&c[6], (int64_t)s->module_offset);
	cell_text(&c[8], site_text_why(s));
}

static const struct table_column frame_cols[] = {
	NUMBER(trace_frame, stack),		NUMBER(trace_frame, nth),
	NOT_ZERO(trace_frame, upid),		NUMBER(trace_frame, addr),
};

static size_t frame_find(const struct analysis *a, int64_t key, size_t *ret_cnt)
{
	size_t cnt;
	const struct trace_frame *f = trace_stack_find(a->trace, (uint64_t)key, ret_cnt);

	return f ? (size_t)(f - trace_frames(a->trace, &cnt)) : SIZE_MAX;
}

/* ---- what was lost, what it cost ---- */

static const struct table_column loss_cols[] = {
	INSTANT(trace_loss, from_ns),		INSTANT(trace_loss, to_ns),
	{ "cpu", COLUMN_INT },			{ "class", COLUMN_TEXT },
	{ "source", COLUMN_TEXT },		{ "hook", COLUMN_TEXT },
	{ "lost_cnt", COLUMN_INT },		NUMBER(trace_loss, full_cnt),
	NUMBER(trace_loss, other_cnt),		NUMBER(trace_loss, missed_cnt),
	NUMBER(trace_loss, inferred_cnt),
};

static void loss_more(const struct analysis *a, size_t i, const void *row, struct cell *c)
{
	const struct trace_loss *l = row;
	const struct hook_name *h = hook_name_find(l->hook);

	if (l->cpu != 0xffff)
		cell_int(&c[2], l->cpu);
	cell_text(&c[3], loss_class_name(l->cls));
	cell_text(&c[4], h ? h->source : NULL);
	cell_text(&c[5], h ? h->name : NULL);
	cell_int(&c[6], (int64_t)(l->full_cnt + l->other_cnt + l->missed_cnt));
}

static const struct table_column cost_cols[] = {
	INSTANT(trace_cost, from_ns),		INSTANT(trace_cost, to_ns),
	NUMBER(trace_cost, user_ns),		NUMBER(trace_cost, sys_ns),
	NUMBER(trace_cost, bytes_written),	NUMBER(trace_cost, ring_used_max_bytes),
	NUMBER(trace_cost, ring_size_bytes),	NUMBER(trace_cost, rss_bytes),
	NUMBER(trace_cost, queue_max_bytes),	NUMBER(trace_cost, queue_size_bytes),
	NOT_ZERO(trace_cost, cpu_cnt),
};

static const struct table_column hook_stat_cols[] = {
	INSTANT(trace_hook_stat, from_ns),	INSTANT(trace_hook_stat, to_ns),
	{ "class", COLUMN_TEXT },		{ "source", COLUMN_TEXT },
	{ "hook", COLUMN_TEXT },		NUMBER(trace_hook_stat, attempted_cnt),
	NUMBER(trace_hook_stat, read_cnt),	NUMBER(trace_hook_stat, run_cnt),
	NUMBER(trace_hook_stat, run_time_ns),	NUMBER(trace_hook_stat, sampled_ns),
	NUMBER(trace_hook_stat, sampled_cnt),	NUMBER(trace_hook_stat, cost_ns),
};

static void hook_stat_more(const struct analysis *a, size_t i, const void *row, struct cell *c)
{
	const struct hook_name *h = hook_name_find(((const struct trace_hook_stat *)row)->hook);

	cell_text(&c[2], h ? loss_class_name(h->cls) : NULL);
	cell_text(&c[3], h ? h->source : NULL);
	cell_text(&c[4], h ? h->name : NULL);
}

static const struct table_column mark_cols[] = {
	INSTANT(trace_mark, ts_ns),
	COLUMN_FIELD("name", TEXT, TEXT, trace_mark, text),
	NUMBER(trace_mark, nr),			{ "origin", COLUMN_TEXT },
};

static void mark_more(const struct analysis *a, size_t i, const void *row, struct cell *c)
{
	static const char *const origins[] = { "command", "fd", "trigger" };
	unsigned int origin = ((const struct trace_mark *)row)->origin;

	cell_text(&c[3], origin < sizeof(origins) / sizeof(*origins) ? origins[origin] : NULL);
}

static const struct table_column gap_cols[] = {
	INSTANT(trace_gap, from_ns),		INSTANT(trace_gap, to_ns),
	{ "class", COLUMN_TEXT },		TEXT(trace_gap, source),
	TEXT(trace_gap, reason),		{ "cost_pct", COLUMN_REAL },
	{ "budget_pct", COLUMN_REAL },
};

static void gap_more(const struct analysis *a, size_t i, const void *row, struct cell *c)
{
	const struct trace_gap *g = row;

	cell_text(&c[2], loss_class_name(loss_source_class(g->source)));
	cell_real(&c[5], (double)g->cost_ppm / 1e4);
	cell_real(&c[6], (double)g->budget_ppm / 1e4);
}

static const struct table_column clock_cols[] = {
	COLUMN_FIELD("ts_ns", INT, INSTANT, trace_clock, mono_ns),
	NUMBER(trace_clock, mono_ns),		NUMBER(trace_clock, boot_ns),
	NUMBER(trace_clock, real_ns),		NUMBER(trace_clock, tai_ns),
	NUMBER(trace_clock, uncertainty_ns),
};

/* ---- the trace itself ---- */

static const struct table_column info_cols[] = { TEXT(trace_kv, key), TEXT(trace_kv, value) };

static const struct table_column block_cols[] = {
	{ "block", COLUMN_INT },		INSTANT(trace_block, from_ns),
	INSTANT(trace_block, to_ns),		TEXT(trace_block, file),
	COLUMN_FIELD("offset_bytes", INT, NUMBER, trace_block, offset),
	NUMBER(trace_block, bytes),		{ "event_cnt", COLUMN_INT },
};

static void block_more(const struct analysis *a, size_t i, const void *row, struct cell *c)
{
	cell_int(&c[0], (int64_t)i);
	cell_int(&c[6], (int64_t)trace_block_events(row, UINT32_MAX));
}

static const struct table_column damage_cols[] = {
	TEXT(trace_damage, file),
	COLUMN_FIELD("offset_bytes", INT, NUMBER, trace_damage, offset),
	NUMBER(trace_damage, bytes),		TEXT(trace_damage, reason),
};

static double list_row_cnt(const struct analysis *a, const struct table_def *def)
{
	const struct list *list = def->data;

	return (double)list_cnt(a, list);
}

/* clang-format off */
#define LIST_TABLE(sql_name, columns, time, key, window_, doc_, ...)                               \
	{                                                                                          \
		.name = sql_name, .doc = doc_, .cols = columns,                                    \
		.col_cnt = sizeof(columns) / sizeof(columns[0]), .time_col = time, .cpu_col = -1,  \
		.utid_col = -1, .key_col = key, .is_exported = true, .window = window_,            \
		.row_cnt = list_row_cnt,                                                           \
		.data = &(const struct list){ __VA_ARGS__ },                                       \
		.open = list_open, .step = list_step, .close = list_close,                         \
	}

const struct table_def tables_of_lists[] = {
	LIST_TABLE("processes", process_cols, -1, 0, NULL, "processes; upid is never reused",
		   process_row, process_more, process_find, process_at),
	LIST_TABLE("threads", thread_cols, -1, 0, NULL, "threads; utid is never reused",
		   thread_row, thread_more, thread_find,
		   process_of_thread_at),
	LIST_TABLE("cpus", cpu_cols, -1, -1, NULL, "CPUs that were seen", cpu_row),
	LIST_TABLE("devices", device_cols, -1, -1, NULL, "block devices", device_row, device_more),
	LIST_TABLE("names", name_cols, -1, -1, NULL,
		   "names of caches, devices, cgroups, kernel code addresses and files",
		   name_row, name_more),
	LIST_TABLE("user_sites", user_site_cols, -1, -1, NULL,
		   "what is at user-space code addresses that asked for memory",
		   row_of_sites, user_site_more),
	LIST_TABLE("stack_frames", frame_cols, -1, 0, NULL, "frames of the stacks of allocations",
		   row_of_frames, .find = frame_find),
	LIST_TABLE("task_events", task_event_cols, 0, -1, WINDOW_INSTANT,
		   "forks, execs, renames, exits, cgroup moves, snapshot rows",
		   row_of_task_events, task_event_more),
	LIST_TABLE("rss_baselines", rss_baseline_cols, -1, -1, NULL,
		   "memory of each process when the recording began", row_of_rss_baselines),
	LIST_TABLE("losses", loss_cols, -1, -1, WINDOW_INTERVAL,
		   "events that were lost, where and why", row_of_losses, loss_more),
	LIST_TABLE("cost", cost_cols, -1, -1, WINDOW_INTERVAL, "what the recorder itself used",
		   row_of_costs),
	LIST_TABLE("hook_stats", hook_stat_cols, -1, -1, WINDOW_INTERVAL,
		   "events attempted and read per kernel hook",
		   row_of_hook_stats, hook_stat_more),
	LIST_TABLE("source_gaps", gap_cols, -1, -1, NULL, "when a source was off on purpose",
		   row_of_gaps, gap_more),
	LIST_TABLE("marks", mark_cols, 0, -1, WINDOW_INSTANT, "instants with a name",
		   row_of_marks, mark_more),
	LIST_TABLE("clocks", clock_cols, 0, -1, NULL, "clocks read together", row_of_clocks),
	LIST_TABLE("info", info_cols, -1, -1, NULL, "the trace's manifest", row_of_manifest),
	LIST_TABLE("blocks", block_cols, -1, -1, WINDOW_INTERVAL, "blocks of the trace's files",
		   row_of_blocks, block_more),
	LIST_TABLE("damages", damage_cols, -1, -1, NULL,
		   "parts of files that were skipped as damaged", row_of_damages),
	{ .name = NULL },
};
