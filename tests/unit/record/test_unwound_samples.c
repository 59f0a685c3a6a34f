/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * The writer replaces the user frames of a sample by those unwound from its copy of the stack. If
 * these end too early, it marks the end, and appends the kernel's frames beyond it.
 */
#include "tests/unit/gen/made_trace.h"
#include "tests/unit/unit_test.h"

#define KERNEL 0xffffffff81000001ull
#define CUT TRACE_ADDR_NOT_UNWOUND
#define CASES 7

static const struct {
	uint64_t kernel[3], user[5];	/* frames of the kernel; ends with 0 */
	uint64_t unwound[5];		/* ends with 0 */
	bool is_whole;
	uint64_t want[8];
} cases[CASES] = {
	/* the first is the thread's position, stored like the return address of a call */
	{ { 0 }, { 0x5001 }, { 0x5000, 0x6000, 0x7000 }, true, { 0x5001, 0x6000, 0x7000 } },
	/* in a system call */
	{ { KERNEL }, { 0x5001 }, { 0x5000, 0x6000 }, true, { KERNEL, 0x5001, 0x6000 } },
	{ { 0 }, { 0x5001, 0x9000 }, { 0x5000, 0x6000 }, false, { 0x5001, 0x6000, CUT } },
	/* the kernel went on, to the end of the chain */
	{ { 0 }, { 0x5001, 0x6000, 0x7000, 0x8000 }, { 0x5000, 0x6000 }, false,
	  { 0x5001, 0x6000, 0x7000, 0x8000 } },
	{ { 0 }, { 0x5001, 0x6000, 0x7000, 8 }, { 0x5000, 0x6000 }, false,
	  { 0x5001, 0x6000, 0x7000 } },
	{ { 0 }, { 0x5001, 0x6000 }, { 0x5000, 0x6000 }, false, { 0x5001, 0x6000, CUT } },
	/* not unwound at all */
	{ { KERNEL }, { 0x5001, 0x6000, 8 }, { 0 }, false, { KERNEL, 0x5001, 0x6000 } },
};

static unsigned int count(const uint64_t *v)
{
	unsigned int n = 0;

	while (v[n])
		n++;
	return n;
}

/* The copy says which case it is. */
static unsigned int give(void *ctx, uint32_t pid, uint64_t ts_ns, const struct unwind_stack *copy,
			 uint64_t *frames, unsigned int max, bool *ret_whole)
{
	unsigned int nr = copy->bytes[0], n = count(cases[nr].unwound);

	assert_int_equal(pid, 100);
	assert_true(n <= max);
	memcpy(frames, cases[nr].unwound, n * sizeof(*frames));
	*ret_whole = cases[nr].is_whole;
	return n;
}

static void put_sample(struct gen *g, unsigned int nr)
{
	static struct wire_sample r;
	unsigned int kernel_cnt = count(cases[nr].kernel), user_cnt = count(cases[nr].user);

	memset(&r, 0, sizeof(r));
	r.hdr = (struct wire_hdr){ .ts_ns = 2000 + nr, .hook = WIRE_SAMPLE, .tid = 100 };
	r.kernel_cnt = (wire_u16)kernel_cnt;
	r.user_cnt = (wire_u16)user_cnt;
	memcpy(r.frames, cases[nr].kernel, kernel_cnt * sizeof(r.frames[0]));
	memcpy(r.frames + kernel_cnt, cases[nr].user, user_cnt * sizeof(r.frames[0]));
	r.stack_bytes = 13 + nr;	/* the record is filled up to a multiple of 8 */
	r.stack[0] = (wire_u8)nr;
	gen_raw(g, &r, (offsetof(struct wire_sample, stack) + r.stack_bytes + 7) & ~(size_t)7);
}

UNIT_TEST(test_frames_of_copies)
{
	const struct trace_frame *f;
	struct event_cursor *c;
	const struct event *ev;
	unsigned int i, k;
	struct made_trace m;
	size_t cnt;

	made_begin(&m, &(struct gen_config){ .from_ns = 1000, .unwind = give });
	gen_snap(m.g, 1000, 0, 100, 100, 1, "sampled");
	for (i = 0; i < CASES; i++)
		put_sample(m.g, i);
	made_read(&m, 1000000);
	assert_int_equal(event_cursor_open(&c, m.t, 1u << EVENT_SAMPLE, 0, UINT64_MAX, NULL), 0);
	for (i = 0; i < CASES; i++) {
		assert_int_equal(event_cursor_next(c, &ev, NULL), 1);
		f = trace_stack_find(m.t, ev->v[EV_SAMPLE_STACK], &cnt);
		assert_int_equal(cnt, count(cases[i].want));
		for (k = 0; k < cnt; k++) {
			assert_int_equal(f[k].addr, cases[i].want[k]);
			assert_int_equal(!f[k].upid, f[k].addr == KERNEL);
		}
	}
	assert_int_equal(event_cursor_next(c, &ev, NULL), 0);
	event_cursor_close(c);
	made_close(&m);
}

UNIT_TESTS
