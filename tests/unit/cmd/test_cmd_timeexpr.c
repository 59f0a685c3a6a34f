/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Tests of timeexpr: every form of --from and --to names exactly one nanosecond.
 */
#include <time.h>

#include "cmd/input/opts.h"
#include "cmd/render/say.h"
#include "tests/unit/unit_test.h"

#define S ((uint64_t)1000000000)

/* The trace starts 1000 s after boot, at 2026-03-01T12:00:00.25Z, and lasts 12.3 s. */
#define START	   (1000 * S)
#define END	   (START + 12300000000)
#define START_REAL (1772366400 * S + 250000000)

static uint64_t mono_from_real(void *ctx, uint64_t real_ns)
{
	if (real_ns <= START_REAL)
		return START_REAL - real_ns < START ? START - (START_REAL - real_ns) : 0;
	/* A clock that is slewed a little, so that a caller that adds up by itself is found out. */
	return START + (real_ns - START_REAL) + 7;
}

/* Marks: "build" twice, and one whose name looks like a numbered one. */
static int mark(void *ctx, const char *name, uint64_t nr, uint64_t *ret_mono_ns)
{
	if (!strcmp(name, "build") && nr >= 1 && nr <= 2)
		*ret_mono_ns = START + nr * 100;
	else if (!strcmp(name, "odd#2") && nr == 1)
		*ret_mono_ns = START + 7;
	else if (!strcmp(name, "1.5s") && nr == 1)
		*ret_mono_ns = START + 9;
	else
		return -ENOENT;
	return 0;
}

static const struct timeexpr_base base = {
	.start_ns = START,
	.end_ns = END,
	.start_real_ns = START_REAL,
	.mono_from_real = mono_from_real,
	.mark = mark,
};

static void assert_resolves(const char *text, uint64_t want)
{
	struct err e = { "" };
	uint64_t ns = 77;
	int r = timeexpr_resolve(text, &base, &ns, &e);

	if (r || ns != want)
		fail_msg("%s: result %d, %llu, want %llu (%s)", text, r, (unsigned long long)ns,
			 (unsigned long long)want, e.text);
}

static void assert_refused(const char *text, int want, const char *says)
{
	struct err e = { "" };
	uint64_t ns = 77;
	int r = timeexpr_resolve(text, &base, &ns, &e);

	if (r != want || ns != 77 || !strstr(e.text, says))
		fail_msg("'%s': result %d, want %d; says '%s'", text, r, want, e.text);
}

UNIT_TEST(test_timeexpr_counts_offsets_from_the_start)
{
	assert_resolves("0", START);
	assert_resolves("1.5s", START + 1500000000);
	assert_resolves("1500ms", START + 1500000000);
	assert_resolves("2", START + 2 * S);
	assert_resolves("2.000000001", START + 2 * S + 1);
	assert_resolves("+3s", START + 3 * S);
	assert_resolves("1m", START + 60 * S);
	assert_resolves(".25s", START + 250000000);
	assert_resolves("2026", START + 2026 * S);
}

UNIT_TEST(test_timeexpr_counts_back_from_the_end)
{
	assert_resolves("-2s", END - 2 * S);
	assert_resolves("-0", END);
	assert_resolves("-1ns", END - 1);
	assert_resolves("-100s", END - 100 * S);
	assert_resolves("-10d", 0);
}

UNIT_TEST(test_timeexpr_reads_rfc3339)
{
	assert_resolves("2026-03-01T12:00:00.25Z", START);
	assert_resolves("2026-03-01T12:00:01.25Z", START + S + 7);
	assert_resolves("2026-03-01T13:00:01.250000001+01:00", START + S + 1 + 7);
	assert_resolves("2026-03-01T06:30:01.25-05:30", START + S + 7);
	assert_resolves("2026-03-01 12:00:01.25z", START + S + 7);
	assert_resolves("2026-03-01T12:00:00Z", START - 250000000);
	assert_resolves("2026-03-01T11:59Z", START - 60 * S - 250000000);
	assert_resolves("1970-01-01T00:00:00Z", 0);
	assert_resolves("2026-02-28T23:59:60Z", 0);
	assert_resolves("2028-02-29T00:00:00Z", START + (1835395200 * S - START_REAL) + 7);
}

UNIT_TEST(test_timeexpr_reads_local_time)
{
	setenv("TZ", "EST5EDT,M3.2.0,M11.1.0", 1);
	tzset();
	assert_resolves("2026-03-01T07:00:01.25", START + S + 7);
	assert_resolves("T07:00:01.25", START + S + 7);
	assert_resolves("T12:00:01.25Z", START + S + 7);
	assert_resolves("T06:59:59.25", START - S);
	setenv("TZ", "UTC", 1);
	tzset();
	assert_resolves("T12:00:01.25", START + S + 7);
}

UNIT_TEST(test_timeexpr_goes_past_midnight_when_the_trace_does)
{
	struct timeexpr_base night = base;
	uint64_t ns;

	setenv("TZ", "UTC", 1);
	tzset();
	night.end_ns = START + 86400 * S;
	/* 00:30 of the trace's day is before it, of the next day within */
	assert_int_equal(timeexpr_resolve("T00:30:00", &night, &ns, NULL), 0);
	assert_true(ns == START + 12 * 3600 * S + 1800 * S - 250000000 + 7);
}

UNIT_TEST(test_timeexpr_reads_epochs)
{
	assert_resolves("@1772366400.25", START);
	assert_resolves("@1772366401.25", START + S + 7);
	assert_resolves("@1772366401.250000001", START + S + 1 + 7);
	assert_resolves("@0", 0);
}

UNIT_TEST(test_timeexpr_says_what_is_wrong)
{
	assert_refused("", -EINVAL, "empty");
	assert_refused("1.5x", -EINVAL, "not a time");
	assert_refused("-", -EINVAL, "not a time");
	assert_refused("--1s", -EINVAL, "not a time");
	assert_refused("@", -EINVAL, "1970");
	assert_refused("@12x", -EINVAL, "1970");
	assert_refused("@1.0000000001", -EINVAL, "nanosecond");
	assert_refused("@99999999999999", -ERANGE, "outside");
	assert_refused("2026-02-29T12:00:00Z", -EINVAL, "not a time");
	assert_refused("2026-13-01T12:00:00Z", -EINVAL, "not a time");
	assert_refused("2026-03-01T24:00:00Z", -EINVAL, "not a time");
	assert_refused("2026-03-01T12:60:00Z", -EINVAL, "not a time");
	assert_refused("2026-03-01T12:00:61Z", -EINVAL, "not a time");
	assert_refused("2026-03-01T12:00:00Y", -EINVAL, "not a time");
	assert_refused("2026-03-01T12:00:00+1:00", -EINVAL, "not a time");
	assert_refused("2026-03-01", -EINVAL, "not a time");
	assert_refused("T25:00", -EINVAL, "not a time");
	assert_refused("9999-12-31T23:59:59Z", -ERANGE, "outside");
	assert_refused("18446744073s", -ERANGE, "outside");
	assert_refused("deploy", -ENOENT, "no mark 'deploy'");
}

UNIT_TEST(test_timeexpr_writes_wall_clock)
{
	setenv("TZ", "IST-5:30", 1);
	tzset();
	assert_string_equal(say_wall(START_REAL, false), "2026-03-01T12:00:00.250Z");
	assert_string_equal(say_wall(START_REAL, true), "2026-03-01T17:30:00.250+05:30");
	assert_resolves(say_wall(START_REAL, true), START);
	assert_string_equal(say_wall(START_REAL + 1000, false), "2026-03-01T12:00:00.250001Z");
	assert_string_equal(say_wall(START_REAL + 90, false), "2026-03-01T12:00:00.250000090Z");
}

UNIT_TEST(test_marks_are_times)
{
	assert_resolves("mark:build", START + 100);
	assert_resolves("build", START + 100);
	assert_resolves("mark:build#1", START + 100);
	assert_resolves("mark:build#2", START + 200);
	assert_resolves("build#2", START + 200);
	assert_resolves("mark:odd#2", START + 7);
	assert_resolves("mark:1.5s", START + 9);
	assert_resolves("1.5s", START + 1500000000);
	assert_refused("mark:build#3", -ENOENT, "no mark 'build#3'");
	assert_refused("mark:build#0", -ENOENT, "no mark");
	assert_refused("mark:", -ENOENT, "no mark");
	assert_refused("mark:nope", -ENOENT, "`ebpfrec info` lists");
}

/* Noon, the first of March 2026. */
static void assert_future(const char *text, int want_r, int64_t want_in_ns)
{
	const uint64_t now = 1772366400 * S;
	struct err e = { "" };
	uint64_t ns = 77;
	int r = timeexpr_resolve_future(text, now, &ns, &e);

	if (r != want_r)
		fail_msg("%s: %d, %s", text, r, e.text);
	if (!r)
		assert_int_equal(ns - now, want_in_ns);
	else
		assert_int_equal(ns, 77);
}

UNIT_TEST(test_timeexpr_reads_an_instant_to_come)
{
	assert_future("5s", 0, 5 * S);
	assert_future("T12:00:03Z", 0, 3 * S);
	assert_future("T12:00:00Z", 0, 0);
	assert_future("2026-03-02T12:00:00.5Z", 0, 86400 * S + S / 2);
	assert_future("@1772366401", 0, S);
	/* a time of day is the nearest one */
	assert_future("T11:59:59Z", -ERANGE, 0);
	assert_future("T23:59:59Z", 0, 43199 * S);
	assert_future("T00:00:00Z", 0, 43200 * S);
	assert_future("T00:00:01Z", -ERANGE, 0);
	assert_future("2026-02-28T12:00:00Z", -ERANGE, 0);
	assert_future("-5s", -EINVAL, 0);
	assert_future("mark:build", -EINVAL, 0);
	assert_future("build", -EINVAL, 0);
	assert_future("", -EINVAL, 0);
	assert_future("12:00", -EINVAL, 0);
}

UNIT_TESTS
