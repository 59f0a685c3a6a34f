/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * table_vtab: the SQLite module of all computed tables: eponymous (no CREATE needed), read only.
 *
 * Planning. idxStr has one letter per argument of xFilter, in order:
 *     g  time > ?     G  time >= ?     l  time < ?     L  time <= ?     t  time = ?
 *     c  cpu = ?      u  utid = ?      k  key = ?      0..4  argument n of a table-valued function
 * idxNum has bit i set when column i is used (bit 30: any column from 30 on). Constraints reduce
 * the rows that a table reads; SQLite still checks each row, except for the arguments, which are
 * not conditions. A table-valued function whose argument depends on a later table cannot be
 * planned.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/engine/table.h"

/*
 * A scan of a table-valued function reads its window again and computes, even if it returns few
 * rows. This is its price in the unit of estimatedCost: about a third of the cost of a decoded row.
 */
#define COMPUTE_COST 1e5

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
	bool has_key;		/* the scan is limited to the rows of this key */
	int64_t key;
	int key_plan;		/* its idxNum */
	char *texts[TABLE_ARG_MAX + 1];	/* copies of text arguments and key */
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

/* Returns the letter of a constraint, or 0 if the table does not use the constraint. */
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
 * Conditions on time and keys limit the decoding. Conditions on a thread or a CPU only limit the
 * returned rows: nearly every block has events of both, and all of its events are decoded to find
 * them.
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
	char letters[64];

	for (i = 0; i < (unsigned int)info->nConstraint && n < sizeof(letters) - 1; i++) {
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
	info->idxStr = sqlite3_mprintf("%s", letters);
	if (!info->idxStr)
		return SQLITE_NOMEM;
	info->needToFreeIdxStr = 1;
	info->idxNum = (int)(info->colUsed & 0x3fffffff) | (info->colUsed >> 30 ? 1 << 30 : 0);
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
	t->b.analysis->failed = ret;
	snprintf(t->b.analysis->failed_text, sizeof(t->b.analysis->failed_text), "%s",
		 err_text(e, ret));
	sqlite3_free(t->base.zErrMsg);
	t->base.zErrMsg = sqlite3_mprintf("%s", err_text(e, ret));
	return ret == -ENOMEM ? SQLITE_NOMEM : SQLITE_ERROR;
}

static int cursor_next(struct vtab_cursor *c)
{
	struct err e;
	int ret;

	e.text[0] = 0;	/* the rest stays uninitialized: this runs for every row */
	ret = table_scan_next(&c->scan, &c->row, &e);
	if (ret < 0)
		return vtab_fail((struct vtab *)c->base.pVtab, ret, &e);
	if (!ret)
		c->row = NULL;
	return SQLITE_OK;
}

/* Returns the bounds that v sets for an instant. False: v is not a number and sets no bounds. */
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

/* Not all bytes are set: a join calls this for every row. */
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
 * Rows of one key are often requested repeatedly: a join does so for each event of one thread.
 * True: the rows are still there.
 */
static bool has_rows_of_key(struct vtab_cursor *c, int idx_num, const char *idx_str,
			    sqlite3_value **argv)
{
	bool had_key = c->has_key && c->key_plan == idx_num;
	int64_t before = c->key;

	c->key_plan = idx_num;
	c->has_key = idx_str && idx_str[0] == 'k' && !idx_str[1] &&
		     sqlite3_value_type(argv[0]) == SQLITE_INTEGER;
	if (c->has_key)
		c->key = sqlite3_value_int64(argv[0]);
	return c->has_key && had_key && c->key == before && table_scan_rewind(&c->scan);
}

/* Reports a large scan: the blocks that its window overlaps have about this many rows. */
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
	struct err e;
	int i, ret;

	c->rowid = 0;
	if (has_rows_of_key(c, idx_num, idx_str, argv))
		return cursor_next(c);
	cursor_reset(c);
	query_init(&q);
	q.cols_used = (uint32_t)idx_num & 0x3fffffff;
	if (idx_num & (1 << 30))
		q.cols_used |= 0xc0000000u;
	for (i = 0; i < argc && idx_str && idx_str[i]; i++) {
		bool is_arg = idx_str[i] >= '0' && idx_str[i] < '0' + TABLE_ARG_MAX;

		/* a comparison with NULL is never true: the table has no matching row */
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
	.xConnect = vtab_connect,	/* without xCreate: eponymous only */
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
		/* SQLite frees b, also on failure */
		if (sqlite3_create_module_v2(a->db, d->name, &vtab_module, b, free) != SQLITE_OK)
			return err_set(e, -EIO, "table %s: %s", d->name, sqlite3_errmsg(a->db));
	}
	return 0;
}
