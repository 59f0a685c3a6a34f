/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* The thread on each CPU at every ns, compared with the rule applied to a list of all switches. */
#include "format/rows.h"
#include "model/cpu_timeline.h"
#include "tests/unit/unit_test.h"

enum { CPUS = 3, BLOCKS = 5, BLOCK_NS = 60, END_NS = BLOCKS * BLOCK_NS, NOBODY = 0xffff };

static uint32_t had[CPUS][END_NS];	/* time according to the pieces */
static uint32_t wanted[CPUS][END_NS];
static uint64_t end_ns[CPUS];		/* of the last piece */

static int on_piece(void *ctx, const struct cpu_piece *p)
{
	assert_int_equal(p->from_ns, end_ns[p->cpu]);	/* neither hole nor overlap */
	for (uint64_t ns = p->from_ns; ns < p->to_ns; ns++)
		had[p->cpu][ns] = p->utid;
	end_ns[p->cpu] = p->to_ns;
	return 0;
}

/* ---- the rule ---- */

struct made {
	struct event ev[END_NS];
	size_t cnt;
	uint32_t runner[BLOCKS][CPUS];	/* from the keyframe; NOBODY: the block has no keyframe */
};

static uint32_t next_of(const struct event *ev)
{
	return ev->flags & EVENT_F_NEXT_OUT ? EVENT_ID_FILTERED :
					      (uint32_t)ev->v[EV_SWITCH_NEXT_UTID];
}

/* Another CPU's switch has the thread, strictly inside the piece. */
static bool is_elsewhere(const struct made *m, unsigned int cpu, uint32_t utid, uint64_t from_ns,
			 uint64_t to_ns)
{
	for (size_t i = 0; i < m->cnt && utid >= EVENT_ID_FIRST; i++)
		if (m->ev[i].cpu != cpu && m->ev[i].ts_ns > from_ns && m->ev[i].ts_ns < to_ns &&
		    (m->ev[i].utid == utid || next_of(&m->ev[i]) == utid))
			return true;
	return false;
}

static void give(unsigned int cpu, uint64_t from_ns, uint64_t to_ns, uint32_t utid)
{
	for (; from_ns < to_ns; from_ns++)
		wanted[cpu][from_ns] = utid;
}

static void apply_rule(const struct made *m, unsigned int cpu)
{
	uint32_t runs = EVENT_ID_UNKNOWN;

	for (int block = 0; block < BLOCKS; block++) {
		uint64_t from = (uint64_t)block * BLOCK_NS, to = from + BLOCK_NS;

		if (m->runner[block][cpu] != NOBODY)
			runs = m->runner[block][cpu];
		for (size_t i = 0; i < m->cnt; i++) {
			const struct event *ev = &m->ev[i];
			uint64_t stay = ev->v[EV_SWITCH_STAY_NS], back;
			uint32_t owner = runs;
			bool was_away;

			if (ev->cpu != cpu || ev->ts_ns < from || ev->ts_ns >= to)
				continue;
			back = ev->ts_ns - stay > from ? ev->ts_ns - stay : from;
			was_away = stay && runs == ev->utid && back > from &&
				   runs != EVENT_ID_FILTERED;
			if (was_away || (runs != ev->utid && runs != EVENT_ID_FILTERED))
				owner = EVENT_ID_UNKNOWN;
			if (is_elsewhere(m, cpu, runs, from, ev->ts_ns) && owner == runs)
				owner = EVENT_ID_UNKNOWN;
			give(cpu, from, ev->ts_ns, owner);
			if (was_away || (stay && runs != ev->utid))
				give(cpu, back, ev->ts_ns, ev->utid);
			from = ev->ts_ns;
			runs = next_of(ev);
		}
		if (is_elsewhere(m, cpu, runs, from, to))
			runs = EVENT_ID_UNKNOWN;
		give(cpu, from, to, runs);
	}
}

/* ---- random switches, many of them missing ---- */

static uint32_t some_thread(void)
{
	return rand() % 6 ? EVENT_ID_FIRST + (uint32_t)rand() % 4 : EVENT_ID_IDLE;
}

static void make(struct made *m)
{
	uint32_t runs[CPUS] = { 0 };
	unsigned int block, cpu;

	memset(m, 0, sizeof(*m));
	for (block = 0; block < BLOCKS; block++)
		for (cpu = 0; cpu < CPUS; cpu++)
			m->runner[block][cpu] = block % 2 ? NOBODY : some_thread();
	for (uint64_t ts = 1; ts < END_NS; ts += 1 + (unsigned int)rand() % 8) {
		struct event *ev = &m->ev[m->cnt];

		if (ts % BLOCK_NS == 0)
			continue;
		cpu = (unsigned int)rand() % CPUS;
		*ev = (struct event){ .ts_ns = ts, .cpu = (uint16_t)cpu, .kind = EVENT_SWITCH };
		ev->utid = rand() % 4 ? runs[cpu] : some_thread();
		ev->v[EV_SWITCH_NEXT_UTID] = runs[cpu] = some_thread();
		if (rand() % 12 == 0)
			ev->flags = EVENT_F_NEXT_OUT;
		if (rand() % 3 == 0)
			ev->v[EV_SWITCH_STAY_NS] = (uint64_t)rand() % (ts < 20 ? ts : 20);
		m->cnt++;
	}
}

static uint32_t runner_of(void *ctx, unsigned int cpu)
{
	return ((const uint32_t *)ctx)[cpu];
}

UNIT_TEST(test_cpu_timeline_is_the_rule_at_every_ns)
{
	unsigned int seed, cpu, unknown = 0;
	static struct made m;

	for (seed = 1; seed <= 300; seed++) {
		struct cpu_timeline *tl;
		size_t i = 0;
		int block;

		srand(seed);
		make(&m);
		memset(end_ns, 0, sizeof(end_ns));
		assert_int_equal(cpu_timeline_new(&tl, CPUS, on_piece, NULL), 0);
		for (block = 0; block <= BLOCKS; block++) {
			uint64_t at = (uint64_t)block * BLOCK_NS;

			for (; i < m.cnt && m.ev[i].ts_ns < at; i++)
				assert_int_equal(cpu_timeline_switch(tl, &m.ev[i]), 0);
			assert_int_equal(cpu_timeline_boundary(tl, at, block % 2 ? NULL : runner_of,
							       m.runner[block % BLOCKS]), 0);
		}
		cpu_timeline_free(tl);
		for (cpu = 0; cpu < CPUS; cpu++) {
			assert_int_equal(end_ns[cpu], END_NS);
			apply_rule(&m, cpu);
			for (i = 0; i < END_NS; i++) {
				if (had[cpu][i] != wanted[cpu][i])
					fail_msg("seed %u: CPU %u at %zu ns: %u, not %u", seed,
						 cpu, i, had[cpu][i], wanted[cpu][i]);
				unknown += had[cpu][i] == EVENT_ID_UNKNOWN;
			}
		}
	}
	assert_in_range(unknown, 300 * END_NS * CPUS / 10, 300 * END_NS * CPUS / 10 * 9);
}

static int on_steal(void *ctx, const struct cpu_piece *p)
{
	*(uint64_t *)ctx += cpu_piece_own_steal_ns(p);
	return 0;
}

static uint64_t stolen(uint32_t runs, uint64_t steal_ns, uint64_t stay_ns, uint64_t end_steal_ns)
{
	struct event ev = { .ts_ns = 100, .utid = 20, .kind = EVENT_SWITCH };
	const struct row_cpu_end last = { .cpu = 0, .utid = EVENT_ID_IDLE,
					  .steal_ns = end_steal_ns };
	struct cpu_timeline *tl;
	uint64_t sum = 0;

	ev.v[EV_SWITCH_STEAL_NS] = steal_ns;
	ev.v[EV_SWITCH_STAY_NS] = stay_ns;
	assert_int_equal(cpu_timeline_new(&tl, 1, on_steal, &sum), 0);
	assert_int_equal(cpu_timeline_boundary(tl, 0, runner_of, &runs), 0);
	assert_int_equal(cpu_timeline_switch(tl, &ev), 0);
	assert_int_equal(cpu_timeline_finalize(tl, &last), 0);
	assert_int_equal(cpu_timeline_boundary(tl, 200, NULL, NULL), 0);
	cpu_timeline_free(tl);
	return sum;
}

UNIT_TEST(test_no_piece_has_more_stolen_than_it_is_long)
{
	assert_int_equal(stolen(20, 30, 0, 0), 30);
	assert_int_equal(stolen(20, 130, 0, 0), 100);
	assert_int_equal(stolen(21, 30, 50, 0), 0);	/* unknown start of the steal */
	assert_int_equal(stolen(20, 0, 0, 40), 40);
	assert_int_equal(stolen(20, 30, 0, 400), 130);
}

/* A switch that arrives late counts from the last one on; one of a CPU there is not is left out. */
UNIT_TEST(test_cpu_timeline_never_goes_back_in_time)
{
	static const struct event ev[] = {
		{ .ts_ns = 150, .kind = EVENT_SWITCH, .utid = 20, .v[EV_SWITCH_NEXT_UTID] = 21 },
		{ .ts_ns = 140, .kind = EVENT_SWITCH, .utid = 21, .v[EV_SWITCH_NEXT_UTID] = 22 },
		{ .ts_ns = 150, .kind = EVENT_SWITCH, .utid = 1, .v[EV_SWITCH_NEXT_UTID] = 2,
		  .cpu = 9 },
	};
	struct cpu_timeline *tl;

	memset(end_ns, 0, sizeof(end_ns));
	assert_int_equal(cpu_timeline_new(&tl, 1, on_piece, NULL), 0);
	cpu_timeline_boundary(tl, 0, runner_of, (uint32_t[]){ 20 });
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(cpu_timeline_switch(tl, &ev[i]), 0);
	cpu_timeline_boundary(tl, 200, NULL, NULL);
	assert_int_equal(had[0][149], 20);
	assert_int_equal(had[0][150], 22);
	assert_int_equal(had[0][199], 22);
	cpu_timeline_free(tl);
}

UNIT_TESTS
