/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * render_out: the output buffer, so that a row costs no stdio call, and values of a table as people
 * read them, in the unit of their column.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/textsafe.h"
#include "base/units.h"
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

void render_out_bytes(struct render_out *o, const char *s, size_t n)
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

void render_out_real(struct render_out *o, double v)
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

	if (!(a < 1e15)) { /* too large to group, or not a number */
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
	/* a value is rounded if its unit has no decimals */
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
