/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * fold_requests: block requests, as they end. Found: struct block_request (model/request_track.h).
 * Sums: struct request_sum per key of request_key().
 *
 * fold_in_flight: the same events, and how many requests are in flight. Found: struct request_step.
 * The index has no state of it, since a state has only the requests that matter in its interval;
 * reading begins a minute before instead. A request that has been in flight for longer (the block
 * layer's own time limit is half of that) is seen from its next event on.
 */
#ifndef FOLD_REQUESTS_H
#define FOLD_REQUESTS_H

#include "analyze/fold/fold.h"
#include "analyze/fold/quantile.h"
#include "model/request_track.h"

extern const struct fold_def fold_requests, fold_in_flight;

struct request_sum {
	uint64_t ios, bytes, errors, merges, requeues;
	uint64_t unknown_owner_ios;
	struct quantile latency, queue, device;
	bool owner_is_unknown;	/* of what is added next; the target sets it */
};

/* One event of a device, or one request that this event ended. */
struct request_step {
	const struct block_request *ended;	/* NULL: it is an event */
	uint64_t ts_ns;
	uint32_t dev;
	int32_t more_in_flight;		/* 1, 0 or -1 */
};

/*
 * What a request has that says whose it is and of which kind. Equal keys are the same in every
 * question.
 */
struct fold_key request_key(const struct dense_ids *d, const struct block_request *r);
/* The request of a key, all else in which is zero. */
void request_of_key(const struct fold_key *key, struct block_request *ret);

/* Of a machine of fold_requests. */
struct request_track *fold_requests_track(void *machine);

#endif /* FOLD_REQUESTS_H */
