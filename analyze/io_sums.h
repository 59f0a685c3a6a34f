/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * io_sums: what the block requests of a group, device and operation add up to.
 *
 *     struct block_request --add--> [io_sum] --put--> index --merge--> [io_sum] --> io_usage
 *
 * All zeros is an empty one. Threads: one.
 */
#ifndef IO_SUMS_H
#define IO_SUMS_H

#include "event/block_track.h"
#include "analyze/context.h"
#include "analyze/quantile.h"

struct io_sum {
	uint64_t ios, bytes, errors, merges, requeues;
	struct quantile latency, queue, device;
};

int io_sum_add(struct io_sum *x, const struct block_request *r);
/* As a row of the part INDEX_REQUESTS has it, behind its key. */
void io_sum_put(struct io_sum *x, struct buf *out);
int io_sum_merge(struct io_sum *x, struct index_in *in);
void io_sum_reset(struct io_sum *x);
void io_sum_done(struct io_sum *x);

/*
 * The key of such a row: what a request has that says whose it is and of which kind. Equal keys are the
 * same in every question; submitter and owner_upid are such that ident knows them.
 */
void io_key_of(const struct analysis *a, const struct block_request *r, struct block_request *ret);
uint64_t io_key_hash(const struct block_request *key);
bool io_key_equal(const struct block_request *x, const struct block_request *y);
void io_key_put(const struct block_request *key, struct buf *out);
int io_key_next(struct index_in *in, struct block_request *ret); /* 1: a row, 0: no more, -EBADMSG */

#endif /* IO_SUMS_H */
