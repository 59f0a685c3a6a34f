/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* fold_check: one table of functions; random numbers come from gen_chaos. */
#include "tests/unit/gen/fold_check.h"
#include "tests/unit/gen/table_rows.h"
#include "tests/unit/unit_test.h"

#define below chaos_below

static const struct fold_function {
	const char *name, *order;	/* order: of the rows that are compared one by one */
	bool has_by, has_bins;
	const char *key, *sum;		/* sums by key: a window equals its parts */
	const char *happened;		/* NULL: in all rows; else there are others with levels */
} functions[] = {
	{ "cpu_usage", "1, 4, 5", false, true, "cpu, utid",
	  "sum(oncpu_ns), sum(switches), sum(preempted), sum(steal_ns)" },
	{ "sched_waits", "t_ns, upid, utid, name", true, true, "upid, utid, name",
	  "sum(waits), sum(wait_ns), max(wait_max_ns), sum(wakeups), sum(preempts), "
	  "sum(unknown_waits), sum(migrations)" },
	{ "thread_states", "t_ns, upid, utid, name", true, true, "upid, utid, name",
	  "sum(running_ns), sum(runnable_ns), sum(preempted_ns), sum(disk_ns), "
	  "sum(uninterruptible_ns), sum(sleeping_ns), sum(stopped_ns), sum(unknown_ns)" },
	{ "parallel_usage", "t_ns, upid, utid, name, busy", true, true, "upid, utid, name, busy",
	  "sum(oncpu_ns)" },
	{ "alloc_usage", "t_ns, upid, utid, name, source", true, true, "upid, utid, name, source",
	  "sum(allocs), sum(frees), sum(lost_frees), sum(alloc_bytes), sum(free_bytes), "
	  "sum(exit_bytes), sum(net_bytes), max(peak_bytes)",
	  "sum(allocs + frees + lost_frees + exit_bytes) > 0" },
	{ "memory_levels", "t_ns, upid, name", true, true, "upid, name", "max(rss_peak_bytes)" },
	{ "io_usage",
	  "t_ns, upid, utid, name, dev, op, submitter, owner_how, size_from_bytes",
	  true, true, "upid, utid, name, dev, op",
	  "sum(ios), sum(bytes), sum(errors), sum(merges), sum(requeues), "
	  "sum(unknown_owner_ios), sum(lat_sum_ns), max(lat_max_ns), max(queue_max_ns), "
	  "max(device_max_ns)" },
	{ "io_pattern", "t_ns, upid, utid, name, dev, op, submitter, owner_how", true, true,
	  "upid, utid, name, dev, op",
	  "sum(ios), sum(bytes), sum(sized_ios), max(size_max_bytes)" },
	{ "latency_hist",
	  "t_ns, upid, utid, name, dev, op, submitter, owner_how, phase, low_ns, size_from_bytes",
	  true, true, "upid, utid, name, dev, op, phase, low_ns, high_ns", "sum(ios)",
	  "sum(ios) > 0" },	/* steps between the first and the last are there without one */
	{ "device_usage", "1, 4", false, true, "dev",
	  "sum(busy_ns), sum(inflight_ns), max(depth_max), sum(read_ios), sum(read_bytes), "
	  "sum(write_ios), sum(write_bytes), sum(other_ios), sum(merges), sum(errors), "
	  "sum(lat_sum_ns)" },
	{ "irq_usage", "t_ns, cpu, upid, utid, name, type, vector", true, true,
	  "upid, utid, name, type, vector",
	  "sum(runs), sum(run_ns), max(run_max_ns), sum(broken)" },
	{ "spikes", "3, 1, 2, 4", false, false,
	  "upid, source, start_ns, end_ns, bytes, baseline_bytes, threshold_bytes", "count(*)" },
};

static const char *const keys[] = {
	"process", "thread", "comm", "cgroup", "none", "tree", "container", "comm,user",
	"comm,device", "op", "size", "process,size,op",
};

void fold_check_open(struct fold_check *c, const struct chaos *f)
{
	struct analysis_index_use use = { .use = true, .always = true };
	struct err e = { "" };
	struct rows r;

	if (trace_open(&c->t, f->path, &e) < 0 || analysis_open(&c->plain, c->t, &e) < 0 ||
	    analysis_open(&c->indexed, c->t, &e) < 0)
		fail_msg("%s", e.text);
	c->partial = NULL;
	if (access(f->index, F_OK)) {
		assert_int_equal(analysis_open(&c->partial, c->t, &e), 0);
		analysis_use_index(c->partial, &use);
		rows_sql(&r, c->partial, "SELECT count(*) FROM spikes()");
		rows_done(&r);
	}
	use.save = true;
	analysis_use_index(c->indexed, &use);
	if (analysis_prepare(c->indexed, &e) < 0)
		fail_msg("%s", e.text);
	assert_true(analysis_knows_block(c->indexed, 0));
}

void fold_check_close(struct fold_check *c)
{
	analysis_close(c->plain);
	analysis_close(c->partial);
	analysis_close(c->indexed);
	trace_close(c->t);
}

/* Percentiles of buckets: the middle of one that is at most 1/128 wide. */
static bool is_close(const char *name, int64_t a, int64_t b)
{
	if (strstr(name, "_p50_") || strstr(name, "_p90_") || strstr(name, "_p99"))
		return llabs(a - b) <= llabs(a) / 256 + 1;
	return a == b;
}

void fold_check_rows(const struct fold_check *c, const char *sql)
{
	struct rows a, b;
	unsigned int row, col;

	rows_sql(&a, c->plain, sql);
	rows_sql(&b, c->indexed, sql);
	if (a.row_cnt != b.row_cnt)
		fail_msg("%s: %u rows without index, %u with", sql, a.row_cnt, b.row_cnt);
	for (row = 0; row < a.row_cnt; row++)
		for (col = 0; col < a.col_cnt; col++) {
			/* the first one met, which depends on the way */
			if (!strcmp(a.names[col], "member_upid"))
				continue;
			if (strcmp(rows_text(&a, row, col), rows_text(&b, row, col)))
				fail_msg("%s: row %u %s: '%s', '%s'", sql, row, a.names[col],
					 rows_text(&a, row, col), rows_text(&b, row, col));
			if (!is_close(a.names[col], rows_int(&a, row, col), rows_int(&b, row, col)))
				fail_msg("%s: row %u %s: %lld, with index %lld", sql, row,
					 a.names[col], (long long)rows_int(&a, row, col),
					 (long long)rows_int(&b, row, col));
		}
	rows_done(&a);
	rows_done(&b);
}

/* from or to may be a block's edge, or the trace's, or anywhere, also outside. */
static int64_t instant(const struct fold_check *c)
{
	size_t cnt;
	const struct trace_block *b = trace_blocks(c->t, &cnt);
	uint64_t start = trace_start_ns(c->t), end = trace_end_ns(c->t);

	switch (below(6)) {
	case 0:
		return (int64_t)(b[below(cnt)].from_ns - start);
	case 1:
		return below(2) ? 0 : (int64_t)(end - start);
	case 2:
		return (int64_t)below(end - start + 2000) - 1000;
	default:
		return (int64_t)below(end - start + 1);
	}
}

static void sort_three(int64_t v[3])
{
	for (int i = 0; i < 3; i++) {
		int k = i % 2;	/* two passes of neighbours are enough for three, and one more */

		if (v[k] > v[k + 1]) {
			int64_t x = v[k];

			v[k] = v[k + 1];
			v[k + 1] = x;
		}
	}
}

/* Appends the arguments that follow the window; every: bin length, for functions with bins. */
static void put_arguments(char *out, size_t size, const struct fold_function *f, uint64_t every)
{
	static const char *const sources[] = { "NULL", "'rss'", "'slab,page'", "'vm,heap,slab'" };

	if (f->has_by) {
		snprintf(out, size, ", %llu, '%s'", (unsigned long long)every,
			 keys[below(sizeof(keys) / sizeof(keys[0]))]);
	} else if (f->has_bins) {
		snprintf(out, size, ", %llu", (unsigned long long)every);
	} else {
		uint64_t window = below(4) ? 10000000 * (1 + below(3)) : below(2) ? 3333333 : 0;
		uint64_t min = below(3) ? 20000 + below(1000000) * below(100) : 0;

		snprintf(out, size, ", %llu, %llu, %s", (unsigned long long)window,
			 (unsigned long long)min, sources[below(4)]);
	}
}

/* Sums of [at[0], at[2]) equal those of [at[0], at[1]) and [at[1], at[2]) together. */
static void check_neighbours(const struct fold_check *c, const struct fold_function *f,
			     const char *table, const int64_t at[3])
{
	const char *happened = f->happened ? f->happened : "1";
	struct analysis *a = below(2) ? c->plain : c->indexed;
	char sql[1024];
	struct rows whole, parts;

	snprintf(sql, sizeof(sql), "SELECT %s, %s FROM %s GROUP BY %s HAVING %s ORDER BY %s",
		 f->key, f->sum, table, f->key, happened, f->key);
	rows_window(&whole, a, sql, at[0], at[2]);
	rows_windows2(&parts, a, f->key, f->sum, happened, table, at[0], at[1], at[2]);
	rows_compare(&whole, &parts);
	rows_done(&whole);
	rows_done(&parts);
}

/* The sums of all bins equal those of the window. */
static void check_bins(const struct fold_check *c, const struct fold_function *f,
		       const char *arguments, uint64_t every, const int64_t at[3])
{
	struct analysis *a = below(2) ? c->plain : c->indexed;
	const char *by = strchr(arguments, '\'');
	const char *happened = f->happened ? f->happened : "1";
	char sql[1024];
	struct rows bins, whole;

	snprintf(sql, sizeof(sql), "SELECT %s, %s FROM %s(:w%s) GROUP BY %s HAVING %s ORDER BY %s",
		 f->key, f->sum, f->name, arguments, f->key, happened, f->key);
	rows_window(&bins, a, sql, at[0], at[2]);
	snprintf(sql, sizeof(sql),
		 "SELECT %s, %s FROM %s(:w, 0%s%s) GROUP BY %s HAVING %s ORDER BY %s", f->key,
		 f->sum, f->name, by ? ", " : "", by ? by : "", f->key, happened, f->key);
	rows_window(&whole, a, sql, at[0], at[2]);
	if (every)
		rows_compare(&whole, &bins);
	rows_done(&bins);
	rows_done(&whole);
}

/* Tables of events over a window: with an index reading begins near it. */
static void check_tables(const struct fold_check *c, long long from, long long to)
{
	static const char *const tables[] = {
		"sched_slices(%lld, %lld) ORDER BY start_ns, cpu, end_ns",
		"sched_slices WHERE start_ns >= %lld AND start_ns < %lld ORDER BY 1, cpu, end_ns",
		("block_requests WHERE end_ns >= %lld AND end_ns < %lld "
		 "ORDER BY end_ns, dev, sector, op, queued_ns, issue_ns"),
	};
	struct rows now, later;
	char rest[200], sql[500];

	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
		snprintf(rest, sizeof(rest), tables[i], from, to);
		snprintf(sql, sizeof(sql), "SELECT * FROM %s", rest);
		fold_check_rows(c, sql);
	}
	/* allocations(T) has the allocations of the whole table before T, without later frees */
	snprintf(sql, sizeof(sql), "SELECT source, sum(bytes) FILTER (WHERE free_ns IS NULL), "
				   "sum(bytes), sum(life_ns), sum(free_lost) "
				   "FROM allocations(%lld) WHERE alloc_ns >= %lld "
				   "GROUP BY 1 ORDER BY 1", to, from);
	rows_sql(&now, c->plain, sql);
	snprintf(sql, sizeof(sql), "SELECT source, sum(bytes) FILTER (WHERE after), sum(bytes), "
				   "sum(life_ns) FILTER (WHERE NOT after), "
				   "coalesce(sum(free_lost) FILTER (WHERE NOT after), 0) "
				   "FROM (SELECT *, free_ns IS NULL OR free_ns >= %lld AS after "
				   "FROM allocations WHERE alloc_ns >= %lld AND alloc_ns < %lld) "
				   "GROUP BY 1 ORDER BY 1", to, from, to);
	rows_sql(&later, c->plain, sql);
	rows_compare(&now, &later);
	rows_done(&now);
	rows_done(&later);
}

/*
 * The parts of each thread add up to its life in the window: from its first event, or from the
 * trace's start if the thread is older. Its running time equals cpu_usage(). After its exit a
 * thread can only run, unless it has events.
 */
static void check_states(const struct fold_check *c, int64_t from, int64_t to)
{
	int64_t end = (int64_t)(trace_end_ns(c->t) - trace_start_ns(c->t));
	struct rows r;
	char sql[1800];

	from = from < 0 ? 0 : from;
	to = to < end ? to : end;
	snprintf(sql, sizeof(sql),
		 "WITH s AS (SELECT utid, running_ns, running_ns + runnable_ns + preempted_ns + "
		 "disk_ns + uninterruptible_ns + sleeping_ns + stopped_ns + unknown_ns AS life_ns "
		 "FROM thread_states(%lld, %lld, 0, 'thread')), "
		 "born AS (SELECT utid, min(ts_ns) AS ns, max(ts_ns) AS last_ns FROM ("
		 "SELECT utid, ts_ns FROM switches UNION ALL "
		 "SELECT next_utid, ts_ns FROM switches UNION ALL "
		 "SELECT target_utid, ts_ns FROM wakeups UNION ALL "
		 "SELECT utid, start_ns FROM sched_slices) GROUP BY utid), "
		 "ran AS (SELECT utid, sum(oncpu_ns) AS ns FROM cpu_usage(%lld, %lld) "
		 "GROUP BY utid) "
		 "SELECT t.utid AS utid, t.end_ns IS NULL AS lives, "
		 "coalesce(born.last_ns, -1) < t.end_ns AS is_gone, "
		 "coalesce(t.end_ns, 0) AS end_ns, "
		 "coalesce(s.life_ns, 0) AS life_ns, iif(t.start_ns < 0, 0, born.ns) AS born_ns, "
		 "coalesce(s.running_ns, 0) AS running_ns, coalesce(ran.ns, 0) AS ran_ns "
		 "FROM threads AS t LEFT JOIN s ON s.utid = t.utid "
		 "LEFT JOIN born ON born.utid = t.utid LEFT JOIN ran ON ran.utid = t.utid "
		 "WHERE t.utid >= 16 AND (t.start_ns < 0 OR born.ns IS NOT NULL)",
		 (long long)from, (long long)to, (long long)from, (long long)to);
	rows_sql(&r, below(2) ? c->plain : c->indexed, sql);
	assert_true(r.row_cnt > 0);
	for (unsigned int i = 0; i < r.row_cnt; i++) {
		int64_t begin = rows_cell(&r, i, "born_ns"), life, rest;

		begin = begin > from ? begin : from;
		life = to > begin ? to - begin : 0;
		if (rows_cell(&r, i, "running_ns") != rows_cell(&r, i, "ran_ns"))
			fail_msg("[%lld, %lld): thread %lld ran %lld ns, its state says %lld",
				 (long long)from, (long long)to,
				 (long long)rows_cell(&r, i, "utid"),
				 (long long)rows_cell(&r, i, "ran_ns"),
				 (long long)rows_cell(&r, i, "running_ns"));
		if (rows_cell(&r, i, "lives") && rows_cell(&r, i, "life_ns") != life)
			fail_msg("[%lld, %lld): thread %lld lived %lld ns, its states have %lld",
				 (long long)from, (long long)to,
				 (long long)rows_cell(&r, i, "utid"), (long long)life,
				 (long long)rows_cell(&r, i, "life_ns"));
		rest = rows_cell(&r, i, "life_ns") - rows_cell(&r, i, "running_ns");
		life = rows_cell(&r, i, "end_ns") - begin;
		if (rows_cell(&r, i, "is_gone") && rest > (life > 0 ? life : 0))
			fail_msg("[%lld, %lld): thread %lld ended, %lld ns are behind that",
				 (long long)from, (long long)to,
				 (long long)rows_cell(&r, i, "utid"),
				 (long long)(rest - life));
	}
	rows_done(&r);
}

/* Threads wait for a CPU for as long as they are runnable or preempted. */
static void check_waits(const struct fold_check *c, int64_t from, int64_t to)
{
	struct rows a, b;

	rows_window(&a, below(2) ? c->plain : c->indexed,
		    "SELECT utid, runnable_ns + preempted_ns AS ns "
		    "FROM thread_states(:w, 0, 'thread') WHERE ns > 0 ORDER BY utid",
		    from, to);
	rows_window(&b, below(2) ? c->plain : c->indexed,
		    "SELECT utid, wait_ns AS ns FROM sched_waits(:w, 0, 'thread') "
		    "WHERE ns > 0 ORDER BY utid",
		    from, to);
	rows_compare(&a, &b);
	rows_done(&a);
	rows_done(&b);
}

/* The time with each number of busy CPUs equals that of a sweep over the slices. */
static void check_parallel(const struct fold_check *c, int64_t from, int64_t to)
{
	struct rows a, b;

	rows_window(&a, c->plain,
		    "WITH s AS MATERIALIZED (SELECT start_ns, end_ns FROM sched_slices(:w) "
		    "WHERE dur_ns > 0 AND utid NOT IN (0, 1, 3)), "
		    "g AS (SELECT ts, sum(d) AS d FROM (SELECT start_ns AS ts, 1 AS d FROM s "
		    "UNION ALL SELECT end_ns, -1 FROM s) GROUP BY ts), "
		    "n AS (SELECT sum(d) OVER next AS busy, lead(ts) OVER next - ts AS ns FROM g "
		    "WINDOW next AS (ORDER BY ts)) "
		    "SELECT busy, sum(ns) FROM n WHERE busy > 0 GROUP BY busy ORDER BY busy",
		    from, to);
	rows_window(&b, c->indexed,
		    "SELECT busy, sum(oncpu_ns) / busy FROM parallel_usage(:w, 0, 'none') "
		    "GROUP BY busy ORDER BY busy",
		    from, to);
	rows_compare(&a, &b);
	rows_done(&a);
	rows_done(&b);
}

/* ---- sleeps ---- */

enum { LIFE_UTID, LIFE_TS, LIFE_KIND, LIFE_WAKER, LIFE_IRQ, LIFE_END };
enum { IS_MOVED = 0, IS_ASLEEP, IS_WOKEN };	/* LIFE_KIND */

/* Switches and wake-ups of a window, thread by thread. */
static const char lives[] =
	"SELECT e.utid, ts, what, waker, irq, t.end_ns FROM (SELECT utid, ts_ns AS ts, cpu, "
	"1 AS kind, 0 AS is_in, "
	"iif(preempted OR prev_state = 0 OR prev_state & 0xb0, 0, 1) AS what, "
	"0 AS waker, 0 AS irq FROM switches "
	"UNION ALL SELECT next_utid, ts_ns, cpu, 1, 1, 0, 0, 0 FROM switches "
	"UNION ALL SELECT target_utid, ts_ns, cpu, 2, 0, 2, utid, irq FROM wakeups) AS e "
	"JOIN threads AS t ON t.utid = e.utid WHERE e.utid >= 16 AND ts >= %lld AND ts < %lld "
	"ORDER BY e.utid, ts, e.cpu, kind, is_in";

/* The thread had a CPU between two instants. *at: the slices before are of other threads. */
static bool had_cpu(const struct rows *slices, unsigned int *at, int64_t utid, int64_t from,
		    int64_t to)
{
	while (*at < slices->row_cnt && rows_int(slices, *at, 0) < utid)
		++*at;
	for (unsigned int i = *at; i < slices->row_cnt && rows_int(slices, i, 0) == utid; i++)
		if (rows_int(slices, i, 2) > from && rows_int(slices, i, 1) < to)
			return true;
	return false;
}

/* The row of the wake-up that ends the sleep which begins in row i; 0: none is known to. */
static unsigned int wakeup_of(const struct rows *r, unsigned int i)
{
	unsigned int k, by = 0;

	for (k = i + 1; k < r->row_cnt && rows_int(r, k, LIFE_UTID) == rows_int(r, i, LIFE_UTID) &&
			rows_int(r, k, LIFE_KIND) == IS_WOKEN; k++)
		if (!by || (rows_int(r, k, LIFE_TS) == rows_int(r, by, LIFE_TS) &&
			    rows_int(r, by, LIFE_IRQ) && !rows_int(r, k, LIFE_IRQ)))
			by = k;
	return by;
}

/*
 * Sleeps in a window, as SQL values. A sleep is a switch away that is followed by a wake-up of the
 * thread before its next switch and before its next stay on a CPU, including stays that only a
 * later switch reports. Of wake-ups at the same instant, one by a thread counts. A thread that
 * ended before the wake-up did not sleep.
 */
static char *sleeps_of(const struct fold_check *c, int64_t from, int64_t to)
{
	struct rows r, slices;
	unsigned int i, at = 0;
	char sql[1000], *out;
	size_t size;
	FILE *f = open_memstream(&out, &size);

	rows_window(&slices, c->plain, "SELECT utid, start_ns, end_ns FROM sched_slices(:w) "
		    "WHERE utid >= 16 ORDER BY utid, start_ns", from, to);
	snprintf(sql, sizeof(sql), lives, (long long)from, (long long)to);
	rows_sql(&r, c->plain, sql);
	fprintf(f, "(0, 0, 0, 0, NULL)");
	for (i = 0; i < r.row_cnt; i++) {
		unsigned int by = rows_int(&r, i, LIFE_KIND) == IS_ASLEEP ? wakeup_of(&r, i) : 0;
		int64_t utid = rows_int(&r, i, LIFE_UTID), left = rows_int(&r, i, LIFE_TS);
		int64_t end = rows_int(&r, i, LIFE_END), woken = rows_int(&r, by, LIFE_TS);

		if (by && !had_cpu(&slices, &at, utid, left, woken) && !(end > left && end < woken))
			fprintf(f, ", (%lld, %lld, %lld, %lld, %lld)", (long long)utid,
				(long long)left, (long long)woken,
				(long long)rows_int(&r, by, LIFE_WAKER),
				(long long)rows_int(&r, by, LIFE_IRQ));
	}
	fclose(f);
	rows_done(&slices);
	rows_done(&r);
	return out;
}

#define SLEEPS "WITH s (utid, left_ns, ns, waker, irq) AS MATERIALIZED (VALUES %1$s)"

/* woken_by() has the enders that follow from the events in order. */
static void check_sleeps(const struct fold_check *c, int64_t from, int64_t to)
{
	char *sleeps = sleeps_of(c, from, to), *sql;
	struct rows a, b;

	assert_true(asprintf(&sql,
			     SLEEPS " SELECT iif(s.irq, NULL, t.upid) AS upid, s.irq, count(*), "
			     "sum(ns - left_ns), max(ns - left_ns), ns FROM s JOIN threads AS t "
			     "ON t.utid = s.waker WHERE irq IS NOT NULL GROUP BY 1, 2 "
			     "ORDER BY 2, 1", sleeps) > 0);
	rows_sql(&a, c->plain, sql);
	free(sql);
	rows_window(&b, c->indexed, "SELECT * FROM woken_by(:w) ORDER BY irq, upid", from, to);
	rows_compare(&a, &b);
	rows_done(&a);
	rows_done(&b);
	free(sleeps);
}

/*
 * The blocking chain: its parts add up to the window, and each part has the state of its thread. It
 * leaves a thread only where another thread ended its sleep, where the thread began, or to return
 * to a thread whose sleep began there. It may leave a thread that slept before the trace; the test
 * does not check whether it must.
 */
static void check_chain(const struct fold_check *c, int64_t from, int64_t to)
{
	static const char wrong[] =
		SLEEPS ", p AS MATERIALIZED (SELECT *, row_number() OVER () AS n, "
		"lag(start_ns, 1, %3$lld) OVER () AS end, lag(utid) OVER () AS later "
		"FROM blocking_chain(%2$lld, %3$lld)) "
		"SELECT 'a gap', * FROM p WHERE end_ns <> end UNION ALL "
		"SELECT 'it ends early', * FROM p WHERE n = (SELECT max(n) FROM p) "
		"AND start_ns > %2$lld UNION ALL "
		"SELECT 'another state', p.* FROM p, "
		"thread_states(p.start_ns, p.end_ns, 0, 'thread') AS t WHERE n <= 20 "
		"AND t.utid = p.utid AND p.end_ns - p.start_ns <> CASE p.kind "
		"WHEN 'running' THEN running_ns WHEN 'cpu' THEN runnable_ns + preempted_ns "
		"WHEN 'throttled' THEN throttled_ns ELSE p.end_ns - p.start_ns - running_ns - "
		"runnable_ns - preempted_ns - throttled_ns END UNION ALL "
		"SELECT 'it stays', p.* FROM p JOIN s ON s.utid = p.utid AND s.ns = p.end_ns "
		"WHERE s.left_ns < s.ns AND NOT s.irq AND s.waker >= 16 "
		"AND s.waker <> s.utid UNION ALL "
		"SELECT 'it leaves', p.* FROM p WHERE later <> utid AND NOT EXISTS (SELECT 1 "
		"FROM s WHERE s.utid = p.later AND s.ns = p.end_ns AND s.waker = p.utid) "
		"AND NOT EXISTS (SELECT 1 FROM s WHERE s.utid = p.utid AND s.left_ns = p.end_ns) "
		"AND NOT EXISTS (SELECT 1 FROM threads AS t WHERE t.utid = p.later "
		"AND t.start_ns >= %2$lld AND t.start_ns < p.end_ns) "
		/* it slept before the trace: it was woken before anything else */
		"AND NOT EXISTS (SELECT 1 FROM wakeups AS w WHERE w.target_utid = p.later "
		"AND w.ts_ns = p.end_ns AND w.utid = p.utid AND NOT EXISTS (SELECT 1 FROM switches "
		"AS x WHERE x.ts_ns < w.ts_ns AND w.target_utid IN (x.utid, x.next_utid)))";
	char *sleeps = sleeps_of(c, 0, to), *sql;
	struct rows r;

	assert_true(asprintf(&sql, wrong, sleeps, (long long)from, (long long)to) > 0);
	rows_sql(&r, c->indexed, sql);
	if (r.row_cnt)
		fail_msg("%s in [%lld, %lld), thread %lld until %lld, %s", rows_text(&r, 0, 0),
			 (long long)from, (long long)to, (long long)rows_int(&r, 0, 1),
			 (long long)rows_int(&r, 0, 3), rows_text(&r, 0, 4));
	rows_done(&r);
	free(sql);
	free(sleeps);
}

/* The lifetimes of a window's allocations equal those of the table. */
static void check_lifetimes(const struct fold_check *c, int64_t from, int64_t to)
{
	char sql[700];
	struct rows a, b;

	snprintf(sql, sizeof(sql),
		 "SELECT upid, source, symbol, cache, call_site, page_order, count(*), sum(bytes), "
		 "count(free_ns), count(*) FILTER (WHERE life_ns < 1000000), "
		 "coalesce(sum(bytes) FILTER (WHERE life_ns < 1000000), 0), "
		 "coalesce(sum(life_ns), 0), max(life_ns) FROM allocations(%lld) "
		 "WHERE alloc_ns >= %lld AND alloc_ns < %lld GROUP BY 1, 2, 3, 4, 5, 6",
		 (long long)to, (long long)from, (long long)to);
	rows_sql(&a, c->plain, sql);
	rows_window(&b, c->indexed,
		    "SELECT upid, source, symbol, cache, call_site, page_order, sum(allocs), "
		    "sum(bytes), sum(freed), sum(temporary), sum(temporary_bytes), "
		    "CAST(sum(life_sum_ns) AS INTEGER), max(life_max_ns) FROM lifetime_usage(:w) "
		    "GROUP BY 1, 2, 3, 4, 5, 6",
		    from, to);
	rows_compare(&a, &b);
	rows_done(&a);
	rows_done(&b);
}

/* The sites of growth equal the first of each process and source in the table of allocations. */
static void check_growth(const struct fold_check *c, int64_t from, int64_t to)
{
	char sql[1200];
	struct rows a, b;

	snprintf(sql, sizeof(sql),
		 "WITH x AS (SELECT upid, source, alloc_ns, free_ns, bytes, "
		 "alloc_ns >= %lld AS is_new, "
		 "coalesce(code_text(symbol, call_site), cache, 'order ' || page_order) AS site "
		 "FROM allocations(%lld) WHERE alloc_ns >= max(%lld, min(%lld, 0)) "
		 "AND alloc_ns < %lld), "
		 "s AS (SELECT upid, source, site, "
		 "sum(is_new) AS allocs, sum(is_new AND free_ns IS NULL) AS kept, "
		 "sum(bytes) FILTER (WHERE is_new AND free_ns IS NULL) AS kept_bytes, "
		 "sum(iif(is_new, bytes, -bytes)) FILTER (WHERE (free_ns IS NULL) = is_new "
		 "AND (is_new OR free_ns >= %lld)) AS net, "
		 "percentile(%lld - alloc_ns, 50) FILTER (WHERE is_new AND free_ns IS NULL) AS age "
		 "FROM x GROUP BY 1, 2, 3) "
		 "SELECT upid, source, site, allocs, kept, kept_bytes, net, age FROM (SELECT *, "
		 "row_number() OVER (PARTITION BY upid, source ORDER BY net DESC, site) AS nth "
		 "FROM s WHERE net NOT NULL) WHERE nth = 1 ORDER BY 1, 2",
		 (long long)from, (long long)to, (long long)(2 * from - to), (long long)from,
		 (long long)to, (long long)from, (long long)to);
	rows_sql(&a, c->plain, sql);
	rows_window(&b, c->indexed,
		    "SELECT upid, source, call_site, allocs, kept, kept_bytes, net_bytes, "
		    "age_p50_ns "
		    "FROM growth_sites(:w) ORDER BY 1, 2", from, to);
	rows_compare(&a, &b);
	rows_done(&a);
	rows_done(&b);
}

/*
 * Net of `alloc`: for allocations, the change of the bytes that the pairs hold. That is allocated
 * bytes less freed bytes, less bytes released by exits and execs. For resident memory, the change
 * of the levels.
 */
static void check_memory(const struct fold_check *c, int64_t from, int64_t to)
{
	static const char held[] =
		"SELECT upid, source, %d * bytes AS b FROM allocations(%lld) AS a "
		"WHERE free_ns IS NULL AND upid >= 16 AND NOT (source = 'heap' AND EXISTS ("
		"SELECT 1 FROM ends WHERE ends.upid = a.upid AND ns >= alloc_ns AND ns < %lld))";
	static const char levels[] =
		"SELECT upid, 'rss', %d * rss_bytes FROM memory_levels(0, %lld, 0, 'process') "
		"WHERE %lld > 0 AND upid IN (SELECT upid FROM processes WHERE start_ns > 0)";
	char sql[2400], parts[4][400];
	struct rows wanted, given;

	for (int i = 0; i < 4; i++) {
		long long at = i % 2 ? to : from;

		snprintf(parts[i], sizeof(parts[i]), i < 2 ? held : levels, i % 2 ? 1 : -1, at, at);
	}
	snprintf(sql, sizeof(sql),
		 "WITH ends AS MATERIALIZED (SELECT upid, end_ns AS ns FROM processes UNION ALL "
		 "SELECT upid, ts_ns FROM task_events WHERE type = 'exec') "
		 "SELECT upid, source, sum(b) AS net FROM (%s UNION ALL %s UNION ALL %s UNION ALL "
		 "%s) GROUP BY 1, 2 HAVING net <> 0 ORDER BY 1, 2",
		 parts[0], parts[1], parts[2], parts[3]);
	rows_sql(&wanted, c->plain, sql);
	rows_window(&given, below(2) ? c->plain : c->indexed,
		    "SELECT upid, source, sum(alloc_bytes - free_bytes - exit_bytes) AS net "
		    "FROM alloc_usage(:w, 0, 'process') WHERE upid >= 16 AND source <> 'vm' "
		    "AND (source <> 'rss' OR upid IN (SELECT upid FROM processes "
		    "WHERE start_ns > 0)) GROUP BY 1, 2 HAVING net <> 0 ORDER BY 1, 2",
		    from, to);
	rows_compare(&wanted, &given);
	rows_done(&wanted);
	rows_done(&given);
}

/* The levels of `memory` equal those of `alloc`: at the end, at the peak, and of mapped memory. */
static void check_levels(const struct fold_check *c, int64_t from, int64_t to)
{
	struct rows a, b;

	rows_window(&a, c->plain, "SELECT upid, rss_bytes, rss_peak_bytes, vm_bytes "
		    "FROM memory_levels(:w, 0, 'process') WHERE upid >= 16 AND "
		    "rss_bytes + rss_peak_bytes + vm_bytes > 0 ORDER BY upid", from, to);
	rows_window(&b, below(2) ? c->plain : c->indexed,
		    "SELECT upid, "
		    "coalesce(sum(now_bytes) FILTER (WHERE source = 'rss'), 0) AS rss_bytes, "
		    "coalesce(sum(peak_bytes) FILTER (WHERE source = 'rss'), 0) AS rss_peak_bytes, "
		    "coalesce(sum(now_bytes) FILTER (WHERE source = 'vm'), 0) AS vm_bytes "
		    "FROM alloc_usage(:w, 0, 'process') WHERE upid >= 16 GROUP BY upid "
		    "HAVING rss_bytes + rss_peak_bytes + vm_bytes > 0 ORDER BY upid", from, to);
	rows_compare(&a, &b);
	rows_done(&a);
	rows_done(&b);
}

/* Answers from a part of the index equal those from everything. */
static void check_partial(const struct fold_check *c, int64_t from, int64_t to, uint64_t every)
{
	static const char *const sources[] = { "rss", "vm", "slab", "page", "heap", "none" };
	static const char *const bys[] = { "process", "all", "comm", "tree" };
	const struct fold_check partial = { c->t, c->plain, c->partial ?: c->indexed, NULL };
	char sql[400];

	snprintf(sql, sizeof(sql),
		 "SELECT upid, name, source, start_ns, end_ns, bytes, threshold_bytes "
		 "FROM spikes(%lld, %lld, %d, %llu, '%s', '%s') ORDER BY 4, 1, 2, 3, 5",
		 (long long)from, (long long)to, below(3) ? 10000000 : 3333333,
		 (unsigned long long)(below(3) ? 20000 + below(1000000) * below(100) : 0),
		 below(2) ? "slab,heap" : "slab,rss,page", bys[below(4)]);
	fold_check_rows(&partial, sql);
	snprintf(sql, sizeof(sql),
		 "SELECT * FROM alloc_usage(%lld, %lld, %llu, 'process') WHERE source = '%s' "
		 "ORDER BY t_ns, upid, name", (long long)from, (long long)to,
		 (unsigned long long)every, sources[below(6)]);
	fold_check_rows(below(2) ? &partial : c, sql);
}

void fold_check_windows(const struct fold_check *c, unsigned int cnt, bool with_sums)
{
	uint64_t span = trace_end_ns(c->t) - trace_start_ns(c->t), every;
	char sql[400], arguments[100], table[200];
	unsigned int i, k;

	for (i = 0; i < cnt; i++) {
		int64_t at[3] = { instant(c), instant(c), instant(c) };

		sort_three(at);
		every = below(2) ? 0 : 1 + below(span / 3 + 1) + span / 200;
		check_tables(c, at[0], at[2]);
		check_states(c, at[0], at[2]);
		check_waits(c, at[0], at[2]);
		check_parallel(c, at[0], at[2]);
		check_sleeps(c, at[0], at[2]);
		check_chain(c, at[0], at[2]);
		check_lifetimes(c, at[0], at[2]);
		check_growth(c, at[0], at[2]);
		check_memory(c, at[0], at[2]);
		check_levels(c, at[0], at[2]);
		check_partial(c, at[0], at[2], every);
		for (k = 0; k < sizeof(functions) / sizeof(functions[0]); k++) {
			const struct fold_function *f = &functions[k];

			put_arguments(arguments, sizeof(arguments), f, every);
			snprintf(sql, sizeof(sql), "SELECT * FROM %s(%lld, %lld%s) ORDER BY %s",
				 f->name, (long long)at[0], (long long)at[2], arguments, f->order);
			fold_check_rows(c, sql);
			if (!with_sums)
				continue;
			if (f->has_bins)
				check_bins(c, f, arguments, every, at);
			put_arguments(arguments, sizeof(arguments), f, 0);
			snprintf(table, sizeof(table), "%s(:w%s)", f->name, arguments);
			check_neighbours(c, f, table, at);
		}
	}
}
