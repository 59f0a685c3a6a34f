/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * The clocks of a machine that is suspended while it is recorded: CLOCK_MONOTONIC, and with it the
 * trace, stops; the wall clock has advanced when the machine wakes. Also a trace from a machine of
 * the other byte order.
 */
#include <byteswap.h>

#include "base/crc32c.h"
#include "base/err.h"
#include "format/chunk.h"
#include "tests/unit/gen/made_trace.h"
#include "tests/unit/gen/made_files.h"
#include "tests/unit/unit_test.h"

#define S 1000000000ull
#define HOUR (3600 * S)
#define EPOCH 1700000000000000000ull	/* gen_slice(): real_ns - mono_ns before anybody sleeps */

static struct made_trace made;

/*
 * Ten seconds, with an hour's sleep at 5.2 s, and another at 8.5 s. The clocks are read at every
 * full second.
 */
UNIT_TEST(test_suspend_moves_the_wall_clock_and_not_the_trace)
{
	uint64_t mono, real, last_real = 0, back, last_back = 0;
	const struct trace_clock *c;
	struct trace *t;
	size_t cnt, i;

	made_begin(&made, &(struct gen_config){ .from_ns = S });
	gen_snap(made.g, S, 0, 100, 100, 1, "init");
	for (uint64_t at = 2 * S; at <= 10 * S; at += S) {
		if (at == 6 * S || at == 9 * S)
			gen_suspend(made.g, HOUR);
		gen_switch(made.g, at - 1000, 0, at % (2 * S) ? 100 : 0, at % (2 * S) ? 0 : 100, 0);
		gen_slice(made.g, at);
	}
	made_read(&made, 0);
	t = made.t;
	/* no time passes in the trace: windows and sums know nothing of it */
	assert_int_equal(trace_start_ns(t), S);
	assert_int_equal(trace_end_ns(t), 10 * S);
	c = trace_clocks(t, &cnt);
	assert_int_equal(cnt, 9);
	for (i = 1; i < cnt; i++)
		assert_int_equal((c[i].boot_ns - c[i].mono_ns) -
					 (c[i - 1].boot_ns - c[i - 1].mono_ns),
				 c[i].mono_ns == 6 * S || c[i].mono_ns == 9 * S ? HOUR : 0);
	/* an instant has the wall clock of the nearest reading; of two, of the one before */
	assert_int_equal(trace_real_ns(t, 5 * S + S / 2 - 1), EPOCH + 5 * S + S / 2 - 1);
	assert_int_equal(trace_real_ns(t, 5 * S + S / 2), EPOCH + 5 * S + S / 2);
	assert_int_equal(trace_real_ns(t, 5 * S + S / 2 + 1), EPOCH + 5 * S + S / 2 + 1 + HOUR);
	assert_int_equal(trace_real_ns(t, 3 * S + 7), EPOCH + 3 * S + 7);
	assert_int_equal(trace_real_ns(t, 7 * S), EPOCH + 7 * S + HOUR);
	assert_int_equal(trace_real_ns(t, 10 * S), EPOCH + 10 * S + 2 * HOUR);
	/* later is later, in both directions */
	for (mono = S; mono <= 10 * S; mono += S / 10) {
		real = trace_real_ns(t, mono);
		assert_true(real > last_real);
		last_real = real;
	}
	for (real = EPOCH; real < EPOCH + 3 * HOUR; real += 60 * S) {
		back = trace_mono_from_real_ns(t, real);
		assert_true(back >= last_back);
		last_back = back;
	}
	/* converted to wall time and back, at instants with a reading of the clocks */
	for (mono = 2 * S; mono <= 10 * S; mono += S)
		assert_int_equal(trace_mono_from_real_ns(t, trace_real_ns(t, mono)), mono);
	/*
	 * A time during the sleep is where the machine fell asleep, within the second between
	 * two readings.
	 */
	back = trace_mono_from_real_ns(t, EPOCH + 5 * S + HOUR / 2);
	assert_true(back >= 5 * S && back <= 6 * S);
	back = trace_mono_from_real_ns(t, EPOCH + 8 * S + HOUR + HOUR / 3);
	assert_true(back >= 8 * S && back <= 9 * S);
}

/* The clock is set in two of the intervals between readings; in the second the machine sleeps. */
UNIT_TEST(test_steps_of_the_wall_clock_are_bounded)
{
	struct trace_clock_step step;
	struct trace *t;

	made_begin(&made, &(struct gen_config){ .from_ns = S });
	gen_snap(made.g, S, 0, 100, 100, 1, "init");
	for (uint64_t at = 2 * S; at <= 11 * S; at += S) {
		if (at == 5 * S)
			gen_set_clock(made.g, -3 * (int64_t)S);
		if (at == 7 * S) /* as NTP does: no step */
			gen_set_clock(made.g, 400000);
		if (at == 8 * S) {
			gen_set_clock(made.g, (int64_t)HOUR);
			gen_suspend(made.g, 60 * S);
		}
		gen_slice(made.g, at);
	}
	made_read(&made, 0);
	t = made.t;
	assert_true(trace_clock_step_find(t, 0, UINT64_MAX, &step));
	assert_int_equal(step.from_ns, 4 * S);
	assert_int_equal(step.to_ns, 5 * S);
	assert_int_equal(step.set_ns, -3 * (int64_t)S);
	assert_int_equal(step.suspended_ns, 0);
	/* the interval is half-open, and so is the question */
	assert_false(trace_clock_step_find(t, 0, 4 * S, &step));
	assert_true(trace_clock_step_find(t, 0, 4 * S + 1, &step));
	assert_true(trace_clock_step_find(t, 5 * S - 1, 5 * S, &step));
	assert_false(trace_clock_step_find(t, 5 * S, 7 * S, &step));
	assert_true(trace_clock_step_find(t, 5 * S, UINT64_MAX, &step));
	assert_int_equal(step.from_ns, 7 * S);
	assert_int_equal(step.to_ns, 8 * S);
	assert_int_equal(step.set_ns, HOUR);
	assert_int_equal(step.suspended_ns, 60 * S);
	assert_false(trace_clock_step_find(t, 8 * S, UINT64_MAX, &step));
}

/*
 * Makes a trace and converts all numbers of header and blocks, and checksums, to those of a
 * big-endian machine. Returns the open chunk file.
 */
static int make_big_endian(void)
{
	uint32_t words[224 / 4], crc;
	off_t at = 64;
	int fd;

	made_begin(&made, &(struct gen_config){ .from_ns = S });
	gen_snap(made.g, S, 0, 100, 100, 1, "init");
	made_read(&made, 2 * S);
	fd = open(file_in(made.path, "chunk-000000.ebr"), O_RDWR);
	assert_true(fd >= 0);
	assert_int_equal(pread(fd, words, 64, 0), 64);
	words[2] = bswap_32(CHUNK_VERSION) >> 16;	/* u16 version */
	words[3] = bswap_32(words[3]);
	crc = bswap_32(crc32c(0, words, 60));
	words[15] = crc;
	assert_int_equal(pwrite(fd, words, 64, 0), 64);
	assert_int_equal(pread(fd, words, sizeof(words), at), sizeof(words));
	words[2] = bswap_32(CHUNK_VERSION) >> 16;
	for (size_t i = 3; i < 55; i++)
		words[i] = bswap_32(words[i]);
	words[55] = bswap_32(crc32c(0, words, 220));
	assert_int_equal(pwrite(fd, words, sizeof(words), at), sizeof(words));
	return fd;
}

UNIT_TEST(test_other_byte_order_is_refused_by_name)
{
	struct err e = { 0 };
	struct trace *t = NULL;

	close(make_big_endian());
	assert_int_equal(trace_open(&t, made.path, &e), -EPROTONOSUPPORT);
	assert_null(t);
	assert_non_null(strstr(e.text, "chunk-000000.ebr"));
	assert_non_null(strstr(e.text, "big-endian"));
}

/* Without the file header the byte order is unknown: the file is damaged, and returns no number. */
UNIT_TEST(test_other_byte_order_without_header_is_damage)
{
	int fd = make_big_endian();
	const struct trace_damage *d;
	struct trace *t;
	size_t cnt, damages;

	assert_int_equal(pwrite(fd, "x", 1, 40), 1);
	close(fd);
	assert_int_equal(trace_open(&t, made.path, NULL), 0);
	trace_blocks(t, &cnt);
	assert_int_equal(cnt, 0);
	d = trace_damages(t, &damages);
	assert_true(damages >= 1 && d->reason[0]);
	trace_close(t);
}

UNIT_TESTS_END(made_close, made)
