/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * render_out: the output buffer, which avoids a stdio call per row; and the values of a table,
 * formatted in the unit of their column.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/textsafe.h"
#include "base/units.h"
#include "cmd/render/render.h"
#include "cmd/render/render_format.h"

bool render_is_one_of(const char *name, const char *const *list)
{
	for (; *list; list++) {
		if (!strcmp(name, *list))
			return true;
	}
	return false;
}

/* ---- the output buffer ---- */

int render_out_flush(struct render_out *o)
{
	if (!o->error && o->n && fwrite(o->buf, 1, o->n, o->f) != o->n)
		o->error = errno ? -errno : -EIO;
	o->n = 0;
	return o->error;
}

char *render_out_room(struct render_out *o, size_t max)
{
	if (o->n + max > o->cap) {
		render_out_flush(o);
		if (max > o->cap) {
			char *p = realloc(o->buf, max);

			if (!p) {
				o->error = o->error ? o->error : -ENOMEM;
				return NULL;
			}
			o->buf = p;
			o->cap = max;
		}
	}
	return o->buf + o->n;
}

static void render_out_bytes(struct render_out *o, const char *s, size_t n)
{
	char *p = render_out_room(o, n);

	if (p) {
		memcpy(p, s, n);
		o->n += n;
	}
}

void render_out_text(struct render_out *o, const char *s)
{
	render_out_bytes(o, s, strlen(s));
}

void render_out_int(struct render_out *o, int64_t v)
{
	uint64_t u = v < 0 ? 0 - (uint64_t)v : (uint64_t)v;
	char digits[24], *p = digits + sizeof(digits);

	do {
		*--p = (char)('0' + u % 10);
		u /= 10;
	} while (u);
	if (v < 0)
		*--p = '-';
	render_out_bytes(o, p, (size_t)(digits + sizeof(digits) - p));
}

void render_format_real(char *buf, size_t size, double v)
{
	for (int digits = 15; digits <= 17; digits++) {
		snprintf(buf, size, "%.*g", digits, v);
		if (strtod(buf, NULL) == v)
			break;
	}
}

static void render_out_real(struct render_out *o, double v)
{
	char text[40];

	render_format_real(text, sizeof(text), v);
	render_out_text(o, text);
}

/* ---- one value ---- */

static void format_rate(char *buf, size_t size, double v)
{
	char whole[UNITS_TEXT_MAX];
	double a = v < 0 ? -v : v;
	uint64_t tenths;

	if (!(a < 1e15)) { /* too large for groups of digits, or not a number */
		snprintf(buf, size, "%g", v);
		return;
	}
	tenths = (uint64_t)(a * 10 + 0.5);
	snprintf(buf, size, "%s%s.%u", v < 0 ? "-" : "",
		 units_format_count(whole, sizeof(whole), tenths / 10),
		 (unsigned int)(tenths % 10));
}

static void format_sized(char *buf, size_t size, int64_t v, enum column_kind kind)
{
	uint64_t a = v < 0 ? 0 - (uint64_t)v : (uint64_t)v;
	char text[UNITS_TEXT_MAX];

	if (kind == COLUMN_DURATION)
		units_format_duration(text, sizeof(text), a);
	else
		units_format_bytes(text, sizeof(text), a);
	snprintf(buf, size, "%s%s%s", v < 0 ? "-" : "", text, kind == COLUMN_BYTE_RATE ? "/s" : "");
}

void render_format_value(char *buf, size_t size, const struct value *value, enum column_kind kind)
{
	bool is_real = value->type == VALUE_REAL;
	double r = is_real ? value->r : (double)value->i;
	/* values whose unit has no decimals are rounded */
	bool fits = !is_real || (r > -9e18 && r < 9e18);
	int64_t v = !is_real ? value->i : fits ? (int64_t)(r < 0 ? r - 0.5 : r + 0.5) : 0;

	if (kind == COLUMN_RATIO && is_real)
		snprintf(buf, size, "%.3f", r);
	else if (kind == COLUMN_RATE || kind == COLUMN_PERCENT || kind == COLUMN_SHARE ||
		 kind == COLUMN_RATIO || (kind == COLUMN_COUNT && is_real))
		format_rate(buf, size, r);
	else if (is_real && (kind == COLUMN_ID || !fits))
		snprintf(buf, size, "%.15g", r);
	else if (kind == COLUMN_COUNT)
		units_format_signed(buf, size, v);
	else if (kind == COLUMN_INSTANT)
		units_format_instant(buf, size, v);
	else if (kind == COLUMN_YES_NO)
		snprintf(buf, size, "%s", v ? "yes" : "NO");
	else if (kind == COLUMN_ID)
		snprintf(buf, size, "%" PRId64, v);
	else
		format_sized(buf, size, v, kind);
}

/* ---- Markdown ---- */

void render_markdown_cell(struct render_out *out, const char *text, bool is_first, bool is_last)
{
	size_t n = strlen(text);
	char *p;

	render_out_text(out, is_first ? "| " : " | ");
	p = render_out_room(out, TEXTSAFE_MARKDOWN_MAX(n));
	if (p)
		out->n += textsafe_markdown(p, text, n);
	render_out_text(out, is_last ? " |" : "");
}

void render_markdown_rule(struct render_out *out, bool is_text, bool is_last)
{
	render_out_text(out, is_text ? "|---" : "|---:");
	render_out_text(out, is_last ? "|\n" : "");
}

/*
 * render_csv: the formats csv, json and jsonl, for programs, with a line per row; and vertical,
 * with a line per value, for rows that are wider than a terminal. Numbers are written raw, text
 * through textsafe.
 */

struct lines {
	bool json, jsonl, vertical; /* if jsonl is set, so is json */
	unsigned int col_cnt;
	uint64_t row_cnt;
	/* prefix of each value: a comma, in json also its name; vertical: "   name  " */
	char **before;
};

static void put_text(const struct lines *l, struct render_out *out, const char *s, size_t n)
{
	char *p = render_out_room(out, l->json ? TEXTSAFE_JSON_MAX(n) : TEXTSAFE_CSV_MAX(n));

	if (p)
		out->n += l->json     ? textsafe_json(p, s, n) :
			  l->vertical ? textsafe_escape(p, TEXTSAFE_CSV_MAX(n), s, n, NULL) :
					textsafe_csv(p, s, n);
}

static void lines_clear(void *state)
{
	const struct lines *l = state;

	for (unsigned int i = 0; i < l->col_cnt; i++)
		free(l->before[i]);
	free(l->before);
}

/* Makes the prefixes of the format vertical: names, right-aligned to the widest. */
static int make_heads(struct lines *l, const char *const *names)
{
	unsigned int width = 0, cells;

	for (unsigned int k = 0; k < 2 * l->col_cnt; k++) {
		unsigned int i = k % l->col_cnt;
		size_t n = strlen(names[i]), size = n * TEXTSAFE_GROWTH + 1;
		char *safe = malloc(size);

		if (!safe)
			return -ENOMEM;
		textsafe_escape(safe, size, names[i], n, &cells);
		width = cells > width ? cells : width;
		if (k >= l->col_cnt &&
		    asprintf(&l->before[i], "%*s%s  ", (int)(width - cells), "", safe) < 0)
			l->before[i] = NULL;
		free(safe);
		if (k >= l->col_cnt && !l->before[i])
			return -ENOMEM;
	}
	return 0;
}

static int lines_begin(void *state, const struct render_options *o, struct render_out *out,
		       unsigned int cnt, const char *const *names)
{
	struct lines *l = state;

	l->jsonl = o->format == RENDER_JSONL;
	l->json = o->format == RENDER_JSON || l->jsonl;
	l->vertical = o->format == RENDER_VERTICAL;
	l->before = calloc(cnt ? cnt : 1, sizeof(*l->before));
	if (!l->before)
		return -ENOMEM;
	l->col_cnt = cnt;
	if (l->vertical)
		return make_heads(l, names);
	for (unsigned int i = 0; i < cnt; i++) {
		size_t n = strlen(names[i]);
		char *p = calloc(1, TEXTSAFE_JSON_MAX(n) + 3);

		l->before[i] = p;
		if (!p)
			return -ENOMEM;
		if (i)
			*p++ = ',';
		if (l->json) {
			p += textsafe_json(p, names[i], n);
			*p = ':';
		} else {
			render_out_text(out, l->before[i]);
			put_text(l, out, names[i], n);
		}
	}
	if (!l->jsonl)
		render_out_text(out, l->json ? "[" : "\n");
	return 0;
}

static bool is_null(const struct value *v)
{
	return v->type == VALUE_NULL || (v->type == VALUE_REAL && !isfinite(v->r));
}

static int lines_row(void *state, struct render_out *out, const struct value *v)
{
	struct lines *l = state;
	unsigned int skip = !l->vertical; /* 1: skip the comma, since no value was written before */

	if (l->vertical) {
		render_out_text(out, l->row_cnt ? "\nrow " : "row ");
		render_out_int(out, (int64_t)++l->row_cnt);
		render_out_text(out, "\n");
	}
	if (l->json)
		render_out_text(out, l->jsonl ? "{" : l->row_cnt++ ? ",\n{" : "\n{");
	for (unsigned int i = 0; i < l->col_cnt; i++) {
		if (l->jsonl && is_null(&v[i]))
			continue;
		render_out_text(out, l->before[i] + (i ? skip : 0));
		skip = 0;
		if (v[i].type == VALUE_INT)
			render_out_int(out, v[i].i);
		else if (v[i].type == VALUE_REAL && (isfinite(v[i].r) || l->vertical))
			render_out_real(out, v[i].r);
		else if (v[i].type == VALUE_TEXT)
			put_text(l, out, v[i].text, v[i].text_bytes);
		else if (l->json || l->vertical)
			render_out_text(out, l->json ? "null" : "NULL");
		if (l->vertical)
			render_out_text(out, "\n");
	}
	if (!l->vertical)
		render_out_text(out, l->jsonl ? "}\n" : l->json ? "}" : "\n");
	return 0;
}

static void lines_end(void *state, struct render_out *out, uint64_t left_out)
{
	const struct lines *l = state;

	if (l->vertical && !l->row_cnt)
		render_out_text(out, "(nothing)\n");
	if (l->json && !l->jsonl)
		render_out_text(out, l->row_cnt ? "\n]\n" : "]\n");
}

const struct render_format_ops render_lines_ops = {
	.state_bytes = sizeof(struct lines),
	.begin = lines_begin,
	.row = lines_row,
	.end = lines_end,
	.clear = lines_clear,
};

/*
 * render_wrap: writes sentences beside and between tables, wrapped or as Markdown. Text of a trace
 * cannot end its paragraph or act as markup (base/textsafe.h).
 */

/*
 * Returns the length of the next word. A command in backquotes is one word, so that it can be
 * copied.
 */
static size_t word_len(const char *text)
{
	size_t len = 0;

	while (text[len] && text[len] != ' ' && text[len] != '\n') {
		if (text[len] == '`' && strchr(text + len + 1, '`'))
			len += strcspn(text + len + 1, "`") + 1;
		len++;
	}
	return len;
}

/*
 * Returns the length of the part of a word that fits into a line: a long list is divided after a
 * comma.
 */
static size_t part_len(const char *text, size_t len, size_t room)
{
	size_t n = len > room && !memchr(text, '`', len) ? room : len;

	while (n < len && n && text[n - 1] != ',')
		n--;
	return n ?: len;
}

void render_html_text(FILE *f, const char *text)
{
	size_t n = strlen(text);
	char *safe = malloc(TEXTSAFE_HTML_MAX(n) + 1);

	if (safe)
		fwrite(safe, 1, textsafe_html(safe, text, n), f);
	free(safe);
}

void render_wrap_beside(FILE *f, const char *text, unsigned int width, unsigned int left)
{
	size_t used = left, len;

	for (;; text += len) {
		text += strspn(text, " \n");
		len = word_len(text);
		if (!len)
			break;
		if (width > left)
			len = part_len(text, len, width - left);
		if (used > left && width && used + 1 + len > width) {
			fprintf(f, "\n%*s", (int)left, "");
			used = left;
		} else if (used > left) {
			fputc(' ', f);
			used++;
		}
		fwrite(text, 1, len, f);
		used += len;
	}
	fputc('\n', f);
}

void render_wrap(FILE *f, const char *text, unsigned int width)
{
	render_wrap_beside(f, text, width, 0);
}

void render_paragraph(FILE *f, const char *text, unsigned int width, bool markdown)
{
	size_t n = strlen(text);
	char *safe = markdown ? malloc(TEXTSAFE_MARKDOWN_MAX(n) + 1) : NULL;

	if (!safe) {
		render_wrap(f, text, width);
		return;
	}
	safe[textsafe_markdown(safe, text, n)] = '\0';
	render_wrap(f, safe, 0);
	fputc('\n', f);
	free(safe);
}

void render_more(FILE *f, uint64_t cnt, const char *command, const struct render_options *o)
{
	char n[UNITS_TEXT_MAX], line[1024];
	bool is_command = command && *command;
	bool of_scope = o && is_command && o->scope && *o->scope;

	units_format_count(n, sizeof(n), cnt);
	snprintf(line, sizeof(line), "(%s more: %s%s%s%s)", n, is_command ? "ebpfrec " : "",
		 is_command ? command : "--limit 0", of_scope ? " " : "",
		 of_scope ? o->scope : "");
	render_paragraph(f, line, o ? o->width : 0, o && o->markdown);
}
