/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * schema_list: the SQL files of schema/ by name, and how the tables of a window are selected.
 * Private to analyze/. Threads: any, after the first call of schema_tables().
 */
#ifndef SCHEMA_LIST_H
#define SCHEMA_LIST_H

#include "analyze/engine/context.h"
#include "analyze/engine/statement.h"
#include "analyze/engine/table.h"

/* Text of schema/NAME.sql; NULL if there is none. */
const char *schema_text(const char *name);

/*
 * A SELECT of all columns of def's rows that belong to the window of the parameters :from and :to
 * (whole: of the trace, with nothing cut), ordered by time.
 */
int schema_select(const struct table_def *def, bool whole, char *buf, size_t size);

/* :from and :to, in ret[0..1], and the end of the list. */
void schema_window_params(const struct analysis *a, uint64_t from_ns, uint64_t to_ns,
			  struct statement_param *ret);

#endif /* SCHEMA_LIST_H */
