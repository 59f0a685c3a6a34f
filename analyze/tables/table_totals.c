/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * table_totals: totals() groups the rows of any table like GROUP BY, without passing the rows to
 * SQLite.
 *
 *     rows of a table --[key columns: number of the group]--> counts, sum, extremes --> rows
 *
 * SQLite sorts all rows to group them. This function keeps only one group per combination of the
 * key columns' values, so its memory grows with the number of groups, which is limited. Groups are
 * returned in the order in which they first appear.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/engine/table.h"
#include "model/quantile.h"
#include "base/array.h"
#include "base/hash_map.h"
#include "base/strpool.h"
#include "base/words.h"
#include "table_columns.h"

#define GROUPS_MAX (1u << 20)

enum { KEYS_MAX = 3 };
enum totals_arg { ARG_TABLE, ARG_BY, ARG_VALUE, ARG_FROM, ARG_TO };

struct group {
	struct cell keys[KEYS_MAX];
	uint64_t row_cnt, value_cnt;
	__int128 sum;
	int64_t min, max;
};

struct totals {
	const struct table_def *table;
	struct table_scan scan;
	struct table_query query;	/* query for the rows of the table */
	int value_col, time_col;	/* -1: none */
	unsigned int key_cnt, keys[KEYS_MAX];
	struct strpool *texts;		/* texts of keys */
	/* map i: (value of key i, number found in map i - 1) -> number of the keys 0 .. i */
	struct hash_map maps[KEYS_MAX];
	struct group *groups;
	struct quantile *quantiles;	/* per group; only if wants_quantiles */
	size_t group_cnt, group_cap, quantile_cap, given;
	bool wants_quantiles, is_read;
};

/* Returns the number of a column and marks the column as used; or -EINVAL. */
static int find_column(struct totals *s, struct word w, struct err *e)
{
	for (unsigned int i = 0; i < s->table->col_cnt; i++) {
		const char *column = s->table->cols[i].name;

		if ((int)strlen(column) == w.len && !strncasecmp(column, w.s, w.len)) {
			s->query.cols_used |= 1ull << i;
			return (int)i;
		}
	}
	return err_set(e, -EINVAL, "totals(): table %s has no column \"%.*s\"", s->table->name,
		       w.len < 80 ? w.len : 80, w.s);
}

static int find_keys(struct totals *s, const char *by, struct err *e)
{
	while (*by) {
		int column;

		if (s->key_cnt == KEYS_MAX)
			return err_set(e, -EINVAL, "totals(): at most %d columns to group by",
				       KEYS_MAX);
		column = find_column(s, word_next(&by), e);
		if (column < 0)
			return column;
		s->keys[s->key_cnt++] = (unsigned int)column;
	}
	return 0;
}

static int find_value(struct totals *s, const char *name, struct err *e)
{
	s->value_col = find_column(s, word_of(name), e);
	if (s->value_col < 0)
		return s->value_col;
	if (s->table->cols[s->value_col].type != COLUMN_INT)
		return err_set(e, -EINVAL, "totals(): %s is not a column of whole numbers", name);
	return 0;
}

static int set_window(struct totals *s, const struct cell *from, const struct cell *to,
		      struct err *e)
{
	s->query.from_ns = from->type == VALUE_INT ? from->i : INT64_MIN;
	s->query.to_ns = to->type == VALUE_INT ? to->i : INT64_MAX;
	if ((from->type != VALUE_NULL && from->type != VALUE_INT) ||
	    (to->type != VALUE_NULL && to->type != VALUE_INT))
		return err_set(e, -EINVAL, "totals(): from_ns and to_ns are whole numbers");
	if (from->type == VALUE_NULL && to->type == VALUE_NULL)
		return 0;
	s->time_col = s->table->time_col;
	if (s->time_col < 0)
		return err_set(e, -EINVAL, "totals(): table %s has no time to select rows by",
			       s->table->name);
	return find_column(s, word_of(s->table->cols[s->time_col].name), e);
}

static int take_args(struct totals *s, const struct table_query *q, struct err *e)
{
	const struct cell *table = &q->args[ARG_TABLE], *by = &q->args[ARG_BY],
			  *value = &q->args[ARG_VALUE];
	int ret = 0;

	if (table->type != VALUE_TEXT)
		return err_set(e, -EINVAL, "totals(): the first argument is the name of a table");
	s->table = table_find(table->s);
	if (!s->table)
		return err_set(e, -EINVAL, "totals(): there is no table \"%.80s\"", table->s);
	s->value_col = s->time_col = -1;
	if (by->type == VALUE_TEXT)
		ret = find_keys(s, by->s, e);
	if (ret >= 0 && value->type == VALUE_TEXT)
		ret = find_value(s, value->s, e);
	if (ret >= 0)
		ret = set_window(s, &q->args[ARG_FROM], &q->args[ARG_TO], e);
	s->wants_quantiles = s->value_col >= 0 &&
			     q->cols_used & (3u << COL_TOTALS_VALUE_P50);	/* or P99 */
	return ret < 0 ? ret : 0;
}

static void totals_close(void *state)
{
	struct totals *s = state;

	table_scan_done(&s->scan);
	for (size_t i = 0; i < KEYS_MAX; i++)
		hash_map_done(&s->maps[i]);
	for (size_t i = 0; i < s->group_cnt && s->wants_quantiles; i++)
		quantile_done(&s->quantiles[i]);
	strpool_free(s->texts);
	free(s->quantiles);
	free(s->groups);
}

static int totals_open(struct analysis *a, const struct table_def *def, const struct table_query *q,
		       void *state, struct err *e)
{
	struct totals *s = state;
	int ret = take_args(s, q, e);

	ret = ret ?: strpool_new(&s->texts);
	return ret ?: table_scan_open(&s->scan, a, s->table, &s->query, e);
}

/* Converts a key's value to a number that is equal for equal values of one type. */
static int key_number(struct totals *s, const struct cell *key, uint64_t *ret)
{
	const char *text;

	*ret = 0;
	if (key->type == VALUE_TEXT) {
		text = strpool_put(s->texts, key->s);
		if (!text)
			return -ENOMEM;
		*ret = (uintptr_t)text;
	} else if (key->type != VALUE_NULL) {
		memcpy(ret, &key->i, sizeof(*ret));
	}
	return 0;
}

static int add_group(struct totals *s, const struct cell *row)
{
	struct group *g;

	if (s->group_cnt == GROUPS_MAX)
		return -E2BIG;
	if (array_reserve(&s->groups, &s->group_cap, s->group_cnt + 1) < 0 ||
	    (s->wants_quantiles &&
	     array_reserve(&s->quantiles, &s->quantile_cap, s->group_cnt + 1) < 0))
		return -ENOMEM;
	if (s->wants_quantiles)
		memset(&s->quantiles[s->group_cnt], 0, sizeof(*s->quantiles));
	g = &s->groups[s->group_cnt++];
	memset(g, 0, sizeof(*g));
	for (unsigned int i = 0; i < s->key_cnt; i++) {
		g->keys[i] = row[s->keys[i]];
		if (g->keys[i].type == VALUE_TEXT)
			g->keys[i].s = strpool_put(s->texts, g->keys[i].s);
	}
	return 0;
}

/* Map i numbers each pair of the i-th key's value and the number that map i - 1 returned. */
static int find_group(struct totals *s, const struct cell *row, uint32_t *ret)
{
	uint32_t number = 0;
	uint64_t key;
	int r = s->group_cnt == 0;

	for (unsigned int i = 0; i < s->key_cnt; i++) {
		const struct cell *c = &row[s->keys[i]];

		r = key_number(s, c, &key);
		r = r ?: hash_map_intern(&s->maps[i], key, (uint64_t)number << 2 | c->type,
					 &number);
		if (r < 0)
			return r;
	}
	*ret = number;
	return r ? add_group(s, row) : 0;
}

static int add_row(struct totals *s, const struct cell *row)
{
	uint32_t number;
	struct group *g;
	int64_t v;
	int r;

	if (s->time_col >= 0) {
		const struct cell *t = &row[s->time_col];

		if (t->type != VALUE_INT || t->i < s->query.from_ns || t->i >= s->query.to_ns)
			return 0;
	}
	r = find_group(s, row, &number);
	if (r < 0)
		return r;
	g = &s->groups[number];
	g->row_cnt++;
	if (s->value_col < 0 || row[s->value_col].type != VALUE_INT)
		return 0;
	v = row[s->value_col].i;
	g->min = !g->value_cnt || v < g->min ? v : g->min;
	g->max = !g->value_cnt || v > g->max ? v : g->max;
	g->value_cnt++;
	g->sum += v;
	return s->wants_quantiles && v >= 0 ? quantile_add(&s->quantiles[number], (uint64_t)v) : 0;
}

static int read_rows(struct totals *s, struct err *e)
{
	const struct cell *row;
	int ret;

	while ((ret = table_scan_next(&s->scan, &row, e)) > 0) {
		ret = add_row(s, row);
		if (ret == -E2BIG)
			return err_set(e, ret, "totals(): more than %u groups: use GROUP BY",
				       GROUPS_MAX);
		if (ret < 0)
			return ret;
	}
	return ret;
}

static void sum_cell(struct cell *c, __int128 sum)
{
	if (sum == (int64_t)sum)
		cell_int(c, (int64_t)sum);
	else
		cell_real(c, (double)sum);
}

static void give_group(struct totals *s, size_t n, struct cell *c)
{
	const struct group *g = &s->groups[n];

	memcpy(&c[COL_TOTALS_KEY1], g->keys, sizeof(g->keys));
	cell_int(&c[COL_TOTALS_ROW_CNT], (int64_t)g->row_cnt);
	if (s->value_col < 0)
		return;
	cell_int(&c[COL_TOTALS_VALUE_CNT], (int64_t)g->value_cnt);
	if (!g->value_cnt)
		return;
	sum_cell(&c[COL_TOTALS_VALUE_SUM], g->sum);
	cell_int(&c[COL_TOTALS_VALUE_MIN], g->min);
	cell_int(&c[COL_TOTALS_VALUE_MAX], g->max);
	if (s->wants_quantiles && g->min >= 0) {
		cell_int(&c[COL_TOTALS_VALUE_P50], (int64_t)quantile_get(&s->quantiles[n], 50));
		cell_int(&c[COL_TOTALS_VALUE_P99], (int64_t)quantile_get(&s->quantiles[n], 99));
	}
}

static int totals_step(void *state, struct rowbuf *out, struct err *e)
{
	struct totals *s = state;
	int ret = s->is_read ? 0 : read_rows(s, e);

	if (ret < 0)
		return ret;
	s->is_read = true;
	for (; s->given < s->group_cnt && out->row_cnt < TABLE_BATCH_ROWS; s->given++)
		give_group(s, s->given, rowbuf_add(out));
	return s->given < s->group_cnt;
}

const struct table_def table_totals = {
	.name = NAME_TOTALS, .cols = (const struct table_column[]){ COLS_TOTALS },
	.col_cnt = COL_TOTALS_CNT, .arg_cnt = ARGS_TOTALS,
	.time_col = -1, .cpu_col = -1, .utid_col = -1, .key_col = -1,
	.state_bytes = sizeof(struct totals),
	.open = totals_open, .step = totals_step, .close = totals_close,
};
