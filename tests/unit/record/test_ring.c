/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Cuts of a ring's stream, also when memory is out: a BPF ring buffer, filled by a program that is
 * run by hand.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <bpf/bpf.h>
#include <cmocka.h>
#include <linux/bpf.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "ring/ring.h"

#define RING_BYTES (2u << 20)
#define RECORD_BYTES 1016u /* with its header 1024 */

struct producer {
	int ring_fd, record_fd, prog_fd;
};

/* A program that sends the only value of the map record_fd into the ring. */
static int load_program(const struct producer *p)
{
	const struct bpf_insn insns[] = {
		{ .code = BPF_LD | BPF_IMM | BPF_DW,
		  .dst_reg = BPF_REG_1,
		  .src_reg = BPF_PSEUDO_MAP_FD,
		  .imm = p->ring_fd },
		{ 0 },
		{ .code = BPF_LD | BPF_IMM | BPF_DW,
		  .dst_reg = BPF_REG_2,
		  .src_reg = BPF_PSEUDO_MAP_VALUE,
		  .imm = p->record_fd },
		{ 0 },
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_3, .imm = RECORD_BYTES },
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K,
		  .dst_reg = BPF_REG_4,
		  .imm = BPF_RB_NO_WAKEUP },
		{ .code = BPF_JMP | BPF_CALL, .imm = BPF_FUNC_ringbuf_output },
		{ .code = BPF_JMP | BPF_EXIT },
	};

	return bpf_prog_load(BPF_PROG_TYPE_RAW_TRACEPOINT, "produce", "GPL", insns,
			     sizeof(insns) / sizeof(insns[0]), NULL);
}

static bool producer_open(struct producer *p)
{
	p->ring_fd = bpf_map_create(BPF_MAP_TYPE_RINGBUF, "ring", 0, 0, RING_BYTES, NULL);
	p->record_fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "record", 4, RECORD_BYTES, 1, NULL);
	if (p->ring_fd < 0 || p->record_fd < 0)
		return false;
	p->prog_fd = load_program(p);
	assert_true(p->prog_fd >= 0);
	return true;
}

static void producer_close(const struct producer *p)
{
	close(p->prog_fd);
	close(p->record_fd);
	close(p->ring_fd);
}

/* Puts cnt records of instant ts_ns into the ring. */
static void produce(const struct producer *p, unsigned int cnt, uint64_t ts_ns)
{
	struct wire_hdr hdr = { .ts_ns = ts_ns, .hook = WIRE_SWITCH };
	unsigned char record[RECORD_BYTES] = { 0 };
	uint32_t zero = 0;

	memcpy(record, &hdr, sizeof(hdr));
	assert_int_equal(bpf_map_update_elem(p->record_fd, &zero, record, 0), 0);
	while (cnt--) {
		LIBBPF_OPTS(bpf_test_run_opts, opts);

		assert_int_equal(bpf_prog_test_run_opts(p->prog_fd, &opts), 0);
		assert_int_equal(opts.retval, 0);
	}
}

static size_t slice_records(const struct ring_slice *slice)
{
	const struct ring_slab *s;
	size_t bytes = 0;

	for (s = slice->first; s; s = s->next)
		bytes += s->bytes;
	return bytes / RECORD_BYTES;
}

/* Takes a cut; how many records it has. */
static size_t take(struct ring_group *g)
{
	struct ring_slice slice;
	size_t cnt;

	assert_int_equal(ring_group_take(g, &slice, 30000), 0);
	cnt = slice_records(&slice);
	ring_group_release(g, &slice);
	return cnt;
}

/*
 * Two thousand records in a ring, and memory for a quarter: a cut still comes to its end, with all
 * of them, twice.
 */
static void test_ring_cut_ends_when_memory_is_out(void **state)
{
	struct producer p;
	struct ring_group_config config = { .fds = &p.ring_fd,
					    .ring_cnt = 1,
					    .ring_bytes = RING_BYTES,
					    .memory_bytes = 512 << 10,
					    .poll_ms = 5 };
	struct ring_group *g;
	struct ring_stats stats;
	struct err e;
	int round;

	if (!producer_open(&p))
		skip(); /* not root */
	assert_int_equal(ring_group_new(&g, &config, &e), 0);
	ring_group_start_at(g, 1);
	for (round = 1; round <= 2; round++) {
		produce(&p, 1900, (uint64_t)round * 100);
		ring_group_cut(g, (uint64_t)round * 100 + 50); /* long ago: due at once */
		assert_int_equal(take(g), 1900);
	}
	/* it was memory beyond the limit, and that was given back */
	ring_group_stats(g, &stats, false);
	assert_int_equal(stats.slab_limit_bytes, 512 << 10);
	assert_true(stats.slab_max_bytes > stats.slab_limit_bytes);
	assert_true(stats.slab_max_bytes <= stats.slab_limit_bytes + RING_BYTES + (512 << 10));
	assert_int_equal(stats.slab_bytes, 0);
	assert_int_equal(stats.kept_cnt[WIRE_SWITCH], 3800);
	ring_group_free(g);
	producer_close(&p);
}

/* A cut does not wait for the time after which readers look around by themselves. */
static void test_ring_cut_wakes_its_readers(void **state)
{
	struct producer p;
	struct ring_group_config config = {
		.fds = &p.ring_fd, .ring_cnt = 1, .ring_bytes = RING_BYTES, .poll_ms = 3600 * 1000
	};
	struct ring_group *g;
	struct err e;

	if (!producer_open(&p))
		skip(); /* not root */
	assert_int_equal(ring_group_new(&g, &config, &e), 0);
	ring_group_start_at(g, 1);
	produce(&p, 10, 100);
	ring_group_cut(g, 150);
	assert_int_equal(take(g), 10);
	produce(&p, 20, 200);
	ring_group_cut(g, clock_mono_ns() + 5000000); /* soon */
	assert_int_equal(take(g), 20);
	ring_group_free(g);
	producer_close(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ring_cut_ends_when_memory_is_out),
		cmocka_unit_test(test_ring_cut_wakes_its_readers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
