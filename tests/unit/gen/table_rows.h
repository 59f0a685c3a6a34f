/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * table_rows: results of queries and reports kept in memory, for tests. What fails here fails the
 * test.
 *
 *     rows_sql(&r, a, "SELECT ...");  rows_int(&r, 0, rows_col(&r, "bytes"));  rows_done(&r);
 */
#pragma once

#include <stdint.h>

#include "analyze/analyze.h"

struct rows {
	unsigned int col_cnt, row_cnt, cap;
	char **names;
	struct value *values;	/* texts are copies */
	unsigned int section_cnt;
};

int rows_try_sql(struct rows *r, struct analysis *a, const char *sql, struct err *e);
int rows_try_report(struct rows *r, struct analysis *a, const struct report_request *q,
		    struct err *e);
void rows_sql(struct rows *r, struct analysis *a, const char *sql);
void rows_report(struct rows *r, struct analysis *a, const struct report_request *q);
void rows_done(struct rows *r);

/* A sink that fills r, which is emptied first. */
struct row_sink rows_sink(struct rows *r);

unsigned int rows_col(const struct rows *r, const char *name);
int64_t rows_int(const struct rows *r, unsigned int row, unsigned int col);	/* NULL is 0 */
double rows_real(const struct rows *r, unsigned int row, unsigned int col);
const char *rows_text(const struct rows *r, unsigned int row, unsigned int col); /* NULL is "" */
int64_t rows_cell(const struct rows *r, unsigned int row, const char *name);
/* Fails unless the columns "a b c" of the row hold these numbers. */
#define rows_cells(r, row, names, ...)								\
	rows_check_cells(r, row, names, (const int64_t[]){ __VA_ARGS__ },			\
			 sizeof((const int64_t[]){ __VA_ARGS__ }) / sizeof(int64_t))
void rows_check_cells(const struct rows *r, unsigned int row, const char *names,
		      const int64_t *want, size_t cnt);
/* The first row whose column "name" has this text. */
unsigned int rows_find(const struct rows *r, const char *name, const char *text);

/* The one number that a query gives. */
int64_t rows_one(struct analysis *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Fails unless it is this number. */
void rows_want(struct analysis *a, int64_t want, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* Runs sql with ":w" replaced by "from, to". */
void rows_window(struct rows *r, struct analysis *a, const char *sql, int64_t from, int64_t to);
/* SELECT key, sum FROM (table over [from, mid) and [mid, to) together) GROUP BY key; table has :w.
 */
void rows_windows2(struct rows *r, struct analysis *a, const char *key, const char *sum,
		   const char *having,
		   const char *table, int64_t from, int64_t mid, int64_t to);
/* Fails unless both hold the same. */
void rows_compare(const struct rows *a, const struct rows *b);
