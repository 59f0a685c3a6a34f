/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Tests of units and utf8: a written number becomes exactly that integer. */
#include "base/units.h"
#include "base/textsafe.h"
#include "tests/unit/unit_test.h"

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))

UNIT_TEST(test_units_reads_durations_exactly)
{
	static const struct {
		const char *text;
		uint64_t ns;
	} cases[] = {
		{ "0", 0 },
		{ "1", 1000000000 },
		{ "1.5", 1500000000 },
		{ "250ms", 250000000 },
		{ "100msec", 100000000 },
		{ "1.5s", 1500000000 },
		{ "2m", 120000000000 },
		{ "1m30s", 90000000000 },
		{ "1h2m3s4ms5us6ns", 3723004005006 },
		{ "1d", 86400000000000 },
		{ "10 ms", 10000000 },
		{ ".5s", 500000000 },
		{ "0.000000001s", 1 },
		{ "1.000000001", 1000000001 },
		{ &"1.5ns"[2], 5 }, /* "5ns" */
		{ "3\xc2\xb5s", 3000 },
		{ "12.345678901s", 12345678901 },
		/* one more digit than a double can hold */
		{ "9007199254.740993s", 9007199254740993000ull },
		{ "18446744073.709551615s", UINT64_MAX },
		{ "1.50000000000000000000s", 1500000000 },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct err e = { "" };
		uint64_t ns = 77;
		int r = units_parse_duration(cases[i].text, &ns, &e);

		if (r || ns != cases[i].ns)
			fail_msg("%s: result %d, %llu ns, want %llu (%s)", cases[i].text, r,
				 (unsigned long long)ns, (unsigned long long)cases[i].ns, e.text);
	}
}

UNIT_TEST(test_units_refuses_what_is_no_duration)
{
	static const struct {
		const char *text;
		int error;
	} cases[] = {
		{ "", -EINVAL },
		{ "s", -EINVAL },
		{ "1x", -EINVAL },
		{ "1.2.3s", -EINVAL },
		{ "-1s", -EINVAL },
		{ "1s5", -EINVAL },
		{ "1e3", -EINVAL },
		{ " 1s", -EINVAL },
		{ "1s ", -EINVAL },
		{ "1.5ns", -EINVAL },
		{ "0.0000000001s", -EINVAL },
		{ "1,5s", -EINVAL },
		{ "18446744073.709551616s", -ERANGE },
		{ "99999999999999999999999s", -ERANGE },
		{ "18446744073709551615d", -ERANGE },
		{ "18446744073s1s", -ERANGE },
		{ "1s\x1b[31m", -EINVAL },
		{ "1.00000000000000000001s", -EINVAL },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct err e = { "" };
		uint64_t ns = 77;
		int r = units_parse_duration(cases[i].text, &ns, &e);

		if (r != cases[i].error || ns != 77 || !e.text[0])
			fail_msg("'%s': result %d, want %d; output %llu; '%s'", cases[i].text, r,
				 cases[i].error, (unsigned long long)ns, e.text);
	}
}

UNIT_TEST(test_units_reads_sizes)
{
	static const struct {
		const char *text;
		uint64_t bytes;
	} cases[] = {
		{ "0", 0 },
		{ "4096", 4096 },
		{ "1B", 1 },
		{ "64k", 64000 },
		{ "64K", 64000 },
		{ "64kB", 64000 },
		{ "64KiB", 65536 },
		{ "64M", 64000000 },
		{ "64MiB", 67108864 },
		{ "64Mi", 67108864 },
		{ "1.5GiB", 1610612736 },
		{ "1.3KiB", 1331 },
		{ "2T", 2000000000000 },
		{ "16777215.99999TiB", 18446744073698556499ull },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct err e = { "" };
		uint64_t bytes = 77;
		int r = units_parse_size(cases[i].text, &bytes, &e);

		if (r || bytes != cases[i].bytes)
			fail_msg("%s: result %d, %llu, want %llu (%s)", cases[i].text, r,
				 (unsigned long long)bytes, (unsigned long long)cases[i].bytes,
				 e.text);
	}
}

UNIT_TEST(test_units_refuses_what_is_no_size)
{
	static const char *const cases[] = { "",	"M",	  "64m",  "64MB/s",	"-1",
					     "1 MiB x", "64 Mib", "0x10", "16777216TiB" };

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct err e = { "" };
		uint64_t bytes = 77;
		int r = units_parse_size(cases[i], &bytes, &e);

		if (r >= 0 || bytes != 77 || !e.text[0])
			fail_msg("'%s': result %d, output %llu", cases[i], r,
				 (unsigned long long)bytes);
	}
}

UNIT_TEST(test_units_counts_are_digits_only)
{
	uint64_t v = 77;

	assert_int_equal(units_parse_count("18446744073709551615", &v, NULL), 0);
	assert_true(v == UINT64_MAX);
	assert_int_equal(units_parse_count("18446744073709551616", &v, NULL), -ERANGE);
	assert_int_equal(units_parse_count("1,000", &v, NULL), -EINVAL);
	assert_int_equal(units_parse_count("-1", &v, NULL), -EINVAL);
	assert_int_equal(units_parse_count("", &v, NULL), -EINVAL);
}

UNIT_TEST(test_units_writes_three_digits_and_carries)
{
	static const struct {
		uint64_t v;
		const char *duration, *binary, *decimal;
	} cases[] = {
		{ 0, "0 ns", "0 B", "0 B" },
		{ 999, "999 ns", "999 B", "999 B" },
		{ 1000, "1.00 us", "1000 B", "1.00 kB" },
		{ 1023, "1.02 us", "1023 B", "1.02 kB" },
		{ 1024, "1.02 us", "1.00 KiB", "1.02 kB" },
		{ 9994, "9.99 us", "9.76 KiB", "9.99 kB" },
		{ 9996, "10.0 us", "9.76 KiB", "10.0 kB" },
		{ 99960, "100 us", "97.6 KiB", "100 kB" },
		{ 999499, "999 us", "976 KiB", "999 kB" },
		{ 999500, "1.00 ms", "976 KiB", "1.00 MB" },
		{ 1048575, "1.05 ms", "1.00 MiB", "1.05 MB" },
		{ 12345678, "12.3 ms", "11.8 MiB", "12.3 MB" },
		{ 1500000000, "1.50 s", "1.40 GiB", "1.50 GB" },
		{ 123456000000000, "123456 s", "112 TiB", "123 TB" },
		{ UINT64_MAX, "18446744074 s", "16777216 TiB", "18446744 TB" },
	};
	char buf[UNITS_TEXT_MAX];

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		assert_string_equal(units_format_duration(buf, sizeof(buf), cases[i].v),
				    cases[i].duration);
		assert_string_equal(units_format_bytes(buf, sizeof(buf), cases[i].v),
				    cases[i].binary);
		assert_string_equal(units_format_bytes_si(buf, sizeof(buf), cases[i].v),
				    cases[i].decimal);
	}
}

UNIT_TEST(test_units_groups_thousands)
{
	char buf[UNITS_TEXT_MAX];

	assert_string_equal(units_format_count(buf, sizeof(buf), 0), "0");
	assert_string_equal(units_format_count(buf, sizeof(buf), 999), "999");
	assert_string_equal(units_format_count(buf, sizeof(buf), 1000), "1,000");
	assert_string_equal(units_format_count(buf, sizeof(buf), UINT64_MAX),
			    "18,446,744,073,709,551,615");
	assert_string_equal(units_format_signed(buf, sizeof(buf), -1234), "-1,234");
	assert_string_equal(units_format_signed(buf, sizeof(buf), INT64_MIN),
			    "-9,223,372,036,854,775,808");
}

UNIT_TEST(test_units_instants_are_exact_and_can_be_typed_back)
{
	static const uint64_t cases[] = {
		0, 1, 1000, 1500000000, 1500000001, 1234567000, 86400000000000ull
	};
	char buf[UNITS_TEXT_MAX];

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		uint64_t ns = 77;

		units_format_instant(buf, sizeof(buf), (int64_t)cases[i]);
		assert_int_equal(units_parse_duration(buf, &ns, NULL), 0);
		assert_true(ns == cases[i]);
	}
	assert_string_equal(units_format_instant(buf, sizeof(buf), 1500000000), "1.500");
	assert_string_equal(units_format_instant(buf, sizeof(buf), 1234567890), "1.234567890");
	assert_string_equal(units_format_instant(buf, sizeof(buf), -500000), "-0.000500");
}

UNIT_TEST(test_utf8_accepts_exactly_what_the_rfc_does)
{
	static const struct {
		const char *bytes;
		unsigned int len;
		uint32_t code;
	} cases[] = {
		{ "a", 1, 'a' },
		{ "\x7f", 1, 0x7f },
		{ "\xc3\xa9", 2, 0xe9 },
		{ "\xe2\x82\xac", 3, 0x20ac },
		{ "\xf0\x9f\x98\x80", 4, 0x1f600 },
		{ "\xf4\x8f\xbf\xbf", 4, 0x10ffff },
		{ "\xc0\x80", 0, 0 }, /* overlong */
		{ "\xc1\xbf", 0, 0 },
		{ "\xe0\x80\x80", 0, 0 },
		{ "\xf0\x80\x80\x80", 0, 0 },
		{ "\xed\xa0\x80", 0, 0 }, /* a surrogate */
		{ "\xf4\x90\x80\x80", 0, 0 }, /* too high */
		{ "\xff", 0, 0 },
		{ "\x80", 0, 0 },
		{ "\xe2\x82", 0, 0 }, /* cut */
		{ "\xe2\x28\xa1", 0, 0 },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		uint32_t code = 0;
		unsigned int len = utf8_decode(cases[i].bytes, strlen(cases[i].bytes), &code);

		if (len != cases[i].len || (len && code != cases[i].code))
			fail_msg("case %zu: length %u, code %x", i, len, code);
	}
}

UNIT_TEST(test_utf8_knows_unsafe_characters)
{
	static const uint32_t unsafe[] = { 0,	   0x1b,   0x7f,    0x85,   0x9b,   0xad,
					   0x200b, 0x200e, 0x2028,  0x202e, 0x2066, 0xfeff,
					   0xfffe, 0xe000, 0xe0041, 0x1ffff };
	static const uint32_t safe[] = { ' ', 'a', 0xe9, 0x20ac, 0x4e2d, 0x1f600, 0xfffd };

	for (size_t i = 0; i < ARRAY_LEN(unsafe); i++) {
		if (!utf8_is_unsafe(unsafe[i]))
			fail_msg("U+%04X passes for safe", unsafe[i]);
	}
	for (size_t i = 0; i < ARRAY_LEN(safe); i++) {
		if (utf8_is_unsafe(safe[i]))
			fail_msg("U+%04X passes for unsafe", safe[i]);
	}
	assert_int_equal(utf8_cells(0x4e2d), 2);
	assert_int_equal(utf8_cells(0x301), 0);
	assert_int_equal(utf8_cells('a'), 1);
}

UNIT_TESTS
