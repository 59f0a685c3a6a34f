/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * metric_table: all metrics, each declared once. The endpoint, the text file, the bins of an
 * export, the list of `metrics --list` and the tests take them from here.
 *
 *     schema/report_metrics.sql --schema/metrics.awk--> build/metric_table.c
 */
#pragma once

enum metric_type {
	METRIC_COUNTER, /* a sum since the counting began */
	METRIC_GAUGE, /* as of the end of the last window */
	METRIC_PEAK, /* a gauge: the highest of an interval */
	METRIC_HISTOGRAM, /* of times, by powers of two */
};

struct metric {
	/* With its unit at the end, if it has one, and without "_total". NULL ends the table. */
	const char *name;
	enum metric_type type;
	/*
	 * Source of its value: a section of schema/report_metrics.sql and a column of it. A name in
	 * _ns is converted to seconds. The program fills a section "program".
	 */
	const char *section, *column;
	const char *label; /* one that all values from there have, or NULL */
	const char *help; /* of the first of several rows with the same name */
};

/* Rows with the same name follow each other, and so do those of a section, in the order of SQL. */
extern const struct metric metric_table[];
