/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* table: the list of tables, and iteration over their rows. */
#include "analyze/engine/table.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/engine/scan_memo.h"

#define FEW_ROWS 100.0
#define BIN_MAX 2000000
#define BATCH_KEEP_ROWS 4096

static const struct table_def *const families[] = { tables_of_lists, tables_of_events };
static const struct table_def *const others[] = {
#define X(name) &table_##name,
	TABLES_OTHER(X)
#undef X
};

static int rowbuf_grow(struct rowbuf *rb, size_t cap)
{
	struct cell *cells = realloc(rb->cells, cap * rb->col_cnt * sizeof(*cells));

	if (!cells)
		return -ENOMEM;
	rb->cells = cells;
	rb->row_cap = cap;
	return 0;
}

struct cell *rowbuf_add(struct rowbuf *rb)
{
	struct cell *row;

	/* without memory the last row is overwritten: the step fails anyway */
	if (rb->row_cnt == rb->row_cap && rowbuf_grow(rb, rb->row_cap * 2) < 0) {
		rb->failed = true;
		rb->row_cnt--;
	}
	row = &rb->cells[rb->row_cnt++ * rb->col_cnt];
	memset(row, 0, rb->col_cnt * sizeof(*row));
	return row;
}

const struct table_def *table_at(unsigned int n)
{
	const struct table_def *d;

	for (size_t i = 0; i < sizeof(families) / sizeof(families[0]); i++)
		for (d = families[i]; d->name; d++)
			if (!n--)
				return d;
	return n < sizeof(others) / sizeof(others[0]) ? others[n] : NULL;
}

const struct table_def *table_find(const char *name)
{
	const struct table_def *d;
	unsigned int i = 0;

	while ((d = table_at(i)) && sqlite3_stricmp(d->name, name))
		i++;
	return d;
}

static uint64_t number_at(const void *field, unsigned int bytes)
{
	switch (bytes) {
	case 1:
		return *(const uint8_t *)field;
	case 2:
		return *(const uint16_t *)field;
	case 4:
		return *(const uint32_t *)field;
	default:
		return *(const uint64_t *)field;
	}
}

static void number_cell(const struct analysis *a, const struct table_column *col, uint64_t v,
			struct cell *c)
{
	switch (col->use) {
	case FIELD_FLAG:
		cell_int(c, !!(v & col->mask));
		break;
	case FIELD_INSTANT:
		cell_int(c, context_rel(a, v));
		break;
	case FIELD_KNOWN_INSTANT:
		if (v)
			cell_int(c, context_rel(a, v));
		break;
	case FIELD_THREAD:
		cell_int(c, dense_utid(&a->ids, dense_thread(&a->ids, (uint32_t)v)));
		break;
	case FIELD_PROCESS:
		cell_int(c, dense_upid(&a->ids, dense_process(&a->ids, (uint32_t)v)));
		break;
	default:
		if (v || col->use == FIELD_NUMBER)
			cell_int(c, (int64_t)v);
	}
}

void table_row_cells(const struct analysis *a, const struct table_def *def, uint32_t cols_used,
		     const void *row, struct cell *c)
{
	cols_used &= (1u << def->col_cnt) - 1;
	for (; cols_used; cols_used &= cols_used - 1) {
		unsigned int i = (unsigned int)__builtin_ctz(cols_used);
		const struct table_column *col = &def->cols[i];
		const void *field = (const uint8_t *)row + col->offset;
		const char *text;

		if (col->use == FIELD_TEXT || col->use == FIELD_NOT_EMPTY) {
			text = *(const char *const *)field;
			if (col->use == FIELD_TEXT || (text && *text))
				cell_text(&c[i], text);
		} else if (col->use) {
			number_cell(a, col, number_at(field, col->bytes), &c[i]);
		}
	}
}

double table_row_cnt(const struct analysis *a, const struct table_def *def)
{
	size_t cnt, i;
	const struct trace_block *blocks = trace_blocks(a->trace, &cnt);
	double sum = 0;

	if (!def->kinds)
		return def->row_cnt ? def->row_cnt(a, def) : FEW_ROWS;
	for (i = 0; i < cnt; i++)
		sum += (double)trace_block_events(&blocks[i], def->kinds);
	return sum / def->events_per_row;
}

/* Fills the scan with rows that an equal one made before. */
static int open_kept(struct table_scan *s, const struct rowbuf *kept)
{
	size_t cnt = kept->row_cnt * kept->col_cnt;

	if (s->rows.row_cap < kept->row_cnt && rowbuf_grow(&s->rows, kept->row_cnt) < 0)
		return -ENOMEM;
	if (cnt)
		memcpy(s->rows.cells, kept->cells, cnt * sizeof(*kept->cells));
	s->rows.row_cnt = kept->row_cnt;
	s->at = 0;
	s->is_whole = true;
	return 0;
}

int table_scan_open(struct table_scan *s, struct analysis *a, const struct table_def *def,
		    const struct table_query *q, struct err *e)
{
	const struct rowbuf *kept;
	int ret;

	s->a = a;
	s->has_key = q->has_key;
	s->def = def;
	s->rows.col_cnt = def->col_cnt + def->arg_cnt;
	s->is_kept = scan_memo_takes(a, def, q);
	kept = s->is_kept ? scan_memo_find(a, def, q) : NULL;
	if (kept)
		return open_kept(s, kept);
	if (s->is_kept)
		s->query = *q;
	s->state = calloc(1, def->state_bytes);
	ret = s->state ? def->open(a, def, q, s->state, e) : -ENOMEM;
	if (ret < 0)
		table_scan_close(s);
	s->more = s->is_first = !ret;
	return ret;
}

int table_scan_fill(struct table_scan *s, struct err *e)
{
	int ret;

	if (!s->more)
		return 0;
	if (*s->a->stop)
		return err_set(e, -EINTR, "given up");
	/* a step that made many rows is often followed by another one */
	if ((!s->rows.cells ||
	     (s->rows.row_cap > BATCH_KEEP_ROWS && s->rows.row_cnt < s->rows.row_cap / 4)) &&
	    rowbuf_grow(&s->rows, TABLE_BATCH_ROWS) < 0)
		return -ENOMEM;
	s->rows.row_cnt = s->at = 0;
	s->rows.failed = false;
	while (s->more && !s->rows.row_cnt) {
		ret = s->def->step(s->state, &s->rows, e);
		ret = s->rows.failed ? -ENOMEM : ret;
		if (ret < 0)
			return ret;
		s->more = ret > 0;
	}
	if (!s->has_key)
		atomic_fetch_add_explicit(&s->a->rows_made, s->rows.row_cnt, memory_order_relaxed);
	s->is_whole = s->is_first && !s->more;
	if (s->is_kept && s->is_whole)
		scan_memo_keep(s->a, s->def, &s->query, &s->rows);
	s->is_first = false;
	return s->rows.row_cnt > 0;
}

void table_scan_close(struct table_scan *s)
{
	if (s->state && s->def->close)
		s->def->close(s->state);
	free(s->state);
	s->state = NULL;
	s->rows.row_cnt = s->at = 0;
	s->more = s->is_whole = false;
}

void table_scan_done(struct table_scan *s)
{
	table_scan_close(s);
	free(s->rows.cells);
	memset(s, 0, sizeof(*s));
}

/* ---- windows: unsigned differences, so that a "from" before time 0 works too ---- */

int window_arg_ns(const struct table_query *q, unsigned int i, const char *name, int64_t *v,
		  struct err *e)
{
	const struct cell *c = &q->args[i];

	if (c->type == VALUE_NULL)
		return 0;
	if (c->type == VALUE_REAL && c->r > -9.2e18 && c->r < 9.2e18)
		*v = (int64_t)c->r;
	else if (c->type == VALUE_INT)
		*v = c->i;
	else
		return err_set(e, -EINVAL, "argument %s: a number of nanoseconds is expected",
			       name);
	return 0;
}

int window_init(struct window *w, const struct analysis *a, const struct table_query *q,
		struct err *e)
{
	int64_t every = 0;
	int ret;

	memset(w, 0, sizeof(*w));
	w->to = context_rel(a, a->end_ns);
	ret = window_arg_ns(q, 0, "from_ns", &w->from, e);
	ret = ret ?: window_arg_ns(q, 1, "to_ns", &w->to, e);
	ret = ret ?: window_arg_ns(q, 2, "every_ns", &every, e);
	if (ret < 0)
		return ret;
	if (every < 0)
		return err_set(e, -EINVAL, "argument every_ns: must not be negative");
	if (w->to < w->from)
		w->to = w->from;
	w->every_ns = (uint64_t)every;
	if (every == WINDOW_OWN_BINS && a->bin_cnt) {
		w->edges = a->bin_edges;
		w->edge_cnt = a->bin_cnt + 1;
	}
	w->start_ns = a->start_ns;
	w->span_end_ns = a->end_ns;
	w->base_ns = a->start_ns + (uint64_t)w->from;
	w->from_ns = context_abs(a, w->from);
	w->to_ns = context_abs(a, w->to);
	context_clip(a, &w->from_ns, &w->to_ns);
	if (w->from_ns == w->to_ns)
		return 0;
	w->first_bin = window_bin(w, w->from_ns);
	w->end_bin = window_bin(w, w->to_ns - 1) + 1;
	if (w->end_bin - w->first_bin > BIN_MAX)
		return err_set(
			e, -E2BIG,
			"%llu bins are more than %d: choose a longer bin or a shorter window",
			(unsigned long long)(w->end_bin - w->first_bin), BIN_MAX);
	return 0;
}

void window_cells(const struct window *w, uint64_t bin, struct cell *c)
{
	uint64_t from, to;
	int64_t t = w->from, end = w->to;

	window_bin_span(w, bin, &from, &to);
	if (w->edges) {
		t = (int64_t)(from - w->start_ns);
		end = (int64_t)(to - w->start_ns);
	} else if (w->every_ns) {
		t = (int64_t)((uint64_t)w->from + bin * w->every_ns);
		if ((uint64_t)w->to - (uint64_t)t > w->every_ns)
			end = (int64_t)((uint64_t)t + w->every_ns);
	}
	cell_int(&c[0], t);
	cell_int(&c[1], end);
	cell_int(&c[2], (int64_t)(to - from));
}

int window_grouping(struct grouping *g, const struct analysis *a, const struct cell *arg,
		    struct err *e)
{
	unsigned int by = KEY(PROCESS);
	int ret;

	if (arg->type != VALUE_NULL && (arg->type != VALUE_TEXT || !keys_parse(arg->s, &by)))
		return err_set(e, -EINVAL,
			       "argument by: keys such as 'process', 'comm,container' or 'none' "
			       "are expected");
	ret = grouping_init(g, &a->ids, by);
	return ret < 0 ? err_set(e, ret, "out of memory") : 0;
}
