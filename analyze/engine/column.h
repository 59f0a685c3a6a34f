/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * column: the contents of report and table columns, as declared in schema/columns.decl.
 *
 *     schema/columns.decl --schema/columns.awk--> build/columns.c --[column]--> report, cmd
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum column_kind {
	COLUMN_ID, /* digits without separators */
	COLUMN_COUNT, /* 1,234 */
	COLUMN_INSTANT, /* seconds from the trace's start */
	COLUMN_DURATION, /* 12.3 ms */
	COLUMN_BYTES, /* 1.5 MiB */
	COLUMN_BYTE_RATE, /* 1.5 MiB/s */
	COLUMN_RATE, /* 12.3 */
	COLUMN_RATIO, /* 2.417 */
	COLUMN_PERCENT, /* 99.9 */
	COLUMN_SHARE, /* 99.9 and a bar */
	COLUMN_YES_NO,
};

struct column_decl {
	const char *name;	/* a name or a pattern */
	enum column_kind kind;
	const char *unit;	/* unit of the raw value; may be "" */
	const char *heading;	/* NULL: column_heading() derives it from the name */
	bool is_pattern;
	bool is_key;		/* identifies rows; key columns come first */
	bool is_rare;		/* not recorded in every trace */
	bool is_floor;		/* in an incomplete row, the value is a lower bound */
	bool is_single;		/* describes a single event; NULL if there was no event */
};

extern const struct column_decl column_list[];	/* ends with an entry without name */

/* Returns the first matching declaration; without a match, a nameless COLUMN_COUNT. */
const struct column_decl *column_find(const char *name);
/* Returns whether the column contains instants, counted from the trace's start. */
static inline bool column_is_instant(const char *name)
{
	return column_find(name)->kind == COLUMN_INSTANT;
}
/* Formats the heading in a table, e.g. "%CPU" for util_pct. Returns buf. */
char *column_heading(char *buf, size_t size, const char *name);
/*
 * Returns whether the word is the name, its heading, or the name without its unit, ignoring case.
 */
bool column_is_called(const char *name, const char *word);
