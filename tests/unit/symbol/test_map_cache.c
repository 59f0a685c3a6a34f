/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* map_cache: the mapping at an address and time, through exec, fork, dlopen and reuse of pids. */
#include "symbol/module_cache.h"
#include "tests/unit/unit_test.h"

static int files[8];	/* their addresses identify modules */

static void code(struct map_cache *b, uint32_t pid, uint64_t ts, uint64_t start, int file)
{
	struct map_record r = { .ts_ns = ts, .what = MAP_CODE, .pid = pid, .start = start,
				.end = start + 0x1000, .module = &files[file] };

	assert_int_equal(map_cache_note(b, &r), 0);
}

static void turn(struct map_cache *b, enum map_what what, uint32_t pid, uint64_t ts,
		 uint32_t parent)
{
	struct map_record r = { .ts_ns = ts, .what = what, .pid = pid, .parent_pid = parent };

	assert_int_equal(map_cache_note(b, &r), 0);
}

/* The file mapped at an address at ts. -1: no file; -2: no such process. */
static int at(struct map_cache *b, uint32_t pid, uint64_t addr, uint64_t ts)
{
	struct map_hit h;
	int r = map_cache_find(b, pid, addr, ts, &h);

	if (r)
		return r == -ENOENT ? -1 : -2;
	assert_true(h.from_ns <= ts && ts < h.until_ns);
	return (int)((int *)h.module - files);
}

UNIT_TEST(test_map_book_knows_what_was_there_when)
{
	struct map_cache *b;
	struct map_hit h;

	assert_int_equal(map_cache_new(&b), 0);
	assert_int_equal(at(b, 10, 0x1000, 100), -2);
	assert_int_equal(map_cache_add(b, 10, 100), 0);
	code(b, 10, 100, 0x1000, 0);
	code(b, 10, 200, 0x1000, 1);	/* dlclose, dlopen of another */
	code(b, 10, 150, 0x5000, 2);	/* a late record */
	assert_int_equal(at(b, 10, 0x1fff, 50), 0); /* before it was looked at: as it was then */
	assert_int_equal(at(b, 10, 0x1fff, 199), 0);
	assert_int_equal(at(b, 10, 0x1000, 200), 1);
	assert_int_equal(at(b, 10, 0x2000, 200), -1);
	assert_int_equal(at(b, 10, 0x5000, 149), -1);
	assert_int_equal(at(b, 10, 0x5000, 150), 2);
	assert_int_equal(map_cache_find(b, 10, 0x1000, 120, &h), 0);
	assert_int_equal(h.from_ns, 0);
	assert_int_equal(h.until_ns, 200);
	turn(b, MAP_EXEC, 10, 300, 0);
	code(b, 10, 310, 0x1000, 3);
	assert_int_equal(at(b, 10, 0x5000, 299), 2);
	assert_int_equal(at(b, 10, 0x5000, 300), -1);
	assert_int_equal(at(b, 10, 0x1000, 305), -1);
	assert_int_equal(at(b, 10, 0x1000, 311), 3);
	map_cache_free(b);
}

UNIT_TEST(test_map_book_child_has_its_parents_until_exec)
{
	struct map_cache *b;

	assert_int_equal(map_cache_new(&b), 0);
	assert_int_equal(map_cache_add(b, 10, 100), 0);
	code(b, 10, 100, 0x1000, 0);
	turn(b, MAP_FORK, 11, 200, 10);
	turn(b, MAP_FORK, 12, 210, 11);
	code(b, 10, 250, 0x1000, 1);	/* the parent's own, later */
	code(b, 11, 260, 0x3000, 2);
	assert_int_equal(at(b, 11, 0x1000, 300), 0);
	assert_int_equal(at(b, 12, 0x1000, 300), 0);
	assert_int_equal(at(b, 12, 0x3000, 300), -1);
	assert_int_equal(at(b, 11, 0x1000, 150), -2);	/* not born */
	turn(b, MAP_EXEC, 11, 400, 0);
	assert_int_equal(at(b, 11, 0x1000, 400), -1);
	assert_int_equal(at(b, 12, 0x1000, 400), 0);
	/* the parent is gone, its mappings are still needed */
	turn(b, MAP_EXIT, 10, 500, 0);
	turn(b, MAP_EXIT, 11, 500, 0);
	map_cache_forget(b, 1000);
	assert_int_equal(at(b, 12, 0x1000, 1000), 0);
	turn(b, MAP_EXEC, 12, 1100, 0);
	turn(b, MAP_EXIT, 12, 1200, 0);
	map_cache_forget(b, 2000);
	map_cache_forget(b, 2000);
	map_cache_forget(b, 2000);
	for (uint32_t i = 10; i <= 12; i++)
		assert_false(map_cache_follows(b, i));
	/* of others nothing is kept */
	turn(b, MAP_FORK, 21, 200, 20);
	code(b, 21, 260, 0x3000, 2);
	assert_false(map_cache_follows(b, 20) || map_cache_follows(b, 21));
	map_cache_free(b);
}

UNIT_TEST(test_map_book_pid_used_again_is_another_process)
{
	struct map_cache *b;

	assert_int_equal(map_cache_new(&b), 0);
	assert_int_equal(map_cache_add(b, 10, 100), 0);
	code(b, 10, 100, 0x1000, 0);
	turn(b, MAP_FORK, 11, 200, 10);
	turn(b, MAP_EXEC, 11, 210, 0);
	code(b, 11, 220, 0x1000, 1);
	turn(b, MAP_EXIT, 11, 300, 0);
	turn(b, MAP_FORK, 11, 400, 10);
	assert_int_equal(at(b, 11, 0x1000, 230), 1);
	assert_int_equal(at(b, 11, 0x1000, 350), 1);
	assert_int_equal(at(b, 11, 0x1000, 400), 0);
	map_cache_free(b);
}

/* A program that loads and unloads libraries for ever does not fill the memory. */
UNIT_TEST(test_map_book_stays_small)
{
	struct map_cache *b;
	uint64_t ts = 100;

	assert_int_equal(map_cache_new(&b), 0);
	assert_int_equal(map_cache_add(b, 10, ts), 0);
	code(b, 10, ts, 0x100000, 7);
	for (int i = 0; i < 100000; i++) {
		code(b, 10, ++ts, 0x1000 + (uint64_t)(i % 16) * 0x1000, i & 3);
		if (i % 1000 == 999) {
			map_cache_forget(b, ts);
			assert_int_equal(at(b, 10, 0x100000, ts), 7);
			assert_int_equal(at(b, 10, 0x1000 + (uint64_t)(i % 16) * 0x1000, ts),
					 i & 3);
		}
	}
	map_cache_free(b);
}

UNIT_TESTS
