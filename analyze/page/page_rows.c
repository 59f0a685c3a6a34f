/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * page_rows: a key is numbered column by column: each pair (number of the key so far, next value)
 * gets a number.
 *
 * If there are too many rows to keep, the first scan keeps only the sums for the ranking. A second
 * scan keeps the rows of the keys that get their own rows on the page, and adds up the rows of all
 * other keys. A sparse table may have a row per bin of each sleeping thread, but the page shows
 * only a few of these threads. In this case the first scan omits sleeps, and the second scan merges
 * the rows of all other tasks (merge_task).
 */
#include "analyze/page/page_rows.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/context/context.h"
#include "analyze/context/keys.h"
#include "analyze/context/scope.h"
#include "analyze/engine/table.h"
#include "analyze/fold/index.h"
#include "base/array.h"
#include "base/hash_map.h"
#include "base/strpool.h"
#include "base/textsafe.h"

#define NULL_VALUE UINT64_MAX
#define ROWS_SPARSE 250000	/* sparse tables that may have more rows are scanned twice */
#define ROWS_KEPT 500000	/* tables with more rows are scanned twice */
#define NAMES_KEPT 30	/* limit of names of processes without their own rows */
#define SCAN_TRIES 3	/* limit of attempts if the index is damaged */

struct page_key {
	uint32_t before;	/* number of the key without its last column */
	unsigned int column;
	uint64_t value;		/* an id, an address in texts, or NULL_VALUE */
	size_t last;		/* index of its last row + 1; 0: none */
	uint64_t total, rows;	/* sum of the measure, and number of rows; for ranked keys */
	bool is_named, has_others, is_rest;
	uint64_t others;	/* see others_of(); valid if has_others */
};

struct page_row {
	size_t bin;
	uint32_t key;
	int64_t values[PAGE_VALUES_MAX];
};

struct page_rows {
	struct analysis *a;
	const struct page_rows_def *def;
	const struct page_bins *bins;
	const struct table_def *table;
	unsigned int key_cnt, value_cnt;
	int key_cols[PAGE_KEYS_MAX], value_cols[PAGE_VALUES_MAX], without_col, name_col;
	bool is_text[PAGE_KEYS_MAX], is_max[PAGE_VALUES_MAX];
	struct strpool *texts;
	struct hash_map key_numbers;
	struct page_key *keys;
	size_t key_cap;
	struct page_row *rows;
	size_t row_cnt, row_cap;
	size_t bin;		/* bin of the previous row */
	/* key with the highest measure in the current bin so far; values[0] is the measure */
	struct page_row leader;
	bool is_of_command;	/* a command was recorded */
	bool is_crowded;	/* the table is sparse, and is scanned twice */
	bool is_counted;	/* there are too many rows to keep: the first scan only counts */
	bool is_named;		/* second scan: the keys with their own rows have been chosen */
	/* names by which tasks without their own rows are added up, as (name, 0) */
	struct hash_map kept;
	/* second scan, by dense task: task whose row includes it + 1; 0: not determined yet */
	uint32_t *merged;
	/* maps (others_of() of a task, 0) to an index in firsts */
	struct hash_map merged_names;
	uint32_t *firsts;		/* the task whose row includes all tasks of this index */
	size_t first_cap;
};

static int column_of(const struct table_def *t, const char *name)
{
	for (unsigned int i = 0; i < t->col_cnt; i++)
		if (!strcmp(t->cols[i].name, name))
			return (int)i;
	return -1;
}

static void find_columns(struct page_rows *p)
{
	const struct page_rows_def *d = p->def;

	for (; p->key_cnt < PAGE_KEYS_MAX && d->keys[p->key_cnt]; p->key_cnt++) {
		p->key_cols[p->key_cnt] = column_of(p->table, d->keys[p->key_cnt]);
		p->is_text[p->key_cnt] =
			p->table->cols[p->key_cols[p->key_cnt]].type == COLUMN_TEXT;
	}
	for (; p->value_cnt < PAGE_VALUES_MAX && d->values[p->value_cnt]; p->value_cnt++) {
		const char *name = d->values[p->value_cnt];

		p->is_max[p->value_cnt] = *name == '^';
		p->value_cols[p->value_cnt] = column_of(p->table, name + (*name == '^'));
	}
	p->without_col = d->without ? column_of(p->table, d->without) : -1;
	p->name_col = column_of(p->table, "name");
}

/* ---- keys and rows ---- */

static int key_add(struct page_rows *p, uint32_t *key, unsigned int column, uint64_t value)
{
	uint32_t before = *key;
	/* a number belongs to only one column, so keys of different columns differ in `before` */
	int ret = hash_map_intern(&p->key_numbers, before, value, key);

	if (ret <= 0)
		return ret;
	if (array_reserve(&p->keys, &p->key_cap, *key + 1) < 0)
		return -ENOMEM;
	p->keys[*key] = (struct page_key){ .before = before, .column = column, .value = value };
	return 0;
}

/*
 * Returns whether the column is ignored: submitter and reason are part of the key only if the owner
 * is unknown.
 */
static bool is_blank(const struct page_rows *p, unsigned int i, const struct cell *row)
{
	return i >= 3 && strcmp(row[p->name_col].s, "[unknown]") != 0;
}

static int key_of(struct page_rows *p, const struct cell *row, uint32_t *ret)
{
	uint32_t key = UINT32_MAX;
	int r = 0;

	for (unsigned int i = 0; i < p->key_cnt && r >= 0; i++) {
		const struct cell *c = &row[p->key_cols[i]];
		uint64_t value = (uint64_t)c->i;

		if (c->type == VALUE_NULL || is_blank(p, i, row)) {
			value = NULL_VALUE;
		} else if (p->is_text[i]) {
			const char *text = strpool_put(p->texts, c->s);

			if (!text)
				return -ENOMEM;
			value = (uintptr_t)text;
		}
		r = key_add(p, &key, i, value);
	}
	*ret = key;
	return r;
}

static bool is_utid(const struct page_rows *p, unsigned int column)
{
	return !strcmp(p->def->keys[column], "utid");
}

/* Returns whether this key column is a process or a thread. */
static bool is_task(const struct page_rows *p, unsigned int column)
{
	const char *name = p->def->keys[column];

	return !strcmp(name, "upid") || !strcmp(name, "utid");
}

/*
 * Returns whether a command was recorded, but the key's task is neither part of it nor the
 * recorder's.
 */
static bool is_rest(const struct page_rows *p, const struct page_key *k)
{
	const struct dense_ids *ids = &p->a->ids;
	const struct trace_process *r;
	uint32_t task;

	if (!p->is_of_command || k->value > UINT32_MAX || !is_task(p, k->column))
		return false;
	task = (uint32_t)k->value;
	r = dense_process_row(ids, is_utid(p, k->column) ?
					   dense_process_of(ids, dense_thread(ids, task)) :
					   dense_process(ids, task));
	return r && !(r->flags & (TRACE_TASK_WORKLOAD | TRACE_TASK_RECORDER));
}

/*
 * Returns the prefix and name of a key's task; equal names are the same pointer. NULL: unknown
 * task.
 */
static const char *name_of(struct page_rows *p, const struct page_key *k)
{
	const struct dense_ids *ids = &p->a->ids;
	char text[80];
	const char *name = NULL;
	uint32_t task;

	if (k->value == NULL_VALUE || !is_task(p, k->column))
		return NULL;
	if (is_utid(p, k->column)) {
		task = dense_thread(ids, (uint32_t)k->value);
		name = dense_thread_row(ids, task) ? dense_thread_comm(ids, task) : NULL;
	} else {
		task = dense_process(ids, (uint32_t)k->value);
		name = dense_process_row(ids, task) ? dense_process_comm(ids, task) : NULL;
	}
	if (!name)
		return NULL;
	snprintf(text, sizeof(text), "%c%s", is_rest(p, k) ? 'r' : 'w', name);
	return strpool_put(p->texts, text);
}

/*
 * Returns the value that replaces a key's task if it has no row of its own: the task's name, if it
 * is in p->kept, otherwise the empty name of the rest, or NULL_VALUE.
 */
static uint64_t others_of(struct page_rows *p, struct page_key *k)
{
	uint32_t n;

	if (!k->has_others) {
		const char *name = name_of(p, k);

		k->others = NULL_VALUE;
		if (name && hash_map_find(&p->kept, (uintptr_t)name, 0, &n))
			k->others = (uintptr_t)name;
		else if (is_rest(p, k))
			k->others = (uintptr_t)strpool_put(p->texts, "r");
		k->has_others = true;
	}
	return k->others;
}

/* Finds the same key, with its task replaced by others_of(). */
static int key_of_others(struct page_rows *p, uint32_t key, uint32_t *ret)
{
	uint64_t values[PAGE_KEYS_MAX];
	int r = 0;

	for (unsigned int i = p->key_cnt; i--; key = p->keys[key].before)
		values[i] = is_task(p, i) ? others_of(p, &p->keys[key]) : p->keys[key].value;
	*ret = UINT32_MAX;
	for (unsigned int i = 0; i < p->key_cnt && r >= 0; i++)
		r = key_add(p, ret, i, values[i]);
	return r;
}

/* Returns the ranked prefix of a key. */
static struct page_key *ranked_key(const struct page_rows *p, uint32_t key)
{
	while (p->keys[key].column >= p->def->ranked)
		key = p->keys[key].before;
	return &p->keys[key];
}

/* Adds values to a row. Rows of a bin are adjacent. */
static int row_add(struct page_rows *p, size_t bin, uint32_t key, const int64_t *values)
{
	struct page_key *k = &p->keys[key];
	struct page_row *row;

	/* after forget_rows(), k->last may be the index of another key's row */
	if (!k->last || k->last > p->row_cnt || p->rows[k->last - 1].bin != bin ||
	    p->rows[k->last - 1].key != key) {
		if (array_reserve(&p->rows, &p->row_cap, p->row_cnt + 1) < 0)
			return -ENOMEM;
		row = &p->rows[p->row_cnt++];
		*row = (struct page_row){ .bin = bin, .key = key };
		memcpy(row->values, values, p->value_cnt * sizeof(*values));
		k->last = p->row_cnt;
		return 0;
	}
	row = &p->rows[k->last - 1];
	for (unsigned int i = 0; i < p->value_cnt; i++) {
		if (!p->is_max[i])
			row->values[i] += values[i];
		else if (values[i] > row->values[i])
			row->values[i] = values[i];
	}
	return 0;
}

static int64_t measure(const struct page_rows *p, const int64_t *values)
{
	int64_t sum = 0;

	for (unsigned int i = 0; i < p->def->measured; i++)
		sum += values[i];
	return sum;
}

/* Marks the key with the highest measure in the last bin as a key with its own rows. */
static void name_leader(struct page_rows *p)
{
	if (p->leader.values[0])
		ranked_key(p, p->leader.key)->is_named = true;
	p->leader.values[0] = 0;
}

static void count_row(struct page_rows *p, size_t bin, uint32_t key, const int64_t *values)
{
	struct page_key *k = ranked_key(p, key);
	int64_t m = measure(p, values);

	k->total += (uint64_t)m;
	k->rows++;
	if (p->leader.bin != bin)
		name_leader(p);
	if (m > p->leader.values[0])
		p->leader = (struct page_row){ .bin = bin, .key = key, .values = { m } };
}

static void forget_rows(struct page_rows *p)
{
	p->rows = NULL;
	p->row_cnt = p->row_cap = p->bin = 0;
}

static void count_rows(struct page_rows *p)
{
	for (size_t i = 0; i < p->row_cnt; i++)
		count_row(p, p->rows[i].bin, p->rows[i].key, p->rows[i].values);
}

/* Starts to count rows instead of keeping them. */
static void begin_to_count(struct page_rows *p)
{
	size_t bin = p->bin;

	count_rows(p);
	free(p->rows);
	forget_rows(p);
	p->bin = bin;
	p->is_counted = true;
}

static bool is_left_out(const struct page_rows *p, const struct cell *row)
{
	const struct cell *c = &row[p->without_col];

	return p->def->without_text ? !strcmp(c->s, p->def->without_text) :
				      c->i == EVENT_ID_UNKNOWN;
}

static int take_row(struct page_rows *p, const struct cell *row)
{
	uint64_t ts_ns = context_abs(p->a, row[0].i);
	int64_t values[PAGE_VALUES_MAX];
	uint32_t key;
	int ret;

	if (p->without_col >= 0 && is_left_out(p, row))
		return 0;
	if (p->bins->edges[p->bin] != ts_ns)
		p->bin = page_bin_of(p->bins, ts_ns);
	ret = key_of(p, row, &key);
	if (ret < 0)
		return ret;
	/* the maximum of no values is -1 */
	for (unsigned int i = 0; i < p->value_cnt; i++)
		values[i] = row[p->value_cols[i]].type == VALUE_NULL ? -p->is_max[i] :
								      row[p->value_cols[i]].i;
	if (p->is_named && !ranked_key(p, key)->is_named)
		ret = key_of_others(p, key, &key);
	if (!p->is_named && p->def->ranked && p->row_cnt >= ROWS_KEPT)
		begin_to_count(p);
	if (p->is_counted && !p->is_named) {
		count_row(p, p->bin, key, values);
		return 0;
	}
	return ret < 0 ? ret : row_add(p, p->bin, key, values);
}

/* ---- the second scan of a sparse table ---- */

/* Returns whether the only key is a thread, not a process. */
static bool is_of_threads(const struct page_rows *p)
{
	return p->def->keys[0][1] == 't';
}

static size_t task_cnt(const struct page_rows *p)
{
	return is_of_threads(p) ? p->a->ids.thread_cnt : p->a->ids.process_cnt;
}

/* Sets *ret to the first task for which this function was called with the same `others`. */
static int merge_others(struct page_rows *p, uint64_t others, uint32_t task, uint32_t *ret)
{
	uint32_t n;
	int r = hash_map_intern(&p->merged_names, others, 0, &n);

	if (r < 0 || array_reserve(&p->firsts, &p->first_cap, n + 1ull) < 0)
		return -ENOMEM;
	if (r)
		p->firsts[n] = task;
	*ret = p->firsts[n];
	return 0;
}

/* Implements group_merge.into(): returns the task whose row includes a dense task. */
static uint32_t merge_task(void *ctx, uint32_t task)
{
	struct page_rows *p = ctx;
	uint32_t key = UINT32_MAX, into = task;
	uint64_t id;

	if (!p->merged)
		p->merged = calloc(task_cnt(p), sizeof(*p->merged));
	if (!p->merged)
		return GROUPING_FAILED;
	if (p->merged[task])
		return p->merged[task] - 1;
	id = is_of_threads(p) ? dense_utid(&p->a->ids, task) : dense_upid(&p->a->ids, task);
	if (key_add(p, &key, 0, id) < 0)
		return GROUPING_FAILED;
	if (!p->keys[key].is_named && merge_others(p, others_of(p, &p->keys[key]), task, &into) < 0)
		return GROUPING_FAILED;
	p->merged[task] = into + 1;
	return into;
}

/* Scans the table. with: other rows to be filled in the same scan; NULL: none. */
static int scan(struct page_rows *p, struct page_rows *with, struct err *e)
{
	struct table_query q = { .from_ns = INT64_MIN, .to_ns = INT64_MAX,
				 .is_of_activity = p->is_crowded && !p->is_named };
	const struct group_merge merge = { merge_task, p };
	struct table_scan s = { 0 };
	const struct cell *row;
	int ret;

	if (p->is_crowded && p->is_named)
		q.merge = &merge;
	cell_int(&q.args[0], context_rel(p->a, p->bins->edges[0]));
	cell_int(&q.args[1], context_rel(p->a, p->bins->edges[p->bins->cnt - 1]));
	cell_int(&q.args[2], WINDOW_OWN_BINS);
	cell_text(&q.args[3], p->def->by);
	for (unsigned int i = 0; i < p->value_cnt; i++)
		q.cols_used |= 1ull << p->value_cols[i];
	for (unsigned int i = 0; with && i < with->value_cnt; i++)
		q.cols_used |= 1ull << with->value_cols[i];
	ret = table_scan_open(&s, p->a, p->table, &q, e);
	while (!ret && (ret = table_scan_next(&s, &row, e)) > 0) {
		ret = take_row(p, row);
		if (!ret && with)
			ret = take_row(with, row);
	}
	table_scan_done(&s);
	return ret;
}

/* ---- keys with their own rows ---- */

static int by_total(const void *a, const void *b)
{
	const struct page_key *x = *(struct page_key *const *)a, *y = *(struct page_key *const *)b;

	if (x->is_rest != y->is_rest)
		return x->is_rest - y->is_rest;
	return x->total != y->total ? (x->total < y->total) - (x->total > y->total) :
				      (x > y) - (x < y);
}

/* Processes with the same name. */
struct page_name {
	const char *text;
	uint64_t total;		/* sum of the measure of the processes without their own rows */
	bool is_kept;
};

static int by_name_total(const void *a, const void *b)
{
	const struct page_name *x = *(struct page_name *const *)a,
			       *y = *(struct page_name *const *)b;

	return x->total != y->total ? (x->total < y->total) - (x->total > y->total) :
				      (x > y) - (x < y);
}

/*
 * Selects the names by which processes without their own rows are added up: the names_kept names
 * with the largest sum, and the names of processes with their own rows, so that the rows of such a
 * name are complete. ranking has cnt keys.
 */
static int name_others(struct page_rows *p, struct page_key *const *ranking, size_t cnt,
		       size_t names_kept)
{
	struct page_name *names = calloc(cnt + 1, sizeof(*names));
	struct page_name **order = calloc(cnt + 1, sizeof(*order));
	struct hash_map numbers = { 0 };
	uint32_t n;
	int r = names && order ? 0 : -ENOMEM;

	for (size_t i = 0; i < cnt && r >= 0; i++) {
		const char *text = name_of(p, ranking[i]);

		r = text ? hash_map_intern(&numbers, (uintptr_t)text, 0, &n) : 0;
		if (!text || r < 0)
			continue;
		names[n].text = text;
		names[n].is_kept |= ranking[i]->is_named;
		names[n].total += ranking[i]->is_named ? 0 : ranking[i]->total;
	}
	for (size_t i = 0; i < numbers.cnt && r >= 0; i++)
		order[i] = &names[i];
	if (r >= 0)
		qsort(order, numbers.cnt, sizeof(struct page_name *), by_name_total);
	for (size_t i = 0; i < numbers.cnt && r >= 0; i++)
		if (i < names_kept || order[i]->is_kept)
			r = hash_map_intern(&p->kept, (uintptr_t)order[i]->text, 0, &n);
	hash_map_done(&numbers);
	free(order);
	free(names);
	return r < 0 ? r : 0;
}

/* Returns the number of bins in which a key's task lived; it has a row in each. */
static size_t bins_of_life(const struct page_rows *p, const struct page_key *k)
{
	const struct dense_ids *ids = &p->a->ids;
	uint64_t from = 0, to = 0;

	if (is_of_threads(p)) {
		const struct trace_thread *t =
			dense_thread_row(ids, dense_thread(ids, (uint32_t)k->value));

		if (t)
			from = t->start_ns, to = t->end_ns;
	} else {
		const struct trace_process *r =
			dense_process_row(ids, dense_process(ids, (uint32_t)k->value));

		if (r)
			from = r->start_ns, to = r->end_ns;
	}
	/* the last edge is the end of the window */
	to = to ? page_bin_of(p->bins, to) : p->bins->cnt - 1;
	from = page_bin_of(p->bins, from + 1);
	return to - (from ? from - 1 : 0) + !to;
}

static int name_keys(struct page_rows *p, size_t rows_wanted)
{
	size_t cnt = p->key_numbers.cnt, n = 0, rows = 0, names_kept;
	struct page_key **ranking = calloc(cnt + 1, sizeof(*ranking));
	int ret;

	if (!ranking)
		return -ENOMEM;
	count_rows(p);
	for (size_t i = 0; i < cnt; i++) {
		if (!p->keys[i].rows)
			continue;
		p->keys[i].is_rest = is_rest(p, &p->keys[i]);
		ranking[n++] = &p->keys[i];
		if (p->is_crowded)
			p->keys[i].rows = bins_of_life(p, &p->keys[i]);
	}
	qsort(ranking, n, sizeof(*ranking), by_total);
	for (size_t i = 0; i < n && (rows += ranking[i]->rows) <= rows_wanted &&
			   (!p->def->named_max || i < p->def->named_max);
	     i++)
		ranking[i]->is_named = true;
	if (p->def->named_max) {
		free(ranking);
		return 0;
	}
	name_leader(p);
	names_kept = rows_wanted / 2 / (p->bins->cnt - 1 ?: 1);
	ret = name_others(p, ranking, n, names_kept < NAMES_KEPT ? names_kept : NAMES_KEPT);
	free(ranking);
	return ret;
}

/* Adds up the rows of keys without their own rows. */
static int fold_others(struct page_rows *p)
{
	struct page_row *rows = p->rows;
	size_t cnt = p->row_cnt;
	int ret = 0;

	forget_rows(p);
	for (size_t i = 0; i < cnt && !ret; i++) {
		uint32_t key = rows[i].key;

		if (!ranked_key(p, key)->is_named)
			ret = key_of_others(p, key, &key);
		if (!ret)
			ret = row_add(p, rows[i].bin, key, rows[i].values);
	}
	free(rows);
	return ret;
}

/* ---- output ---- */

static void put_keys(const struct page_rows *p, uint32_t key, struct value *values)
{
	for (unsigned int i = p->key_cnt; i--; key = p->keys[key].before) {
		uint64_t v = p->keys[key].value;

		/* a value above all ids is the address of a name */
		values[i] = v == NULL_VALUE ? value_null() :
			    p->is_text[i] || v > UINT32_MAX ?
					      value_text((const char *)(uintptr_t)v) :
					      value_int(v);
	}
}

static int put_rows(const struct page_rows *p, const struct row_sink *out)
{
	const char *names[1 + PAGE_KEYS_MAX + PAGE_VALUES_MAX] = { "t_ns" };
	struct value values[1 + PAGE_KEYS_MAX + PAGE_VALUES_MAX];
	unsigned int n = 1;
	int ret;

	for (unsigned int i = 0; i < p->key_cnt; i++)
		names[n++] = p->def->keys[i];
	for (unsigned int i = 0; i < p->value_cnt; i++)
		names[n++] = p->def->values[i] + p->is_max[i];
	ret = out->section(out->ctx, p->def->result);
	if (!ret)
		ret = out->begin(out->ctx, n, names);
	for (size_t i = 0; i < p->row_cnt && !ret; i++) {
		const struct page_row *r = &p->rows[i];

		values[0] = value_int((uint64_t)context_rel(p->a, p->bins->edges[r->bin]));
		put_keys(p, r->key, &values[1]);
		for (unsigned int k = 0; k < p->value_cnt; k++)
			values[1 + p->key_cnt + k] = p->is_max[k] && r->values[k] < 0 ?
				value_null() : value_int((uint64_t)r->values[k]);
		ret = out->row(out->ctx, values);
	}
	return ret ? ret : out->end(out->ctx);
}

/* Writes the number of keys without their own rows, by others_of(). */
static int put_other_counts(struct page_rows *p, const struct row_sink *out)
{
	static const char *const names[] = { "upid", "source", "cnt_of" };
	unsigned int column = p->def->ranked - 1;
	struct hash_map numbers = { 0 };
	struct value *counts = NULL;	/* three values per row */
	size_t cap = 0;
	char title[64];
	uint32_t n;
	int ret = 0;

	for (size_t i = 0; i < p->key_numbers.cnt && ret >= 0; i++) {
		struct page_key *k = &p->keys[i];
		uint64_t others, source;

		if (k->column != column || k->is_named || k->value > UINT32_MAX)
			continue;
		others = others_of(p, k);
		source = column ? p->keys[k->before].value : NULL_VALUE;
		ret = hash_map_intern(&numbers, others, source, &n);
		if (ret > 0)
			ret = array_reserve(&counts, &cap, 3 * (n + 1ull)) ?: 1;
		if (ret < 0 || !counts)
			break;
		if (ret) {
			counts[3 * n] = others == NULL_VALUE ? value_null() :
						value_text((const char *)(uintptr_t)others);
			counts[3 * n + 1] = source == NULL_VALUE ? value_null() :
						value_text((const char *)(uintptr_t)source);
			counts[3 * n + 2] = value_int(0);
		}
		counts[3 * n + 2].i++;
	}
	snprintf(title, sizeof(title), "others_of_%s", p->def->result);
	ret = ret < 0 ? ret : out->section(out->ctx, title);
	ret = ret ? ret : out->begin(out->ctx, 3, names);
	for (size_t i = 0; i < numbers.cnt && !ret; i++)
		ret = out->row(out->ctx, &counts[3 * i]);
	hash_map_done(&numbers);
	free(counts);
	return ret ? ret : out->end(out->ctx);
}

static void drop(struct page_rows *p)
{
	free(p->rows);
	free(p->keys);
	hash_map_done(&p->key_numbers);
	hash_map_done(&p->kept);
	free(p->merged);
	free(p->firsts);
	hash_map_done(&p->merged_names);
	strpool_free(p->texts);
}

static int init(struct page_rows *p, struct analysis *a, const struct page_rows_def *def,
		const struct page_bins *bins)
{
	*p = (struct page_rows){
		.a = a, .def = def, .bins = bins, .table = table_find(def->table)
	};
	find_columns(p);
	p->is_of_command = trace_get(a->trace, "command") != NULL;
	p->is_crowded = def->is_sparse && task_cnt(p) > ROWS_SPARSE / (bins->cnt - 1);
	return strpool_new(&p->texts);
}

/* Called after the first scan: ranks the keys, and writes the rows. */
static int finish(struct page_rows *p, const struct row_sink *out, size_t rows_wanted,
		  struct err *e)
{
	int ret = p->def->ranked ? name_keys(p, rows_wanted * p->def->ranked) : 0;

	if (!ret && (p->is_crowded || p->is_counted)) {
		free(p->rows);
		forget_rows(p);
		p->is_named = true;
		ret = scan(p, NULL, e);
	} else if (!ret && p->def->ranked) {
		ret = fold_others(p);
	}
	ret = ret ? ret : put_rows(p, out);
	return ret || !p->def->ranked ? ret : put_other_counts(p, out);
}

static int put_once(struct analysis *a, const struct page_rows_def *def,
		    const struct page_bins *bins, const struct row_sink *out, size_t rows_wanted,
		    struct err *e)
{
	struct page_rows p = { 0 }, with = { 0 };
	struct question machine = {
		.needs = LOSS_NEEDS_ALL, .edges = bins->edges, .edge_cnt = bins->cnt
	};
	int ret = question_begin(&machine, a, NULL) ?: init(&p, a, def, bins);

	if (!ret && def->with)
		ret = init(&with, a, def->with, bins);
	if (!ret && rows_wanted)
		ret = scan(&p, def->with ? &with : NULL, e);
	if (!ret)
		ret = finish(&p, out, rows_wanted, e);
	if (!ret && def->with)
		ret = finish(&with, out, rows_wanted, e);
	drop(&p);
	drop(&with);
	question_end(&machine, a);
	return ret;
}

int page_rows_put(struct analysis *a, const struct page_rows_def *def, const struct page_bins *bins,
		  const struct row_sink *out, size_t rows_wanted, struct err *e)
{
	int ret, tries = 0;

	do {
		ret = put_once(a, def, bins, out, rows_wanted, e);
	} while (ret == -EBADMSG && analysis_index_failed(a) && ++tries < SCAN_TRIES);
	return ret == -ENOMEM ? err_set(e, ret, "out of memory") : ret;
}

/* page_columns: each column of a result grows in its own buffer until the result ends. */

struct page_column {
	const char *name;
	bool is_bin, is_process, is_thread;
	size_t bin;		/* bin of the previous row */
	size_t zeros;		/* number of zeros at the end, not written to values yet */
	struct buf values;
};

void page_put(struct buf *out, const char *text)
{
	buf_add(out, text, strlen(text));
}

/* A page contains a million numbers, for which printf() is too slow. */
void page_put_int(struct buf *out, int64_t v)
{
	char text[24], *end = text + sizeof(text), *at = end;
	uint64_t n = v < 0 ? -(uint64_t)v : (uint64_t)v;

	do {
		*--at = (char)('0' + n % 10);
	} while (n /= 10);
	if (v < 0)
		*--at = '-';
	buf_add(out, at, (size_t)(end - at));
}

/* ---- texts ---- */

/*
 * Returns whether a command was recorded, but the process is not part of it. The recorder's
 * processes are not part of it.
 */
static bool in_rest(const struct page_columns *c, const struct trace_process *p)
{
	return p && trace_get(c->a->trace, "command") &&
	       (p->flags & (TRACE_TASK_WORKLOAD | TRACE_TASK_RECORDER)) != TRACE_TASK_WORKLOAD;
}

static void put_json(struct buf *out, const char *text, size_t n)
{
	char *at = (char *)buf_room(out, TEXTSAFE_JSON_MAX(n));

	if (at)
		out->len += textsafe_json(at, text, n);
}

/* Appends a text to the list. */
static void add_text(struct page_columns *c, const char *text)
{
	page_put(&c->text_list, c->text_list.len ? "," : "");
	put_json(&c->text_list, text, strlen(text));
}

static int put_text(struct page_columns *c, struct buf *out, const struct value *v)
{
	size_t n = v->text_bytes * TEXTSAFE_GROWTH + 1;
	char *safe = malloc(n);
	const char *text;
	uint32_t number;
	int ret;

	if (!safe)
		return -ENOMEM;
	textsafe_escape(safe, n, v->text, v->text_bytes, NULL);
	text = strpool_put(c->texts, safe);
	free(safe);
	if (!text)
		return -ENOMEM;
	ret = hash_map_intern(&c->numbers, (uintptr_t)text, 0, &number);
	if (ret < 0)
		return ret;
	if (ret)
		add_text(c, text);
	page_put_int(out, number);
	return 0;
}

/* Writes "other" or "rest", followed by the name that the others share: page_rows.h. */
static int put_others(struct page_columns *c, struct buf *out, const struct value *v)
{
	char text[80];
	int n = snprintf(text, sizeof(text), "%s %.*s", *v->text == 'r' ? "rest" : "other",
			 (int)v->text_bytes - 1, v->text + 1);

	return put_text(c, out, &(struct value){ .type = VALUE_TEXT, .text = text,
						 .text_bytes = (size_t)n });
}

/*
 * Writes a thread: the text "tUTID tid pid name", with the prefix r if the thread is not of the
 * command.
 */
static int put_thread(struct page_columns *c, struct buf *out, uint32_t utid)
{
	const struct dense_ids *d = &c->a->ids;
	uint32_t thread = dense_thread(d, utid), number;
	const struct trace_thread *t = dense_thread_row(d, thread);
	const struct trace_process *p = dense_process_row(d, dense_process_of(d, thread));
	char safe[4 * 64 + 1], text[sizeof(safe) + 60], tid[16] = "", pid[16] = "";
	int ret = hash_map_intern(&c->numbers, utid, 2, &number);

	if (ret < 0)
		return ret;
	if (ret) {
		if (t)
			snprintf(tid, sizeof(tid), "%u", t->tid);
		if (p)
			snprintf(pid, sizeof(pid), "%u", p->pid);
		textsafe_escape(safe, sizeof(safe), dense_thread_comm(d, thread),
				strlen(dense_thread_comm(d, thread)), NULL);
		snprintf(text, sizeof(text), "%st%u %s %s %s", in_rest(c, p) ? "r" : "", utid, tid,
			 pid, safe);
		add_text(c, text);
	}
	page_put_int(out, number);
	return 0;
}

/*
 * Writes a process: the text "upid pid name", with the prefix r if a command was recorded and the
 * process does not belong to it. If the value is NULL, writes "other".
 */
static int put_process(struct page_columns *c, struct buf *out, const struct value *v)
{
	uint64_t upid = v->type == VALUE_INT ? (uint64_t)v->i : UINT64_MAX;
	const struct dense_ids *d = &c->a->ids;
	const struct trace_process *p;
	char safe[4 * 64 + 1], text[sizeof(safe) + 40], pid[16] = "";
	uint32_t number, process;
	int ret;

	if (v->type == VALUE_TEXT)
		return put_others(c, out, v);
	ret = hash_map_intern(&c->numbers, upid, 1, &number);
	if (ret < 0)
		return ret;
	if (ret && v->type != VALUE_INT) {
		add_text(c, "other");
	} else if (ret) {
		process = dense_process(d, (uint32_t)upid);
		p = dense_process_row(d, process);
		if (p)
			snprintf(pid, sizeof(pid), "%u", p->pid);
		textsafe_escape(safe, sizeof(safe), dense_process_comm(d, process),
				strlen(dense_process_comm(d, process)), NULL);
		snprintf(text, sizeof(text), "%s%" PRIu64 " %s %s", in_rest(c, p) ? "r" : "", upid,
			 pid, safe);
		add_text(c, text);
		if (array_reserve(&c->upids, &c->upid_cap, c->upid_cnt + 1) < 0)
			return -ENOMEM;
		c->upids[c->upid_cnt++] = (uint32_t)upid;
	}
	page_put_int(out, number);
	return 0;
}

/* ---- a result ---- */

static int begin(void *ctx, unsigned int col_cnt, const char *const *names)
{
	struct page_columns *c = ctx;

	c->cols = calloc(col_cnt, sizeof(*c->cols));
	if (!c->cols)
		return -ENOMEM;
	c->col_cnt = col_cnt;
	for (unsigned int i = 0; i < col_cnt; i++) {
		c->cols[i].name = names[i];
		c->cols[i].is_bin = !strcmp(names[i], "t_ns");
		c->cols[i].is_thread = !strcmp(names[i], "utid");
		c->cols[i].is_process = c->cols[i].is_thread || !strcmp(names[i], "upid");
	}
	return 0;
}

static void put_bin(struct page_columns *c, struct page_column *col, int64_t t_ns)
{
	uint64_t ts_ns = context_abs(c->a, t_ns);
	size_t bin = col->bin;

	if (c->bins->edges[bin] != ts_ns)
		bin = page_bin_of(c->bins, ts_ns);
	page_put_int(&col->values, (int64_t)(bin - col->bin));
	col->bin = bin;
}

static int row(void *ctx, const struct value *values)
{
	struct page_columns *c = ctx;
	char text[40];
	int ret = 0;

	for (unsigned int i = 0; !ret && i < c->col_cnt; i++) {
		struct page_column *col = &c->cols[i];
		const struct value *v = &values[i];

		/* the first column keeps its zeros, so that its length is the number of rows */
		if (i && v->type == VALUE_INT && !v->i && !col->is_process) {
			col->zeros++;
			continue;
		}
		for (; col->zeros; col->zeros--)
			page_put(&col->values, col->values.len ? ",0" : "0");
		page_put(&col->values, col->values.len ? "," : "");
		if (v->type == VALUE_INT && col->is_bin) {
			put_bin(c, col, v->i);
		} else if (col->is_thread && v->type == VALUE_INT) {
			ret = put_thread(c, &col->values, (uint32_t)v->i);
		} else if (col->is_process) {
			ret = put_process(c, &col->values, v);
		} else if (v->type == VALUE_INT) {
			page_put_int(&col->values, v->i);
		} else if (v->type == VALUE_TEXT) {
			ret = put_text(c, &col->values, v);
		} else if (v->type == VALUE_REAL && isfinite(v->r)) {
			snprintf(text, sizeof(text), "%.17g", v->r);
			page_put(&col->values, text);
		} else {
			page_put(&col->values, "null");
		}
	}
	return ret;
}

static void drop_columns(struct page_columns *c)
{
	for (unsigned int i = 0; i < c->col_cnt; i++)
		buf_done(&c->cols[i].values);
	free(c->cols);
	c->cols = NULL;
	c->col_cnt = 0;
}

static int end(void *ctx)
{
	struct page_columns *c = ctx;

	page_put(c->out, c->is_first ? "\"" : ",\n\"");
	page_put(c->out, c->prefix ? c->prefix : "");
	page_put(c->out, c->name);
	page_put(c->out, "\":{");
	for (unsigned int i = 0; i < c->col_cnt; i++) {
		struct page_column *col = &c->cols[i];

		page_put(c->out, i ? ",\n\"" : "\"");
		page_put(c->out, col->is_bin ? "bin" : col->is_process ? "process" : col->name);
		page_put(c->out, "\":[");
		buf_add(c->out, col->values.data, col->values.len);
		page_put(c->out, "]");
		c->out->failed |= col->values.failed;
	}
	page_put(c->out, "}");
	c->is_first = false;
	drop_columns(c);
	return 0;
}

static int section(void *ctx, const char *title)
{
	struct page_columns *c = ctx;

	snprintf(c->name, sizeof(c->name), "%s", title);
	return 0;
}

static const char *const who_names[] = { "upid", "container", "unit", "user", "cgroup" };
static const enum report_by who_keys[] = { REPORT_BY_CONTAINER, REPORT_BY_UNIT, REPORT_BY_USER,
					   REPORT_BY_CGROUP };
enum { WHO_CNT = sizeof(who_keys) / sizeof(who_keys[0]) };

int page_columns_put_who(struct page_columns *c)
{
	struct task_keys keys;
	struct value row_of[1 + WHO_CNT];
	int ret = begin(c, 1 + WHO_CNT, who_names);

	section(c, "who");
	task_keys_init(&keys, &c->a->ids);
	for (size_t i = 0; !ret && i < c->upid_cnt; i++) {
		uint32_t process = dense_process(&c->a->ids, c->upids[i]);

		row_of[0] = value_int(c->upids[i]);
		for (unsigned int k = 0; k < WHO_CNT; k++)
			row_of[1 + k] = value_text(task_keys_text(&keys, who_keys[k], process));
		ret = row(c, row_of);
	}
	task_keys_done(&keys);
	return ret ? ret : end(c);
}

int page_columns_init(struct page_columns *c, const struct analysis *a,
		      const struct page_bins *bins, struct buf *out)
{
	*c = (struct page_columns){
		.sink = { c, begin, row, end, section }, .a = a, .bins = bins, .out = out,
		.is_first = true,
	};
	return strpool_new(&c->texts);
}

void page_columns_end(struct page_columns *c)
{
	page_put(c->out, ",\n\"texts\":[");
	buf_add(c->out, c->text_list.data, c->text_list.len);
	page_put(c->out, "]");
	c->out->failed |= c->text_list.failed;
}

void page_columns_done(struct page_columns *c)
{
	drop_columns(c);
	strpool_free(c->texts);
	hash_map_done(&c->numbers);
	buf_done(&c->text_list);
	free(c->upids);
}
