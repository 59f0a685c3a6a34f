/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * render: rows of an answer to text.
 *
 *     analyze --struct row_sink--> [render] --> a stdio stream: table, csv, json or jsonl
 *
 * csv, json and jsonl are streamed: their memory does not depend on the number of rows. A table
 * keeps its first rows (RENDER_TABLE_HELD) to find the column widths, then streams too.
 *
 *     csv    RFC 4180 quoting, lines end in LF, one line per record, header row first; numbers raw,
 *     NULL an
 *            empty cell, text as textsafe_csv() makes it
 *     json   one array of objects, one object per line; NULL, NaN and infinities are null.
 *            Sections make an object, in which each is such an array
 *     jsonl  an object per line and nothing else; what would be null is left out
 *     parquet  one file with typed columns (render_parquet.c), of one result
 *     table  for people: escaped text, numbers to the right; with human, units by the column's name
 *
 * Threads: one. Errors: -ENOMEM, or the errno of a failed write. Nothing is flushed to the kernel
 * here; the owner of the stream does and checks that.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "analyze/context/analysis.h"
#include "analyze/engine/column.h"

#define RENDER_TABLE_HELD 1000

/* VERTICAL has a line per value. */
enum render_format {
	RENDER_TABLE, RENDER_CSV, RENDER_JSON, RENDER_JSONL, RENDER_FOLDED, RENDER_FLAME,
	RENDER_PPROF, RENDER_PARQUET, RENDER_VERTICAL
};

/* Uses of a format. */
enum render_use {
	RENDER_OF_ROWS = 1,	/* of any kind */
	RENDER_OF_STACKS = 2,	/* of a view of stacks */
	RENDER_OF_SQL = 4,
	RENDER_OF_VIEWS = 8,	/* of any one view */
};

struct render_options {
	enum render_format format;
	FILE *out; /* not owned */
	uint64_t limit; /* rows shown at most (of each section, or bin); 0: all */
	bool per_first; /* limit holds for each value of the first column: a bin, a host */
	bool folded_count; /* formats of stacks: samples, objects or waits, not bytes or ns */
	const char *title; /* flame and pprof: subject of the rows */
	/* pprof: of the window, ns since 1970; period_ns: between samples, or 0 */
	uint64_t time_ns, duration_ns, period_ns;
	/* parquet: pairs of key and value for the footer, up to a NULL; may be NULL */
	const char *const *meta;
	/* parquet: ns since 1970 of an instant of the trace; NULL: instants stay as they are */
	int64_t (*wall_ns)(void *ctx, int64_t ns);
	bool human; /* table: headings and values with units */
	bool markdown; /* table: as Markdown has it, with human */
	bool wide; /* table: every column, with all decimals of instants */
	/* table: columns after the first are named after things, and have this column's values */
	const char *figure;
	const char *scope; /* table: options for commands that show more; may be NULL */
	const char *drops; /* table: columns to drop first if it is too wide: "ios,bytes" */
	unsigned int width; /* table: cells to fit into by cutting text; 0: never cut */
	/* Called once before the first output, unless an error comes first; may be NULL. */
	void (*heading)(void *ctx);
	/* Called after each RENDER_PROGRESS_ROWS of a result; may be NULL. */
	void (*progress)(void *ctx, uint64_t row_cnt);
	void *ctx; /* of all functions */
	const struct row_sink *also; /* gets all rows, too, but no end; may be NULL */
};

#define RENDER_PROGRESS_ROWS (1u << 18)

struct render;

int render_new(struct render **ret, const struct render_options *o);
void render_free(struct render *r);
/* The sink is valid as long as r. One query after another may use it. */
const struct row_sink *render_sink(struct render *r);
/* Rows of all results. */
uint64_t render_row_cnt(const struct render *r);

/*
 * The sink's functions, for rows that are made here, are these; render is a struct render. After an
 * error they do nothing and return that error.
 */
int render_begin(void *render, unsigned int col_cnt, const char *const *names);
int render_put(void *render, const struct value *values);
int render_end(void *render);

/* Parses "table", "csv" and so on; only formats that suit one of uses. 0 or -EINVAL. */
int render_parse_format(const char *name, unsigned int uses, enum render_format *ret);

bool render_is_one_of(const char *name, const char *const *list); /* which NULL ends */

/*
 * Writes text and a newline, wrapped at words to lines of at most width bytes; 0: in one line. A
 * command in backquotes is one word.
 */
void render_wrap(FILE *f, const char *text, unsigned int width);
/* The same for text that starts in column `left`, where all its lines begin. */
void render_wrap_beside(FILE *f, const char *text, unsigned int width, unsigned int left);

/* The same, or a paragraph of Markdown: escaped, in one line, followed by an empty line. */
void render_paragraph(FILE *f, const char *text, unsigned int width, bool markdown);

/* Escapes text for HTML or XML. Unprintable characters become visible. */
void render_html_text(FILE *f, const char *text);

/*
 * Writes the page of a flame graph up to the lines of stacks, and returns the rest of the page.
 * unit: of the numbers; note precedes the page's own.
 */
const char *render_flame_begin(FILE *f, const char *title, const char *unit, const char *note);

/* "(3 more: report cpu --by comm)": the number of omitted rows, and a command that shows them. */
void render_more(FILE *f, uint64_t cnt, const char *command, const struct render_options *o);
