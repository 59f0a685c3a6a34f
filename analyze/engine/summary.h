/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* summary: the report that is made of several. Private to analyze/. Threads: one. */
#ifndef SUMMARY_H
#define SUMMARY_H

#include "analyze/engine/context.h"
#include "analyze/engine/statement.h"

/*
 * Runs schema/report_summary.sql, whose parts begin with "-- section: TITLE". With sink->section
 * each part is a result of its own, otherwise all of it is one result: section, row, name, value.
 */
int summary_run(struct analysis *a, const struct report_request *r,
		const struct statement_param *params, const struct row_sink *sink, struct err *e);

#endif /* SUMMARY_H */
