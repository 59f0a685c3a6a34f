/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * request_track: follows each block request from its queueing to its completion.
 *
 *     block events --[request_track]--> one struct block_request per request, when it is over
 *
 * Device and address identify a request in flight. Any number of requests may be in flight and
 * complete in any order. The life of a request is:
 * [start] [insert] issue (requeue [insert] issue)* complete+ [done]
 *
 *   - A request completes in parts: the sum of done_bytes reaches the request's bytes with the
 *     last part.
 *   - A request is over, and counted, when the kernel ends its I/O accounting (done; as
 *     /proc/diskstats counts), or at its last completion if the kernel announces neither start nor
 *     done.
 *   - Queue latency: start (else insert, else none) to the first issue. Device latency: last
 *     issue to last completion. Latency: start (else insert, else issue) to last completion.
 *   - The submitter is the thread that caused the start, else the insert, else the issue; in
 *     interrupt context it is EVENT_ID_UNKNOWN. The thread running at completion does not matter.
 *   - A request is in flight during its latency: from its queueing to its last completion.
 *   - A request that was in flight when the recording began has only the fields of later events,
 *     and no latency.
 *   - A request that is merged into another one ends, and counts as a merge, not as a request.
 *   - A bio of a device without requests is a request of that device, from its queueing to its
 *     completion; its identity is the bio's address.
 *   - A bio that is merged into a waiting request is a part of that request, with its own
 *     submitter and pages. The waiting request is found by its last or first sector, which adjoins
 *     the bio. Parts of a request that is merged as a whole are appended to those of the other
 *     request.
 *   - A request or bio below a volume was remapped from a bio of the volume; asked_by is the
 *     submitter of that bio.
 *   - A write with flush or FUA on a device that needs a flush sequence completes twice at one
 *     address, the second time with 0 bytes: that is one request.
 *
 * If the end of a request was lost, a new life at its address ends the old one: BLOCK_END_LOST.
 * goes_on() in request_track.c has the rule that separates lives. Memory grows with the number of
 * request addresses, which the kernel allocates once per queue. Calls come in order of time.
 * Threads: one.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/event.h"
#include "base/buf.h"

struct request_track;

enum block_end {
	BLOCK_END_DONE = 1,
	BLOCK_END_MERGED = 2,
	/* the end was not seen, and the address begins a new life: not counted */
	BLOCK_END_LOST = 3,
};

/* Events that must have occurred, but were not seen, in a request with a start. */
enum { REQUEST_UNSEEN_COMPLETE = 1, REQUEST_UNSEEN_DONE = 2 };

/* Data of a request from one bio, or from several consecutive bios with equal properties. */
struct request_part {
	uint64_t ino, path, bytes;
	uint32_t ino_dev;
	uint32_t submitter;		/* utid; EVENT_ID_UNKNOWN */
	uint32_t owner_upid;		/* valid unless owner_how is EVENT_OWNER_NONE */
	uint32_t asked_by;		/* as in struct block_request, and so is below */
	uint8_t pages, owner_how, below;
};

struct block_request {
	uint64_t rq;
	uint64_t sector;		/* the first sector, in units of 512 bytes */
	/* BLOCK_END_DONE: completed bytes; merged: bytes at the merge */
	uint64_t bytes;
	uint64_t start_ns, insert_ns;	/* 0: not seen */
	uint64_t first_issue_ns, issue_ns;	/* first and last issue; 0: not seen */
	uint64_t complete_ns;		/* last completion */
	uint64_t end_ns;		/* when the request was counted */
	uint32_t dev, part;
	uint32_t cmd_flags;		/* REQ_OP in bits 0..7 */
	uint32_t status;		/* of the last failed completion; 0: none failed */
	uint32_t submitter;		/* utid; EVENT_ID_UNKNOWN */
	uint32_t requeue_cnt, part_cnt;	/* requeues, and completions */
	/*
	 * at the last issue: inode of the file (of direct I/O, or of the first page), and number of
	 * its path; 0: none
	 */
	uint64_t ino, path;
	uint32_t ino_dev;
	uint32_t owner_upid;		/* valid unless owner_how is EVENT_OWNER_NONE */
	uint8_t pages;			/* EVENT_PAGES_* */
	uint8_t owner_how;		/* EVENT_OWNER_* */
	uint8_t submitter_rank;		/* 3 start, 2 insert, 1 issue, 0 none */
	uint8_t end;			/* enum block_end */
	/* 1: the request is a flush sequence, which may complete once more at its address */
	uint8_t flush_seq;
	uint8_t unseen;			/* REQUEST_UNSEEN_* */
	/*
	 * 1: a volume remapped the data to this device; asked_by is the submitter on the volume. 2:
	 * pages, ino, path and owner are also from the volume's bio.
	 */
	uint8_t below;
	/* 1: the volume's bio has metadata of a file system; needed because md drops REQ_META */
	uint8_t meta_above;
	uint8_t is_share; /* 1: the share of one owner in a request with several owners */
	uint32_t asked_by;		/* utid; EVENT_ID_UNKNOWN; valid if below */
	uint32_t merge_cnt; /* number of bios and requests merged into it, as the kernel counts */
	uint32_t held_cnt;		/* number of parts; 0: the request is a single part */
	uint64_t held_bytes;		/* set by block_request_part(): bytes of that part */
	const struct request_part *held;	/* in order of sectors */
};

/*
 * A change of the requests in flight at ts_ns: the thread has one more on the device (more: 1), or
 * one fewer (more: -1).
 */
struct request_flight {
	uint64_t ts_ns;
	uint32_t submitter;		/* utid; EVENT_ID_UNKNOWN */
	uint32_t dev;
	int more;
};

#define BLOCK_REQ_META (1u << 12)	/* flag of the kernel in cmd_flags */

/* Returns whether the data are blocks of a file system itself: metadata. */
static inline bool block_request_is_meta(const struct block_request *r)
{
	return r->cmd_flags & BLOCK_REQ_META || r->meta_above;
}

/* Value of `below` in the keys of a fold: submitter was replaced by the submitter on the volume. */
#define REQUEST_PASSED_ON 3

/*
 * The argument is valid during the call. A result < 0 ends the calling function, and becomes its
 * result.
 */
typedef int (*request_track_sink)(void *ctx, const struct block_request *r);
typedef int (*request_flight_sink)(void *ctx, const struct request_flight *f);

/* sink may be NULL. */
int request_track_new(struct request_track **ret, request_track_sink sink, void *ctx);
void request_track_free(struct request_track *b);
/*
 * From now on calls flight, with the same ctx, for every change of the requests in flight, after
 * the event that caused it: a request is queued, gets another submitter, completes, is merged, or
 * is replaced by the next life of its address. request_track_load() reports the loaded requests.
 */
void request_track_on_flight(struct request_track *b, request_flight_sink flight);

/* ev->kind is EVENT_REQUEST. 0, -ENOMEM, or what the sink returned. */
int request_track_event(struct request_track *b, const struct event *ev);

/* Returns the number of addresses seen so far; memory is proportional to it. */
size_t request_track_addresses(const struct request_track *b);

/*
 * Passes the pending requests (end 0) to sink. A completed request without the end of its
 * accounting is pending: the end of a trace, which may be a cut, does not end a request.
 */
int request_track_pending(struct request_track *b, request_track_sink sink, void *ctx);
/* Passes only pending requests in flight to sink: queued, and not entirely completed. */
int request_track_open(struct request_track *b, request_track_sink sink, void *ctx);

/*
 * Returns the life that the last event, ev, belongs to. A merged bio belongs to its request, a
 * remapped bio to the volume's bio. An event that cannot continue the address's current life begins
 * another one. No two lives of a tracker have the same number. False: the event has no life.
 */
struct request_life {
	uint64_t number, rq;		/* number: from 0 */
	uint32_t dev;
};
bool request_track_life(const struct request_track *b, const struct event *ev,
			struct request_life *ret);

/*
 * Saves the requests that may have further events, with their state at ts_ns. A tracker that loads
 * them handles later events in the same way. Load: 0, -ENOMEM or -EBADMSG.
 */
void request_track_save(const struct request_track *b, uint64_t ts_ns, struct buf *out);
int request_track_load(struct request_track *b, struct packed_in *in, uint64_t ts_ns);

/* ---- meaning of the numbers ---- */

/* "read", "write", "flush", "discard", "secure_erase", "write_zeroes", "zone_append", "zone_mgmt",
 * "other" */
const char *block_op_name(uint32_t cmd_flags);
/* Returns when a request was queued: start, else insert, else first issue; 0: unknown. */
uint64_t block_request_queued_ns(const struct block_request *r);
/* Returns the number of parts, at least 1. */
uint32_t block_request_parts(const struct block_request *r);
/*
 * Copies the request from the view of one of its parts: with the part's submitter, pages, file,
 * owner and held_bytes.
 */
void block_request_part(const struct block_request *r, uint32_t i, struct block_request *ret);
/* Latencies; false if one of the two timestamps is missing. */
bool block_request_latency(const struct block_request *r, uint64_t *ret_ns);
bool block_request_queue_latency(const struct block_request *r, uint64_t *ret_ns);
bool block_request_device_latency(const struct block_request *r, uint64_t *ret_ns);
