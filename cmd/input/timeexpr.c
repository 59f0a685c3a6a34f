/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * timeexpr: converts a word of --from or --until to a monotonic instant of the trace. The first
 * characters determine the form; each form has one parser below.
 */
#include "cmd/input/timeexpr.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/units.h"

#define S_NS UNITS_NS_PER_S

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static int bad_time(struct err *e, const char *s)
{
	return err_set(e, -EINVAL,
		       "'%s' is not a time; write an offset (1.5s, 1500ms), -2s from the end, "
		       "2026-03-01T12:00:00.5Z, T12:00:03 or @SECONDS",
		       s);
}

/* ---- wall clock ---- */

struct civil {
	struct tm tm; /* date and time to the minute */
	uint64_t second_ns; /* seconds within the minute, ns; less than 61 s */
	bool has_zone;
	int zone_minutes; /* offset from UTC; positive: east */
};

/* Parses exactly n digits. */
static bool take_digits(const char **p, unsigned int n, int *ret)
{
	int v = 0;

	for (; n; n--, (*p)++) {
		if (!is_digit(**p))
			return false;
		v = v * 10 + (**p - '0');
	}
	*ret = v;
	return true;
}

static bool take_char(const char **p, char c)
{
	if (**p != c)
		return false;
	(*p)++;
	return true;
}

static bool take_date(const char **p, struct civil *c)
{
	struct tm day;

	if (!take_digits(p, 4, &c->tm.tm_year) || !take_char(p, '-') ||
	    !take_digits(p, 2, &c->tm.tm_mon) || !take_char(p, '-') ||
	    !take_digits(p, 2, &c->tm.tm_mday) || c->tm.tm_year < 1970)
		return false;
	c->tm.tm_year -= 1900;
	c->tm.tm_mon--;
	/* timegm() converts an invalid day to a valid one, so a change means an invalid day */
	day = c->tm;
	timegm(&day);
	return day.tm_mon == c->tm.tm_mon && day.tm_mday == c->tm.tm_mday;
}

/* Parses HH:MM[:SS[.frac]][Z|+HH:MM|-HH:MM], up to the end of the string. */
static bool take_time(const char *p, struct civil *c)
{
	int n, sign, zh, zm;

	if (!take_digits(&p, 2, &c->tm.tm_hour) || !take_char(&p, ':') ||
	    !take_digits(&p, 2, &c->tm.tm_min))
		return false;
	c->second_ns = 0;
	if (*p == ':') {
		p++;
		if (!is_digit(p[0]) || !is_digit(p[1]) || is_digit(p[2]))
			return false;
		n = units_scan_seconds(p, &c->second_ns);
		if (n <= 0)
			return false;
		p += n;
	}
	/* Second 60 is a leap second; POSIX time counts it as the first of the next minute. */
	if (c->tm.tm_hour > 23 || c->tm.tm_min > 59 || c->second_ns >= 61 * S_NS)
		return false;
	c->has_zone = *p != '\0';
	c->zone_minutes = 0;
	if (*p == '+' || *p == '-') {
		sign = *p++ == '-' ? -1 : 1;
		if (!take_digits(&p, 2, &zh) || !take_char(&p, ':') || !take_digits(&p, 2, &zm) ||
		    zh > 23 || zm > 59)
			return false;
		c->zone_minutes = sign * (zh * 60 + zm);
	} else if (*p == 'Z' || *p == 'z') {
		p++;
	}
	return *p == '\0';
}

static int civil_to_real(const struct civil *c, uint64_t *ret_real_ns, const char *s, struct err *e)
{
	struct tm tm = c->tm;
	int64_t sec;

	tm.tm_isdst = -1;
	sec = c->has_zone ? timegm(&tm) - c->zone_minutes * 60 : mktime(&tm);
	if (sec < 0 || (uint64_t)sec > UINT64_MAX / S_NS - 61)
		return err_set(e, -ERANGE, "'%s' is outside of what the clock can hold", s);
	*ret_real_ns = (uint64_t)sec * S_NS + c->second_ns;
	return 0;
}

static uint64_t axis_from_real(const struct timeexpr_base *b, uint64_t real_ns)
{
	return b->mono_from_real ? b->mono_from_real(b->ctx, real_ns) : real_ns;
}

static int resolve_date(const char *s, const struct timeexpr_base *b, uint64_t *ret, struct err *e)
{
	struct civil c = { .has_zone = false };
	const char *p = s;
	uint64_t real_ns = 0;
	int r;

	if (!take_date(&p, &c) || !(*p == 'T' || *p == 't' || *p == ' ') || !take_time(p + 1, &c))
		return bad_time(e, s);
	r = civil_to_real(&c, &real_ns, s, e);
	if (r)
		return r;
	*ret = axis_from_real(b, real_ns);
	return 0;
}

static int resolve_time_of_day(const char *s, const struct timeexpr_base *b, uint64_t *ret,
			       struct err *e)
{
	time_t start = (time_t)(b->start_real_ns / S_NS);
	struct civil c = { .has_zone = false };
	uint64_t real_ns = 0, mono_ns;
	struct tm tm;
	int r;

	if (!take_time(s + 1, &c))
		return bad_time(e, s);
	start += c.zone_minutes * 60;
	if (c.has_zone ? !gmtime_r(&start, &tm) : !localtime_r(&start, &tm))
		return bad_time(e, s);
	c.tm.tm_year = tm.tm_year;
	c.tm.tm_mon = tm.tm_mon;
	c.tm.tm_mday = tm.tm_mday;
	r = civil_to_real(&c, &real_ns, s, e);
	if (r)
		return r;
	mono_ns = axis_from_real(b, real_ns);
	if (mono_ns < b->start_ns) {
		uint64_t next = axis_from_real(b, real_ns + 86400 * S_NS);

		if (next <= b->end_ns)
			mono_ns = next;
	}
	*ret = mono_ns;
	return 0;
}

static int resolve_epoch(const char *s, const struct timeexpr_base *b, uint64_t *ret, struct err *e)
{
	uint64_t real_ns = 0;
	int n = units_scan_seconds(s + 1, &real_ns);

	if (n == -ERANGE)
		return err_set(e, -ERANGE, "'%s' is outside of what the clock can hold", s);
	if (n == -EINVAL)
		return err_set(e, -EINVAL, "'%s' is finer than a nanosecond", s);
	if (n <= 0 || s[1 + n])
		return err_set(
			e, -EINVAL,
			"'%s' is not a time: after '@' come the seconds since 1970-01-01 UTC, "
			"such as @1772366400.5",
			s);
	*ret = axis_from_real(b, real_ns);
	return 0;
}

/* ---- offsets and the choice among all forms ---- */

/* Returns whether s looks like a time of day without T: "10:30". */
static bool looks_like_clock(const char *s)
{
	struct civil c;

	return take_time(s, &c);
}

static int resolve_offset(const char *s, const struct timeexpr_base *b, uint64_t *ret,
			  struct err *e)
{
	const char *digits = *s == '-' || *s == '+' ? s + 1 : s;
	struct err why = { "" };
	uint64_t dur;
	int r = units_parse_duration(digits, &dur, &why);

	if (r && looks_like_clock(s))
		return err_set(e, -EINVAL, "'%s' is not an offset; a time of day is written T%s", s,
			       s);
	if (r) {
		bad_time(e, s);
		return r;
	}
	if (*s == '-')
		*ret = dur < b->end_ns ? b->end_ns - dur : 0;
	else if (b->start_ns > UINT64_MAX - dur)
		return err_set(e, -ERANGE, "'%s' is outside of what the clock can hold", s);
	else
		*ret = b->start_ns + dur;
	return 0;
}

/* Finds the mark NAME or NAME#N; a mark whose name itself ends with #N has priority. */
static int resolve_mark(const char *s, const struct timeexpr_base *b, uint64_t *ret, struct err *e)
{
	const char *name = strncmp(s, "mark:", 5) ? s : s + 5, *hash = strrchr(name, '#');
	char bare[512];
	uint64_t nr;

	if (b->mark && !b->mark(b->ctx, name, 1, ret))
		return 0;
	if (b->mark && hash && hash > name && !units_parse_count(hash + 1, &nr, NULL)) {
		snprintf(bare, sizeof(bare), "%.*s", (int)(hash - name), name);
		if (!b->mark(b->ctx, bare, nr, ret))
			return 0;
	}
	if (name != s)
		return err_set(e, -ENOENT,
			       "there is no mark '%s' in the trace; `ebpfrec info` lists its marks",
			       name);
	return err_set(e, -ENOENT,
		       "there is no mark '%s' in the trace; write an offset (1.5s, 1500ms), -2s "
		       "from the end, 2026-03-01T12:00:00.5Z, T12:00:03 or @SECONDS",
		       s);
}

bool timeexpr_is_time(const char *s)
{
	return (*s && strchr("0123456789.-+@", *s)) || !strncmp(s, "mark:", 5) ||
	       ((*s == 'T' || *s == 't') && is_digit(s[1]));
}

int timeexpr_resolve(const char *s, const struct timeexpr_base *b, uint64_t *ret, struct err *e)
{
	size_t digits = strspn(s, "0123456789");

	if (!strncmp(s, "mark:", 5))
		return resolve_mark(s, b, ret, e);
	if (*s == '@')
		return resolve_epoch(s, b, ret, e);
	if ((*s == 'T' || *s == 't') && is_digit(s[1]))
		return resolve_time_of_day(s, b, ret, e);
	if (digits == 4 && s[4] == '-')
		return resolve_date(s, b, ret, e);
	if (digits || *s == '.' || *s == '-' || *s == '+')
		return resolve_offset(s, b, ret, e);
	if (!*s)
		return err_set(e, -EINVAL,
			       "a time must not be empty; write an offset such as 1.5s");
	return resolve_mark(s, b, ret, e);
}

int timeexpr_resolve_future(const char *s, uint64_t now_real_ns, uint64_t *ret_real_ns,
			    struct err *e)
{
	/* a time of day may be tomorrow's if that is nearer than today's */
	const struct timeexpr_base base = { .start_ns = now_real_ns, .start_real_ns = now_real_ns,
					    .end_ns = now_real_ns + 43200ull * S_NS };
	uint64_t real_ns = 0;

	if (*s == '-' || !strncmp(s, "mark:", 5) || !timeexpr_is_time(s) ||
	    timeexpr_resolve(s, &base, &real_ns, NULL))
		return err_set(e, -EINVAL,
			       "'%s' is not a time to come; write T12:00:03, "
			       "2026-03-01T12:00:00.5Z, @SECONDS, or 5s from now",
			       s);
	if (real_ns < now_real_ns)
		return err_set(e, -ERANGE, "%s has passed", s);
	*ret_real_ns = real_ns;
	return 0;
}
