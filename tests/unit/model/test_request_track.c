/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Block requests followed from queueing to completion, from hand-made events with known answers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "model/request_track.h"

#define WRITE 1u
#define FLUSH 2u
#define FUA (1u << 17)
#define PREFLUSH (1u << 18)

struct ended {
	struct block_request r[512];
	unsigned int cnt;
};

static struct ended ended;

static int collect(void *ctx, const struct block_request *r)
{
	struct ended *all = ctx;

	assert_true(all->cnt < 512);
	all->r[all->cnt++] = *r;
	return 0;
}

static struct request_track *track_new(void)
{
	struct request_track *b;

	memset(&ended, 0, sizeof(ended));
	assert_int_equal(request_track_new(&b, collect, &ended), 0);
	return b;
}

struct step {
	uint64_t ts, rq;
	unsigned int action;
	uint32_t utid;
	uint64_t bytes, done;
	unsigned int op, flags, status;
};

static void feed_at(struct request_track *b, struct step s, uint64_t sector)
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
	assert_int_equal(request_track_event(b, &ev), 0);
}

static void feed(struct request_track *b, struct step s)
{
	feed_at(b, s, 1000);
}

static void test_block_request_has_queue_and_device_latency(void **state)
{
	struct request_track *b = track_new();
	uint64_t ns;

	feed(b, (struct step){ 100, 1, EVENT_REQUEST_INSERT, 20, 4096, 0, WRITE });
	feed(b, (struct step){ 130, 1, EVENT_REQUEST_ISSUE, 21, 4096, 0, WRITE });
	feed(b,
	     (struct step){ 200, 1, EVENT_REQUEST_COMPLETE, 99, 4096, 4096, WRITE, EVENT_F_IRQ });
	assert_int_equal(ended.cnt, 1);
	assert_int_equal(ended.r[0].submitter,
			 20); /* neither the issuing worker nor the bystander */
	assert_int_equal(ended.r[0].bytes, 4096);
	assert_true(block_request_queue_latency(&ended.r[0], &ns) && ns == 30);
	assert_true(block_request_device_latency(&ended.r[0], &ns) && ns == 70);
	assert_true(block_request_latency(&ended.r[0], &ns) && ns == 100);
	assert_string_equal(block_op_name(ended.r[0].cmd_flags), "write");
	request_track_free(b);
}

static void test_block_request_completes_in_parts(void **state)
{
	struct request_track *b = track_new();

	feed(b, (struct step){ 100, 1, EVENT_REQUEST_ISSUE, 20, 12288, 0, 0 });
	feed(b, (struct step){ 150, 1, EVENT_REQUEST_COMPLETE, 99, 12288, 4096, 0 });
	assert_int_equal(ended.cnt, 0);
	feed(b, (struct step){ 160, 1, EVENT_REQUEST_COMPLETE, 99, 8192, 4096, 0 });
	assert_int_equal(ended.cnt, 0);
	feed(b, (struct step){ 180, 1, EVENT_REQUEST_COMPLETE, 99, 4096, 4096, 0 });
	assert_int_equal(ended.cnt, 1);
	assert_int_equal(ended.r[0].bytes, 12288);
	assert_int_equal(ended.r[0].part_cnt, 3);
	assert_int_equal(ended.r[0].complete_ns, 180);
	request_track_free(b);
}

static void test_block_request_counts_once_at_done(void **state)
{
	struct request_track *b = track_new();

	feed(b, (struct step){ 90, 1, EVENT_REQUEST_START, 20, 4096, 0, WRITE });
	feed(b, (struct step){ 100, 1, EVENT_REQUEST_INSERT, 21, 4096, 0, WRITE });
	feed(b, (struct step){ 110, 1, EVENT_REQUEST_ISSUE, 22, 4096, 0, WRITE });
	feed(b, (struct step){ 200, 1, EVENT_REQUEST_COMPLETE, 99, 4096, 4096, WRITE });
	assert_int_equal(ended.cnt, 0);
	feed(b, (struct step){ 205, 1, EVENT_REQUEST_DONE, 99, 0, 0, WRITE });
	assert_int_equal(ended.cnt, 1);
	assert_int_equal(ended.r[0].submitter, 20);
	assert_int_equal(ended.r[0].complete_ns, 200);
	assert_int_equal(ended.r[0].end_ns, 205);
	/* without a start there is no accounting: its done says nothing */
	feed(b, (struct step){ 300, 1, EVENT_REQUEST_ISSUE, 20, 512, 0, 34 });
	feed(b, (struct step){ 310, 1, EVENT_REQUEST_COMPLETE, 99, 512, 512, 34 });
	feed(b, (struct step){ 311, 1, EVENT_REQUEST_DONE, 99, 0, 0, 34 });
	assert_int_equal(ended.cnt, 2);
	assert_int_equal(ended.r[1].end_ns, 310);
	request_track_free(b);
}

static void test_block_request_is_issued_again_after_requeue(void **state)
{
	struct request_track *b = track_new();
	uint64_t ns;

	feed(b, (struct step){ 100, 1, EVENT_REQUEST_INSERT, 20, 4096, 0, WRITE });
	feed(b, (struct step){ 110, 1, EVENT_REQUEST_ISSUE, 20, 4096, 0, WRITE });
	feed(b, (struct step){ 120, 1, EVENT_REQUEST_REQUEUE, 20, 4096, 0, WRITE });
	feed(b, (struct step){ 125, 1, EVENT_REQUEST_INSERT, 30, 4096, 0, WRITE });
	feed(b, (struct step){ 140, 1, EVENT_REQUEST_ISSUE, 30, 4096, 0, WRITE });
	feed(b, (struct step){ 200, 1, EVENT_REQUEST_COMPLETE, 99, 4096, 4096, WRITE });
	assert_int_equal(ended.cnt, 1);
	assert_int_equal(ended.r[0].requeue_cnt, 1);
	assert_int_equal(ended.r[0].submitter, 20);
	assert_true(block_request_queue_latency(&ended.r[0], &ns) && ns == 10);
	assert_true(block_request_device_latency(&ended.r[0], &ns) && ns == 60);
	request_track_free(b);
}

static void test_block_submitter_is_unknown_in_interrupt_context(void **state)
{
	struct request_track *b = track_new();

	feed(b, (struct step){ 100, 1, EVENT_REQUEST_INSERT, 20, 4096, 0, WRITE, EVENT_F_IRQ });
	feed(b, (struct step){ 110, 1, EVENT_REQUEST_ISSUE, 21, 4096, 0, WRITE });
	feed(b, (struct step){ 200, 1, EVENT_REQUEST_COMPLETE, 22, 4096, 4096, WRITE });
	assert_int_equal(ended.r[0].submitter, EVENT_ID_UNKNOWN);
	request_track_free(b);
}

static void test_block_request_in_flight_before_the_trace_counts_without_latency(void **state)
{
	struct request_track *b = track_new();
	uint64_t ns;

	feed(b, (struct step){ 200, 1, EVENT_REQUEST_COMPLETE, 99, 8192, 4096, WRITE });
	feed(b, (struct step){ 210, 1, EVENT_REQUEST_COMPLETE, 99, 4096, 4096, WRITE });
	assert_int_equal(ended.cnt, 1);
	assert_int_equal(ended.r[0].bytes, 8192);
	assert_int_equal(ended.r[0].submitter, EVENT_ID_UNKNOWN);
	assert_false(block_request_latency(&ended.r[0], &ns));
	request_track_free(b);
}

static void test_block_write_with_flush_sequence_counts_once(void **state)
{
	struct request_track *b = track_new();
	unsigned int op = WRITE | PREFLUSH | FUA;

	/* the data part completes, then the whole with 0 bytes: before 6.5, and from 6.5 on */
	feed(b, (struct step){ 100, 1, EVENT_REQUEST_INSERT, 20, 4096, 0, op });
	feed(b, (struct step){ 110, 1, EVENT_REQUEST_ISSUE, 20, 4096, 0, op });
	feed(b, (struct step){ 120, 1, EVENT_REQUEST_COMPLETE, 99, 4096, 4096, op,
			       EVENT_F_FLUSH_SEQ });
	feed(b, (struct step){ 150, 1, EVENT_REQUEST_COMPLETE, 99, 0, 0, op });
	assert_int_equal(ended.cnt, 1);
	feed(b, (struct step){ 200, 2, EVENT_REQUEST_START, 20, 4096, 0, op });
	feed(b, (struct step){ 210, 2, EVENT_REQUEST_ISSUE, 20, 4096, 0, op });
	feed(b, (struct step){ 220, 2, EVENT_REQUEST_COMPLETE, 99, 4096, 4096, op,
			       EVENT_F_FLUSH_SEQ });
	feed(b, (struct step){ 221, 2, EVENT_REQUEST_DONE, 99, 0, 0, op });
	feed(b, (struct step){ 250, 2, EVENT_REQUEST_COMPLETE, 99, 0, 0, op });
	feed(b, (struct step){ 251, 2, EVENT_REQUEST_DONE, 99, 0, 0, op });
	assert_int_equal(ended.cnt, 2);
	/* an empty flush of its own is a request */
	feed(b, (struct step){ 300, 3, EVENT_REQUEST_ISSUE, 20, 0, 0, FLUSH });
	feed(b, (struct step){ 310, 3, EVENT_REQUEST_COMPLETE, 99, 0, 0, FLUSH });
	assert_int_equal(ended.cnt, 3);
	assert_string_equal(block_op_name(ended.r[2].cmd_flags), "flush");
	request_track_free(b);
}

/* Before 6.5 the flags that ask for a flush are gone when its sequence completes. */
static void test_block_empty_flush_without_flags_counts_and_a_tail_does_not(void **state)
{
	struct request_track *b = track_new();

	feed_at(b, (struct step){ 100, 1, EVENT_REQUEST_COMPLETE, 99, 0, 0, WRITE }, 0);
	assert_int_equal(ended.cnt, 1);
	assert_string_equal(block_op_name(ended.r[0].cmd_flags), "write");
	feed_at(b, (struct step){ 200, 1, EVENT_REQUEST_COMPLETE, 99, 0, 0, WRITE }, 0);
	assert_int_equal(ended.cnt, 2);
	feed(b, (struct step){ 300, 1, EVENT_REQUEST_ISSUE, 20, 4096, 0, WRITE });
	feed(b, (struct step){ 310, 1, EVENT_REQUEST_COMPLETE, 99, 4096, 4096, WRITE });
	feed(b, (struct step){ 320, 1, EVENT_REQUEST_COMPLETE, 99, 0, 0, WRITE });
	assert_int_equal(ended.cnt, 3);
	feed_at(b, (struct step){ 400, 1, EVENT_REQUEST_ISSUE, 20, 4096, 0, WRITE }, 0);
	feed_at(b,
		(struct step){ 410, 1, EVENT_REQUEST_COMPLETE, 99, 4096, 4096, WRITE,
			       EVENT_F_FLUSH_SEQ },
		0);
	feed_at(b, (struct step){ 420, 1, EVENT_REQUEST_COMPLETE, 99, 0, 0, WRITE }, 0);
	assert_int_equal(ended.cnt, 4);
	feed_at(b, (struct step){ 430, 1, EVENT_REQUEST_COMPLETE, 99, 0, 0, WRITE }, 0);
	assert_int_equal(ended.cnt, 5);
	/*
	 * A write without a flush sequence has no tail: an empty flush that gets the write's
	 * request next counts.
	 */
	feed_at(b, (struct step){ 500, 1, EVENT_REQUEST_ISSUE, 20, 4096, 0, WRITE }, 0);
	feed_at(b, (struct step){ 510, 1, EVENT_REQUEST_COMPLETE, 99, 4096, 4096, WRITE }, 0);
	feed_at(b, (struct step){ 520, 1, EVENT_REQUEST_COMPLETE, 99, 0, 0, WRITE }, 0);
	assert_int_equal(ended.cnt, 7);
	/* nor has what a device with FUA writes */
	feed_at(b, (struct step){ 600, 1, EVENT_REQUEST_ISSUE, 20, 4096, 0, WRITE | FUA }, 0);
	feed_at(b, (struct step){ 610, 1, EVENT_REQUEST_COMPLETE, 99, 4096, 4096, WRITE | FUA }, 0);
	feed_at(b, (struct step){ 620, 1, EVENT_REQUEST_COMPLETE, 99, 0, 0, WRITE }, 0);
	assert_int_equal(ended.cnt, 9);
	request_track_free(b);
}

static void test_block_merge_ends_a_request_without_counting_it(void **state)
{
	struct request_track *b = track_new();

	feed(b, (struct step){ 100, 1, EVENT_REQUEST_START, 20, 4096, 0, WRITE });
	feed(b, (struct step){ 105, 1, EVENT_REQUEST_MERGE, 20, 4096, 0, WRITE });
	assert_int_equal(ended.cnt, 1);
	assert_int_equal(ended.r[0].end, BLOCK_END_MERGED);
	/* the address lives on */
	feed(b, (struct step){ 110, 1, EVENT_REQUEST_ISSUE, 21, 512, 0, 0 });
	feed(b, (struct step){ 120, 1, EVENT_REQUEST_COMPLETE, 99, 512, 512, 0 });
	assert_int_equal(ended.cnt, 2);
	assert_int_equal(ended.r[1].submitter, 21);
	request_track_free(b);
}

static void test_block_lost_completion_begins_a_new_life(void **state)
{
	struct request_track *b = track_new();
	uint64_t ns;

	feed(b, (struct step){ 100, 1, EVENT_REQUEST_START, 20, 4096, 0, WRITE });
	feed(b, (struct step){ 110, 1, EVENT_REQUEST_ISSUE, 20, 4096, 0, WRITE });
	feed(b, (struct step){ 500, 1, EVENT_REQUEST_START, 30, 512, 0, 0 });
	assert_int_equal(ended.cnt, 0);
	feed(b, (struct step){ 510, 1, EVENT_REQUEST_ISSUE, 30, 512, 0, 0 });
	feed(b, (struct step){ 520, 1, EVENT_REQUEST_COMPLETE, 99, 512, 512, 0, 0, 5 });
	feed(b, (struct step){ 521, 1, EVENT_REQUEST_DONE, 99, 0, 0, 0 });
	assert_int_equal(ended.cnt, 1);
	assert_int_equal(ended.r[0].submitter, 30);
	assert_int_equal(ended.r[0].status, 5);
	assert_true(block_request_latency(&ended.r[0], &ns) && ns == 20);
	request_track_free(b);
}

static void test_block_without_its_done_at_the_end_is_in_flight(void **state)
{
	struct request_track *b = track_new();

	feed(b, (struct step){ 100, 1, EVENT_REQUEST_START, 20, 4096, 0, WRITE });
	feed(b, (struct step){ 110, 1, EVENT_REQUEST_ISSUE, 20, 4096, 0, WRITE });
	feed(b, (struct step){ 120, 1, EVENT_REQUEST_COMPLETE, 20, 4096, 4096, WRITE });
	feed(b, (struct step){ 130, 2, EVENT_REQUEST_ISSUE, 20, 4096, 0, WRITE });
	assert_int_equal(ended.cnt, 0);
	assert_int_equal(request_track_pending(b, collect, &ended), 0);
	assert_int_equal(ended.cnt, 2);
	assert_int_equal(ended.r[0].end, 0);
	assert_int_equal(ended.r[0].end_ns, 0);
	assert_int_equal(ended.r[0].complete_ns, 120);
	assert_int_equal(ended.r[1].end, 0);
	request_track_free(b);
}

/* 256 requests in flight on one device, ended in a shuffled order: each keeps its own times and
 * submitter. */
static void test_block_requests_in_flight_end_in_any_order(void **state)
{
	struct request_track *b = track_new();
	unsigned int order[256], i, j, tmp;

	srand(7);
	for (i = 0; i < 256; i++) {
		order[i] = i;
		feed(b, (struct step){ 1000 + i, 0x1000 + i * 64, EVENT_REQUEST_INSERT, 100 + i,
				       512 * (i + 1), 0, WRITE });
	}
	for (i = 0; i < 256; i++)
		feed(b, (struct step){ 2000 + 2 * i, 0x1000 + i * 64, EVENT_REQUEST_ISSUE, 5,
				       512 * (i + 1), 0, WRITE });
	for (i = 255; i > 0; i--) {
		j = (unsigned int)rand() % (i + 1);
		tmp = order[i];
		order[i] = order[j];
		order[j] = tmp;
	}
	for (i = 0; i < 256; i++)
		feed(b, (struct step){ 9000 + i, 0x1000 + order[i] * 64, EVENT_REQUEST_COMPLETE, 6,
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
	request_track_free(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_block_request_has_queue_and_device_latency),
		cmocka_unit_test(test_block_request_completes_in_parts),
		cmocka_unit_test(test_block_request_counts_once_at_done),
		cmocka_unit_test(test_block_request_is_issued_again_after_requeue),
		cmocka_unit_test(test_block_submitter_is_unknown_in_interrupt_context),
		cmocka_unit_test(
			test_block_request_in_flight_before_the_trace_counts_without_latency),
		cmocka_unit_test(test_block_write_with_flush_sequence_counts_once),
		cmocka_unit_test(test_block_empty_flush_without_flags_counts_and_a_tail_does_not),
		cmocka_unit_test(test_block_merge_ends_a_request_without_counting_it),
		cmocka_unit_test(test_block_lost_completion_begins_a_new_life),
		cmocka_unit_test(test_block_without_its_done_at_the_end_is_in_flight),
		cmocka_unit_test(test_block_requests_in_flight_end_in_any_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
