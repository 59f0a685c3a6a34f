/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Copies by ring readers and cuts of a ring's stream, also when memory is out: a BPF ring buffer,
 * filled by programs that the test runs.
 */
#include <bpf/bpf.h>
#include <linux/bpf.h>

#include "base/buf.h"
#include "base/clock.h"
#include "ring/ring.h"
#include "tests/unit/unit_test.h"

#define RING_BYTES (2u << 20)
#define SWITCHES 31u	/* in a record of the ring */
#define RECORD_BYTES (SWITCHES * sizeof(struct wire_switch))

struct producer {
	int ring_fd, record_fd, prog_fd;
};

/* A program that sends the first bytes of the only value of the map record_fd into the ring. */
static int load_program(const struct producer *p, int bytes)
{
	const struct bpf_insn insns[] = {
		{ .code = BPF_LD | BPF_IMM | BPF_DW, .dst_reg = BPF_REG_1,
		  .src_reg = BPF_PSEUDO_MAP_FD, .imm = p->ring_fd },
		{ 0 },
		{ .code = BPF_LD | BPF_IMM | BPF_DW, .dst_reg = BPF_REG_2,
		  .src_reg = BPF_PSEUDO_MAP_VALUE, .imm = p->record_fd },
		{ 0 },
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_3, .imm = bytes },
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_4,
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
	p->prog_fd = load_program(p, RECORD_BYTES);
	assert_true(p->prog_fd >= 0);
	return true;
}

static void producer_close(const struct producer *p)
{
	close(p->prog_fd);
	close(p->record_fd);
	close(p->ring_fd);
}

/* Puts cnt records of instant ts_ns into the ring, each with SWITCHES switches. */
static void produce(const struct producer *p, unsigned int cnt, uint64_t ts_ns)
{
	struct wire_switch record[SWITCHES] = {};
	uint32_t zero = 0;

	for (unsigned int i = 0; i < SWITCHES; i++) {
		record[i].hdr = (struct wire_hdr){ .ts_ns = ts_ns, .hook = WIRE_SWITCH };
		record[i].next_tid = i;
	}
	assert_int_equal(bpf_map_update_elem(p->record_fd, &zero, record, 0), 0);
	while (cnt--) {
		LIBBPF_OPTS(bpf_test_run_opts, opts);

		assert_int_equal(bpf_prog_test_run_opts(p->prog_fd, &opts), 0);
		assert_int_equal(opts.retval, 0);
	}
}

/* The number of ring records in a slice: each has given all its switches, in their order. */
static size_t slice_records(const struct ring_slice *slice)
{
	const struct wire_hdr *h;
	size_t cnt = 0, at;

	for (const struct ring_slab *s = slice->first; s; s = s->next)
		for (at = 0; (h = slab_next_record(s, &at)); cnt++)
			assert_int_equal(((const struct wire_switch *)h)->next_tid, cnt % SWITCHES);
	assert_int_equal(cnt % SWITCHES, 0);
	return cnt / SWITCHES;
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
 * Two thousand records in a ring, and memory for a quarter: a cut still completes, with all of
 * them, twice.
 */
UNIT_TEST(test_ring_cut_ends_when_memory_is_out)
{
	struct producer p;
	struct ring_group_config config = { .fds = &p.ring_fd, .ring_cnt = 1,
					    .ring_bytes = RING_BYTES, .memory_bytes = 512 << 10,
					    .poll_ms = 5 };
	struct ring_group *g;
	struct ring_stats stats;
	struct err e;

	if (!producer_open(&p))
		skip(); /* not root */
	assert_int_equal(ring_group_new(&g, &config, &e), 0);
	ring_group_start_at(g, 1);
	for (int round = 1; round <= 2; round++) {
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
	assert_int_equal(stats.kept_cnt[WIRE_SWITCH], 3800 * SWITCHES);
	ring_group_free(g);
	producer_close(&p);
}

/* The memory of a large slice is kept for the next ones, but not for ever. */
UNIT_TEST(test_ring_gives_memory_back)
{
	struct producer p;
	struct ring_group_config config = { .fds = &p.ring_fd, .ring_cnt = 1,
					    .ring_bytes = RING_BYTES, .memory_bytes = 64 << 20,
					    .poll_ms = 5 };
	uint64_t spare_bytes = 0;
	struct ring_group *g;
	struct ring_stats stats;
	struct err e;

	if (!producer_open(&p))
		skip(); /* not root */
	assert_int_equal(ring_group_new(&g, &config, &e), 0);
	ring_group_start_at(g, 1);
	for (unsigned int round = 1; round <= 40; round++) {
		unsigned int cnt = round == 1 ? 1900 : 1;

		produce(&p, cnt, round * 100);
		ring_group_cut(g, round * 100 + 50);
		assert_int_equal(take(g), cnt);
		ring_group_stats(g, &stats, false);
		if (round == 1)
			spare_bytes = stats.slab_spare_bytes;
		if (round == 3)	/* 0.77 of it */
			assert_true(stats.slab_spare_bytes > spare_bytes / 2);
	}
	assert_true(spare_bytes >= 1900 * RECORD_BYTES);
	assert_true(stats.slab_spare_bytes > 0);
	assert_true(stats.slab_spare_bytes < spare_bytes / 3);
	assert_int_equal(stats.slab_bytes, 0);
	ring_group_free(g);
	producer_close(&p);
}

/* A cut does not wait for the time after which readers look around by themselves. */
UNIT_TEST(test_ring_cut_wakes_its_readers)
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

/* Lengths of all kinds: whole words or not, short and long; RECORD_BYTES stands for a long one. */
static const int lengths[] = { 16, 24, 32, 40, 48, 20, 47, 56, 64, 65, RECORD_BYTES };
#define LENGTHS (sizeof(lengths) / sizeof(lengths[0]))

struct copies {
	struct producer p;
	int prog_fds[LENGTHS];	/* for each length a program */
	struct buf sent[2];	/* as slices should have it: before a cut, and after it */
};

/*
 * One record of the ring, of the n-th length and with unique bytes. If it has many switches, every
 * third one has the other instant.
 */
static void send_one(struct copies *c, unsigned int n, const uint64_t ts_ns[2],
		     struct buf *const sent[2])
{
	LIBBPF_OPTS(bpf_test_run_opts, opts);
	unsigned char record[RECORD_BYTES];
	size_t bytes = (size_t)lengths[n % LENGTHS], each = bytes, at;
	struct wire_hdr hdr = { .hook = WIRE_PATH, .tid = n };	/* of a length of its own */
	uint32_t zero = 0;

	if (bytes == RECORD_BYTES) {
		hdr.hook = WIRE_SWITCH;
		each = sizeof(struct wire_switch);
	}
	for (size_t i = 0; i < sizeof(record); i++)
		record[i] = (unsigned char)(n * 31 + i * 7 + 1);
	for (at = 0; at < bytes; at += each) {
		hdr.ts_ns = ts_ns[at / each % 3 == 2];
		memcpy(record + at, &hdr, sizeof(hdr));
	}
	assert_int_equal(bpf_map_update_elem(c->p.record_fd, &zero, record, 0), 0);
	do {	/* the ring may be full: its reader has yet to come */
		assert_int_equal(bpf_prog_test_run_opts(c->prog_fds[n % LENGTHS], &opts), 0);
	} while (opts.retval);
	memset(record + bytes, 0, sizeof(record) - bytes);
	for (at = 0; at < bytes; at += each)
		buf_add(sent[at / each % 3 == 2], record + at, (each + 7) & ~(size_t)7);
}

/* The slice of a cut equals the sent records, byte by byte. */
static void take_sent(struct ring_group *g, struct buf *sent)
{
	struct ring_slice slice;
	struct buf got = { 0 };

	assert_int_equal(ring_group_take(g, &slice, 30000), 0);
	for (const struct ring_slab *s = slice.first; s; s = s->next)
		buf_add(&got, s->data, s->bytes);
	ring_group_release(g, &slice);
	assert_false(got.failed || sent->failed);
	assert_int_equal(got.len, sent->len);
	assert_memory_equal(got.data, sent->data, got.len);
	buf_done(&got);
	buf_reset(sent);
}

/*
 * Records of any length reach the slices whole and in order: across the ends of slabs and of the
 * ring, dropped before the start, and before and after a cut in turn.
 */
UNIT_TEST(test_ring_copies_records_of_any_length)
{
	struct copies c = { 0 };
	struct ring_group_config config = {
		.fds = &c.p.ring_fd, .ring_cnt = 1, .ring_bytes = RING_BYTES, .poll_ms = 1
	};
	struct ring_stats stats;
	struct ring_group *g;
	struct buf none = { 0 };
	unsigned int n = 0, i;
	uint64_t cut_ns;
	struct err e;

	if (!producer_open(&c.p))
		skip(); /* not root */
	for (i = 0; i < LENGTHS; i++) {
		c.prog_fds[i] = load_program(&c.p, lengths[i]);
		assert_true(c.prog_fds[i] >= 0);
	}
	assert_int_equal(ring_group_new(&g, &config, &e), 0);
	ring_group_start_at(g, 1000);
	for (; n < 2000 * LENGTHS; n++)	/* 2.8 MB */
		send_one(&c, n, (uint64_t[]){ 1000, 999 }, (struct buf *[]){ &c.sent[0], &none });
	ring_group_cut(g, 2000);
	take_sent(g, &c.sent[0]);
	ring_group_stats(g, &stats, false);
	assert_int_equal(stats.kept_cnt[WIRE_PATH], 2000 * (LENGTHS - 1));
	assert_int_equal(stats.kept_cnt[WIRE_SWITCH], 2000 * (SWITCHES - SWITCHES / 3));
	assert_int_equal(stats.read_cnt[WIRE_SWITCH], 2000 * SWITCHES);
	do {	/* until all was sent before the cut was due */
		cut_ns = clock_mono_ns() + 500000000;
		buf_reset(&c.sent[0]);
		buf_reset(&c.sent[1]);
		ring_group_cut(g, cut_ns);
		for (i = 0; i < 300; i++, n++)
			send_one(&c, n, (uint64_t[]){ cut_ns - 1 + n % 2, cut_ns - n % 2 },
				 (struct buf *[]){ &c.sent[n % 2], &c.sent[1 - n % 2] });
		if (clock_mono_ns() < cut_ns)
			break;
		take(g);
		ring_group_cut(g, cut_ns + 1);
		take(g);
	} while (true);
	take_sent(g, &c.sent[0]);
	ring_group_cut(g, cut_ns + 1);
	take_sent(g, &c.sent[1]);
	ring_group_free(g);
	for (i = 0; i < LENGTHS; i++)
		close(c.prog_fds[i]);
	for (i = 0; i < 2; i++)
		buf_done(&c.sent[i]);
	buf_done(&none);
	producer_close(&c.p);
}

UNIT_TESTS
