/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* irq_track: whole and broken runs, compared with a list of open interrupts; a full stack. */
#include "format/event.h"
#include "model/irq_track.h"
#include "tests/unit/unit_test.h"

#define CPUS 2
#define STEPS 20000
#define DEPTH 8		/* maximum depth of irq_track */

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

/* The exit of another interrupt breaks the open ones on its CPU only, also if the stack is full. */
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
	/* the next interrupt is tracked again */
	feed(t, 60, on, true, 1);
	feed(t, 67, on, false, 1);
	assert_int_equal(f.run_cnt, depth * (CPUS - 1) + 1);
	assert_int_equal(f.last.own_ns, 7);
	irq_track_free(t);
}

UNIT_TEST(test_an_exit_without_entry_breaks_what_is_open_on_its_cpu)
{
	for (unsigned int depth = 0; depth <= DEPTH; depth++)
		for (unsigned int on = 0; on < CPUS; on++)
			exit_without_entry(on, depth);
}

/* The same interrupt again: its exit was lost, and those of all interrupts nested inside it. */
UNIT_TEST(test_an_entry_again_breaks_the_first)
{
	struct found f;
	struct irq_track *t = new_track(&f);

	feed(t, 10, 0, true, 1);
	feed(t, 11, 0, true, 2);
	feed(t, 12, 0, true, 3);
	feed(t, 13, 0, true, 2);
	assert_int_equal(f.broken_cnt, 2);
	assert_int_equal(irq_track_depth(t, 0), 2);
	feed(t, 15, 0, false, 2);
	assert_int_equal(f.run_cnt, 1);
	assert_int_equal(f.last.own_ns, 2);
	irq_track_free(t);
}

/* Another tracker continues from the saved state. */
static struct irq_track *save_and_load(struct irq_track *t, struct found *f, uint64_t at_ns)
{
	const struct irq_sink sink = { f, on_run, on_broken };
	struct irq_track *next;
	struct buf out = { 0 };
	struct packed_in in;

	irq_track_save(t, at_ns, &out);
	in = (struct packed_in){ out.data, out.data + out.len, false };
	assert_int_equal(irq_track_new(&next, CPUS, &sink), 0);
	assert_int_equal(irq_track_load(next, &in, at_ns), 0);
	assert_int_equal(irq_track_oldest_ns(next), irq_track_oldest_ns(t));
	irq_track_free(t);
	/* a truncated state is valid only between two interrupts */
	assert_int_equal(irq_track_new(&t, 1, &sink), 0);
	in = (struct packed_in){ out.data, out.data + out.len - (out.len > 0), false };
	assert_int_equal(irq_track_load(t, &in, at_ns), out.len ? -EBADMSG : 0);
	irq_track_free(t);
	buf_done(&out);
	return next;
}

/* A saved run that began 100 ns ago, with one cut. */
static int load_cut(uint64_t age_ns, uint64_t len_ns)
{
	const uint64_t saved[] = { 0, 16, EVENT_IRQ_LOCAL, 1, 100, false, 1, age_ns, len_ns };
	struct found f;
	struct irq_track *t = new_track(&f);
	struct buf out = { 0 };
	struct packed_in in;
	int ret;

	for (size_t i = 0; i < sizeof(saved) / sizeof(saved[0]); i++)
		packed_put(&out, saved[i]);
	in = (struct packed_in){ out.data, out.data + out.len, false };
	ret = irq_track_load(t, &in, 1000);
	irq_track_free(t);
	buf_done(&out);
	return ret;
}

/* The time cut out of a run is inside the run and ends before the state is saved. */
UNIT_TEST(test_a_saved_cut_is_inside_of_its_run)
{
	assert_int_equal(load_cut(100, 100), 0);
	assert_int_equal(load_cut(1, 0), 0);
	assert_int_equal(load_cut(101, 10), -EBADMSG);
	assert_int_equal(load_cut(100, 101), -EBADMSG);
	assert_int_equal(load_cut(0, 1), -EBADMSG);
	assert_int_equal(load_cut(UINT64_MAX, 1), -EBADMSG);
}

/* A hole breaks open interrupts, on one CPU or on all. A cut of the trace turns them into runs. */
UNIT_TEST(test_a_hole_breaks_what_a_cut_makes_runs_of)
{
	for (unsigned int how = 0; how < 3; how++) {
		struct found f;
		struct irq_track *t = new_track(&f);

		for (unsigned int i = 0; i < 2 * CPUS; i++)
			feed(t, 10 + i, i / 2, true, 1 + i % 2);
		if (how == 0)
			assert_int_equal(irq_track_hole_on(t, 0), 0);
		else if (how == 1)
			assert_int_equal(irq_track_hole(t), 0);
		else
			assert_int_equal(irq_track_cut(t, 100), 0);
		assert_int_equal(f.broken_cnt, how == 2 ? 0 : how == 1 ? 2 * CPUS : 2);
		assert_int_equal(f.run_cnt, how == 2 ? 2 * CPUS : 0);
		assert_int_equal(f.own_ns, how == 2 ? 90 + 88 : 0);
		assert_int_equal(irq_track_depth(t, 0), 0);
		assert_int_equal(irq_track_depth(t, CPUS - 1), how == 0 ? 2 : 0);
		assert_int_equal(irq_track_oldest_ns(t), how == 0 ? 12 : UINT64_MAX);
		irq_track_free(t);
	}
}

/* Nested interrupts without losses: their own times are the time in which any was served. */
UNIT_TEST(test_own_times_add_up_to_the_time_in_interrupts)
{
	struct event other = { .kind = EVENT_SWITCH, .cpu = 0 };
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
		assert_int_equal(irq_track_event(t, &other), 0);
		if (step % 97 == 0)
			t = save_and_load(t, &f, at_ns + 1);
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

UNIT_TESTS
