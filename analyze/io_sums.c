/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Counts are plain sums; latencies go into quantiles, which merge. */
#include "analyze/io_sums.h"

#include <errno.h>
#include <string.h>

#define IO_COUNTS(X) X(ios) X(bytes) X(errors) X(merges) X(requeues)

/* Of the flags, the operation and REQ_META say what a request is. */
#define KEY_FLAGS (0xffu | 1u << 12)
#define KEY_FIELDS(X) X(submitter) X(dev) X(cmd_flags) X(pages) X(owner_how) X(owner_upid)

int io_sum_add(struct io_sum *x, const struct block_request *r)
{
	uint64_t ns;
	int ret = 0;

	if (r->end == BLOCK_END_MERGED) {
		x->merges++;
		return 0;
	}
	x->ios++;
	x->bytes += r->bytes;
	x->errors += r->status != 0;
	x->requeues += r->requeue_cnt;
	if (block_request_latency(r, &ns))
		ret = quantile_add(&x->latency, ns);
	if (!ret && block_request_queue_latency(r, &ns))
		ret = quantile_add(&x->queue, ns);
	if (!ret && block_request_device_latency(r, &ns))
		ret = quantile_add(&x->device, ns);
	return ret;
}

void io_sum_put(struct io_sum *x, struct buf *out)
{
#define X(f) index_put(out, x->f);
	IO_COUNTS(X)
#undef X
	quantile_put(&x->latency, out);
	quantile_put(&x->queue, out);
	quantile_put(&x->device, out);
}

int io_sum_merge(struct io_sum *x, struct index_in *in)
{
	int ret;

#define X(f) x->f += index_get(in);
	IO_COUNTS(X)
#undef X
	ret = quantile_merge(&x->latency, in);
	if (!ret)
		ret = quantile_merge(&x->queue, in);
	if (!ret)
		ret = quantile_merge(&x->device, in);
	return ret;
}

void io_sum_reset(struct io_sum *x)
{
#define X(f) x->f = 0;
	IO_COUNTS(X)
#undef X
	quantile_reset(&x->latency);
	quantile_reset(&x->queue);
	quantile_reset(&x->device);
}

void io_sum_done(struct io_sum *x)
{
	quantile_done(&x->latency);
	quantile_done(&x->queue);
	quantile_done(&x->device);
}

void io_key_of(const struct analysis *a, const struct block_request *r, struct block_request *ret)
{
	memset(ret, 0, sizeof(*ret));
	ret->submitter = ident_utid(&a->ident, ident_thread(&a->ident, r->submitter));
	ret->dev = r->dev;
	ret->cmd_flags = r->cmd_flags & KEY_FLAGS;
	ret->pages = r->pages;
	ret->owner_how = r->owner_how;
	if (r->owner_how)
		ret->owner_upid = ident_upid(&a->ident, ident_process(&a->ident, r->owner_upid));
}

uint64_t io_key_hash(const struct block_request *key)
{
	uint64_t h = 0;

#define X(f) h = (h ^ key->f) * 0x9e3779b97f4a7c15ull, h ^= h >> 29;
	KEY_FIELDS(X)
#undef X
	return h;
}

bool io_key_equal(const struct block_request *x, const struct block_request *y)
{
#define X(f) if (x->f != y->f) return false;
	KEY_FIELDS(X)
#undef X
	return true;
}

void io_key_put(const struct block_request *key, struct buf *out)
{
#define X(f) index_put(out, key->f);
	KEY_FIELDS(X)
#undef X
}

int io_key_next(struct index_in *in, struct block_request *ret)
{
	if (in->p == in->end)
		return in->bad ? -EBADMSG : 0;
	memset(ret, 0, sizeof(*ret));
#define X(f) ret->f = (__typeof__(ret->f))index_get(in);
	KEY_FIELDS(X)
#undef X
	return in->bad ? -EBADMSG : 1;
}
