/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * SUMMARY rows and keyframes compared with two other sources: decoded events counted by the rule in
 * FORMAT.md, and the simulation that made the records and knows which threads really ran.
 */
#include "tests/unit/gen/made_trace.h"
#include "tests/unit/gen/slice_count.h"
#include "tests/unit/unit_test.h"

#define UTIDS 4096

static struct made_trace fx;

struct on_cpu {
	uint32_t run;
	uint64_t since_ns;
	bool elsewhere;		/* the thread was seen on another CPU since */
	uint64_t elsewhere_ns;
};

/* A thread that is named on a CPU is not on any other. */
static void seen_at(struct on_cpu *c, unsigned int cpus, uint32_t utid, unsigned int at,
		    uint64_t ts_ns, bool comes)
{
	for (unsigned int cpu = 0; cpu < cpus && utid >= EVENT_ID_FIRST; cpu++) {
		if (cpu == at || c[cpu].run != utid || c[cpu].elsewhere)
			continue;
		if (!comes && c[cpu].since_ns == ts_ns)
			continue;
		c[cpu].elsewhere = true;
		c[cpu].elsewhere_ns = ts_ns;
	}
}

static void stretch_ends(struct slice_share *sum, struct on_cpu *c, uint32_t who, uint64_t ts_ns)
{
	if (c->elsewhere && c->elsewhere_ns < ts_ns)
		who = EVENT_ID_UNKNOWN;
	sum[who].oncpu_ns += ts_ns - c->since_ns;
	c->since_ns = ts_ns;
	c->elsewhere = false;
}

/* Event by event, with the block's keyframe, as a reader without summaries would. */
static void brute_force(struct trace *t, size_t block, struct slice_share sum[UTIDS])
{
	const struct trace_block *b = &trace_blocks(t, &(size_t){ 0 })[block];
	unsigned int cpus = trace_cpu_cnt(t), cpu;
	struct on_cpu on[256];
	struct event_cursor *c;
	const struct event *ev;
	struct err e = { 0 };

	memset(sum, 0, UTIDS * sizeof(*sum));
	for (cpu = 0; cpu < cpus; cpu++)
		on[cpu] =
			(struct on_cpu){ trace_block_running(t, block, cpu), b->from_ns, false, 0 };
	assert_int_equal(event_cursor_open(&c, t, ~0u, b->from_ns, b->to_ns, &e), 0);
	while (event_cursor_next(c, &ev, &e) > 0) {
		uint32_t who = ev->flags & EVENT_F_IRQ ? EVENT_ID_IRQ : ev->utid;

		assert_true(ev->utid < UTIDS);
		if (ev->kind == EVENT_SWITCH) {
			struct on_cpu *o = &on[ev->cpu];
			uint64_t stay_ns = ev->v[EV_SWITCH_STAY_NS];
			uint32_t had = o->run;

			if (stay_ns && had != EVENT_ID_FILTERED && had != ev->utid) {
				if (ev->ts_ns - stay_ns > o->since_ns)
					stretch_ends(sum, o, EVENT_ID_UNKNOWN, ev->ts_ns - stay_ns);
				o->elsewhere = false;
				had = ev->utid;
			}
			o->run = ev->flags & EVENT_F_NEXT_OUT
					 ? EVENT_ID_FILTERED
					 : (uint32_t)ev->v[EV_SWITCH_NEXT_UTID];
			seen_at(on, cpus, ev->utid, ev->cpu, ev->ts_ns, false);
			seen_at(on, cpus, o->run, ev->cpu, ev->ts_ns, true);
			stretch_ends(sum, o,
				     had == EVENT_ID_FILTERED || had == ev->utid ? had
										 : EVENT_ID_UNKNOWN,
				     ev->ts_ns);
			sum[ev->utid].switches++;
			sum[ev->utid].preempted += (ev->flags & EVENT_F_PREEMPT) != 0;
		} else if (ev->kind == EVENT_WAKEUP) {
			sum[ev->v[EV_WAKEUP_TARGET_UTID]].wakeups++;
		} else if (ev->kind == EVENT_SLAB_ALLOC) {
			sum[who].slab_allocs++;
			sum[who].slab_bytes += ev->v[EV_SLAB_ALLOC_BYTES];
		} else if (ev->kind == EVENT_PAGE_ALLOC) {
			sum[who].page_allocs++;
			sum[who].page_bytes += 4096ull << ev->v[EV_PAGE_ALLOC_PAGE_ORDER];
		}
	}
	event_cursor_close(c);
	for (cpu = 0; cpu < cpus; cpu++)
		stretch_ends(sum, &on[cpu], on[cpu].run, b->to_ns);
}

static void check_blocks(struct trace *t)
{
	struct slice_share *want = malloc(UTIDS * sizeof(*want));
	const struct slice_share *rows;
	const struct trace_block *b;
	size_t cnt, row_cnt, i, k, seen, nonzero;

	trace_blocks(t, &cnt);
	for (i = 0; i < cnt; i++) {
		uint64_t total = 0;

		brute_force(t, i, want);
		assert_int_equal(slice_count(t, i, &rows, &row_cnt, NULL), 0);
		b = &trace_blocks(t, &cnt)[i];
		for (k = seen = 0; k < row_cnt; k++) {
			struct slice_share *w = &want[rows[k].utid];

			assert_true(!k || rows[k - 1].utid < rows[k].utid);
			w->utid = rows[k].utid;
			assert_int_equal(rows[k].oncpu_ns, w->oncpu_ns);
			assert_int_equal(rows[k].switches, w->switches);
			assert_int_equal(rows[k].preempted, w->preempted);
			assert_int_equal(rows[k].wakeups, w->wakeups);
			assert_int_equal(rows[k].slab_allocs, w->slab_allocs);
			assert_int_equal(rows[k].slab_bytes, w->slab_bytes);
			assert_int_equal(rows[k].page_allocs, w->page_allocs);
			assert_int_equal(rows[k].page_bytes, w->page_bytes);
			total += rows[k].oncpu_ns;
			seen += w->oncpu_ns || w->switches || w->wakeups || w->slab_allocs ||
				w->page_allocs;
		}
		for (k = nonzero = 0; k < UTIDS; k++)
			nonzero += want[k].oncpu_ns || want[k].switches || want[k].wakeups ||
				   want[k].slab_allocs || want[k].page_allocs;
		assert_int_equal(seen, nonzero);
		assert_int_equal(total, (b->to_ns - b->from_ns) * trace_cpu_cnt(t));
	}
	free(want);
}

static uint64_t oncpu_of(struct trace *t, uint32_t utid)
{
	const struct slice_share *rows;
	size_t blocks, cnt, i, k;
	uint64_t sum = 0;

	trace_blocks(t, &blocks);
	for (i = 0; i < blocks; i++) {
		assert_int_equal(slice_count(t, i, &rows, &cnt, NULL), 0);
		for (k = 0; k < cnt; k++)
			if (rows[k].utid == utid)
				sum += rows[k].oncpu_ns;
	}
	return sum;
}

static uint32_t utid_of_tid(struct trace *t, uint32_t tid)
{
	const struct trace_thread *h;
	size_t cnt, i;

	if (!tid)
		return EVENT_ID_IDLE;
	h = trace_threads(t, &cnt);
	for (i = 0; i < cnt; i++)
		if (h[i].tid == tid)
			return h[i].utid;
	fail_msg("no thread has tid %u", tid);
	return 0;
}

UNIT_TEST(test_summary_equals_counting_on_a_mix)
{
	struct gen_mix m = { .seed = 21, .now_ns = 50 * MS };

	made_begin(&fx, &(struct gen_config){ .from_ns = 50 * MS });
	gen_mix_start(fx.g, &m);
	for (int i = 0; i < 6; i++) {
		gen_mix_run(fx.g, &m, 10000);
		gen_slice(fx.g, m.now_ns + 1 + (uint64_t)i * 1000);
		m.now_ns += (uint64_t)i * 1000 + 1;
	}
	gen_mix_done(&m);
	made_read(&fx, 0);
	check_blocks(fx.t);
}

static bool runs_somewhere(const uint32_t *run, unsigned int cpus, uint32_t tid)
{
	for (unsigned int cpu = 0; cpu < cpus; cpu++)
		if (run[cpu] == tid)
			return true;
	return false;
}

/*
 * CPUs switch among threads; the simulation adds up the CPU time of each thread. Some records
 * arrive a slice late, some slices have no switch on a CPU.
 */
static void run_simulation(uint64_t seed, unsigned int cpus, bool late)
{
	static uint64_t truth[256];
	uint32_t run[8] = { 0 };
	uint64_t since[8], now = 100 * MS, from = now, to = now;
	struct wire_switch held[64];
	unsigned int held_cnt = 0, i, cpu, slice;
	struct made_trace f;

	memset(truth, 0, sizeof(truth));
	made_begin(&f, &(struct gen_config){ .cpu_cnt = cpus, .from_ns = from,
					     .cpus_online = true });
	for (i = 1; i < 20; i++)
		gen_snap(f.g, now, 0, i, i, 1, "t");
	for (cpu = 0; cpu < cpus; cpu++)
		since[cpu] = now;
	for (slice = 0; slice < 12; slice++) {
		unsigned int switches = (unsigned int)(gen_random(&seed) % 200) * (slice % 4 != 2);

		for (i = 0; i < held_cnt; i++)
			gen_raw(f.g, &held[i], sizeof(held[i]));
		held_cnt = 0;
		for (i = 0; i < switches; i++) {
			uint32_t next = (uint32_t)(gen_random(&seed) % 20);

			now += gen_random(&seed) % 1000;
			cpu = (unsigned int)(gen_random(&seed) % cpus);
			if (next && runs_somewhere(run, cpus, next))
				continue;
			if (next == run[cpu])
				continue;
			truth[run[cpu]] += now - since[cpu];
			since[cpu] = now;
			/* If a CPU's record is held back, so are all later ones in its ring. */
			if (late && cpu == 0 && i + 20 > switches && held_cnt < 64)
				held[held_cnt++] =
					(struct wire_switch){ .hdr = { .ts_ns = now,
								       .hook = WIRE_SWITCH,
								       .tid = run[cpu] },
							      .next_tid = next };
			else
				gen_switch(f.g, now, cpu, run[cpu], next, 0);
			run[cpu] = next;
		}
		now += 1 + gen_random(&seed) % 5000;
		gen_slice(f.g, to = now);
	}
	if (held_cnt) {
		for (i = 0; i < held_cnt; i++)
			gen_raw(f.g, &held[i], sizeof(held[i]));
		gen_slice(f.g, to = ++now);
	}
	for (cpu = 0; cpu < cpus; cpu++)
		truth[run[cpu]] += to - since[cpu];
	made_read(&f, 0);
	check_blocks(f.t);
	for (i = 0; i < 20; i++)
		assert_int_equal(oncpu_of(f.t, utid_of_tid(f.t, i)), truth[i]);
	assert_int_equal(oncpu_of(f.t, EVENT_ID_UNKNOWN), 0);
	made_close(&f);
}

UNIT_TEST(test_summary_equals_the_simulation)
{
	for (uint64_t seed = 1; seed < 40; seed++)
		run_simulation(seed, 1 + (unsigned int)seed % 4, false);
}

UNIT_TEST(test_summary_equals_the_simulation_with_late_records)
{
	for (uint64_t seed = 1; seed < 40; seed++)
		run_simulation(seed, 1 + (unsigned int)seed % 4, true);
}

static void expect_loss(const struct trace *t, size_t i, uint64_t from_ns, uint64_t to_ns)
{
	const struct trace_loss *l;
	size_t cnt;

	l = trace_losses(t, &cnt);
	assert_true(i < cnt);
	assert_int_equal(l[i].from_ns, from_ns);
	assert_int_equal(l[i].to_ns, to_ns);
	assert_int_equal(l[i].hook, WIRE_SWITCH);
	assert_int_equal(l[i].missed_cnt, 1);
}

/* A loss is declared where a thread's account is wrong, not where the kernel made it good. */
UNIT_TEST(test_switches_nobody_saw_are_made_good_or_declared)
{
	size_t cnt;

	made_begin(&fx, &(struct gen_config){ .cpu_cnt = 1, .from_ns = 100 * MS });
	gen_switch(fx.g, 110 * MS, 0, 5, 6, 0);
	/* unseen: 6 to 7, at 125; then 6 to idle */
	gen_switch_more(fx.g, 130 * MS, 0, 7, 6, WIRE_F_BREAK, 0, 5 * MS);
	gen_switch_more(fx.g, 134 * MS, 0, 0, 6, WIRE_F_BREAK, 1, 0);
	/* unseen: 6 to 8, at 138 */
	gen_switch_more(fx.g, 140 * MS, 0, 8, 6, WIRE_F_BREAK, 1, 2 * MS);
	gen_slice(fx.g, 150 * MS);
	/* unseen: 6 to 9, at 145, in the slice before */
	gen_switch_more(fx.g, 160 * MS, 0, 9, 6, WIRE_F_BREAK, 0, 15 * MS);
	/* unseen, and the kernel's word is from before the last switch */
	gen_switch_more(fx.g, 170 * MS, 0, 10, 6, WIRE_F_BREAK, 0, 12 * MS);
	gen_slice(fx.g, 200 * MS);
	/* unseen: 6 to idle, maybe in the slice before */
	gen_switch_more(fx.g, 210 * MS, 0, 0, 6, WIRE_F_BREAK, 0, 0);
	gen_slice(fx.g, 220 * MS);
	/* unseen: 6 to 11, in this slice */
	gen_switch_more(fx.g, 230 * MS, 0, 11, 0, WIRE_F_BREAK, 0, 9 * MS);
	made_read(&fx, 240 * MS);
	check_blocks(fx.t);
	trace_losses(fx.t, &cnt);
	assert_int_equal(cnt, 3);
	expect_loss(fx.t, 0, 145 * MS, 150 * MS);
	expect_loss(fx.t, 1, 160 * MS, 170 * MS);
	expect_loss(fx.t, 2, 170 * MS, 200 * MS);
	assert_int_equal(oncpu_of(fx.t, utid_of_tid(fx.t, 7)), 5 * MS);
	assert_int_equal(oncpu_of(fx.t, utid_of_tid(fx.t, 8)), 2 * MS);
	assert_int_equal(oncpu_of(fx.t, utid_of_tid(fx.t, 9)), 10 * MS);
	assert_int_equal(oncpu_of(fx.t, utid_of_tid(fx.t, 10)), 0);
	assert_int_equal(oncpu_of(fx.t, utid_of_tid(fx.t, 11)), 9 * MS);
}

/* The kernel reads the clock of an arrival some time before the switch. */
UNIT_TEST(test_a_stay_begins_after_the_thread_has_left_another_cpu)
{
	made_begin(&fx, &(struct gen_config){ .cpu_cnt = 2, .from_ns = 100 * MS });
	gen_switch(fx.g, 105 * MS, 1, 0, 9, 0);
	gen_switch(fx.g, 110 * MS, 0, 0, 5, 0);
	gen_switch(fx.g, 120 * MS, 0, 5, 0, WIRE_F_PREEMPT);
	/* unseen: 9 leaves CPU 1, and 5 gets it, at 119 according to the kernel */
	gen_switch_more(fx.g, 130 * MS, 1, 5, 0, WIRE_F_BREAK, 0, 11 * MS);
	made_read(&fx, 150 * MS);
	check_blocks(fx.t);
	assert_int_equal(oncpu_of(fx.t, utid_of_tid(fx.t, 5)), 20 * MS);
}

UNIT_TEST(test_lost_switches_are_nobodys_time)
{
	made_begin(&fx, &(struct gen_config){ .cpu_cnt = 1, .from_ns = 100 * MS });
	gen_switch(fx.g, 110 * MS, 0, 5, 6, 0);
	/* lost: 6 to 7 */
	gen_switch(fx.g, 130 * MS, 0, 7, 8, 0);
	gen_slice(fx.g, 150 * MS);
	/* lost: 8 to 9 */
	gen_switch(fx.g, 160 * MS, 0, 9, 0, 0);
	made_read(&fx, 200 * MS);
	check_blocks(fx.t);
	assert_int_equal(oncpu_of(fx.t, utid_of_tid(fx.t, 5)), 10 * MS);
	assert_int_equal(oncpu_of(fx.t, utid_of_tid(fx.t, 6)), 0);
	/*
	 * According to the recorded switches 8 ran at the block's end; in the next block another
	 * thread left the CPU.
	 */
	assert_int_equal(oncpu_of(fx.t, utid_of_tid(fx.t, 8)), 20 * MS);
	assert_int_equal(oncpu_of(fx.t, EVENT_ID_UNKNOWN), 20 * MS + 10 * MS);
	assert_int_equal(oncpu_of(fx.t, EVENT_ID_IDLE), 40 * MS);
}

/* The switches of a thread to another CPU and back were lost; its switches there were not. */
UNIT_TEST(test_a_thread_never_has_two_cpus)
{
	made_begin(&fx, &(struct gen_config){ .cpu_cnt = 2, .from_ns = 100 * MS });
	gen_switch(fx.g, 101 * MS, 1, 0, 9, 0);
	gen_switch(fx.g, 110 * MS, 0, 0, 5, 0);
	/* lost: 5 leaves CPU 0 */
	gen_switch(fx.g, 120 * MS, 1, 9, 5, 0);
	gen_switch(fx.g, 130 * MS, 1, 5, 9, 0);
	/* lost: 5 is back on CPU 0 */
	gen_switch(fx.g, 140 * MS, 0, 5, 7, 0);
	gen_slice(fx.g, 150 * MS);
	/* lost: 7 leaves CPU 0; from here on its thread is unknown */
	gen_switch(fx.g, 160 * MS, 1, 9, 7, 0);
	gen_slice(fx.g, 200 * MS);
	gen_switch(fx.g, 210 * MS, 0, 8, 0, 0);
	made_read(&fx, 220 * MS);
	check_blocks(fx.t);
	assert_int_equal(oncpu_of(fx.t, utid_of_tid(fx.t, 5)), 10 * MS);
	assert_int_equal(oncpu_of(fx.t, utid_of_tid(fx.t, 7)), 10 * MS + 40 * MS + 20 * MS);
	assert_int_equal(oncpu_of(fx.t, utid_of_tid(fx.t, 8)), 10 * MS);
	assert_int_equal(oncpu_of(fx.t, utid_of_tid(fx.t, 9)), 19 * MS + 30 * MS);
	assert_int_equal(oncpu_of(fx.t, EVENT_ID_UNKNOWN), 30 * MS + 50 * MS);
}

/* Random switches lose themselves: no thread may ever get more than the window. */
UNIT_TEST(test_no_thread_exceeds_the_window_whatever_is_lost)
{
	uint64_t seed, total;
	unsigned int cpu, i;

	for (seed = 1; seed < 60; seed++) {
		uint32_t run[4] = { 0 }, tid;
		uint64_t now = 100 * MS, from = now, s = seed;
		struct made_trace f;

		made_begin(&f, &(struct gen_config){ .cpu_cnt = 4, .from_ns = now });
		for (i = 0; i < 600; i++) {
			uint32_t next = (uint32_t)(gen_random(&s) % 6);

			cpu = (unsigned int)(gen_random(&s) % 4);
			now += 1 + gen_random(&s) % 1000;
			if (next == run[cpu] || (next && runs_somewhere(run, 4, next)))
				continue;
			if (gen_random(&s) % 10 >= seed % 7)
				gen_switch(f.g, now, cpu, run[cpu], next, 0);
			run[cpu] = next;
			if (i % 150 == 149)
				gen_slice(f.g, ++now);
		}
		made_read(&f, ++now);
		check_blocks(f.t);
		for (tid = 1; tid < 6; tid++) {
			const struct trace_thread *h;
			size_t cnt, k;

			h = trace_threads(f.t, &cnt);
			for (k = total = 0; k < cnt; k++)
				if (h[k].tid == tid)
					total = oncpu_of(f.t, h[k].utid);
			assert_true(total <= now - from);
		}
		made_close(&f);
	}
}

UNIT_TEST(test_filtered_time_is_not_unknown)
{
	made_begin(&fx, &(struct gen_config){ .cpu_cnt = 2, .from_ns = 100 * MS,
					      .filtered = true });
	gen_snap(fx.g, 100 * MS, 0, 5, 5, 1, "target");
	block_writer_add_workload(gen_block_writer(fx.g), 5);
	gen_switch(fx.g, 110 * MS, 0, 99, 5, 0);		/* from outside */
	gen_switch(fx.g, 120 * MS, 0, 5, 98, WIRE_F_NEXT_OUT);
	gen_switch(fx.g, 140 * MS, 0, 97, 5, 0);	/* another one outside: no loss */
	gen_slice(fx.g, 150 * MS);
	gen_switch(fx.g, 160 * MS, 0, 5, 98, WIRE_F_NEXT_OUT);
	made_read(&fx, 200 * MS);
	check_blocks(fx.t);
	assert_int_equal(oncpu_of(fx.t, utid_of_tid(fx.t, 5)), 30 * MS);
	assert_int_equal(oncpu_of(fx.t, EVENT_ID_UNKNOWN), 0);
	assert_int_equal(oncpu_of(fx.t, EVENT_ID_FILTERED), (10 + 20 + 40 + 100) * MS);
}

UNIT_TEST(test_without_switches_nobody_is_known_to_run)
{
	struct made_trace f;

	for (int filtered = 0; filtered < 2; filtered++) {
		made_begin(&f, &(struct gen_config){ .cpu_cnt = 2, .from_ns = 100 * MS,
						.no_switches = true, .filtered = filtered,
						.cpus_online = true });
		gen_snap_full(f.g, 100 * MS, 5, 5, 1, 6, "there", (const int64_t[4]){ 1 }, 10, 0, 0,
			      true);
		gen_slice(f.g, 150 * MS);
		made_read(&f, 200 * MS);
		check_blocks(f.t);
		assert_int_equal(trace_block_running(f.t, 0, 0), EVENT_ID_UNKNOWN);
		assert_int_equal(trace_block_running(f.t, 1, 1), EVENT_ID_UNKNOWN);
		assert_int_equal(oncpu_of(f.t, EVENT_ID_UNKNOWN), 2 * 100 * MS);
		made_close(&f);
	}
}

UNIT_TEST(test_first_runner_is_who_the_first_switch_leaves)
{
	made_begin(&fx, &(struct gen_config){ .cpu_cnt = 2, .from_ns = 100 * MS });
	gen_switch(fx.g, 110 * MS, 0, 5, 0, 0);
	gen_slice(fx.g, 150 * MS);
	/* CPU 1 was not heard of until now */
	gen_switch(fx.g, 170 * MS, 1, 6, 0, 0);
	made_read(&fx, 200 * MS);
	check_blocks(fx.t);
	assert_int_equal(trace_block_running(fx.t, 0, 0), utid_of_tid(fx.t, 5));
	assert_int_equal(trace_block_running(fx.t, 0, 1), EVENT_ID_UNKNOWN);
	assert_int_equal(trace_block_running(fx.t, 1, 0), EVENT_ID_IDLE);
	assert_int_equal(trace_block_running(fx.t, 1, 1), utid_of_tid(fx.t, 6));
	assert_int_equal(trace_block_running(fx.t, 1, 2), EVENT_ID_UNKNOWN);
	assert_int_equal(trace_block_running(fx.t, 2, 0), EVENT_ID_UNKNOWN);
}

UNIT_TEST(test_snapshot_tells_who_runs_where_nothing_switches)
{
	static const int64_t rss[4] = { 0 };
	struct trace_loss loss = { .from_ns = 100 * MS, .to_ns = 150 * MS, .cpu = 2,
				   .hook = WIRE_SWITCH, .cls = EVENT_CLASS_SCHED, .full_cnt = 1 };

	made_begin(&fx, &(struct gen_config){ .cpu_cnt = 3, .from_ns = 100 * MS,
					      .cpus_online = true });
	gen_snap_full(fx.g, 101 * MS, 7, 7, 1, 50, "hog", rss, 1, 1, 1, true);
	gen_loss(fx.g, &loss);
	made_read(&fx, 150 * MS);
	check_blocks(fx.t);
	/* CPU 0 is idle, 7 is on CPU 1, and on CPU 2 a switch may be lost */
	assert_int_equal(trace_block_running(fx.t, 0, 0), EVENT_ID_IDLE);
	assert_int_equal(trace_block_running(fx.t, 0, 1), utid_of_tid(fx.t, 7));
	assert_int_equal(trace_block_running(fx.t, 0, 2), EVENT_ID_UNKNOWN);
	assert_int_equal(oncpu_of(fx.t, utid_of_tid(fx.t, 7)), 50 * MS);
}

static void lose_switches(struct made_trace *f, unsigned int cpu, uint64_t from_ns, uint64_t to_ns)
{
	gen_loss(f->g, &(struct trace_loss){ .from_ns = from_ns, .to_ns = to_ns, .cpu = cpu,
					     .hook = WIRE_SWITCH, .cls = EVENT_CLASS_SCHED,
					     .full_cnt = 3 });
}

/* The thread on a CPU is unknown if switches were lost after the CPU's last recorded one. */
UNIT_TEST(test_nobody_has_a_cpu_that_lost_switches)
{
	made_begin(&fx, &(struct gen_config){ .cpu_cnt = 2, .from_ns = 100 * MS });
	gen_switch(fx.g, 110 * MS, 0, 5, 6, 0);
	gen_switch(fx.g, 110 * MS, 1, 0, 7, 0);
	lose_switches(&fx, 0, 120 * MS, 149 * MS);
	gen_slice(fx.g, 150 * MS);
	/* no switch of CPU 0 */
	gen_slice(fx.g, 200 * MS);
	gen_switch_more(fx.g, 240 * MS, 0, 8, 5, 0, 0, 10 * MS);
	gen_slice(fx.g, 250 * MS);
	/* this loss is older than the last switch */
	lose_switches(&fx, 0, 255 * MS, 259 * MS);
	gen_switch(fx.g, 260 * MS, 0, 5, 6, 0);
	gen_slice(fx.g, 300 * MS);
	gen_switch(fx.g, 310 * MS, 0, 6, 0, 0);
	made_read(&fx, 320 * MS);
	assert_non_null(trace_block_end(fx.t, 0, 0));
	assert_int_equal(trace_block_end(fx.t, 0, 0)->utid, EVENT_ID_UNKNOWN);
	assert_int_equal(trace_block_end(fx.t, 0, 1)->utid, utid_of_tid(fx.t, 7));
	for (size_t i = 1; i < 5; i++)
		assert_null(trace_block_end(fx.t, i, 0));
	assert_int_equal(trace_block_running(fx.t, 1, 0), EVENT_ID_UNKNOWN);
	assert_int_equal(trace_block_running(fx.t, 1, 1), utid_of_tid(fx.t, 7));
	assert_int_equal(oncpu_of(fx.t, utid_of_tid(fx.t, 5)), 10 * MS + 20 * MS);
	assert_int_equal(oncpu_of(fx.t, utid_of_tid(fx.t, 6)), 50 * MS);
	assert_int_equal(oncpu_of(fx.t, utid_of_tid(fx.t, 7)), 210 * MS);
	assert_int_equal(oncpu_of(fx.t, utid_of_tid(fx.t, 8)), 10 * MS);
	assert_int_equal(oncpu_of(fx.t, EVENT_ID_UNKNOWN), 40 * MS + 50 * MS + 30 * MS);
}

/* The snapshot at the start does not tell which thread is on a CPU after a loss. */
UNIT_TEST(test_a_snapshot_is_older_than_a_loss)
{
	static const int64_t rss[4] = { 0 };

	made_begin(&fx, &(struct gen_config){ .cpu_cnt = 3, .from_ns = 100 * MS,
					      .cpus_online = true });
	gen_snap_full(fx.g, 101 * MS, 7, 7, 1, 50, "hog", rss, 1, 1, 1, true);
	gen_slice(fx.g, 150 * MS);
	lose_switches(&fx, 0, 160 * MS, 170 * MS);
	lose_switches(&fx, 1, 160 * MS, 170 * MS);
	gen_slice(fx.g, 200 * MS);
	made_read(&fx, 250 * MS);
	assert_int_equal(trace_block_running(fx.t, 1, 0), EVENT_ID_IDLE);
	assert_int_equal(trace_block_running(fx.t, 1, 1), utid_of_tid(fx.t, 7));
	assert_int_equal(trace_block_running(fx.t, 2, 0), EVENT_ID_UNKNOWN);
	assert_int_equal(trace_block_running(fx.t, 2, 1), EVENT_ID_UNKNOWN);
	assert_int_equal(trace_block_running(fx.t, 2, 2), EVENT_ID_IDLE);
	assert_int_equal(oncpu_of(fx.t, utid_of_tid(fx.t, 7)), 50 * MS);
	assert_int_equal(oncpu_of(fx.t, EVENT_ID_UNKNOWN), 200 * MS);
}

UNIT_TEST(test_allocations_in_interrupts_are_charged_to_none)
{
	const struct slice_share *rows;
	size_t cnt;

	made_begin(&fx, &(struct gen_config){ .cpu_cnt = 1, .from_ns = 100 * MS });
	gen_kmalloc(fx.g, 110 * MS, 0, 5, 0x1000, 100, 0xffff, WIRE_F_IRQ);
	gen_page_alloc(fx.g, 111 * MS, 0, 5, 77, 3, WIRE_F_IRQ);
	gen_page_alloc(fx.g, 112 * MS, 0, 5, 78, 1, 0);
	made_read(&fx, 150 * MS);
	check_blocks(fx.t);
	assert_int_equal(slice_count(fx.t, 0, &rows, &cnt, NULL), 0);
	assert_int_equal(cnt, 3);
	assert_int_equal(rows[1].utid, EVENT_ID_IRQ);
	assert_int_equal(rows[1].slab_bytes, 128);
	assert_int_equal(rows[1].page_bytes, 8 * 4096);
	assert_int_equal(rows[2].page_bytes, 2 * 4096);
}

UNIT_TEST(test_keyframe_knows_memory)
{
	const struct trace_rss *rss;
	size_t cnt;

	made_begin(&fx, &(struct gen_config){ .cpu_cnt = 1, .from_ns = 100 * MS });
	gen_snap(fx.g, 101 * MS, 0, 5, 5, 1, "a");	/* anon 100 pages */
	gen_snap(fx.g, 101 * MS, 0, 6, 6, 1, "b");
	gen_rss(fx.g, 120 * MS, 0, 5, 5, 1, 300);
	gen_rss(fx.g, 110 * MS, 0, 5, 5, 1, 200);	/* older, though it came later */
	gen_vm(fx.g, 130 * MS, 0, 5, 5, EVENT_VM_MMAP, 0x1000, 0x1000, 2000);
	gen_exit(fx.g, 140 * MS, 0, 6, 6, 0, true, 1);
	gen_slice(fx.g, 150 * MS);
	made_read(&fx, 160 * MS);
	assert_int_equal(trace_block_rss(fx.t, 0, &rss, &cnt, NULL), 0);
	assert_int_equal(cnt, 0);
	assert_int_equal(trace_block_rss(fx.t, 1, &rss, &cnt, NULL), 0);
	assert_int_equal(cnt, 1);
	assert_int_equal(rss[0].ts_ns, 150 * MS);
	assert_int_equal(rss[0].bytes[0], 10 * 4096);
	assert_int_equal(rss[0].bytes[1], 300 * 4096);
	assert_int_equal(rss[0].total_vm_bytes, 2000 * 4096);
}

UNIT_TESTS_END(made_close, fx)
