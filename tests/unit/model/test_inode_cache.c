/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* inode_cache: its capacity and eviction order. writeback_owners, which contains one. */
#include "format/event.h"
#include "model/writeback_owners.h"
#include "tests/unit/unit_test.h"

#define DEV 7u
#define IDLE_NS 1000u

static unsigned int released;

static void release(void *entry)
{
	released++;
}

static struct inode_cache new_cache(void)
{
	released = 0;
	return (struct inode_cache){ .entry_bytes = sizeof(struct inode_entry),
				     .idle_ns = IDLE_NS, .release = release };
}

/* Inodes 1 .. INODE_CACHE_MAX, inode n used at first_ns + n. */
static void fill(struct inode_cache *c, uint64_t first_ns)
{
	void *entry;

	for (uint64_t n = 1; n <= INODE_CACHE_MAX; n++) {
		assert_int_equal(inode_cache_get(c, n, DEV, first_ns + n, &entry), 0);
		assert_non_null(entry);
	}
	assert_int_equal(released, 0);
}

UNIT_TEST(test_an_inode_is_found_by_number_and_file_system)
{
	struct inode_cache c = new_cache();
	void *a, *again, *other;

	assert_null(inode_cache_find(&c, 1, DEV));
	assert_int_equal(inode_cache_get(&c, 1, DEV, 5, &a), 0);
	assert_int_equal(inode_cache_get(&c, 1, DEV, 6, &again), 0);
	assert_int_equal(inode_cache_get(&c, 1, DEV + 1, 6, &other), 0);
	assert_ptr_equal(a, again);
	assert_ptr_equal(inode_cache_find(&c, 1, DEV), a);
	assert_ptr_not_equal(a, other);
	inode_cache_clear(&c);
	assert_int_equal(released, 2);
	assert_null(inode_cache_find(&c, 1, DEV));
}

UNIT_TEST(test_a_full_cache_drops_what_was_idle)
{
	struct inode_cache c = new_cache();
	uint64_t now = INODE_CACHE_MAX + 10;
	void *entry;

	fill(&c, 0);
	assert_int_equal(inode_cache_get(&c, now, DEV, now, &entry), 0);
	assert_int_equal(released, now - IDLE_NS - 1);
	assert_null(inode_cache_find(&c, now - IDLE_NS - 1, DEV));
	assert_non_null(inode_cache_find(&c, now - IDLE_NS, DEV));
	assert_non_null(inode_cache_find(&c, now, DEV));
	inode_cache_clear(&c);
}

/* A late record arrives after all entries of the cache were used later. */
UNIT_TEST(test_a_full_cache_of_newer_inodes_starts_anew)
{
	struct inode_cache c = new_cache();
	void *entry;

	fill(&c, 1000000);
	assert_int_equal(inode_cache_get(&c, INODE_CACHE_MAX + 1, DEV, 500, &entry), 0);
	assert_non_null(entry);
	assert_int_equal(released, INODE_CACHE_MAX);
	inode_cache_clear(&c);
}

/* The inode of file system DEV + 1 that has the hash of inode ino of DEV: see inode_key(). */
static uint64_t same_hash(uint64_t ino)
{
	const uint64_t by = 0x9e3779b97f4a7c15;

	return ino ^ (DEV + 1) * by ^ (DEV + 2) * by;
}

UNIT_TEST(test_of_two_inodes_with_one_hash_the_first_is_followed)
{
	struct inode_cache c = new_cache();
	struct writeback_owners o;
	void *first, *second;
	int a, b;

	assert_int_equal(inode_cache_get(&c, 5, DEV, 1, &first), 0);
	assert_int_equal(inode_cache_get(&c, same_hash(5), DEV + 1, 2, &second), 0);
	assert_non_null(first);
	assert_null(second);
	assert_null(inode_cache_find(&c, same_hash(5), DEV + 1));
	assert_ptr_equal(inode_cache_find(&c, 5, DEV), first);
	inode_cache_clear(&c);
	writeback_owners_init(&o, NULL);
	assert_int_equal(writeback_owners_dirty(&o, 1, 5, DEV, &a), 0);
	assert_int_equal(writeback_owners_dirty(&o, 2, same_hash(5), DEV + 1, &b), 0);
	assert_int_equal(writeback_owners_of(&o, &(struct writeback){ .ts_ns = 3,
								      .ino = same_hash(5),
								      .last_ino = same_hash(5),
								      .ino_dev = DEV + 1,
								      .cmd_flags = 1,
								      .pages = EVENT_PAGES_FILE },
					     &second), EVENT_OWNER_NONE);
	writeback_owners_clear(&o);
}

/* Two processes dirtied the inode: for 30 s after the first one's last time both may be meant. */
UNIT_TEST(test_an_inode_is_shared_for_30_s)
{
	struct writeback r = { .ino = 5, .last_ino = 5, .ino_dev = DEV, .cmd_flags = 1,
			       .pages = EVENT_PAGES_FILE };
	struct writeback_owners o;
	void *whose;
	int a, b;

	writeback_owners_init(&o, NULL);
	assert_int_equal(writeback_owners_dirty(&o, 1000, 5, DEV, &a), 0);
	assert_int_equal(writeback_owners_dirty(&o, 2000, 5, DEV, &b), 0);
	r.ts_ns = 1000 + 30000000000 - 1;
	assert_int_equal(writeback_owners_of(&o, &r, &whose), EVENT_OWNER_SHARED);
	r.ts_ns++;
	assert_int_equal(writeback_owners_of(&o, &r, &whose), EVENT_OWNER_DIRTIED);
	assert_ptr_equal(whose, &b);
	writeback_owners_clear(&o);
}

UNIT_TESTS
