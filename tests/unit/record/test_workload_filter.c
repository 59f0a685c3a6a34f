/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* --only: which frees stay. */
#include "bpf/wire.h"
#include "record/tasks/workload_filter.h"
#include "tests/unit/unit_test.h"

#define SLAB_ROOM 4096

struct stream {
	struct ring_slice slice;
};

static void stream_init(struct stream *s)
{
	s->slice.first = s->slice.last = calloc(1, sizeof(struct ring_slab) + SLAB_ROOM);
	assert_non_null(s->slice.first);
}

static void stream_done(struct stream *s)
{
	free(s->slice.first);
}

static void add(struct stream *s, const void *record, size_t bytes)
{
	struct ring_slab *slab = s->slice.first;

	assert_true(slab->bytes + bytes <= SLAB_ROOM);
	memcpy(slab->data + slab->bytes, record, bytes);
	slab->bytes += bytes;
}

static void add_alloc(struct stream *s, uint64_t ts_ns, uint64_t addr)
{
	struct wire_kmalloc r = { .hdr = { .ts_ns = ts_ns, .hook = WIRE_KMALLOC }, .addr = addr };

	add(s, &r, sizeof(r));
}

static void add_free(struct stream *s, uint64_t ts_ns, uint64_t addr)
{
	struct wire_kfree r = { .hdr = { .ts_ns = ts_ns, .hook = WIRE_KFREE }, .addr = addr };

	add(s, &r, sizeof(r));
}

static void add_page(struct stream *s, uint64_t ts_ns, uint64_t pfn, int is_free)
{
	struct wire_page_alloc a = { .hdr = { .ts_ns = ts_ns, .hook = WIRE_PAGE_ALLOC },
				     .pfn = pfn };
	struct wire_page_free f = { .hdr = { .ts_ns = ts_ns, .hook = WIRE_PAGE_FREE }, .pfn = pfn };

	add(s, is_free ? (void *)&f : (void *)&a, is_free ? sizeof(f) : sizeof(a));
}

/* The instants of the remaining frees, in order. */
static unsigned int frees_left(const struct stream *s, uint64_t *ts_ns)
{
	const struct ring_slab *slab = s->slice.first;
	unsigned int cnt = 0;

	for (size_t at = 0; at < slab->bytes;) {
		const struct wire_hdr *h = (const void *)(slab->data + at);

		if (h->hook == WIRE_KFREE || h->hook == WIRE_PAGE_FREE)
			ts_ns[cnt++] = h->ts_ns;
		at += h->hook == WIRE_KMALLOC ? sizeof(struct wire_kmalloc)
		      : h->hook == WIRE_KFREE ? sizeof(struct wire_kfree)
					      : sizeof(struct wire_page_free);
	}
	return cnt;
}

UNIT_TEST(test_only_drops_foreign_frees_and_keeps_own)
{
	struct workload_filter f = { 0 };
	struct stream s;
	uint64_t ts[8];

	stream_init(&s);
	add_free(&s, 5, 0xffff888000000100);	/* of an unknown owner */
	add_alloc(&s, 10, 0xffff888000000200);
	add_free(&s, 20, 0xffff888000000200);
	add_free(&s, 30, 0xffff888000000200);	/* its next owner's */
	assert_int_equal(workload_filter_apply(&f, &s.slice, 1), 0);
	assert_int_equal(frees_left(&s, ts), 2);
	assert_int_equal(ts[0], 20);
	stream_done(&s);

	/* gone since the slice ended: a later free of the address is another owner's */
	stream_init(&s);
	add_free(&s, 40, 0xffff888000000200);
	assert_int_equal(workload_filter_apply(&f, &s.slice, 1), 0);
	assert_int_equal(frees_left(&s, ts), 0);
	stream_done(&s);
	workload_filter_done(&f);
}

UNIT_TEST(test_only_follows_an_object_across_slices_and_rings)
{
	struct workload_filter f = { 0 };
	struct ring_slice slices[2];
	struct stream a, b;
	uint64_t ts[8];

	stream_init(&a);
	add_alloc(&a, 10, 0xffff888000000300);
	assert_int_equal(workload_filter_apply(&f, &a.slice, 1), 0);
	stream_done(&a);

	/* freed in ring 0, then allocated again in ring 1: stays live */
	stream_init(&a);
	stream_init(&b);
	add_free(&a, 20, 0xffff888000000300);
	add_alloc(&b, 30, 0xffff888000000300);
	slices[0] = a.slice;
	slices[1] = b.slice;
	assert_int_equal(workload_filter_apply(&f, slices, 2), 0);
	assert_int_equal(frees_left(&a, ts), 1);
	stream_done(&a);
	stream_done(&b);

	stream_init(&a);
	add_free(&a, 40, 0xffff888000000300);
	assert_int_equal(workload_filter_apply(&f, &a.slice, 1), 0);
	assert_int_equal(frees_left(&a, ts), 1);
	stream_done(&a);
	workload_filter_done(&f);
}

UNIT_TEST(test_only_drops_a_free_before_the_allocation)
{
	struct workload_filter f = { 0 };
	struct stream s;
	uint64_t ts[8];

	stream_init(&s);
	add_free(&s, 5, 0xffff888000000400);
	add_alloc(&s, 10, 0xffff888000000400);
	assert_int_equal(workload_filter_apply(&f, &s.slice, 1), 0);
	assert_int_equal(frees_left(&s, ts), 0);
	stream_done(&s);

	stream_init(&s);
	add_free(&s, 50, 0xffff888000000400);
	assert_int_equal(workload_filter_apply(&f, &s.slice, 1), 0);
	assert_int_equal(frees_left(&s, ts), 1);
	stream_done(&s);
	workload_filter_done(&f);
}

UNIT_TEST(test_only_tells_pages_from_addresses)
{
	struct workload_filter f = { 0 };
	struct stream s;
	uint64_t ts[8];

	stream_init(&s);
	add_page(&s, 10, 0x1234, 0);
	add_page(&s, 11, 0x9999, 1);
	add_page(&s, 12, 0x1234, 1);
	assert_int_equal(workload_filter_apply(&f, &s.slice, 1), 0);
	assert_int_equal(frees_left(&s, ts), 1);
	assert_int_equal(ts[0], 12);
	stream_done(&s);
	workload_filter_done(&f);
}

UNIT_TESTS
