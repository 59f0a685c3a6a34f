/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Which free belongs to which allocation, against a list of all allocations. */
#include "model/live_objects.h"
#include "tests/unit/unit_test.h"

enum { PROCESSES = 4, EVENTS = 3000, DAMAGED_ORDER = 70 };

struct made {			/* an allocation */
	unsigned int family;
	uint64_t addr, bytes, ts_ns;
	uint32_t owner, process;
	bool is_over;		/* freed, lost, or of a heap that is gone */
};

struct ended {
	uint64_t addr, ts_ns, bytes;
	uint32_t owner;
	enum live_end end;
	unsigned int cnt;
};

static int on_end(void *ctx, const struct live_object *o, uint64_t bytes, enum live_end end)
{
	struct ended *e = ctx;

	*e = (struct ended){ o->addr, o->ts_ns, bytes, o->owner, end, e->cnt + 1 };
	return 0;
}

/* The allocation that the event ends; NULL: none. */
static struct made *wanted(struct made *all, size_t cnt, const struct event *ev, uint32_t process)
{
	while (cnt--) {
		struct made *m = &all[cnt];

		if (!m->is_over && m->addr == ev->v[0] &&
		    (int)m->family == object_family_of(ev->kind) &&
		    (m->family != OBJECT_HEAP || m->process == process))
			return m;
	}
	return NULL;
}

static void run(unsigned int seed)
{
	static struct made all[EVENTS];
	struct object_pairs p;
	size_t cnt = 0, i, k;
	unsigned int freed = 0, lost = 0;

	srand(seed);
	assert_int_equal(object_pairs_init(&p, 4096, PROCESSES, true), 0);
	for (i = 0; i < EVENTS; i++) {
		static const uint8_t kinds[] = { EVENT_SLAB_ALLOC, EVENT_PAGE_ALLOC,
						 EVENT_HEAP_ALLOC };
		uint32_t process = (uint32_t)rand() % PROCESSES;
		struct event ev = { .ts_ns = i, .utid = 100 + process, .kind = kinds[rand() % 3] };
		bool is_alloc = rand() % 2, is_damaged, is_irq = rand() % 4 == 0;
		struct ended e = { .cnt = 0 };
		struct object_event o;
		struct made *m;
		uint64_t unknown;

		if (rand() % 40 == 0) {	/* an exec or an exit */
			object_pairs_reset(&p, process);
			for (k = 0; k < cnt; k++)
				all[k].is_over |= all[k].family == OBJECT_HEAP &&
						  all[k].process == process;
			continue;
		}
		ev.kind = (uint8_t)(ev.kind + !is_alloc);	/* a free follows its alloc */
		ev.flags = is_irq ? EVENT_F_IRQ : 0;
		ev.v[0] = 1 + (uint64_t)rand() % 8;
		is_damaged = object_family_of(ev.kind) == OBJECT_PAGE && rand() % 5 == 0;
		if (object_family_of(ev.kind) == OBJECT_PAGE)
			ev.v[EV_PAGE_ALLOC_PAGE_ORDER] = is_damaged ? DAMAGED_ORDER : 0;
		else if (is_alloc)
			ev.v[object_family_of(ev.kind) == OBJECT_SLAB ?
				     (unsigned int)EV_SLAB_ALLOC_BYTES :
				     (unsigned int)EV_HEAP_ALLOC_BYTES] = i;
		assert_true(object_event_read(&ev, 4096, &o));
		is_irq &= o.family != OBJECT_HEAP;
		assert_int_equal(o.utid, is_irq ? EVENT_ID_IRQ : 100 + process);
		assert_int_equal(object_pairs_event(&p, &o, ev.ts_ns, o.utid, process, on_end, &e,
						    &unknown), 0);
		m = is_damaged ? NULL : wanted(all, cnt, &ev, process);
		assert_int_equal(e.cnt, m != NULL);
		assert_int_equal(unknown != 0, !is_alloc && !m && !is_damaged);
		if (m) {
			assert_int_equal(e.addr, m->addr);
			assert_int_equal(e.ts_ns, m->ts_ns);
			assert_int_equal(e.bytes, m->bytes);
			assert_int_equal(e.owner, m->owner);
			assert_int_equal(e.end, is_alloc ? LIVE_LOST : LIVE_FREED);
			m->is_over = true;
			*(is_alloc ? &lost : &freed) += 1;
		}
		if (is_alloc && !is_damaged)
			all[cnt++] = (struct made){ o.family, ev.v[0],
						    o.family == OBJECT_PAGE ? 4096 : i, ev.ts_ns,
						    o.utid, process, false };
	}
	assert_true(freed > 300 && lost > 300);
	object_pairs_done(&p);
}

UNIT_TEST(test_pairs_are_those_of_a_list)
{
	for (unsigned int seed = 1; seed <= 20; seed++)
		run(seed);
}

/* A page order above LIVE_ORDER_MAX is damage. */
UNIT_TEST(test_page_blocks_are_paired_up_to_the_largest_order)
{
	for (unsigned int order = LIVE_ORDER_MAX; order <= LIVE_ORDER_MAX + 1; order++) {
		bool is_valid = order <= LIVE_ORDER_MAX;
		struct object_pairs p;
		struct ended e = { .cnt = 0 };
		uint64_t unknown;

		assert_int_equal(object_pairs_init(&p, 4096, PROCESSES, true), 0);
		for (unsigned int i = 0; i < 3; i++) {	/* it is freed twice */
			struct event ev = { .ts_ns = 1 + i, .kind = i ? EVENT_PAGE_FREE :
									 EVENT_PAGE_ALLOC };
			struct object_event o;

			ev.v[EV_PAGE_ALLOC_PAGE_ORDER] = order;
			assert_true(object_event_read(&ev, 4096, &o));
			assert_int_equal(object_pairs_event(&p, &o, ev.ts_ns, 0, 0, on_end, &e,
							    &unknown), 0);
			assert_int_equal(e.cnt, is_valid && i);
			assert_int_equal(unknown, is_valid && i == 2 ? 4096ull << order : 0);
		}
		assert_int_equal(e.bytes, is_valid ? 4096ull << order : 0);
		object_pairs_done(&p);
	}
}

UNIT_TEST(test_other_events_are_of_no_family)
{
	const struct event ev = { .kind = EVENT_RSS };
	struct object_event o;

	assert_false(object_event_read(&ev, 4096, &o));
	assert_int_equal(object_family_of(EVENT_KIND_CNT), -1);
	assert_int_equal(object_family_of(UINT64_MAX), -1);
}

/* Each new process has a heap of its own, also if older heaps were reset before. */
UNIT_TEST(test_heaps_stay_apart_when_there_are_more_processes)
{
	struct object_event o = { .addr = 4096, .family = OBJECT_HEAP, .is_alloc = true,
				  .kind = { .bytes = 16, .bytes_req = 16 } };
	struct ended e = { .cnt = 0 };
	struct object_pairs p;
	uint64_t unknown;

	assert_int_equal(object_pairs_init(&p, 4096, PROCESSES, true), 0);
	for (uint32_t i = 0; i < PROCESSES; i++)
		object_pairs_reset(&p, i);
	assert_int_equal(object_pairs_grow(&p, PROCESSES, 3 * PROCESSES), 0);
	for (uint32_t i = 0; i < 3 * PROCESSES; i++)
		assert_int_equal(object_pairs_event(&p, &o, i, 100 + i, i, on_end, &e,
						    &unknown), 0);
	/* each of them is another one's: none was lost */
	assert_int_equal(e.cnt, 0);
	o.is_alloc = false;
	for (uint32_t i = 0; i < 3 * PROCESSES; i++) {
		assert_int_equal(object_pairs_event(&p, &o, 50, 0, i, on_end, &e, &unknown), 0);
		assert_int_equal(e.owner, 100 + i);
		assert_int_equal(e.cnt, i + 1);
	}
	object_pairs_done(&p);
}

UNIT_TESTS
