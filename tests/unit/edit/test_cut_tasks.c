/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* The tasks of a cut: those alive in its window, or only the selected ones. */
#include "edit/trace_cut.h"
#include "tests/unit/gen/made_trace.h"
#include "tests/unit/gen/table_rows.h"
#include "tests/unit/gen/made_files.h"
#include "tests/unit/unit_test.h"
#include "trace/trace_read.h"

#define T0 1000000000ull

static struct made_trace made;

static void lose(struct made_trace *m, uint64_t from_ns, uint64_t to_ns)
{
	gen_loss(m->g, &(struct trace_loss){ .from_ns = T0 + from_ns, .to_ns = T0 + to_ns,
					     .hook = WIRE_SWITCH, .cls = EVENT_CLASS_SCHED,
					     .full_cnt = 1 });
}

/* Two keep memory from before 5 ms; one is born at 8 ms, and one dies at 5 ms. */
static void make(struct made_trace *m)
{
	made_begin(m, &(struct gen_config){ .cpu_cnt = 2, .from_ns = T0 });
	gen_snap(m->g, T0, 0, 100, 100, 1, "mine");
	gen_snap(m->g, T0, 0, 200, 200, 1, "others");
	gen_snap(m->g, T0, 0, 300, 300, 1, "dies");
	for (unsigned int i = 0; i < 2; i++)
		gen_kmalloc(m->g, T0 + 2 * MS + i, i, 100 + 100 * i, 0x1000 * (1 + i), 64, 77, 0);
	gen_exit(m->g, T0 + 5 * MS, 0, 300, 300, 0, true, 0);
	gen_switch(m->g, T0 + 6 * MS, 0, 0, 100, 0);
	gen_switch(m->g, T0 + 6 * MS + 1, 1, 0, 200, 0);
	gen_switch(m->g, T0 + 7 * MS, 0, 100, 0, 0);
	gen_switch(m->g, T0 + 7 * MS + 1, 1, 200, 0, 0);
	gen_new(m->g, T0 + 8 * MS, 0, 100, 400, 400, 100, "born");
	lose(m, 1 * MS, 4 * MS);
	lose(m, 3 * MS, 5 * MS + 1);
	lose(m, 9 * MS - 1, 10 * MS);
	lose(m, 9 * MS, 10 * MS);
	made_finish(m, T0 + 10 * MS);
}

/* Cuts a window, of one process or of all, and opens the cut in place of the trace. */
static void cut(struct made_trace *m, uint64_t from_ns, uint64_t to_ns, const char *comm)
{
	struct trace_cut_request q = { .from_ns = T0 + from_ns, .to_ns = T0 + to_ns,
				       .before = analysis_checkpoint, .before_ctx = m->a,
				       .reason = "test", .processes = comm };
	struct trace_cut_result result;
	struct err e = { "" };
	char path[96];
	uint32_t upid;

	if (comm) {
		upid = (uint32_t)rows_one(m->a, "SELECT upid FROM processes WHERE comm = '%s'",
					  comm);
		q.upids = &upid;
		q.upid_cnt = 1;
	}
	snprintf(path, sizeof(path), "%s/cut", m->dir);
	if (trace_cut(m->t, &q, path, &result, &e) < 0)
		fail_msg("%s", e.text);
	analysis_close(m->a);
	trace_close(m->t);
	if (trace_open(&m->t, path, &e) < 0 || analysis_open(&m->a, m->t, &e) < 0)
		fail_msg("%s", e.text);
}

static int64_t processes_named(struct made_trace *m, const char *comm)
{
	return rows_one(m->a, "SELECT count(*) FROM processes WHERE comm = '%s'", comm);
}

UNIT_TEST(test_who_lived_in_the_window_is_in_the_cut)
{
	int64_t born_ns;

	make(&made);
	born_ns = rows_one(made.a, "SELECT start_ns FROM processes WHERE comm = 'born'");
	cut(&made, 5 * MS, (uint64_t)born_ns, NULL);
	assert_int_equal(processes_named(&made, "mine"), 1);
	assert_int_equal(processes_named(&made, "others"), 1);
	/* its end is an event of the window */
	assert_int_equal(processes_named(&made, "dies"), 1);
	assert_int_equal(processes_named(&made, "born"), 0);
	made_close(&made);
	make(&made);
	cut(&made, 5 * MS + 1, (uint64_t)born_ns + 1, NULL);
	assert_int_equal(processes_named(&made, "dies"), 0);
	assert_int_equal(processes_named(&made, "born"), 1);
}

static unsigned int allocations(struct made_trace *m, int64_t *ret_tid)
{
	struct event_cursor *c;
	const struct event *ev;
	unsigned int cnt = 0;

	assert_int_equal(event_cursor_open(&c, m->t, 1u << EVENT_SLAB_ALLOC, 0, UINT64_MAX, NULL),
			 0);
	for (; event_cursor_next(c, &ev, NULL) > 0; cnt++)
		*ret_tid = trace_thread_find(m->t, ev->utid)->tid;
	event_cursor_close(c);
	return cnt;
}

UNIT_TEST(test_what_is_carried_over_is_of_the_chosen_alone)
{
	int64_t tid;

	make(&made);
	cut(&made, 5 * MS, 9 * MS, NULL);
	assert_int_equal(allocations(&made, &tid), 2);
	made_close(&made);
	make(&made);
	cut(&made, 5 * MS, 9 * MS, "mine");
	assert_int_equal(allocations(&made, &tid), 1);
	assert_int_equal(tid, 100);
	assert_int_equal(processes_named(&made, "mine"), 1);
	assert_int_equal(processes_named(&made, "others"), 0);
}

/* A request belongs to its submitter, not to the task that handles its completion. */
UNIT_TEST(test_a_request_belongs_to_who_made_it)
{
	static const char *const names[] = { "mine", "others", "dies" };
	static const int64_t requests[] = { 1, 0, 0 };
	struct made_trace m;

	for (unsigned int i = 0; i < 3; i++) {
		made_begin(&m, &(struct gen_config){ .cpu_cnt = 1, .from_ns = T0 });
		for (uint32_t k = 0; k < 3; k++)
			gen_snap(m.g, T0, 0, 100 + 100 * k, 100 + 100 * k, 1, names[k]);
		gen_block(m.g, T0 + 1 * MS, 0, 100, WIRE_BLOCK_INSERT, 7, 8 << 20, 64, 4096, 0);
		gen_block(m.g, T0 + 2 * MS, 0, 100, WIRE_BLOCK_ISSUE, 7, 8 << 20, 64, 4096, 0);
		gen_block(m.g, T0 + 3 * MS, 0, 200, WIRE_BLOCK_COMPLETE, 7, 8 << 20, 64, 4096, 0);
		made_finish(&m, T0 + 10 * MS);
		rows_want(m.a, 1, "SELECT count(*) FROM block_requests");
		cut(&m, 0, 10 * MS, names[i]);
		rows_want(m.a, requests[i], "SELECT count(*) FROM block_requests");
		made_close(&m);
	}
}

UNIT_TEST(test_losses_of_the_window_are_in_the_cut)
{
	size_t cnt;

	make(&made);
	trace_losses(made.t, &cnt);
	assert_int_equal(cnt, 4);
	cut(&made, 5 * MS, 9 * MS, NULL);
	trace_losses(made.t, &cnt);
	assert_int_equal(cnt, 2);
}

/* Readings of the clocks, one at the end of each slice: those inside, and the next on each side. */
UNIT_TEST(test_clocks_around_the_window_are_in_the_cut)
{
	static const uint64_t windows[][4] = {	/* from, to, first and last reading, in ms */
		{ 25, 55, 20, 60 }, { 20, 50, 10, 50 }, { 31, 32, 30, 40 }, { 0, 5, 10, 10 },
		{ 95, 100, 90, 100 },
	};
	const struct trace_clock *c;
	struct made_trace m;
	size_t cnt;

	for (size_t i = 0; i < sizeof(windows) / sizeof(windows[0]); i++) {
		made_begin(&m, &(struct gen_config){ .cpu_cnt = 1, .from_ns = T0 });
		for (uint64_t ms = 10; ms <= 100; ms += 10)
			gen_slice(m.g, T0 + ms * MS);
		made_open(&m);
		trace_clocks(m.t, &cnt);
		assert_int_equal(cnt, 10);
		cut(&m, windows[i][0] * MS, windows[i][1] * MS, NULL);
		c = trace_clocks(m.t, &cnt);
		assert_int_equal(cnt, (windows[i][3] - windows[i][2]) / 10 + 1);
		assert_int_equal(c[0].mono_ns, T0 + windows[i][2] * MS);
		assert_int_equal(c[cnt - 1].mono_ns, T0 + windows[i][3] * MS);
		made_close(&m);
	}
}

static void make_mix(struct made_trace *m)
{
	struct gen_mix mix = { .seed = 3, .now_ns = T0 };

	made_begin(m, &(struct gen_config){
		.cpu_cnt = 2, .from_ns = T0,
		.sources = "sched.switch,sched.wakeup,alloc.slab,alloc.page",
	});
	gen_mix_start(m->g, &mix);
	for (unsigned int i = 0; i < 3; i++) {
		gen_mix_run(m->g, &mix, 20000);
		gen_slice(m->g, ++mix.now_ns);
	}
	gen_mix_done(&mix);
	made_open(m);
}

/* A cut of everything without the source is smaller by about the predicted number of bytes. */
static void leave_out(const char *source)
{
	struct trace_cut_request q = { .from_ns = T0, .to_ns = UINT64_MAX, .reason = "test",
				       .before = analysis_checkpoint };
	uint64_t saved[TRACE_CUT_SOURCE_MAX] = { 0 }, all = 0, bytes = 0;
	struct trace_cut_result result;
	struct made_trace m;
	unsigned int at = 0;

	make_mix(&m);
	q.before_ctx = m.a;
	while (strcmp(trace_cut_source(at), source))
		at++;
	q.left_out = 1u << at;
	for (size_t i = 0; i < trace_block_cnt(m.t); i++) {
		assert_int_equal(trace_cut_saved(m.t, i, saved, NULL), 0);
		bytes += trace_block_at(m.t, i)->bytes;
	}
	for (unsigned int i = 0; trace_cut_source(i); i++)
		all += saved[i];
	assert_true(saved[at] > bytes / 50 && all < bytes);
	assert_int_equal(trace_cut(m.t, &q, file_in(m.dir, "cut"), &result, NULL), 0);
	/* names and stacks that only these events have go, too */
	assert_in_range(result.bytes, (bytes - saved[at]) * 9 / 10, (bytes - saved[at]) * 11 / 10);
	made_close(&m);
}

UNIT_TEST(test_what_leaving_out_saves_is_foretold)
{
	leave_out("sched.wakeup");
	leave_out("alloc.slab");
	leave_out("alloc.page");
}

UNIT_TESTS_END(made_close, made)
