/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Block requests followed from queueing to completion, from hand-made events with known answers. */
#include "model/request_track.h"
#include "tests/unit/unit_test.h"

#define WRITE 1u
#define FLUSH 2u
#define FUA (1u << 17)
#define PREFLUSH (1u << 18)

struct ended {
	struct block_request r[512];
	unsigned int cnt;
	struct block_request lost[16];
	unsigned int lost_cnt;
	int in_flight[1024];
};

static struct ended ended;

static int collect(void *ctx, const struct block_request *r)
{
	struct ended *all = ctx;

	if (r->end == BLOCK_END_LOST) {
		all->lost[all->lost_cnt++ % 16] = *r;
		return 0;
	}
	assert_true(all->cnt < 512);
	all->r[all->cnt++] = *r;
	return 0;
}

/* Requests in flight now, by submitter. */
static int collect_flight(void *ctx, const struct request_flight *f)
{
	struct ended *all = ctx;

	assert_true(f->submitter < 1024 && f->dev == 8u << 20 && (f->more == 1 || f->more == -1));
	all->in_flight[f->submitter] += f->more;
	assert_true(all->in_flight[f->submitter] >= 0);
	return 0;
}

static struct request_track *track;

static int setup(void **state)
{
	memset(&ended, 0, sizeof(ended));
	assert_int_equal(request_track_new(&track, collect, &ended), 0);
	request_track_on_flight(track, collect_flight);
	return 0;
}

static int teardown(void **state)
{
	request_track_free(track);
	return 0;
}

struct step {
	uint64_t ts, rq;
	unsigned int action;
	uint32_t utid;
	uint64_t bytes, done;
	unsigned int op, flags, status;
};

static void feed_at(struct step s, uint64_t sector)
{
	struct event ev = {
		.ts_ns = s.ts, .utid = s.utid, .kind = EVENT_REQUEST, .flags = (uint8_t)s.flags
	};

	ev.v[EV_REQUEST_ACTION] = s.action;
	ev.v[EV_REQUEST_RQ] = s.rq;
	ev.v[EV_REQUEST_DEV] = 8 << 20;
	ev.v[EV_REQUEST_SECTOR] = sector;
	ev.v[EV_REQUEST_BYTES] = s.bytes;
	ev.v[EV_REQUEST_DONE_BYTES] = s.done;
	ev.v[EV_REQUEST_CMD_FLAGS] = s.op;
	ev.v[EV_REQUEST_STATUS] = s.status;
	assert_int_equal(request_track_event(track, &ev), 0);
}

static void feed(struct step s)
{
	feed_at(s, 1000);
}

UNIT_TEST_IN(test_block_request_has_queue_and_device_latency, setup, teardown)
{
	uint64_t ns;

	feed((struct step){ 100, 1, EVENT_REQUEST_INSERT, 20, 4096, 0, WRITE });
	feed((struct step){ 130, 1, EVENT_REQUEST_ISSUE, 21, 4096, 0, WRITE });
	feed((struct step){ 200, 1, EVENT_REQUEST_COMPLETE, 99, 4096, 4096, WRITE, EVENT_F_IRQ });
	assert_int_equal(ended.cnt, 1);
	assert_int_equal(ended.r[0].submitter,
			 20); /* neither the issuing worker nor the bystander */
	assert_int_equal(ended.r[0].bytes, 4096);
	assert_true(block_request_queue_latency(&ended.r[0], &ns) && ns == 30);
	assert_true(block_request_device_latency(&ended.r[0], &ns) && ns == 70);
	assert_true(block_request_latency(&ended.r[0], &ns) && ns == 100);
	assert_string_equal(block_op_name(ended.r[0].cmd_flags), "write");
}

UNIT_TEST_IN(test_block_request_completes_in_parts, setup, teardown)
{
	feed((struct step){ 100, 1, EVENT_REQUEST_ISSUE, 20, 12288, 0, 0 });
	feed((struct step){ 150, 1, EVENT_REQUEST_COMPLETE, 99, 12288, 4096, 0 });
	assert_int_equal(ended.cnt, 0);
	feed((struct step){ 160, 1, EVENT_REQUEST_COMPLETE, 99, 8192, 4096, 0 });
	assert_int_equal(ended.cnt, 0);
	feed((struct step){ 180, 1, EVENT_REQUEST_COMPLETE, 99, 4096, 4096, 0 });
	assert_int_equal(ended.cnt, 1);
	assert_int_equal(ended.r[0].bytes, 12288);
	assert_int_equal(ended.r[0].part_cnt, 3);
	assert_int_equal(ended.r[0].complete_ns, 180);
}

UNIT_TEST_IN(test_block_request_counts_once_at_done, setup, teardown)
{
	feed((struct step){ 90, 1, EVENT_REQUEST_START, 20, 4096, 0, WRITE });
	feed((struct step){ 100, 1, EVENT_REQUEST_INSERT, 21, 4096, 0, WRITE });
	feed((struct step){ 110, 1, EVENT_REQUEST_ISSUE, 22, 4096, 0, WRITE });
	feed((struct step){ 200, 1, EVENT_REQUEST_COMPLETE, 99, 4096, 4096, WRITE });
	assert_int_equal(ended.cnt, 0);
	feed((struct step){ 205, 1, EVENT_REQUEST_DONE, 99, 0, 0, WRITE });
	assert_int_equal(ended.cnt, 1);
	assert_int_equal(ended.r[0].submitter, 20);
	assert_int_equal(ended.r[0].complete_ns, 200);
	assert_int_equal(ended.r[0].end_ns, 205);
	/* a request without a start has no accounting: its done event means nothing */
	feed((struct step){ 300, 1, EVENT_REQUEST_ISSUE, 20, 512, 0, 34 });
	feed((struct step){ 310, 1, EVENT_REQUEST_COMPLETE, 99, 512, 512, 34 });
	feed((struct step){ 311, 1, EVENT_REQUEST_DONE, 99, 0, 0, 34 });
	assert_int_equal(ended.cnt, 2);
	assert_int_equal(ended.r[1].end_ns, 310);
}

UNIT_TEST_IN(test_block_request_is_issued_again_after_requeue, setup, teardown)
{
	uint64_t ns;

	feed((struct step){ 100, 1, EVENT_REQUEST_INSERT, 20, 4096, 0, WRITE });
	feed((struct step){ 110, 1, EVENT_REQUEST_ISSUE, 20, 4096, 0, WRITE });
	feed((struct step){ 120, 1, EVENT_REQUEST_REQUEUE, 20, 4096, 0, WRITE });
	feed((struct step){ 125, 1, EVENT_REQUEST_INSERT, 30, 4096, 0, WRITE });
	feed((struct step){ 140, 1, EVENT_REQUEST_ISSUE, 30, 4096, 0, WRITE });
	feed((struct step){ 200, 1, EVENT_REQUEST_COMPLETE, 99, 4096, 4096, WRITE });
	assert_int_equal(ended.cnt, 1);
	assert_int_equal(ended.r[0].requeue_cnt, 1);
	assert_int_equal(ended.r[0].submitter, 20);
	assert_true(block_request_queue_latency(&ended.r[0], &ns) && ns == 10);
	assert_true(block_request_device_latency(&ended.r[0], &ns) && ns == 60);
}

UNIT_TEST_IN(test_block_submitter_is_unknown_in_interrupt_context, setup, teardown)
{
	feed((struct step){ 100, 1, EVENT_REQUEST_INSERT, 20, 4096, 0, WRITE, EVENT_F_IRQ });
	feed((struct step){ 110, 1, EVENT_REQUEST_ISSUE, 21, 4096, 0, WRITE });
	feed((struct step){ 200, 1, EVENT_REQUEST_COMPLETE, 22, 4096, 4096, WRITE });
	assert_int_equal(ended.r[0].submitter, EVENT_ID_UNKNOWN);
}

UNIT_TEST_IN(test_block_request_in_flight_before_the_trace_counts_without_latency, setup, teardown)
{
	uint64_t ns;

	feed((struct step){ 200, 1, EVENT_REQUEST_COMPLETE, 99, 8192, 4096, WRITE });
	feed((struct step){ 210, 1, EVENT_REQUEST_COMPLETE, 99, 4096, 4096, WRITE });
	assert_int_equal(ended.cnt, 1);
	assert_int_equal(ended.r[0].bytes, 8192);
	assert_int_equal(ended.r[0].submitter, EVENT_ID_UNKNOWN);
	assert_false(block_request_latency(&ended.r[0], &ns));
}

/*
 * A write that transferred nothing is not the end of a flush sequence: such an end has no bytes at
 * all.
 */
UNIT_TEST_IN(test_block_failed_request_in_flight_before_the_trace_counts, setup, teardown)
{
	feed((struct step){ 100, 1, EVENT_REQUEST_COMPLETE, 20, 4096, 0, WRITE, 0, 5 });
	assert_int_equal(request_track_pending(track, collect, &ended), 0);
	assert_int_equal(ended.cnt, 1);
	assert_int_equal(ended.r[0].complete_ns, 100);
}

UNIT_TEST_IN(test_block_write_with_flush_sequence_counts_once, setup, teardown)
{
	unsigned int op = WRITE | PREFLUSH | FUA;

	/* the data part completes, then the whole with 0 bytes: before 6.5, and from 6.5 on */
	feed((struct step){ 100, 1, EVENT_REQUEST_INSERT, 20, 4096, 0, op });
	feed((struct step){ 110, 1, EVENT_REQUEST_ISSUE, 20, 4096, 0, op });
	feed((struct step){ 120, 1, EVENT_REQUEST_COMPLETE, 99, 4096, 4096, op,
			       EVENT_F_FLUSH_SEQ });
	feed((struct step){ 150, 1, EVENT_REQUEST_COMPLETE, 99, 0, 0, op });
	assert_int_equal(ended.cnt, 1);
	feed((struct step){ 200, 2, EVENT_REQUEST_START, 20, 4096, 0, op });
	feed((struct step){ 210, 2, EVENT_REQUEST_ISSUE, 20, 4096, 0, op });
	feed((struct step){ 220, 2, EVENT_REQUEST_COMPLETE, 99, 4096, 4096, op,
			       EVENT_F_FLUSH_SEQ });
	feed((struct step){ 221, 2, EVENT_REQUEST_DONE, 99, 0, 0, op });
	feed((struct step){ 250, 2, EVENT_REQUEST_COMPLETE, 99, 0, 0, op });
	feed((struct step){ 251, 2, EVENT_REQUEST_DONE, 99, 0, 0, op });
	assert_int_equal(ended.cnt, 2);
	/* an empty flush of its own is a request */
	feed((struct step){ 300, 3, EVENT_REQUEST_ISSUE, 20, 0, 0, FLUSH });
	feed((struct step){ 310, 3, EVENT_REQUEST_COMPLETE, 99, 0, 0, FLUSH });
	assert_int_equal(ended.cnt, 3);
	assert_string_equal(block_op_name(ended.r[2].cmd_flags), "flush");
}

/* Before 6.5 the flags that ask for a flush are gone when its sequence completes. */
UNIT_TEST_IN(test_block_empty_flush_without_flags_counts_and_a_tail_does_not, setup, teardown)
{
	feed_at((struct step){ 100, 1, EVENT_REQUEST_COMPLETE, 99, 0, 0, WRITE }, 0);
	assert_int_equal(ended.cnt, 1);
	assert_string_equal(block_op_name(ended.r[0].cmd_flags), "write");
	feed_at((struct step){ 200, 1, EVENT_REQUEST_COMPLETE, 99, 0, 0, WRITE }, 0);
	assert_int_equal(ended.cnt, 2);
	feed((struct step){ 300, 1, EVENT_REQUEST_ISSUE, 20, 4096, 0, WRITE });
	feed((struct step){ 310, 1, EVENT_REQUEST_COMPLETE, 99, 4096, 4096, WRITE });
	feed((struct step){ 320, 1, EVENT_REQUEST_COMPLETE, 99, 0, 0, WRITE });
	assert_int_equal(ended.cnt, 3);
	feed_at((struct step){ 400, 1, EVENT_REQUEST_ISSUE, 20, 4096, 0, WRITE }, 0);
	feed_at((struct step){ 410, 1, EVENT_REQUEST_COMPLETE, 99, 4096, 4096, WRITE,
			       EVENT_F_FLUSH_SEQ }, 0);
	feed_at((struct step){ 420, 1, EVENT_REQUEST_COMPLETE, 99, 0, 0, WRITE }, 0);
	assert_int_equal(ended.cnt, 4);
	feed_at((struct step){ 430, 1, EVENT_REQUEST_COMPLETE, 99, 0, 0, WRITE }, 0);
	assert_int_equal(ended.cnt, 5);
	/*
	 * A write without a flush sequence has no tail: an empty flush that gets the write's
	 * request next counts.
	 */
	feed_at((struct step){ 500, 1, EVENT_REQUEST_ISSUE, 20, 4096, 0, WRITE }, 0);
	feed_at((struct step){ 510, 1, EVENT_REQUEST_COMPLETE, 99, 4096, 4096, WRITE }, 0);
	feed_at((struct step){ 520, 1, EVENT_REQUEST_COMPLETE, 99, 0, 0, WRITE }, 0);
	assert_int_equal(ended.cnt, 7);
	/* nor has a write of a device with FUA */
	feed_at((struct step){ 600, 1, EVENT_REQUEST_ISSUE, 20, 4096, 0, WRITE | FUA }, 0);
	feed_at((struct step){ 610, 1, EVENT_REQUEST_COMPLETE, 99, 4096, 4096, WRITE | FUA }, 0);
	feed_at((struct step){ 620, 1, EVENT_REQUEST_COMPLETE, 99, 0, 0, WRITE }, 0);
	assert_int_equal(ended.cnt, 9);
}

UNIT_TEST_IN(test_block_merge_ends_a_request_without_counting_it, setup, teardown)
{
	feed((struct step){ 100, 1, EVENT_REQUEST_START, 20, 4096, 0, WRITE });
	feed((struct step){ 105, 1, EVENT_REQUEST_MERGE, 20, 4096, 0, WRITE });
	assert_int_equal(ended.cnt, 1);
	assert_int_equal(ended.r[0].end, BLOCK_END_MERGED);
	/* the address lives on */
	feed((struct step){ 110, 1, EVENT_REQUEST_ISSUE, 21, 512, 0, 0 });
	feed((struct step){ 120, 1, EVENT_REQUEST_COMPLETE, 99, 512, 512, 0 });
	assert_int_equal(ended.cnt, 2);
	assert_int_equal(ended.r[1].submitter, 21);
}

UNIT_TEST_IN(test_block_lost_completion_begins_a_new_life, setup, teardown)
{
	uint64_t ns;

	feed((struct step){ 100, 1, EVENT_REQUEST_START, 20, 4096, 0, WRITE });
	feed((struct step){ 110, 1, EVENT_REQUEST_ISSUE, 20, 4096, 0, WRITE });
	feed((struct step){ 500, 1, EVENT_REQUEST_START, 30, 512, 0, 0 });
	assert_int_equal(ended.cnt, 0);
	feed((struct step){ 510, 1, EVENT_REQUEST_ISSUE, 30, 512, 0, 0 });
	feed((struct step){ 520, 1, EVENT_REQUEST_COMPLETE, 99, 512, 512, 0, 0, 5 });
	feed((struct step){ 521, 1, EVENT_REQUEST_DONE, 99, 0, 0, 0 });
	assert_int_equal(ended.cnt, 1);
	assert_int_equal(ended.r[0].submitter, 30);
	assert_int_equal(ended.r[0].status, 5);
	assert_true(block_request_latency(&ended.r[0], &ns) && ns == 20);
	assert_int_equal(ended.lost_cnt, 1);
	assert_int_equal(ended.lost[0].submitter, 20);
	assert_int_equal(ended.lost[0].start_ns, 100);
	assert_int_equal(ended.lost[0].end_ns, 500);
	assert_int_equal(ended.lost[0].unseen, REQUEST_UNSEEN_COMPLETE | REQUEST_UNSEEN_DONE);
}

/* Neither the end of the first request nor the beginning of the second one was seen. */
UNIT_TEST(test_block_completion_of_other_io_has_no_latency)
{
	static const unsigned int begins[] = { EVENT_REQUEST_START, EVENT_REQUEST_INSERT };
	uint64_t ns;

	for (unsigned int i = 0; i < 2; i++) {
		setup(NULL);
		feed_at((struct step){ 100, 1, begins[i], 20, 4096, 0, WRITE }, 0);
		feed_at((struct step){ 110, 1, EVENT_REQUEST_ISSUE, 20, 4096, 0, WRITE }, 0);
		feed_at((struct step){ 900, 1, EVENT_REQUEST_COMPLETE, 99, 512, 512, WRITE }, 5000);
		assert_int_equal(ended.lost_cnt, 1);
		assert_int_equal(ended.cnt, 1);
		assert_int_equal(ended.r[0].bytes, 512);
		assert_false(block_request_latency(&ended.r[0], &ns));
		/* the device chooses the position of an append to a zone */
		feed_at((struct step){ 1000, 2, EVENT_REQUEST_INSERT, 20, 4096, 0, 7 }, 0);
		feed_at((struct step){ 1005, 2, EVENT_REQUEST_ISSUE, 20, 4096, 0, 7 }, 0);
		feed_at((struct step){ 1010, 2, EVENT_REQUEST_COMPLETE, 99, 4096, 4096, 7 }, 640);
		assert_int_equal(ended.cnt, 2);
		assert_true(block_request_latency(&ended.r[1], &ns) && ns == 10);
		teardown(NULL);
	}
}

#define NOWHERE UINT64_MAX	/* the sector of a device's own flush */

/* The kernel keeps one request per queue for its flushes: the same address, sector and size. */
UNIT_TEST_IN(test_block_flush_whose_completion_was_lost_is_not_the_next_flush, setup, teardown)
{
	unsigned int op = FLUSH | PREFLUSH;
	uint64_t ns;

	feed_at((struct step){ 1000, 1, EVENT_REQUEST_ISSUE, 20, 0, 0, op }, NOWHERE);
	feed_at((struct step){ 415000, 1, EVENT_REQUEST_ISSUE, 21, 0, 0, op }, NOWHERE);
	feed_at((struct step){ 415100, 1, EVENT_REQUEST_COMPLETE, 99, 0, 0, op }, NOWHERE);
	assert_int_equal(ended.cnt, 1);
	assert_true(block_request_latency(&ended.r[0], &ns));
	assert_int_equal(ns, 100);
	assert_int_equal(ended.r[0].submitter, 21);
	assert_int_equal(ended.lost_cnt, 1);
	assert_int_equal(ended.lost[0].unseen, 0);	/* nothing announced it */
	/* the same with an insert whose issue was lost, too */
	feed_at((struct step){ 500000, 1, EVENT_REQUEST_INSERT, 20, 0, 0, op }, NOWHERE);
	feed_at((struct step){ 914000, 1, EVENT_REQUEST_INSERT, 20, 0, 0, op }, NOWHERE);
	feed_at((struct step){ 914010, 1, EVENT_REQUEST_ISSUE, 20, 0, 0, op }, NOWHERE);
	feed_at((struct step){ 914020, 1, EVENT_REQUEST_COMPLETE, 99, 0, 0, op }, NOWHERE);
	assert_int_equal(ended.cnt, 2);
	assert_true(block_request_queue_latency(&ended.r[1], &ns));
	assert_int_equal(ns, 10);
}

/* An empty flush gets the address of a write whose last completion was lost. */
UNIT_TEST_IN(test_block_empty_flush_after_a_lost_completion_is_another_request, setup, teardown)
{
	unsigned int op = WRITE | PREFLUSH;
	uint64_t ns;

	/* kernels that announce starts: the flush is neither inserted nor issued */
	feed((struct step){ 100, 1, EVENT_REQUEST_START, 20, 4096, 0, WRITE });
	feed((struct step){ 110, 1, EVENT_REQUEST_ISSUE, 20, 4096, 0, WRITE });
	feed_at((struct step){ 862000, 1, EVENT_REQUEST_START, 30, 0, 0, op }, 0);
	feed_at((struct step){ 862050, 1, EVENT_REQUEST_COMPLETE, 99, 0, 0, op }, 0);
	feed_at((struct step){ 862051, 1, EVENT_REQUEST_DONE, 99, 0, 0, op }, 0);
	assert_int_equal(ended.cnt, 1);
	assert_true(block_request_latency(&ended.r[0], &ns) && ns == 50);
	assert_int_equal(ended.r[0].submitter, 30);
	assert_int_equal(ended.lost_cnt, 1);
	/* on other kernels only its completion is announced */
	feed((struct step){ 900000, 2, EVENT_REQUEST_ISSUE, 20, 4096, 0, WRITE });
	feed_at((struct step){ 1900000, 2, EVENT_REQUEST_COMPLETE, 99, 0, 0, op }, 0);
	assert_int_equal(ended.cnt, 2);
	assert_false(block_request_latency(&ended.r[1], &ns));
	assert_int_equal(ended.r[1].bytes, 0);
	assert_int_equal(ended.lost_cnt, 2);
	/* also when a part of the write had completed */
	feed((struct step){ 2000000, 2, EVENT_REQUEST_ISSUE, 20, 8192, 0, WRITE });
	feed((struct step){ 2000100, 2, EVENT_REQUEST_COMPLETE, 99, 8192, 4096, WRITE });
	feed_at((struct step){ 2900000, 2, EVENT_REQUEST_COMPLETE, 99, 0, 0, op }, 0);
	assert_int_equal(ended.cnt, 3);
	assert_false(block_request_latency(&ended.r[2], &ns));
}

/*
 * Merging extends a request at either end. A request that does not contain the earlier I/O is
 * another one.
 */
UNIT_TEST_IN(test_block_request_grows_before_it_is_issued_and_never_moves, setup, teardown)
{
	uint64_t ns;

	feed_at((struct step){ 100, 1, EVENT_REQUEST_START, 20, 4096, 0, WRITE }, 1000);
	feed_at((struct step){ 105, 1, EVENT_REQUEST_INSERT, 20, 8192, 0, WRITE }, 1000);
	feed_at((struct step){ 110, 1, EVENT_REQUEST_ISSUE, 20, 12288, 0, WRITE }, 992);
	feed_at((struct step){ 120, 1, EVENT_REQUEST_COMPLETE, 99, 12288, 12288, WRITE }, 992);
	feed_at((struct step){ 121, 1, EVENT_REQUEST_DONE, 99, 0, 0, WRITE }, 992);
	assert_int_equal(ended.cnt, 1);
	assert_int_equal(ended.r[0].bytes, 12288);
	assert_true(block_request_latency(&ended.r[0], &ns) && ns == 20);
	/* merged away unseen, and its address used again without an insert */
	feed_at((struct step){ 200, 1, EVENT_REQUEST_INSERT, 20, 4096, 0, WRITE }, 1000);
	feed_at((struct step){ 900, 1, EVENT_REQUEST_ISSUE, 21, 4096, 0, WRITE }, 5000);
	feed_at((struct step){ 910, 1, EVENT_REQUEST_COMPLETE, 99, 4096, 4096, WRITE }, 5000);
	assert_int_equal(ended.cnt, 2);
	assert_true(block_request_latency(&ended.r[1], &ns) && ns == 10);
	assert_int_equal(ended.lost_cnt, 1);
}

/* A lost requeue does not end a life that has a start: the next life has a start, too. */
UNIT_TEST_IN(test_block_request_with_a_start_survives_a_lost_requeue, setup, teardown)
{
	uint64_t ns;

	feed((struct step){ 100, 1, EVENT_REQUEST_START, 20, 8192, 0, WRITE });
	feed((struct step){ 110, 1, EVENT_REQUEST_ISSUE, 20, 8192, 0, WRITE });
	feed((struct step){ 130, 1, EVENT_REQUEST_INSERT, 30, 8192, 0, WRITE });
	feed((struct step){ 140, 1, EVENT_REQUEST_ISSUE, 30, 8192, 0, WRITE });
	feed((struct step){ 150, 1, EVENT_REQUEST_COMPLETE, 99, 8192, 4096, WRITE });
	feed_at((struct step){ 160, 1, EVENT_REQUEST_ISSUE, 30, 4096, 0, WRITE }, 1008);
	feed((struct step){ 200, 1, EVENT_REQUEST_COMPLETE, 99, 4096, 4096, WRITE });
	feed((struct step){ 201, 1, EVENT_REQUEST_DONE, 99, 0, 0, WRITE });
	assert_int_equal(ended.cnt, 1);
	assert_int_equal(ended.r[0].bytes, 8192);
	assert_int_equal(ended.r[0].submitter, 20);
	assert_true(block_request_latency(&ended.r[0], &ns) && ns == 100);
	assert_int_equal(ended.lost_cnt, 0);
	/* the end of an empty flush whose completion was lost */
	feed((struct step){ 300, 2, EVENT_REQUEST_START, 20, 0, 0, WRITE | PREFLUSH });
	feed((struct step){ 310, 2, EVENT_REQUEST_DONE, 99, 0, 0, WRITE | PREFLUSH });
	assert_int_equal(ended.cnt, 2);
	assert_true(block_request_latency(&ended.r[1], &ns) && ns == 10);
}

/* ---- in flight ---- */

UNIT_TEST_IN(test_threads_have_the_requests_in_flight_that_they_queued, setup, teardown)
{
	struct packed_in in;
	struct buf saved = { 0 };

	feed((struct step){ 100, 1, EVENT_REQUEST_INSERT, 20, 4096, 0, WRITE });
	feed((struct step){ 100, 2, EVENT_REQUEST_START, 20, 4096, 0, WRITE });
	feed((struct step){ 101, 2, EVENT_REQUEST_INSERT, 21, 4096, 0, WRITE });
	assert_int_equal(ended.in_flight[20], 2);
	assert_int_equal(ended.in_flight[21], 0);
	feed((struct step){ 110, 1, EVENT_REQUEST_ISSUE, 22, 4096, 0, WRITE });
	feed((struct step){ 115, 1, EVENT_REQUEST_REQUEUE, 22, 4096, 0, WRITE });
	feed((struct step){ 116, 1, EVENT_REQUEST_ISSUE, 22, 4096, 0, WRITE });
	feed((struct step){ 118, 1, EVENT_REQUEST_COMPLETE, 99, 4096, 2048, WRITE });
	assert_int_equal(ended.in_flight[20], 2);
	feed((struct step){ 120, 1, EVENT_REQUEST_COMPLETE, 99, 2048, 2048, WRITE });
	assert_int_equal(ended.in_flight[20], 1);
	/* complete, but not yet done */
	feed((struct step){ 130, 2, EVENT_REQUEST_ISSUE, 22, 4096, 0, WRITE });
	feed((struct step){ 140, 2, EVENT_REQUEST_COMPLETE, 99, 4096, 4096, WRITE });
	assert_int_equal(ended.in_flight[20], 0);
	feed((struct step){ 141, 2, EVENT_REQUEST_DONE, 99, 0, 0, WRITE });
	/* merged; given way to another's request; queued by an interrupt */
	feed((struct step){ 150, 3, EVENT_REQUEST_START, 30, 4096, 0, WRITE });
	assert_int_equal(ended.in_flight[30], 1);
	feed((struct step){ 151, 3, EVENT_REQUEST_MERGE, 31, 4096, 0, WRITE });
	assert_int_equal(ended.in_flight[30], 0);
	feed((struct step){ 160, 3, EVENT_REQUEST_START, 30, 4096, 0, WRITE });
	feed((struct step){ 170, 3, EVENT_REQUEST_START, 31, 4096, 0, WRITE });
	assert_int_equal(ended.in_flight[30], 0);
	assert_int_equal(ended.in_flight[31], 1);
	feed((struct step){ 180, 4, EVENT_REQUEST_INSERT, 40, 512, 0, WRITE, EVENT_F_IRQ });
	assert_int_equal(ended.in_flight[40], 0);
	assert_int_equal(ended.in_flight[EVENT_ID_UNKNOWN], 1);
	/* in flight before the recording, since an unknown instant */
	feed((struct step){ 190, 5, EVENT_REQUEST_COMPLETE, 50, 4096, 2048, WRITE });
	assert_int_equal(ended.in_flight[EVENT_ID_UNKNOWN], 1);

	request_track_save(track, 200, &saved);
	teardown(NULL);
	setup(NULL);
	in = (struct packed_in){ saved.data, saved.data + saved.len };
	assert_int_equal(request_track_load(track, &in, 200), 0);
	assert_int_equal(ended.in_flight[31], 1);
	assert_int_equal(ended.in_flight[EVENT_ID_UNKNOWN], 1);
	feed((struct step){ 210, 3, EVENT_REQUEST_DONE, 99, 0, 0, WRITE });
	assert_int_equal(ended.in_flight[31], 0);
	assert_int_equal(ended.cnt, 1);
	assert_int_equal(ended.r[0].start_ns, 170);
	buf_done(&saved);
}

UNIT_TEST_IN(test_block_without_its_done_at_the_end_is_in_flight, setup, teardown)
{
	feed((struct step){ 100, 1, EVENT_REQUEST_START, 20, 4096, 0, WRITE });
	feed((struct step){ 110, 1, EVENT_REQUEST_ISSUE, 20, 4096, 0, WRITE });
	feed((struct step){ 120, 1, EVENT_REQUEST_COMPLETE, 20, 4096, 4096, WRITE });
	feed((struct step){ 130, 2, EVENT_REQUEST_ISSUE, 20, 4096, 0, WRITE });
	assert_int_equal(ended.cnt, 0);
	assert_int_equal(request_track_pending(track, collect, &ended), 0);
	assert_int_equal(ended.cnt, 2);
	assert_int_equal(ended.r[0].end, 0);
	assert_int_equal(ended.r[0].end_ns, 0);
	assert_int_equal(ended.r[0].complete_ns, 120);
	assert_int_equal(ended.r[1].end, 0);
}

/* 256 requests in flight on one device, ended in a shuffled order: each keeps its own times and
 * submitter. */
UNIT_TEST_IN(test_block_requests_in_flight_end_in_any_order, setup, teardown)
{
	unsigned int order[256], i, j, tmp;

	srand(7);
	for (i = 0; i < 256; i++) {
		order[i] = i;
		feed((struct step){ 1000 + i, 0x1000 + i * 64, EVENT_REQUEST_INSERT, 100 + i,
				       512 * (i + 1), 0, WRITE });
	}
	for (i = 0; i < 256; i++)
		feed((struct step){ 2000 + 2 * i, 0x1000 + i * 64, EVENT_REQUEST_ISSUE, 5,
				       512 * (i + 1), 0, WRITE });
	for (i = 255; i > 0; i--) {
		j = (unsigned int)rand() % (i + 1);
		tmp = order[i];
		order[i] = order[j];
		order[j] = tmp;
	}
	for (i = 0; i < 256; i++)
		feed((struct step){ 9000 + i, 0x1000 + order[i] * 64, EVENT_REQUEST_COMPLETE, 6,
				       512 * (order[i] + 1), 512 * (order[i] + 1), WRITE });
	assert_int_equal(ended.cnt, 256);
	for (i = 0; i < 256; i++) {
		uint64_t queue, device;

		assert_int_equal(ended.r[i].submitter, 100 + order[i]);
		assert_int_equal(ended.r[i].bytes, 512 * (order[i] + 1));
		assert_true(block_request_queue_latency(&ended.r[i], &queue));
		assert_true(block_request_device_latency(&ended.r[i], &device));
		assert_int_equal(queue, 1000 + order[i]);
		assert_int_equal(device, 7000 + i - 2 * order[i]);
	}
}

/* Requests in flight x time, and the times of requests, from the two sinks. */
struct areas {
	uint64_t since_ns, depth, inflight_ns, times_ns, ended, lost;
};

static int area_flight(void *ctx, const struct request_flight *f)
{
	struct areas *x = ctx;

	x->inflight_ns += x->depth * (f->ts_ns - x->since_ns);
	x->since_ns = f->ts_ns;
	x->depth += (uint64_t)(int64_t)f->more;
	assert_true(x->depth <= 5);
	return 0;
}

static int area_request(void *ctx, const struct block_request *r)
{
	uint64_t queued_ns = block_request_queued_ns(r), ns;
	struct areas *x = ctx;

	x->ended += r->end == BLOCK_END_DONE;
	x->lost += r->end == BLOCK_END_LOST;
	if (r->end == BLOCK_END_DONE)
		x->times_ns += block_request_latency(r, &ns) ? ns : 0;
	else if (queued_ns)	/* merged or lost, its address used again */
		x->times_ns += r->end_ns - queued_ns;
	return 0;
}

/* Any events in any order: each instant in flight is one of a request, and no request has two. */
UNIT_TEST(test_time_in_flight_is_the_sum_of_latencies)
{
	static const uint32_t sizes[] = { 0, 4096, 4096, 8192 };
	unsigned int round, i;

	srand(21);
	for (round = 0; round < 200; round++) {
		struct areas x = { 0 };
		uint64_t ts = 1000;

		assert_int_equal(request_track_new(&track, area_request, &x), 0);
		request_track_on_flight(track, area_flight);
		for (i = 0; i < 500; i++) {
			uint32_t bytes = sizes[rand() % 4];

			ts += 1 + (unsigned int)rand() % 50;
			feed_at((struct step){ ts, 1 + (uint64_t)rand() % 5,
						  EVENT_REQUEST_INSERT + (unsigned int)rand() % 8,
						  16 + (unsigned int)rand() % 4, bytes,
						  rand() % 3 ? bytes : bytes / 2, WRITE,
						  rand() % 9 ? 0 : EVENT_F_FLUSH_SEQ },
				rand() % 3 ? 1000 : 5000);
		}
		/* requests that are merged at once replace the requests in flight */
		for (i = 1; i <= 5; i++) {
			feed_at((struct step){ ts, i, EVENT_REQUEST_START, 16, 512 }, 9);
			feed_at((struct step){ ts, i, EVENT_REQUEST_MERGE, 16, 512 }, 9);
		}
		assert_int_equal(x.depth, 0);
		assert_true(x.ended > 20 && x.lost > 20);
		assert_int_equal(x.inflight_ns, x.times_ns);
		teardown(NULL);
	}
}

/* A bio that is merged into a waiting request, or remapped. */
static void feed_bio(uint64_t ts, unsigned int action, uint32_t utid, uint64_t sector, uint64_t ino)
{
	struct event ev = { .ts_ns = ts, .utid = utid, .kind = EVENT_REQUEST };

	ev.v[EV_REQUEST_ACTION] = action;
	ev.v[EV_REQUEST_RQ] = 0xb10 + sector;
	ev.v[EV_REQUEST_DEV] = 8 << 20;
	ev.v[EV_REQUEST_SECTOR] = sector;
	ev.v[EV_REQUEST_BYTES] = 4096;
	ev.v[EV_REQUEST_CMD_FLAGS] = WRITE;
	ev.v[EV_REQUEST_PAGES] = EVENT_PAGES_FILE;
	ev.v[EV_REQUEST_INO] = ino;
	assert_int_equal(request_track_event(track, &ev), 0);
}

struct held {
	struct request_part parts[16];
	uint32_t cnt, merge_cnt;
	uint64_t bytes;
};

static int collect_parts(void *ctx, const struct block_request *r)
{
	struct held *all = ctx;
	struct block_request part;

	if (r->end != BLOCK_END_DONE)
		return 0;
	all->cnt = block_request_parts(r);
	all->merge_cnt = r->merge_cnt;
	all->bytes = r->bytes;
	assert_true(all->cnt <= 16);
	for (uint32_t i = 0; i < all->cnt; i++) {
		block_request_part(r, i, &part);
		all->parts[i] = (struct request_part){ .submitter = part.submitter, .ino = part.ino,
						       .bytes = part.held_bytes,
						       .pages = part.pages, .below = part.below,
						       .asked_by = part.asked_by };
	}
	return 0;
}

static void check_part(const struct held *h, uint32_t i, uint32_t submitter, uint64_t bytes)
{
	assert_int_equal(h->parts[i].submitter, submitter);
	assert_int_equal(h->parts[i].bytes, bytes);
}

/* Sectors 992 to 1032: one bio in front, the request's own, two of one thread, one of another. */
UNIT_TEST(test_merged_bios_are_parts_of_their_request)
{
	struct held h = { 0 };

	assert_int_equal(request_track_new(&track, collect_parts, &h), 0);
	feed((struct step){ 100, 1, EVENT_REQUEST_INSERT, 20, 4096, 0, WRITE });
	feed_bio(110, EVENT_REQUEST_BIO_BACKMERGE, 21, 1008, 7);
	feed_bio(120, EVENT_REQUEST_BIO_BACKMERGE, 21, 1016, 7);
	feed_bio(130, EVENT_REQUEST_BIO_FRONTMERGE, 22, 992, 8);
	feed_bio(140, EVENT_REQUEST_BIO_BACKMERGE, 23, 1024, 9);
	/* nothing ends there */
	feed_bio(150, EVENT_REQUEST_BIO_BACKMERGE, 24, 5000, 9);
	feed_at((struct step){ 160, 1, EVENT_REQUEST_ISSUE, 30, 20480, 0, WRITE }, 992);
	feed_at((struct step){ 200, 1, EVENT_REQUEST_COMPLETE, 99, 20480, 20480, WRITE }, 992);
	assert_int_equal(h.cnt, 4);
	assert_int_equal(h.merge_cnt, 4);
	assert_int_equal(h.bytes, 20480);
	check_part(&h, 0, 22, 4096);
	check_part(&h, 1, 20, 4096);
	check_part(&h, 2, 21, 8192);
	check_part(&h, 3, 23, 4096);
	assert_int_equal(h.parts[2].ino, 7);
	teardown(NULL);
}

/* A request that was merged as a whole brings its parts; bytes of unseen merges have no owner. */
UNIT_TEST(test_parts_are_appended_and_add_up_to_the_request)
{
	struct held h = { 0 };

	assert_int_equal(request_track_new(&track, collect_parts, &h), 0);
	feed((struct step){ 100, 1, EVENT_REQUEST_INSERT, 20, 4096, 0, WRITE });
	feed_at((struct step){ 110, 2, EVENT_REQUEST_INSERT, 21, 4096, 0, WRITE }, 1008);
	feed_bio(120, EVENT_REQUEST_BIO_BACKMERGE, 22, 1016, 7);
	feed_at((struct step){ 130, 2, EVENT_REQUEST_MERGE, 30, 8192, 0, WRITE }, 1008);
	feed((struct step){ 160, 1, EVENT_REQUEST_ISSUE, 30, 16384, 0, WRITE });
	feed((struct step){ 200, 1, EVENT_REQUEST_COMPLETE, 99, 16384, 12288, WRITE });
	feed((struct step){ 210, 1, EVENT_REQUEST_COMPLETE, 99, 4096, 4096, WRITE });
	assert_int_equal(h.cnt, 4);
	assert_int_equal(h.bytes, 16384);
	check_part(&h, 0, 20, 4096);
	check_part(&h, 1, 21, 4096);
	check_part(&h, 2, 22, 4096);
	check_part(&h, 3, EVENT_ID_UNKNOWN, 4096);
	teardown(NULL);
}

/* A kernel thread queues below a volume the I/O that thread 20 requested from the volume. */
UNIT_TEST_IN(test_request_below_a_volume_was_asked_for_above, setup, teardown)
{
	struct event ev = { .ts_ns = 110, .utid = 20, .kind = EVENT_REQUEST };

	request_track_on_flight(track, NULL);
	ev.v[EV_REQUEST_ACTION] = EVENT_REQUEST_BIO_QUEUE;
	ev.v[EV_REQUEST_RQ] = 5;
	ev.v[EV_REQUEST_DEV] = 253 << 20;
	ev.v[EV_REQUEST_SECTOR] = 64;
	ev.v[EV_REQUEST_BYTES] = 8192;
	ev.v[EV_REQUEST_CMD_FLAGS] = WRITE | BLOCK_REQ_META;
	assert_int_equal(request_track_event(track, &ev), 0);
	ev.v[EV_REQUEST_CMD_FLAGS] = WRITE;	/* as md passes it on */
	ev.v[EV_REQUEST_ACTION] = EVENT_REQUEST_BIO_REMAP;
	ev.utid = 30;
	ev.v[EV_REQUEST_RQ] = 6;
	ev.v[EV_REQUEST_INO] = 64;
	ev.v[EV_REQUEST_INO_DEV] = 253 << 20;
	ev.v[EV_REQUEST_DEV] = 8 << 20;
	ev.v[EV_REQUEST_SECTOR] = 1000;
	assert_int_equal(request_track_event(track, &ev), 0);
	feed((struct step){ 120, 1, EVENT_REQUEST_INSERT, 30, 8192, 0, WRITE });
	feed((struct step){ 130, 1, EVENT_REQUEST_ISSUE, 30, 8192, 0, WRITE });
	feed((struct step){ 200, 1, EVENT_REQUEST_COMPLETE, 99, 8192, 8192, WRITE });
	ev = (struct event){ .ts_ns = 210, .utid = 99, .kind = EVENT_REQUEST };
	ev.v[EV_REQUEST_ACTION] = EVENT_REQUEST_BIO_COMPLETE;
	ev.v[EV_REQUEST_RQ] = 5;
	ev.v[EV_REQUEST_DEV] = 253 << 20;
	ev.v[EV_REQUEST_STATUS] = 10;
	assert_int_equal(request_track_event(track, &ev), 0);
	assert_int_equal(ended.cnt, 2);
	assert_int_equal(ended.r[0].submitter, 30);
	assert_true(ended.r[0].below && ended.r[0].asked_by == 20);
	assert_true(block_request_is_meta(&ended.r[0]));
	assert_true(ended.r[1].submitter == 20 && ended.r[1].bytes == 8192);
	assert_int_equal(ended.r[1].status, 10);
}

static void feed_volume(uint64_t ts, uint32_t utid, uint64_t sector, uint64_t ino)
{
	struct event ev = { .ts_ns = ts, .utid = utid, .kind = EVENT_REQUEST };

	ev.v[EV_REQUEST_ACTION] = EVENT_REQUEST_BIO_QUEUE;
	ev.v[EV_REQUEST_RQ] = sector;
	ev.v[EV_REQUEST_DEV] = 253 << 20;
	ev.v[EV_REQUEST_SECTOR] = sector;
	ev.v[EV_REQUEST_BYTES] = 4096;
	ev.v[EV_REQUEST_CMD_FLAGS] = WRITE;
	ev.v[EV_REQUEST_PAGES] = ino ? EVENT_PAGES_FILE : EVENT_PAGES_ANON;
	ev.v[EV_REQUEST_INO] = ino;
	assert_int_equal(request_track_event(track, &ev), 0);
}

static void feed_remap(uint64_t ts, uint64_t sector)
{
	struct event ev = { .ts_ns = ts, .utid = 30, .kind = EVENT_REQUEST };

	ev.v[EV_REQUEST_ACTION] = EVENT_REQUEST_BIO_REMAP;
	ev.v[EV_REQUEST_RQ] = 1 << 20 | sector;
	ev.v[EV_REQUEST_INO] = sector;
	ev.v[EV_REQUEST_INO_DEV] = 253 << 20;
	ev.v[EV_REQUEST_DEV] = 8 << 20;
	ev.v[EV_REQUEST_SECTOR] = 2048 + sector;
	ev.v[EV_REQUEST_BYTES] = 4096;
	ev.v[EV_REQUEST_CMD_FLAGS] = WRITE;
	assert_int_equal(request_track_event(track, &ev), 0);
}

static void feed_below(uint64_t ts, unsigned int action, uint64_t sector)
{
	struct event ev = { .ts_ns = ts, .utid = 30, .kind = EVENT_REQUEST };

	ev.v[EV_REQUEST_ACTION] = action;
	ev.v[EV_REQUEST_RQ] = 1 << 20 | sector;
	ev.v[EV_REQUEST_DEV] = 8 << 20;
	ev.v[EV_REQUEST_SECTOR] = 2048 + sector;
	ev.v[EV_REQUEST_BYTES] = 4096;
	ev.v[EV_REQUEST_CMD_FLAGS] = WRITE;
	ev.v[EV_REQUEST_PAGES] = EVENT_PAGES_KERNEL;
	assert_int_equal(request_track_event(track, &ev), 0);
}

/* dm-crypt: the pages below are a kernel thread's own, and bios of three threads become one. */
UNIT_TEST(test_merged_parts_below_a_volume_keep_who_asked_it)
{
	struct held h = { 0 };

	assert_int_equal(request_track_new(&track, collect_parts, &h), 0);
	feed_volume(100, 20, 108, 7);
	feed_volume(101, 21, 116, 8);
	feed_volume(102, 22, 100, 0);
	feed_remap(110, 108);
	feed_below(111, EVENT_REQUEST_INSERT, 108);
	feed_remap(112, 116);
	feed_below(113, EVENT_REQUEST_BIO_BACKMERGE, 116);
	feed_remap(114, 100);
	feed_below(115, EVENT_REQUEST_BIO_FRONTMERGE, 100);
	feed_at((struct step){ 120, 1 << 20 | 108, EVENT_REQUEST_ISSUE, 30, 12288, 0, WRITE },
		2148);
	feed_at((struct step){ 200, 1 << 20 | 108, EVENT_REQUEST_COMPLETE, 99, 12288, 12288,
				  WRITE }, 2148);
	assert_int_equal(h.cnt, 3);
	assert_int_equal(h.bytes, 12288);
	for (uint32_t i = 0; i < 3; i++) {
		static const uint32_t askers[] = { 22, 20, 21 }, inos[] = { 0, 7, 8 };

		check_part(&h, i, 30, 4096);
		assert_int_equal(h.parts[i].below, 2);
		assert_int_equal(h.parts[i].asked_by, askers[i]);
		assert_int_equal(h.parts[i].ino, inos[i]);
		assert_int_equal(h.parts[i].pages, i ? EVENT_PAGES_FILE : EVENT_PAGES_ANON);
	}
	teardown(NULL);
}

UNIT_TESTS
