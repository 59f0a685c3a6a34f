/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * render: converts rows of an answer to text.
 *
 *     analyze --struct row_sink--> [render] --> a stdio stream: table, csv, json or jsonl
 *
 * csv, json and jsonl are streamed: memory does not depend on the number of rows. A table keeps its
 * first rows (RENDER_TABLE_HELD) to compute the column widths, then is streamed, too.
 *
 *     csv    RFC 4180 quoting, lines end in LF, one line per record, header row first; numbers raw,
 *            NULL as an empty cell, text escaped by textsafe_csv()
 *     json   one array of objects, one object per line; NULL, NaN and infinities are null.
 *            With sections: an object, in which each section is such an array
 *     jsonl  an object per line and nothing else; values that would be null are omitted
 *     parquet  one file with typed columns (render_parquet.c), of one result
 *     table  for people: escaped text, numbers to the right; with human, units by the column's name
 *
 * Threads: one. Errors: -ENOMEM, or -errno of a failed write. The owner of the stream flushes it
 * and checks for errors.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "analyze/analyze.h"
#include "analyze/engine/column.h"
#include "base/buf.h"

#define RENDER_TABLE_HELD 1000

/* VERTICAL writes a line per value. */
enum render_format {
	RENDER_TABLE, RENDER_CSV, RENDER_JSON, RENDER_JSONL, RENDER_FOLDED, RENDER_FLAME,
	RENDER_PPROF, RENDER_PARQUET, RENDER_VERTICAL
};

/* Uses of a format. */
enum render_use {
	RENDER_OF_ROWS = 1,	/* rows of any kind */
	RENDER_OF_STACKS = 2,	/* rows of a view of stacks */
	RENDER_OF_SQL = 4,
	RENDER_OF_VIEWS = 8,	/* rows of any single view */
};

struct render_options {
	enum render_format format;
	FILE *out; /* owned by the caller */
	uint64_t limit; /* maximum number of rows shown (per section, or per bin); 0: all */
	bool per_first; /* limit applies to each value of the first column: a bin, a host */
	bool folded_count; /* formats of stacks: write samples, objects or waits, not bytes or ns */
	const char *title; /* flame and pprof: subject of the rows */
	/* pprof: start of the window, ns since 1970; its length; time between samples, or 0 */
	uint64_t time_ns, duration_ns, period_ns;
	/* parquet: keys and values for the footer, alternating, NULL-terminated; may be NULL */
	const char *const *meta;
	/*
	 * parquet: converts an instant of the trace to ns since 1970; NULL: instants are not
	 * converted
	 */
	int64_t (*wall_ns)(void *ctx, int64_t ns);
	bool human; /* table: headings and values with units */
	bool markdown; /* table: as Markdown; requires human */
	bool wide; /* table: every column, with all decimals of instants */
	/*
	 * table, with --wide-by: name of the view's column whose values the table shows, in one
	 * column per group. NULL: ordinary columns
	 */
	const char *figure;
	const char *scope; /* table: options for commands that show more; may be NULL */
	const char *drops; /* table: columns to drop first if the table is too wide: "ios,bytes" */
	unsigned int width; /* table: cells per line; longer text is cut; 0: never cut */
	/* Called once before the first output, unless an error comes first; may be NULL. */
	void (*heading)(void *ctx);
	/* Called after every RENDER_PROGRESS_ROWS rows of a result; may be NULL. */
	void (*progress)(void *ctx, uint64_t row_cnt);
	void *ctx; /* for all functions */
	/* receives all rows, too, but its end() is not called; may be NULL */
	const struct row_sink *also;
};

#define RENDER_PROGRESS_ROWS (1u << 18)

struct render;

int render_new(struct render **ret, const struct render_options *o);
void render_free(struct render *r);
/* Returns a sink for r, valid until r is freed. Successive queries may use it. */
const struct row_sink *render_sink(struct render *r);
/* Returns the number of rows of all results. */
uint64_t render_row_cnt(const struct render *r);

/*
 * The functions of the sink, for callers that make rows themselves; render: a struct render. After
 * an error they do nothing and return that error.
 */
int render_begin(void *render, unsigned int col_cnt, const char *const *names);
int render_put(void *render, const struct value *values);
int render_end(void *render);

/*
 * Parses the name of a format, such as "table". uses: mask of enum render_use; formats without any
 * of these uses are refused. 0 or -EINVAL.
 */
int render_parse_format(const char *name, unsigned int uses, enum render_format *ret);

bool render_is_one_of(const char *name, const char *const *list); /* list: NULL-terminated */

/*
 * Writes text and a newline, wrapped between words to lines of at most width bytes; 0: not wrapped.
 * A command in backquotes is one word.
 */
void render_wrap(FILE *f, const char *text, unsigned int width);
/* As render_wrap(), for text that begins in column `left`; further lines begin there, too. */
void render_wrap_beside(FILE *f, const char *text, unsigned int width, unsigned int left);

/*
 * As render_wrap(); markdown: writes a paragraph instead, escaped, in one line, followed by an
 * empty line.
 */
void render_paragraph(FILE *f, const char *text, unsigned int width, bool markdown);

/* Writes text, escaped for HTML or XML. Unprintable characters become visible. */
void render_html_text(FILE *f, const char *text);

/*
 * Writes the page of a flame graph up to the lines of stacks, and returns the rest of the page.
 * unit: unit of the numbers; note: text before the page's own note.
 */
const char *render_flame_begin(FILE *f, const char *title, const char *unit, const char *note);

/*
 * Writes the number of omitted rows, and a command that shows them: "(3 more: report cpu --by
 * comm)".
 */
void render_more(FILE *f, uint64_t cnt, const char *command, const struct render_options *o);

/*
 * row_prefix: a sink that prepends columns to the rows of one or several queries.
 *
 *     analyze --rows--> [row_prefix] --longer rows--> a renderer
 *
 * Threads: one. Errors: -ENOMEM, and those of the next sink.
 */

#define ROW_PREFIX_MAX 4

struct row_prefix {
	const struct row_sink *next; /* must outlive this struct */
	unsigned int cnt; /* number of prefix columns */
	const char *names[ROW_PREFIX_MAX];
	/* prefix values; the owner may change them between rows */
	struct value before[ROW_PREFIX_MAX];
	bool joins; /* joins the results of several queries into one result */
	/* Returns whether change() needs the column of this name (sets picked); may be NULL. */
	bool (*picks)(const char *name);
	/* May change the col_cnt values of row before they are passed to next; may be NULL. */
	void (*change)(const struct row_prefix *p, struct value *row);
	void *ctx; /* for change() */

	struct row_sink sink; /* for the queries, after row_prefix_init() */
	bool *picked; /* per column: result of picks() */
	unsigned int col_cnt; /* number of columns, including the prefix; 0: not begun */
	struct value *row;
};

/* Initializes p->sink. The caller has set the members from next to ctx. */
void row_prefix_init(struct row_prefix *p);
/*
 * Ends the result, unless r < 0 or no result was begun, and frees the memory of p. Returns r, or
 * the error of the end.
 */
int row_prefix_end(struct row_prefix *p, int r);

/*
 * stack_columns: finds the columns of a view of stacks, for the formats that draw stacks. A call
 * chain is one text, outermost function first, with ';' between functions. Rows without a recorded
 * stack have no text, but count in sums.
 */

#define STACK_COLUMNS_NONE "[not recorded]"	/* in place of a call chain */

struct stack_columns {
	int comm, source, pid, tid; /* column indices; -1: none */
	int number, amount; /* column of samples, objects or waits; first column of bytes or ns */
	/* columns of the whole stack or its user part, and of the kernel part; -1: none */
	int stacks[2];
};

/* Returns 0, or -EINVAL if the rows are not stacks. */
int stack_columns_find(struct stack_columns *s, unsigned int cnt, const char *const *names);

/*
 * Appends the line of a row and a blank: "comm;[source];outermost;...;innermost ", as text for a
 * terminal; if is_html, "[source];comm;...", as HTML. If memory is short, to->failed is set.
 */
void stack_columns_line(const struct stack_columns *s, struct buf *to, const struct value *values,
			bool is_html);

/*
 * Converts "outer;middle;inner" to a form for people, innermost function first: "inner < middle <
 * outer"; paths are cut to their last component. malloc'ed; NULL: out of memory.
 */
char *stack_turn(const char *text, size_t len);
