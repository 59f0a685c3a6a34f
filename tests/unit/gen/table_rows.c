/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* A row sink that keeps everything. */
#include "tests/unit/gen/table_rows.h"
#include "tests/unit/unit_test.h"

static int keep_begin(void *ctx, unsigned int cnt, const char *const *names)
{
	struct rows *r = ctx;

	if (r->names)
		return 0;	/* a further section: only counted */
	r->col_cnt = cnt;
	r->names = calloc(cnt + 1, sizeof(*r->names));
	for (unsigned int i = 0; i < cnt; i++)
		r->names[i] = strdup(names[i]);
	return 0;
}

static int keep_row(void *ctx, const struct value *values)
{
	struct rows *r = ctx;
	struct value *to;

	if (r->section_cnt > 1)
		return 0;
	if (r->row_cnt == r->cap) {
		r->cap = r->cap ? r->cap * 2 : 16;
		r->values =
			realloc(r->values, (size_t)r->cap * (r->col_cnt + 1) * sizeof(*r->values));
	}
	to = r->values + (size_t)r->row_cnt++ * r->col_cnt;
	for (unsigned int i = 0; i < r->col_cnt; i++) {
		to[i] = values[i];
		if (values[i].type == VALUE_TEXT)
			to[i].text = strdup(values[i].text);
	}
	return 0;
}

struct row_sink rows_sink(struct rows *r)
{
	memset(r, 0, sizeof(*r));
	return (struct row_sink){ .ctx = r, .begin = keep_begin, .row = keep_row };
}

int rows_try_sql(struct rows *r, struct analysis *a, const char *sql, struct err *e)
{
	struct row_sink sink = rows_sink(r);
	int ret = analysis_sql(a, sql, &sink, e);

	if (ret < 0)
		rows_done(r);
	return ret;
}

int rows_try_report(struct rows *r, struct analysis *a, const struct report_request *q,
		    struct err *e)
{
	struct row_sink sink = rows_sink(r);
	int ret = analysis_report(a, q, &sink, e);

	if (ret < 0)
		rows_done(r);
	return ret;
}

void rows_sql(struct rows *r, struct analysis *a, const char *sql)
{
	struct err e = { "" };

	if (rows_try_sql(r, a, sql, &e) < 0)
		fail_msg("%s: %s", sql, e.text);
}

void rows_report(struct rows *r, struct analysis *a, const struct report_request *q)
{
	struct err e = { "" };

	if (rows_try_report(r, a, q, &e) < 0)
		fail_msg("report %s: %s", q->view, e.text);
}

void rows_done(struct rows *r)
{
	for (size_t i = 0; i < (size_t)r->row_cnt * r->col_cnt; i++)
		if (r->values[i].type == VALUE_TEXT)
			free((char *)r->values[i].text);
	for (size_t i = 0; i < r->col_cnt; i++)
		free(r->names[i]);
	free(r->names);
	free(r->values);
	memset(r, 0, sizeof(*r));
}

unsigned int rows_col(const struct rows *r, const char *name)
{
	for (unsigned int i = 0; i < r->col_cnt; i++)
		if (!strcmp(r->names[i], name))
			return i;
	fail_msg("no column %s", name);
	return 0;
}

static const struct value *value_at(const struct rows *r, unsigned int row, unsigned int col)
{
	assert_true(row < r->row_cnt && col < r->col_cnt);
	return &r->values[(size_t)row * r->col_cnt + col];
}

int64_t rows_int(const struct rows *r, unsigned int row, unsigned int col)
{
	const struct value *v = value_at(r, row, col);

	return v->type == VALUE_INT ? v->i : v->type == VALUE_REAL ? (int64_t)v->r : 0;
}

double rows_real(const struct rows *r, unsigned int row, unsigned int col)
{
	const struct value *v = value_at(r, row, col);

	return v->type == VALUE_REAL ? v->r : (double)rows_int(r, row, col);
}

const char *rows_text(const struct rows *r, unsigned int row, unsigned int col)
{
	const struct value *v = value_at(r, row, col);

	return v->type == VALUE_TEXT ? v->text : "";
}

int64_t rows_cell(const struct rows *r, unsigned int row, const char *name)
{
	return rows_int(r, row, rows_col(r, name));
}

void rows_check_cells(const struct rows *r, unsigned int row, const char *names,
		      const int64_t *want, size_t cnt)
{
	char name[64];
	size_t i = 0;

	for (int n; sscanf(names, "%63s%n", name, &n) == 1; names += n, i++)
		if (i == cnt || rows_cell(r, row, name) != want[i])
			fail_msg("row %u, %s: %lld is not the value wanted, %lld", row, name,
				 (long long)rows_cell(r, row, name),
				 i < cnt ? (long long)want[i] : -1);
	assert_int_equal(i, cnt);
}

unsigned int rows_find(const struct rows *r, const char *name, const char *text)
{
	unsigned int i, c = rows_col(r, name);

	for (i = 0; i < r->row_cnt; i++)
		if (!strcmp(rows_text(r, i, c), text))
			return i;
	fail_msg("no row with %s = %s", name, text);
	return 0;
}

static int64_t one_of(struct analysis *a, const char *sql)
{
	struct rows r;
	int64_t v;

	rows_sql(&r, a, sql);
	if (r.row_cnt != 1 || r.col_cnt != 1)
		fail_msg("%u rows, %u columns: %s", r.row_cnt, r.col_cnt, sql);
	v = rows_int(&r, 0, 0);
	rows_done(&r);
	return v;
}

int64_t rows_one(struct analysis *a, const char *fmt, ...)
{
	char sql[1024];
	va_list args;

	va_start(args, fmt);
	vsnprintf(sql, sizeof(sql), fmt, args);
	va_end(args);
	return one_of(a, sql);
}

void rows_want(struct analysis *a, int64_t want, const char *fmt, ...)
{
	char sql[1024];
	va_list args;
	int64_t v;

	va_start(args, fmt);
	vsnprintf(sql, sizeof(sql), fmt, args);
	va_end(args);
	v = one_of(a, sql);
	if (v != want)
		fail_msg("%s: %lld, not %lld", sql, (long long)v, (long long)want);
}

static void put_window(char *out, size_t size, const char *sql, int64_t from, int64_t to)
{
	const char *w = strstr(sql, ":w");

	assert_non_null(w);
	snprintf(out, size, "%.*s%lld, %lld%s", (int)(w - sql), sql, (long long)from, (long long)to,
		 w + 2);
}

void rows_window(struct rows *r, struct analysis *a, const char *sql, int64_t from, int64_t to)
{
	char text[2048];

	put_window(text, sizeof(text), sql, from, to);
	rows_sql(r, a, text);
}

void rows_windows2(struct rows *r, struct analysis *a, const char *key, const char *sum,
		   const char *having, const char *table, int64_t from, int64_t mid, int64_t to)
{
	char first[256], second[256], text[2048];

	put_window(first, sizeof(first), table, from, mid);
	put_window(second, sizeof(second), table, mid, to);
	snprintf(text, sizeof(text),
		 "SELECT %s, %s FROM (SELECT * FROM %s UNION ALL SELECT * FROM %s) GROUP BY %s "
		 "HAVING %s ORDER BY %s",
		 key, sum, first, second, key, having, key);
	rows_sql(r, a, text);
}

void rows_compare(const struct rows *a, const struct rows *b)
{
	unsigned int i, c;

	assert_int_equal(a->col_cnt, b->col_cnt);
	assert_int_equal(a->row_cnt, b->row_cnt);
	for (i = 0; i < a->row_cnt; i++) {
		for (c = 0; c < a->col_cnt; c++) {
			assert_int_equal(value_at(a, i, c)->type, value_at(b, i, c)->type);
			assert_string_equal(rows_text(a, i, c), rows_text(b, i, c));
			if (rows_int(a, i, c) != rows_int(b, i, c))
				fail_msg("row %u, %s: %lld is not %lld", i, a->names[c],
					 (long long)rows_int(a, i, c),
					 (long long)rows_int(b, i, c));
		}
	}
}
