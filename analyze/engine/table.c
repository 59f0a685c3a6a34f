/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* table: the list of tables, iteration over their rows, and the SQLite module that reads them. */
#include "analyze/engine/table.h"

#include <errno.h>
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/analyze.h"
#include "base/strpool.h"

/* scan_memo: a short list of queries with their rows, searched linearly. */

#define ENTRIES_MAX 64
#define ROWS_MAX 4096	/* limit of rows per entry */

struct memo_entry {
	const struct table_def *def;
	struct table_query q;
	struct rowbuf rows;
};

struct scan_memo {
	struct strpool *texts;
	struct memo_entry entries[ENTRIES_MAX];
	size_t cnt;
};

struct scan_memo *scan_memo_new(void)
{
	return calloc(1, sizeof(struct scan_memo));
}

void scan_memo_clear(struct scan_memo *m)
{
	while (m && m->cnt)
		free(m->entries[--m->cnt].rows.cells);
}

void scan_memo_free(struct scan_memo *m)
{
	scan_memo_clear(m);
	if (m)
		strpool_free(m->texts);
	free(m);
}

bool scan_memo_takes(const struct scan_memo *m, const struct table_def *def,
		     const struct table_query *q)
{
	return m && def->arg_cnt && !def->kinds && !q->has_cpu && !q->has_utid &&
	       !q->has_key && !q->merge && !q->is_of_activity;
}

static bool is_same_cell(const struct cell *a, const struct cell *b)
{
	return a->type == b->type &&
	       (a->type == VALUE_NULL ||
		(a->type == VALUE_TEXT ? !strcmp(a->s, b->s) : a->i == b->i));
}

/* Compares the used columns, too, because some tables group rows by them. */
static bool is_same_query(const struct table_def *def, const struct table_query *kept,
			  const struct table_query *q)
{
	if (kept->cols_used != q->cols_used && !def->fills_all)
		return false;
	for (unsigned int i = 0; i < TABLE_ARG_MAX; i++)
		if (!is_same_cell(&kept->args[i], &q->args[i]))
			return false;
	return kept->from_ns == q->from_ns && kept->to_ns == q->to_ns;
}

const struct rowbuf *scan_memo_find(const struct scan_memo *m, const struct table_def *def,
				    const struct table_query *q)
{
	for (size_t i = 0; i < m->cnt; i++)
		if (m->entries[i].def == def && is_same_query(def, &m->entries[i].q, q))
			return &m->entries[i].rows;
	return NULL;
}

/* Replaces texts, which the table may free, by copies. Returns false if memory is exhausted. */
static bool keep_texts(struct scan_memo *m, struct cell *cells, size_t cnt)
{
	for (size_t i = 0; i < cnt; i++) {
		if (cells[i].type != VALUE_TEXT)
			continue;
		cells[i].s = strpool_put(m->texts, cells[i].s);
		if (!cells[i].s)
			return false;
	}
	return true;
}

void scan_memo_keep(struct scan_memo *m, const struct table_def *def, const struct table_query *q,
		    const struct rowbuf *rows)
{
	struct memo_entry e = { def, *q, *rows };
	size_t cnt = rows->row_cnt * rows->col_cnt;

	if (m->cnt == ENTRIES_MAX || rows->row_cnt > ROWS_MAX ||
	    (!m->texts && strpool_new(&m->texts) < 0))
		return;
	e.rows.row_cap = rows->row_cnt;
	e.rows.cells = malloc((cnt + 1) * sizeof(*e.rows.cells));
	if (!e.rows.cells)
		return;
	if (cnt)
		memcpy(e.rows.cells, rows->cells, cnt * sizeof(*e.rows.cells));
	if (keep_texts(m, e.rows.cells, cnt) && keep_texts(m, e.q.args, TABLE_ARG_MAX))
		m->entries[m->cnt++] = e;
	else
		free(e.rows.cells);
}

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

	/* out of memory: overwrite the last row, because the step will fail anyway */
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

void table_row_cells(const struct analysis *a, const struct table_def *def, uint64_t cols_used,
		     const void *row, struct cell *c)
{
	cols_used &= (1ull << def->col_cnt) - 1;
	for (; cols_used; cols_used &= cols_used - 1) {
		unsigned int i = (unsigned int)__builtin_ctzll(cols_used);
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

/* Fills the scan with the kept rows of an equal query. */
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

/* Keeps the memory of rows for the next scan. */
static void table_scan_close(struct table_scan *s)
{
	if (s->state && s->def->close)
		s->def->close(s->state);
	free(s->state);
	s->state = NULL;
	s->rows.row_cnt = s->at = 0;
	s->more = s->is_whole = false;
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
	s->memo = scan_memo_takes(a->question->memo, def, q) ? a->question->memo : NULL;
	kept = s->memo ? scan_memo_find(s->memo, def, q) : NULL;
	if (kept)
		return open_kept(s, kept);
	if (s->memo)
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
	/* keep a large buffer if the last step used much of it */
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
	if (s->memo && s->is_whole)
		scan_memo_keep(s->memo, s->def, &s->query, &s->rows);
	s->is_first = false;
	return s->rows.row_cnt > 0;
}

void table_scan_done(struct table_scan *s)
{
	table_scan_close(s);
	free(s->rows.cells);
	memset(s, 0, sizeof(*s));
}

/* ---- windows: unsigned differences, to support a "from" before time 0 ---- */

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
	if (every == WINDOW_OWN_BINS && a->question->edge_cnt) {
		w->edges = a->question->edges;
		w->edge_cnt = a->question->edge_cnt;
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

/*
 * table_vtab: the SQLite module of all computed tables: eponymous (no CREATE needed), read only.
 *
 * Planning. idxStr has one letter per argument of xFilter, in order:
 *     g  time > ?     G  time >= ?     l  time < ?     L  time <= ?     t  time = ?
 *     c  cpu = ?      u  utid = ?      k  key = ?      0..4  argument n of a table-valued function
 * Bit i of idxNum is set if column i is used. Bits of columns from PLAN_COLS on, if any is set,
 * follow the letters after a space, in hexadecimal. Constraints reduce the rows that a table reads;
 * SQLite checks each row again. Arguments are not conditions, and are not checked. A table-valued
 * function whose argument depends on a later table cannot be planned.
 */

/*
 * Cost of a scan of a table-valued function, which reads its window again even if it returns few
 * rows. A unit of estimatedCost is about a third of the cost of a decoded row.
 */
#define COMPUTE_COST 1e5
#define PLAN_COLS 30		/* number of columns with a bit in idxNum */
#define PLAN_LETTERS 64

struct vtab_binding {
	struct analysis *analysis;
	const struct table_def *def;
};

struct vtab {
	sqlite3_vtab base;
	struct vtab_binding b;
};

struct vtab_cursor {
	sqlite3_vtab_cursor base;
	struct table_scan scan;
	const struct cell *row;	/* NULL: end */
	int64_t rowid;
	bool has_key;		/* the scan is limited to the rows with this key */
	int64_t key;
	int key_plan;		/* idxNum of the scan with this key */
	char *texts[TABLE_ARG_MAX + 1];	/* copies of text arguments and of the key */
};

static int vtab_connect(sqlite3 *db, void *aux, int argc, const char *const *argv,
			sqlite3_vtab **ret, char **err)
{
	static const char *const types[] = { "INTEGER", "REAL", "TEXT" };
	const struct vtab_binding *b = aux;
	const struct table_def *def = b->def;
	sqlite3_str *s = sqlite3_str_new(db);
	struct vtab *t;
	char *ddl;
	int rc;

	sqlite3_str_appendf(s, "CREATE TABLE x(");
	for (unsigned int i = 0; i < def->col_cnt + def->arg_cnt; i++)
		sqlite3_str_appendf(s, "%s\"%w\" %s%s", i ? ", " : "", def->cols[i].name,
				    types[def->cols[i].type], i >= def->col_cnt ? " HIDDEN" : "");
	sqlite3_str_appendf(s, ")");
	ddl = sqlite3_str_finish(s);
	if (!ddl)
		return SQLITE_NOMEM;
	b->analysis->declaring = true;
	rc = sqlite3_declare_vtab(db, ddl);
	b->analysis->declaring = false;
	sqlite3_free(ddl);
	if (rc != SQLITE_OK)
		return rc;
	sqlite3_vtab_config(db, SQLITE_VTAB_INNOCUOUS);
	t = sqlite3_malloc(sizeof(*t));
	if (!t)
		return SQLITE_NOMEM;
	memset(t, 0, sizeof(*t));
	t->b = *b;
	*ret = &t->base;
	return SQLITE_OK;
}

static int vtab_disconnect(sqlite3_vtab *t)
{
	sqlite3_free(t);
	return SQLITE_OK;
}

/* Returns the letter of a constraint; 0: the table cannot use it. */
static char plan_letter(const struct table_def *def, const struct sqlite3_index_constraint *c)
{
	static const char time_letters[] = {
		[SQLITE_INDEX_CONSTRAINT_GT] = 'g', [SQLITE_INDEX_CONSTRAINT_GE] = 'G',
		[SQLITE_INDEX_CONSTRAINT_LT] = 'l', [SQLITE_INDEX_CONSTRAINT_LE] = 'L',
		[SQLITE_INDEX_CONSTRAINT_EQ] = 't',
	};
	bool eq = c->op == SQLITE_INDEX_CONSTRAINT_EQ;

	if (c->iColumn >= (int)def->col_cnt)
		return eq ? (char)('0' + c->iColumn - (int)def->col_cnt) : 0;
	if (c->iColumn < 0)
		return 0;
	if (c->iColumn == def->time_col)
		return c->op < sizeof(time_letters) ? time_letters[c->op] : 0;
	if (def->end_col && c->iColumn == def->end_col)
		return c->op == SQLITE_INDEX_CONSTRAINT_GT || c->op == SQLITE_INDEX_CONSTRAINT_GE ?
			       time_letters[c->op] : 0;
	if (!eq)
		return 0;
	return c->iColumn == def->cpu_col ? 'c' : c->iColumn == def->utid_col ? 'u' :
	       c->iColumn == def->key_col ? 'k' : 0;
}

static double letter_selectivity(char letter)
{
	return letter == 't' || letter == 'k' ? 1e-6 : letter == 'u' ? 0.02 :
	       letter == 'c' ? 0.25 : 0.1;
}

/*
 * Returns whether a condition reduces decoding. Conditions on time and keys do. Conditions on a
 * thread or a CPU only reduce the returned rows: nearly every block has events of each thread and
 * CPU, and is decoded as a whole.
 */
static bool letter_saves_decoding(char letter)
{
	return letter != 'u' && letter != 'c';
}

static int vtab_best_index(sqlite3_vtab *vt, sqlite3_index_info *info)
{
	const struct vtab *t = (const struct vtab *)vt;
	double rows = table_row_cnt(t->b.analysis, t->b.def), decoded = rows;
	unsigned int i, n = 0;
	unsigned long long used;
	char letters[PLAN_LETTERS + 16];

	for (i = 0; i < (unsigned int)info->nConstraint && n < PLAN_LETTERS - 1; i++) {
		const struct sqlite3_index_constraint *c = &info->aConstraint[i];
		char letter = plan_letter(t->b.def, c);

		if (!letter)
			continue;
		if (!c->usable) {
			if (letter >= '0' && letter <= '9')
				return SQLITE_CONSTRAINT;
			continue;
		}
		letters[n++] = letter;
		info->aConstraintUsage[i].argvIndex = (int)n;
		info->aConstraintUsage[i].omit = letter >= '0' && letter <= '9';
		if (letter >= '0' && letter <= '9')
			continue;
		rows *= letter_selectivity(letter);
		if (letter_saves_decoding(letter))
			decoded *= letter_selectivity(letter);
	}
	letters[n] = 0;
	used = info->colUsed & ((1ull << t->b.def->col_cnt) - 1);
	if (used >> PLAN_COLS)
		snprintf(letters + n, sizeof(letters) - n, " %llx", used >> PLAN_COLS);
	info->idxStr = sqlite3_mprintf("%s", letters);
	if (!info->idxStr)
		return SQLITE_NOMEM;
	info->needToFreeIdxStr = 1;
	info->idxNum = (int)(used & ((1u << PLAN_COLS) - 1));
	if (rows < 1)
		rows = 1;
	info->estimatedRows = (sqlite3_int64)rows;
	info->estimatedCost = decoded * 2 + rows + 10 +
			      (t->b.def->arg_cnt && !t->b.def->kinds ? COMPUTE_COST : 0);
	if (t->b.def->is_ordered && info->nOrderBy == 1 && !info->aOrderBy[0].desc &&
	    info->aOrderBy[0].iColumn == t->b.def->time_col)
		info->orderByConsumed = 1;
	return SQLITE_OK;
}

static int vtab_open(sqlite3_vtab *vt, sqlite3_vtab_cursor **ret)
{
	struct vtab_cursor *c = sqlite3_malloc(sizeof(*c));

	if (!c)
		return SQLITE_NOMEM;
	memset(c, 0, sizeof(*c));
	*ret = &c->base;
	return SQLITE_OK;
}

static void cursor_reset(struct vtab_cursor *c)
{
	table_scan_close(&c->scan);
	c->row = NULL;
	for (size_t i = 0; i < sizeof(c->texts) / sizeof(c->texts[0]); i++) {
		free(c->texts[i]);
		c->texts[i] = NULL;
	}
}

static int vtab_close(sqlite3_vtab_cursor *vc)
{
	struct vtab_cursor *c = (struct vtab_cursor *)vc;

	cursor_reset(c);
	table_scan_done(&c->scan);
	sqlite3_free(c);
	return SQLITE_OK;
}

static int vtab_fail(struct vtab *t, int ret, const struct err *e)
{
	sqlite3_free(t->base.zErrMsg);
	t->base.zErrMsg = sqlite3_mprintf("%s", err_text(e, ret));
	return ret == -ENOMEM ? SQLITE_NOMEM : TABLE_ERROR(-ret);
}

static int cursor_next(struct vtab_cursor *c)
{
	struct err e;
	int ret;

	e.text[0] = 0;	/* called for every row, so the rest stays uninitialized */
	ret = table_scan_next(&c->scan, &c->row, &e);
	if (ret < 0)
		return vtab_fail((struct vtab *)c->base.pVtab, ret, &e);
	if (!ret)
		c->row = NULL;
	return SQLITE_OK;
}

/* Returns the bounds that v sets for an instant. False: v is not a number, and sets no bounds. */
static bool instant_bounds(sqlite3_value *v, int64_t *ret_floor, int64_t *ret_ceil)
{
	double r;

	switch (sqlite3_value_numeric_type(v)) {
	case SQLITE_INTEGER:
		*ret_floor = *ret_ceil = sqlite3_value_int64(v);
		return true;
	case SQLITE_FLOAT:
		r = sqlite3_value_double(v);
		if (!(r > -9.2e18 && r < 9.2e18))
			return false;
		*ret_floor = (int64_t)floor(r);
		*ret_ceil = (int64_t)ceil(r);
		return true;
	default:
		return false;
	}
}

static int64_t after(int64_t ts)
{
	return ts == INT64_MAX ? ts : ts + 1;
}

static void narrow_time(struct table_query *q, char letter, sqlite3_value *v)
{
	int64_t lo, hi;

	if (!instant_bounds(v, &lo, &hi))
		return;
	if ((letter == 'g' || letter == 'G' || letter == 't') && lo > q->from_ns)
		q->from_ns = lo;
	if ((letter == 'l' || letter == 'L' || letter == 't')) {
		int64_t to = letter == 'l' ? hi : after(hi);

		if (to < q->to_ns)
			q->to_ns = to;
	}
}

/* Called for every row of a join, so not all bytes are set. */
static void query_init(struct table_query *q)
{
	q->from_ns = INT64_MIN;
	q->to_ns = INT64_MAX;
	q->has_cpu = q->has_utid = q->has_key = q->is_of_activity = false;
	q->merge = NULL;
	for (unsigned int i = 0; i < TABLE_ARG_MAX; i++)
		q->args[i].type = VALUE_NULL;
}

static int take_cell(struct vtab_cursor *c, struct cell *ret, sqlite3_value *v, unsigned int slot)
{
	switch (sqlite3_value_type(v)) {
	case SQLITE_INTEGER:
		cell_int(ret, sqlite3_value_int64(v));
		return 0;
	case SQLITE_FLOAT:
		cell_real(ret, sqlite3_value_double(v));
		return 0;
	case SQLITE_NULL:
		ret->type = VALUE_NULL;
		return 0;
	default:
		free(c->texts[slot]);
		c->texts[slot] =
			strdup(sqlite3_value_text(v) ? (const char *)sqlite3_value_text(v) : "");
		cell_text(ret, c->texts[slot]);
		return c->texts[slot] ? 0 : -ENOMEM;
	}
}

static int take_constraint(struct vtab_cursor *c, struct table_query *q, char letter,
			   sqlite3_value *v)
{
	bool is_int = sqlite3_value_type(v) == SQLITE_INTEGER;

	switch (letter) {
	case 'c':
		q->has_cpu = is_int;
		q->cpu = sqlite3_value_int64(v);
		return 0;
	case 'u':
		q->has_utid = is_int;
		q->utid = sqlite3_value_int64(v);
		return 0;
	case 'k':
		q->has_key = sqlite3_value_type(v) != SQLITE_NULL;
		return take_cell(c, &q->key, v, TABLE_ARG_MAX);
	default:
		if (letter >= '0' && letter < '0' + TABLE_ARG_MAX)
			return take_cell(c, &q->args[letter - '0'], v,
					 (unsigned int)(letter - '0'));
		narrow_time(q, letter, v);
		return 0;
	}
}

/*
 * Returns whether the cursor still has the rows of the requested key: a join often requests the
 * same key repeatedly, e.g. for each event of a thread.
 */
static bool has_rows_of_key(struct vtab_cursor *c, int idx_num, const char *idx_str,
			    sqlite3_value **argv)
{
	bool had_key = c->has_key && c->key_plan == idx_num;
	int64_t before = c->key;

	c->key_plan = idx_num;
	c->has_key = idx_str && idx_str[0] == 'k' && (!idx_str[1] || idx_str[1] == ' ') &&
		     sqlite3_value_type(argv[0]) == SQLITE_INTEGER;
	if (c->has_key)
		c->key = sqlite3_value_int64(argv[0]);
	return c->has_key && had_key && c->key == before && table_scan_rewind(&c->scan);
}

/* Reports a scan with many rows; their number is estimated from the blocks in its window. */
static void watch_scan(const struct analysis *a, const struct table_def *def,
		       const struct table_query *q)
{
	const struct analysis_scan_watch *w = &a->scan_watch;
	uint64_t rows;

	if (!w->say || !def->kinds || q->has_key)
		return;
	rows = (uint64_t)((double)context_events(a, def->kinds, context_abs(a, q->from_ns),
						 context_abs(a, q->to_ns)) / def->events_per_row);
	if (rows >= w->rows_max)
		w->say(w->ctx, def->name, rows);
}

void analysis_watch_scans(struct analysis *a, const struct analysis_scan_watch *watch)
{
	a->scan_watch = *watch;
}

static int vtab_filter(sqlite3_vtab_cursor *vc, int idx_num, const char *idx_str, int argc,
		       sqlite3_value **argv)
{
	struct vtab_cursor *c = (struct vtab_cursor *)vc;
	struct vtab *t = (struct vtab *)c->base.pVtab;
	struct table_query q;
	const char *more;
	struct err e;
	int i, ret;

	c->rowid = 0;
	if (has_rows_of_key(c, idx_num, idx_str, argv))
		return cursor_next(c);
	cursor_reset(c);
	query_init(&q);
	q.cols_used = (uint32_t)idx_num;
	more = idx_str ? strchr(idx_str, ' ') : NULL;
	if (more)
		q.cols_used |= strtoull(more, NULL, 16) << PLAN_COLS;
	for (i = 0; i < argc && idx_str && idx_str[i]; i++) {
		bool is_arg = idx_str[i] >= '0' && idx_str[i] < '0' + TABLE_ARG_MAX;

		/* a comparison with NULL is never true, so no row matches */
		if (!is_arg && sqlite3_value_type(argv[i]) == SQLITE_NULL)
			return SQLITE_OK;
		if (take_constraint(c, &q, idx_str[i], argv[i]) < 0)
			return SQLITE_NOMEM;
	}
	e.text[0] = 0;
	watch_scan(t->b.analysis, t->b.def, &q);
	ret = table_scan_open(&c->scan, t->b.analysis, t->b.def, &q, &e);
	return ret < 0 ? vtab_fail(t, ret, &e) : cursor_next(c);
}

static int vtab_next(sqlite3_vtab_cursor *vc)
{
	struct vtab_cursor *c = (struct vtab_cursor *)vc;

	c->rowid++;
	return cursor_next(c);
}

static int vtab_eof(sqlite3_vtab_cursor *vc)
{
	return !((struct vtab_cursor *)vc)->row;
}

static int vtab_column(sqlite3_vtab_cursor *vc, sqlite3_context *ctx, int col)
{
	const struct cell *x = &((struct vtab_cursor *)vc)->row[col];

	switch (x->type) {
	case VALUE_INT:
		sqlite3_result_int64(ctx, x->i);
		break;
	case VALUE_REAL:
		sqlite3_result_double(ctx, x->r);
		break;
	case VALUE_TEXT:
		sqlite3_result_text(ctx, x->s, -1, SQLITE_TRANSIENT);
		break;
	default:
		break;
	}
	return SQLITE_OK;
}

static int vtab_rowid(sqlite3_vtab_cursor *vc, sqlite3_int64 *ret)
{
	*ret = ((struct vtab_cursor *)vc)->rowid;
	return SQLITE_OK;
}

static const sqlite3_module vtab_module = {
	.iVersion = 2,
	.xConnect = vtab_connect,	/* no xCreate: eponymous only */
	.xBestIndex = vtab_best_index,
	.xDisconnect = vtab_disconnect,
	.xDestroy = vtab_disconnect,
	.xOpen = vtab_open,
	.xClose = vtab_close,
	.xFilter = vtab_filter,
	.xNext = vtab_next,
	.xEof = vtab_eof,
	.xColumn = vtab_column,
	.xRowid = vtab_rowid,
};

int table_vtab_register(struct analysis *a, struct err *e)
{
	const struct table_def *d;
	struct vtab_binding *b;

	for (unsigned int i = 0; (d = table_at(i)); i++) {
		b = malloc(sizeof(*b));
		if (!b)
			return err_set(e, -ENOMEM, "out of memory");
		b->analysis = a;
		b->def = d;
		/* SQLite frees b, even on failure */
		if (sqlite3_create_module_v2(a->db, d->name, &vtab_module, b, free) != SQLITE_OK)
			return err_set(e, -EIO, "table %s: %s", d->name, sqlite3_errmsg(a->db));
	}
	return 0;
}
