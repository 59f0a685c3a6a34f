/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * table_stalls: memory_stalls(from_ns, to_ns): stalls of threads due to a shortage of memory,
 * clipped to the window.
 *
 *     pressure_events of the window --[by thread and kind: begin, end]--> stalls
 *
 * An end without a begin ends a stall that counts from the window's start or the thread's creation.
 * A stall without an end lasts until the window or the thread ends. A wake-up of kswapd while it
 * runs is ignored. For other kinds, two begins without an end between them mean that the end was
 * lost: the first stall gets length 0.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/engine/table.h"
#include "base/array.h"
#include "base/hash_map.h"
#include "table_columns.h"

/* Columns of an event table: four that all event tables have, then the columns of the kind. */
enum { COL_TS_NS = 0, COL_UTID = 2, COL_ACTION = 4 + EV_PRESSURE_ACTION,
       COL_PAGES = 4 + EV_PRESSURE_PAGES };

enum stall_kind { STALL_RECLAIM, STALL_GROUP, STALL_COMPACTION, STALL_KSWAPD };

static const char *const kind_names[] = { "reclaim", "group limit", "compaction", "kswapd" };

struct stall {
	uint32_t utid;
	enum stall_kind kind;
	bool began, is_open;
	int64_t start_ns, end_ns;
	uint64_t pages;
};

struct stalls {
	struct analysis *a;
	struct table_scan scan;
	int64_t from_ns, to_ns;
	struct hash_map numbers;	/* (thread, kind) -> number */
	size_t *last;			/* by number: index in v of the last stall */
	size_t last_cap;
	struct stall *v;
	size_t cnt, cap, given;
	bool is_read;
};

static void stalls_close(void *state)
{
	struct stalls *s = state;

	table_scan_done(&s->scan);
	hash_map_done(&s->numbers);
	free(s->last);
	free(s->v);
}

static int stalls_open(struct analysis *a, const struct table_def *def, const struct table_query *q,
		       void *state, struct err *e)
{
	struct stalls *s = state;
	struct table_query events = { .cols_used = UINT64_MAX };
	int ret;

	s->a = a;
	s->from_ns = 0;
	s->to_ns = (int64_t)(a->end_ns - a->start_ns);
	ret = window_arg_ns(q, 0, "from_ns", &s->from_ns, e);
	ret = ret ?: window_arg_ns(q, 1, "to_ns", &s->to_ns, e);
	events.from_ns = s->from_ns;
	events.to_ns = s->to_ns;
	return ret ?: table_scan_open(&s->scan, a, table_find("pressure_events"), &events, e);
}

/* Converts an instant of a thread to ns from the trace's start; 0: unknown or before the trace. */
static int64_t instant(const struct stalls *s, uint64_t ts_ns)
{
	return ts_ns > s->a->start_ns ? (int64_t)(ts_ns - s->a->start_ns) : 0;
}

static const struct trace_thread *thread_of(const struct stalls *s, uint32_t utid)
{
	return trace_thread_find(s->a->trace, utid);
}

static enum stall_kind kind_of(const char *action)
{
	return !strncmp(action, "kswapd", 6) ? STALL_KSWAPD :
	       !strncmp(action, "compact", 7) ? STALL_COMPACTION :
	       !strncmp(action, "group", 5) ? STALL_GROUP : STALL_RECLAIM;
}

static bool is_begin(const char *action)
{
	return strstr(action, "_begin") || strstr(action, "_wake");
}

static int add_event(struct stalls *s, int64_t ts_ns, uint32_t utid, const char *action,
		     uint64_t pages)
{
	struct stall x = { .utid = utid, .kind = kind_of(action), .began = is_begin(action),
			   .is_open = is_begin(action), .start_ns = s->from_ns, .end_ns = ts_ns,
			   .pages = pages }, *last = NULL;
	const struct trace_thread *t = thread_of(s, utid);
	uint32_t number;
	int ret = hash_map_intern(&s->numbers, utid, x.kind, &number);

	if (ret < 0 || array_reserve(&s->last, &s->last_cap, number + 1) < 0)
		return -ENOMEM;
	if (!ret)
		last = &s->v[s->last[number]];
	if (!x.began && last && last->is_open) {
		last->is_open = false;
		last->end_ns = ts_ns;
		last->pages = pages;
		return 0;
	}
	if (x.began && last && last->is_open) {
		if (x.kind == STALL_KSWAPD)
			return 0;
		last->is_open = false;
		last->end_ns = last->start_ns;
	}
	if (x.began || last)	/* an end after another stall: its begin was lost */
		x.start_ns = ts_ns;
	else if (t && instant(s, t->start_ns) > x.start_ns)
		x.start_ns = instant(s, t->start_ns);
	if (x.start_ns > ts_ns)
		x.start_ns = ts_ns;
	s->last[number] = s->cnt;
	return array_add(&s->v, &s->cap, &s->cnt, x);
}

static int read_events(struct stalls *s, struct err *e)
{
	const struct cell *row;
	int ret;

	while ((ret = table_scan_next(&s->scan, &row, e)) > 0) {
		int64_t ts_ns = row[COL_TS_NS].i;

		if (ts_ns < s->from_ns || ts_ns >= s->to_ns)
			continue;
		ret = add_event(s, ts_ns, (uint32_t)row[COL_UTID].i,
				row[COL_ACTION].s,
				(uint64_t)row[COL_PAGES].i);
		if (ret < 0)
			return ret;
	}
	for (size_t i = 0; i < s->cnt && !ret; i++) {
		struct stall *x = &s->v[i];
		const struct trace_thread *t = thread_of(s, x->utid);

		if (!x->is_open)
			continue;
		x->end_ns = s->to_ns;
		if (t && t->end_ns && instant(s, t->end_ns) < x->end_ns)
			x->end_ns = instant(s, t->end_ns);
		if (x->end_ns < x->start_ns)
			x->end_ns = x->start_ns;
	}
	return ret;
}

static int stalls_step(void *state, struct rowbuf *out, struct err *e)
{
	struct stalls *s = state;
	int ret = s->is_read ? 0 : read_events(s, e);

	if (ret < 0)
		return ret;
	s->is_read = true;
	for (; s->given < s->cnt && out->row_cnt < TABLE_BATCH_ROWS; s->given++) {
		const struct stall *x = &s->v[s->given];
		struct cell *c = rowbuf_add(out);

		cell_int(&c[COL_MEMORY_STALLS_UTID], x->utid);
		cell_text(&c[COL_MEMORY_STALLS_KIND], kind_names[x->kind]);
		cell_int(&c[COL_MEMORY_STALLS_START_NS], x->start_ns);
		cell_int(&c[COL_MEMORY_STALLS_DUR_NS], x->end_ns - x->start_ns);
		cell_int(&c[COL_MEMORY_STALLS_BEGAN], x->began);
		cell_int(&c[COL_MEMORY_STALLS_PAGES], (int64_t)x->pages);
	}
	return s->given < s->cnt;
}

const struct table_def table_memory_stalls = {
	.name = NAME_MEMORY_STALLS, .cols = (const struct table_column[]){ COLS_MEMORY_STALLS },
	.col_cnt = COL_MEMORY_STALLS_CNT, .arg_cnt = ARGS_MEMORY_STALLS,
	.time_col = -1, .cpu_col = -1, .utid_col = -1, .key_col = -1,
	.state_bytes = sizeof(struct stalls),
	.open = stalls_open, .step = stalls_step, .close = stalls_close,
};
