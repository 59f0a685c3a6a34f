/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* User space addresses are found by process, address and time, in any order of arrival. */
#include "tests/unit/gen/made_trace.h"
#include "tests/unit/gen/table_rows.h"
#include "tests/unit/unit_test.h"

#define T0 1000000ull
#define SITE 0x7f0000ull
#define CNT 8

/* Sites of two processes, the later one first, the highest address first, in a block each. */
UNIT_TEST(test_sites_are_found_in_whatever_order_they_came)
{
	const struct trace_site *v, *s;
	struct made_trace m;
	size_t cnt;

	made_begin(&m, &(struct gen_config){ .cpu_cnt = 1, .from_ns = T0, .sites = true });
	gen_snap(m.g, T0, 0, 50, 50, 1, "one");
	gen_snap(m.g, T0, 0, 60, 60, 1, "two");
	for (unsigned int i = 0; i < CNT; i++) {
		uint64_t ts_ns = T0 + 1000 * i, addr = SITE + 256 * (CNT - i / 2);

		gen_heap(m.g, ts_ns + 1, 0, i % 2 ? 50 : 60, 4096 + 64 * i, 64);
		gen_stack(m.g, ts_ns + 1, 0, i % 2 ? 50 : 60, WIRE_HEAP_ALLOC, 4096 + 64 * i, 64,
			  &addr, 0, 1);
		gen_slice(m.g, ts_ns + 1000);
	}
	made_open(&m);
	v = trace_sites(m.t, &cnt);
	assert_in_range(cnt, CNT, SIZE_MAX);
	for (size_t i = 0; i < cnt; i++) {
		s = trace_site_find(m.t, v[i].upid, v[i].addr, UINT64_MAX);
		assert_non_null(s);
		assert_int_equal(s->upid, v[i].upid);
		assert_int_equal(s->addr, v[i].addr);
	}
	assert_null(trace_site_find(m.t, v[0].upid, SITE, UINT64_MAX));
	made_close(&m);
}

#define EVENTS 3000u
#define REMAP_NS 7000000ull
#define SLICE_NS 10000000ull

enum { STACKS, PROFILE, OFFCPU, WAKER, VIEW_CNT };

/* The time at which an event had its stack, the event's own time, and the function. */
static struct named {
	uint64_t ts_ns, name_ns;
	unsigned int view, function;
} named[EVENTS];

/* A wait of 60 that 50 ended; the mappings may have changed between its beginning and its end. */
static void add_wait(struct gen *g, uint64_t ts, uint64_t left_ns, uint64_t woken_ns,
		     uint64_t own, uint64_t waker)
{
	struct wire_offcpu r = { .hdr = { .ts_ns = ts, .hook = WIRE_OFFCPU, .tid = 60 },
				 .left_ns = left_ns, .woken_ns = woken_ns, .waker_tid = 50,
				 .state = 1, .waker_kind = 1, .user_cnt = 1, .waker_user_cnt = 1,
				 .frames = { own, waker } };

	gen_raw(g, &r, offsetof(struct wire_offcpu, frames) + 16);
}

static void add_sample(struct gen *g, uint64_t ts, uint64_t addr)
{
	struct wire_sample r = { .hdr = { .ts_ns = ts, .hook = WIRE_SAMPLE, .tid = 50 },
				 .user_cnt = 1, .frames = { addr } };

	gen_raw(g, &r, offsetof(struct wire_sample, frames) + 8);
}

static unsigned int make_named(struct gen *g)
{
	uint64_t dice = 11, ts = T0, slice = T0 + SLICE_NS;
	unsigned int cnt = 0;

	while (cnt + 2 <= EVENTS) {
		unsigned int function = (unsigned int)(gen_random(&dice) % 3);
		unsigned int view = (unsigned int)(gen_random(&dice) % 3);
		uint64_t addr = SITE + 256 * function, before = gen_random(&dice) % 5000;

		ts += 6000 + gen_random(&dice) % 60000;
		for (; ts >= slice; slice += SLICE_NS)
			gen_slice(g, slice);
		named[cnt] = (struct named){ ts, ts, view, function };
		if (view == STACKS) {
			gen_heap(g, ts, 0, 50, 4096 + 64 * cnt, 1);
			gen_stack(g, ts, 0, 50, WIRE_HEAP_ALLOC, 4096 + 64 * cnt, 1, &addr, 0, 1);
		} else if (view == PROFILE) {
			add_sample(g, ts, addr);
		} else {
			named[cnt++].name_ns = ts - before - 1000;
			named[cnt] = (struct named){ ts, ts - before, WAKER, function };
			add_wait(g, ts, ts - before - 1000, ts - before, addr, addr);
		}
		cnt++;
	}
	gen_slice(g, slice);
	return cnt;
}

static void check_names(const struct made_trace *m, unsigned int cnt, unsigned int view,
			uint64_t until_ns)
{
	static const char *const views[] = { "stacks", "profile", "offcpu", "offcpu" };
	static const char *const sums[] = { "samples", "samples", "waits", "waits" };
	struct report_request q = made_request(m, views[view]);
	unsigned int wanted[6] = { 0 };
	struct rows r;

	for (unsigned int i = 0; i < cnt; i++)
		if (named[i].view == view && named[i].ts_ns < until_ns)
			wanted[named[i].function * 2 + named[i].name_ns / REMAP_NS % 2]++;
	q.by = 1u << (view == WAKER ? REPORT_BY_WAKER : REPORT_BY_PROCESS);
	q.to_ns = until_ns;
	rows_report(&r, m->a, &q);
	for (unsigned int i = 0; i < r.row_cnt; i++) {
		const char *text = rows_text(&r, i, rows_col(&r, view == PROFILE ?
							"function" : "stack"));
		unsigned int function = 0;
		char tail[8] = "";

		if (sscanf(text, "ufunc_%x%7s", &function, tail) < 1 || function % 256 > 2)
			continue;
		wanted[function % 256 * 2 + !strcmp(tail, "_new")] -=
			(unsigned int)rows_cell(&r, i, sums[view]);
	}
	for (unsigned int i = 0; i < 6; i++)
		if (wanted[i])
			fail_msg("%s until %llu: function %u%s is %d short", views[view],
				 (unsigned long long)until_ns, i / 2, i % 2 ? "_new" : "",
				 (int)wanted[i]);
	rows_done(&r);
}

/* Other files are mapped at the same addresses in turn: each row has the names of its own time. */
UNIT_TEST(test_stacks_are_named_by_the_mappings_of_their_time)
{
	uint64_t dice = 5, last;
	struct made_trace m;
	unsigned int cnt;

	made_begin(&m, &(struct gen_config){ .cpu_cnt = 1, .from_ns = T0, .sites = true,
					     .remap_ns = REMAP_NS });
	gen_snap(m.g, T0, 0, 50, 50, 1, "one");
	gen_snap(m.g, T0, 0, 60, 60, 1, "two");
	cnt = make_named(m.g);
	last = named[cnt - 1].ts_ns + 1;
	made_open(&m);
	for (unsigned int view = 0; view < VIEW_CNT; view++)
		for (unsigned int i = 0; i < 10; i++)
			check_names(&m, cnt, view,
				    i ? T0 + gen_random(&dice) % (last - T0) + 1 : last);
	made_close(&m);
}

UNIT_TESTS
