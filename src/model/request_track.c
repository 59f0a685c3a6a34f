/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * request_track: one entry per request address, reused for one life after another. An entry's state
 * limits its next events (goes_on()); any other event begins a new life, because addresses are
 * reused at once.
 */
#include "model/request_track.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/hash_map.h"

#define REQ_OP_MASK 0xffu
#define REQ_OP_WRITE 1u
#define REQ_OP_FLUSH 2u
#define REQ_PREFLUSH (1u << 18)

enum rq_state {
	RQ_FREE = 0,
	RQ_QUEUED,		/* started or inserted */
	RQ_ISSUED,
	RQ_REQUEUED,
	RQ_COMPLETED,		/* completed as a whole; waits for its done event */
	RQ_FLUSH_TAIL,		/* over, but its flush sequence may complete once more */
};

struct rq_entry {
	struct block_request r;
	struct request_part *parts;	/* as r.held, but writable */
	size_t part_cap;
	uint32_t key_dev;	/* key of the entry: key_dev and key_rq */
	uint64_t key_rq;
	uint64_t life;		/* number of the current life among all lives */
	uint8_t state;
};

#define RECENT_CNT 64	/* a power of two */
#define REMAPPED_CNT 64	/* a power of two */
#define SCAN_MAX 4096	/* at most this many entries are searched */
#define PARTS_MAX 1024	/* more parts extend the last part, whose owner becomes unknown */

/* A bio that a volume remaps to the device below. */
struct remapped {
	uint64_t sector, end;		/* sectors (512 bytes) on the device below */
	uint32_t dev, op;
	struct block_request of;	/* the volume's bio */
};

struct request_track {
	uint32_t recent[RECENT_CNT];	/* the entries queued last */
	unsigned int recent_at;
	uint32_t target;		/* the entry into which the last bio was merged */
	/* entry of the last event, if that was an event of a bio; UINT32_MAX: none */
	uint32_t event_entry;
	struct remapped *remapped;	/* REMAPPED_CNT, or NULL */
	unsigned int remapped_at;
	request_track_sink sink;	/* NULL: requests are not reported */
	request_flight_sink flight;	/* NULL: changes in flight are not reported */
	uint64_t life_cnt;	/* number of lives at all addresses */
	void *ctx;
	struct hash_map map;
	struct rq_entry *entries;
	size_t cap;
};

int request_track_new(struct request_track **ret, request_track_sink sink, void *ctx)
{
	struct request_track *b = calloc(1, sizeof(*b));

	if (!b)
		return -ENOMEM;
	b->sink = sink;
	b->ctx = ctx;
	*ret = b;
	return 0;
}

void request_track_on_flight(struct request_track *b, request_flight_sink flight)
{
	b->flight = flight;
}

void request_track_free(struct request_track *b)
{
	if (!b)
		return;
	for (size_t i = 0; i < b->map.cnt; i++)
		free(b->entries[i].parts);
	hash_map_done(&b->map);
	free(b->entries);
	free(b->remapped);
	free(b);
}

/* ---- in flight ---- */

static bool is_live(const struct rq_entry *x)
{
	return x->state == RQ_QUEUED || x->state == RQ_ISSUED || x->state == RQ_REQUEUED;
}

/* Returns 1 + the submitter of the request that is in flight at the address; 0: none. */
static uint64_t in_flight_of(const struct rq_entry *x)
{
	return is_live(x) && block_request_queued_ns(&x->r) ? 1ull + x->r.submitter : 0;
}

static int tell_flight(struct request_track *b, const struct rq_entry *x, uint64_t before,
		       uint64_t ts_ns)
{
	struct request_flight f = { .ts_ns = ts_ns, .dev = x->key_dev };
	uint64_t now = in_flight_of(x);
	int ret = 0;

	if (!b->flight || before == now)
		return 0;
	if (before) {
		f.submitter = (uint32_t)(before - 1);
		f.more = -1;
		ret = b->flight(b->ctx, &f);
	}
	if (now && ret >= 0) {
		f.submitter = (uint32_t)(now - 1);
		f.more = 1;
		ret = b->flight(b->ctx, &f);
	}
	return ret;
}

/* ---- states ---- */

/* All fields of a life except its end. X(field): timestamps, Y(field): numbers. */
#define REQUEST_FIELDS(X, Y)                                                           \
	X(start_ns) X(insert_ns) X(first_issue_ns) X(issue_ns) X(complete_ns)          \
	Y(rq) Y(sector) Y(bytes) Y(dev) Y(part) Y(cmd_flags) Y(status) Y(submitter)    \
	Y(requeue_cnt) Y(part_cnt) Y(submitter_rank) Y(ino) Y(ino_dev) Y(owner_upid)   \
	Y(pages) Y(owner_how) Y(flush_seq) Y(path) Y(below) Y(asked_by) Y(merge_cnt)   \
	Y(held_cnt) Y(meta_above)
#define PART_FIELDS(Y)                                                                 \
	Y(ino) Y(path) Y(bytes) Y(ino_dev) Y(submitter) Y(owner_upid) Y(pages) Y(owner_how)    \
	Y(asked_by) Y(below)

static void put_state(const struct rq_entry *x, uint64_t ts_ns, struct buf *out)
{
	packed_put(out, x->key_rq);
	packed_put(out, x->key_dev);
	packed_put(out, x->state);
#define X(f) packed_put(out, x->r.f ? zigzag_encode(ts_ns - x->r.f) + 1 : 0);
#define Y(f) packed_put(out, x->r.f);
	REQUEST_FIELDS(X, Y)
#undef X
#undef Y
	for (uint32_t i = 0; i < x->r.held_cnt; i++) {
#define Y(f) packed_put(out, x->parts[i].f);
		PART_FIELDS(Y)
#undef Y
	}
}

void request_track_save(const struct request_track *b, uint64_t ts_ns, struct buf *out)
{
	for (size_t i = 0; i < b->map.cnt; i++)
		if (b->entries[i].state != RQ_FREE)
			put_state(&b->entries[i], ts_ns, out);
}

static struct rq_entry *entry_at(struct request_track *b, uint64_t rq, uint64_t dev)
{
	uint32_t i;
	int ret = hash_map_intern(&b->map, rq, dev, &i);

	if (ret < 0)
		return NULL;
	if (array_reserve(&b->entries, &b->cap, i + 1) < 0) {
		/* the map now has an entry that b->entries lacks: clear the map */
		while (i-- > 0)
			free(b->entries[i].parts);
		hash_map_clear(&b->map);
		return NULL;
	}
	if (ret)
		b->entries[i] = (struct rq_entry){ .key_rq = rq, .key_dev = (uint32_t)dev,
						   .life = b->life_cnt++ };
	return &b->entries[i];
}

int request_track_load(struct request_track *b, struct packed_in *in, uint64_t ts_ns)
{
	int ret = 0;

	while (in->p != in->end && !in->bad && ret >= 0) {
		uint64_t rq = packed_get(in), dev = packed_get(in), state = packed_get(in), v;
		struct rq_entry *x = entry_at(b, rq, dev);

		if (!x)
			return -ENOMEM;
		if (state > RQ_FLUSH_TAIL)
			return -EBADMSG;
		x->state = (uint8_t)state;
#define X(f)                                                                                       \
		v = packed_get(in);                                                               \
		x->r.f = v ? ts_ns - zigzag_decode(v - 1) : 0;
#define Y(f) x->r.f = (__typeof__(x->r.f))packed_get(in);
		REQUEST_FIELDS(X, Y)
#undef X
#undef Y
		if (x->r.held_cnt > PARTS_MAX)
			return -EBADMSG;
		if (array_reserve(&x->parts, &x->part_cap, x->r.held_cnt) < 0)
			return -ENOMEM;
		x->r.held = x->parts;
		for (uint32_t i = 0; i < x->r.held_cnt; i++) {
#define Y(f) x->parts[i].f = (__typeof__(x->parts[i].f))packed_get(in);
			PART_FIELDS(Y)
#undef Y
		}
		if (!in->bad)
			ret = tell_flight(b, x, 0, ts_ns);
	}
	return in->bad ? -EBADMSG : ret;
}

/* ---- lives ---- */

/* Limits the parts to the completed bytes: a failed request ends early. */
static void clip_parts(struct rq_entry *x)
{
	uint64_t left = x->r.bytes;

	for (uint32_t i = 0; i < x->r.held_cnt; i++) {
		if (x->parts[i].bytes > left)
			x->parts[i].bytes = left;
		left -= x->parts[i].bytes;
	}
}

static int hand_over(struct request_track *b, struct rq_entry *x, uint64_t end_ns,
		     enum block_end end)
{
	x->r.end_ns = end_ns;
	x->r.end = (uint8_t)end;
	x->state = RQ_FREE;
	if (end == BLOCK_END_DONE)
		clip_parts(x);
	if (end == BLOCK_END_DONE && x->r.flush_seq && x->r.bytes)
		x->state = RQ_FLUSH_TAIL;
	return b->sink ? b->sink(b->ctx, &x->r) : 0;
}

/* Ends the previous life; its last events were not seen. */
static int drop_life(struct request_track *b, struct rq_entry *x, uint64_t ts_ns)
{
	bool is_completed = x->state == RQ_COMPLETED;

	if (!is_completed && !is_live(x))
		return 0;
	x->r.unseen = x->r.start_ns ? REQUEST_UNSEEN_DONE : 0;
	if (x->r.start_ns && !is_completed)
		x->r.unseen |= REQUEST_UNSEEN_COMPLETE;
	return hand_over(b, x, ts_ns, is_completed ? BLOCK_END_DONE : BLOCK_END_LOST);
}

/* Begins a new life at the same address. */
static int begin_life(struct request_track *b, struct rq_entry *x, const struct event *ev)
{
	int ret = drop_life(b, x, ev->ts_ns);

	memset(&x->r, 0, sizeof(x->r));
	x->state = RQ_FREE;
	x->life = b->life_cnt++;
	x->r.rq = ev->v[EV_REQUEST_RQ];
	x->r.submitter = EVENT_ID_UNKNOWN;
	x->r.held = x->parts;
	return ret;
}

/* ---- volumes ---- */

static bool same_op(uint32_t cmd_flags, const struct event *ev)
{
	return ((cmd_flags ^ (uint32_t)ev->v[EV_REQUEST_CMD_FLAGS]) & REQ_OP_MASK) == 0;
}

static const struct remapped *remapped_find(const struct request_track *b, const struct event *ev)
{
	uint64_t sector = ev->v[EV_REQUEST_SECTOR];

	/* the newest first, because slots are reused */
	for (unsigned int n = 1; b->remapped && n <= REMAPPED_CNT; n++) {
		const struct remapped *m =
			&b->remapped[(b->remapped_at - n) & (REMAPPED_CNT - 1)];

		if (m->end > m->sector && m->dev == ev->v[EV_REQUEST_DEV] && sector >= m->sector &&
		    sector < m->end && same_op(m->op, ev))
			return m;
	}
	return NULL;
}

/*
 * Returns whether the pages lead neither to a file nor to a process. The volume above may have an
 * owner.
 */
static bool has_no_owner(uint64_t pages)
{
	return pages == EVENT_PAGES_NONE || pages == EVENT_PAGES_KERNEL;
}

static void lies_below(struct request_track *b, struct block_request *r, const struct event *ev)
{
	const struct remapped *m = r->below ? NULL : remapped_find(b, ev);

	if (!m)
		return;
	r->below = 1;
	r->asked_by = m->of.below ? m->of.asked_by : m->of.submitter;
	r->meta_above = block_request_is_meta(&m->of);
	if (!has_no_owner(r->pages) && m->of.owner_how != EVENT_OWNER_WAITER)
		return;
	r->below = 2;
	r->pages = m->of.pages;
	r->ino = m->of.ino;
	r->ino_dev = m->of.ino_dev;
	r->path = m->of.path;
	r->owner_upid = m->of.owner_upid;
	r->owner_how = m->of.owner_how;
}

/* Returns a volume's live bio that contains a sector. */
static struct rq_entry *volume_bio(struct request_track *b, const struct event *ev)
{
	uint64_t sector = ev->v[EV_REQUEST_INO];

	for (size_t n = 0; n < RECENT_CNT + b->map.cnt && n < SCAN_MAX; n++) {
		uint32_t i = n < RECENT_CNT ?
				     b->recent[(b->recent_at - 1 - n) & (RECENT_CNT - 1)] :
				     (uint32_t)(n - RECENT_CNT);
		struct rq_entry *x = &b->entries[i];

		if (i < b->map.cnt && is_live(x) && x->r.dev == ev->v[EV_REQUEST_INO_DEV] &&
		    sector >= x->r.sector && sector < x->r.sector + x->r.bytes / 512 &&
		    same_op(x->r.cmd_flags, ev))
			return x;
	}
	return NULL;
}

static int on_remap(struct request_track *b, const struct event *ev)
{
	const struct rq_entry *x = volume_bio(b, ev);
	struct remapped *m;

	b->event_entry = x ? (uint32_t)(x - b->entries) : UINT32_MAX;
	if (!x || !ev->v[EV_REQUEST_BYTES])
		return 0;
	if (!b->remapped)
		b->remapped = calloc(REMAPPED_CNT, sizeof(*b->remapped));
	if (!b->remapped)
		return -ENOMEM;
	m = &b->remapped[b->remapped_at++ & (REMAPPED_CNT - 1)];
	*m = (struct remapped){ .sector = ev->v[EV_REQUEST_SECTOR],
				.dev = (uint32_t)ev->v[EV_REQUEST_DEV],
				.op = (uint32_t)ev->v[EV_REQUEST_CMD_FLAGS], .of = x->r };
	m->end = m->sector + ev->v[EV_REQUEST_BYTES] / 512;
	return 0;
}

/* ---- parts ---- */

static struct request_part part_of_event(const struct event *ev)
{
	return (struct request_part){
		.ino = ev->v[EV_REQUEST_INO], .path = ev->v[EV_REQUEST_PATH],
		.bytes = ev->v[EV_REQUEST_BYTES], .ino_dev = (uint32_t)ev->v[EV_REQUEST_INO_DEV],
		.submitter = ev->flags & EVENT_F_IRQ ? EVENT_ID_UNKNOWN : ev->utid,
		.owner_upid = (uint32_t)ev->v[EV_REQUEST_OWNER_UPID],
		.pages = (uint8_t)ev->v[EV_REQUEST_PAGES],
		.owner_how = (uint8_t)ev->v[EV_REQUEST_OWNER_HOW] };
}

static struct request_part part_of_request(const struct block_request *r)
{
	return (struct request_part){
		.ino = r->ino, .path = r->path, .bytes = r->bytes, .ino_dev = r->ino_dev,
		.submitter = r->submitter, .owner_upid = r->owner_upid, .pages = r->pages,
		.owner_how = r->owner_how, .asked_by = r->asked_by, .below = r->below };
}

static bool is_alike(const struct request_part *a, const struct request_part *b)
{
	return a->ino == b->ino && a->path == b->path && a->ino_dev == b->ino_dev &&
	       a->submitter == b->submitter && a->owner_upid == b->owner_upid &&
	       a->pages == b->pages && a->owner_how == b->owner_how && a->below == b->below &&
	       (!a->below || a->asked_by == b->asked_by);
}

/* Adds a part at the back or at the front. */
static int part_add(struct rq_entry *x, struct request_part part, bool is_front)
{
	uint32_t cnt = x->r.held_cnt;
	struct request_part *beside = is_front ? &x->parts[0] : &x->parts[cnt - 1];

	/*
	 * Before the issue, the pages of the first part are unknown, so it cannot be compared with
	 * others.
	 */
	if (cnt > 1 && is_alike(beside, &part)) {
		beside->bytes += part.bytes;
		return 0;
	}
	if (cnt == PARTS_MAX) {
		beside->bytes += part.bytes;
		beside->pages = EVENT_PAGES_KERNEL;
		beside->owner_how = EVENT_OWNER_NONE;
		beside->submitter = EVENT_ID_UNKNOWN;
		beside->ino = beside->path = 0;
		beside->below = 0;
		return 0;
	}
	if (array_reserve(&x->parts, &x->part_cap, cnt + 1) < 0)
		return -ENOMEM;
	if (is_front)
		memmove(x->parts + 1, x->parts, cnt * sizeof(*x->parts));
	x->parts[is_front ? 0 : cnt] = part;
	x->r.held_cnt++;
	x->r.held = x->parts;
	return 0;
}

/* Converts the request's data so far to its first part. */
static int parts_begin(struct rq_entry *x)
{
	if (x->r.held_cnt)
		return 0;
	if (array_reserve(&x->parts, &x->part_cap, 2) < 0)
		return -ENOMEM;
	x->parts[0] = part_of_request(&x->r);
	/*
	 * If the pages of this part are not known from the volume above, the issue will set them,
	 * provided that the part is then still the first.
	 */
	if (x->r.below < 2)
		x->parts[0].pages = EVENT_PAGES_KERNEL;
	x->r.held_cnt = 1;
	x->r.held = x->parts;
	return 0;
}

/* Applies the issue: sets the pages of the first part; adjusts the parts to the request's bytes. */
static int parts_settle(struct rq_entry *x, const struct event *ev)
{
	uint64_t bytes = ev->v[EV_REQUEST_BYTES], sum = 0;
	struct request_part first = part_of_event(ev);

	if (!x->r.held_cnt)
		return 0;
	first.submitter = x->parts[0].submitter;
	first.bytes = x->parts[0].bytes;
	first.asked_by = x->parts[0].asked_by;
	first.below = !!x->parts[0].below;
	if (x->parts[0].below < 2 || (!has_no_owner(first.pages) &&
				      x->parts[0].owner_how != EVENT_OWNER_WAITER))
		x->parts[0] = first;
	for (uint32_t i = 0; i < x->r.held_cnt; i++) {
		if (x->parts[i].bytes > bytes - sum)
			x->parts[i].bytes = bytes - sum;
		sum += x->parts[i].bytes;
	}
	if (x->r.held_cnt > 1 && is_alike(&x->parts[0], &x->parts[1])) {
		x->parts[1].bytes += x->parts[0].bytes;
		x->r.held_cnt--;
		memmove(x->parts, x->parts + 1, x->r.held_cnt * sizeof(*x->parts));
	}
	if (sum == bytes && x->r.held_cnt == 1)
		x->r.held_cnt = 0;
	if (sum == bytes)
		return 0;
	return part_add(x, (struct request_part){ .bytes = bytes - sum, .pages = EVENT_PAGES_KERNEL,
						  .submitter = EVENT_ID_UNKNOWN }, false);
}

/*
 * Returns whether the request waits, and the event's sectors end where the request begins
 * (is_front), or begin where the request ends.
 */
static bool takes(const struct rq_entry *x, const struct event *ev, bool is_front)
{
	uint64_t from = ev->v[EV_REQUEST_SECTOR], to = from + ev->v[EV_REQUEST_BYTES] / 512;

	return (x->state == RQ_QUEUED || x->state == RQ_REQUEUED) && !x->r.part_cnt &&
	       x->r.dev == ev->v[EV_REQUEST_DEV] && same_op(x->r.cmd_flags, ev) &&
	       (is_front ? x->r.sector == to : x->r.sector + x->r.bytes / 512 == from);
}

static struct rq_entry *target_of(struct request_track *b, const struct event *ev, bool is_front)
{
	for (size_t n = 0; n < 1 + RECENT_CNT + b->map.cnt && n < SCAN_MAX; n++) {
		uint32_t i = !n ? b->target :
			     n <= RECENT_CNT ? b->recent[(b->recent_at - n) & (RECENT_CNT - 1)] :
					       (uint32_t)(n - 1 - RECENT_CNT);

		if (i < b->map.cnt && takes(&b->entries[i], ev, is_front)) {
			b->target = i;
			return &b->entries[i];
		}
	}
	return NULL;
}

static int on_bio_merge(struct request_track *b, const struct event *ev, bool is_front)
{
	struct rq_entry *x = target_of(b, ev, is_front);
	struct request_part part = part_of_event(ev);
	struct block_request above = { .pages = part.pages, .ino = part.ino, .path = part.path,
				       .ino_dev = part.ino_dev, .owner_upid = part.owner_upid,
				       .owner_how = part.owner_how, .bytes = part.bytes,
				       .submitter = part.submitter };
	int ret;

	b->event_entry = x ? (uint32_t)(x - b->entries) : UINT32_MAX;
	if (!x)
		return 0;
	ret = parts_begin(x);
	lies_below(b, &above, ev);
	part = part_of_request(&above);
	if (!ret)
		ret = part_add(x, part, is_front);
	x->r.bytes += part.bytes;
	if (is_front)
		x->r.sector = ev->v[EV_REQUEST_SECTOR];
	x->r.merge_cnt++;
	return ret;
}

/* Appends the parts of x to those of the waiting request that ends at the event's first sector. */
static int join_parts(struct request_track *b, const struct rq_entry *x, const struct event *ev)
{
	struct request_part single = part_of_request(&x->r);
	struct rq_entry *to = target_of(b, ev, false);
	uint32_t cnt = x->r.held_cnt;
	int ret = to && to != x ? parts_begin(to) : 1;

	if (!cnt && x->r.below < 2)
		single.pages = EVENT_PAGES_KERNEL;
	for (uint32_t i = 0; !ret && i < (cnt ? cnt : 1); i++)
		ret = part_add(to, cnt ? x->parts[i] : single, false);
	if (!ret) {
		to->r.bytes += ev->v[EV_REQUEST_BYTES];
		to->r.merge_cnt += x->r.merge_cnt;
	}
	return ret < 0 ? ret : 0;
}

static void describe(struct rq_entry *x, const struct event *ev)
{
	x->r.dev = (uint32_t)ev->v[EV_REQUEST_DEV];
	if (ev->v[EV_REQUEST_PART])
		x->r.part = (uint32_t)ev->v[EV_REQUEST_PART];
	x->r.cmd_flags = (uint32_t)ev->v[EV_REQUEST_CMD_FLAGS];
	x->r.sector = ev->v[EV_REQUEST_SECTOR];
	x->r.bytes = ev->v[EV_REQUEST_BYTES];
}

static void submitted_by(struct rq_entry *x, const struct event *ev, uint8_t rank)
{
	if (x->r.submitter_rank >= rank)
		return;
	x->r.submitter_rank = rank;
	x->r.submitter = ev->flags & EVENT_F_IRQ ? EVENT_ID_UNKNOWN : ev->utid;
}

/*
 * Returns whether the event's sectors contain the request's: merges may have extended a waiting
 * request at either end.
 */
static bool holds_io(const struct rq_entry *x, const struct event *ev)
{
	uint64_t sector = ev->v[EV_REQUEST_SECTOR];

	/* completed in part: the remaining data begins at a later sector */
	return x->r.part_cnt ||
	       (sector <= x->r.sector &&
		sector + ev->v[EV_REQUEST_BYTES] / 512 >= x->r.sector + x->r.bytes / 512);
}

/*
 * Returns whether the request is a zone append: the device chooses its sector, which changes at
 * completion.
 */
static bool is_zone_append(const struct event *ev)
{
	return !strcmp(block_op_name((uint32_t)ev->v[EV_REQUEST_CMD_FLAGS]), "zone_append");
}

/*
 * Returns whether an event that may begin a life belongs to the entry's current life:
 *   - A start begins a life. A life that began with a start lasts until the next start, unless
 *     other I/O (other sectors) is queued or issued.
 *   - Without a start, as in kernels before 6.5 and for a device's own flushes, a request cannot
 *     be queued or issued twice without a requeue, nor complete with 0 bytes if bytes are left.
 *   - A completion ends the I/O that was issued: other I/O belongs to a life whose beginning was
 *     not seen.
 *   - An issued request cannot be merged into another one.
 */
static bool goes_on(const struct rq_entry *x, const struct event *ev)
{
	bool is_waiting = x->state == RQ_QUEUED || x->state == RQ_REQUEUED;

	if (!is_live(x))
		return false;
	switch (ev->v[EV_REQUEST_ACTION]) {
	case EVENT_REQUEST_INSERT:
		if (x->state == RQ_QUEUED && x->r.insert_ns)
			is_waiting = false;
		return (is_waiting || x->r.start_ns) && holds_io(x, ev);
	case EVENT_REQUEST_ISSUE:
		return (is_waiting || x->r.start_ns) && holds_io(x, ev);
	case EVENT_REQUEST_COMPLETE:
		if (ev->v[EV_REQUEST_BYTES])
			return holds_io(x, ev) || is_zone_append(ev);
		return x->r.start_ns || (!x->r.bytes && !x->r.part_cnt);
	case EVENT_REQUEST_MERGE:
		return is_waiting;
	default:
		return false;
	}
}

static int on_queue(struct request_track *b, struct rq_entry *x, const struct event *ev,
		    bool is_start)
{
	int ret = goes_on(x, ev) ? 0 : begin_life(b, x, ev);

	if (ret < 0)
		return ret;
	describe(x, ev);
	if (is_start)
		x->r.start_ns = ev->ts_ns;
	else if (!x->r.insert_ns && !x->r.first_issue_ns)
		x->r.insert_ns = ev->ts_ns;
	if (!x->r.first_issue_ns)	/* else requeued: a worker inserts the request again */
		submitted_by(x, ev, is_start ? 3 : 2);
	lies_below(b, &x->r, ev);
	if (x->state != RQ_QUEUED)
		b->recent[b->recent_at++ & (RECENT_CNT - 1)] = (uint32_t)(x - b->entries);
	x->state = RQ_QUEUED;
	return 0;
}

static int on_issue(struct request_track *b, struct rq_entry *x, const struct event *ev)
{
	int ret = goes_on(x, ev) ? 0 : begin_life(b, x, ev);
	uint64_t done = x->r.bytes, sector = x->r.sector;

	if (ret < 0)
		return ret;
	describe(x, ev);
	if (x->r.part_cnt) {	/* requeued for the remaining data: keep the completed part */
		x->r.bytes = done;
		x->r.sector = sector;
	}
	if (!x->r.first_issue_ns)
		x->r.first_issue_ns = ev->ts_ns;
	x->r.issue_ns = ev->ts_ns;
	if (x->r.below == 2 && !has_no_owner(ev->v[EV_REQUEST_PAGES]) &&
	    x->r.owner_how != EVENT_OWNER_WAITER)
		x->r.below = 1;
	if (ev->v[EV_REQUEST_PAGES] && x->r.below < 2) {
		x->r.ino = ev->v[EV_REQUEST_INO];
		x->r.ino_dev = (uint32_t)ev->v[EV_REQUEST_INO_DEV];
		x->r.path = ev->v[EV_REQUEST_PATH];
		x->r.pages = (uint8_t)ev->v[EV_REQUEST_PAGES];
		x->r.owner_upid = (uint32_t)ev->v[EV_REQUEST_OWNER_UPID];
		x->r.owner_how = (uint8_t)ev->v[EV_REQUEST_OWNER_HOW];
	}
	submitted_by(x, ev, 1);
	lies_below(b, &x->r, ev);
	x->state = RQ_ISSUED;
	return x->r.part_cnt ? 0 : parts_settle(x, ev);
}

static int on_bio_queue(struct request_track *b, struct rq_entry *x, const struct event *ev)
{
	int ret = begin_life(b, x, ev);

	if (ret < 0)
		return ret;
	/*
	 * start_ns remains 0, so that a missing end does not count as a loss: not every kernel
	 * reports the end of a chained bio
	 */
	x->r.insert_ns = ev->ts_ns;
	x->state = RQ_QUEUED;
	b->recent[b->recent_at++ & (RECENT_CNT - 1)] = (uint32_t)(x - b->entries);
	return on_issue(b, x, ev);
}

static int on_bio_complete(struct request_track *b, struct rq_entry *x, const struct event *ev)
{
	if (x->state != RQ_ISSUED)
		return 0;
	x->r.status = (uint32_t)ev->v[EV_REQUEST_STATUS];
	x->r.complete_ns = ev->ts_ns;
	return hand_over(b, x, ev->ts_ns, BLOCK_END_DONE);
}

/*
 * Returns whether to ignore a completion that belongs to no life: it ends the flush sequence of a
 * counted request, or it is not the completion of a request. A separate empty flush counts as a
 * request. Kernels without a start event (before 6.5) remove REQ_PREFLUSH and REQ_FUA from a write
 * before its flush sequence. On these kernels, an empty flush is an empty write at sector 0, and
 * counts as a write, while the end of a flush sequence has the sector of its data. If that sector
 * is 0, too, the completion is ignored only if the data was marked as part of a flush sequence.
 */
static bool is_tail(const struct rq_entry *x, const struct event *ev)
{
	uint32_t flags = (uint32_t)ev->v[EV_REQUEST_CMD_FLAGS];

	if (ev->v[EV_REQUEST_BYTES] || ev->v[EV_REQUEST_DONE_BYTES])
		return false;
	if (x->state == RQ_COMPLETED)
		return true;
	if ((flags & REQ_OP_MASK) == REQ_OP_WRITE && !ev->v[EV_REQUEST_SECTOR])
		return x->state == RQ_FLUSH_TAIL && !x->r.sector;
	if (x->state == RQ_FLUSH_TAIL)
		return true;
	return (flags & REQ_OP_MASK) != REQ_OP_FLUSH && !(flags & REQ_PREFLUSH);
}

static int on_complete(struct request_track *b, struct rq_entry *x, const struct event *ev)
{
	uint64_t total = ev->v[EV_REQUEST_BYTES], done = ev->v[EV_REQUEST_DONE_BYTES];
	int ret = 0;

	if (!goes_on(x, ev)) {
		if (is_live(x))
			ret = drop_life(b, x, ev->ts_ns);
		if (ret < 0)
			return ret;
		if (is_tail(x, ev)) {
			if (x->state == RQ_FLUSH_TAIL)
				x->state = RQ_FREE;	/* a flush sequence has only one end */
			return 0;
		}
		/* the request was in flight before the recording, or its start was lost */
		ret = begin_life(b, x, ev);
		if (ret < 0)
			return ret;
		describe(x, ev);
		x->state = RQ_ISSUED;
	}
	if (!x->r.part_cnt++)
		x->r.bytes = 0;
	x->r.bytes += done < total ? done : total;
	if (ev->v[EV_REQUEST_STATUS])
		x->r.status = (uint32_t)ev->v[EV_REQUEST_STATUS];
	x->r.cmd_flags = (uint32_t)ev->v[EV_REQUEST_CMD_FLAGS];
	x->r.flush_seq = !!(ev->flags & EVENT_F_FLUSH_SEQ);
	x->r.complete_ns = ev->ts_ns;
	if (done < total)
		return 0;
	if (!x->r.start_ns)
		return hand_over(b, x, ev->ts_ns, BLOCK_END_DONE);
	x->state = RQ_COMPLETED;
	return 0;
}

static int on_done(struct request_track *b, struct rq_entry *x, const struct event *ev)
{
	if (x->state != RQ_COMPLETED) {
		/*
		 * The request had no start and was counted at its completion, or it was never seen,
		 * or its completion was lost.
		 */
		if (!is_live(x) || !x->r.start_ns)
			return 0;
		x->r.complete_ns = ev->ts_ns;
	}
	return hand_over(b, x, ev->ts_ns, BLOCK_END_DONE);
}

static int on_merge(struct request_track *b, struct rq_entry *x, const struct event *ev)
{
	int ret = 0;

	if (!goes_on(x, ev)) {
		ret = begin_life(b, x, ev);
		submitted_by(x, ev, 1);
	}
	if (ret < 0)
		return ret;
	describe(x, ev);
	ret = join_parts(b, x, ev);
	return ret < 0 ? ret : hand_over(b, x, ev->ts_ns, BLOCK_END_MERGED);
}

static int on_event(struct request_track *b, struct rq_entry *x, const struct event *ev)
{
	switch (ev->v[EV_REQUEST_ACTION]) {
	case EVENT_REQUEST_START:
		return on_queue(b, x, ev, true);
	case EVENT_REQUEST_INSERT:
		return on_queue(b, x, ev, false);
	case EVENT_REQUEST_ISSUE:
		return on_issue(b, x, ev);
	case EVENT_REQUEST_REQUEUE:
		if (x->state == RQ_ISSUED || x->state == RQ_QUEUED) {
			x->state = RQ_REQUEUED;
			x->r.requeue_cnt++;
		}
		return 0;
	case EVENT_REQUEST_COMPLETE:
		return on_complete(b, x, ev);
	case EVENT_REQUEST_ERROR:
		if (x->state == RQ_ISSUED && ev->v[EV_REQUEST_STATUS])
			x->r.status = (uint32_t)ev->v[EV_REQUEST_STATUS];
		return 0;
	case EVENT_REQUEST_DONE:
		return on_done(b, x, ev);
	case EVENT_REQUEST_MERGE:
		return on_merge(b, x, ev);
	case EVENT_REQUEST_BIO_QUEUE:
		return on_bio_queue(b, x, ev);
	case EVENT_REQUEST_BIO_COMPLETE:
		return on_bio_complete(b, x, ev);
	default:
		return 0;
	}
}

int request_track_event(struct request_track *b, const struct event *ev)
{
	uint64_t action = ev->v[EV_REQUEST_ACTION], before;
	struct rq_entry *x;
	int ret, flight;

	/* bios of devices with requests get no entry */
	if (action == EVENT_REQUEST_BIO_BACKMERGE || action == EVENT_REQUEST_BIO_FRONTMERGE)
		return on_bio_merge(b, ev, action == EVENT_REQUEST_BIO_FRONTMERGE);
	if (action == EVENT_REQUEST_BIO_REMAP)
		return on_remap(b, ev);
	x = entry_at(b, ev->v[EV_REQUEST_RQ], ev->v[EV_REQUEST_DEV]);
	before = x ? in_flight_of(x) : 0;
	ret = x ? on_event(b, x, ev) : -ENOMEM;
	if (ret < 0)
		return ret;
	flight = tell_flight(b, x, before, ev->ts_ns);
	return flight < 0 ? flight : ret;
}

size_t request_track_addresses(const struct request_track *b)
{
	return b->map.cnt;
}

int request_track_pending(struct request_track *b, request_track_sink sink, void *ctx)
{
	int ret = 0;

	for (size_t i = 0; i < b->map.cnt && ret >= 0; i++) {
		struct rq_entry *x = &b->entries[i];

		if (is_live(x) || x->state == RQ_COMPLETED)
			ret = sink(ctx, &x->r);
	}
	return ret < 0 ? ret : 0;
}

int request_track_open(struct request_track *b, request_track_sink sink, void *ctx)
{
	int ret = 0;

	for (size_t i = 0; i < b->map.cnt && ret >= 0; i++)
		if (in_flight_of(&b->entries[i]))
			ret = sink(ctx, &b->entries[i].r);
	return ret < 0 ? ret : 0;
}

bool request_track_life(const struct request_track *b, const struct event *ev,
			struct request_life *ret)
{
	uint32_t i = b->event_entry;

	if (ev->v[EV_REQUEST_ACTION] < EVENT_REQUEST_BIO_BACKMERGE &&
	    !hash_map_find(&b->map, ev->v[EV_REQUEST_RQ], ev->v[EV_REQUEST_DEV], &i))
		return false;
	if (i == UINT32_MAX)
		return false;
	*ret = (struct request_life){ .number = b->entries[i].life, .rq = b->entries[i].key_rq,
				      .dev = b->entries[i].key_dev };
	return true;
}

const char *block_op_name(uint32_t cmd_flags)
{
	static const char *const names[] = {
		[0] = "read", [REQ_OP_WRITE] = "write", [REQ_OP_FLUSH] = "flush", [3] = "discard",
		[5] = "secure_erase", [7] = "zone_append", [9] = "write_zeroes",
		[10] = "zone_mgmt", [11] = "zone_mgmt", [12] = "zone_mgmt", [13] = "zone_append",
		[15] = "zone_mgmt", [17] = "zone_mgmt",
	};
	uint32_t op = cmd_flags & REQ_OP_MASK;

	return op < sizeof(names) / sizeof(names[0]) && names[op] ? names[op] : "other";
}

uint64_t block_request_queued_ns(const struct block_request *r)
{
	return r->start_ns ? r->start_ns : r->insert_ns ? r->insert_ns : r->first_issue_ns;
}

uint32_t block_request_parts(const struct block_request *r)
{
	return r->held_cnt ? r->held_cnt : 1;
}

void block_request_part(const struct block_request *r, uint32_t i, struct block_request *ret)
{
	const struct request_part *part;

	*ret = *r;
	ret->held_cnt = 0;
	ret->held_bytes = r->bytes;
	if (!r->held_cnt)
		return;
	part = &r->held[i];
	ret->held_bytes = part->bytes;
	ret->submitter = part->submitter;
	ret->pages = part->pages;
	ret->ino = part->ino;
	ret->ino_dev = part->ino_dev;
	ret->path = part->path;
	ret->owner_upid = part->owner_upid;
	ret->owner_how = part->owner_how;
	ret->asked_by = part->asked_by;
	ret->below = part->below;
}

static bool between(uint64_t from_ns, uint64_t to_ns, uint64_t *ret_ns)
{
	if (!from_ns || !to_ns)
		return false;
	*ret_ns = to_ns > from_ns ? to_ns - from_ns : 0;
	return true;
}

bool block_request_latency(const struct block_request *r, uint64_t *ret_ns)
{
	return between(block_request_queued_ns(r), r->complete_ns, ret_ns);
}

bool block_request_queue_latency(const struct block_request *r, uint64_t *ret_ns)
{
	return between(block_request_queued_ns(r), r->first_issue_ns, ret_ns);
}

bool block_request_device_latency(const struct block_request *r, uint64_t *ret_ns)
{
	return between(r->issue_ns, r->complete_ns, ret_ns);
}
