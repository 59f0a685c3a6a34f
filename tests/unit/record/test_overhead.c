/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * --max-overhead: the source that is turned off, the time when it is turned on again, and that its
 * gap has no events of it.
 */
#include "format/event.h"
#include "record/guard/overhead.h"
#include "tests/unit/unit_test.h"

#define S 1000000000ULL
#define ALL (SOURCE_BIT(SOURCE_CNT) - 1)

/* One second on two CPUs in which each source that is on costs permille[s] of the machine. */
static struct budget_step second(struct budget *b, const unsigned int permille[SOURCE_CNT])
{
	struct budget_usage u = { .dur_ns = S, .cpu_cnt = 2 };
	struct budget_step step;

	for (unsigned int i = 0; i < SOURCE_CNT; i++) {
		if (!(b->on & SOURCE_BIT(i)))
			continue;
		u.source_ns[i] = permille[i] * (2 * S / 1000);
		u.event_cnt[i] = permille[i];
	}
	budget_judge(b, &u, &step);
	return step;
}

static bool stays(struct budget_step step)
{
	return !step.off_cnt && !step.is_on;
}

/* Whether the step turns off just this source. */
static bool turns_off(struct budget_step step, unsigned int source)
{
	return step.off_cnt == 1 && step.off[0] == source && !step.is_on;
}

UNIT_TEST(test_budget_is_of_all_cpus)
{
	struct budget b;

	budget_init(&b, 20000, ALL);	/* 2 % */
	for (unsigned int i = 0; i < 10; i++)
		assert_true(stays(second(&b, (unsigned int[SOURCE_CNT]){ [SOURCE_SLAB] = 19 })));
	assert_int_equal(b.mean_ppm, 19000);
}

UNIT_TEST(test_budget_picks_the_dearest_and_no_more_than_needed)
{
	const double cost[SOURCE_CNT] = { [SOURCE_TASK] = 90, [SOURCE_SWITCH] = 80,
					  [SOURCE_SLAB] = 50, [SOURCE_PAGE] = 60,
					  [SOURCE_RSS] = 5 };
	unsigned int off[SOURCE_CNT];

	assert_int_equal(budget_pick_off(cost, ALL, 285, off), 0);
	assert_int_equal(budget_pick_off(cost, ALL, 284, off), 1);
	assert_int_equal(off[0], SOURCE_PAGE);
	assert_int_equal(budget_pick_off(cost, ALL, 225, off), 1);
	assert_int_equal(budget_pick_off(cost, ALL, 224, off), 2);
	assert_int_equal(off[1], SOURCE_SLAB);
	/* rss makes up less than a twentieth of the rest: losing it would not help */
	assert_int_equal(budget_pick_off(cost, ALL, 174, off), 3);
	assert_int_equal(off[2], SOURCE_SWITCH);
	/* without all these it is a twentieth; task is never turned off */
	assert_int_equal(budget_pick_off(cost, ALL, 10, off), 4);
	assert_int_equal(off[3], SOURCE_RSS);
	/* a source that is off cannot be turned off, and its remaining cost is not the others' */
	assert_int_equal(budget_pick_off(cost, ALL & ~SOURCE_BIT(SOURCE_PAGE), 225, off), 0);
	assert_int_equal(budget_pick_off(cost, ALL & ~SOURCE_BIT(SOURCE_PAGE), 224, off), 1);
	assert_int_equal(off[0], SOURCE_SLAB);
}

UNIT_TEST(test_budget_turns_off_all_that_is_needed_at_once)
{
	const unsigned int cost[SOURCE_CNT] = { [SOURCE_SLAB] = 100, [SOURCE_PAGE] = 60,
						[SOURCE_WAKEUP] = 40, [SOURCE_SWITCH] = 9 };
	struct budget_step step;
	struct budget b;

	budget_init(&b, 20000, ALL);
	step = second(&b, cost);
	assert_int_equal(step.off_cnt, 3);
	assert_int_equal(step.off[0], SOURCE_SLAB);
	assert_int_equal(step.off[1], SOURCE_PAGE);
	assert_int_equal(step.off[2], SOURCE_WAKEUP);
	assert_int_equal(b.off_cnt, 3);
	assert_true(b.on & SOURCE_BIT(SOURCE_SWITCH));
}

/* The periods after a step still include the cost of events sent before it. */
UNIT_TEST(test_budget_gives_a_step_time_to_take_effect)
{
	const unsigned int storm[SOURCE_CNT] = { [SOURCE_TASK] = 12, [SOURCE_SLAB] = 30,
						 [SOURCE_RSS] = 3 };
	struct budget b;

	budget_init(&b, 20000, ALL);
	assert_true(turns_off(second(&b, storm), SOURCE_SLAB));
	b.spent_ns = b.allowed_ns + 1e9;	/* the limit is half the budget from here on */
	assert_true(stays(second(&b, storm)));
	assert_true(stays(second(&b, storm)));
	assert_true(turns_off(second(&b, storm), SOURCE_RSS));
	/* the reported cost is the one that exceeded the limit: now the average since the start */
	assert_true(b.mean_ppm < 20000);
	assert_true(budget_cost_ppm(&b) > 20000);
}

UNIT_TEST(test_budget_saves_what_was_spent_too_much)
{
	const unsigned int storm[SOURCE_CNT] = { [SOURCE_SLAB] = 200, [SOURCE_RSS] = 12 };
	unsigned int n;
	struct budget b;

	/* 19 % too much in one second: rss, within the budget itself, is turned off, too */
	budget_init(&b, 20000, ALL);
	assert_int_equal(second(&b, storm).off_cnt, 2);
	/* no source is turned on before that is saved: 19.2 % at 2 % a second */
	for (n = 1; !second(&b, storm).is_on; n++)
		assert_true(n < 100);
	assert_int_equal(n, 10);
	assert_true(b.spent_ns <= b.allowed_ns);
}

UNIT_TEST(test_budget_counts_the_recorders_own_time_by_events)
{
	struct budget_usage u = { .dur_ns = S, .cpu_cnt = 2, .own_ns = S };
	struct budget_step step;
	struct budget b;

	budget_init(&b, 100000, ALL);
	u.source_ns[SOURCE_SLAB] = S / 10;
	u.event_cnt[SOURCE_SLAB] = 10;
	u.source_ns[SOURCE_WAKEUP] = S / 20;
	u.event_cnt[SOURCE_WAKEUP] = 90;
	budget_judge(&b, &u, &step);
	assert_int_equal(step.off[0], SOURCE_WAKEUP);
}

UNIT_TEST(test_budget_outlives_a_small_peak)
{
	const unsigned int low[SOURCE_CNT] = { [SOURCE_SLAB] = 1 };
	const unsigned int high[SOURCE_CNT] = { [SOURCE_SLAB] = 25 };
	struct budget b;

	budget_init(&b, 20000, ALL);
	assert_true(stays(second(&b, low)));
	assert_true(stays(second(&b, high)));
	assert_true(stays(second(&b, low)));
	assert_true(stays(second(&b, high)));
	assert_true(turns_off(second(&b, high), SOURCE_SLAB));
}

static unsigned int seconds_until_on(struct budget *b, const unsigned int cost[SOURCE_CNT],
				     unsigned int want)
{
	unsigned int n = 1;
	struct budget_step step;

	for (step = second(b, cost); !step.is_on; step = second(b, cost))
		assert_true(n++ < 100);
	assert_int_equal(step.on, want);
	return n;
}

UNIT_TEST(test_budget_brings_back_the_last_and_waits_longer_after_a_relapse)
{
	const unsigned int storm[SOURCE_CNT] = { [SOURCE_SLAB] = 100, [SOURCE_PAGE] = 50 };
	const unsigned int wind[SOURCE_CNT] = { [SOURCE_SLAB] = 60 };
	const unsigned int quiet[SOURCE_CNT] = { [SOURCE_SLAB] = 1, [SOURCE_PAGE] = 1 };
	const unsigned int half[SOURCE_CNT] = { [SOURCE_SWITCH] = 11 };
	struct budget b;

	budget_init(&b, 20000, ALL);
	assert_int_equal(second(&b, storm).off_cnt, 2);
	b.spent_ns = b.allowed_ns;	/* all is saved */
	/* more than half the budget: a source that is off stays off for any time */
	for (unsigned int i = 0; i < 20; i++)
		assert_true(stays(second(&b, half)));
	assert_int_equal(seconds_until_on(&b, quiet, SOURCE_PAGE), 3);
	assert_int_equal(seconds_until_on(&b, quiet, SOURCE_SLAB), 3);
	/* back too early, twice */
	assert_true(turns_off(second(&b, wind), SOURCE_SLAB));
	assert_int_equal(seconds_until_on(&b, quiet, SOURCE_SLAB), 6);
	assert_true(turns_off(second(&b, wind), SOURCE_SLAB));
	assert_int_equal(seconds_until_on(&b, quiet, SOURCE_SLAB), 12);
	/* in peace for long: forgiven */
	for (unsigned int i = 0; i < 20; i++)
		assert_true(stays(second(&b, quiet)));
	assert_true(turns_off(second(&b, wind), SOURCE_SLAB));
	assert_int_equal(seconds_until_on(&b, quiet, SOURCE_SLAB), 3);
}

/* ---- gaps ---- */

struct stream {
	struct ring_slice slice;
	struct ring_slab *slab;
};

static void stream_init(struct stream *s)
{
	s->slab = calloc(1, sizeof(struct ring_slab) + 4096);
	assert_non_null(s->slab);
	s->slice.first = s->slice.last = s->slab;
}

static void add(struct stream *s, uint8_t hook, uint64_t ts_ns)
{
	struct wire_kfree r = { .hdr = { .ts_ns = ts_ns, .hook = hook } };

	memcpy(s->slab->data + s->slab->bytes, &r, sizeof(r));
	s->slab->bytes += sizeof(r);
}

UNIT_TEST(test_gaps_take_out_what_lies_inside_and_nothing_else)
{
	static const struct trace_gap row = { .from_ns = 100, .source = "alloc.slab",
					      .reason = "max-overhead" };
	uint64_t dropped[WIRE_HOOK_MAX] = { 0 };
	const struct wire_hdr *h;
	struct stream s;
	struct gaps g = { 0 };

	stream_init(&s);
	assert_int_equal(gaps_open(&g, &row, 1ull << WIRE_KFREE), 0);
	add(&s, WIRE_KFREE, 99);
	add(&s, WIRE_KFREE, 100);
	add(&s, WIRE_MIGRATE, 150);	/* the size of a free: 24 bytes */
	add(&s, WIRE_KFREE, 199);
	add(&s, WIRE_KFREE, 200);
	gaps_close(&g, "alloc.page", 150);	/* another source */
	gaps_close(&g, "alloc.slab", 200);
	gaps_filter(&g, &s.slice, 1, dropped);
	assert_int_equal(dropped[WIRE_KFREE], 2);
	assert_int_equal(dropped[WIRE_MIGRATE], 0);
	assert_int_equal(s.slab->bytes, 3 * sizeof(struct wire_kfree));
	for (size_t i = 0; i < 3; i++) {
		h = (const void *)(s.slab->data + i * sizeof(struct wire_kfree));
		assert_int_equal(h->ts_ns, i == 0 ? 99 : i == 1 ? 150 : 200);
	}
	free(s.slab);
	gaps_done(&g);
}

UNIT_TEST(test_gaps_are_cut_to_slices_without_a_hole)
{
	static const struct trace_gap row = { .from_ns = 150, .source = "alloc.slab",
					      .reason = "max-overhead", .cost_ppm = 7 };
	const struct trace_gap *rows;
	struct gaps g = { 0 };
	size_t cnt;

	assert_int_equal(gaps_open(&g, &row, 1ull << WIRE_KFREE), 0);
	assert_int_equal(gaps_rows(&g, 100, 200, &rows, &cnt), 0);
	assert_int_equal(cnt, 1);
	assert_int_equal(rows[0].from_ns, 150);
	assert_int_equal(rows[0].to_ns, 200);
	assert_int_equal(rows[0].cost_ppm, 7);
	assert_int_equal(gaps_rows(&g, 200, 300, &rows, &cnt), 0);
	assert_int_equal(cnt, 1);
	assert_int_equal(rows[0].from_ns, 200);
	assert_int_equal(rows[0].to_ns, 300);
	gaps_close(&g, "alloc.slab", 310);
	assert_int_equal(gaps_rows(&g, 300, 400, &rows, &cnt), 0);
	assert_int_equal(cnt, 1);
	assert_int_equal(rows[0].to_ns, 310);
	assert_int_equal(gaps_rows(&g, 400, 500, &rows, &cnt), 0);
	assert_int_equal(cnt, 0);
	gaps_done(&g);
}

/*
 * A hostile trace may say anything was measured. An estimate that does not fit its type becomes
 * the largest value (found by fuzzing).
 */
UNIT_TEST(test_hook_cost_of_anything_is_a_number)
{
	const struct hook_mean none = { 0 };
	struct trace_hook_stat row = { .to_ns = UINT64_MAX, .run_time_ns = UINT64_MAX,
				       .sampled_ns = 1 };

	assert_true(hook_cost_ns(&row, &none) == INT64_MAX);
	row.sampled_cnt = 1;
	row.attempted_cnt = UINT64_MAX;
	assert_true(hook_cost_ns(&row, &none) == INT64_MAX);
	row = (struct trace_hook_stat){ .to_ns = 100, .run_time_ns = 30, .sampled_cnt = 3,
					.attempted_cnt = 12 };
	assert_int_equal(hook_cost_ns(&row, &none), 120);
	/* extrapolated by events, or by time if none were sampled */
	row.sampled_ns = 10;
	assert_int_equal(hook_cost_ns(&row, &none), 120);
	row.sampled_cnt = 0;
	assert_int_equal(hook_cost_ns(&row, &none), 300);
}

/* Most intervals have no measurement: the cost is the mean, by events or, of filters, by time. */
UNIT_TEST(test_hook_cost_without_a_measurement)
{
	struct hook_mean mean = { 0 };
	struct trace_hook_stat row = { .to_ns = 20000 };

	assert_int_equal(hook_cost_ns(&row, &mean), 0);
	hook_mean_add(&mean, &(struct trace_hook_stat){ .run_cnt = 9, .run_time_ns = 20,
							    .sampled_ns = 400 });
	hook_mean_add(&mean, &(struct trace_hook_stat){ .run_cnt = 9, .run_time_ns = 30,
							    .sampled_ns = 600 });
	assert_int_equal(hook_cost_ns(&row, &mean), 1000);
	mean.sampled_cnt = 3;
	assert_int_equal(hook_cost_ns(&row, &mean), 1000);
	mean.sampled_cnt = 5;
	assert_int_equal(hook_cost_ns(&row, &mean), 0);
	row.attempted_cnt = 10;
	assert_int_equal(hook_cost_ns(&row, &mean), 100);
}

UNIT_TESTS
