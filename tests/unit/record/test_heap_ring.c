/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * The memory into which the workload writes heap events: each complete record is read once, and
 * no content of that memory harms the reader.
 */
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "event_lists.h"
#include "preload/heap_share.h"
#include "ring/heap_ring.h"
#include "tests/unit/unit_test.h"

#define CHUNKS 4u
#define BYTES (HEAP_SHARE_HEAD_BYTES + CHUNKS * HEAP_CHUNK_BYTES)
#define CPUS 8u

struct both {
	struct heap_ring *ring;
	int fd;			/* the workload's side */
	struct heap_share_head *head;
	uint64_t read_cnt[WIRE_HOOK_MAX];
};

static int setup(void **state)
{
	const struct heap_ring_config config = { .bytes = CHUNKS * HEAP_CHUNK_BYTES,
						 .uid = geteuid(), .gid = getegid(),
						 .owner = geteuid(), .group = getegid() };
	struct both *b = calloc(1, sizeof(*b));

	assert_int_equal(heap_ring_new(&b->ring, &config, NULL), 0);
	heap_ring_limit_cpus(b->ring, CPUS);
	b->fd = open(heap_ring_path(b->ring), O_RDWR);
	assert_true(b->fd >= 0);
	b->head = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, b->fd, 0);
	assert_true(b->head != MAP_FAILED);
	*state = b;
	return 0;
}

static int teardown(void **state)
{
	struct both *b = *state;

	munmap(b->head, BYTES);
	close(b->fd);
	heap_ring_free(b->ring);
	free(b);
	return 0;
}

static struct heap_share_record *slot(const struct both *b, unsigned int chunk, unsigned int i)
{
	char *at = (char *)b->head + HEAP_SHARE_HEAD_BYTES + (size_t)chunk * HEAP_CHUNK_BYTES;

	return (struct heap_share_record *)at + i;
}

static void write_alloc(const struct both *b, unsigned int chunk, unsigned int i, uint64_t ts_ns)
{
	*slot(b, chunk, i) = (struct heap_share_record){ ts_ns, 0x1000 + i,
							 0x7777ull << 8 | HEAP_SHARE_ALLOC,
							 (100ull + i) << 16 | 4 };
}

static const struct wire_hdr *next(struct both *b, uint64_t end_ns)
{
	size_t bytes = 0;
	const struct wire_hdr *h = heap_ring_next(b->ring, end_ns, &bytes);

	if (!h)
		return NULL;
	if (h->hook == WIRE_STACK)
		bytes -= ((const struct wire_stack *)h)->user_cnt * sizeof(uint64_t);
	assert_int_equal(bytes, h->hook == WIRE_HEAP_ALLOC ? sizeof(struct wire_heap_alloc) :
				h->hook == WIRE_HEAP_FREE  ? sizeof(struct wire_heap_free) :
				h->hook == WIRE_SPAN ? sizeof(struct wire_span) :
				h->hook == WIRE_STACK ? offsetof(struct wire_stack, frames) : 0);
	assert_true(h->cpu < CPUS && h->tid && h->flags == 0);
	if (h->hook == WIRE_HEAP_ALLOC)
		assert_true(((const struct wire_heap_alloc *)h)->bytes < HEAP_SHARE_BYTES_MAX);
	b->read_cnt[h->hook]++;
	return h;
}

static unsigned int read_all(struct both *b, uint64_t end_ns)
{
	unsigned int cnt = 0;

	while (next(b, end_ns))
		cnt++;
	return cnt;
}

/* attempted = read + lost */
static void assert_balance(const struct both *b)
{
	for (unsigned int hook = WIRE_HEAP_ALLOC; hook <= WIRE_SPAN; hook++) {
		struct ring_feed_count c = heap_ring_count(b->ring, hook);

		if (hook != WIRE_STACK)
			assert_int_equal(c.attempted,
					 b->read_cnt[hook] + c.lost_full + c.lost_other);
	}
}

UNIT_TEST_IN(test_records_are_read_once_when_they_are_whole, setup, teardown)
{
	struct both *b = *state;
	const struct wire_heap_alloc *a;

	b->head->owner[1] = (uint32_t)getpid();
	for (unsigned int word = 0; word < 4; word++) {
		write_alloc(b, 1, 0, 500);
		((uint64_t *)slot(b, 1, 0))[word] = 0;
		assert_null(next(b, 1000));
	}
	write_alloc(b, 1, 0, 500);
	*slot(b, 1, 1) = (struct heap_share_record){ 600, 0x1000, HEAP_SHARE_FREE, 1 };
	a = (const void *)next(b, 1000);
	assert_non_null(a);
	assert_int_equal(a->hdr.hook, WIRE_HEAP_ALLOC);
	assert_int_equal(a->hdr.ts_ns, 500);
	assert_int_equal(a->hdr.tid, getpid());
	assert_int_equal(a->hdr.cpu, 3);
	assert_int_equal(a->addr, 0x1000);
	assert_int_equal(a->bytes, 100);
	assert_int_equal(a->call_site, 0x7777);
	heap_ring_unread(b->ring);
	b->read_cnt[WIRE_HEAP_ALLOC]--;
	assert_ptr_equal(next(b, 1000), a);
	assert_int_equal(next(b, 1000)->hook, WIRE_HEAP_FREE);
	assert_null(next(b, 1000));
	assert_null(next(b, 1000));
	assert_balance(b);
}

/* A stack follows its allocation directly, once all its slots are whole. */
UNIT_TEST_IN(test_a_stack_follows_its_allocation, setup, teardown)
{
	struct both *b = *state;
	const struct wire_stack *s;

	b->head->owner[0] = (uint32_t)getpid();
	for (unsigned int i = 0; i < 31; i++)	/* two reads are needed for the frames */
		write_alloc(b, 0, i, 100 + i);
	write_alloc(b, 0, 31, 200);
	slot(b, 0, 31)->site_kind = 0x7777ull << 8 | (HEAP_SHARE_STACK + 2);
	*slot(b, 0, 32) = (struct heap_share_record){ 0x7777, 0x8888, 0x9999, 0xaaaa };
	assert_int_equal(read_all(b, 1000), 31);
	*slot(b, 0, 33) = (struct heap_share_record){ 0xbbbb, 1, 1, 1 };
	assert_int_equal(next(b, 1000)->hook, WIRE_HEAP_ALLOC);
	s = (const void *)next(b, 1000);
	assert_int_equal(s->hdr.hook, WIRE_STACK);
	assert_int_equal(s->hdr.ts_ns, 200);
	assert_int_equal(s->of, WIRE_HEAP_ALLOC);
	assert_int_equal(s->addr, 0x1000 + 31);
	assert_int_equal(s->bytes, 131);
	assert_int_equal(s->call_site, 0x7777);
	assert_int_equal(s->kernel_cnt, 0);
	assert_int_equal(s->user_cnt, 5);
	assert_int_equal(s->frames[0], 0x7777);
	assert_int_equal(s->frames[4], 0xbbbb);
	assert_null(next(b, 1000));
	write_alloc(b, 0, 34, 300);
	assert_int_equal(next(b, 1000)->ts_ns, 300);
	/* up to the end of the chunk there is nothing */
	for (unsigned int i = 35; i < HEAP_CHUNK_RECORDS; i++)
		*slot(b, 0, i) = (struct heap_share_record){ 400, 1, HEAP_SHARE_REST, 1 };
	assert_null(next(b, 1000));
	assert_null(next(b, 1000));
	assert_int_equal(b->head->owner[0], 0);
	assert_int_equal(heap_ring_count(b->ring, WIRE_STACK).attempted, 1);
	assert_balance(b);
}

/* The name is in the slots after the record. */
UNIT_TEST_IN(test_an_event_of_a_request_has_its_name, setup, teardown)
{
	struct both *b = *state;
	const struct wire_span *s;

	b->head->owner[0] = (uint32_t)getpid();
	*slot(b, 0, 0) = (struct heap_share_record){ 500, 77, 1 << 16 | EVENT_SPAN_BEGIN << 8 |
						     (HEAP_SHARE_SPAN + 2), 4 };
	memcpy(slot(b, 0, 1), "0123456789abcdef0123456789abcdef", 32);
	assert_null(next(b, 1000));	/* its second slot is not written yet */
	*slot(b, 0, 2) = (struct heap_share_record){ 'x', 1, 1, 1 };
	s = (const void *)next(b, 1000);
	assert_non_null(s);
	assert_int_equal(s->hdr.hook, WIRE_SPAN);
	assert_int_equal(s->hdr.ts_ns, 500);
	assert_int_equal(s->hdr.tid, getpid());
	assert_int_equal(s->hdr.cpu, 3);
	assert_int_equal(s->id, 77);
	assert_int_equal(s->nr, 0);
	assert_int_equal(s->action, EVENT_SPAN_BEGIN);
	assert_string_equal(s->name, "0123456789abcdef0123456789abcdefx");
	*slot(b, 0, 3) = (struct heap_share_record){ 600, 1, EVENT_SPAN_ATTACH << 8 |
						     HEAP_SHARE_SPAN, 1 };
	assert_null(next(b, 1000));	/* the end of the pass */
	s = (const void *)next(b, 1000);
	assert_non_null(s);
	assert_int_equal(s->action, EVENT_SPAN_ATTACH);
	assert_int_equal(s->id, 0);
	assert_int_equal(s->name[0], 0);
	/* an end without an id, an unknown action, too many slots */
	*slot(b, 0, 4) = (struct heap_share_record){ 700, 1, EVENT_SPAN_END << 8 |
						     HEAP_SHARE_SPAN, 1 };
	*slot(b, 0, 5) = (struct heap_share_record){ 700, 1, 1 << 16 | EVENT_SPAN_CNT << 8 |
						     HEAP_SHARE_SPAN, 1 };
	*slot(b, 0, 6) = (struct heap_share_record){ 700, 1, 1 << 16 | EVENT_SPAN_END << 8 |
						     (HEAP_SHARE_SPAN + 3), 1 };
	b->head->lost[0] = 5;
	assert_null(next(b, 1000));
	assert_null(next(b, 1000));
	assert_int_equal(heap_ring_count(b->ring, WIRE_SPAN).attempted, 2 + 5);
	assert_int_equal(heap_ring_count(b->ring, WIRE_HEAP_ALLOC).lost_other, 3);
	assert_null(next(b, 1000));
	assert_int_equal(heap_ring_count(b->ring, WIRE_SPAN).lost_full, 5);
	assert_balance(b);
}

UNIT_TEST_IN(test_later_records_wait_for_their_pass, setup, teardown)
{
	struct both *b = *state;

	b->head->owner[0] = (uint32_t)getpid();
	write_alloc(b, 0, 0, 500);
	write_alloc(b, 0, 1, 1500);
	assert_int_equal(read_all(b, 1000), 1);
	assert_int_equal(read_all(b, 1499), 0);
	assert_int_equal(read_all(b, 1500), 1);
	assert_balance(b);
}

UNIT_TEST_IN(test_a_full_chunk_is_given_back_empty, setup, teardown)
{
	static const char zeros[HEAP_CHUNK_BYTES];
	struct both *b = *state;
	unsigned int i;

	b->head->owner[2] = (uint32_t)getpid();
	for (i = 0; i < HEAP_CHUNK_RECORDS - 1; i++)
		write_alloc(b, 2, i, 10 + i);
	assert_int_equal(read_all(b, 10000), HEAP_CHUNK_RECORDS - 1);
	assert_int_equal(b->head->owner[2], getpid());
	write_alloc(b, 2, i, 10 + i);
	assert_int_equal(read_all(b, 10000), 1);
	assert_int_equal(b->head->owner[2], 0);
	assert_memory_equal(slot(b, 2, 0), zeros, sizeof(zeros));
	assert_balance(b);
}

/* A killed thread: its records after a slot that it never filled are read, too. */
UNIT_TEST_IN(test_the_chunk_of_an_ended_thread_is_read_and_given_back, setup, teardown)
{
	struct both *b = *state;
	pid_t pid = fork();

	if (!pid) {
		b->head->owner[3] = (uint32_t)getpid();
		write_alloc(b, 3, 0, 100);
		write_alloc(b, 3, 2, 300);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
	assert_int_equal(read_all(b, 1000), 2);
	assert_int_equal(b->head->owner[3], 0);
	assert_int_equal(slot(b, 3, 2)->at, 0);
	assert_balance(b);
}

UNIT_TEST_IN(test_what_is_no_record_is_counted_as_lost, setup, teardown)
{
	static const struct heap_share_record bad[] = {
		{ 500, 1, HEAP_SHARE_ALLOC, 0xffff0000 },	/* no CPU */
		{ 500, 1, HEAP_SHARE_ALLOC, CPUS + 1 },
		{ 500, 1, HEAP_SHARE_LEAVE + 1, 1 },
		{ 500, 1, 0x7700, 1 },
		{ 500, 1, HEAP_SHARE_ALLOC, HEAP_SHARE_BYTES_MAX << 16 | 1 },
		{ UINT64_MAX, 1, HEAP_SHARE_FREE, 1 },
		{ 3000000000, 1, HEAP_SHARE_FREE, 1 },	/* more than a second from now */
	};
	struct both *b = *state;
	unsigned int i, cnt = sizeof(bad) / sizeof(bad[0]);

	b->head->owner[0] = (uint32_t)getpid();
	for (i = 0; i < cnt; i++)
		*slot(b, 0, i) = bad[i];
	write_alloc(b, 0, cnt, 600);
	assert_int_equal(read_all(b, 1000), 1);
	assert_int_equal(heap_ring_count(b->ring, WIRE_HEAP_ALLOC).lost_other, cnt);
	assert_balance(b);
}

UNIT_TEST_IN(test_a_guest_leaves_its_chunk, setup, teardown)
{
	struct both *b = *state;

	b->head->owner[0] = (uint32_t)getpid();
	write_alloc(b, 0, 0, 600);
	*slot(b, 0, 1) = (struct heap_share_record){ 600, 1, HEAP_SHARE_LEAVE, 1 };
	assert_int_equal(read_all(b, 1000), 1);
	assert_int_equal(b->head->owner[0], 0);
	assert_int_equal(slot(b, 0, 0)->at, 0);
	assert_balance(b);
}

UNIT_TEST_IN(test_losses_are_counted_and_a_jump_is_not_believed, setup, teardown)
{
	struct both *b = *state;

	b->head->lost[HEAP_SHARE_ALLOC] = 5;
	b->head->lost[HEAP_SHARE_FREE] = 7;
	assert_null(next(b, 1000));
	assert_int_equal(heap_ring_count(b->ring, WIRE_HEAP_ALLOC).lost_full, 5);
	assert_int_equal(heap_ring_count(b->ring, WIRE_HEAP_FREE).lost_full, 7);
	b->head->lost[HEAP_SHARE_ALLOC] = 0;
	b->head->lost[HEAP_SHARE_FREE] = UINT64_MAX;
	assert_null(next(b, 1000));
	assert_int_equal(heap_ring_count(b->ring, WIRE_HEAP_ALLOC).lost_full, 6);
	assert_int_equal(heap_ring_count(b->ring, WIRE_HEAP_FREE).lost_full, 8);
	assert_int_equal(heap_ring_count(b->ring, WIRE_SWITCH).attempted, 0);
	assert_balance(b);
}

/* Words of any value anywhere, and a file of any length. */
UNIT_TEST_IN(test_a_workload_that_scribbles_costs_itself_events, setup, teardown)
{
	struct both *b = *state;
	unsigned int round, i;
	uint64_t *words = (uint64_t *)b->head;

	srandom(24);
	for (round = 0; round < 3000; round++) {
		assert_int_equal(ftruncate(b->fd, BYTES), 0);
		for (i = 0; i < 200; i++) {
			uint64_t v = (uint64_t)random() << (random() % 34) | random() % 32;

			words[(unsigned long)random() % (BYTES / 8)] = random() % 4 ? v : v % 1024;
		}
		for (i = 0; i < CHUNKS; i++)
			if (random() % 2)
				b->head->owner[i] = random() % 2 ? (uint32_t)random() :
								   (uint32_t)getpid();
		for (i = 0; i < HEAP_CHUNK_RECORDS; i++)
			write_alloc(b, (unsigned int)random() % CHUNKS, i, (uint64_t)random());
		for (i = 0; i < HEAP_CHUNK_RECORDS; i += 1 + random() % 8)
			slot(b, (unsigned int)random() % CHUNKS, i)->site_kind =
				(random() & 1) << 16 | random() % 8 << 8 |
				(HEAP_SHARE_SPAN + random() % 4);
		if (random() % 4 == 0)
			assert_int_equal(ftruncate(b->fd, random() % (2l * BYTES)), 0);
		read_all(b, 1ull << 31);
		assert_balance(b);
	}
	assert_true(b->read_cnt[WIRE_HEAP_ALLOC] > 1000);
	assert_true(b->read_cnt[WIRE_SPAN] > 1000);
	assert_true(heap_ring_count(b->ring, WIRE_HEAP_ALLOC).lost_other > 100);
}

/* For the workload's user alone; gone with the recorder. */
UNIT_TEST(test_the_file_is_private_and_is_removed)
{
	const struct heap_ring_config config = { .bytes = 1, .uid = geteuid(), .gid = getegid(),
						 .owner = geteuid(), .group = getegid() };
	struct heap_ring *h;
	struct stat st;
	char path[128];

	assert_int_equal(heap_ring_new(&h, &config, NULL), 0);
	snprintf(path, sizeof(path), "%s", heap_ring_path(h));
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	heap_ring_free(h);
	assert_int_equal(access(path, F_OK), -1);
	*strrchr(path, '/') = 0;
	assert_int_equal(access(path, F_OK), -1);
}

static void make_dir(char *dir, const char *name, bool old)
{
	const struct timespec times[2] = { { .tv_sec = 1 }, { .tv_sec = 1 } };
	char path[128];
	int fd;

	snprintf(dir, 64, "/dev/shm/ebpfrec-heap.%s%d", name, getpid());
	snprintf(path, sizeof(path), "%s/events", dir);
	assert_int_equal(mkdir(dir, 0700), 0);
	fd = open(path, O_RDWR | O_CREAT, 0600);
	assert_true(fd >= 0);
	close(fd);
	if (old)
		assert_int_equal(utimensat(AT_FDCWD, dir, times, 0), 0);
}

UNIT_TEST(test_what_a_killed_recorder_left_is_removed)
{
	const struct heap_ring_config config = { .bytes = 1, .uid = geteuid(), .gid = getegid(),
						 .owner = geteuid(), .group = getegid() };
	char left[64], young[64], path[128], held[128];
	struct heap_ring *first, *second;

	make_dir(left, "left", true);
	make_dir(young, "young", false);
	assert_int_equal(heap_ring_new(&first, &config, NULL), 0);
	snprintf(held, sizeof(held), "%s", heap_ring_path(first));
	*strrchr(held, '/') = 0;
	assert_int_equal(utimensat(AT_FDCWD, held, (struct timespec[2]){ { 1, 0 }, { 1, 0 } }, 0),
			 0);
	assert_int_equal(heap_ring_new(&second, &config, NULL), 0);
	assert_int_equal(access(left, F_OK), -1);
	assert_int_equal(access(young, F_OK), 0);
	assert_int_equal(access(heap_ring_path(first), F_OK), 0);
	heap_ring_free(first);
	heap_ring_free(second);
	snprintf(path, sizeof(path), "%s/events", young);
	unlink(path);
	rmdir(young);
}

/* LOOK_NS has passed since the last one. */
static uint64_t event_ps_of(struct both *b, uint64_t from, uint64_t to)
{
	b->head->timed_from = from;
	b->head->timed_to = to;
	usleep(60000);
	assert_int_equal(read_all(b, 1000), 0);
	return heap_ring_event_ps(b->ring);
}

UNIT_TEST_IN(test_what_an_event_costs_is_believed_within_limits, setup, teardown)
{
	struct both *b = *state;

	assert_int_equal(event_ps_of(b, 0, 0), 0);
	assert_int_equal(event_ps_of(b, 2000, 1000), 0);
	assert_int_equal(event_ps_of(b, 1000, 1000 + 20 * HEAP_SHARE_TIMED), 20000);
	assert_int_equal(event_ps_of(b, 1000, UINT64_MAX), 20000);
	/* half of the events are allocations with stacks, which took 50 ns */
	b->head->owner[0] = (uint32_t)getpid();
	write_alloc(b, 0, 0, 100);
	slot(b, 0, 0)->site_kind = 0x7777 << 8 | (HEAP_SHARE_STACK + 1);
	*slot(b, 0, 1) = (struct heap_share_record){ 0x1111, 0x2222, 1, 1 };
	*slot(b, 0, 2) = (struct heap_share_record){ 600, 0x1000, HEAP_SHARE_FREE, 1 };
	assert_int_equal(read_all(b, 1000), 3);
	b->head->stack_time = 5000;
	b->head->stacks_timed = 100;
	assert_int_equal(event_ps_of(b, 0, 0), 35000);
	b->head->stack_time = UINT64_MAX;
	assert_int_equal(event_ps_of(b, 0, 0), 35000);
}

UNIT_TESTS
