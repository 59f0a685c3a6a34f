/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Cuts of a ring's stream when memory is out: a mapped ring made by hand, and a BPF ring buffer as its bell. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <linux/bpf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "ring/ring.h"

#define RING_BYTES (2u << 20)
#define RECORD_BYTES 1016u /* with its stamp 1024 */
#define KEY 0x1234567800000000u

static int make_bell(void)
{
	union bpf_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.map_type = BPF_MAP_TYPE_RINGBUF;
	attr.max_entries = 4096;
	return (int)syscall(SYS_bpf, BPF_MAP_CREATE, &attr, sizeof(attr));
}

/* cnt records of instant ts_ns from position *pos on. */
static void produce(unsigned char *ring, uint64_t *pos, unsigned int cnt, uint64_t ts_ns)
{
	struct wire_ring *head = (void *)ring;

	while (cnt--) {
		unsigned char *at = ring + WIRE_RING_DATA + (*pos & (RING_BYTES - 1));
		struct wire_hdr hdr = { .ts_ns = ts_ns, .hook = WIRE_SWITCH };
		uint64_t stamp = WIRE_RING_STAMP_OF(*pos, RECORD_BYTES, KEY);

		memset(at + WIRE_RING_STAMP, 0, RECORD_BYTES);
		memcpy(at + WIRE_RING_STAMP, &hdr, sizeof(hdr));
		memcpy(at, &stamp, sizeof(stamp));
		*pos += WIRE_RING_STAMP + RECORD_BYTES;
	}
	__atomic_store_n(&head->claimed, *pos, __ATOMIC_RELEASE);
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

/* Two thousand records in a ring, and memory for a quarter: a cut still comes to its end, with all of them, twice. */
static void test_ring_cut_ends_when_memory_is_out(void **state)
{
	struct ring_place place = { .mapped_fd = memfd_create("ring", MFD_CLOEXEC),
				    .bytes = RING_BYTES,
				    .key = KEY };
	struct ring_group_config config = {
		.places = &place, .ring_cnt = 1, .memory_bytes = 512 << 10, .poll_ms = 5
	};
	struct ring_group *g;
	struct ring_stats stats;
	unsigned char *ring;
	uint64_t pos = 0;
	struct err e;
	int round;

	place.fd = make_bell();
	if (place.fd < 0)
		skip(); /* not root */
	assert_int_equal(ftruncate(place.mapped_fd, (off_t)RING_STRIDE(RING_BYTES)), 0);
	ring = mmap(NULL, RING_STRIDE(RING_BYTES), PROT_READ | PROT_WRITE, MAP_SHARED,
		    place.mapped_fd, 0);
	assert_ptr_not_equal(ring, MAP_FAILED);
	assert_int_equal(ring_group_new(&g, &config, &e), 0);
	ring_group_start_at(g, 1);
	for (round = 1; round <= 2; round++) {
		produce(ring, &pos, 1900, (uint64_t)round * 100);
		ring_group_cut(g, (uint64_t)round * 100 + 50); /* long ago: due at once */
		assert_int_equal(take(g), 1900);
	}
	/* it was memory beyond the limit, and that was given back */
	ring_group_stats(g, &stats);
	assert_int_equal(stats.slab_limit_bytes, 512 << 10);
	assert_true(stats.slab_max_bytes > stats.slab_limit_bytes);
	assert_true(stats.slab_max_bytes <= stats.slab_limit_bytes + RING_BYTES + (512 << 10));
	assert_int_equal(stats.slab_bytes, 0);
	assert_int_equal(stats.kept_cnt[WIRE_SWITCH], 3800);
	ring_group_free(g);
	munmap(ring, RING_STRIDE(RING_BYTES));
	close(place.fd);
	close(place.mapped_fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ring_cut_ends_when_memory_is_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
