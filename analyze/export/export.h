/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * export: what the exports of whole tables share. Private to analyze/export.
 *
 *     event tables --[export_rows]------> INSERT (export_sqlite), or one thread per table (parquet)
 *     lists        --[analysis_table()]-> the same
 */
#pragma once

#include "analyze/engine/table.h"

/* An export in progress. */
struct export_to {
	struct analysis *a;
	const struct export_request *request;
	bool whole; /* the whole trace; else the window */
	int64_t from_ns, to_ns; /* the window, from the trace's start */
	const char *const *tables; /* wanted, by name */
	unsigned int table_cnt; /* 0: all */
	_Atomic uint64_t row_cnt; /* written */
	uint64_t all_rows; /* expected */
};

/* Returns whether the table has a row per event, or is made of events. Others are small lists. */
static inline bool export_is_events(const struct table_def *def)
{
	return def->is_exported && def->kinds;
}

/* Returns whether the table is wanted. */
bool export_has(const struct export_to *x, const struct table_def *def);
/* Estimates the rows of the tables that are wanted. */
uint64_t export_expected_rows(const struct export_to *x);

/* ---- export_rows: the rows of an event table, or of a table made of events ---- */

/*
 * Opened and closed in the thread of the analysis. Any one thread may read it while that thread
 * does nothing but look at lists.
 */
struct export_rows;

int export_rows_open(struct export_rows **ret, const struct export_to *x,
		     const struct table_def *def, struct err *e);
void export_rows_close(struct export_rows *r);
/* 1 and a row with texts that are safe, valid until the next call; 0: no more; -errno. */
int export_rows_next(struct export_rows *r, const struct value **ret, struct err *e);

/*
 * All rows of any table to sink->row(); texts of lists are as they are in the trace. Threads: that
 * of the analysis.
 */
int export_rows_all(const struct export_to *x, const struct table_def *def,
		    const struct row_sink *sink, struct err *e);

/*
 * Makes a text of the trace safe to print (base/textsafe.h): v->text stays where it is safe
 * already, else it becomes a copy in room, which grows. 0 or -ENOMEM.
 */
struct export_text {
	char *data;
	size_t cap;
};
int export_text_safe(struct export_text *room, struct value *v);
