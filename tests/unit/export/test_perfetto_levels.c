/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * An export to Perfetto: its memory counters equal memory_levels() at every instant. It has all
 * wake-ups, the reasons of sleeps, and the marks of the window. CPUs that lost events are flagged.
 */
#include "base/array.h"
#include "tests/unit/gen/gen_chaos.h"
#include "tests/unit/gen/made_trace.h"
#include "tests/unit/gen/table_rows.h"
#include "tests/unit/unit_test.h"

enum { TRACE_PACKET = 1, PACKET_FTRACE = 1, BUNDLE_CPU = 1, BUNDLE_EVENT = 2, BUNDLE_LOST = 3,
       BUNDLE_COMPACT = 4, COMPACT_SWITCH_PID = 3, COMPACT_WAKING_TIMESTAMP = 7,
       EVENT_TIMESTAMP = 1, EVENT_PID = 2, EVENT_FREE = 240, EVENT_RSS_STAT = 313,
       RSS_STAT_MEMBER = 1, RSS_STAT_SIZE = 2, PACKET_TRACK_EVENT = 11, TRACK_EVENT_NAME = 23,
       PACKET_INTERNED = 12, INTERNED_SYMBOL = 26, SYMBOL_NAME = 2 };

/* ---- content of the file ---- */

struct counter {
	uint64_t ts_ns, pid, member, size;
};

struct counters {
	struct counter *rows;
	size_t cnt, cap;
	int64_t wakeup_cnt;
	char switches[100];	/* threads that got a CPU by compact switches */
	uint64_t freed_ns;	/* when the last task ended */
	uint64_t lost_cpu;	/* the last one that is flagged */
	unsigned int lost_cnt;
	/* events of tracks and names of sleeps, each followed by a newline */
	char names[300];
};

struct span {
	const uint8_t *p, *end;
};

static uint64_t varint(struct span *s)
{
	uint64_t v = 0;
	unsigned int shift = 0;

	do
		v |= (uint64_t)(*s->p & 0x7f) << shift, shift += 7;
	while (*s->p++ & 0x80);
	return v;
}

/* The next field of a message: its number, 0 at the end; its value, or its content. */
static unsigned int field(struct span *s, uint64_t *ret, struct span *ret_inner)
{
	uint64_t tag;

	if (s->p == s->end)
		return 0;
	tag = varint(s);
	*ret = varint(s);
	*ret_inner = (struct span){ s->p, s->p };
	assert_true((tag & 7) == 0 || (tag & 7) == 2);
	if ((tag & 7) == 2) {
		ret_inner->end = s->p += *ret;
		assert_true(s->p <= s->end);
	}
	return (unsigned int)(tag >> 3);
}

static void read_event(struct counters *c, struct span event)
{
	struct counter row = { 0 };
	struct span stat = { NULL, NULL }, inner;
	uint64_t v;
	unsigned int f;

	while ((f = field(&event, &v, &inner))) {
		if (f == EVENT_TIMESTAMP)
			row.ts_ns = v;
		else if (f == EVENT_PID)
			row.pid = v;
		else if (f == EVENT_RSS_STAT)
			stat = inner;
		else if (f == EVENT_FREE)
			c->freed_ns = row.ts_ns;
	}
	if (!stat.p)
		return;
	while ((f = field(&stat, &v, &inner)))
		*(f == RSS_STAT_MEMBER ? &row.member : &row.size) = v;
	assert_int_equal(array_reserve(&c->rows, &c->cap, c->cnt + 1), 0);
	c->rows[c->cnt++] = row;
}

static void read_compact(struct counters *c, struct span compact)
{
	struct span all;
	uint64_t v;
	unsigned int f;

	while ((f = field(&compact, &v, &all))) {
		for (; f == COMPACT_WAKING_TIMESTAMP && all.p < all.end; varint(&all))
			c->wakeup_cnt++;
		while (f == COMPACT_SWITCH_PID && all.p < all.end) {
			size_t len = strlen(c->switches);

			snprintf(c->switches + len, sizeof(c->switches) - len, "%u ",
				 (unsigned int)varint(&all));
		}
	}
}

static void add_name(struct counters *c, struct span message, unsigned int of)
{
	size_t len = strlen(c->names);
	struct span name;
	uint64_t v;
	unsigned int f;

	while ((f = field(&message, &v, &name)))
		if (f == of)
			snprintf(c->names + len, sizeof(c->names) - len, "%.*s\n",
				 (int)(name.end - name.p), (const char *)name.p);
}

static void read_packet(struct counters *c, struct span packet)
{
	struct span bundle, inner;
	uint64_t v, cpu = 0;
	unsigned int f, k;

	while ((f = field(&packet, &v, &bundle))) {
		if (f == PACKET_TRACK_EVENT)
			add_name(c, bundle, TRACK_EVENT_NAME);
		while (f == PACKET_INTERNED && (k = field(&bundle, &v, &inner)))
			if (k == INTERNED_SYMBOL)
				add_name(c, inner, SYMBOL_NAME);
		while (f == PACKET_FTRACE && (k = field(&bundle, &v, &inner)))
			if (k == BUNDLE_EVENT)
				read_event(c, inner);
			else if (k == BUNDLE_COMPACT)
				read_compact(c, inner);
			else if (k == BUNDLE_CPU)
				cpu = v;
			else if (k == BUNDLE_LOST)
				c->lost_cpu = cpu, c->lost_cnt++;
	}
}

static void read_counters(struct counters *c, const struct made_trace *m, uint64_t from_ns,
			  uint64_t to_ns)
{
	char path[100];
	struct export_request r = { .path = path, .from_ns = from_ns, .to_ns = to_ns,
				    .force = true };
	static uint8_t bytes[64 << 20];
	struct err e = { "" };
	struct span all = { bytes, bytes }, packet;
	uint64_t rows, v;
	FILE *f;

	snprintf(path, sizeof(path), "%s/out.pftrace", m->dir);
	if (analysis_export_perfetto(m->a, &r, &rows, &e) < 0)
		fail_msg("%s", e.text);
	f = fopen(path, "r");
	assert_non_null(f);
	all.end += fread(bytes, 1, sizeof(bytes), f);
	fclose(f);
	memset(c, 0, sizeof(*c));
	while (field(&all, &v, &packet) == TRACE_PACKET)
		read_packet(c, packet);
}

/* trace_processor sorts by time, and equal times stay in the file's order. */
static uint64_t value_at(const struct counters *c, uint64_t pid, unsigned int member,
			 uint64_t before_ns)
{
	uint64_t last_ns = 0, value = 0;

	for (size_t i = 0; i < c->cnt; i++) {
		const struct counter *r = &c->rows[i];

		if (r->pid == pid && r->member == member && r->ts_ns < before_ns &&
		    r->ts_ns >= last_ns) {
			last_ns = r->ts_ns;
			value = r->size;
		}
	}
	return value;
}

/* ---- both ---- */

static uint64_t boot_ahead_ns(const struct made_trace *m)
{
	size_t cnt;
	const struct trace_clock *k = trace_clocks(m->t, &cnt);

	return cnt ? k[0].boot_ns - k[0].mono_ns : 0;
}

static void check_at(const struct made_trace *m, const struct counters *c, uint64_t from_ns,
		     uint64_t at_ns)
{
	static const char *const columns[] = { "file_bytes", "anon_bytes", "swap_bytes",
					       "shmem_bytes" };
	uint64_t start_ns = trace_start_ns(m->t), ahead_ns = boot_ahead_ns(m);
	char sql[300];
	unsigned int i, member;
	struct rows r;

	snprintf(sql, sizeof(sql),
		 "SELECT p.pid, u.* FROM processes AS p LEFT JOIN memory_levels(%llu, %llu, 0, "
		 "'process') AS u ON u.upid = p.upid ORDER BY p.pid",
		 (unsigned long long)(from_ns - start_ns), (unsigned long long)(at_ns - start_ns));
	rows_sql(&r, m->a, sql);
	assert_true(r.row_cnt > 0);
	for (i = 0; i < r.row_cnt; i++)
		for (member = 0; member < 4; member++) {
			uint64_t pid = (uint64_t)rows_cell(&r, i, "pid"),
				 got = value_at(c, pid, member, at_ns + ahead_ns);

			if (got != (uint64_t)rows_cell(&r, i, columns[member]))
				fail_msg("process %llu, %s at %llu ns: Perfetto has %llu, "
					 "memory_levels() %lld", (unsigned long long)pid,
					 columns[member], (unsigned long long)(at_ns - start_ns),
					 (unsigned long long)got,
					 (long long)rows_cell(&r, i, columns[member]));
		}
	rows_done(&r);
}

static void check_window(const struct made_trace *m, uint64_t from_ns, uint64_t to_ns,
			 unsigned int parts)
{
	struct counters c;

	read_counters(&c, m, from_ns, to_ns);
	assert_int_equal(c.wakeup_cnt,
			 rows_one(m->a, "SELECT count(*) FROM wakeups WHERE NOT is_new AND "
					"ts_ns >= %lld AND ts_ns < %lld",
				  (long long)(from_ns - trace_start_ns(m->t)),
				  (long long)(to_ns - trace_start_ns(m->t))));
	for (unsigned int i = 1; i <= parts; i++)
		check_at(m, &c, from_ns, from_ns + (to_ns - from_ns) * i / parts);
	free(c.rows);
}

#define T0 1000000000ull

static struct made_trace made;

/* 50 has all four counters when it calls exec, which resets two of them, and it ends. */
UNIT_TEST(test_an_exec_gives_back_what_is_not_announced)
{
	made_begin(&made, &(struct gen_config){ .cpu_cnt = 1, .from_ns = T0,
						.sources = "alloc.rss" });
	gen_snap(made.g, T0, 0, 40, 40, 1, "parent");
	gen_new(made.g, T0 + 1 * MS, 0, 40, 50, 50, 40, "changer");
	for (unsigned int i = 0; i < 4; i++)
		gen_rss(made.g, T0 + 2 * MS + i, 0, 50, 50, i, 100 + i);
	gen_exec(made.g, T0 + 4 * MS, 0, 50, 50, 0, "changed", "/changed", "changed", 8);
	gen_rss(made.g, T0 + 6 * MS, 0, 50, 50, 3, 7);
	gen_exit(made.g, T0 + 8 * MS, 0, 50, 50, 0, true, MS);
	gen_rss(made.g, T0 + 8 * MS + 1, 0, 50, 50, 1, 50);	/* after the exit: no owner */
	made_finish(&made, T0 + 10 * MS);
	check_window(&made, T0, T0 + 10 * MS, 10);
	check_window(&made, T0 + 3 * MS, T0 + 10 * MS, 7);
}

/* The CPU of the second loss is unknown. */
UNIT_TEST(test_a_cpu_that_lost_events_is_flagged)
{
	struct trace_loss loss = { .from_ns = T0 + 1 * MS, .to_ns = T0 + 2 * MS, .cpu = 1,
				   .hook = WIRE_SWITCH, .cls = EVENT_CLASS_SCHED, .full_cnt = 1 };
	struct counters c;

	made_begin(&made, &(struct gen_config){ .cpu_cnt = 2, .from_ns = T0 });
	gen_snap(made.g, T0, 0, 40, 40, 1, "parent");
	gen_loss(made.g, &loss);
	loss.cpu = UINT16_MAX;
	gen_loss(made.g, &loss);
	made_finish(&made, T0 + 10 * MS);
	read_counters(&c, &made, T0, T0 + 10 * MS);
	assert_int_equal(c.lost_cnt, 1);
	assert_int_equal(c.lost_cpu, 1);
	free(c.rows);
}

UNIT_TEST(test_the_marks_of_the_window_are_in_it)
{
	struct counters c;

	made_begin(&made, &(struct gen_config){ .cpu_cnt = 1, .from_ns = T0 });
	gen_mark(made.g, T0 + 1 * MS, "before");
	gen_mark(made.g, T0 + 2 * MS, "first");
	gen_mark(made.g, T0 + 4 * MS, "last");
	gen_mark(made.g, T0 + 5 * MS, "behind");
	made_finish(&made, T0 + 10 * MS);
	read_counters(&c, &made, T0 + 2 * MS, T0 + 5 * MS);
	assert_string_equal(c.names, "the window begins\nfirst\nlast\nthe window ends\n");
	free(c.rows);
}

/* A thread sleeps twice in a system call, and once in an unknown place. */
UNIT_TEST(test_what_a_thread_sleeps_for_is_in_it)
{
	enum { NANOSLEEP = 35 };	/* of x86-64 */
	struct wire_switch leave = { .hdr = { .hook = WIRE_SWITCH, .tid = 50 }, .prev_state = 1 };
	struct counters c;

	made_begin(&made, &(struct gen_config){ .cpu_cnt = 1, .from_ns = T0, .machine = "x86_64" });
	gen_snap(made.g, T0, 0, 50, 50, 1, "sleeper");
	for (unsigned int i = 0; i < 3; i++) {
		gen_switch(made.g, T0 + (2 * i + 1) * MS, 0, 0, 50, 0);
		leave.hdr.ts_ns = T0 + (2 * i + 2) * MS;
		leave.call = i == 1 ? 0 : WIRE_CALL_IS_NUMBER | NANOSLEEP;
		gen_raw(made.g, &leave, sizeof(leave));
	}
	made_finish(&made, T0 + 10 * MS);
	read_counters(&c, &made, T0, T0 + 10 * MS);
	assert_string_equal(c.names, "nanosleep\nthe window begins\nthe window ends\n");
	free(c.rows);
}

/*
 * The thread leaves a CPU that another thread had according to the recorded switches. The sleep
 * that begins then is known.
 */
UNIT_TEST(test_a_thread_that_came_unseen_sleeps_when_it_leaves)
{
	enum { NANOSLEEP = 35 };	/* of x86-64 */
	struct wire_switch leave = { .hdr = { .hook = WIRE_SWITCH, .tid = 50,
					      .ts_ns = T0 + 5 * MS },
				     .call = WIRE_CALL_IS_NUMBER | NANOSLEEP, .prev_state = 1 };
	struct counters c;

	made_begin(&made, &(struct gen_config){ .cpu_cnt = 1, .from_ns = T0, .machine = "x86_64" });
	gen_snap(made.g, T0, 0, 50, 50, 1, "unseen");
	gen_snap(made.g, T0, 0, 51, 51, 1, "seen");
	gen_switch(made.g, T0 + 1 * MS, 0, 0, 51, 0);
	gen_raw(made.g, &leave, sizeof(leave));
	made_finish(&made, T0 + 10 * MS);
	read_counters(&c, &made, T0, T0 + 10 * MS);
	assert_string_equal(c.names, "nanosleep\nthe window begins\nthe window ends\n");
	assert_string_equal(c.switches, "2147483393 50 0 ");	/* the first is [unknown] */
	free(c.rows);
}

UNIT_TEST(test_a_thread_that_came_unseen_ends_behind_its_last_switch)
{
	struct wire_switch leave = { .hdr = { .hook = WIRE_SWITCH, .tid = 50,
					      .ts_ns = T0 + 5 * MS },
				     .prev_state = 0x80 };	/* dead */
	struct counters c;

	made_begin(&made, &(struct gen_config){ .cpu_cnt = 1, .from_ns = T0 });
	gen_snap(made.g, T0, 0, 50, 50, 1, "unseen");
	gen_snap(made.g, T0, 0, 51, 51, 1, "seen");
	gen_switch(made.g, T0 + 1 * MS, 0, 0, 51, 0);
	gen_exit(made.g, T0 + 4 * MS, 0, 50, 50, 0, true, MS);
	gen_raw(made.g, &leave, sizeof(leave));
	made_finish(&made, T0 + 10 * MS);
	read_counters(&c, &made, T0, T0 + 10 * MS);
	assert_string_equal(c.switches, "2147483393 50 0 ");
	assert_int_equal(c.freed_ns, T0 + 5 * MS + 1 + boot_ahead_ns(&made));
	free(c.rows);
}

UNIT_TEST(test_counters_are_those_of_memory_levels)
{
	for (uint64_t seed = 1; seed <= 6; seed++) {
		struct made_trace m = { 0 };
		struct chaos f;
		uint64_t length;

		chaos_begin(&f, seed);
		chaos_add_blocks(&f, 8);
		chaos_end(&f, true);
		memcpy(m.dir, f.dir, sizeof(m.dir));
		assert_int_equal(trace_open(&m.t, f.path, NULL), 0);
		assert_int_equal(analysis_open(&m.a, m.t, NULL), 0);
		length = trace_end_ns(m.t) - trace_start_ns(m.t);
		check_window(&m, trace_start_ns(m.t), trace_end_ns(m.t), 3);
		check_window(&m, trace_start_ns(m.t) + length / 3, trace_end_ns(m.t), 2);
		made_close(&m);
	}
}

UNIT_TESTS_END(made_close, made)
