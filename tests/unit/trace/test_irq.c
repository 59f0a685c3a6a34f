/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Interrupts: irq_usage and its views are compared with a simulated machine that knows the truth,
 * and with brute force over irq_events (the pairing rule of schema/FORMAT.md, kind 13, written a
 * second time).
 */
#include "analyze/analyze.h"
#include "tests/unit/gen/gen_trace.h"
#include "tests/unit/gen/table_rows.h"
#include "tests/unit/gen/made_files.h"
#include "tests/unit/unit_test.h"
#include "trace/trace_read.h"

#define T0 1000000000ull
#define CPUS 3
#define TIDS 6
#define DEPTH 3
#define RUNS_MAX 20000

struct span {
	int64_t from, to;
};

/* An interrupt that was served from at.from to at.to, with others served inside it. */
struct run {
	unsigned int cpu, tid, type, vector;
	struct span at;
	struct span *cuts;
	size_t cut_cnt;
	bool broken;		/* counts at at.from */
};

struct machine {
	uint64_t dice, now_ns;
	unsigned int lose;	/* one record in so many is not there; 0: all are */
	struct gen *g;
	unsigned int tid[CPUS], depth[CPUS];
	size_t open[CPUS][DEPTH];	/* runs */
	struct run *runs;
	size_t cnt;
	char dir[64], path[80];
	struct trace *trace;
	struct analysis *plain, *indexed;
};

static struct machine it;

static uint64_t below(struct machine *m, uint64_t n)
{
	return (gen_random(&m->dice) >> 11) % n;
}

static void add_cut(struct run *r, struct span s)
{
	r->cuts = realloc(r->cuts, (r->cut_cnt + 1) * sizeof(*r->cuts));
	assert_non_null(r->cuts);
	r->cuts[r->cut_cnt++] = s;
}

static struct run *add_run(struct machine *m)
{
	assert_true(m->cnt < RUNS_MAX);
	m->runs[m->cnt] = (struct run){ 0 };
	return &m->runs[m->cnt++];
}

/* ---- a machine that is interrupted ---- */

static void send(struct machine *m, const struct run *r, bool is_exit)
{
	static const unsigned int entry[] = { 0, WIRE_IRQ_ENTRY, WIRE_SOFTIRQ_ENTRY,
					      WIRE_VECTOR_ENTRY };

	if (m->lose && !below(m, m->lose))
		return;
	gen_irq(m->g, m->now_ns, r->cpu, r->tid, entry[r->type] + is_exit, r->vector);
}

static void begin(struct machine *m, unsigned int cpu)
{
	struct run *r = add_run(m);
	unsigned int depth = m->depth[cpu];

	*r = (struct run){ .cpu = cpu,
			   .tid = m->tid[cpu],
			   .type = depth ? 1 + 2 * (unsigned int)below(m, 2)
					 : 1 + (unsigned int)below(m, 3),
			   .at = { (int64_t)(m->now_ns - T0), 0 } };
	/* a line or vector is not served twice at a time */
	r->vector = r->type == 2 ? (unsigned int)below(m, 10)
				 : 4 * depth + (unsigned int)below(m, 4) + 1;
	m->open[cpu][m->depth[cpu]++] = m->cnt - 1;
	send(m, r, false);
}

static void end(struct machine *m, unsigned int cpu)
{
	unsigned int depth = --m->depth[cpu];
	struct run *r = &m->runs[m->open[cpu][depth]];

	r->at.to = (int64_t)(m->now_ns - T0);
	if (depth)
		add_cut(&m->runs[m->open[cpu][depth - 1]], r->at);
	send(m, r, true);
}

static void step(struct machine *m)
{
	unsigned int cpu = (unsigned int)below(m, CPUS), tid;

	/* most interrupts are short; some last longer than a slice of time */
	m->now_ns += 1 + (below(m, 200) ? below(m, 3000) : below(m, 3 * MS));
	if (!m->depth[cpu] && !below(m, 5)) {
		tid = below(m, 3) ? 100 + cpu * TIDS + (unsigned int)below(m, TIDS) : 0;
		if (tid != m->tid[cpu])
			gen_switch(m->g, m->now_ns, cpu, m->tid[cpu], tid, 0);
		m->tid[cpu] = tid;
	} else if (!m->depth[cpu] || (m->depth[cpu] < DEPTH && !below(m, 4))) {
		begin(m, cpu);
	} else {
		end(m, cpu);
	}
}

static void open_analyses(struct machine *m)
{
	struct analysis_index_use use = { .use = true, .always = true };
	struct err e = { "" };

	if (trace_open(&m->trace, m->path, &e) < 0 ||
	    analysis_open(&m->plain, m->trace, &e) < 0 ||
	    analysis_open(&m->indexed, m->trace, &e) < 0)
		fail_msg("%s", e.text);
	analysis_use_index(m->indexed, &use);
	if (analysis_prepare(m->indexed, &e) < 0)
		fail_msg("%s", e.text);
	assert_true(analysis_knows_block(m->indexed, 0));
}

/* Interrupts that are still being served at the end of the trace have no exit. */
static void make_machine(struct machine *m, uint64_t seed, unsigned int lose)
{
	unsigned int i, k, cpu;
	char comm[16];

	*m = (struct machine){ .dice = seed, .now_ns = T0, .lose = lose };
	m->runs = calloc(RUNS_MAX, sizeof(*m->runs));
	assert_non_null(m->runs);
	gen_temp_dir(m->dir);
	snprintf(m->path, sizeof(m->path), "%s/trace", m->dir);
	m->g = gen_open(m->path, &(struct gen_config){ .cpu_cnt = CPUS, .from_ns = T0,
						       .cpus_online = true });
	for (i = 0; i < CPUS * TIDS; i++) {
		snprintf(comm, sizeof(comm), "task-%u", i);
		gen_snap(m->g, T0, 0, 100 + i, 100 + i, 1, comm);
	}
	for (i = 0; i < 12; i++) {
		for (k = 0; k < 500; k++)
			step(m);
		gen_slice(m->g, m->now_ns + 1);
	}
	for (cpu = 0; cpu < CPUS; cpu++)
		for (i = 0; i < m->depth[cpu]; i++)
			m->runs[m->open[cpu][i]].broken = true;
	gen_finish(m->g);
	open_analyses(m);
}

static void forget_runs(struct machine *m)
{
	while (m->cnt)
		free(m->runs[--m->cnt].cuts);
}

static void close_machine(struct machine *m)
{
	if (!m->dir[0])
		return;
	forget_runs(m);
	free(m->runs);
	analysis_close(m->plain);
	analysis_close(m->indexed);
	trace_close(m->trace);
	gen_remove_dir(m->dir);
	memset(m, 0, sizeof(*m));
}

/* ---- brute force: all runs there are, from the events ---- */

struct stack {
	struct run open[64];
	unsigned int depth;
};

static void break_run(struct machine *m, struct run r)
{
	r.broken = true;
	*add_run(m) = r;
}

/*
 * The uppermost interrupts down to depth have lost their exits; the times of those around them
 * become unknown.
 */
static void lose_exits(struct machine *m, struct stack *s, unsigned int depth)
{
	if (s->depth > depth)
		for (unsigned int i = 0; i < depth; i++)
			s->open[i].broken = true;
	while (s->depth > depth)
		break_run(m, s->open[--s->depth]);
}

static void take_event(struct machine *m, struct stack *s, struct run r, bool is_exit)
{
	unsigned int at;

	if (s->depth && s->open[0].tid != r.tid)
		lose_exits(m, s, 0);
	for (at = s->depth; at; at--)
		if (s->open[at - 1].type == r.type && s->open[at - 1].vector == r.vector)
			break;
	if (!is_exit) {
		if (r.type == 2)
			lose_exits(m, s, 0);
		else if (at)
			lose_exits(m, s, at - 1);
		/* irq_track has room for 8, and this test has no more lines */
		assert_true(s->depth < 8);
		s->open[s->depth++] = r;
	} else if (!at) {
		for (unsigned int i = 0; i < s->depth; i++)
			s->open[i].broken = true;
		break_run(m, r);
	} else {
		struct run *x;

		lose_exits(m, s, at);
		x = &s->open[--s->depth];
		x->at.to = r.at.from;
		if (s->depth)
			add_cut(&s->open[s->depth - 1], x->at);
		*add_run(m) = *x;
	}
}

static void runs_from_events(struct machine *m)
{
	static struct stack stacks[CPUS];
	struct rows r;

	forget_runs(m);
	memset(stacks, 0, sizeof(stacks));
	rows_sql(&r, m->plain,
		 "SELECT ts_ns, cpu, t.tid,"
		 " (type = 'irq') + 2 * (type = 'softirq') + 3 * (type = 'local'), vector,"
		 " action = 'exit' FROM irq_events AS e CROSS JOIN threads AS t USING (utid)"
		 " ORDER BY ts_ns");
	for (unsigned int i = 0; i < r.row_cnt; i++) {
		struct run x = { .cpu = (unsigned int)rows_int(&r, i, 1),
				 .tid = (unsigned int)rows_int(&r, i, 2),
				 .type = (unsigned int)rows_int(&r, i, 3),
				 .vector = (unsigned int)rows_int(&r, i, 4),
				 .at = { rows_int(&r, i, 0), 0 } };

		take_event(m, &stacks[x.cpu], x, rows_int(&r, i, 5));
	}
	for (unsigned int i = 0; i < CPUS; i++)
		lose_exits(m, &stacks[i], 0);
	rows_done(&r);
}

/* ---- comparing ---- */

struct sums {
	int64_t runs, run_ns, max_ns, broken;
};

static int64_t overlap(struct span a, int64_t from, int64_t to)
{
	if (a.from < from)
		a.from = from;
	if (a.to > to)
		a.to = to;
	return a.to > a.from ? a.to - a.from : 0;
}

static int64_t own(const struct run *r, int64_t from, int64_t to)
{
	int64_t ns = overlap(r->at, from, to);

	for (size_t i = 0; i < r->cut_cnt; i++)
		ns -= overlap(r->cuts[i], from, to);
	return ns;
}

/* Sums up the runs that match. -1 matches all. */
static struct sums expect(const struct machine *m, int64_t from, int64_t to, int64_t cpu,
			  int64_t tid, int64_t type, int64_t vector)
{
	struct sums s = { 0 };

	for (size_t i = 0; i < m->cnt; i++) {
		const struct run *r = &m->runs[i];
		int64_t len;

		if ((cpu >= 0 && r->cpu != cpu) || (tid >= 0 && r->tid != tid) ||
		    (type >= 0 && r->type != type) || (vector >= 0 && r->vector != vector))
			continue;
		if (r->broken) {
			s.broken += r->at.from >= from && r->at.from < to;
			continue;
		}
		s.run_ns += own(r, from, to);
		len = own(r, INT64_MIN, INT64_MAX);
		if (r->at.to >= from && r->at.to < to) {
			s.runs++;
			s.max_ns = len > s.max_ns ? len : s.max_ns;
		}
	}
	return s;
}

static unsigned int type_number(const char *name)
{
	return !strcmp(name, "irq") ? 1 : !strcmp(name, "softirq") ? 2 : 3;
}

/* Every row is right, and all rows together are complete. */
static void check_window(struct machine *m, struct analysis *a, int64_t from, int64_t to,
			 int64_t every, const char *by)
{
	struct sums all = { 0 }, want;
	struct rows r;
	char sql[300];

	snprintf(sql, sizeof(sql),
		 "SELECT u.t_ns, u.t_end_ns, u.cpu, t.tid, u.type, u.vector, u.runs, u.run_ns,"
		 " u.run_max_ns, u.broken, t.utid FROM irq_usage(%lld, %lld, %lld, '%s') AS u"
		 " LEFT JOIN threads AS t USING (utid)",
		 (long long)from, (long long)to, (long long)every, by);
	rows_sql(&r, a, sql);
	for (unsigned int i = 0; i < r.row_cnt; i++) {
		want = expect(m, rows_int(&r, i, 0), rows_int(&r, i, 1),
			      !strcmp(by, "cpu") ? rows_int(&r, i, 2) : -1,
			      !strcmp(by, "thread") ? rows_int(&r, i, 3) : -1,
			      type_number(rows_text(&r, i, 4)), rows_int(&r, i, 5));
		if (rows_int(&r, i, 6) != want.runs || rows_int(&r, i, 7) != want.run_ns ||
		    rows_int(&r, i, 8) != want.max_ns || rows_int(&r, i, 9) != want.broken)
			fail_msg("%s: row %u: runs %lld, %lld ns, max %lld, broken %lld;"
				 " want %lld, %lld, %lld, %lld",
				 sql, i, (long long)rows_int(&r, i, 6),
				 (long long)rows_int(&r, i, 7), (long long)rows_int(&r, i, 8),
				 (long long)rows_int(&r, i, 9), (long long)want.runs,
				 (long long)want.run_ns, (long long)want.max_ns,
				 (long long)want.broken);
		all.runs += want.runs;
		all.run_ns += want.run_ns;
		all.broken += want.broken;
	}
	rows_done(&r);
	want = expect(m, from, to, -1, -1, -1, -1);
	if (all.runs != want.runs || all.run_ns != want.run_ns || all.broken != want.broken)
		fail_msg("%s: in all %lld runs, %lld ns, %lld broken; want %lld, %lld, %lld", sql,
			 (long long)all.runs, (long long)all.run_ns, (long long)all.broken,
			 (long long)want.runs, (long long)want.run_ns, (long long)want.broken);
}

static int64_t instant(struct machine *m)
{
	size_t cnt;
	const struct trace_block *b = trace_blocks(m->trace, &cnt);
	uint64_t end = trace_end_ns(m->trace) - T0;

	switch (below(m, 5)) {
	case 0:
		return (int64_t)(b[below(m, cnt)].from_ns - T0);
	case 1:		/* the very instant something ends or begins */
		return below(m, 2) ? m->runs[below(m, m->cnt)].at.from :
				     m->runs[below(m, m->cnt)].at.to;
	default:
		return (int64_t)below(m, end + 1);
	}
}

static void check_windows(struct machine *m, unsigned int cnt)
{
	static const char *const keys[] = { "none", "cpu", "thread" };
	int64_t end = (int64_t)(trace_end_ns(m->trace) - T0);

	check_window(m, m->plain, 0, end, 0, "none");
	check_window(m, m->indexed, 0, end, end / 7 + 1, "cpu");
	while (cnt--) {
		int64_t a = instant(m), b = instant(m), every = 0;

		if (a > b) {
			int64_t c = a;

			a = b;
			b = c;
		}
		if (below(m, 2))
			every = (b - a) / (int64_t)(1 + below(m, 9)) + 1;
		check_window(m, below(m, 2) ? m->plain : m->indexed, a, b, every,
			     keys[below(m, 3)]);
	}
}

UNIT_TEST(test_usage_is_what_the_machine_did)
{
	for (uint64_t seed = 1; seed <= 4; seed++) {
		struct machine m;

		make_machine(&m, seed, 0);
		check_windows(&m, 40);
		close_machine(&m);
	}
}

UNIT_TEST(test_usage_is_brute_force_over_events_with_losses)
{
	for (uint64_t seed = 1; seed <= 4; seed++) {
		struct machine m;

		make_machine(&m, seed * 31, seed == 1 ? 3 : 20);
		runs_from_events(&m);
		check_windows(&m, 40);
		close_machine(&m);
	}
}

/* ---- by hand ---- */

static void open_by_hand(struct machine *m)
{
	*m = (struct machine){ .now_ns = T0 };
	gen_temp_dir(m->dir);
	snprintf(m->path, sizeof(m->path), "%s/trace", m->dir);
	m->g = gen_open(m->path, &(struct gen_config){ .cpu_cnt = 2, .from_ns = T0,
						       .cpus_online = true });
	gen_snap(m->g, T0, 0, 100, 100, 1, "worker");
	gen_switch(m->g, T0 + 10, 0, 0, 100, 0);
}

static void finish_by_hand(struct machine *m)
{
	struct err e = { "" };

	gen_finish(m->g);
	if (trace_open(&m->trace, m->path, &e) < 0 || analysis_open(&m->plain, m->trace, &e) < 0)
		fail_msg("%s", e.text);
}

/*
 * A soft interrupt of 1000 ns interrupts 100, and a handler of 300 ns interrupts it; idle is
 * interrupted for 50 ns.
 */
static void put_nested(struct gen *g)
{
	gen_irq(g, T0 + 1000, 0, 100, WIRE_SOFTIRQ_ENTRY, 3);
	gen_irq(g, T0 + 1200, 0, 100, WIRE_IRQ_ENTRY, 36);
	gen_irq(g, T0 + 1500, 0, 100, WIRE_IRQ_EXIT, 36);
	gen_irq(g, T0 + 2000, 0, 100, WIRE_SOFTIRQ_EXIT, 3);
	gen_irq(g, T0 + 3000, 1, 0, WIRE_VECTOR_ENTRY, EVENT_VECTOR_TIMER);
	gen_irq(g, T0 + 3050, 1, 0, WIRE_VECTOR_EXIT, EVENT_VECTOR_TIMER);
}

UNIT_TEST(test_inner_time_is_not_the_outer_ones)
{
	open_by_hand(&it);
	put_nested(it.g);
	gen_slice(it.g, T0 + MS);
	finish_by_hand(&it);
	rows_want(it.plain, 700, "SELECT run_ns FROM irq_usage() WHERE type = 'softirq' AND vector "
		  "= 3");
	rows_want(it.plain, 700, "SELECT run_max_ns FROM irq_usage() WHERE type = 'softirq'");
	rows_want(it.plain, 300, "SELECT run_ns FROM irq_usage() WHERE type = 'irq' AND vector = "
		  "36");
	rows_want(it.plain, 100, "SELECT run_ns FROM irq_usage(1100, 1300) WHERE type = 'softirq'");
	rows_want(it.plain, 0, "SELECT count(*) FROM irq_usage(1100, 1300) WHERE runs");
	rows_want(it.plain, 0, "SELECT sum(broken) FROM irq_usage()");
	rows_want(it.plain, 1, "SELECT irq_name('softirq', 3) = 'NET_RX' AND irq_name('local', 1) "
		  "= 'timer'");
}

UNIT_TEST(test_cpu_view_has_the_part_in_interrupts)
{
	struct report_request q = { .view = "cpu" };
	struct rows r;

	open_by_hand(&it);
	put_nested(it.g);
	gen_slice(it.g, T0 + MS);
	finish_by_hand(&it);
	q.from_ns = T0;
	q.to_ns = T0 + MS;
	rows_report(&r, it.plain, &q);
	rows_cells(&r, 0, "pid oncpu_ns irq_ns softirq_ns", 100, MS - 10, 300, 700);
	rows_done(&r);
	q.by = 1u << REPORT_BY_CPU;
	rows_report(&r, it.plain, &q);
	assert_int_equal(r.row_cnt, 2);
	rows_cells(&r, 0, "oncpu_ns softirq_ns", MS - 10, 700);
	rows_cells(&r, 1, "irq_ns idle_ns", 50, MS);
	rows_done(&r);
}

UNIT_TEST(test_cpu_view_does_not_say_0_of_what_was_not_recorded)
{
	struct report_request q = { .view = "cpu" };
	struct rows r;

	open_by_hand(&it);
	gen_slice(it.g, T0 + MS);
	finish_by_hand(&it);
	q.from_ns = T0;
	q.to_ns = T0 + MS;
	rows_report(&r, it.plain, &q);
	assert_int_equal(r.row_cnt, 1);
	assert_int_equal(r.values[rows_col(&r, "irq_ns")].type, VALUE_NULL);
	assert_int_equal(r.values[rows_col(&r, "softirq_ns")].type, VALUE_NULL);
	rows_done(&r);
	q.view = "irq";
	rows_report(&r, it.plain, &q);
	assert_int_equal(r.row_cnt, 0);
	rows_done(&r);
}

UNIT_TEST(test_lost_partner_is_counted_without_time)
{
	open_by_hand(&it);
	/*
	 * An exit without entry; an entry with a lost exit, so that the time of the interrupted one
	 * is unknown.
	 */
	gen_irq(it.g, T0 + 100, 0, 100, WIRE_IRQ_EXIT, 36);
	gen_irq(it.g, T0 + 1000, 0, 100, WIRE_SOFTIRQ_ENTRY, 3);
	gen_irq(it.g, T0 + 1200, 0, 100, WIRE_IRQ_ENTRY, 36);
	gen_irq(it.g, T0 + 2000, 0, 100, WIRE_SOFTIRQ_EXIT, 3);
	/* another thread is interrupted: this one is over, whenever that was */
	gen_irq(it.g, T0 + 3000, 0, 100, WIRE_IRQ_ENTRY, 36);
	gen_switch(it.g, T0 + 4000, 0, 100, 0, 0);
	gen_irq(it.g, T0 + 5000, 0, 0, WIRE_IRQ_ENTRY, 36);
	gen_irq(it.g, T0 + 5100, 0, 0, WIRE_IRQ_EXIT, 36);
	gen_slice(it.g, T0 + MS);
	finish_by_hand(&it);
	rows_want(it.plain, 100, "SELECT sum(run_ns) FROM irq_usage()");
	rows_want(it.plain, 1, "SELECT sum(runs) FROM irq_usage()");
	rows_want(it.plain, 4, "SELECT sum(broken) FROM irq_usage()");
	rows_want(it.plain, 1, "SELECT sum(broken) FROM irq_usage(0, 500)");
	rows_want(it.plain, 1, "SELECT sum(broken) FROM irq_usage(1000, 1001)");
}

/* Flips a bit in the middle of a block. */
static void damage_block(struct machine *m, size_t block)
{
	const struct trace_block *b = trace_block_at(m->trace, block);

	file_flip(file_in(m->path, "%s", b->file), b->offset + b->bytes / 2, 1);
}

/* An interrupt that is open before a damaged block may have ended and begun again inside it. */
UNIT_TEST(test_an_interrupt_over_a_hole_is_not_one)
{
	struct err e = { "" };

	open_by_hand(&it);
	gen_irq(it.g, T0 + 1000, 0, 100, WIRE_IRQ_ENTRY, 36);
	gen_slice(it.g, T0 + MS);
	for (unsigned int i = 0; i < 50; i++)
		gen_switch(it.g, T0 + MS + 1000 * (1 + i), 1, i & 1 ? 100 : 0, i & 1 ? 0 : 100, 0);
	gen_slice(it.g, T0 + 2 * MS);
	gen_irq(it.g, T0 + 2 * MS + 500, 0, 100, WIRE_IRQ_EXIT, 36);
	gen_slice(it.g, T0 + 3 * MS);
	finish_by_hand(&it);
	rows_want(it.plain, 2 * MS - 500, "SELECT sum(run_ns) FROM irq_usage()");
	rows_want(it.plain, 0, "SELECT sum(broken) FROM irq_usage()");
	damage_block(&it, 1);
	analysis_close(it.plain);
	trace_close(it.trace);
	if (trace_open(&it.trace, it.path, &e) < 0 || analysis_open(&it.plain, it.trace, &e) < 0)
		fail_msg("%s", e.text);
	rows_one(it.plain, "SELECT count(*) FROM switches");	/* finds the damage */
	analysis_close(it.plain);
	assert_int_equal(analysis_open(&it.plain, it.trace, &e), 0);
	rows_want(it.plain, 0, "SELECT sum(run_ns) FROM irq_usage()");
	rows_want(it.plain, 2, "SELECT sum(broken) FROM irq_usage()");
}

UNIT_TESTS_END(close_machine, it)
