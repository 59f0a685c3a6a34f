/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * A trace closes every descriptor that it opens, including 0, which is free without an input. It
 * has one file open at a time. Missing files are reported by name. A quota that stays
 * the same in the next block is returned once.
 */
#include <dirent.h>

#include "format/columns.h"
#include "store/chunk_scan.h"
#include "tests/unit/gen/made_trace.h"
#include "trace/trace_read.h"
#include "tests/unit/unit_test.h"

static struct made_trace made;

UNIT_TEST(test_descriptor_0_is_given_back)
{
	int kept = fcntl(0, F_DUPFD_CLOEXEC, 3);
	struct trace *t;

	made_begin(&made, &(struct gen_config){ .cpu_cnt = 1, .from_ns = 1000 });
	gen_snap(made.g, 1000, 0, 100, 100, 1, "task");
	made_finish(&made, 2000);
	close(0);
	assert_int_equal(trace_open(&t, made.path, NULL), 0);
	assert_int_not_equal(fcntl(0, F_GETFD), -1);
	trace_close(t);
	assert_int_equal(fcntl(0, F_GETFD), -1);
	if (kept >= 0) {
		assert_int_equal(dup2(kept, 0), 0);
		close(kept);
	}
}

/* Blocks of 100 events or so, each in a file of its own. */
static void make_files(struct made_trace *m, unsigned int cnt)
{
	struct gen_mix mix = { .seed = 5, .now_ns = 1000 };

	made_begin(m, &(struct gen_config){ .from_ns = 1000, .file_bytes = 1000 });
	gen_mix_start(m->g, &mix);
	while (cnt--) {
		gen_mix_run(m->g, &mix, 100);
		gen_slice(m->g, ++mix.now_ns);
	}
	gen_mix_done(&mix);
	made_open(m);
}

static unsigned int open_files(void)
{
	unsigned int cnt = 0;
	DIR *d = opendir("/proc/self/fd");

	assert_non_null(d);
	while (readdir(d))
		cnt++;
	closedir(d);
	return cnt;
}

/* Blocks of many files are read one after the other, and one file at a time is open. */
UNIT_TEST(test_one_file_is_open_at_a_time)
{
	unsigned int before;
	struct event_cursor *c;
	const struct event *ev;
	uint64_t events = 0;

	make_files(&made, 40);
	assert_string_not_equal(trace_block_at(made.t, 39)->file, trace_block_at(made.t, 0)->file);
	before = open_files();
	assert_int_equal(event_cursor_open(&c, made.t, ~0u, 0, UINT64_MAX, NULL), 0);
	while (event_cursor_next(c, &ev, NULL) > 0) {
		events++;
		assert_in_range(open_files(), before, before + 1);
	}
	assert_true(events > 3000);
	event_cursor_close(c);
}

struct taken {
	uint64_t to_ns, cnt[EVENT_KIND_CNT], ts_sum[EVENT_KIND_CNT], utid_sum;
};

static int take_range(void *ctx, const struct kind_columns *k, uint32_t row, uint32_t end)
{
	struct taken *x = ctx;

	assert_true(row < end);
	for (; row < end; row++) {
		assert_true(k->ts_ns[row] < x->to_ns);
		x->cnt[k->kind]++;
		x->ts_sum[k->kind] += k->ts_ns[row];
		x->utid_sum += k->utid[row];
	}
	return 0;
}

/* Ranges before growing times contain each event once, no later than its time. */
UNIT_TEST(test_ranges_have_the_events)
{
	struct taken in_order = { 0 }, x = { 0 };
	struct event_cursor *c;
	const struct event *ev;
	struct made_trace m;
	uint64_t early = 0;

	make_files(&m, 40);
	assert_int_equal(event_cursor_open(&c, m.t, ~0u, 0, UINT64_MAX, NULL), 0);
	while (event_cursor_next(c, &ev, NULL) > 0) {
		in_order.cnt[ev->kind]++;
		in_order.ts_sum[ev->kind] += ev->ts_ns;
		in_order.utid_sum += ev->utid;
		early += ev->ts_ns < trace_start_ns(m.t) + 1000000;
	}
	event_cursor_close(c);
	assert_int_equal(event_cursor_open(&c, m.t, ~0u, 0, UINT64_MAX, NULL), 0);
	for (x.to_ns = trace_start_ns(m.t); x.to_ns <= trace_end_ns(m.t);) {
		uint64_t cnt = 0;

		x.to_ns += 1000000;
		assert_int_equal(event_cursor_ranges(c, x.to_ns, take_range, &x, NULL), 0);
		for (unsigned int kind = 0; kind < EVENT_KIND_CNT; kind++)
			cnt += x.cnt[kind];
		if (x.to_ns == trace_start_ns(m.t) + 1000000)
			assert_int_equal(cnt, early);
	}
	event_cursor_close(c);
	x.to_ns = 0;
	assert_memory_equal(&x, &in_order, sizeof(x));
	made_close(&m);
}

/* The files at a trace's end that are gone are named, each once. */
UNIT_TEST(test_files_that_are_gone_are_named)
{
	for (unsigned int gone = 0; gone < 4; gone++) {
		const struct trace_damage *d;
		char name[CHUNK_NAME_BYTES], file[160];
		struct made_trace m;
		uint64_t last;
		size_t cnt;

		make_files(&m, 10);
		last = trace_get_number(m.t, "span.last_file");
		assert_true(last > 5);
		for (unsigned int i = 0; i < gone; i++) {
			chunk_name_format(name, last - i);
			snprintf(file, sizeof(file), "%s/%s", m.path, name);
			assert_int_equal(unlink(file), 0);
		}
		analysis_close(m.a);
		trace_close(m.t);
		m.a = NULL;
		assert_int_equal(trace_open(&m.t, m.path, NULL), 0);
		d = trace_damages(m.t, &cnt);
		assert_int_equal(cnt, gone);
		for (unsigned int i = 0; i < gone; i++) {
			chunk_name_format(name, last - gone + 1 + i);
			assert_string_equal(d[i].file, name);
		}
		made_close(&m);
	}
}

/* Group 77 has the same quota all the time, in three blocks. */
UNIT_TEST(test_a_quota_that_stays_the_same_is_one)
{
	const struct trace_quota *q;
	size_t cnt, of_77 = 0;

	made_begin(&made, &(struct gen_config){ .cpu_cnt = 1, .from_ns = 1000, .quotas = true });
	gen_snap(made.g, 1000, 0, 100, 100, 1, "task");
	for (uint64_t to_ns = 2000; to_ns <= 4000; to_ns += 1000)
		gen_slice(made.g, to_ns);
	made_open(&made);
	q = trace_quotas(made.t, &cnt);
	for (size_t i = 0; i < cnt; i++)
		if (q[i].cgroup_id == 77) {
			of_77++;
			assert_int_equal(q[i].from_ns, 1000);
			assert_int_equal(q[i].to_ns, 4000);
		}
	assert_int_equal(of_77, 1);
}

UNIT_TESTS_END(made_close, made)
