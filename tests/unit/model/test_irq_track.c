/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* irq_track: runs and broken ones against a list of what is open, and a stack that is full. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "format/event.h"
#include "model/irq_track.h"

#define CPUS 2
#define STEPS 20000
#define DEPTH 8		/* as deep as irq_track goes */

struct found {
	unsigned int run_cnt, broken_cnt;
	uint64_t own_ns;
	struct irq_run last;
};

static int on_run(void *ctx, const struct irq_run *r)
{
	struct found *f = ctx;

	f->run_cnt++;
	f->own_ns += r->own_ns;
	f->last = *r;
	return 0;
}

static int on_broken(void *ctx, const struct irq_run *r)
{
	struct found *f = ctx;

	f->broken_cnt++;
	return 0;
}

static struct irq_track *new_track(struct found *f)
{
	const struct irq_sink sink = { f, on_run, on_broken };
	struct irq_track *t;

	memset(f, 0, sizeof(*f));
	assert_int_equal(irq_track_new(&t, CPUS, &sink), 0);
	return t;
}

static void feed(struct irq_track *t, uint64_t ts_ns, unsigned int cpu, bool is_entry,
		 uint32_t vector)
{
	struct event ev = { .ts_ns = ts_ns, .kind = EVENT_IRQ, .cpu = (uint16_t)cpu, .utid = 16 };

	ev.v[EV_IRQ_ACTION] = is_entry ? EVENT_IRQ_ENTRY : EVENT_IRQ_EXIT;
	ev.v[EV_IRQ_TYPE] = EVENT_IRQ_LOCAL;
	ev.v[EV_IRQ_VECTOR] = vector;
	assert_int_equal(irq_track_event(t, &ev), 0);
}

/* The exit of another interrupt breaks those on its CPU, and no others, also where no more fit. */
static void exit_without_entry(unsigned int on, unsigned int depth)
{
	struct found f;
	struct irq_track *t = new_track(&f);
	unsigned int cpu, i;

	for (cpu = 0; cpu < CPUS; cpu++)
		for (i = 0; i < depth; i++)
			feed(t, 10 + i, cpu, true, 1 + i);
	feed(t, 30, on, false, 99);
	assert_int_equal(f.broken_cnt, 1);
	assert_int_equal(irq_track_depth(t, on), depth);
	for (cpu = 0; cpu < CPUS; cpu++)
		for (i = depth; i--;)
			feed(t, 50 - i, cpu, false, 1 + i);
	assert_int_equal(f.broken_cnt, 1 + depth);
	assert_int_equal(f.run_cnt, depth * (CPUS - 1));
	/* the next one begins anew */
	feed(t, 60, on, true, 1);
	feed(t, 67, on, false, 1);
	assert_int_equal(f.run_cnt, depth * (CPUS - 1) + 1);
	assert_int_equal(f.last.own_ns, 7);
	irq_track_free(t);
}

static void test_an_exit_without_entry_breaks_what_is_open_on_its_cpu(void **state)
{
	for (unsigned int depth = 0; depth <= DEPTH; depth++)
		for (unsigned int on = 0; on < CPUS; on++)
			exit_without_entry(on, depth);
}

/* Nested interrupts without losses: their own times are the time in which any was served. */
static void test_own_times_add_up_to_the_time_in_interrupts(void **state)
{
	struct found f;
	struct irq_track *t = new_track(&f);
	unsigned int depth[CPUS] = { 0 }, entries = 0, seed = 7;
	uint64_t busy_ns = 0, at_ns = 1000, last_ns = at_ns;

	for (unsigned int step = 0; step < STEPS; step++) {
		unsigned int cpu, draw = seed = seed * 1103515245u + 12345u;
		bool is_entry;

		cpu = draw >> 16 & 1;
		is_entry = !depth[cpu] || (depth[cpu] < DEPTH && draw >> 17 & 1);
		at_ns += draw >> 20 & 63;
		for (unsigned int i = 0; i < CPUS; i++)
			busy_ns += depth[i] ? at_ns - last_ns : 0;
		last_ns = at_ns;
		feed(t, at_ns, cpu, is_entry, is_entry ? 1 + depth[cpu]++ : depth[cpu]--);
		entries += is_entry;
		assert_int_equal(irq_track_depth(t, cpu), depth[cpu]);
	}
	for (unsigned int cpu = 0; cpu < CPUS; cpu++) {
		busy_ns += depth[cpu] ? 1 : 0;
		while (depth[cpu])
			feed(t, at_ns + 1, cpu, false, depth[cpu]--);
	}
	assert_int_equal(f.broken_cnt, 0);
	assert_int_equal(f.run_cnt, entries);
	assert_int_equal(f.own_ns, busy_ns);
	assert_int_equal(irq_track_oldest_ns(t), UINT64_MAX);
	irq_track_free(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_an_exit_without_entry_breaks_what_is_open_on_its_cpu),
		cmocka_unit_test(test_own_times_add_up_to_the_time_in_interrupts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
