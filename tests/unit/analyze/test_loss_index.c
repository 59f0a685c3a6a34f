/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * loss_index: losses, times off, holes and their effects on a window, compared with a check of
 * every instant.
 */
#include "analyze/context/loss_index.h"
#include "tests/unit/gen/gen_trace.h"
#include "tests/unit/unit_test.h"
#include "trace/trace_state.h"

enum { SPAN = 60, GAPS = 12, BLOCKS = 8, LOSSES = 6 };

static const char *const sources[] = { "sched.switch", "sched.irq", "alloc.slab", "alloc.page" };

static bool is_needed(const char *source, const char *what)
{
	if (strchr(what, ',')) /* all of them */
		return strcmp(source, "sched.irq");
	return !strcmp(what, source) ||
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

/* False if the window has an instant that is in no block. */
static bool brute_covered(const struct trace_block *b, uint64_t from, uint64_t to)
{
	unsigned int i;

	for (uint64_t at = from; at < to; at++) {
		for (i = 0; i < BLOCKS && !(b[i].from_ns <= at && at < b[i].to_ns); i++)
			;
		if (i == BLOCKS)
			return false;
	}
	return true;
}

UNIT_TEST(test_times_off_and_holes_are_those_of_every_instant)
{
	static const char *const whats[] = {
		"task?,sched?,alloc?,block?", "sched", "alloc", "alloc.slab", "sched.irq", "block",
		"sched.switch", "alloc.page", "task",
	};
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

/* One loss in a trace without holes. */
struct lossy {
	struct trace *t;
	struct loss_index x;
	struct trace_loss losses[LOSSES];
	struct trace_block block;
	struct trace_block_more more;
};

static const uint8_t hooks[] = { WIRE_SWITCH, WIRE_WAKING, WIRE_RSS, WIRE_BLOCK_ISSUE };
static const uint8_t classes[] = { EVENT_CLASS_SCHED, EVENT_CLASS_SCHED, EVENT_CLASS_ALLOC,
				   EVENT_CLASS_BLOCK };

static void make_lossy(struct lossy *l, uint64_t *dice)
{
	*l = (struct lossy){ .block = { .from_ns = 1, .to_ns = SPAN } };
	l->t = calloc(1, sizeof(*l->t));
	for (unsigned int i = 0; i < LOSSES; i++) {
		unsigned int kind = (unsigned int)(gen_random(dice) >> 11) % 4;
		uint64_t from = 1 + (gen_random(dice) >> 11) % (SPAN - 1);

		l->losses[i] = (struct trace_loss){
			.from_ns = from, .to_ns = from + (gen_random(dice) >> 11) % 12,
			.hook = hooks[kind], .cls = classes[kind],
			.full_cnt = 1 + (gen_random(dice) >> 11) % 3,
		};
	}
	l->t->rows[CHUNK_LOSS].v = l->losses;
	l->t->rows[CHUNK_LOSS].cnt = LOSSES;
	l->t->blocks.v = &l->block;
	l->t->more.v = &l->more;
	l->t->blocks.cnt = l->t->more.cnt = 1;
	assert_int_equal(loss_index_init(&l->x, l->t), 0);
}

/* Is the loss of the list, and does it touch [from, to), or end there? */
static bool brute_loss(const struct trace_loss *r, const char *list, uint64_t from, uint64_t to,
		       bool ends)
{
	static const char *const names[] = { "sched.switch", "sched.wakeup", "alloc.rss", "block" };
	uint64_t last = r->to_ns > r->from_ns ? r->to_ns - 1 : r->from_ns;
	unsigned int i;

	for (i = 0; hooks[i] != r->hook; i++)
		;
	return strstr(list, names[i]) && last >= from && (ends ? last : r->from_ns) < to;
}

UNIT_TEST(test_lost_events_add_up_and_touched_windows_are_incomplete)
{
	static const char *const lists[] = { "sched.switch", "block", "sched.wakeup,alloc.rss",
					     "sched.switch,sched.wakeup?,alloc.rss,block?" };
	uint64_t dice = 3;
	unsigned int round, i, k;

	for (round = 0; round < 60; round++) {
		struct lossy l;

		make_lossy(&l, &dice);
		for (i = 0; i < 200; i++) {
			const char *list = lists[below(4)];
			uint64_t from = 1 + below(SPAN - 1), to = from + 1 + below(SPAN - from);
			uint64_t at = from + below(to - from + 1), lost = 0;
			bool touched = false;

			for (k = 0; k < LOSSES; k++) {
				const struct trace_loss *r = &l.losses[k];

				lost += brute_loss(r, list, from, to, true) ? r->full_cnt : 0;
				touched |= brute_loss(r, list, from, to, false);
			}
			assert_int_equal(loss_index_lost(&l.x, list, from, to), lost);
			assert_int_equal(loss_index_lost(&l.x, list, from, at) +
						 loss_index_lost(&l.x, list, at, to),
					 lost);
			assert_int_equal(loss_index_is_complete(&l.x,
								(struct loss_needs){ list, 0 },
								from, to, NULL, NULL),
					 !touched && to <= SPAN);
		}
		loss_index_done(&l.x);
		free(l.t);
	}
}

/* ---- reasons for incompleteness ---- */

static void write_down(void *ctx, const struct loss_missing *m)
{
	static const char *const words[] = { "events", "earlier", "not recorded", "off", "outside",
					     "early", "late", "hole", "holes", "hole earlier",
					     "manifest", "heaps" };
	char *text = ctx;
	size_t n = strlen(text);

	snprintf(text + n, 200 - n, "%s%s %s %d/%d", n ? "; " : "", words[m->why],
		 m->what ? m->what : "-", (int)m->cnt, (int)m->most);
}

UNIT_TEST(test_every_reason_is_told)
{
	struct trace_gap gap = { 20, 30, "alloc.slab", "test" };
	struct loss_needs alloc = { "task,alloc", LOSS_LEVELS };
	struct lossy l;
	uint64_t dice = 1;
	char text[200] = "";

	make_lossy(&l, &dice);
	loss_index_done(&l.x);
	l.t->rows[CHUNK_LOSS].cnt = 1;
	l.losses[0] = (struct trace_loss){ .from_ns = 5, .to_ns = 15, .hook = WIRE_RSS,
					   .cls = EVENT_CLASS_ALLOC, .full_cnt = 4 };
	l.t->rows[CHUNK_GAPS].v = &gap;
	l.t->rows[CHUNK_GAPS].cnt = 1;
	assert_int_equal(loss_index_init(&l.x, l.t), 0);
	assert_false(loss_index_is_complete(&l.x, alloc, 1, 10, write_down, text));
	assert_string_equal(text, "events alloc 0/4");
	text[0] = 0;
	assert_false(loss_index_is_complete(&l.x, alloc, 10, SPAN + 1, write_down, text));
	assert_string_equal(text, "events alloc 4/4; off alloc.slab 10/0; late - 0/0");
	text[0] = 0;
	/* the source is off before the window: levels after that are wrong, sums are right */
	assert_false(loss_index_is_complete(&l.x, alloc, 40, 50, write_down, text));
	assert_string_equal(text, "off alloc.slab 10/0");
	alloc.reach = 0;
	assert_true(loss_index_is_complete(&l.x, alloc, 40, 50, NULL, NULL));
	/* the loss may have made the state wrong that a window begins with */
	text[0] = 0;
	alloc.reach = LOSS_STATE;
	assert_false(loss_index_is_complete(&l.x, alloc, 15, 20, write_down, text));
	assert_string_equal(text, "earlier alloc 4/0");
	assert_true(loss_index_is_complete(&l.x, alloc, 1, 5, NULL, NULL));
	alloc.reach = 0;
	/* another source of the class */
	alloc.sources = "alloc.page";
	assert_true(loss_index_is_complete(&l.x, alloc, 1, 40, NULL, NULL));
	text[0] = 0;
	assert_false(loss_index_is_complete(&l.x, alloc, SPAN, SPAN + 5, write_down, text));
	assert_string_equal(text, "outside - 0/0");
	text[0] = 0;
	assert_int_equal(manifest_set(&l.t->manifest, MANIFEST_LOST, "test"), 0);
	assert_false(loss_index_is_complete(&l.x, alloc, 1, 40, write_down, text));
	assert_string_equal(text, "manifest - 0/0");
	manifest_done(&l.t->manifest);
	loss_index_done(&l.x);
	free(l.t);
}

UNIT_TESTS
