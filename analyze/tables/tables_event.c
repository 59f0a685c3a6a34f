/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * tables_event: the event tables: one row per recorded event, read with the trace's cursor. The
 * cursor skips blocks outside of the time range and rows of other CPUs; the thread is checked here,
 * before a row is built.
 *
 * Columns are declared in schema/events/. Kernel addresses have their top bit set, so they are
 * negative as SQL integers; hex(), symbol() and joins work with these.
 */
#include <stdlib.h>
#include <string.h>

#include "analyze/engine/table.h"

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

/* Maps ids to dense ids and back, so that every id is a row of threads or processes. */
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
