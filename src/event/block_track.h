/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * block_track: follows each block request from its queueing to its completion.
 *
 *     block events --[block_track]--> one struct block_request per request, when it is over
 *
 * A request is (device, its address while in flight). Any number may be in flight, and complete in
 * any order. One life is: [start] [insert] issue (requeue [insert] issue)* complete+ [done]
 *
 *   - It completes in parts: done_bytes add up, the last part leaves nothing.
 *   - It is over, and counted, when the kernel ends its I/O accounting (done; as /proc/diskstats
 * count), or at its last completion where the kernel announces neither start nor done.
 *   - Queue latency: start (else insert, else nothing) to the first issue. Device latency: last
 * issue to last completion. Latency: start (else insert, else issue) to last completion.
 *   - The submitter is the thread that caused the start, else the insert, else the issue; in
 * interrupt context it is EVENT_ID_UNKNOWN. Who runs at completion has nothing to do with it.
 *   - A request that was in flight when the recording began has what was seen of it: no latency.
 *   - A request merged into another ends there: a merge, not a request.
 *   - A write with flush or FUA on a device that needs a flush sequence completes twice under one
 *     address, the second time with 0 bytes: that is one request.
 *
 * When the end of a request was lost its address turns up with a new life: the old one is
 * dropped and counted by block_track_lost_cnt(). Memory is proportional to the addresses of
 * requests there are, which the kernel allocates once per queue. Calls come in time order. Threads:
 * one.
 */
#ifndef BLOCK_TRACK_H
#define BLOCK_TRACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "event/event.h"
#include "event/index_number.h"

struct block_track;

enum block_end { BLOCK_END_DONE = 1, BLOCK_END_MERGED = 2 };

struct block_request {
	uint64_t rq;
	uint64_t sector;		/* first one; 512-byte units */
	uint64_t bytes;			/* BLOCK_END_DONE: finished; merged: of the request then */
	uint64_t start_ns, insert_ns;	/* 0: not seen */
	uint64_t first_issue_ns, issue_ns;	/* first and last issue; 0: not seen */
	uint64_t complete_ns;		/* last completion */
	uint64_t end_ns;		/* when it was counted */
	uint32_t dev, part;
	uint32_t cmd_flags;		/* REQ_OP in bits 0..7 */
	uint32_t status;		/* of the last failed completion; 0 none failed */
	uint32_t submitter;		/* utid; EVENT_ID_UNKNOWN */
	uint32_t requeue_cnt, part_cnt;	/* part_cnt: completions */
	uint64_t ino;			/* behind the first page, when last issued; 0: of none */
	uint32_t ino_dev;
	uint32_t owner_upid;		/* valid unless owner_how is EVENT_OWNER_NONE */
	uint8_t pages;			/* EVENT_PAGES_* */
	uint8_t owner_how;		/* EVENT_OWNER_* */
	uint8_t submitter_rank;		/* 3 start, 2 insert, 1 issue, 0 none */
	uint8_t end;			/* enum block_end */
	uint8_t flush_seq;		/* 1: may complete once more under its address, the flush sequence it is of */
};

/* The address stays valid during the call. */
typedef int (*block_track_sink)(void *ctx, const struct block_request *r);

int block_track_new(struct block_track **ret, block_track_sink sink, void *ctx);
void block_track_free(struct block_track *b);

/* ev->kind is EVENT_BLOCK. 0, -ENOMEM, or what the sink returned. */
int block_track_event(struct block_track *b, const struct event *ev);

/*
 * Hands out those still in flight (end 0): a request that completed but whose end of accounting did not come
 * is not counted. The end of a trace, which may be cut from a longer one, is no event of a request.
 */
int block_track_pending(struct block_track *b, block_track_sink sink, void *ctx);

/* Whether a request of that address is on its way: queued, and not yet handed out. */
bool block_track_in_flight(const struct block_track *b, uint64_t rq, uint32_t dev);

/* A number that changes when a new life begins at that address: nothing from before it matters any more. */
uint64_t block_track_life(const struct block_track *b, uint64_t rq, uint32_t dev);

uint64_t block_track_lost_cnt(const struct block_track *b);

/*
 * States for an index (part INDEX_REQUEST_STATE), as run_queue.h has them: notes of each address as it
 * was at the beginning of a cell when it first matters there, or of all addresses.
 */
void block_track_begin_cell(struct block_track *b, uint64_t from_ns);
const struct buf *block_track_take_cell(const struct block_track *b);
void block_track_save(const struct block_track *b, uint64_t ts_ns, struct buf *out);
int block_track_load(struct block_track *b, struct index_in *in, uint64_t ts_ns);

/* ---- meaning of the numbers ---- */

/* "read", "write", "flush", "discard", "secure_erase", "write_zeroes", "zone_append", "zone_mgmt",
 * "other" */
const char *block_op_name(uint32_t cmd_flags);
/* The instant a request was queued: start, else insert, else first issue; 0 none. */
uint64_t block_request_queued_ns(const struct block_request *r);
/* Latencies; false when an end of it was not seen. */
bool block_request_latency(const struct block_request *r, uint64_t *ret_ns);
bool block_request_queue_latency(const struct block_request *r, uint64_t *ret_ns);
bool block_request_device_latency(const struct block_request *r, uint64_t *ret_ns);

#endif /* BLOCK_TRACK_H */
