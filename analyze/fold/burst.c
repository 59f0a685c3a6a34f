/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * The ring holds the events of the last window. A burst begins with the oldest of them (after
 * trimming) when their sum first reaches the minimum, and grows by every event that keeps it there.
 */
#include "analyze/fold/burst.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define TRIM_GAP_PART 16	/* of the window */
#define TRIM_BYTES_PART 20 /* of the window: 5 %; less than a gap holds when events come evenly */

void burst_init(struct burst *b, uint64_t window_ns, uint64_t min_bytes)
{
	memset(b, 0, sizeof(*b));
	b->window_ns = window_ns ? window_ns : 1;
	b->min_bytes = min_bytes ? min_bytes : 1;
}

void burst_done(struct burst *b)
{
	free(b->ring);
	memset(b, 0, sizeof(*b));
}

static struct burst_event *ring_at(const struct burst *b, size_t i)
{
	return &b->ring[(b->head + i) & (b->cap - 1)];
}

static int ring_grow(struct burst *b)
{
	size_t cap = b->cap ? b->cap * 2 : 64, i;
	struct burst_event *ring = malloc(cap * sizeof(*ring));

	if (!ring)
		return -ENOMEM;
	for (i = 0; i < b->cnt; i++)
		ring[i] = *ring_at(b, i);
	free(b->ring);
	b->ring = ring;
	b->cap = cap;
	b->head = 0;
	return 0;
}

/* Events that are out of the window at ts. */
static bool is_old(const struct burst *b, const struct burst_event *x, uint64_t ts_ns)
{
	return ts_ns > x->ts_ns && ts_ns - x->ts_ns >= b->window_ns;
}

static uint64_t sum_at(const struct burst *b, uint64_t ts_ns)
{
	uint64_t sum = b->sum;
	size_t i;

	for (i = 0; i < b->cnt && is_old(b, ring_at(b, i), ts_ns); i++)
		sum -= ring_at(b, i)->bytes;
	return sum;
}

static void drop_old(struct burst *b, uint64_t ts_ns)
{
	while (b->cnt && is_old(b, ring_at(b, 0), ts_ns)) {
		b->sum -= ring_at(b, 0)->bytes;
		b->head = (b->head + 1) & (b->cap - 1);
		b->cnt--;
	}
}

static void begin(struct burst *b)
{
	uint64_t gap = b->window_ns / TRIM_GAP_PART, before = 0, cut_bytes = 0;
	size_t i, cut = 0;

	for (i = 1; i < b->cnt; i++) {
		before += ring_at(b, i - 1)->bytes;
		if (before > b->sum / TRIM_BYTES_PART)
			break;
		if (ring_at(b, i)->ts_ns - ring_at(b, i - 1)->ts_ns >= gap) {
			cut = i;
			cut_bytes = before;
		}
	}
	b->active = true;
	b->found.start_ns = ring_at(b, cut)->ts_ns;
	b->found.baseline = ring_at(b, cut)->level;
	b->found.end_ns = ring_at(b, b->cnt - 1)->ts_ns;
	b->seen_bytes = b->sum - cut_bytes;
}

static void end(struct burst *b, struct burst_found *ret)
{
	uint64_t gap = b->window_ns / TRIM_GAP_PART, after = 0, cut_bytes = 0;
	size_t i;

	for (i = b->cnt; i-- > 1;) {
		const struct burst_event *x = ring_at(b, i), *before = ring_at(b, i - 1);

		after += x->bytes;
		if (after > b->sum / TRIM_BYTES_PART || before->ts_ns < b->found.start_ns)
			break;
		if (x->ts_ns - before->ts_ns >= gap) {
			b->found.end_ns = before->ts_ns;
			cut_bytes = after;
		}
	}
	b->found.bytes = b->seen_bytes - cut_bytes;
	b->active = false;
	*ret = b->found;
}

int burst_add(struct burst *b, uint64_t ts_ns, uint64_t bytes, uint64_t level,
	      struct burst_found *ret_found)
{
	int ret = 0;

	if (b->cnt == b->cap && ring_grow(b) < 0)
		return -ENOMEM;
	/* a window apart from all before it is none of the burst's, however much is in it */
	if (b->active && (is_old(b, ring_at(b, b->cnt - 1), ts_ns) ||
			  sum_at(b, ts_ns) + bytes < b->min_bytes)) {
		end(b, ret_found);
		ret = 1;
		/* what belonged to it must not help to begin another one */
		b->cnt = 0;
		b->sum = 0;
	}
	drop_old(b, ts_ns);
	*ring_at(b, b->cnt++) = (struct burst_event){ ts_ns, bytes, level };
	b->sum += bytes;
	if (b->active) {
		b->seen_bytes += bytes;
		b->found.end_ns = ts_ns;
	} else if (b->sum >= b->min_bytes) {
		begin(b);
	}
	return ret;
}

int burst_finish(struct burst *b, struct burst_found *ret_found)
{
	if (!b->active)
		return 0;
	end(b, ret_found);
	return 1;
}
