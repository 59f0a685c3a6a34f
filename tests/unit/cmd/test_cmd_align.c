/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Tests of align: bins begin at whole multiples of UTC, and say by how much they do not. */
#include "analyze/engine/align.h"
#include "cmd/input/hosts.h"
#include "cmd/render/render.h"
#include "tests/unit/gen/gen_trace.h"
#include "tests/unit/unit_test.h"

#define S 1000000000ull
#define SLEEP (3600 * S + S / 10)
#define EPOCH 1700000000000000000ull /* gen_slice(): real_ns - mono_ns before anybody sleeps */

/* 1.3 s to 10 s of CLOCK_MONOTONIC; the machine sleeps an hour and 100 ms at 5.2 s. */
static struct trace *make(char dir[64])
{
	char path[80];
	struct trace *t;
	struct gen *g;

	gen_temp_dir(dir);
	snprintf(path, sizeof(path), "%s/trace", dir);
	g = gen_open(path, &(struct gen_config){ .from_ns = 1300000000 });
	gen_snap(g, 1300000000, 0, 100, 100, 1, "init");
	for (uint64_t at = 2 * S; at <= 10 * S; at += S) {
		if (at == 6 * S)
			gen_suspend(g, SLEEP);
		gen_switch(g, at - 1000, 0, at % (2 * S) ? 100 : 0, at % (2 * S) ? 0 : 100, 0);
		gen_slice(g, at);
	}
	gen_finish(g);
	assert_int_equal(trace_open(&t, path, NULL), 0);
	return t;
}

UNIT_TEST(test_align_widens_a_window_to_whole_bins)
{
	char dir[64];
	struct trace *t = make(dir);
	uint64_t from = trace_start_ns(t), to = trace_end_ns(t);
	struct err e = { "" };

	assert_int_equal(align_window(t, S, &from, &to, &e), 0);
	assert_int_equal(from, S);
	assert_int_equal(to, 10 * S);
	from = 2 * S + 1;
	to = 2 * S + 2;
	assert_int_equal(align_window(t, S / 2, &from, &to, &e), 0);
	assert_int_equal(from, 2 * S);
	assert_int_equal(to, 2 * S + S / 2);
	from = 3 * S;
	assert_int_equal(align_window(t, 3600 * S, &from, &to, &e), -ERANGE);
	assert_non_null(strstr(e.text, "before the machine was up"));
	trace_close(t);
	gen_remove_dir(dir);
}

/* The wall clock named the window. Its readings are some microseconds apart. */
UNIT_TEST(test_align_adds_no_bin_for_a_clock_that_drifts)
{
	char dir[64];
	struct trace *t = make(dir);
	uint64_t from = 3 * S - 1, to = 4 * S + 2000;

	assert_int_equal(align_window(t, S, &from, &to, NULL), 0);
	assert_int_equal(from, 3 * S);
	assert_int_equal(to, 4 * S);
	/* short bins are not shortened by much, and a window shorter than that has one bin */
	from = 3 * S - 200000;
	to = from + 100000;
	assert_int_equal(align_window(t, S / 1000, &from, &to, NULL), 0);
	assert_int_equal(from, 3 * S - S / 1000);
	assert_int_equal(to, 3 * S);
	from = 3 * S - 100000;
	to = 3 * S + 50000;
	assert_int_equal(align_window(t, S / 1000, &from, &to, NULL), 0);
	assert_int_equal(from, 3 * S);
	assert_int_equal(to, 3 * S + S / 1000);
	/* the trace's own edges are not readings of the wall clock: the whole trace stays in */
	from = trace_start_ns(t);
	to = trace_end_ns(t);
	assert_int_equal(align_window(t, 500187000, &from, &to, NULL), 0);
	assert_true(from <= trace_start_ns(t));
	assert_true(to >= trace_end_ns(t));
	trace_close(t);
	gen_remove_dir(dir);
}

UNIT_TEST(test_align_says_how_far_a_bin_is_from_its_multiple)
{
	char dir[64];
	struct trace *t = make(dir);
	uint64_t read = align_clock_uncertainty(t);
	struct value row[2];

	/* from the trace's start: the bin that begins before it, and the next one */
	align_row(t, S, -300000000, row);
	assert_int_equal(row[0].i, EPOCH + S);
	assert_int_equal(row[1].i, read);
	align_row(t, S, 700000000, row);
	assert_int_equal(row[0].i, EPOCH + 2 * S);
	assert_int_equal(row[1].i, read);
	/* after the sleep, 7 s are 7.1 s and an hour */
	align_row(t, S, 5700000000, row);
	assert_int_equal(row[0].i, EPOCH + 7 * S + 3600 * S);
	assert_int_equal(row[1].i, read + S / 10);
	/* the nearest multiple may be the one after */
	align_row(t, S, 5700000000 - 300000000, row);
	assert_int_equal(row[0].i, EPOCH + 7 * S + 3600 * S);
	assert_int_equal(row[1].i, read + S / 5);
	trace_close(t);
	gen_remove_dir(dir);
}

UNIT_TESTS
