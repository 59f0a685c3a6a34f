/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Tests of rules and verdicts: the meaning of a rule's words, and that missing data never passes.
 */
#include "cmd/assert/verdict.h"
#include "tests/unit/unit_test.h"

static struct rule parsed(const char *text)
{
	struct err e = { "" };
	struct rule r;

	if (rule_parse(&r, text, 1, &e))
		fail_msg("%s: %s", text, e.text);
	return r;
}

UNIT_TEST(test_rule_divides_words)
{
	struct rule r = parsed("every: cpu --by 'a b' mark:x comm='w*' tid=3 wait_ms<=1.5");

	assert_true(r.of_every);
	assert_string_equal(r.argv[1], "cpu");
	assert_string_equal(r.argv[2], "--by");
	assert_string_equal(r.argv[3], "a b");
	assert_string_equal(r.argv[4], "--phases");
	assert_null(r.argv[5]);
	assert_int_equal(r.filter_cnt, 3);
	assert_int_equal(r.op, RULE_AT_MOST);
	assert_string_equal(r.base, "wait_ns");
	assert_true(r.scale == 1e6 && r.limit == 1.5);
	rule_free(&r);
	/* the value of an option is not taken for a phase */
	r = parsed("locks --from mark:a --until mark:b wait_ns < 5 ms");
	assert_int_equal(r.filter_cnt, 0);
	assert_string_equal(r.argv[5], "mark:b");
	assert_true(r.limit == 5e6);
	rule_free(&r);
}

UNIT_TEST(test_rule_reads_limits)
{
	static const struct {
		const char *text;
		double limit;
	} good[] = {
		{ "v rss_bytes < 64MiB", 64 << 20 }, { "v util_pct < 60%", 60 },
		{ "v net_bytes > -1KiB", -1024 },    { "v wait_ns == 0", 0 },
		{ "v bytes_per_s < 1MiB/s", 1 << 20 }, { "v ios != 1e3", 1000 },
	};
	static const char *const bad[] = {
		"v wait_ns < 5", "v ios < 5ms", "v ios < nan", "v ios <", "v ios", "< 5", "ios < 5",
		"v rss_bytes < 5ms", "v 'ios' < 5 'x", "v rss_bytes < 1MiB/s", "sql: ",
	};

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		struct rule r = parsed(good[i].text);

		assert_true(r.limit == good[i].limit);
		rule_free(&r);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct err e = { "" };
		struct rule r;

		if (rule_parse(&r, bad[i], 1, &e) != -EINVAL)
			fail_msg("taken: %s", bad[i]);
		assert_true(*e.text);
	}
}

/* A trace with one row: its figure, and whether it is complete; figure < 0: it has no row. */
static struct finding found(const struct rule *r, double figure, bool is_complete)
{
	bool of_rows = !strcmp(r->column, "rows");
	const char *const names[] = { "comm", of_rows ? "ios" : r->column, "complete" };
	const struct value row[] = { value_text("x"), value_real(figure), value_int(is_complete) };
	struct finding f;
	struct row_sink sink;

	finding_init(&f, r);
	sink = finding_sink(&f);
	assert_int_equal(sink.begin(sink.ctx, 3, names), 0);
	if (figure >= 0)
		assert_int_equal(sink.row(sink.ctx, row), 0);
	finding_end(&f, is_complete ? "" : "events lost");
	return f;
}

static enum verdict judged(const char *text, const double *figures, unsigned int cnt, int lacking)
{
	struct rule r = parsed(text);
	struct finding f[8];
	double room[8];
	enum verdict v;

	for (unsigned int i = 0; i < cnt; i++)
		f[i] = found(&r, figures[i], (int)i != lacking);
	v = verdict_of(f, cnt, room).verdict;
	rule_free(&r);
	return v;
}

#define JUDGED(text, lacking, ...) \
	judged(text, (double[]){ __VA_ARGS__ }, \
	       sizeof((double[]){ __VA_ARGS__ }) / sizeof(double), lacking)

UNIT_TEST(test_verdict_never_passes_what_is_missing)
{
	assert_int_equal(JUDGED("v switches < 5", -1, 4), VERDICT_PASS);
	assert_int_equal(JUDGED("v switches < 5", -1, 5), VERDICT_FAIL);
	assert_int_equal(JUDGED("v switches < 5", 0, 4), VERDICT_INDETERMINATE);
	assert_int_equal(JUDGED("v switches > 5", 0, 9), VERDICT_INDETERMINATE);
	/* more may only make it worse */
	assert_int_equal(JUDGED("v switches < 5", 0, 6), VERDICT_FAIL);
	assert_int_equal(JUDGED("v switches == 5", 0, 6), VERDICT_FAIL);
	/* the figure is at the limit: missing events may or may not exceed it */
	assert_int_equal(JUDGED("v switches < 5", 0, 5), VERDICT_INDETERMINATE);
	/* a wait may be longer than it was where events are missing */
	assert_int_equal(JUDGED("v wait_ns < 5ns", 0, 6), VERDICT_INDETERMINATE);
	assert_int_equal(JUDGED("v switches < 5", -1, -1), VERDICT_INDETERMINATE);
	assert_int_equal(JUDGED("if-any: v switches < 5", -1, -1), VERDICT_PASS);
	assert_int_equal(JUDGED("if-any: v switches < 5", 0, -1), VERDICT_INDETERMINATE);
	assert_int_equal(JUDGED("v comm=y rows == 0", -1, 7), VERDICT_PASS);
	assert_int_equal(JUDGED("v rows == 0", -1, 7), VERDICT_FAIL);
	assert_int_equal(JUDGED("v rows == 0", 0, 7), VERDICT_INDETERMINATE);
	assert_int_equal(JUDGED("v rows == 1", 0, 7), VERDICT_INDETERMINATE);
}

UNIT_TEST(test_verdict_of_several_is_on_their_median)
{
	assert_int_equal(JUDGED("v switches < 5", -1, 1, 9, 2), VERDICT_PASS);
	assert_int_equal(JUDGED("v switches < 5", -1, 9, 1, 8), VERDICT_FAIL);
	assert_int_equal(JUDGED("v switches < 5", 0, 1, 2, 3), VERDICT_INDETERMINATE);
	assert_int_equal(JUDGED("v switches < 5", 0, 1, 8, 9), VERDICT_FAIL);
	assert_int_equal(JUDGED("v switches < 5", 0, 8, 1, 9), VERDICT_FAIL);
	/* missing events may move the median, and may lower the figure */
	assert_int_equal(JUDGED("v wait_ns < 5ns", 0, 9, 1, 8), VERDICT_INDETERMINATE);
	assert_int_equal(JUDGED("v switches < 5", -1, 1, -1, 2), VERDICT_INDETERMINATE);
	assert_int_equal(JUDGED("if-any: v switches < 5", -1, 1, -1, 2), VERDICT_PASS);
	assert_int_equal(JUDGED("v switches < 5", -1, 4, 8), VERDICT_FAIL); /* 6 */
	assert_int_equal(JUDGED("every: v switches < 5", -1, 1, 9, 2), VERDICT_FAIL);
	assert_int_equal(JUDGED("every: v switches < 5", 1, 1, 2, 3), VERDICT_INDETERMINATE);
	assert_int_equal(JUDGED("every: v switches < 5", 1, 1, 2, 9), VERDICT_FAIL);
}

UNIT_TESTS
