/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Pairing of allocations, memory levels, bursts, rises and quantiles, with known answers. */
#include "model/burst.h"
#include "base/hash_map.h"
#include "model/live_objects.h"
#include "model/mem_levels.h"
#include "model/quantile.h"
#include "tests/unit/unit_test.h"

struct ends {
	struct {
		struct live_object obj;
		uint64_t bytes;
		enum live_end end;
	} e[2048];
	unsigned int cnt;
	uint64_t bytes;
};

static struct ends ends;

static int collect(void *ctx, const struct live_object *obj, uint64_t bytes, enum live_end end)
{
	struct ends *all = ctx;

	assert_true(all->cnt < 2048);
	all->e[all->cnt].obj = *obj;
	all->e[all->cnt].bytes = bytes;
	all->e[all->cnt++].end = end;
	all->bytes += bytes;
	return 0;
}

static struct live_objects *objects_new(uint32_t page_bytes)
{
	struct live_objects *o;

	memset(&ends, 0, sizeof(ends));
	assert_int_equal(live_objects_new(&o, page_bytes, true), 0);
	return o;
}

static void add(struct live_objects *o, uint32_t space, uint64_t addr, uint64_t ts, uint32_t owner,
		uint64_t bytes)
{
	struct live_kind k = { .bytes = bytes, .bytes_req = bytes, .call_site = 7 };

	assert_int_equal(live_objects_add(o, space, addr, ts, owner, &k, collect, &ends), 0);
}

static void add_pages(struct live_objects *o, uint64_t pfn, unsigned int order, uint32_t owner)
{
	struct live_kind k = { .bytes = 4096ull << order, .order = (uint8_t)order };

	assert_int_equal(live_objects_add(o, 0, pfn, 1, owner, &k, collect, &ends), 0);
}

static uint64_t end(struct live_objects *o, uint32_t space, uint64_t addr, unsigned int order)
{
	uint64_t unknown;

	assert_int_equal(live_objects_end(o, space, addr, order, collect, &ends, &unknown), 0);
	return unknown;
}

UNIT_TEST(test_live_objects_credit_the_allocator)
{
	struct live_objects *o = objects_new(0);

	add(o, 0, 0x1000, 10, 20, 64);
	add(o, 0, 0x2000, 11, 21, 128);
	assert_int_equal(end(o, 0, 0x1000, 0), 0);
	assert_int_equal(ends.e[0].obj.owner, 20);
	assert_int_equal(ends.e[0].bytes, 64);
	assert_int_equal(ends.e[0].end, LIVE_FREED);
	assert_int_equal(live_objects_kind(o, ends.e[0].obj.kind)->call_site, 7);
	assert_int_equal(end(o, 0, 0x1000, 0), 1);	/* again: not on record */
	assert_int_equal(end(o, 5, 0x2000, 0), 1);	/* another address space */
	assert_int_equal(live_objects_cnt(o), 1);
	live_objects_free(o);
}

UNIT_TEST(test_live_objects_allocation_at_live_address_is_a_lost_free)
{
	struct live_objects *o = objects_new(0);

	add(o, 0, 0x1000, 10, 20, 64);
	add(o, 0, 0x1000, 50, 21, 32);
	assert_int_equal(ends.cnt, 1);
	assert_int_equal(ends.e[0].end, LIVE_LOST);
	assert_int_equal(ends.e[0].obj.owner, 20);
	end(o, 0, 0x1000, 0);
	assert_int_equal(ends.e[1].obj.owner, 21);
	assert_int_equal(ends.e[1].bytes, 32);
	live_objects_free(o);
}

static uint64_t stack_of(const struct live_objects *o, unsigned int nth)
{
	return live_objects_kind(o, ends.e[nth].obj.kind)->stack;
}

UNIT_TEST(test_live_objects_keep_the_stack_of_their_allocation)
{
	struct live_objects *o = objects_new(0);

	add(o, 0, 0x1000, 10, 20, 64);
	add(o, 1, 0x1000, 11, 21, 64);
	add(o, 0, 0x2000, 12, 22, 64);
	assert_int_equal(live_objects_set_stack(o, 0, 0x1000, 10, 77), 0);
	/* the stack of another object, which was there before; the stack of an unknown object */
	assert_int_equal(live_objects_set_stack(o, 0, 0x2000, 10, 78), 0);
	assert_int_equal(live_objects_set_stack(o, 0, 0x3000, 10, 79), 0);
	end(o, 0, 0x1000, 0);
	end(o, 1, 0x1000, 0);
	end(o, 0, 0x2000, 0);
	assert_int_equal(stack_of(o, 0), 77);
	assert_int_equal(stack_of(o, 1), 0);
	assert_int_equal(stack_of(o, 2), 0);
	/* the same place, size and address, but not the same stack */
	add(o, 0, 0x1000, 20, 20, 64);
	end(o, 0, 0x1000, 0);
	assert_int_equal(stack_of(o, 3), 0);
	assert_int_equal(live_objects_kind(o, ends.e[0].obj.kind)->call_site, 7);
	live_objects_free(o);
}

/* One field of seven has the value, the others have none. */
static struct live_kind kind_by(uint32_t i)
{
	uint32_t v = 1 + i / 7, field = i % 7;

	return (struct live_kind){
		.call_site = field == 0 ? v : 0, .cache = field == 1 ? v << 6 : 0,
		.bytes_req = field == 2 ? v : 0, .bytes = field == 3 ? v : 0,
		.stack = field == 4 ? v : 0, .gfp = field == 5 ? v : 0,
		.migratetype = (uint16_t)(field == 6 ? v : 0),
	};
}

UNIT_TEST(test_live_objects_of_kinds_that_differ_in_one_field_stay_apart)
{
	struct live_objects *o = objects_new(0);

	for (uint32_t i = 0; i < 2000; i++) {
		struct live_kind k = kind_by(i);

		assert_int_equal(live_objects_add(o, 0, 0x1000 + 64 * i, 1, 1, &k, collect, &ends),
				 0);
	}
	for (uint32_t i = 0; i < 2000; i++) {
		struct live_kind k = kind_by(i);

		end(o, 0, 0x1000 + 64 * i, 0);
		assert_memory_equal(live_objects_kind(o, ends.e[i].obj.kind), &k, sizeof(k));
	}
	live_objects_free(o);
}

UNIT_TEST(test_live_objects_parts_of_pages_keep_the_stack)
{
	struct live_objects *o = objects_new(4096);

	add_pages(o, 512, 3, 20);
	assert_int_equal(live_objects_set_stack(o, 0, 512, 1, 77), 0);
	end(o, 0, 515, 0);
	assert_int_equal(live_objects_rest(o, collect, &ends), 0);
	assert_int_equal(ends.bytes, 8 * 4096);
	for (unsigned int i = 0; i < ends.cnt; i++)
		assert_int_equal(stack_of(o, i), 77);
	live_objects_free(o);
}

UNIT_TEST(test_live_objects_pages_freed_in_parts)
{
	struct live_objects *o = objects_new(4096);

	add_pages(o, 512, 9, 20);
	for (unsigned int i = 0; i < 512; i++)	/* not in order */
		assert_int_equal(end(o, 0, 512 + (i * 37) % 512, 0), 0);
	assert_int_equal(ends.cnt, 512);
	assert_int_equal(ends.bytes, 512 * 4096);
	for (unsigned int i = 0; i < 512; i++)
		assert_int_equal(ends.e[i].obj.owner, 20);
	assert_int_equal(live_objects_cnt(o), 0);
	assert_int_equal(end(o, 0, 512, 9), 512 * 4096);
	live_objects_free(o);
}

UNIT_TEST(test_live_objects_pages_freed_together)
{
	struct live_objects *o = objects_new(4096);

	add_pages(o, 64, 0, 20);
	add_pages(o, 66, 1, 21);
	assert_int_equal(end(o, 0, 64, 2), 4096);	/* one of the four is not on record */
	assert_int_equal(ends.cnt, 2);
	assert_int_equal(ends.bytes, 3 * 4096);
	add_pages(o, 128, 3, 22);
	add_pages(o, 130, 0, 23);			/* its block must have been freed before */
	assert_int_equal(ends.e[2].end, LIVE_LOST);
	assert_int_equal(ends.e[2].bytes, 4096);
	assert_int_equal(ends.e[2].obj.owner, 22);
	assert_int_equal(live_objects_rest(o, collect, &ends), 0);
	assert_int_equal(ends.bytes, 3 * 4096 + 4096 + 8 * 4096);
	live_objects_free(o);
}

/* The frames of a freed object belonged to it, and have no owner now. */
static void check_frames(uint32_t *owner_of, const struct live_object *obj, uint64_t bytes)
{
	for (uint64_t i = 0; i < bytes / 4096; i++) {
		assert_int_equal(owner_of[obj->addr + i], obj->owner);
		owner_of[obj->addr + i] = 0;
	}
}

/* Against a plain array of 8192 frames: 200,000 random operations on blocks of orders 0 to 9. */
UNIT_TEST(test_live_objects_pages_equal_a_plain_array)
{
	static uint32_t owner_of[8192];	/* by frame; 0: not live */
	struct live_objects *o = objects_new(4096);
	unsigned int i, k;

	srand(4);
	for (i = 1; i < 200000; i++) {
		unsigned int order = (unsigned int)(rand() % 10 * (rand() % 10)) / 9, live = 0;
		uint64_t pfn = (uint64_t)(rand() % (8192 >> order)) << order;

		for (k = 0; k < 1u << order; k++)
			live += owner_of[pfn + k] != 0;
		ends.cnt = 0;
		ends.bytes = 0;
		if (rand() % 2) {
			add_pages(o, pfn, order, i);
			for (k = 0; k < ends.cnt; k++)
				check_frames(owner_of, &ends.e[k].obj, ends.e[k].bytes);
			for (k = 0; k < 1u << order; k++)
				owner_of[pfn + k] = i;
		} else {
			assert_int_equal(end(o, 0, pfn, order), ((1u << order) - live) * 4096);
			for (k = 0; k < ends.cnt; k++)
				check_frames(owner_of, &ends.e[k].obj, ends.e[k].bytes);
		}
		assert_int_equal(ends.bytes, live * 4096);
	}
	live_objects_free(o);
}

/* Against a plain array, through growth and removal: 200,000 random operations on 3,000 addresses.
 */
UNIT_TEST(test_live_objects_equal_a_plain_array)
{
	static uint32_t owner_of[3000];	/* 0: not live */
	struct live_objects *o = objects_new(0);
	unsigned int i, live = 0;

	srand(3);
	for (i = 1; i < 200000; i++) {
		unsigned int at = (unsigned int)rand() % 3000;
		uint64_t addr = 0xffff888000000000ull + at * 64;
		bool is_add = rand() % 2;

		ends.cnt = 0;
		if (is_add)
			add(o, 0, addr, i, i, at);
		else
			assert_int_equal(end(o, 0, addr, 0), !owner_of[at]);
		assert_int_equal(ends.cnt, !!owner_of[at]);
		if (ends.cnt) {
			assert_int_equal(ends.e[0].obj.owner, owner_of[at]);
			assert_int_equal(ends.e[0].bytes, at);
		}
		live += (unsigned int)is_add - !!owner_of[at];
		owner_of[at] = is_add ? i : 0;
		assert_int_equal(live_objects_cnt(o), live);
	}
	live_objects_free(o);
}

static struct event rss(unsigned int member, int64_t bytes)
{
	struct event ev = { .kind = EVENT_RSS };

	ev.v[EV_RSS_MEMBER] = member;
	ev.v[EV_RSS_BYTES] = (uint64_t)bytes;
	return ev;
}

UNIT_TEST(test_mem_levels_go_from_baseline_through_events_to_exit)
{
	static const struct trace_rss base = { .bytes = { 100, 200, 5000, 50 },
					       .total_vm_bytes = 9000 };
	struct event grow = rss(MEM_ANON, 1200), swap = rss(MEM_SWAP, 9),
		     negative = rss(MEM_FILE, -4096);
	uint64_t own[MEM_LEVEL_CNT];
	struct mem_process p;
	struct mem_step s, vm;

	mem_process_init(&p, false);
	mem_process_baseline(&p, &base);
	assert_int_equal(mem_process_rss(&p), 350);	/* swap is not resident */
	assert_true(mem_process_event(&p, &grow, &s));
	assert_int_equal(s.before, 350);
	assert_int_equal(s.after, 1350);
	assert_false(s.is_baseline);
	assert_false(mem_process_event(&p, &swap, &s));
	assert_true(mem_process_event(&p, &negative, &s));
	assert_int_equal(s.after, 1250);
	mem_process_exec(&p, &s, own);		/* shmem of the old program is gone */
	assert_int_equal(s.after, 1200);
	mem_process_exit(&p, &s, &vm);
	assert_int_equal(s.before, 1200);
	assert_int_equal(s.after, 0);
	assert_int_equal(vm.before, 9000);
	assert_false(mem_process_event(&p, &grow, &s));	/* an event after the exit has no owner */
}

UNIT_TEST(test_mem_levels_of_an_unseen_process_are_no_growth)
{
	struct event first = rss(MEM_ANON, 100 << 20), next = rss(MEM_ANON, 101 << 20);
	struct mem_process p;
	struct mem_step s;

	mem_process_init(&p, false);
	assert_true(mem_process_event(&p, &first, &s));
	assert_true(s.is_baseline);
	assert_true(mem_process_event(&p, &next, &s));
	assert_false(s.is_baseline);
}

UNIT_TEST(test_burst_has_exact_edges_and_no_noise)
{
	struct burst b;
	struct burst_found f;

	burst_init(&b, 100, 1000, false);
	assert_int_equal(burst_add(&b, 5, 10, 7, &f), 0);	/* noise, 15 before */
	for (uint64_t t = 20; t < 40; t++)
		assert_int_equal(burst_add(&b, t, 100, 17 + (t - 20) * 100, &f), 0);
	assert_int_equal(burst_add(&b, 110, 5, 2017, &f),
			 0); /* noise, 71 after, burst still in the window */
	assert_int_equal(burst_add(&b, 500, 10, 0, &f), 1);
	assert_int_equal(f.start_ns, 20);
	assert_int_equal(f.end_ns, 39);
	assert_int_equal(f.bytes, 2000);
	assert_int_equal(f.baseline, 17);
	assert_int_equal(burst_finish(&b, &f), 0);
	burst_done(&b);
}

UNIT_TEST(test_burst_longer_than_the_window_is_one)
{
	struct burst b;
	struct burst_found f;

	burst_init(&b, 100, 1000, false);
	for (uint64_t t = 1000; t < 2000; t += 10)
		assert_int_equal(burst_add(&b, t, 150, 0, &f), 0);
	assert_int_equal(burst_finish(&b, &f), 1);
	assert_int_equal(f.start_ns, 1000);
	assert_int_equal(f.end_ns, 1990);
	assert_int_equal(f.bytes, 15000);
	burst_done(&b);
}

UNIT_TEST(test_burst_below_the_minimum_is_none)
{
	struct burst b;
	struct burst_found f;

	burst_init(&b, 100, 1000, false);
	for (uint64_t t = 0; t < 100000; t += 10)
		assert_int_equal(burst_add(&b, t, 99, 0, &f), 0);	/* 990 in any window */
	assert_int_equal(burst_finish(&b, &f), 0);
	burst_done(&b);
}

UNIT_TEST(test_rise_ignores_what_goes_nowhere)
{
	struct burst_found f;
	struct burst r;
	uint64_t t;

	burst_init(&r, 100, 1000, true);
	for (t = 0; t < 10000; t++) /* up by 500 and down again: 50,000 allocated in each window */
		assert_int_equal(burst_add(&r, t, 500, 3000, &f), 0);
	assert_int_equal(burst_finish(&r, &f), 0);
	burst_done(&r);
}

UNIT_TEST(test_rise_has_exact_edges)
{
	struct burst_found f;
	struct burst r;
	uint64_t t, level = 5000;

	burst_init(&r, 100, 1000, true);
	assert_int_equal(burst_add(&r, 100, 10, 4990, &f), 0);		/* noise */
	for (t = 150; t < 200; t++, level += 60)
		assert_int_equal(burst_add(&r, t, 60, level, &f), 0);
	assert_int_equal(burst_add(&r, 1000, 1, level, &f), 1);
	assert_int_equal(f.start_ns, 150);
	assert_int_equal(f.end_ns, 199);
	assert_int_equal(f.bytes, 3000);
	assert_int_equal(f.baseline, 5000);
	assert_int_equal(burst_finish(&r, &f), 0);
	burst_done(&r);
}

/*
 * Fast growth, a phase too slow and too short to end it, faster growth: the bytes of the first
 * burst do not count twice.
 */
UNIT_TEST(test_rises_do_not_overlap)
{
	struct burst_found f, last = { 0 };
	struct burst r;
	uint64_t t, level = 0, bytes = 0;
	int found = 0;

	burst_init(&r, 100, 1000, true);
	for (t = 0; t < 1000; t++) {
		uint64_t step = t < 300 ? 11 : t < 320 ? 1 : 30;

		if (burst_add(&r, t, step, level, &f) == 1) {
			assert_true(!found || f.start_ns > last.end_ns);
			assert_true(f.baseline >= last.baseline + last.bytes);
			last = f;
			bytes += f.bytes;
			found++;
		}
		level += step;
	}
	assert_int_equal(burst_finish(&r, &f), 1);
	assert_true(f.start_ns > last.end_ns);
	assert_true(f.baseline >= last.baseline + last.bytes);
	assert_int_equal(found, 1);
	assert_true(bytes + f.bytes <= level);
	burst_done(&r);
}

static int compare_u64(const void *pa, const void *pb)
{
	uint64_t a = *(const uint64_t *)pa, b = *(const uint64_t *)pb;

	return a < b ? -1 : a > b;
}

UNIT_TEST(test_quantile_is_nearest_rank_and_close_when_bucketed)
{
	static uint64_t v[300000];
	static const double pcts[] = { 1, 50, 90, 99, 99.9 };
	uint64_t powers[QUANTILE_POWERS] = { 0 };
	struct quantile q = { 0 };
	unsigned int i, k;

	for (i = 1; i <= 100; i++)
		assert_int_equal(quantile_add(&q, 101 - i), 0);
	assert_int_equal(quantile_get(&q, 50), 50);
	assert_int_equal(quantile_get(&q, 99), 99);
	assert_int_equal(quantile_get(&q, 100), 100);
	assert_int_equal(quantile_get(&q, 0), 1);
	quantile_reset(&q);
	srand(5);
	for (i = 0; i < 300000; i++) {
		v[i] = (uint64_t)rand() * (uint64_t)(rand() % 1000);
		assert_int_equal(quantile_add(&q, v[i]), 0);
	}
	qsort(v, 300000, sizeof(v[0]), compare_u64);
	for (k = 0; k < 5; k++) {
		double exact = (double)v[(unsigned int)(300000 * pcts[k] / 100) - 1];
		double got = (double)quantile_get(&q, pcts[k]);

		assert_true(got >= exact * 0.996 && got <= exact * 1.004);
	}
	assert_int_equal(q.max, v[299999]);
	for (i = 0; i < 300000; i++)
		powers[v[i] ? 64 - __builtin_clzll(v[i]) : 0]--;
	quantile_count_powers(&q, powers);
	for (k = 0; k < QUANTILE_POWERS; k++)
		assert_int_equal(powers[k], 0);
	quantile_done(&q);
}

UNIT_TEST(test_hash_map_numbers_new_keys_in_order)
{
	struct hash_map m = { 0 };
	uint32_t i, n;

	for (i = 0; i < 10000; i++) {
		assert_int_equal(hash_map_intern(&m, i * 4096ull, ~0ull, &n), 1);
		assert_int_equal(n, i);
	}
	assert_int_equal(hash_map_intern(&m, 4096, ~0ull, &n), 0);
	assert_int_equal(n, 1);
	assert_false(hash_map_find(&m, 4096, 1, &n));
	hash_map_clear(&m);
	assert_false(hash_map_find(&m, 4096, ~0ull, &n));
	hash_map_done(&m);
}

UNIT_TESTS
