/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * The block writer and the reader on machines of 200 and 1,000 CPUs, and the memory that the
 * writer needs: by record, as the manual says, and by CPU.
 */
#include "trace/trace.h"
#include "base/clock.h"
#include "record/machine.h"
#include "tests/unit/gen/made_trace.h"
#include "tests/unit/gen/slice_count.h"
#include "tests/unit/unit_test.h"

#define SLICES 3

#define ADDR(cpu, n) (0xffff888000000000ull + (uint64_t)(cpu) * 0x100000 + (n) * 64ull)

static uint64_t resident_bytes(void)
{
	unsigned long pages = 0;
	FILE *f = fopen("/proc/self/statm", "r");

	assert_non_null(f);
	assert_int_equal(fscanf(f, "%*s %lu", &pages), 1);
	fclose(f);
	return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

/*
 * Every CPU has two threads that take turns of cpu + 1 and cpu + 2 us. At each turn one object
 * is allocated, and the object of the turn before is freed.
 */
static uint32_t turn_of(unsigned int cpu, unsigned int turn)
{
	return 1000 + 2 * cpu + (turn & 1);
}

static uint64_t turn_ns(unsigned int cpu, unsigned int turn)
{
	return (cpu + 1 + (turn & 1)) * US;
}

struct machine {
	unsigned int cpu_cnt, *turn;
	uint64_t *at_ns, *oncpu_ns;	/* by cpu; by cpu * 2 + which of its threads */
	uint64_t switches, allocs, frees;
};

static void machine_init(struct machine *m, unsigned int cpu_cnt)
{
	*m = (struct machine){ .cpu_cnt = cpu_cnt };
	m->turn = calloc(cpu_cnt, sizeof(*m->turn));
	m->at_ns = calloc(cpu_cnt, sizeof(*m->at_ns));
	m->oncpu_ns = calloc(2 * cpu_cnt, sizeof(*m->oncpu_ns));
	assert_true(m->turn && m->at_ns && m->oncpu_ns);
}

static void machine_done(struct machine *m)
{
	free(m->turn);
	free(m->at_ns);
	free(m->oncpu_ns);
}

/* All of a CPU's records of a slice, then the next CPU's, as if each had a ring of its own. */
static void run_slice(struct machine *m, struct gen *g, uint64_t to_ns)
{
	for (unsigned int cpu = 0; cpu < m->cpu_cnt; cpu++) {
		for (;;) {
			unsigned int turn = m->turn[cpu];
			uint64_t next = m->at_ns[cpu] + turn_ns(cpu, turn);

			if (next >= to_ns)
				break;
			gen_switch(g, next, cpu, turn_of(cpu, turn), turn_of(cpu, turn + 1), 0);
			gen_kmalloc(g, next + 100, cpu, turn_of(cpu, turn + 1), ADDR(cpu, turn), 64,
				    0xffffffff81000000ull + turn % 7, 0);
			if (turn) {
				gen_kfree(g, next + 200, cpu, turn_of(cpu, turn + 1),
					  ADDR(cpu, turn - 1));
				m->frees++;
			}
			m->oncpu_ns[2 * cpu + (turn & 1)] += turn_ns(cpu, turn);
			m->switches++;
			m->allocs++;
			m->turn[cpu]++;
			m->at_ns[cpu] = next;
		}
	}
	gen_slice(g, to_ns);
}

static void check_events(const struct machine *m, struct trace *t)
{
	uint64_t *last = calloc(m->cpu_cnt, sizeof(*last)), switches = 0, allocs = 0, frees = 0;
	unsigned int *turn = calloc(m->cpu_cnt, sizeof(*turn));
	struct event_cursor *c;
	const struct event *ev;
	uint64_t before = 0;
	struct err e = { "" };

	assert_true(last && turn);
	assert_int_equal(event_cursor_open(&c, t, ~0u, 0, UINT64_MAX, &e), 0);
	while (event_cursor_next(c, &ev, &e) > 0) {
		assert_true(ev->ts_ns >= before);
		assert_true(ev->cpu < m->cpu_cnt);
		before = ev->ts_ns;
		switch (ev->kind) {
		case EVENT_SWITCH:
			assert_int_equal(ev->ts_ns - last[ev->cpu],
					 turn_ns(ev->cpu, turn[ev->cpu]));
			assert_int_equal(trace_thread_find(t, ev->utid)->tid,
					 turn_of(ev->cpu, turn[ev->cpu]));
			last[ev->cpu] = ev->ts_ns;
			turn[ev->cpu]++;
			switches++;
			break;
		case EVENT_SLAB_ALLOC:
			assert_int_equal(ev->v[EV_SLAB_ALLOC_ADDR],
					 ADDR(ev->cpu, turn[ev->cpu] - 1));
			allocs++;
			break;
		default:
			assert_int_equal(ev->kind, EVENT_SLAB_FREE);
			assert_int_equal(ev->v[EV_SLAB_ALLOC_ADDR],
					 ADDR(ev->cpu, turn[ev->cpu] - 2));
			frees++;
			break;
		}
	}
	event_cursor_close(c);
	assert_int_equal(switches, m->switches);
	assert_int_equal(allocs, m->allocs);
	assert_int_equal(frees, m->frees);
	free(last);
	free(turn);
}

/* CPU time by thread, and all of it: CPUs times the trace's length. */
static void check_summaries(const struct machine *m, struct trace *t, uint64_t end_ns)
{
	uint64_t all = 0, *got = calloc(2 * m->cpu_cnt, sizeof(*got));
	const struct slice_share *s;
	size_t cnt, i, b, blocks;

	assert_non_null(got);
	trace_blocks(t, &blocks);
	assert_int_equal(blocks, SLICES);
	for (b = 0; b < blocks; b++) {
		assert_int_equal(slice_count(t, b, &s, &cnt, NULL), 0);
		for (i = 0; i < cnt; i++) {
			const struct trace_thread *th = trace_thread_find(t, s[i].utid);

			all += s[i].oncpu_ns;
			assert_non_null(th);
			assert_true(th->tid - 1000 < 2 * m->cpu_cnt);
			got[th->tid - 1000] += s[i].oncpu_ns;
		}
	}
	assert_int_equal(all, m->cpu_cnt * end_ns);
	for (unsigned int cpu = 0; cpu < m->cpu_cnt; cpu++) {
		/* the last switch's thread has the CPU until the end */
		got[2 * cpu + (m->turn[cpu] & 1)] -= end_ns - m->at_ns[cpu];
		assert_int_equal(got[2 * cpu], m->oncpu_ns[2 * cpu]);
		assert_int_equal(got[2 * cpu + 1], m->oncpu_ns[2 * cpu + 1]);
	}
	free(got);
}

static void check_machine(unsigned int cpu_cnt, uint64_t slice_ns)
{
	struct made_trace made;
	struct machine m;

	machine_init(&m, cpu_cnt);
	made_begin(&made, &(struct gen_config){ .cpu_cnt = cpu_cnt, .cpus_online = true });
	for (unsigned int i = 0; i < 2 * cpu_cnt; i++)
		gen_snap(made.g, 0, i / 2, 1000 + i, 1000 + i, 1, "thread");
	for (unsigned int i = 1; i <= SLICES; i++)
		run_slice(&m, made.g, i * slice_ns);
	made_read(&made, 0);
	assert_int_equal(trace_cpu_cnt(made.t), cpu_cnt);
	check_events(&m, made.t);
	check_summaries(&m, made.t, SLICES * slice_ns);
	made_close(&made);
	machine_done(&m);
}

UNIT_TEST(test_writer_and_reader_know_200_cpus_apart)
{
	check_machine(200, 10000 * US);
}

UNIT_TEST(test_writer_and_reader_know_1000_cpus_apart)
{
	check_machine(1000, 10000 * US);
}

/* Idle CPUs cost some tables of the writer, and nothing on disk but their keyframe. */
UNIT_TEST(test_idle_cpus_cost_little)
{
	size_t bytes[2], i;
	uint64_t before = resident_bytes();
	struct gen *g;

	for (i = 0; i < 2; i++) {
		g = gen_open(NULL,
			     &(struct gen_config){ .cpu_cnt = i ? 1000 : 2, .cpus_online = true });
		gen_snap(g, 0, 0, 1000, 1000, 1, "thread");
		gen_switch(g, 100, 0, 1000, 0, 0);
		gen_slice(g, 1000);
		gen_last_block(g, &bytes[i]);
		if (i)
			assert_true(resident_bytes() - before < 4 << 20);
		gen_abort(g);
	}
	assert_true(bytes[1] - bytes[0] < 1000 * 5);	/* a row of the keyframe each */
}

/*
 * "The columns made of a full queue take up to twice its size": with the shortest records, all
 * of one kind.
 */
UNIT_TEST(test_columns_take_at_most_twice_the_records)
{
	const unsigned int cnt = 1000000;
	uint64_t before, wire = 0;
	struct block_slice s = { .to_ns = cnt * 200ull };
	struct trace_clock clock = { 0 };
	struct block_segment seg;
	struct wire_kfree *r = calloc(cnt, sizeof(*r));
	struct block_writer *w;
	const void *block;
	size_t bytes;
	uint64_t seed = 1;

	assert_non_null(r);
	for (unsigned int i = 0; i < cnt; i++) {
		r[i].hdr = (struct wire_hdr){ .ts_ns = i * 199ull, .hook = WIRE_KFREE,
					      .cpu = i % 200, .tid = 1000 + i % 50 };
		r[i].addr = 0xffff888000000000ull + (gen_random(&seed) & 0xfffffff8);
	}
	seg = (struct block_segment){ r, cnt * sizeof(*r) };
	wire = seg.bytes;
	s.segments = &seg;
	s.segment_cnt = 1;
	s.clocks = &clock;
	s.clock_cnt = 1;
	before = resident_bytes();
	assert_int_equal(block_writer_new(&w, &(struct block_writer_config){ .cpu_cnt = 200 }), 0);
	assert_int_equal(block_writer_encode(w, &s, &block, &bytes, NULL), 0);
#if !defined(SANITIZED_address) && !defined(SANITIZED_thread)	/* they take memory of their own */
	assert_true(resident_bytes() - before < 2 * wire + (4 << 20));
#else
	assert_true(before && wire);
#endif
	block_writer_free(w);
	free(r);
}

UNIT_TEST(test_clocks_are_taken_together)
{
	uint64_t before = clock_mono_ns(), real = clock_real_ns();
	struct trace_clock t;

	machine_read_clocks(&t);
	assert_true(t.mono_ns >= before && t.mono_ns <= clock_mono_ns());
	assert_true(t.real_ns >= real && t.real_ns <= clock_real_ns());
	assert_true(t.boot_ns >= t.mono_ns - 1000000);
	assert_true(t.uncertainty_ns < 10000000);
}

UNIT_TESTS
