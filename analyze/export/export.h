/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * export: types and helpers shared by the exports of whole tables. Private to analyze/export.
 *
 *     event tables --[export_rows]------> INSERT (export_sqlite), or one thread per table (parquet)
 *     lists        --[analysis_table()]-> the same
 */
#pragma once

#include "analyze/analyze.h"
#include "analyze/engine/table.h"

/* An export in progress. */
struct export_to {
	struct analysis *a;
	const struct export_request *request;
	bool whole; /* the window covers the whole trace */
	int64_t from_ns, to_ns; /* the window, from the trace's start */
	const char *const *tables; /* names of the requested tables */
	unsigned int table_cnt; /* 0: all */
	_Atomic uint64_t row_cnt; /* rows written */
	uint64_t all_rows; /* estimated rows of all tables */
};

/* Returns whether rows are made from events; all other tables are small lists. */
static inline bool export_is_events(const struct table_def *def)
{
	return def->is_exported && def->kinds;
}

/* Returns whether the table was requested. */
bool export_has(const struct export_to *x, const struct table_def *def);
/* Estimates the number of rows of the requested tables. */
uint64_t export_expected_rows(const struct export_to *x);

/* ---- export_rows: the rows of an event table, or of a table made of events ---- */

/*
 * Open and close in the analysis's thread. The rows may be read by any one thread. If this is
 * another thread, the analysis's thread may read only lists until the other thread has finished.
 */
struct export_rows;

int export_rows_open(struct export_rows **ret, const struct export_to *x,
		     const struct table_def *def, struct err *e);
void export_rows_close(struct export_rows *r);
/* Returns 1 and a row whose texts are safe to print, valid until the next call; 0: end; -errno. */
int export_rows_next(struct export_rows *r, const struct value **ret, struct err *e);

/*
 * Passes all rows of any table to sink->row(). Texts of lists are not escaped. Call in the
 * analysis's thread.
 */
int export_rows_all(const struct export_to *x, const struct table_def *def,
		    const struct row_sink *sink, struct err *e);

/*
 * Makes a text of the trace safe to print (base/textsafe.h). v->text is unchanged if the text is
 * safe, else points to a copy in room, which grows as needed. Returns 0 or -ENOMEM.
 */
struct export_text {
	char *data;
	size_t cap;
};
int export_text_safe(struct export_text *room, struct value *v);
