/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * The event tables: one row per kept event, straight from the trace's cursor. Time is pushed down
 * to the cursor, which skips blocks, and so is cpu, of which it skips the others' rows; the thread is
 * checked here, before a row is built.
 *
 * Columns are those of EVENT_COLUMNS. Kernel addresses have their top bit set and so are negative
 * as SQL integers; hex(), symbol() and joins do not mind.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/irq_name.h"
#include "analyze/table.h"

#define BATCH_ROWS 256
#define FIXED_COLS 4	/* ts_ns, cpu, utid, irq or preempted */

struct event_scan {
	struct analysis *a;
	struct event_cursor *cursor;
	struct table_query q;
	unsigned int kind, value_cnt;
};

#define FIXED(fourth)                                                                              \
	{ "ts_ns", COLUMN_INT }, { "cpu", COLUMN_INT }, { "utid", COLUMN_INT },                    \
	{                                                                                          \
		fourth, COLUMN_INT                                                                 \
	}

/* The lists repeat the names of EVENT_COLUMNS with their SQL type; a test holds them together. */
static const struct table_column switch_cols[] = {
	FIXED("preempted"),
	{ "next_utid", COLUMN_INT }, { "prev_state", COLUMN_INT },
	{ "prev_prio", COLUMN_INT }, { "next_prio", COLUMN_INT },
};
static const struct table_column wakeup_cols[] = {
	FIXED("irq"),
	{ "target_utid", COLUMN_INT }, { "target_cpu", COLUMN_INT },
	{ "prio", COLUMN_INT }, { "is_new", COLUMN_INT },
};
static const struct table_column slab_alloc_cols[] = {
	FIXED("irq"),
	{ "addr", COLUMN_INT }, { "bytes_req", COLUMN_INT }, { "bytes", COLUMN_INT },
	{ "call_site", COLUMN_INT }, { "cache", COLUMN_INT },
};
static const struct table_column slab_free_cols[] = {
	FIXED("irq"), { "addr", COLUMN_INT }, { "cache", COLUMN_INT },
};
static const struct table_column page_alloc_cols[] = {
	FIXED("irq"),
	{ "pfn", COLUMN_INT }, { "page_order", COLUMN_INT }, { "gfp", COLUMN_INT },
	{ "migratetype", COLUMN_INT },
};
static const struct table_column page_free_cols[] = {
	FIXED("irq"), { "pfn", COLUMN_INT }, { "page_order", COLUMN_INT },
};
static const struct table_column rss_cols[] = {
	FIXED("irq"), { "upid", COLUMN_INT }, { "member", COLUMN_TEXT }, { "bytes", COLUMN_INT },
};
static const struct table_column vm_cols[] = {
	FIXED("irq"),
	{ "upid", COLUMN_INT }, { "op", COLUMN_TEXT }, { "addr", COLUMN_INT },
	{ "len_bytes", COLUMN_INT }, { "total_vm_bytes", COLUMN_INT },
};
static const struct table_column block_cols[] = {
	FIXED("irq"),
	{ "action", COLUMN_TEXT }, { "rq", COLUMN_INT }, { "dev", COLUMN_INT },
	{ "sector", COLUMN_INT }, { "bytes", COLUMN_INT }, { "cmd_flags", COLUMN_INT },
	{ "done_bytes", COLUMN_INT }, { "status", COLUMN_INT }, { "part", COLUMN_INT },
	{ "ino", COLUMN_INT }, { "ino_dev", COLUMN_INT }, { "pages", COLUMN_TEXT },
	{ "owner_upid", COLUMN_INT }, { "owner_how", COLUMN_TEXT },
};
static const struct table_column heap_alloc_cols[] = {
	FIXED("irq"), { "addr", COLUMN_INT }, { "bytes", COLUMN_INT }, { "call_site", COLUMN_INT },
};
static const struct table_column heap_free_cols[] = {
	FIXED("irq"), { "addr", COLUMN_INT },
};
static const struct table_column dirty_cols[] = {
	FIXED("irq"), { "ino", COLUMN_INT }, { "ino_dev", COLUMN_INT },
};

static const struct table_column irq_cols[] = {
	FIXED("irq"),
	{ "action", COLUMN_TEXT }, { "type", COLUMN_TEXT }, { "vector", COLUMN_INT },
	{ "handled", COLUMN_INT },
};

static const struct table_column stack_cols[] = {
	FIXED("irq"),
	{ "source", COLUMN_TEXT }, { "stack", COLUMN_INT }, { "addr", COLUMN_INT },
	{ "bytes", COLUMN_INT },
};

static double events_row_cnt(const struct analysis *a, const struct table_def *def)
{
	size_t cnt, i;
	const struct trace_block *blocks = trace_blocks(a->trace, &cnt);
	double sum = 0;

	for (i = 0; i < cnt; i++)
		sum += (double)blocks[i].kind_cnt[def->kind];
	return sum;
}

static int events_open(struct analysis *a, const struct table_def *def, const struct table_query *q,
		       void **ret_state, struct err *e)
{
	struct event_scan *s = calloc(1, sizeof(*s));
	uint32_t columns[EVENT_KIND_CNT] = { 0 };
	uint64_t from_ns;
	int ret;

	if (!s)
		return err_set(e, -ENOMEM, "out of memory");
	s->a = a;
	s->q = *q;
	s->kind = def->kind;
	s->value_cnt = event_kind_values(def->kind);
	columns[def->kind] = q->cols_used >> FIXED_COLS & ((1u << EVENT_VALUES) - 1);
	if ((q->cols_used & 1u << 2) || q->has_utid)
		columns[def->kind] |= EVENT_COL_UTID;
	if (columns[EVENT_BLOCK] & 1u << EV_BLOCK_OWNER_UPID)
		columns[EVENT_BLOCK] |= 1u << EV_BLOCK_OWNER_HOW;
	/* a switch's flags say, too, that next was left out of the recording */
	if ((q->cols_used & 1u << 3) || def->kind == EVENT_SWITCH)
		columns[def->kind] |= EVENT_COL_FLAGS;
	from_ns = q->from_ns == INT64_MIN ? 0 : context_abs(a, q->from_ns);
	if (from_ns < trace_carried_ns(a->trace))
		from_ns = trace_carried_ns(a->trace);
	ret = event_cursor_open_columns(
				&s->cursor, a->trace, 1u << def->kind, columns, from_ns,
				q->to_ns == INT64_MAX ? UINT64_MAX : context_abs(a, q->to_ns), e);
	if (ret < 0) {
		free(s);
		return ret;
	}
	/* an id that no thread has stands for every unknown one */
	if (q->has_utid && q->utid >= EVENT_ID_FIRST && q->utid <= UINT32_MAX)
		event_cursor_want_thread(s->cursor, (uint32_t)q->utid);
	/* a number that no CPU can have: none has any event */
	if (q->has_cpu)
		event_cursor_want_cpu(s->cursor, q->cpu >= 0 && q->cpu <= UINT16_MAX
							 ? (uint32_t)q->cpu
							 : UINT32_MAX);
	*ret_state = s;
	return 0;
}

static void events_close(void *state)
{
	struct event_scan *s = state;

	event_cursor_close(s->cursor);
	free(s);
}

static const char *name_of(uint64_t v, const char *const *names, unsigned int cnt)
{
	return v < cnt ? names[v] : "?";
}

static void name_values(const struct event *ev, struct cell *c)
{
	static const char *const members[] = { "file", "anon", "swap", "shmem" };
	static const char *const ops[] = { "other", "mmap", "munmap", "brk", "mremap" };
	static const char *const actions[] = { "?",	"insert", "issue", "complete", "requeue",
					       "error", "merge",  "start", "done" };
	static const char *const pages[] = { "none", "file",   "disk",	"anon",
					     "swap", "mapped", "kernel" };
	static const char *const irq_actions[] = { "?", "entry", "exit" };
	static const char *const hows[] = { NULL, "dirtied", "dirtied_shared", "dirtied_mixed" };

	switch (ev->kind) {
	case EVENT_RSS:
		cell_text(&c[FIXED_COLS + EV_RSS_MEMBER],
			  name_of(ev->v[EV_RSS_MEMBER], members, 4));
		break;
	case EVENT_VM:
		cell_text(&c[FIXED_COLS + EV_VM_OP], name_of(ev->v[EV_VM_OP], ops, 5));
		break;
	case EVENT_BLOCK:
		cell_text(&c[FIXED_COLS + EV_BLOCK_ACTION],
			  name_of(ev->v[EV_BLOCK_ACTION], actions, 9));
		cell_text(&c[FIXED_COLS + EV_BLOCK_PAGES],
			  name_of(ev->v[EV_BLOCK_PAGES], pages, 7));
		cell_text(&c[FIXED_COLS + EV_BLOCK_OWNER_HOW],
			  name_of(ev->v[EV_BLOCK_OWNER_HOW], hows, 4));
		break;
	case EVENT_STACK:
		cell_text(&c[FIXED_COLS + EV_STACK_OF],
			  ev->v[EV_STACK_OF] == EVENT_SLAB_ALLOC ? "slab" :
			  ev->v[EV_STACK_OF] == EVENT_PAGE_ALLOC ? "page" :
			  ev->v[EV_STACK_OF] == EVENT_HEAP_ALLOC ? "heap" : "?");
		break;
	case EVENT_IRQ:
		cell_text(&c[FIXED_COLS + EV_IRQ_ACTION],
			  name_of(ev->v[EV_IRQ_ACTION], irq_actions, 3));
		cell_text(&c[FIXED_COLS + EV_IRQ_TYPE], irq_type_name(ev->v[EV_IRQ_TYPE]));
		break;
	default:
		break;
	}
}

/* Ids go through ident, so that every one of them is a row of threads or processes. */
static void known_ids(const struct ident *d, const struct event *ev, struct cell *c)
{
	switch (ev->kind) {
	case EVENT_SWITCH:
		c[FIXED_COLS + EV_SWITCH_NEXT].i =
			ev->flags & EVENT_F_NEXT_OUT
				? EVENT_ID_FILTERED
				: ident_utid(d, ident_thread(d, (uint32_t)ev->v[EV_SWITCH_NEXT]));
		break;
	case EVENT_WAKEUP:
		c[FIXED_COLS + EV_WAKEUP_TARGET].i =
			ident_utid(d, ident_thread(d, (uint32_t)ev->v[EV_WAKEUP_TARGET]));
		break;
	case EVENT_RSS:
	case EVENT_VM:
		c[FIXED_COLS].i = ident_upid(d, ident_process(d, (uint32_t)ev->v[EV_RSS_UPID]));
		break;
	case EVENT_BLOCK:
		if (ev->v[EV_BLOCK_OWNER_HOW])
			c[FIXED_COLS + EV_BLOCK_OWNER_UPID].i = ident_upid(
				d, ident_process(d, (uint32_t)ev->v[EV_BLOCK_OWNER_UPID]));
		else
			c[FIXED_COLS + EV_BLOCK_OWNER_UPID].type = VALUE_NULL;
		break;
	default:
		break;
	}
}

static int events_step(void *state, struct rowbuf *out, struct err *e)
{
	struct event_scan *s = state;
	const struct ident *d = &s->a->ident;
	const struct event *ev;
	struct cell *c;
	unsigned int i;
	uint32_t utid;
	int ret;

	while (out->row_cnt < BATCH_ROWS) {
		ret = event_cursor_next(s->cursor, &ev, e);
		if (ret <= 0)
			return ret;
		utid = ident_utid(d, ident_thread(d, ev->utid));
		if (s->q.has_utid && s->q.utid != utid)
			continue;
		c = rowbuf_add(out);
		if (!c)
			return err_set(e, -ENOMEM, "out of memory");
		cell_int(&c[0], context_rel(s->a, ev->ts_ns));
		cell_int(&c[1], ev->cpu);
		cell_int(&c[2], utid);
		cell_int(&c[3],
			 !!(ev->flags & (s->kind == EVENT_SWITCH ? EVENT_F_PREEMPT : EVENT_F_IRQ)));
		for (i = 0; i < s->value_cnt; i++)
			cell_int(&c[FIXED_COLS + i], (int64_t)ev->v[i]);
		known_ids(d, ev, c);
		name_values(ev, c);
	}
	return 1;
}

#define EVENT_TABLE(sql_name, kind_, columns, doc_)                                                \
	{                                                                                          \
		.name = sql_name, .doc = doc_, .cols = columns,                                    \
		.col_cnt = sizeof(columns) / sizeof(columns[0]), .time_col = 0, .cpu_col = 1,      \
		.utid_col = 2, .key_col = -1, .is_ordered = true, .is_event_table = true,          \
		.is_exported = true, .kind = kind_, .row_cnt = events_row_cnt,                     \
		.open = events_open, .step = events_step, .close = events_close,                   \
	}

const struct table_def tables_of_events[] = {
	EVENT_TABLE("switches", EVENT_SWITCH, switch_cols,
		    "context switches: utid leaves the CPU, next_utid gets it"),
	EVENT_TABLE("wakeups", EVENT_WAKEUP, wakeup_cols, "utid makes target_utid runnable"),
	EVENT_TABLE("slab_allocs", EVENT_SLAB_ALLOC, slab_alloc_cols,
		    "kmalloc and kmem_cache allocations"),
	EVENT_TABLE("slab_frees", EVENT_SLAB_FREE, slab_free_cols, "kfree and kmem_cache frees"),
	EVENT_TABLE("page_allocs", EVENT_PAGE_ALLOC, page_alloc_cols, "page allocations"),
	EVENT_TABLE("page_frees", EVENT_PAGE_FREE, page_free_cols, "page frees"),
	EVENT_TABLE("rss_points", EVENT_RSS, rss_cols,
		    "a resident memory counter of a process changed"),
	EVENT_TABLE("vm_points", EVENT_VM, vm_cols, "the mapped size of a process changed"),
	EVENT_TABLE("block_events", EVENT_BLOCK, block_cols, "steps in the life of block requests"),
	EVENT_TABLE("heap_allocs", EVENT_HEAP_ALLOC, heap_alloc_cols,
		    "user-space heap allocations"),
	EVENT_TABLE("heap_frees", EVENT_HEAP_FREE, heap_free_cols, "user-space heap frees"),
	EVENT_TABLE("dirty_events", EVENT_DIRTY, dirty_cols,
		    "a process made pages of a file dirty, and was not the last to have done so"),
	EVENT_TABLE("irq_events", EVENT_IRQ, irq_cols,
		    "a CPU begins or ends to serve an interrupt, in utid's time"),
	EVENT_TABLE("stack_samples", EVENT_STACK, stack_cols,
		    "stacks of allocations, of those that record --stacks picked"),
	{ .name = NULL },
};
