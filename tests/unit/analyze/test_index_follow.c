/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * An index that follows a flight trace has the same answers for new windows as a recording of
 * everything, even after the recorder removed the trace's beginning and the trace was reopened.
 */
#include "analyze/analyze.h"
#include "analyze/fold/spikes.h"
#include "store/store_writer.h"
#include "tests/unit/gen/gen_trace.h"
#include "tests/unit/gen/table_rows.h"
#include "tests/unit/unit_test.h"
#include "trace/trace_read.h"

#define FROM_NS 1000000000ull
#define STEPS 60
#define KEEP 150000
#define QUERIES 8
#define SPIKES 7		/* the query of spikes, which end within this time */
#define SPIKES_NS 500000000

/* The same records go to both. */
struct side {
	struct gen *g;
	struct gen_mix mix;
	char path[80];
	struct trace *t;
	struct analysis *a;
};

static void begin(struct side *s, const char *dir, const char *name, uint64_t keep_bytes,
		  unsigned int per_second)
{
	char bytes[24];

	*s = (struct side){ .mix = { .seed = 77, .now_ns = FROM_NS, .per_second = per_second,
				     .irqs = 100 } };
	snprintf(s->path, sizeof(s->path), "%s/%s", dir, name);
	s->g = gen_open(s->path, &(struct gen_config){ .from_ns = FROM_NS,
						       .file_bytes = keep_bytes / 10,
						       .keep_bytes = keep_bytes });
	snprintf(bytes, sizeof(bytes), "%llu", (unsigned long long)keep_bytes);
	if (keep_bytes)
		assert_int_equal(store_writer_set(gen_store_writer(s->g), "keep.bytes", bytes), 0);
	assert_int_equal(store_writer_flush_manifest(gen_store_writer(s->g), NULL), 0);
	gen_mix_start(s->g, &s->mix);
}

static void grow(struct side *s, unsigned int blocks)
{
	while (blocks--) {
		gen_mix_run(s->g, &s->mix, 600);
		gen_slice(s->g, ++s->mix.now_ns);
	}
}

static void open_side(struct side *s, const struct analysis_index_use *use)
{
	struct err e = { "" };

	if (trace_open(&s->t, s->path, &e) < 0 || analysis_open(&s->a, s->t, &e) < 0)
		fail_msg("%s", e.text);
	analysis_use_index(s->a, use);
}

static void close_side(struct side *s)
{
	analysis_close(s->a);
	trace_close(s->t);
	s->a = NULL;
	s->t = NULL;
}

/* Returns true if the trace was reopened because some of its files were removed. */
static bool look(struct side *s, const struct analysis_index_use *use)
{
	struct err e = { "" };
	int r = trace_refresh(s->t, &e);

	if (r == -ESTALE) {
		close_side(s);
		open_side(s, use);
		return true;
	}
	assert_int_equal(r, 0);
	assert_int_equal(analysis_refresh(s->a, use->follow_from_ns, &e), 0);
	return false;
}

static bool is_known(const struct side *kept, const struct rows *r, unsigned int row)
{
	uint32_t id = (uint32_t)rows_int(r, row, 0);

	return !strcmp(r->names[0], "utid") ? trace_thread_find(kept->t, id) != NULL :
					      trace_process_find(kept->t, id) != NULL;
}

/* The first row from i on whose task the kept trace still has, or the end of the rows. */
static unsigned int next_known(const struct side *kept, const struct rows *r, unsigned int i)
{
	while (i < r->row_cnt && !is_known(kept, r, i))
		i++;
	return i;
}

/* Returns how many rows are the same. */
static unsigned int compare_known(const struct side *kept, const char *sql, const struct rows *a,
				  const struct rows *b)
{
	unsigned int k = next_known(kept, a, 0), cnt = 0;

	for (unsigned int i = next_known(kept, b, 0); i < b->row_cnt;
	     i = next_known(kept, b, i + 1), k = next_known(kept, a, k + 1), cnt++) {
		if (k == a->row_cnt)
			fail_msg("%s: no row of %lld", sql, (long long)rows_int(b, i, 0));
		for (unsigned int col = 0; col < b->col_cnt; col++)
			if (strcmp(rows_text(a, k, col), rows_text(b, i, col)) ||
			    rows_int(a, k, col) != rows_int(b, i, col))
				fail_msg("%s: %s of %lld: %lld is not %lld", sql, b->names[col],
					 (long long)rows_int(b, i, 0),
					 (long long)rows_int(a, k, col),
					 (long long)rows_int(b, i, col));
	}
	if (k < a->row_cnt)
		fail_msg("%s: a row too many, of %lld", sql, (long long)rows_int(a, k, 0));
	return cnt;
}

static int ignore(void *ctx, const struct spike *s)
{
	return 0;
}

/*
 * A statement that finds the index damaged would be repeated with another index. The spikes here
 * begin long before the window.
 */
static void assert_spikes_need_no_new_index(const struct side *s, uint64_t from_ns, uint64_t to_ns)
{
	const struct spikes_query q = { .window_ns = 500000000, .min_bytes = 4096,
					.source_mask = 1u << ALLOC_RSS | 1u << ALLOC_PAGE,
					.by = { KEY(PROCESS) }, .by_cnt = 1,
					.from_ns = from_ns, .to_ns = to_ns, .found = ignore };
	struct err e = { "" };

	if (spikes_find(s->a, &q, &e))
		fail_msg("%s", e.text);
}

/*
 * Percentiles come from buckets, and instants count from a trace's start: neither is compared.
 * Tasks that ended before the oldest kept block are not compared either: their names are gone.
 */
static void compare_window(const struct side *kept, const struct side *all, uint64_t from_ns,
			   uint64_t to_ns, unsigned int row_cnt[static QUERIES])
{
	static const char *const queries[QUERIES] = {
		"SELECT utid, cpu, oncpu_ns, switches, preempted FROM cpu_usage(:w)",
		"SELECT utid, waits, wait_ns, wait_max_ns, wakeups, preempts, unknown_waits"
		" FROM sched_waits(:w, 0, 'thread')",
		"SELECT utid, running_ns, runnable_ns, preempted_ns, disk_ns, sleeping_ns,"
		" unknown_ns FROM thread_states(:w, 0, 'thread')",
		"SELECT utid, source, allocs, alloc_bytes, frees, free_bytes, lost_frees, net_bytes"
		" FROM alloc_usage(:w, 0, 'thread')",
		"SELECT upid, dev, op, ios, bytes, lat_sum_ns FROM io_usage(:w, 0, 'process')",
		"SELECT utid, type, vector, runs, run_ns, broken FROM irq_usage(:w, 0, 'thread')",
		"SELECT upid, name, rss_peak_bytes FROM memory_levels(:w, 0, 'process')",
		"SELECT upid, source, dur_ns, bytes FROM spikes(:w, 10000000, 4096,"
		" 'slab,page', 'process') WHERE start_ns < ",
	};
	const struct side *sides[] = { kept, all };
	struct rows r[2];
	char sql[256];

	assert_spikes_need_no_new_index(kept, from_ns, to_ns);
	for (size_t i = 0; i < QUERIES; i++) {
		for (unsigned int k = 0; k < 2; k++) {
			int64_t start_ns = (int64_t)trace_start_ns(sides[k]->t);

			snprintf(sql, sizeof(sql), "SELECT * FROM (%s%.0ld) ORDER BY 1, 2, 3",
				 queries[i],
				 i == SPIKES ? (int64_t)to_ns - SPIKES_NS - start_ns : 0);
			rows_window(&r[k], sides[k]->a, sql, (int64_t)from_ns - start_ns,
				    (int64_t)to_ns - start_ns);
		}
		row_cnt[i] += compare_known(kept, sql, &r[0], &r[1]);
		rows_done(&r[0]);
		rows_done(&r[1]);
	}
}

/* Blocks have 600 events. */
static void compare_flight_trace(unsigned int per_second)
{
	struct analysis_index_use use = { .use = true, .always = true, .follow_from_ns = FROM_NS };
	const struct analysis_index_use whole = { .use = true, .always = true };
	struct side kept, all;
	unsigned int anew = 0, row_cnt[QUERIES] = { 0 };
	char dir[64];

	gen_temp_dir(dir);
	begin(&kept, dir, "kept", KEEP, per_second);
	begin(&all, dir, "all", 0, per_second);
	assert_int_equal(analysis_follow_new(&use.follow), 0);
	for (unsigned int i = 0; i < STEPS; i++) {
		uint64_t to_ns;
		size_t cnt;

		grow(&kept, 1 + i % 3);
		grow(&all, 1 + i % 3);
		if (kept.t)
			anew += look(&kept, &use);
		else
			open_side(&kept, &use);
		trace_blocks(kept.t, &cnt);
		if (cnt < 2)
			continue;
		open_side(&all, &whole);
		to_ns = trace_block_at(kept.t, cnt - 2)->to_ns;
		compare_window(&kept, &all, use.follow_from_ns, to_ns, row_cnt);
		use.follow_from_ns = to_ns;
		close_side(&all);
	}
	assert_true(anew > 5);
	for (unsigned int i = 0; i < QUERIES; i++)
		assert_true(row_cnt[i] > STEPS || i == SPIKES);
	close_side(&kept);
	analysis_follow_free(use.follow);
	gen_finish(kept.g);
	gen_finish(all.g);
	gen_mix_done(&kept.mix);
	gen_mix_done(&all.mix);
	gen_remove_dir(dir);
}

UNIT_TEST(test_windows_of_a_flight_trace_are_those_of_all)
{
	compare_flight_trace(30000);
}

/* Blocks are so long that the parts of most of them are dropped. */
UNIT_TEST(test_a_burst_may_begin_before_the_kept_parts)
{
	compare_flight_trace(1000);
}

UNIT_TESTS
