/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Of the sums, counts are plain; latencies go into quantiles, which merge. */
#include "analyze/fold/fold_requests.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct requests_machine {
	struct request_track *track;
	struct fold_sink sink;
};

/* ---- the machine ---- */

static int on_request(void *ctx, const struct block_request *r)
{
	struct requests_machine *m = ctx;

	return m->sink.found(m->sink.ctx, r);
}

static int on_step_end(void *ctx, const struct block_request *r)
{
	struct requests_machine *m = ctx;
	const struct request_step step = { .ended = r, .ts_ns = r->end_ns, .dev = r->dev };

	return m->sink.found(m->sink.ctx, &step);
}

static void requests_close(void *machine)
{
	struct requests_machine *m = machine;

	request_track_free(m->track);
	free(m);
}

static int open_with(void **ret, const struct fold_sink *sink, request_track_sink on_end)
{
	struct requests_machine *m = calloc(1, sizeof(*m));

	if (!m)
		return -ENOMEM;
	m->sink = *sink;
	if (request_track_new(&m->track, on_end, m) < 0) {
		free(m);
		return -ENOMEM;
	}
	*ret = m;
	return 0;
}

static int requests_open(void **ret, const struct fold_def *def, struct analysis *a,
			 const struct fold_sink *sink)
{
	return open_with(ret, sink, on_request);
}

static int in_flight_open(void **ret, const struct fold_def *def, struct analysis *a,
			  const struct fold_sink *sink)
{
	return open_with(ret, sink, on_step_end);
}

static int requests_event(void *machine, const struct event *ev)
{
	return request_track_event(((struct requests_machine *)machine)->track, ev);
}

static int in_flight_event(void *machine, const struct event *ev)
{
	struct requests_machine *m = machine;
	struct request_step step = { .ts_ns = ev->ts_ns, .dev = (uint32_t)ev->v[EV_REQUEST_DEV] };
	uint64_t rq = ev->v[EV_REQUEST_RQ];
	bool was = request_track_in_flight(m->track, rq, step.dev);
	int ret = request_track_event(m->track, ev);

	if (ret < 0)
		return ret;
	step.more_in_flight = request_track_in_flight(m->track, rq, step.dev) - was;
	return m->sink.found(m->sink.ctx, &step);
}

struct request_track *fold_requests_track(void *machine)
{
	return ((struct requests_machine *)machine)->track;
}

/* ---- states ---- */

static int requests_begin_interval(void *machine, uint64_t from_ns)
{
	request_track_begin_notes(fold_requests_track(machine), from_ns);
	return 0;
}

static int requests_put_interval(void *machine, struct buf *out)
{
	const struct buf *notes = request_track_notes(fold_requests_track(machine));

	buf_add(out, notes->data, notes->len);
	out->failed |= notes->failed;
	return 0;
}

static int requests_save(void *machine, uint64_t at_ns, struct buf *out)
{
	request_track_save(fold_requests_track(machine), at_ns, out);
	return 0;
}

static int requests_load(void *machine, uint64_t at_ns, struct packed_in *in, bool is_tail)
{
	return request_track_load(fold_requests_track(machine), in, at_ns);
}

static const struct fold_state_def requests_state = {
	.part = INDEX_REQUEST_STATE, .tail = INDEX_TAIL_REQUESTS,
	.begin_interval = requests_begin_interval, .put_interval = requests_put_interval,
	.save = requests_save, .load = requests_load,
};

/* ---- keys: submitter and device; owner, pages, how the owner is known, operation ---- */


static struct fold_key pack_key(const struct block_request *r)
{
	uint64_t op = r->cmd_flags & 0xff, meta = r->cmd_flags >> 12 & 1;

	return (struct fold_key){ (uint64_t)r->submitter << 32 | r->dev,
				  (uint64_t)r->owner_upid << 32 | (uint64_t)r->pages << 24 |
					  (uint64_t)r->owner_how << 16 | meta << 8 | op };
}

struct fold_key request_key(const struct dense_ids *d, const struct block_request *r)
{
	struct block_request key = *r;

	key.submitter = dense_utid(d, dense_thread(d, r->submitter));
	key.owner_upid = r->owner_how ? dense_upid(d, dense_process(d, r->owner_upid)) : 0;
	return pack_key(&key);
}

void request_of_key(const struct fold_key *key, struct block_request *ret)
{
	*ret = (struct block_request){
		.submitter = (uint32_t)(key->a >> 32), .dev = (uint32_t)key->a,
		.owner_upid = (uint32_t)(key->b >> 32), .pages = (uint8_t)(key->b >> 24),
		.owner_how = (uint8_t)(key->b >> 16),
		.cmd_flags = (uint32_t)(key->b & 0xff) | (uint32_t)(key->b >> 8 & 1) << 12,
	};
}

#define KEY_FIELDS(X) X(submitter) X(dev) X(cmd_flags) X(pages) X(owner_how) X(owner_upid)

static int requests_get_key(const struct dense_ids *d, struct packed_in *in, struct fold_key *ret)
{
	struct block_request r = { 0 };

	if (in->p == in->end)
		return in->bad ? -EBADMSG : 0;
#define X(f) r.f = (__typeof__(r.f))packed_get(in);
	KEY_FIELDS(X)
#undef X
	*ret = pack_key(&r);
	return in->bad ? -EBADMSG : 1;
}

/* ---- sums ---- */

#define COUNTS(X) X(ios) X(bytes) X(errors) X(merges) X(requeues)

static int add_request(struct request_sum *x, const struct block_request *r)
{
	uint64_t ns;
	int ret = 0;

	if (r->end == BLOCK_END_MERGED) {
		x->merges++;
		return 0;
	}
	x->ios++;
	x->unknown_owner_ios += x->owner_is_unknown;
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

static int requests_add(void *ctx, const void *found)
{
	struct fold_target *t = ctx;
	const struct block_request *r = found;
	struct fold_key key;
	uint64_t end;
	void *sum;
	int ret;

	if (r->end_ns < t->from_ns || r->end_ns >= t->to_ns)
		return 0;
	key = request_key(t->ids, r);
	ret = t->sum(t, r->end_ns, &key, &sum, &end);
	return ret > 0 ? add_request(sum, r) : ret;
}

static void requests_reset(void *sum)
{
	struct request_sum *x = sum;
	struct request_sum empty = { .latency = x->latency, .queue = x->queue,
				     .device = x->device };

	quantile_reset(&empty.latency);
	quantile_reset(&empty.queue);
	quantile_reset(&empty.device);
	*x = empty;
}

static void requests_done(void *sum)
{
	struct request_sum *x = sum;

	quantile_done(&x->latency);
	quantile_done(&x->queue);
	quantile_done(&x->device);
}

static void requests_put(const struct dense_ids *d, const struct fold_key *key, void *sum,
			 struct buf *out)
{
	struct request_sum *x = sum;
	struct block_request r;

	request_of_key(key, &r);
#define X(f) packed_put(out, r.f);
	KEY_FIELDS(X)
#undef X
#define X(f) packed_put(out, x->f);
	COUNTS(X)
#undef X
	quantile_put(&x->latency, out);
	quantile_put(&x->queue, out);
	quantile_put(&x->device, out);
}

static int requests_merge(void *sum, struct packed_in *in)
{
	struct request_sum *x = sum;
	uint64_t ios = x->ios;
	int ret;

#define X(f) x->f += packed_get(in);
	COUNTS(X)
#undef X
	if (x->owner_is_unknown)
		x->unknown_owner_ios += x->ios - ios;
	ret = quantile_merge(&x->latency, in);
	if (!ret)
		ret = quantile_merge(&x->queue, in);
	if (!ret)
		ret = quantile_merge(&x->device, in);
	return ret;
}

static const struct fold_sums_def request_sums = {
	.bytes = sizeof(struct request_sum), .reset = requests_reset, .done = requests_done,
	.add = requests_add, .put = requests_put, .get_key = requests_get_key,
	.merge = requests_merge, .part = INDEX_REQUESTS, .is_exact_decoded = true,
};

const struct fold_def fold_requests = {
	.kinds = 1u << EVENT_REQUEST, .state = &requests_state, .sums = &request_sums,
	.open = requests_open, .close = requests_close, .event = requests_event,
};

const struct fold_def fold_in_flight = {
	.kinds = 1u << EVENT_REQUEST, .begin = FOLD_FROM_MINUTE, .open = in_flight_open,
	.close = requests_close, .event = in_flight_event,
};
