/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * row_sink: rows of a result: their values, the sink that receives them, and the keys that group
 * them.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum value_type { VALUE_NULL, VALUE_INT, VALUE_REAL, VALUE_TEXT };
struct value {
	enum value_type type;
	int64_t i;
	double r;
	const char *text;	/* may be invalid UTF-8, because the bytes come from the trace */
	size_t text_bytes;
};

/* s NULL: returns SQL's NULL. */
static inline struct value value_text(const char *s)
{
	return (struct value){ .type = s ? VALUE_TEXT : VALUE_NULL,
			       .text = s,
			       .text_bytes = s ? strlen(s) : 0 };
}

static inline struct value value_int(uint64_t i)
{
	return (struct value){ .type = VALUE_INT, .i = (int64_t)i };
}

static inline struct value value_real(double r)
{
	return (struct value){ .type = VALUE_REAL, .r = r };
}

static inline struct value value_null(void)
{
	return (struct value){ .type = VALUE_NULL };
}

/*
 * Receives rows. Values are valid during the call. A negative result ends the query with that
 * error.
 */
struct row_sink {
	void *ctx;
	/* begin and end may be NULL. The names are valid until end() returns. */
	int (*begin)(void *ctx, unsigned int col_cnt, const char *const *col_names);
	int (*row)(void *ctx, const struct value *values);
	int (*end)(void *ctx);
	/*
	 * May be NULL. A report with several parts ("summary") calls section(), begin(), row() and
	 * end() for each part; if section() returns 1, the part is skipped. Without section() such
	 * a report is a single result, with the columns section, row, name and value, and one row
	 * per value.
	 */
	int (*section)(void *ctx, const char *title);
	/*
	 * May be NULL. Called before a part's end() if cnt rows were omitted. command: a command
	 * that shows all rows.
	 */
	void (*more)(void *ctx, uint64_t cnt, const char *command);
};

/*
 * Calls say before each scan of an event table that reads an estimated rows_max or more rows one by
 * one. say NULL: no calls.
 */
struct analysis_scan_watch {
	uint64_t rows_max;
	void (*say)(void *ctx, const char *table, uint64_t rows);
	void *ctx;
};

/* Keys for grouping rows. Several keys are a mask, 1u << REPORT_BY_x. */
enum report_by {
	REPORT_BY_PROCESS,
	REPORT_BY_THREAD,
	REPORT_BY_THREAD_NAME,
	REPORT_BY_COMM,
	REPORT_BY_CGROUP,
	REPORT_BY_CONTAINER,
	REPORT_BY_UNIT,
	REPORT_BY_USER,
	REPORT_BY_TREE,
	REPORT_BY_CPU,
	REPORT_BY_DEVICE,
	REPORT_BY_PARTITION,	/* partition, or device for requests outside of partitions */
	REPORT_BY_OP,
	REPORT_BY_SIZE,		/* size class of block requests */
	REPORT_BY_FILE,
	REPORT_BY_VECTOR,	/* interrupt vector */
	REPORT_BY_SITE,		/* code that allocated the memory */
	REPORT_BY_WAKER,	/* thread that ended the wait */
	REPORT_BY_FUNCTION,	/* function, or stack of functions, over all processes */
	REPORT_BY_MODULE,	/* file that contains the code */
	REPORT_BY_NAME, REPORT_BY_STEP,	/* name and step of program requests */
	REPORT_BY_CNT
};
/* Returns "process", "thread" and so on. */
const char *report_key_name(enum report_by key);
