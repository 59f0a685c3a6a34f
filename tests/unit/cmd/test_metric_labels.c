/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Labels of metrics: which processes have one, which lose theirs, and that no counter decreases. */

/* its rows come from SQL: the tests hand in rows of their own */
#include "cmd/metrics/metrics.c"
#include "tests/unit/unit_test.h"

#define S UNITS_NS_PER_S
#define TOP 2u
#define MOST (METRICS_LABELS * TOP)

static const char *const names[] = { "t_ns", "who", "oncpu_ns", "switches" };

/* A window of a second, in which some have the CPU for so long each, and a switch. */
static void count(struct metrics *m, uint64_t end_ns, unsigned int from, unsigned int to,
		  uint64_t each_ns)
{
	m->window_ns = S;
	if (m->who.cnt > METRICS_KNOWN * m->who.max)
		assert_int_equal(forget_hidden(m), 0);
	make_way(m);
	m->now_ns = end_ns;
	on_section(m, "cpu");
	on_begin(m, 4, names);
	for (unsigned int i = from; i < to; i++) {
		char who[16];
		struct value row[4] = { value_int(0), { 0 }, value_int(each_ns), value_int(1) };

		snprintf(who, sizeof(who), "p%u", i);
		row[1] = value_text(who);
		assert_int_equal(on_row(m, row), 0);
	}
	m->is_first = false;
}

/* The switches of one, or -1 if it is not shown; NULL: of all together. */
static int64_t switches(const struct metrics *m, const char *who)
{
	int64_t sum = who ? -1 : 0;
	size_t bytes;
	char *text, *at, name[32] = "";
	FILE *f = open_memstream(&text, &bytes);
	unsigned long long n;

	assert_int_equal(metrics_write(m, f, true), 0);
	fclose(f);
	for (at = text; (at = strstr(at, "\nebpfrec_context_switches_total{")); at++) {
		at += strcspn(at, "{");
		assert_int_equal(sscanf(at, "{comm=\"%31[^\"]\"} %llu", name, &n), 2);
		if (!who)
			sum += (int64_t)n;
		else if (!strcmp(who, name))
			sum = (int64_t)n;
	}
	free(text);
	return sum;
}

UNIT_TEST(test_metrics_give_idle_labels_to_the_large)
{
	struct metrics *m = metrics_new(0, TOP);

	for (unsigned int i = 0; i < MOST; i += TOP)
		count(m, (1 + i) * S, i, i + TOP, S / 4);
	assert_int_equal(m->who.shown, MOST);
	/* all labels are assigned, and no process has been idle for long */
	count(m, 100 * S, 100, 101, S);
	assert_int_equal(switches(m, "p100"), -1);
	assert_int_equal(switches(m, "[other]"), 1);
	/* p0 works on, so the others lose their labels, the longest idle ones first */
	count(m, 200 * S, 0, 1, S);
	count(m, METRICS_IDLE_NS + 4 * S, 0, 1, S);
	count(m, METRICS_IDLE_NS + 5 * S, 100, 101, S);
	assert_int_equal(switches(m, "p0"), 3);
	assert_int_equal(switches(m, "p1"), -1);
	assert_int_equal(switches(m, "p9"), 1);
	assert_int_equal(switches(m, "p100"), 1);
	assert_int_equal(switches(m, "[other]"), 1);
	/* a label that returns continues its sum */
	count(m, METRICS_IDLE_NS + 6 * S, 1, 2, S);
	assert_int_equal(switches(m, "p1"), 2);
	metrics_free(m);
}

UNIT_TEST(test_metrics_do_not_call_the_rest_other)
{
	struct metrics *m = metrics_new(0, TOP);
	struct value row[4] = { value_int(0), value_text("other"), value_int(S), value_int(7) };

	count(m, S, 0, TOP + 1, S / 4);
	on_begin(m, 4, names);
	assert_int_equal(on_row(m, row), 0);
	assert_int_equal(switches(m, "[other]"), 1);
	metrics_free(m);
}

UNIT_TEST(test_metrics_keep_a_process_named_other_apart)
{
	struct metrics *m = metrics_new(0, TOP);
	struct value row[4] = { value_int(0), value_text("[other]"), value_int(S), value_int(7) };

	count(m, S, 0, 0, S);
	m->is_first = true;
	assert_int_equal(on_row(m, row), 0);
	m->is_first = false;
	count(m, 2 * S, 0, TOP + 1, S / 4);
	assert_int_equal(switches(m, "\\\\x5bother]"), 7);
	assert_int_equal(switches(m, "[other]"), 1);
	metrics_free(m);
}

/* However many names there are: the largest are shown, and labels and series are bounded. */
UNIT_TEST(test_metrics_forget_labels_of_long_ago)
{
	struct metrics *m = metrics_new(0, TOP);
	uint64_t end_ns = S;

	for (unsigned int i = 0; i < 3 * METRICS_KNOWN * MOST; i++) {
		char who[16];

		snprintf(who, sizeof(who), "p%u", i);
		count(m, end_ns, i, i + 1, S);
		end_ns += METRICS_IDLE_NS / TOP;
		assert_int_equal(switches(m, who), 1);
		assert_int_equal(switches(m, "[other]"), -1);
		assert_true(m->who.shown <= MOST);
		assert_true(m->who.cnt <= METRICS_KNOWN * MOST + 1);
	}
	assert_int_equal(switches(m, NULL), m->who.shown);
	metrics_free(m);
}

UNIT_TESTS
