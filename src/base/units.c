/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * units: parses and formats quantities; units.h describes the grammar.
 *
 * A number is stored as its whole part and its decimals, so that (whole + frac / scale) * unit can
 * be computed in 128 bits without rounding.
 */
#include "base/units.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

typedef unsigned __int128 wide;

struct unit {
	const char *name;
	uint64_t factor;
};

#define KI   1024ull
#define S_NS UNITS_NS_PER_S

static const struct unit duration_units[] = {
	{ "ns", 1 },
	{ "nsec", 1 },
	{ "us", 1000 },
	{ "usec", 1000 },
	{ "\xc2\xb5s", 1000 }, /* U+00B5, micro sign */
	{ "\xce\xbcs", 1000 }, /* U+03BC, Greek letter mu */
	{ "ms", 1000000 },
	{ "msec", 1000000 },
	{ "s", S_NS },
	{ "sec", S_NS },
	{ "m", 60 * S_NS },
	{ "min", 60 * S_NS },
	{ "h", 3600 * S_NS },
	{ "hour", 3600 * S_NS },
	{ "hours", 3600 * S_NS },
	{ "d", 86400 * S_NS },
	{ "day", 86400 * S_NS },
	{ "days", 86400 * S_NS },
	{ NULL, 0 },
};

static const struct unit size_units[] = {
	{ "B", 1 },
	{ "k", 1000 },
	{ "K", 1000 },
	{ "kB", 1000 },
	{ "KB", 1000 },
	{ "M", 1000000 },
	{ "MB", 1000000 },
	{ "G", 1000000000 },
	{ "GB", 1000000000 },
	{ "T", 1000000000000 },
	{ "TB", 1000000000000 },
	{ "ki", KI },
	{ "Ki", KI },
	{ "kiB", KI },
	{ "KiB", KI },
	{ "Mi", KI *KI },
	{ "MiB", KI *KI },
	{ "Gi", KI *KI *KI },
	{ "GiB", KI *KI *KI },
	{ "Ti", KI *KI *KI *KI },
	{ "TiB", KI *KI *KI *KI },
	{ NULL, 0 },
};

struct number {
	uint64_t whole;
	uint64_t frac, scale; /* frac / scale is below 1; scale is a power of ten up to 10^15 */
};

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/*
 * Parses digits[.digits]. Returns the characters consumed; 0: no digit; -ERANGE: too large;
 * -EINVAL: too many decimals for any unit.
 */
static int scan_number(const char *s, struct number *n)
{
	const char *p = s;
	bool any = false;
	wide whole = 0;

	n->frac = 0;
	n->scale = 1;
	for (; is_digit(*p); p++) {
		whole = whole * 10 + (unsigned int)(*p - '0');
		any = true;
		if (whole > UINT64_MAX)
			return -ERANGE;
	}
	n->whole = (uint64_t)whole;
	if (*p == '.' && (any || is_digit(p[1]))) {
		for (p++; is_digit(*p); p++) {
			any = true;
			if (n->scale < 1000000000000000ull) {
				n->frac = n->frac * 10 + (unsigned int)(*p - '0');
				n->scale *= 10;
			} else if (*p != '0') {
				return -EINVAL;
			}
		}
	}
	return any ? (int)(p - s) : 0;
}

/* Multiplies n by factor. False: the result is not an integer, and *ret is rounded down. */
static bool number_times(const struct number *n, uint64_t factor, wide *ret)
{
	wide part = (wide)n->frac * factor;

	*ret = (wide)n->whole * factor + part / n->scale;
	return part % n->scale == 0;
}

/* Finds the unit whose name is at s, and the length of that name. NULL: unknown unit. */
static const struct unit *scan_unit(const struct unit *units, const char *s, size_t *ret_len)
{
	size_t n = 0;

	while (s[n] && !is_digit(s[n]) && s[n] != '.' && s[n] != ' ')
		n++;
	for (; units->name; units++) {
		if (strlen(units->name) == n && !memcmp(units->name, s, n)) {
			*ret_len = n;
			return units;
		}
	}
	return NULL;
}

/* A grammar of numbers and units. */
struct quantity {
	const struct unit *units;
	struct unit bare;	/* unit of a number that has no unit */
	bool pieces;		/* allows 1m30s; each piece is a multiple of the smallest unit */
	const char *too_large, *what;
};

static int parse(const struct quantity *q, const char *s, uint64_t *ret, struct err *e)
{
	const char *p = s;
	wide total = 0, piece;

	do {
		const struct unit *u = NULL;
		struct number num;
		size_t len = 0;
		int n = scan_number(p, &num);

		if (n > 0) {
			bool bare = p == s && !p[n];

			for (p += n; *p == ' '; p++)
				;
			u = bare || (!q->pieces && !*p) ? &q->bare : scan_unit(q->units, p, &len);
			p += len;
		}
		if (n == -ERANGE)
			return err_set(e, -ERANGE, "'%s' is too %s", s, q->too_large);
		if (q->pieces && (n < 0 || (u && !number_times(&num, u->factor, &piece))))
			return err_set(e, -EINVAL, "'%s' is finer than a nanosecond", s);
		if (!u || (!q->pieces && *p))
			return err_set(e, -EINVAL, "'%s' is not a %s", s, q->what);
		number_times(&num, u->factor, &piece);
		total += piece;
		if (total > UINT64_MAX)
			return err_set(e, -ERANGE, "'%s' is too %s", s, q->too_large);
	} while (*p);
	*ret = (uint64_t)total;
	return 0;
}

int units_parse_duration(const char *s, uint64_t *ret_ns, struct err *e)
{
	static const struct quantity duration = {
		duration_units, { "s", S_NS }, true, "long a duration",
		"duration; write a number with a unit, such as 250ms, 1.5s, 2m, 1m30s",
	};

	return parse(&duration, s, ret_ns, e);
}

int units_parse_size(const char *s, uint64_t *ret_bytes, struct err *e)
{
	static const struct quantity size = {
		size_units, { "B", 1 }, false, "large a size",
		"size; write bytes or a number with a unit, k M G T (powers of 1000) or KiB MiB "
		"GiB TiB (powers of 1024), such as 64MiB",
	};

	return parse(&size, s, ret_bytes, e);
}

int units_parse_count(const char *s, uint64_t *ret, struct err *e)
{
	const char *p = s;
	wide v = 0;

	for (; is_digit(*p); p++) {
		v = v * 10 + (unsigned int)(*p - '0');
		if (v > UINT64_MAX)
			return err_set(e, -ERANGE, "'%s' is too large a number", s);
	}
	if (p == s || *p)
		return err_set(e, -EINVAL, "'%s' is not a whole number", s);
	*ret = (uint64_t)v;
	return 0;
}

int units_scan_seconds(const char *s, uint64_t *ret_ns)
{
	struct number num;
	wide ns;
	int n = scan_number(s, &num);

	if (n <= 0)
		return n;
	if (!number_times(&num, S_NS, &ns))
		return -EINVAL;
	if (ns > UINT64_MAX)
		return -ERANGE;
	*ret_ns = (uint64_t)ns;
	return n;
}

/* ---- formatting ---- */

char *units_format_count(char *buf, size_t size, uint64_t v)
{
	char digits[24];
	int len = snprintf(digits, sizeof(digits), "%" PRIu64, v);
	size_t o = 0;

	for (int i = 0; i < len && o + 2 < size; i++) {
		if (i && (len - i) % 3 == 0)
			buf[o++] = ',';
		buf[o++] = digits[i];
	}
	if (size)
		buf[o] = '\0';
	return buf;
}

char *units_format_signed(char *buf, size_t size, int64_t v)
{
	if (v >= 0 || size < 2)
		return units_format_count(buf, size, (uint64_t)v);
	buf[0] = '-';
	units_format_count(buf + 1, size - 1, 0 - (uint64_t)v);
	return buf;
}

struct step {
	uint64_t factor;
	const char *name;
};

/*
 * Formats v with three significant digits in the largest unit of steps (ascending, ended by factor
 * 0) that does not exceed the rounded value. Rounds half up, possibly into the next unit: 999.9 us
 * is 1 ms.
 */
static char *format_scaled(char *buf, size_t size, uint64_t v, const struct step *steps,
			   uint64_t carry)
{
	const struct step *s = steps;

	while (s[1].factor && v >= s[1].factor)
		s++;
	for (;; s++) {
		uint64_t ten = v < 10 * s->factor ? 100 : v < 100 * s->factor ? 10 : 1;
		uint64_t scaled = (uint64_t)(((wide)v * ten + s->factor / 2) / s->factor);

		/* Drop a decimal if rounding adds a digit: 9.996 is 10.0, not 10.00. */
		while (ten > 1 && scaled >= 1000) {
			ten /= 10;
			scaled = (uint64_t)(((wide)v * ten + s->factor / 2) / s->factor);
		}
		if (ten == 1 && scaled >= carry && s[1].factor)
			continue;
		if (s == steps) /* the smallest unit has no decimals */
			snprintf(buf, size, "%" PRIu64 " %s", v, s->name);
		else if (ten > 1)
			snprintf(buf, size, "%" PRIu64 ".%0*" PRIu64 " %s", scaled / ten,
				 ten == 100 ? 2 : 1, scaled % ten, s->name);
		else
			snprintf(buf, size, "%" PRIu64 " %s", scaled, s->name);
		return buf;
	}
}

char *units_format_duration(char *buf, size_t size, uint64_t ns)
{
	static const struct step steps[] = {
		{ 1, "ns" }, { 1000, "us" }, { 1000000, "ms" }, { S_NS, "s" }, { 0, NULL },
	};

	return format_scaled(buf, size, ns, steps, 1000);
}

char *units_format_bytes(char *buf, size_t size, uint64_t bytes)
{
	static const struct step steps[] = {
		{ 1, "B" },
		{ KI, "KiB" },
		{ KI * KI, "MiB" },
		{ KI * KI * KI, "GiB" },
		{ KI * KI * KI * KI, "TiB" },
		{ 0, NULL },
	};

	return format_scaled(buf, size, bytes, steps, 1024);
}

char *units_format_bytes_si(char *buf, size_t size, uint64_t bytes)
{
	static const struct step steps[] = {
		{ 1, "B" },	      { 1000, "kB" },	       { 1000000, "MB" },
		{ 1000000000, "GB" }, { 1000000000000, "TB" }, { 0, NULL },
	};

	return format_scaled(buf, size, bytes, steps, 1000);
}

char *units_format_instant(char *buf, size_t size, int64_t ns)
{
	uint64_t abs = ns < 0 ? 0 - (uint64_t)ns : (uint64_t)ns;
	unsigned int frac = (unsigned int)(abs % S_NS);
	const char *sign = ns < 0 ? "-" : "";

	if (frac % 1000)
		snprintf(buf, size, "%s%" PRIu64 ".%09u", sign, abs / S_NS, frac);
	else if (frac % 1000000)
		snprintf(buf, size, "%s%" PRIu64 ".%06u", sign, abs / S_NS, frac / 1000);
	else
		snprintf(buf, size, "%s%" PRIu64 ".%03u", sign, abs / S_NS, frac / 1000000);
	return buf;
}
