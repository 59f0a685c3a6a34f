/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * fold_requests: two folds that share one machine: requests that ended, and the number in flight.
 */
#include "analyze/fold/fold_sums.h"
#include "analyze/fold/folds.h"

struct requests_machine {
	struct fold_machine f;
	struct request_track *track;
};

/* ---- the machine ---- */

static int on_request(void *ctx, const struct block_request *r)
{
	return r->end == BLOCK_END_LOST ? 0 : fold_found(ctx, r);
}

static int on_step_end(void *ctx, const struct block_request *r)
{
	const struct request_step step = { .ended = r, .ts_ns = r->end_ns, .dev = r->dev };

	return r->end == BLOCK_END_LOST ? 0 : fold_found(ctx, &step);
}

static int on_flight(void *ctx, const struct request_flight *f)
{
	const struct request_step step = { .ts_ns = f->ts_ns, .dev = f->dev,
					   .more_in_flight = f->more };

	return fold_found(ctx, &step);
}

static int requests_open(void *machine)
{
	struct requests_machine *m = machine;

	return request_track_new(&m->track, on_request, m);
}

static int in_flight_open(void *machine)
{
	struct requests_machine *m = machine;
	int ret = request_track_new(&m->track, on_step_end, m);

	if (ret == 0)
		request_track_on_flight(m->track, on_flight);
	return ret;
}

static void requests_close(void *machine)
{
	request_track_free(((struct requests_machine *)machine)->track);
}

static int requests_event(void *machine, const struct event *ev)
{
	return request_track_event(((struct requests_machine *)machine)->track, ev);
}

struct request_track *fold_requests_track(void *machine)
{
	return ((struct requests_machine *)machine)->track;
}

/* ---- states ---- */

static void requests_save(void *machine, uint64_t at_ns, struct buf *out)
{
	request_track_save(fold_requests_track(machine), at_ns, out);
}

static int requests_load(void *machine, uint64_t at_ns, struct packed_in *in, bool is_tail)
{
	return request_track_load(fold_requests_track(machine), in, at_ns);
}

static const struct fold_state_def requests_state = {
	.part = INDEX_REQUEST_STATE, .tail = INDEX_TAIL_REQUESTS, .save = requests_save,
	.load = requests_load,
};

/* ---- keys: submitter and device; owner, pages, how the owner was found, size, operation ---- */

#define KEY_PASSED_AT 21
#define KEY_BELOW_AT 22
#define KEY_SHARE_AT 23
/*
 * size class n has sizes from 2^(n - 1) to 2^n - 1; in keys of the index, these bits contain the
 * number of renames instead
 */
#define KEY_SIZE_AT 9
#define KEY_SIZE_BITS 7
#define KEY_RENAMES_MAX ((1u << KEY_SIZE_BITS) - 1)

static struct fold_key pack_key(const struct block_request *r)
{
	uint64_t op = r->cmd_flags & 0xff, meta = block_request_is_meta(r);

	return (struct fold_key){ (uint64_t)r->submitter << 32 | r->dev,
				  (uint64_t)r->owner_upid << 32 | (uint64_t)r->pages << 24 |
					  (uint64_t)r->is_share << KEY_SHARE_AT |
					  (uint64_t)!!r->below << KEY_BELOW_AT |
					  (uint64_t)(r->below == REQUEST_PASSED_ON)
						  << KEY_PASSED_AT |
					  (uint64_t)r->owner_how << 16 | meta << 8 | op };
}

static bool is_kthread(const struct dense_ids *d, uint32_t utid)
{
	const struct trace_process *p =
		dense_process_row(d, dense_process_of(d, dense_thread(d, utid)));

	return !p || p->flags & TRACE_TASK_KTHREAD;
}

struct fold_key request_key(const struct dense_ids *d, const struct block_request *r)
{
	struct block_request key = *r;

	/*
	 * if a kernel thread passes the request on, the submitter is the submitter of the volume's
	 * request
	 */
	if (r->below && is_kthread(d, r->submitter)) {
		key.submitter = r->asked_by;
		key.below = REQUEST_PASSED_ON;
	}
	key.submitter = dense_utid(d, dense_thread(d, key.submitter));
	key.owner_upid = r->owner_how ? dense_upid(d, dense_process(d, r->owner_upid)) : 0;
	return pack_key(&key);
}

static struct fold_key sized_key(const struct dense_ids *d, const struct block_request *r)
{
	struct fold_key key = request_key(d, r);

	key.b |= (r->bytes ? 64ull - (unsigned int)__builtin_clzll(r->bytes) : 0) << KEY_SIZE_AT;
	return key;
}

void request_of_key(const struct fold_key *key, struct block_request *ret)
{
	unsigned int size = key->b >> KEY_SIZE_AT & 0x7f;

	*ret = (struct block_request){
		.bytes = size ? 1ull << (size - 1) : 0,
		.submitter = (uint32_t)(key->a >> 32), .dev = (uint32_t)key->a,
		.owner_upid = (uint32_t)(key->b >> 32), .pages = (uint8_t)(key->b >> 24),
		.owner_how = key->b >> 16 & 0x1f, .is_share = key->b >> KEY_SHARE_AT & 1,
		.below = key->b >> KEY_PASSED_AT & 1 ? REQUEST_PASSED_ON :
						       key->b >> KEY_BELOW_AT & 1,
		.cmd_flags = (uint32_t)(key->b & 0xff) | (uint32_t)(key->b >> 8 & 1) << 12,
	};
}

#define KEY_FIELDS(X) X(submitter) X(dev) X(cmd_flags) X(pages) X(owner_how) X(owner_upid) \
	X(is_share) X(below)

static void requests_put_key(const struct dense_ids *d, const struct fold_key *key,
			     struct buf *out)
{
	struct block_request r;

	request_of_key(key, &r);
#define X(f) packed_put(out, r.f);
	KEY_FIELDS(X)
#undef X
	packed_put(out, key->b >> KEY_SIZE_AT & KEY_RENAMES_MAX);
}

static void requests_get_key(const struct dense_ids *d, struct packed_in *in, struct fold_key *ret)
{
	struct block_request r = { 0 };

#define X(f) r.f = (__typeof__(r.f))packed_get(in);
	KEY_FIELDS(X)
#undef X
	*ret = pack_key(&r);
	ret->b |= (packed_get(in) & KEY_RENAMES_MAX) << KEY_SIZE_AT;
}

static void tasks_of_request(const struct dense_ids *d, const struct fold_key *key,
			     struct task_set *ret)
{
	uint32_t thread = dense_thread(d, (uint32_t)(key->a >> 32));
	uint32_t owner = d->thread_cnt + dense_process(d, (uint32_t)(key->b >> 32));

	*ret = task_set_of(d, thread);
	if (owner != ret->members[1])
		ret->members[ret->cnt++] = owner;
}

static const struct fold_renames_def request_renames = {
	.is_in_b = true, .at = KEY_SIZE_AT, .bits = KEY_SIZE_BITS, .tasks = tasks_of_request,
};

/* ---- sums ---- */

static int add_request(struct request_sum *x, const struct block_request *r)
{
	uint64_t ns;
	int ret = 0;

	if (r->end == BLOCK_END_MERGED) {
		x->merges++;
		return 0;
	}
	x->ios++;
	x->part_bytes += r->held_bytes;
	x->unknown_owner_ios += x->owner_is_unknown;
	x->merges += r->is_share ? 0 : r->merge_cnt;
	x->bytes += r->is_share ? 0 : r->bytes;
	x->errors += r->status != 0;
	x->requeues += r->is_share ? 0 : r->requeue_cnt;
	if (block_request_latency(r, &ns))
		ret = quantile_add(&x->latency, ns);
	if (!ret && block_request_queue_latency(r, &ns))
		ret = quantile_add(&x->queue, ns);
	if (!ret && block_request_device_latency(r, &ns))
		ret = quantile_add(&x->device, ns);
	return ret;
}

static int add_at(struct fold_target *t, const struct fold_key *key, const struct block_request *r)
{
	void *sum;
	int ret = fold_sum_at(t, r->end_ns, key, &sum);

	return ret > 0 ? add_request(sum, r) : ret;
}

static bool is_direct(const struct request_part *p)
{
	return p->pages == EVENT_PAGES_ANON || p->pages == EVENT_PAGES_MAPPED;
}

/*
 * Returns the submitter of a part. If a kernel thread only passed the request on, returns the
 * submitter of the volume's request instead.
 */
static uint32_t asker_of(const struct dense_ids *d, const struct request_part *p)
{
	return p->below && is_kthread(d, p->submitter) ? p->asked_by : p->submitter;
}

/* Returns whether owner_upid owns a part. A waiting process owns only I/O of kernel threads. */
static bool has_owner(const struct dense_ids *d, const struct request_part *p)
{
	return p->owner_how &&
	       (p->owner_how != EVENT_OWNER_WAITER || is_kthread(d, asker_of(d, p)));
}

/*
 * Returns whether two parts have the same owner: the process that dirtied the pages or submitted
 * the direct I/O. Parts without a known owner must have the same submitter and, unless the
 * submitter is a kernel thread, both be direct I/O or both not.
 */
static bool is_of_same(const struct dense_ids *d, const struct request_part *a,
		       const struct request_part *b)
{
	bool a_has = has_owner(d, a), b_has = has_owner(d, b);

	if (a_has || b_has)
		return a_has && b_has && a->owner_upid == b->owner_upid;
	return asker_of(d, a) == asker_of(d, b) &&
	       (is_direct(a) == is_direct(b) || is_kthread(d, asker_of(d, a)));
}

/* Counts a request once for each owner of its parts. */
static int add_owners(struct fold_target *t, const struct block_request *r,
		      struct fold_key (*key_of)(const struct dense_ids *d,
						const struct block_request *r))
{
	uint32_t cnt = r->end == BLOCK_END_MERGED ? 1 : block_request_parts(r), i, k;
	struct block_request part;
	struct fold_key key;
	int ret = 0;

	for (i = 0; i < cnt && ret >= 0; i++) {
		for (k = 0; k < i && !is_of_same(t->ids, &r->held[i], &r->held[k]); k++)
			;
		if (k < i)
			continue;
		block_request_part(r, i, &part);
		for (k = i + 1; k < cnt; k++)
			part.held_bytes += is_of_same(t->ids, &r->held[i], &r->held[k]) ?
						   r->held[k].bytes : 0;
		part.is_share = i > 0;
		key = key_of(t->ids, &part);
		ret = add_at(t, &key, &part);
	}
	return ret;
}

static int requests_add(void *ctx, const void *found)
{
	return add_owners(ctx, found, request_key);
}

static int sized_add(void *ctx, const void *found)
{
	return add_owners(ctx, found, sized_key);
}

/* Returns a key that has the request's partition, if any, in place of the device. */
static struct fold_key partition_key(const struct dense_ids *d, const struct block_request *r)
{
	struct block_request of_part = *r;

	of_part.dev = r->part ?: r->dev;
	return sized_key(d, &of_part);
}

static int partition_add(void *ctx, const void *found)
{
	return add_owners(ctx, found, partition_key);
}

static void requests_merged(void *sum, const uint64_t *counts)
{
	struct request_sum *x = sum;

	if (x->owner_is_unknown)
		x->unknown_owner_ios += counts[0];
}

static const struct fold_sums_def request_sums = {
	.bytes = sizeof(struct request_sum), .quantile_cnt = 3, .count_cnt = 6,
	.merged = requests_merged, .add = requests_add, .put_key = requests_put_key,
	.get_key = requests_get_key, .part = INDEX_REQUESTS, .is_exact_decoded = true,
	.renames = &request_renames,
};

const struct fold_sums_def fold_sized_requests = {
	.bytes = sizeof(struct request_sum), .quantile_cnt = 3, .add = sized_add,
};

const struct fold_sums_def fold_partition_requests = {
	.bytes = sizeof(struct request_sum), .quantile_cnt = 3, .add = partition_add,
};

const struct fold_def fold_requests = {
	.kinds = 1u << EVENT_REQUEST, .state = &requests_state, .sums = &request_sums,
	.bytes = sizeof(struct requests_machine), .open = requests_open, .close = requests_close,
	.event = requests_event,
};

const struct fold_def fold_in_flight = {
	.kinds = 1u << EVENT_REQUEST, .state = &requests_state,
	.bytes = sizeof(struct requests_machine), .open = in_flight_open, .close = requests_close,
	.event = requests_event,
};
