/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * render_table: the table format, for people. The first rows are kept as formatted cells to compute
 * the widths. If there are more rows, the widths are then fixed, and further rows are written
 * immediately.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "cmd/render/render_format.h"
#include "cmd/render/render.h"
#include "base/textsafe.h"
#include "base/words.h"

#define BAR_CELLS 14 /* bar in a histogram; full for 100 % */
#define GAP	       2 /* spaces between columns */
#define BELOW_INDENT   6 /* indentation of a stack below its row */
#define TEXT_CELLS_GOOD	12 /* dispensable columns are dropped before text is cut below this */
#define TEXT_CELLS_MIN	7 /* text is never cut below this: any number column is dropped instead */
#define TEXT_CELLS_MAX 400 /* longer text, such as a command line, is cut when it is read */

enum shown {
	SHOWN,
	HIDDEN_EMPTY, /* no row contains a value */
	HIDDEN_SAME, /* the same completeness in all rows */
	HIDDEN_DETAIL, /* detail, shown only with --wide */
	HIDDEN_ZERO, /* 0 in all rows, hidden to save space */
	HIDDEN_NO_ROOM,
};

struct column {
	enum column_kind kind;
	unsigned int cells, decimals;
	bool is_text; /* some value is text: align to the left */
	bool is_zero; /* all kept values are 0 or NULL, and the kind may be hidden */
	bool is_null; /* all kept values are NULL */
	/* no kept row contains a value, so the column is hidden if its kind may be */
	bool is_empty;
	bool may_be_same; /* a column of completeness, shown only if rows differ */
	enum shown shown;
	/* label of a stack, which is written on a line below the row; NULL: an ordinary column */
	const char *below;
	char name[64], heading[64], same[UNITS_TEXT_MAX];
};

struct cell {
	char *text; /* NULL: no value */
	unsigned int cells; /* width; unset for a stack */
	bool is_text, is_zero, is_null;
};

struct table {
	const struct render_options *options;
	unsigned int col_cnt;
	struct column *columns;
	struct cell *cells; /* cells of the kept rows */
	unsigned int held_cnt, last; /* last: the last column of a line */
	bool is_streaming, is_upright;
};

/* ---- a stack ---- */

static const char *stack_label(const char *name)
{
	static const char *const labels[][2] = {
		{ "stack", "stack" }, { "user_stack", "user" }, { "kernel_stack", "kernel" },
	};

	for (size_t i = 0; i < sizeof(labels) / sizeof(labels[0]); i++)
		if (!strcmp(name, labels[i][0]))
			return labels[i][1];
	return NULL;
}

/* Stores a text, escaped and cut to the part that may be shown. 0 or -ENOMEM. */
static int make_text(struct cell *c, const char *text, size_t len)
{
	size_t size = len * TEXTSAFE_GROWTH + 1;

	if (size > TEXT_CELLS_MAX * 4)
		size = TEXT_CELLS_MAX * 4;
	c->text = malloc(size + 2); /* textsafe_cut() needs 2 more bytes */
	if (!c->text)
		return -ENOMEM;
	textsafe_escape(c->text, size, text, len, &c->cells);
	return 0;
}

static int make_stack(struct cell *c, const struct value *v)
{
	char *turned = stack_turn(v->text, v->text_bytes);
	int r = turned ? make_text(c, turned, strlen(turned)) : -ENOMEM;

	free(turned);
	c->cells = 0;
	return r;
}

/*
 * Stores the name of a process in a tree, indented by its depth, which is the value of the
 * preceding column.
 */
static int make_indented(struct cell *c, uint64_t depth, const struct value *v)
{
	char text[256];
	int n = snprintf(text, sizeof(text), "%*s%.*s", (int)(depth < 60 ? depth : 60), "",
			 (int)v->text_bytes, v->text);

	return make_text(c, text, n < (int)sizeof(text) ? (size_t)n : sizeof(text) - 1);
}

static int make_cell(const struct table *t, unsigned int col, const struct value *v,
		     struct cell *ret)
{
	enum column_kind kind = t->options->human ? t->columns[col].kind : COLUMN_ID;
	char text[64] = "NULL";

	*ret = (struct cell){ .is_null = v->type == VALUE_NULL };
	if (t->columns[col].below) {
		ret->is_null = v->type != VALUE_TEXT;
		return ret->is_null ? 0 : make_stack(ret, v);
	}
	ret->is_text = v->type == VALUE_TEXT;
	if (ret->is_text && t->options->human && col && !strcmp(t->columns[col - 1].name, "depth"))
		return make_indented(ret, (uint64_t)v[-1].i, v);
	if (ret->is_text)
		return make_text(ret, v->text, v->text_bytes);
	ret->is_zero = v->type == VALUE_INT ? !v->i : v->type == VALUE_NULL || v->r == 0;
	if (kind == COLUMN_INSTANT && v->type == VALUE_INT)
		snprintf(text, sizeof(text), "%s%lld.%09lld", v->i < 0 ? "-" : "",
			 llabs((long long)(v->i / (int64_t)UNITS_NS_PER_S)),
			 llabs((long long)(v->i % (int64_t)UNITS_NS_PER_S)));
	else if (kind == COLUMN_SHARE && v->type == VALUE_REAL)
		snprintf(text, sizeof(text), "%.1f  %-*.*s", v->r, BAR_CELLS,
			 (int)(v->r * BAR_CELLS / 100 + 0.5), "####################");
	else if (v->type != VALUE_NULL)
		render_format_value(text, sizeof(text), v, kind);
	else if (t->options->human)
		strcpy(text, "-");
	return make_text(ret, text, strlen(text));
}

/* ---- writing ---- */

static void put_spaces(struct render_out *out, unsigned int n)
{
	char *p = render_out_room(out, n);

	if (p) {
		memset(p, ' ', n);
		out->n += n;
	}
}

static void put_cell(const struct table *t, struct render_out *out, unsigned int col,
		     const char *text, unsigned int cells)
{
	const struct column *c = &t->columns[col];
	unsigned int pad = c->cells > cells ? c->cells - cells : 0;

	if (c->shown || c->below)
		return;
	if (t->options->markdown) {
		render_markdown_cell(out, text, !col, col == t->last);
		return;
	}
	if (col)
		put_spaces(out, GAP);
	if (!c->is_text)
		put_spaces(out, pad);
	render_out_text(out, text);
	if (c->is_text && col != t->last)
		put_spaces(out, pad);
}

/*
 * Divides a stack's line before the last caller that begins within `cells` cells. Returns the rest;
 * NULL: the line fits, or was cut.
 */
static char *split_stack(char *text, unsigned int cells)
{
	char *at, *last = NULL;

	if (strlen(text) <= cells)
		return NULL;
	for (at = strstr(text, " < "); at && at - text <= (ptrdiff_t)cells;
	     at = strstr(at + 1, " < "))
		last = at;
	if (!last) {
		textsafe_cut(text, cells);
		return NULL;
	}
	*last = 0;
	return last + 1;
}

static void put_below(const struct table *t, struct render_out *out, const char *label, char *text)
{
	unsigned int used = BELOW_INDENT + (unsigned int)strlen(label) + 2;
	char *rest = t->options->width > used ? split_stack(text, t->options->width - used) : NULL;

	put_spaces(out, BELOW_INDENT);
	render_out_text(out, label);
	render_out_text(out, ": ");
	render_out_text(out, text);
	render_out_text(out, "\n");
	if (!rest)
		return;
	textsafe_cut(rest, t->options->width - used);
	put_spaces(out, used);
	render_out_text(out, rest);
	render_out_text(out, "\n");
}

static void put_stacks(const struct table *t, struct render_out *out, const struct cell *cells)
{
	for (unsigned int i = 0; i < t->col_cnt; i++)
		if (t->columns[i].below && cells[i].text)
			put_below(t, out, t->columns[i].below, cells[i].text);
}

/* Cuts the decimals that a column of instants does not need. */
static void cut_decimals(const struct column *c, struct cell *cell)
{
	char *dot = c->decimals < 9 && !cell->is_text ? strchr(cell->text, '.') : NULL;

	if (!dot || strlen(dot) <= c->decimals + 1)
		return;
	dot[c->decimals + 1] = 0;
	cell->cells = (unsigned int)strlen(cell->text);
}

/* Returns whether the section consists of sentences: one column, without a heading, never cut. */
static bool is_of_sentences(const struct table *t)
{
	return t->options->human && !t->options->markdown && t->col_cnt == 1 &&
	       !strcmp(t->columns[0].name, "answer");
}

static void put_row(const struct table *t, struct render_out *out, struct cell *cells)
{
	if (is_of_sentences(t) && t->options->width) {
		render_out_flush(out);
		render_wrap_beside(out->f, cells[0].text, t->options->width, 2);
		return;
	}
	for (unsigned int i = 0; i < t->col_cnt; i++) {
		const struct column *c = &t->columns[i];
		unsigned int n;

		cut_decimals(c, &cells[i]);
		n = cells[i].cells;
		if (cells[i].is_text && !c->below && t->options->width && n > c->cells) {
			if (strcmp(c->name, "file"))
				textsafe_cut(cells[i].text, c->cells);
			else
				textsafe_cut_middle(cells[i].text, c->cells);
			n = c->cells;
		}
		put_cell(t, out, i, cells[i].text, n);
	}
	render_out_text(out, "\n");
	put_stacks(t, out, cells);
}

/* Returns the width of a line with texts cut to text_cells; 0: not cut. */
static unsigned int line_cells(const struct table *t, unsigned int text_cells)
{
	unsigned int total = 0;

	for (unsigned int i = 0; i < t->col_cnt; i++) {
		const struct column *c = &t->columns[i];
		unsigned int cells = c->cells, heading = (unsigned int)strlen(c->heading);

		if (c->shown || c->below)
			continue;
		if (text_cells && c->is_text && cells > text_cells)
			cells = heading > text_cells ? heading : text_cells;
		total += cells + (i ? GAP : 0);
	}
	return total;
}

static bool may_drop(const struct column *c)
{
	return !c->below && !c->is_text && c->kind != COLUMN_ID && c->kind != COLUMN_YES_NO;
}

/* Columns that explain how a value was determined, shown only with --wide. */
static const char *const details[] = {
	"owner_how", "submitter",     "unknown_owner_ios", "requeues",
	"merges",    "unknown_waits", "lost_frees",	   "depth",
	"unowned_ios", "unowned_bytes", NULL,
};

/* Hides columns of a list until the rest fits. Returns whether a column was hidden. */
static bool drop_listed(struct table *t, const char *list)
{
	bool any = false;

	while (*list && line_cells(t, TEXT_CELLS_GOOD) > t->options->width) {
		struct word w = word_next(&list);

		for (unsigned int i = 1; i < t->col_cnt; i++) {
			struct column *c = &t->columns[i];

			if (c->shown || !word_is(w, c->name))
				continue;
			c->shown = HIDDEN_NO_ROOM;
			any = true;
		}
	}
	return any;
}

/*
 * Drops columns until the rest fits: first the columns that the view lists as dispensable; then, if
 * cutting texts does not suffice, columns of numbers from right to left. Returns whether a column
 * was dropped.
 */
static bool drop_columns(struct table *t)
{
	bool any = drop_listed(t, t->options->drops ? t->options->drops : "");

	for (unsigned int i = t->col_cnt; i-- > 1;) {
		struct column *c = &t->columns[i];

		unsigned int cells = c->may_be_same ? TEXT_CELLS_GOOD : TEXT_CELLS_MIN;

		if (c->shown || !may_drop(c) || line_cells(t, cells) <= t->options->width)
			continue;
		c->shown = HIDDEN_NO_ROOM;
		any = true;
	}
	return any;
}

/* Returns the priority of narrowing a text: objects and verdicts keep more than other texts. */
static unsigned int weight(const struct column *c)
{
	return strcmp(c->name, "object") && strcmp(c->name, "verdict") ? c->cells : c->cells / 2;
}

/* Narrows the widest text by a cell. False: no text can be narrowed. */
static bool narrow_text(struct table *t)
{
	struct column *widest = NULL;

	for (unsigned int i = 0; i < t->col_cnt; i++) {
		struct column *c = &t->columns[i];

		if (!c->shown && !c->below && c->is_text && c->cells > TEXT_CELLS_MIN &&
		    c->cells > strlen(c->heading) && (!widest || weight(c) > weight(widest)))
			widest = c;
	}
	if (widest)
		widest->cells--;
	return widest;
}

/* Returns whether all kept rows have the same value. */
static bool is_same(const struct table *t, unsigned int col)
{
	for (unsigned int r = 1; r < t->held_cnt; r++)
		if (strcmp(t->cells[r * t->col_cnt + col].text, t->cells[col].text))
			return false;
	return t->held_cnt && !t->cells[col].is_null;
}

/*
 * Hides columns without values, and columns of completeness with the same value in all rows, even
 * if they would fit. Then makes the line fit: hides columns that are 0 in every row (both steps
 * need all rows), drops columns that do not fit, and narrows texts. Returns whether columns were
 * dropped because they do not fit.
 */
static bool fit_columns(struct table *t, bool has_all_rows)
{
	unsigned int width = t->options->width;
	bool dropped = false;

	has_all_rows &= t->held_cnt > 0;
	for (unsigned int i = 1; has_all_rows && i < t->col_cnt; i++) {
		struct column *c = &t->columns[i];

		if (c->is_empty) {
			c->shown = HIDDEN_EMPTY;
		} else if (c->may_be_same && is_same(t, i)) {
			c->shown = HIDDEN_SAME;
			snprintf(c->same, sizeof(c->same), "%s", t->cells[i].text);
		}
	}
	if (!width)
		return false;
	for (unsigned int i = t->col_cnt; has_all_rows && i-- > 1;) {
		struct column *c = &t->columns[i];

		if (c->is_zero && !c->shown && !c->below && line_cells(t, 0) > width)
			c->shown = c->is_null ? HIDDEN_EMPTY : HIDDEN_ZERO;
	}
	if (t->options->human && line_cells(t, 0) > width)
		dropped = drop_columns(t);
	while (line_cells(t, 0) > width && narrow_text(t))
		;
	return dropped;
}

static void free_cells(struct cell *cells, unsigned int cnt)
{
	for (unsigned int i = 0; i < cnt; i++)
		free(cells[i].text);
}

/* Writes a row that is too wide as a line per column. */
static void write_upright(struct table *t, struct render_out *out, struct cell *cells)
{
	unsigned int widest = 0;

	for (unsigned int i = 0; i < t->col_cnt; i++)
		if (!t->columns[i].below && strlen(t->columns[i].heading) > widest)
			widest = (unsigned int)strlen(t->columns[i].heading);
	for (unsigned int i = 0; i < t->col_cnt; i++) {
		struct column *c = &t->columns[i];
		unsigned int len = (unsigned int)strlen(c->heading);

		if (c->shown == HIDDEN_ZERO || c->shown == HIDDEN_NO_ROOM)
			c->shown = SHOWN;
		if (c->shown || c->below || (cells[i].is_null && t->options->human))
			continue;
		render_out_text(out, c->heading);
		put_spaces(out, widest - len + GAP);
		if (c->is_text && t->options->width > widest + GAP)
			textsafe_cut(cells[i].text, t->options->width - widest - GAP);
		render_out_text(out, cells[i].text);
		render_out_text(out, "\n");
	}
	put_stacks(t, out, cells);
}

static void find_widths(struct table *t)
{
	for (unsigned int i = 0; i < t->col_cnt; i++) {
		struct column *c = &t->columns[i];

		c->is_null = true;
		c->cells = (unsigned int)strlen(c->heading);
		c->is_empty = t->options->human && !c->below &&
			      (c->kind == COLUMN_DURATION || column_find(c->name)->is_rare);
		c->is_zero = t->options->human && c->kind != COLUMN_ID &&
			     c->kind != COLUMN_INSTANT && c->kind != COLUMN_YES_NO;
		for (unsigned int r = 0; r < t->held_cnt; r++) {
			const struct cell *cell = &t->cells[r * t->col_cnt + i];

			if (cell->cells > c->cells)
				c->cells = cell->cells;
			c->is_text |= cell->is_text;
			c->is_zero &= cell->is_zero;
			c->is_null &= cell->is_null;
			c->is_empty &= cell->is_null;
		}
	}
}

/*
 * Returns the number of decimals of a column of instants: 3; for the first column and t_ns, enough
 * to distinguish neighbouring rows.
 */
static unsigned int instant_decimals(const struct table *t, unsigned int col)
{
	unsigned int decimals = 3;

	if (col && strcmp(t->columns[col].name, "t_ns"))
		return decimals;
	for (unsigned int r = 1; r < t->held_cnt && decimals < 9; r++) {
		const char *a = t->cells[(r - 1) * t->col_cnt + col].text;
		const char *b = t->cells[r * t->col_cnt + col].text;
		const char *dot = strchr(a, '.');

		while (dot && decimals < 9 && strcmp(a, b) &&
		       !strncmp(a, b, (size_t)(dot - a) + 1 + decimals))
			decimals += 3;
	}
	return decimals;
}

/* Cuts instants to the decimals that people need; csv and json contain all of them. */
static void shorten_instants(struct table *t)
{
	for (unsigned int i = 0; i < t->col_cnt; i++) {
		struct column *c = &t->columns[i];

		c->decimals = t->options->human && !t->options->wide && c->kind == COLUMN_INSTANT
				      ? instant_decimals(t, i)
				      : 9;
		for (unsigned int r = 0; r < t->held_cnt; r++)
			cut_decimals(c, &t->cells[r * t->col_cnt + i]);
	}
}

static void put_upright(struct table *t, struct render_out *out, struct cell *cells)
{
	write_upright(t, out, cells);
	render_out_text(out, "\n");
}

/*
 * Fixes the widths, and writes the heading and the kept rows. has_all_rows: no further rows follow.
 */
static void write_held(struct table *t, struct render_out *out, bool has_all_rows)
{
	bool dropped;

	shorten_instants(t);
	find_widths(t);
	dropped = !is_of_sentences(t) && fit_columns(t, has_all_rows);
	/* rows of SQL statements lose no column: rows that are too wide become a line per column */
	t->is_upright = !t->options->human && t->held_cnt && t->options->width &&
			line_cells(t, 0) > t->options->width;
	if (t->is_upright) {
		for (unsigned int r = 0; r < t->held_cnt; r++)
			put_upright(t, out, t->cells + r * t->col_cnt);
	} else if (dropped && has_all_rows && t->held_cnt == 1) {
		write_upright(t, out, t->cells);
	} else {
		for (unsigned int i = 0; i < t->col_cnt; i++)
			t->last = t->columns[i].shown || t->columns[i].below ? t->last : i;
		for (unsigned int i = 0; i < t->col_cnt && !is_of_sentences(t); i++)
			put_cell(t, out, i, t->columns[i].heading,
				 (unsigned int)strlen(t->columns[i].heading));
		render_out_text(out, is_of_sentences(t) ? "" : "\n");
		for (unsigned int i = 0; i < t->col_cnt && t->options->markdown; i++)
			if (!t->columns[i].shown)
				render_markdown_rule(out, t->columns[i].is_text, i == t->last);
		for (unsigned int r = 0; r < t->held_cnt; r++)
			put_row(t, out, t->cells + r * t->col_cnt);
	}
	free_cells(t->cells, t->held_cnt * t->col_cnt);
	t->held_cnt = 0;
	t->is_streaming = true;
}

/* ---- the format ---- */

static void table_clear(void *state)
{
	const struct table *t = state;

	free_cells(t->cells, t->held_cnt * t->col_cnt);
	free(t->cells);
	free(t->columns);
}

static void begin_column(struct column *c, const struct render_options *o,
			 const char *const *names, unsigned int i)
{
	/* a column of --wide-by is named after a group, and has the figure's kind */
	if (i && o->figure) {
		c->kind = column_find(o->figure)->kind;
		textsafe_escape(c->heading, sizeof(c->heading), names[i], strlen(names[i]), NULL);
		return;
	}
	c->kind = column_find(names[i])->kind;
	c->below = o->human && !o->markdown ? stack_label(names[i]) : NULL;
	snprintf(c->name, sizeof(c->name), "%s", names[i]);
	c->may_be_same = o->human && !o->wide &&
			 (!strcmp(names[i], "complete") || (!strcmp(names[i], "lost_events") && i &&
							    !strcmp(names[i - 1], "complete")));
	if (o->human && !o->wide && i && render_is_one_of(names[i], details))
		c->shown = HIDDEN_DETAIL;
	if (o->human)
		column_heading(c->heading, sizeof(c->heading), names[i]);
	/* align the heading with the number, not with the bar */
	if (o->human && c->kind == COLUMN_SHARE)
		memset(c->heading + strlen(c->heading), ' ', BAR_CELLS);
	if (!o->human)
		textsafe_escape(c->heading, sizeof(c->heading), names[i], strlen(names[i]), NULL);
}

static int table_begin(void *state, const struct render_options *o, struct render_out *out,
		       unsigned int cnt, const char *const *names)
{
	struct table *t = state;

	t->options = o;
	t->columns = calloc(cnt ? cnt : 1, sizeof(*t->columns));
	t->cells = calloc((size_t)(cnt ? cnt : 1) * RENDER_TABLE_HELD, sizeof(*t->cells));
	if (!t->columns || !t->cells)
		return -ENOMEM;
	t->col_cnt = cnt;
	for (unsigned int i = 0; i < cnt; i++)
		begin_column(&t->columns[i], o, names, i);
	return 0;
}

static int table_row(void *state, struct render_out *out, const struct value *v)
{
	struct table *t = state;
	struct cell *cells;
	int e = 0;

	if (t->held_cnt == RENDER_TABLE_HELD)
		write_held(t, out, false);
	cells = t->cells + (size_t)t->held_cnt * t->col_cnt;
	for (unsigned int i = 0; i < t->col_cnt; i++) {
		e = make_cell(t, i, &v[i], &cells[i]);
		if (e) {
			free_cells(cells, i);
			return e;
		}
	}
	if (t->is_streaming) {
		if (t->is_upright)
			put_upright(t, out, cells);
		else
			put_row(t, out, cells);
		free_cells(cells, t->col_cnt);
	} else {
		t->held_cnt++;
	}
	return 0;
}

/*
 * Prints the names of the columns that are hidden for the reason `why`: "(no room for: ERRORS,
 * BYTES; --wide shows all)".
 */
static void name_hidden(const struct table *t, struct render_out *out, enum shown why,
			const char *text, const char *end)
{
	const char *before = text;
	char line[1024] = "";
	size_t n = 0;

	for (unsigned int i = 0; i < t->col_cnt && n < sizeof(line); i++) {
		const struct column *c = &t->columns[i];

		if (c->shown != why || c->is_empty)
			continue;
		n += (size_t)snprintf(line + n, sizeof(line) - n, "%s%s", before, c->heading);
		before = ", ";
	}
	if (!n || n >= sizeof(line))
		return;
	snprintf(line + n, sizeof(line) - n, "%s)", end);
	render_out_flush(out);
	render_wrap(out->f, line, t->options->width);
}

/*
 * Prints the common value of hidden columns of completeness, unless all rows are complete ("yes",
 * or 0 lost).
 */
static void name_same(const struct table *t, struct render_out *out)
{
	const char *before = "(in all rows, ";
	bool any = false;

	for (unsigned int i = 0; i < t->col_cnt; i++) {
		const struct column *c = &t->columns[i];

		if (c->shown != HIDDEN_SAME || !strcmp(c->same, "yes") || !strcmp(c->same, "0"))
			continue;
		render_out_text(out, before);
		render_out_text(out, c->heading);
		render_out_text(out, ": ");
		render_out_text(out, c->same);
		before = ", ";
		any = true;
	}
	render_out_text(out, any ? ")\n" : "");
}

static void table_end(void *state, struct render_out *out, uint64_t left_out)
{
	struct table *t = state;
	bool is_empty = !t->is_streaming && !t->held_cnt;

	if (!t->is_streaming)
		write_held(t, out, true);
	render_out_text(out, t->options->markdown ? "\n" : "");
	if (is_empty)
		render_out_text(out, "(nothing)\n");
	name_same(t, out);
	if (!is_empty) {
		name_hidden(t, out, HIDDEN_ZERO, "(0 in all rows: ", "");
		name_hidden(t, out, HIDDEN_NO_ROOM, "(no room for: ", "; --wide shows all");
	}
	if (left_out) {
		render_out_flush(out);
		render_more(out->f, left_out, out->more, t->options);
	}
}

const struct render_format_ops render_table_ops = {
	.state_bytes = sizeof(struct table),
	.begin = table_begin,
	.row = table_row,
	.end = table_end,
	.clear = table_clear,
};
