/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Memory levels of a process, compared with its last reported values in a list of all steps. */
#include "model/mem_levels.h"
#include "tests/unit/unit_test.h"

enum { STEPS = 60, COUNTERS = MEM_MEMBER_CNT + 1, VM = MEM_MEMBER_CNT };
enum what { REPORT, BASELINE, EXEC, EXIT, OTHER };

struct step {
	enum what what;
	unsigned int counter;	/* REPORT */
	int64_t bytes;
	struct trace_rss row;	/* BASELINE */
};

/* The counter after cnt steps; false: not known. */
static bool value(const struct step *s, unsigned int cnt, bool born_inside, unsigned int counter,
		  uint64_t *ret)
{
	bool known = false, ended = false;

	*ret = 0;
	for (unsigned int i = 0; i < cnt; i++) {
		bool is_mine = s[i].what == REPORT && s[i].counter == counter;

		if (is_mine && !ended)
			*ret = s[i].bytes < 0 ? 0 : (uint64_t)s[i].bytes;
		known |= (is_mine && !ended) || s[i].what == EXEC;
		if (s[i].what == BASELINE) {
			*ret = counter == VM ? s[i].row.total_vm_bytes : s[i].row.bytes[counter];
			known = !(s[i].row.unknown >> counter & 1);
		}
		if (s[i].what == EXIT ||
		    (s[i].what == EXEC && (counter == MEM_SWAP || counter == MEM_SHMEM)))
			*ret = 0;
		ended |= s[i].what == EXIT;
	}
	return known;
}

static uint64_t rss(const struct step *s, unsigned int cnt, bool born_inside)
{
	uint64_t file, anon, shmem;

	value(s, cnt, born_inside, MEM_FILE, &file);
	value(s, cnt, born_inside, MEM_ANON, &anon);
	value(s, cnt, born_inside, MEM_SHMEM, &shmem);
	return file + anon + shmem;
}

static struct step some_step(unsigned int i, bool may_end)
{
	struct step s = { .what = REPORT, .counter = (unsigned int)rand() % COUNTERS,
			  .bytes = rand() % 200 - 20 };

	if (!i && rand() % 2) {	/* a baseline precedes all other steps */
		s.what = BASELINE;
		for (unsigned int k = 0; k < MEM_MEMBER_CNT; k++)
			s.row.bytes[k] = (uint64_t)rand() % 100;
		s.row.total_vm_bytes = (uint64_t)rand() % 1000;
		s.row.unknown = (uint8_t)(rand() % 32);
	} else if (rand() % 10 == 0) {
		s.what = EXEC;
	} else if (may_end && rand() % 30 == 0) {
		s.what = EXIT;
	} else if (rand() % 10 == 0) {
		s.what = OTHER;
	}
	return s;
}

/* Takes the step; true and *ret when it says that a level changed. */
static bool take(struct mem_process *p, const struct step *s, struct mem_step *ret)
{
	struct event ev = { .kind = s->counter == VM ? EVENT_VM : EVENT_RSS };
	uint64_t own[MEM_LEVEL_CNT];
	struct mem_step vm;

	switch (s->what) {
	case BASELINE:
		mem_process_baseline(p, &s->row);
		return false;
	case EXEC:
		mem_process_exec(p, ret, own);
		return ret->before != ret->after;
	case EXIT:
		mem_process_exit(p, ret, &vm);
		assert_int_equal(vm.after, 0);
		return ret->before != ret->after;
	case OTHER:		/* no memory, and a counter that no kernel has */
		ev.v[EV_RSS_MEMBER] = MEM_MEMBER_CNT;
		ev.v[EV_RSS_BYTES] = 5;
		ev.kind = rand() % 2 ? EVENT_RSS : EVENT_SWITCH;
		return mem_process_event(p, &ev, ret);
	default:
		ev.v[EV_RSS_MEMBER] = s->counter;
		ev.v[s->counter == VM ? (unsigned int)EV_VM_TOTAL_VM_BYTES :
					(unsigned int)EV_RSS_BYTES] = (uint64_t)s->bytes;
		return mem_process_event(p, &ev, ret);
	}
}

static void run(unsigned int seed)
{
	bool born_inside = seed % 2, ended = false;
	struct step steps[STEPS];
	struct mem_process p;
	unsigned int i, k;

	srand(seed);
	mem_process_init(&p, born_inside);
	for (i = 0; i < STEPS; i++) {
		struct mem_step s = { 0 };
		struct trace_rss row;
		uint64_t before, after;
		bool is_vm, changed, was_known;

		steps[i] = some_step(i, !ended);
		is_vm = steps[i].what == REPORT && steps[i].counter == VM;
		was_known = value(steps, i, born_inside, steps[i].counter, &before);
		changed = take(&p, &steps[i], &s);
		value(steps, i + 1, born_inside, VM, &after);
		if (!is_vm) {
			before = rss(steps, i, born_inside);
			after = rss(steps, i + 1, born_inside);
		}
		if (steps[i].what != BASELINE)
			assert_int_equal(changed, before != after);
		if (changed) {
			assert_int_equal(s.before, before);
			assert_int_equal(s.after, after);
			assert_int_equal(s.is_baseline, steps[i].what == REPORT && !was_known);
		}
		row = mem_process_row(&p);
		for (k = 0; k < COUNTERS; k++) {
			bool is_known = value(steps, i + 1, born_inside, k, &after);

			assert_int_equal(k == VM ? row.total_vm_bytes : row.bytes[k], after);
			assert_int_equal(row.unknown >> k & 1, !is_known);
		}
		assert_int_equal(mem_process_rss(&p), rss(steps, i + 1, born_inside));
		assert_true(p.inherited[MEM_RSS] <= mem_process_rss(&p) || !born_inside);
		assert_true(p.inherited[MEM_VM] <= p.vm_bytes || !born_inside);
		ended |= steps[i].what == EXIT;
	}
}

UNIT_TEST(test_levels_are_the_last_reported_values)
{
	for (unsigned int seed = 1; seed <= 2000; seed++)
		run(seed);
}

static struct mem_step report(struct mem_process *p, unsigned int member, uint64_t bytes)
{
	struct event ev = { .kind = EVENT_RSS };
	struct mem_step s = { 0 };

	ev.v[EV_RSS_MEMBER] = member;
	ev.v[EV_RSS_BYTES] = bytes;
	mem_process_event(p, &ev, &s);
	return s;
}

UNIT_TEST(test_a_fork_inherits_and_obtains_later)
{
	uint64_t own[MEM_LEVEL_CNT];
	struct mem_process p;
	struct mem_step s, vm;

	mem_process_init(&p, true);
	assert_int_equal(report(&p, MEM_FILE, 100).inherited, 100);
	assert_true(report(&p, MEM_ANON, 900).is_baseline);
	assert_int_equal(p.inherited[MEM_RSS], 1000);
	s = report(&p, MEM_ANON, 950);		/* 50 of its own come, then 20 of these go */
	assert_false(s.is_baseline);
	assert_int_equal(s.inherited, 0);
	assert_int_equal(report(&p, MEM_ANON, 930).inherited, 0);
	s = report(&p, MEM_ANON, 5);		/* the rest and 895 inherited */
	assert_int_equal(s.before - s.after, 925);
	assert_int_equal(s.inherited, -895);
	mem_process_exec(&p, &s, own);		/* the new program has the rest */
	assert_int_equal(own[MEM_RSS], 105);
	assert_int_equal(report(&p, MEM_ANON, 45).inherited, 0);
	mem_process_exit(&p, &s, &vm);
	assert_int_equal(s.before, 145);
	assert_int_equal(s.inherited, 0);
}

UNIT_TEST(test_same_is_all_that_is_known)
{
	struct mem_process a, b;
	struct mem_step s, vm;

	mem_process_init(&a, true);
	b = a;
	assert_true(mem_process_same(&a, &b));
	mem_process_exit(&b, &s, &vm);
	assert_false(mem_process_same(&a, &b));
	b = a;
	b.bytes[MEM_SWAP]++;
	assert_false(mem_process_same(&a, &b));
	b = a;
	b.vm_bytes++;
	assert_false(mem_process_same(&a, &b));
}

UNIT_TESTS
