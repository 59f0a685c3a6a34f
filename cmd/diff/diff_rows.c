/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
#include "cmd/diff/diff_rows.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"

#define COLUMN_CNT 12
#define COLUMN_REASON 7 /* people have it with the verdict */

static const char *const columns[COLUMN_CNT] = { "role",    "parent",  "metric",     "a",
						 "b",	    "change_pct", "verdict", "reason",
						 "p_value", "procs_a", "procs_b",    "complete" };

/* Names and formats of metrics in tables. */
static const struct {
	const char *name;
	char *(*format)(char *buf, size_t size, uint64_t v);
} metrics[] = {
	[DIFF_ONCPU] = { "CPU time", units_format_duration },
	[DIFF_RSS_PEAK] = { "largest RSS", units_format_bytes },
	[DIFF_IOS] = { "I/Os", units_format_count },
	[DIFF_IO_BYTES] = { "I/O bytes", units_format_bytes },
	[DIFF_LAT_P50] = { "I/O lat p50", units_format_duration },
	[DIFF_LAT_P99] = { "I/O lat p99", units_format_duration },
	[DIFF_REQUESTS] = { "requests", units_format_count },
	[DIFF_REQUESTS_PER_S] = { "requests/s", units_format_count },
	[DIFF_REQUEST_P50] = { "request p50", units_format_duration },
	[DIFF_REQUEST_P90] = { "request p90", units_format_duration },
	[DIFF_REQUEST_P99] = { "request p99", units_format_duration },
	[DIFF_REQUEST_MAX] = { "request max", units_format_duration },
	[DIFF_REQUEST_PART ... DIFF_METRIC_CNT - 1] = { NULL, units_format_duration },
	[DIFF_WALL] = { "wall time", units_format_duration },
};

static const char *metric_name(enum render_format format, enum diff_metric m, char *buf,
			       size_t size)
{
	const char *part = diff_part_name(m);

	if (!part)
		return format == RENDER_TABLE ? metrics[m].name : diff_metric_name(m);
	snprintf(buf, size, format == RENDER_TABLE ? "request %s" : "request_%s_ns", part);
	return buf;
}

/* For people in the metric's unit, for machines as it is. */
static struct value amount(enum render_format format, const struct diff_row *r, int side, char *buf)
{
	uint64_t n = (uint64_t)llround(r->value[side]);

	if (!r->has[side])
		return value_null();
	return format != RENDER_TABLE ?
		       value_int(n) :
		       value_text(metrics[r->metric].format(buf, UNITS_TEXT_MAX, n));
}

static struct value chance(enum render_format format, const struct diff_row *r, char *buf,
			   size_t size)
{
	if ((r->verdict != DIFF_SAME && r->verdict != DIFF_CHANGED) || r->metric == DIFF_WALL)
		return value_null();
	if (format != RENDER_TABLE)
		return value_real(r->p);
	if (r->p >= 1)
		return value_text("-");
	if (r->p < 0.001)
		return value_text("<0.001");
	snprintf(buf, size, "%.3f", r->p);
	return value_text(buf);
}

static struct value change(enum render_format format, const struct diff_row *r, char *buf,
			   size_t size)
{
	double pct;

	if (!r->has[0] || !r->has[1] || !(r->value[0] > 0))
		return value_null();
	pct = 100 * (r->value[1] - r->value[0]) / r->value[0];
	if (format != RENDER_TABLE)
		return value_real(round(pct * 1000) / 1000);
	snprintf(buf, size, "%+.1f", pct);
	return value_text(buf);
}

static const char *few_of(const struct diff_row *r)
{
	return r->metric < DIFF_REQUESTS ? "few I/Os" : "few requests";
}

/* Returns the reason why a change has the verdict "same"; NULL: it has another verdict. */
static struct value reason(const struct diff_row *r)
{
	const char *const names[] = { [DIFF_TOO_SMALL] = "small", [DIFF_TOO_FEW] = few_of(r),
				      [DIFF_NOISE] = "noise" };

	return value_text(r->verdict == DIFF_SAME ? names[r->reason] : NULL);
}

static struct value verdict(enum render_format format, const struct diff_row *r, char *buf,
			    size_t size)
{
	char n[UNITS_TEXT_MAX];

	if (format == RENDER_TABLE && r->metric == DIFF_WALL && r->verdict == DIFF_UNKNOWN)
		return value_text("one run each");
	if (format != RENDER_TABLE || r->verdict != DIFF_SAME || !r->reason)
		return value_text(diff_verdict_name(r->verdict));
	metrics[r->metric].format(n, sizeof(n), (uint64_t)llround(fabs(r->value[1] - r->value[0])));
	if (r->reason == DIFF_TOO_SMALL)
		snprintf(buf, size, "small: %s", n);
	else
		snprintf(buf, size, "same: %s", r->reason == DIFF_TOO_FEW ? few_of(r) : "noise");
	return value_text(buf);
}

int diff_rows_put(void *ctx, const struct diff_row *r)
{
	struct diff_rows *d = ctx;
	enum render_format format = d->format;
	char a[UNITS_TEXT_MAX], b[UNITS_TEXT_MAX], pct[32], p[32];
	char why[UNITS_TEXT_MAX + 16], name[32];
	struct value row[COLUMN_CNT] = {
		value_text(r->role),
		value_text(r->parent),
		value_text(metric_name(format, r->metric, name, sizeof(name))),
		amount(format, r, 0, a),
		amount(format, r, 1, b),
		change(format, r, pct, sizeof(pct)),
		verdict(format, r, why, sizeof(why)),
		reason(r),
		chance(format, r, p, sizeof(p)),
		value_int(r->processes[0]),
		value_int(r->processes[1]),
		value_int(r->complete),
	};

	/* the wall time is there for people even if nothing else is */
	if (d->only_changed && !diff_is_change(r->verdict) &&
	    !(r->metric == DIFF_WALL && format == RENDER_TABLE))
		return 0;
	d->has_small |= r->verdict == DIFF_SAME && r->reason == DIFF_TOO_SMALL;
	d->has_few |= r->verdict == DIFF_SAME && r->reason == DIFF_TOO_FEW;
	d->has_digits |= strchr(r->role, '#') != NULL;
	if (format == RENDER_TABLE)
		memmove(&row[COLUMN_REASON], &row[COLUMN_REASON + 1],
			(COLUMN_CNT - COLUMN_REASON - 1) * sizeof(*row));
	return d->out->row(d->out->ctx, row);
}

int diff_rows_begin(const struct diff_rows *d)
{
	const char *shown[COLUMN_CNT];
	unsigned int cnt = 0;

	for (unsigned int i = 0; i < COLUMN_CNT; i++)
		if (d->format != RENDER_TABLE || i != COLUMN_REASON)
			shown[cnt++] = columns[i];
	return d->out->begin(d->out->ctx, cnt, shown);
}
