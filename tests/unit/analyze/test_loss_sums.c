/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Losses that a recorder found when it looked for the last time, after the end of its trace. */
#include "edit/trace_cut.h"
#include "tests/unit/gen/made_trace.h"
#include "tests/unit/gen/table_rows.h"
#include "tests/unit/unit_test.h"

#define T0 1000000000ull

static struct made_trace made;

static void add_loss(struct made_trace *m, uint64_t from_ms, uint64_t to_ms, uint64_t cnt)
{
	gen_loss(m->g, &(struct trace_loss){ .from_ns = T0 + from_ms * MS, .to_ns = T0 + to_ms * MS,
					     .hook = WIRE_SWITCH, .cls = EVENT_CLASS_SCHED,
					     .full_cnt = cnt });
}

/* Two blocks of 10 ms: 5 events were lost around the end of the first, 8 at that of the other. */
static void make_trace(struct made_trace *m)
{
	made_begin(m, &(struct gen_config){ .cpu_cnt = 1, .from_ns = T0 });
	add_loss(m, 8, 12, 5);
	gen_slice(m->g, T0 + 10 * MS);
	add_loss(m, 18, 21, 7);
	add_loss(m, 20, 22, 1);
	gen_slice(m->g, T0 + 20 * MS);
}

/* The sum of lost_events over a report's rows of bins. */
static int64_t sum_of(struct analysis *a, const char *view, uint64_t from_ns, uint64_t to_ns)
{
	struct report_request q = { .view = view, .from_ns = from_ns, .to_ns = to_ns,
				    .every_ns = 3 * MS };
	int64_t sum = 0;
	struct rows r;

	rows_report(&r, a, &q);
	for (unsigned int i = 0; i < r.row_cnt; i++)
		sum += rows_cell(&r, i, "lost_events");
	rows_done(&r);
	return sum;
}

UNIT_TEST(test_a_loss_that_ends_after_the_trace_counts_at_its_end)
{
	static const char *const views[] = { "loss", "bins" };
	struct report_request q;
	struct rows r;

	make_trace(&made);
	made_open(&made);
	for (unsigned int i = 0; i < 2; i++)
		assert_int_equal(sum_of(made.a, views[i], T0, T0 + 20 * MS), 13);
	rows_want(made.a, 13, "SELECT lost_events('sched', 0, 20000000)");
	rows_want(made.a, 8, "SELECT lost_events('sched', 18000000, 20000000)");
	rows_want(made.a, 0, "SELECT sum(lost_cnt) FROM losses WHERE to_ns > 20000000");
	q = made_request(&made, "loss");
	rows_report(&r, made.a, &q);
	assert_int_equal(rows_cell(&r, 0, "lost_events"), 13);
	rows_done(&r);
}

/* Like a trace of a killed recorder: only its blocks show its end. */
UNIT_TEST(test_a_killed_recorder_leaves_such_a_loss)
{
	make_trace(&made);
	gen_abort(made.g);
	made.g = NULL;
	assert_int_equal(trace_open(&made.t, made.path, NULL), 0);
	assert_int_equal(analysis_open(&made.a, made.t, NULL), 0);
	assert_int_equal(sum_of(made.a, "loss", T0, T0 + 20 * MS), 13);
}

/* A cut of the trace's window, as a trace of its own. */
static struct trace *cut(struct made_trace *m, unsigned int nr, uint64_t from_ns, uint64_t to_ns)
{
	const struct trace_cut_request q = { .from_ns = from_ns, .to_ns = to_ns, .reason = "test",
					     .before = analysis_checkpoint, .before_ctx = m->a };
	struct trace_cut_result result;
	struct trace *t;
	char path[100];

	snprintf(path, sizeof(path), "%s/cut-%u", m->dir, nr);
	assert_int_equal(trace_cut(m->t, &q, path, &result, NULL), 0);
	assert_int_equal(trace_open(&t, path, NULL), 0);
	return t;
}

/* A loss around the end of one cut counts in the next cut alone. */
UNIT_TEST(test_cuts_of_a_trace_share_no_loss)
{
	static const uint64_t ends[] = { 0, 10, 20 };
	int64_t sum = 0;

	make_trace(&made);
	made_open(&made);
	for (unsigned int i = 0; i < 2; i++) {
		uint64_t from_ns = T0 + ends[i] * MS, to_ns = T0 + ends[i + 1] * MS;
		struct trace *t = cut(&made, i, from_ns, to_ns);
		struct analysis *a;

		assert_int_equal(analysis_open(&a, t, NULL), 0);
		assert_int_equal(sum_of(a, "loss", from_ns, to_ns), i ? 13 : 0);
		rows_want(a, 0, "SELECT is_complete('sched', 0, 10000000)");
		sum += sum_of(a, "loss", from_ns, to_ns);
		analysis_close(a);
		trace_close(t);
	}
	assert_int_equal(sum, sum_of(made.a, "loss", T0, T0 + 20 * MS));
}

/* Bits: which of some reports are complete in [from_ns, to_ns). */
static unsigned int complete_of(struct analysis *a, uint64_t start_ns, uint64_t from_ns,
				uint64_t to_ns)
{
	static const char *const reports[] = { "report waits", "report cpu", "report memory",
					       "report devices", "report io" };
	unsigned int bits = 0;
	char sql[120];

	for (unsigned int i = 0; i < 5; i++) {
		snprintf(sql, sizeof(sql), "SELECT is_complete('%s', %lld, %lld)", reports[i],
			 (long long)(from_ns - start_ns), (long long)(to_ns - start_ns));
		bits |= (unsigned int)rows_one(a, "%s", sql) << i;
	}
	return bits;
}

/* A cut, and a cut of the cut, have in their manifest what was lost before them. */
UNIT_TEST(test_windows_of_a_cut_are_as_complete_as_those_of_the_trace)
{
	unsigned int seen = 0;

	made_begin(&made, &(struct gen_config){ .cpu_cnt = 1, .from_ns = T0 });
	for (unsigned int ms = 1; ms <= 20; ms++) {
		if (ms == 4 || ms == 9)
			gen_loss(made.g, &(struct trace_loss){ T0 + (ms - 1) * MS, T0 + ms * MS,
							       .hook = WIRE_SWITCH,
							       .cls = EVENT_CLASS_SCHED,
							       .full_cnt = ms });
		if (ms == 7)
			gen_loss(made.g, &(struct trace_loss){ T0 + 6 * MS, T0 + 7 * MS,
							       .hook = WIRE_RSS,
							       .cls = EVENT_CLASS_ALLOC,
							       .full_cnt = 2 });
		if (ms == 12)
			gen_loss(made.g,
				 &(struct trace_loss){ T0 + 11 * MS, T0 + 12 * MS,
						       .hook = WIRE_BLOCK_COMPLETE,
						       .cls = EVENT_CLASS_BLOCK, .missed_cnt = 1,
						       .inferred_cnt = 1 });
		gen_slice(made.g, T0 + ms * MS);
	}
	made_open(&made);
	for (unsigned int first = 0; first < 19; first++) {
		struct made_trace of = made;
		struct trace *once = cut(&made, first, T0 + first * MS, T0 + 20 * MS), *twice;
		struct analysis *a, *b;

		assert_int_equal(analysis_open(&a, once, NULL), 0);
		of.t = once;
		of.a = a;
		twice = cut(&of, 30 + first, T0 + (first + 1) * MS, T0 + 20 * MS);
		assert_int_equal(analysis_open(&b, twice, NULL), 0);
		for (unsigned int from = first + 1; from < 20; from++) {
			uint64_t from_ns = T0 + from * MS, to_ns = from_ns + MS / 2;
			unsigned int bits = complete_of(made.a, T0, from_ns, to_ns);

			assert_int_equal(complete_of(a, trace_start_ns(once), from_ns, to_ns),
					 bits);
			assert_int_equal(complete_of(b, trace_start_ns(twice), from_ns, to_ns),
					 bits);
			seen |= 1u << bits;
		}
		analysis_close(b);
		trace_close(twice);
		analysis_close(a);
		trace_close(once);
	}
	/*
	 * all; all but waits before the loss of RSS; memory, too, after it; cpu in a loss alone;
	 * devices and io only until the request has ended
	 */
	assert_int_equal(complete_of(made.a, T0, T0 + 12 * MS, T0 + 20 * MS), 26);
	assert_int_equal(seen, 1u << 31 | 1u << 30 | 1u << 28 | 1u << 26 | 1u << 24 | 1u << 2);
}

/* How many rows `loss` and the section Events of the summary have of a window. */
static void count_rows(struct analysis *a, uint64_t from_ns, uint64_t to_ns, unsigned int ret[2])
{
	struct report_request q = { .view = "loss", .from_ns = from_ns, .to_ns = to_ns };
	struct rows r;

	rows_report(&r, a, &q);
	ret[0] = r.row_cnt;
	rows_done(&r);
	q.view = "summary";
	rows_report(&r, a, &q);
	ret[1] = 0;
	for (unsigned int i = 0; i < r.row_cnt; i++)
		ret[1] += !strcmp(rows_text(&r, i, 0), "Events") &&
			  !strcmp(rows_text(&r, i, 2), "class");
	rows_done(&r);
}

/* The runs of a hook in the trace's statistics. */
static uint64_t runs_of(const struct trace *t, uint8_t hook)
{
	size_t cnt;
	const struct trace_hook_stat *h = trace_hook_stats(t, &cnt);
	uint64_t ret = 0;

	for (size_t i = 0; i < cnt; i++)
		ret += h[i].hook == hook ? h[i].run_cnt : 0;
	return ret;
}

/*
 * A cut takes hook statistics from outside its window for its estimates, without rows for their
 * samples.
 */
UNIT_TEST(test_a_cut_has_no_rows_of_samples_outside)
{
	unsigned int of_trace[2], of_cut[2], half;

	made_begin(&made, &(struct gen_config){ .cpu_cnt = 1, .from_ns = T0 });
	for (half = 0; half < 2; half++) {
		gen_hook_stat(made.g, &(struct trace_hook_stat){
			.from_ns = T0 + half * 10 * MS, .to_ns = T0 + (half + 1) * 10 * MS,
			.hook = half ? WIRE_SWITCH : WIRE_VM, .attempted_cnt = 8, .read_cnt = 8,
			.run_cnt = 8, .run_time_ns = 800, .sampled_ns = half * MS,
			.sampled_cnt = half * 8 });
		gen_slice(made.g, T0 + (half + 1) * 10 * MS);
	}
	made_open(&made);
	for (half = 0; half < 2; half++) {
		uint64_t from_ns = T0 + half * 10 * MS, to_ns = T0 + (half + 1) * 10 * MS;
		struct trace *t = cut(&made, half, from_ns, to_ns);
		struct analysis *a;

		assert_int_equal(analysis_open(&a, t, NULL), 0);
		count_rows(made.a, from_ns, to_ns, of_trace);
		count_rows(a, from_ns, to_ns, of_cut);
		assert_int_equal(of_trace[0], 1);
		assert_int_equal(of_trace[1], 1);
		assert_memory_equal(of_cut, of_trace, sizeof(of_cut));
		assert_int_equal(runs_of(t, half ? WIRE_VM : WIRE_SWITCH), 8);
		analysis_close(a);
		trace_close(t);
	}
}

/* A sample of counters and its losses count in one of two windows, in cost as in loss. */
UNIT_TEST(test_cost_counts_a_sample_where_it_ends)
{
	static const char *const views[] = { "loss", "cost" };
	struct report_request q;
	struct rows r;

	made_begin(&made, &(struct gen_config){ .cpu_cnt = 1, .from_ns = T0 });
	gen_cost(made.g, &(struct trace_cost){ .from_ns = T0, .to_ns = T0 + 10 * MS,
					       .user_ns = 5 });
	gen_hook_stat(made.g, &(struct trace_hook_stat){ .from_ns = T0, .to_ns = T0 + 10 * MS,
							 .hook = WIRE_SWITCH, .attempted_cnt = 8,
							 .read_cnt = 8 });
	gen_loss(made.g, &(struct trace_loss){ .from_ns = T0, .to_ns = T0 + 10 * MS,
					       .hook = WIRE_SWITCH, .cls = EVENT_CLASS_SCHED,
					       .missed_cnt = 6 });
	made_finish(&made, T0 + 10 * MS);
	for (unsigned int i = 0; i < 4; i++) {
		bool is_cost = i % 2, is_late = i / 2;

		q = made_request(&made, views[i % 2]);
		*(is_late ? &q.from_ns : &q.to_ns) = T0 + 5 * MS;
		rows_report(&r, made.a, &q);
		assert_int_equal(rows_cell(&r, 0, is_cost ? "events" : "read"), is_late ? 8 : 0);
		assert_int_equal(rows_cell(&r, 0, is_cost ? "skipped" : "missed"), is_late ? 6 : 0);
		rows_done(&r);
	}
}

/* It shows mapped memory, so a lost change of it matters. */
UNIT_TEST(test_memory_needs_changes_of_mapped_memory)
{
	made_begin(&made, &(struct gen_config){ .cpu_cnt = 1, .from_ns = T0 });
	gen_loss(made.g, &(struct trace_loss){ .from_ns = T0, .to_ns = T0 + 1 * MS, .hook = WIRE_VM,
					       .cls = EVENT_CLASS_ALLOC, .full_cnt = 1 });
	made_finish(&made, T0 + 10 * MS);
	rows_want(made.a, 0, "SELECT is_complete('report memory', 0, 10000000)");
	rows_want(made.a, 1, "SELECT is_complete('report cpu', 0, 10000000)");
}

UNIT_TESTS_END(made_close, made)
