/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* scan_memo: a short list of queries and their rows, searched from its start. */
#include "analyze/engine/scan_memo.h"

#include <stdlib.h>
#include <string.h>

#include "base/strpool.h"

#define ENTRIES_MAX 64
#define ROWS_MAX 4096	/* of an entry */

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

static void drop_entries(struct scan_memo *m)
{
	while (m->cnt)
		free(m->entries[--m->cnt].rows.cells);
	strpool_free(m->texts);
	m->texts = NULL;
}

void scan_memo_begin(struct analysis *a)
{
	scan_memo_end(a);
	a->scan_memo = calloc(1, sizeof(*a->scan_memo));
}

void scan_memo_end(struct analysis *a)
{
	if (a->scan_memo)
		drop_entries(a->scan_memo);
	free(a->scan_memo);
	a->scan_memo = NULL;
}

void scan_memo_clear(struct analysis *a)
{
	if (a->scan_memo)
		drop_entries(a->scan_memo);
}

bool scan_memo_takes(const struct analysis *a, const struct table_def *def,
		     const struct table_query *q)
{
	return a->scan_memo && def->arg_cnt && !def->kinds && !q->has_cpu && !q->has_utid &&
	       !q->has_key && !q->merge && !q->is_of_activity;
}

static bool is_same_cell(const struct cell *a, const struct cell *b)
{
	return a->type == b->type &&
	       (a->type == VALUE_NULL ||
		(a->type == VALUE_TEXT ? !strcmp(a->s, b->s) : a->i == b->i));
}

/* Some tables group rows by the columns that are asked for, so these have to be equal. */
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

const struct rowbuf *scan_memo_find(const struct analysis *a, const struct table_def *def,
				    const struct table_query *q)
{
	const struct scan_memo *m = a->scan_memo;

	for (size_t i = 0; i < m->cnt; i++)
		if (m->entries[i].def == def && is_same_query(def, &m->entries[i].q, q))
			return &m->entries[i].rows;
	return NULL;
}

/* Replaces texts, which the table may free, by copies. False: no memory. */
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

void scan_memo_keep(struct analysis *a, const struct table_def *def, const struct table_query *q,
		    const struct rowbuf *rows)
{
	struct scan_memo *m = a->scan_memo;
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
