/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* loss_index: times off and holes, compared with a count of single instants. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "analyze/context/loss_index.h"
#include "tests/unit/gen/gen_trace.h"
#include "trace/trace_state.h"

enum { SPAN = 60, GAPS = 12, BLOCKS = 8 };

static const char *const sources[] = { "sched.switch", "sched.irq", "alloc.slab", "alloc.page" };

static bool is_needed(const char *source, const char *what)
{
	return !strcmp(what, "all") || !strcmp(what, source) ||
	       (!strncmp(what, source, strlen(what)) && source[strlen(what)] == '.' &&
		strcmp(source, "sched.irq"));
}

static uint64_t brute_off(const struct trace_gap *g, const char *what, uint64_t from, uint64_t to)
{
	uint64_t at, sum = 0;
	unsigned int i;

	for (at = from; at < to; at++) {
		for (i = 0; i < GAPS; i++)
			if (g[i].from_ns <= at && at < g[i].to_ns && is_needed(g[i].source, what))
				break;
		sum += i < GAPS;
	}
	return sum;
}

/* An instant that no block has, or the outside, lies in the window or the window lies in it. */
static bool brute_covered(const struct trace_block *b, uint64_t from, uint64_t to)
{
	uint64_t at;
	unsigned int i;

	for (at = from; at < to; at++) {
		for (i = 0; i < BLOCKS && !(b[i].from_ns <= at && at < b[i].to_ns); i++)
			;
		if (i == BLOCKS)
			return false;
	}
	return true;
}

static void test_times_off_and_holes_are_those_of_every_instant(void **state)
{
	static const char *const whats[] = { "all", "sched", "alloc", "alloc.slab", "sched.irq",
					     "block", "sched.switch", "alloc.page", "task" };
	uint64_t dice = 7;
	unsigned int round, i;

#define below(n) ((gen_random(&dice) >> 11) % (n))
	for (round = 0; round < 60; round++) {
		struct trace_block blocks[BLOCKS] = { { 0 } };
		struct trace_block_more more[BLOCKS] = { { 0 } };
		struct trace_gap gaps[GAPS] = { { 0 } };
		struct trace *t = calloc(1, sizeof(*t));
		struct loss_index x;
		uint64_t at = 0;

		for (i = 0; i < GAPS; i++) {
			gaps[i].from_ns = at += below(SPAN / GAPS + 1);
			gaps[i].to_ns = at + 1 + below(10);
			gaps[i].source = sources[below(4)];
		}
		for (i = 0, at = 1; i < BLOCKS; i++) {
			blocks[i].from_ns = at += below(3) ? 0 : 2;
			blocks[i].to_ns = at += 1 + below(6);
		}
		t->rows[CHUNK_GAPS].v = gaps;
		t->rows[CHUNK_GAPS].cnt = GAPS;
		t->blocks.v = blocks;
		t->more.v = more;
		t->blocks.cnt = t->more.cnt = BLOCKS;
		assert_int_equal(loss_index_init(&x, t), 0);
		for (i = 0; i < 300; i++) {
			const char *what = whats[below(9)];
			uint64_t from = below(SPAN), to = from + below(SPAN - from);
			bool inside = from >= blocks[0].from_ns && to <= blocks[BLOCKS - 1].to_ns;

			uint64_t off = loss_index_off_ns(&x, what, from, to);

			if (off != brute_off(gaps, what, from, to))
				fail_msg("round %u: %s off in [%d, %d): %d, not %d", round, what,
					 (int)from, (int)to, (int)off,
					 (int)brute_off(gaps, what, from, to));
			if (from < to && loss_index_covered(&x, from, to) !=
						 (inside && brute_covered(blocks, from, to)))
				fail_msg("round %u: [%d, %d) is covered or is not", round,
					 (int)from, (int)to);
		}
		loss_index_done(&x);
		free(t);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_times_off_and_holes_are_those_of_every_instant),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
