/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* burst: every found burst compared with plain sums over its windows. */
#include "model/burst.h"
#include "tests/unit/unit_test.h"

enum { EVENTS = 400, SEEDS = 300, WINDOW = 320, MIN_BYTES = 1000 };

struct step {
	uint64_t ts_ns, bytes, level;
};

static struct step steps[EVENTS];
static struct burst_found found[EVENTS];
static unsigned int found_cnt;

static void add_found(int ret, const struct burst_found *f)
{
	assert_true(ret >= 0 && found_cnt < EVENTS);
	if (ret)
		found[found_cnt++] = *f;
}

static void run(bool is_growth)
{
	struct burst_found f;
	struct burst b;

	found_cnt = 0;
	burst_init(&b, WINDOW, MIN_BYTES, is_growth);
	for (unsigned int i = 0; i < EVENTS; i++)
		add_found(burst_add(&b, steps[i].ts_ns, steps[i].bytes, steps[i].level, &f), &f);
	add_found(burst_finish(&b, &f), &f);
	burst_done(&b);
}

/* Small and large events, near each other and apart. Levels go down, too. Half are of hundreds. */
static void draw(unsigned int seed)
{
	uint64_t ts_ns = 1000, level = 5000, unit = seed % 2 ? 1 : 100;

	srand(seed);
	for (unsigned int i = 0; i < EVENTS; i++) {
		ts_ns += 1 + (uint64_t)(rand() % 4 ? rand() % 40 : rand() % (2 * WINDOW));
		steps[i].ts_ns = ts_ns;
		steps[i].bytes = (uint64_t)(rand() % 5 ? rand() % 30 : rand() % 600) / unit * unit;
		if (rand() % 3 == 0 && level > 1000)
			level -= (uint64_t)(rand() % 300) / unit * unit;
		steps[i].level = level;
		level += steps[i].bytes;
	}
}

static uint64_t sum(unsigned int from, unsigned int to)
{
	uint64_t bytes = 0;

	for (; from <= to; from++)
		bytes += steps[from].bytes;
	return bytes;
}

/* The first of the events from on that is in the window of event i. */
static unsigned int window_begin(unsigned int from, unsigned int i)
{
	while (steps[i].ts_ns - steps[from].ts_ns >= WINDOW)
		from++;
	return from;
}

static bool is_apart(unsigned int i)
{
	return steps[i].ts_ns - steps[i - 1].ts_ns >= WINDOW / 16;
}

/* A burst begins with event i; few bytes that a gap separates from it do not belong to it. */
static unsigned int burst_begin(unsigned int from, unsigned int i)
{
	unsigned int first = window_begin(from, i), begin = first;

	for (unsigned int k = first + 1; k <= i && sum(first, k - 1) <= sum(first, i) / 20; k++)
		begin = is_apart(k) ? k : begin;
	return begin;
}

/* The same at its end, which is event i. */
static unsigned int burst_end(unsigned int begin, unsigned int from, unsigned int i)
{
	unsigned int first = window_begin(from, i), end = i;

	for (unsigned int k = i; k > first && k > begin && sum(k, i) <= sum(first, i) / 20; k--)
		end = is_apart(k) ? k - 1 : end;
	return end;
}

static void check_bytes(void)
{
	unsigned int from = 0, begin = 0, nth = 0;
	bool is_on = false;

	run(false);
	for (unsigned int i = 0; i <= EVENTS; i++) {
		if (is_on && (i == EVENTS || steps[i].ts_ns - steps[i - 1].ts_ns >= WINDOW ||
			      sum(window_begin(from, i), i) < MIN_BYTES)) {
			unsigned int end = burst_end(begin, from, i - 1);

			assert_true(nth < found_cnt);
			assert_int_equal(found[nth].start_ns, steps[begin].ts_ns);
			assert_int_equal(found[nth].end_ns, steps[end].ts_ns);
			assert_int_equal(found[nth].bytes, sum(begin, end));
			assert_int_equal(found[nth].baseline, steps[begin].level);
			assert_int_equal(found[nth].before, begin ? sum(0, begin - 1) : 0);
			nth++;
			from = i;
			is_on = false;
		}
		if (i < EVENTS && !is_on && sum(window_begin(from, i), i) >= MIN_BYTES) {
			begin = burst_begin(from, i);
			is_on = true;
		}
	}
	assert_int_equal(nth, found_cnt);
}

/* Some growth that was found shares time with [from_ns, to_ns]. */
static bool is_told(uint64_t from_ns, uint64_t to_ns)
{
	for (unsigned int i = 0; i < found_cnt; i++)
		if (found[i].start_ns <= to_ns && found[i].end_ns >= from_ns)
			return true;
	return false;
}

/* The level after event i is the minimum above one of its window, of the events from first on. */
static bool is_risen(unsigned int first, unsigned int i)
{
	for (unsigned int k = window_begin(first, i); k <= i; k++)
		if (steps[i].level + steps[i].bytes >= steps[k].level + MIN_BYTES)
			return true;
	return false;
}

static unsigned int event_at(uint64_t ts_ns)
{
	unsigned int i = 0;

	while (i < EVENTS && steps[i].ts_ns < ts_ns)
		i++;
	return i;
}

/* first: the first event that belongs to no growth before this one. */
static void check_one_growth(const struct burst_found *f, unsigned int first)
{
	unsigned int begin = event_at(f->start_ns), end = event_at(f->end_ns), i = begin;

	assert_int_equal(f->base, steps[begin].level);
	assert_int_equal(f->peak, steps[end].level + steps[end].bytes);
	assert_int_equal(f->bytes, f->peak - f->base);
	assert_true(f->bytes >= MIN_BYTES - MIN_BYTES / 20);
	/* it begins with the last step up from the lowest level */
	assert_true(begin == end || steps[begin + 1].level > f->base);
	while (i <= end && !is_risen(first, i))
		i++;
	assert_true(i <= end);
	for (; i <= end; i++)
		assert_true(is_risen(first, i));
	for (i = begin; i < end; i++) {
		assert_true(steps[i + 1].ts_ns - steps[i].ts_ns < WINDOW);
		assert_true(steps[i].level + steps[i].bytes < f->peak);
	}
}

static void check_growth(void)
{
	unsigned int first = 0;

	run(true);
	for (unsigned int i = 0; i < found_cnt; i++) {
		assert_true(found[i].start_ns <= found[i].end_ns);
		assert_true(!i || found[i - 1].end_ns < found[i].start_ns);
		check_one_growth(&found[i], first);
		first = event_at(found[i].end_ns + 1);
	}
	for (unsigned int k = 0; k < EVENTS; k++)
		for (unsigned int i = window_begin(0, k); i <= k; i++)
			if (steps[k].level + steps[k].bytes >= steps[i].level + MIN_BYTES)
				assert_true(is_told(steps[i].ts_ns, steps[k].ts_ns));
}

/* A level that is known from event at on was the same amount higher all the time. */
static void check_shift(unsigned int at)
{
	static struct burst_found wanted[EVENTS];
	unsigned int wanted_cnt, ended_cnt = 0;
	struct burst_found f;
	struct burst b;

	run(true);
	memcpy(wanted, found, sizeof(wanted));
	wanted_cnt = found_cnt;
	found_cnt = 0;
	burst_init(&b, WINDOW, MIN_BYTES, true);
	for (unsigned int i = 0; i < EVENTS; i++) {
		if (i == at) {
			burst_shift(&b, 700);
			ended_cnt = found_cnt;
		}
		add_found(burst_add(&b, steps[i].ts_ns, steps[i].bytes,
				    steps[i].level - (i < at ? 700 : 0), &f), &f);
	}
	add_found(burst_finish(&b, &f), &f);
	burst_done(&b);
	assert_int_equal(found_cnt, wanted_cnt);
	for (unsigned int i = 0; i < found_cnt; i++) {
		assert_int_equal(found[i].start_ns, wanted[i].start_ns);
		assert_int_equal(found[i].end_ns, wanted[i].end_ns);
		assert_int_equal(found[i].bytes, wanted[i].bytes);
		assert_int_equal(found[i].base + (i < ended_cnt ? 700 : 0), wanted[i].base);
		assert_int_equal(found[i].peak + (i < ended_cnt ? 700 : 0), wanted[i].peak);
	}
}

/* Early bytes before a gap belong to a growth only if they are more than 5 % of its bytes. */
UNIT_TEST(test_few_bytes_that_lie_apart_are_no_growth)
{
	for (uint64_t few = 40; few <= 80; few += 10) {
		const struct step made[] = { { 100, few, 5000 }, { 150, 400, 5000 + few },
					     { 151, 600, 5400 + few } };
		bool is_left_out = few * 20 <= 1000 + few;
		struct burst_found f;
		struct burst b;

		burst_init(&b, WINDOW, MIN_BYTES, true);
		for (unsigned int i = 0; i < 3; i++)
			assert_int_equal(burst_add(&b, made[i].ts_ns, made[i].bytes, made[i].level,
						   &f), 0);
		assert_int_equal(burst_finish(&b, &f), 1);
		assert_int_equal(f.start_ns, is_left_out ? 150 : 100);
		assert_int_equal(f.bytes, is_left_out ? 1000 : 1000 + few);
		burst_done(&b);
	}
}

UNIT_TEST(test_bursts_are_those_of_windows_summed_up_anew)
{
	unsigned int cnt = 0;

	for (unsigned int seed = 1; seed <= SEEDS; seed++) {
		draw(seed);
		check_bytes();
		cnt += found_cnt;
	}
	assert_true(cnt > SEEDS);
}

UNIT_TEST(test_growth_is_told_once_wherever_a_level_rises)
{
	unsigned int cnt = 0;

	for (unsigned int seed = 1; seed <= SEEDS; seed++) {
		draw(seed);
		check_growth();
		cnt += found_cnt;
		check_shift((unsigned int)rand() % EVENTS);
	}
	assert_true(cnt > SEEDS);
}

UNIT_TESTS
