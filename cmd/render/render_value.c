/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Values of a table as people read them: the name of a column says its unit. */
#include <inttypes.h>
#include <string.h>

#include "base/units.h"
#include "cmd/render/render_format.h"

/* ---- what a column means ---- */

static bool ends_with(const char *s, const char *end)
{
	size_t n = strlen(s), m = strlen(end);

	return n >= m && !strcmp(s + n - m, end);
}

bool render_is_one_of(const char *name, const char *const *list)
{
	for (; *list; list++) {
		if (!strcmp(name, *list))
			return true;
	}
	return false;
}

enum render_kind render_column_kind(const char *name)
{
	static const char *const ids[] = {
		"pid", "tid", "upid", "utid", "ppid", "cpu", "uid", NULL
	};
	static const char *const instants[] = { "t_ns",	    "ts_ns",   "start_ns", "end_ns",
						"from_ns",  "to_ns",   "at_ns",	   "peak_ns",
						"first_ns", "last_ns", NULL };

	if (render_is_one_of(name, ids) || ends_with(name, "_pid"))
		return RENDER_PLAIN;
	if (render_is_one_of(name, instants) || ends_with(name, "_at_ns"))
		return RENDER_INSTANT;
	if (!strcmp(name, "complete"))
		return RENDER_YES_NO;
	if (ends_with(name, "bytes_per_s"))
		return RENDER_BYTE_RATE;
	if (ends_with(name, "_per_event"))
		return RENDER_RATIO;
	if (ends_with(name, "_per_s") || !strcmp(name, "iops") || strstr(name, "_per_"))
		return RENDER_RATE;
	if (ends_with(name, "_pct"))
		return RENDER_PERCENT;
	if (ends_with(name, "bytes") || !strncmp(name, "bytes_", 6))
		return RENDER_BYTES;
	if (ends_with(name, "_ns"))
		return RENDER_DURATION;
	return RENDER_COUNT;
}

char *render_heading(char *buf, size_t size, const char *name)
{
	enum render_kind kind = render_column_kind(name);
	const char *unit = "";
	size_t n = strlen(name);

	if (!strcmp(name, "util_pct")) {
		snprintf(buf, size, "%%CPU");
		return buf;
	}
	if (kind == RENDER_INSTANT || kind == RENDER_DURATION)
		n -= strlen("_ns");
	else if (kind == RENDER_PERCENT)
		n -= strlen("_pct");
	else if (ends_with(name, "_per_s"))
		n -= strlen("_per_s");
	if (kind == RENDER_INSTANT)
		unit = " (s)";
	else if (kind == RENDER_PERCENT)
		unit = " %";
	else if (ends_with(name, "_per_s"))
		unit = "/S";
	snprintf(buf, size, "%.*s%s", (int)n, name, unit);
	for (size_t i = 0; buf[i] && i < n; i++) {
		if (buf[i] == '_')
			buf[i] = ' ';
		else if (buf[i] >= 'a' && buf[i] <= 'z')
			buf[i] = (char)(buf[i] - 'a' + 'A');
	}
	return buf;
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

static void format_sized(char *buf, size_t size, int64_t v, enum render_kind kind)
{
	uint64_t a = v < 0 ? 0 - (uint64_t)v : (uint64_t)v;
	char text[UNITS_TEXT_MAX];

	if (kind == RENDER_DURATION)
		units_format_duration(text, sizeof(text), a);
	else
		units_format_bytes(text, sizeof(text), a);
	snprintf(buf, size, "%s%s%s", v < 0 ? "-" : "", text, kind == RENDER_BYTE_RATE ? "/s" : "");
}

void render_format_value(char *buf, size_t size, const struct value *value, enum render_kind kind)
{
	bool is_real = value->type == VALUE_REAL;
	double r = is_real ? value->r : (double)value->i;
	/* what has no decimals in its unit is rounded */
	bool fits = !is_real || (r > -9e18 && r < 9e18);
	int64_t v = !is_real ? value->i : fits ? (int64_t)(r < 0 ? r - 0.5 : r + 0.5) : 0;

	if (kind == RENDER_RATIO && is_real)
		snprintf(buf, size, "%.3f", r);
	else if (kind == RENDER_RATE || kind == RENDER_PERCENT || kind == RENDER_RATIO ||
		 (kind == RENDER_COUNT && is_real))
		format_rate(buf, size, r);
	else if (is_real && (kind == RENDER_PLAIN || !fits))
		snprintf(buf, size, "%.15g", r);
	else if (kind == RENDER_COUNT)
		units_format_signed(buf, size, v);
	else if (kind == RENDER_INSTANT)
		units_format_instant(buf, size, v);
	else if (kind == RENDER_YES_NO)
		snprintf(buf, size, "%s", v ? "yes" : "NO");
	else if (kind == RENDER_PLAIN)
		snprintf(buf, size, "%" PRId64, v);
	else
		format_sized(buf, size, v, kind);
}
