/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * burst: a burst begins with the oldest event of the ring (after trimming) when the minimum is
 * first reached. Each event after which the bytes still reach the minimum extends it.
 *
 * For growth, every new level first drops all levels from the ring that are not lower. The head is
 * then the lowest level of the window; each step enters and leaves the ring once.
 */
#include "model/burst.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define TRIM_GAP_PART 16	/* the gap is at least 1/TRIM_GAP_PART of the window */
/*
 * At most 1/TRIM_BYTES_PART (5 %) of all bytes are trimmed. Evenly spaced events would have more
 * bytes during the time of a gap: 1/TRIM_GAP_PART.
 */
#define TRIM_BYTES_PART 20

void burst_init(struct burst *b, uint64_t window_ns, uint64_t min_bytes, bool is_growth)
{
	*b = (struct burst){ .window_ns = window_ns ? window_ns : 1,
			     .min_bytes = min_bytes ? min_bytes : 1, .is_growth = is_growth };
}

void burst_done(struct burst *b)
{
	free(b->ring);
	memset(b, 0, sizeof(*b));
}

/* ---- the ring ---- */

static struct burst_event *ring_at(const struct burst *b, size_t i)
{
	return &b->ring[(b->head + i) & (b->cap - 1)];
}

static int ring_add(struct burst *b, const struct burst_event *x)
{
	if (b->cnt == b->cap) {
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
	}
	*ring_at(b, b->cnt++) = *x;
	b->sum += x->bytes;
	return 0;
}

static void drop_first(struct burst *b)
{
	b->sum -= ring_at(b, 0)->bytes;
	b->head = (b->head + 1) & (b->cap - 1);
	b->cnt--;
}

/* Returns whether a time is before the window that ends at ts. */
static bool is_old(const struct burst *b, uint64_t instant_ns, uint64_t ts_ns)
{
	return ts_ns > instant_ns && ts_ns - instant_ns >= b->window_ns;
}

static void drop_old(struct burst *b, uint64_t ts_ns)
{
	while (b->cnt && is_old(b, ring_at(b, 0)->ts_ns, ts_ns))
		drop_first(b);
}

/* Returns the bytes of the ring's events in the window that ends at ts. */
static uint64_t sum_at(const struct burst *b, uint64_t ts_ns)
{
	uint64_t sum = b->sum;

	for (size_t i = 0; i < b->cnt && is_old(b, ring_at(b, i)->ts_ns, ts_ns); i++)
		sum -= ring_at(b, i)->bytes;
	return sum;
}

/* ---- bursts ---- */

/* Begins a burst. total: bytes in the window; at least the minimum. */
static void begin(struct burst *b, uint64_t total)
{
	uint64_t gap = b->window_ns / TRIM_GAP_PART, before = 0, cut_bytes = 0;
	size_t i, cut = 0;

	for (i = 1; i < b->cnt; i++) {
		before = b->is_growth ? ring_at(b, i)->level - ring_at(b, 0)->level :
					before + ring_at(b, i - 1)->bytes;
		if (before > total / TRIM_BYTES_PART)
			break;
		if (ring_at(b, i)->ts_ns - ring_at(b, i - 1)->ts_ns >= gap) {
			cut = i;
			cut_bytes = before;
		}
	}
	b->active = true;
	b->found = (struct burst_found){ .start_ns = ring_at(b, cut)->ts_ns,
					 .end_ns = ring_at(b, b->cnt - 1)->ts_ns,
					 .bytes = total - cut_bytes,
					 .baseline = ring_at(b, cut)->level,
					 .before = ring_at(b, cut)->before };
	b->base = b->found.baseline;
	b->peak = 0;
}

/* Ends the burst and empties the ring: bytes of this burst must not count for the next one. */
static void end(struct burst *b, struct burst_found *ret)
{
	uint64_t gap = b->window_ns / TRIM_GAP_PART, after = 0, cut_bytes = 0;

	b->active = false;
	*ret = b->found;
	ret->base = b->base;
	ret->peak = b->peak;
	while (b->is_growth && b->cnt && ring_at(b, 0)->ts_ns <= b->found.end_ns)
		drop_first(b);
	if (b->is_growth)
		return;
	for (size_t i = b->cnt; i-- > 1;) {
		const struct burst_event *x = ring_at(b, i), *before = ring_at(b, i - 1);

		after += x->bytes;
		if (after > b->sum / TRIM_BYTES_PART || before->ts_ns < b->found.start_ns)
			break;
		if (x->ts_ns - before->ts_ns >= gap) {
			ret->end_ns = before->ts_ns;
			cut_bytes = after;
		}
	}
	ret->bytes -= cut_bytes;
	b->cnt = 0;
	b->sum = 0;
}

static int add_bytes(struct burst *b, const struct burst_event *x, struct burst_found *ret_found)
{
	int ret = 0;

	/* after a window without an event, even a large event does not belong to the burst */
	if (b->active && (is_old(b, b->last_ns, x->ts_ns) ||
			  sum_at(b, x->ts_ns) + x->bytes < b->min_bytes)) {
		end(b, ret_found);
		ret = 1;
	}
	drop_old(b, x->ts_ns);
	if (ring_add(b, x) < 0)
		return -ENOMEM;
	if (b->active) {
		b->found.bytes += x->bytes;
		b->found.end_ns = x->ts_ns;
	} else if (b->sum >= b->min_bytes) {
		begin(b, b->sum);
	}
	return ret;
}

static int add_step(struct burst *b, const struct burst_event *x, struct burst_found *ret_found)
{
	uint64_t after = x->level + x->bytes, risen;
	int ret = 0;

	while (b->cnt && ring_at(b, b->cnt - 1)->level >= x->level)
		b->sum -= ring_at(b, --b->cnt)->bytes;
	drop_old(b, x->ts_ns);
	if (ring_add(b, x) < 0)
		return -ENOMEM;
	risen = after - ring_at(b, 0)->level;
	if (b->active && (risen < b->min_bytes || is_old(b, b->last_ns, x->ts_ns))) {
		end(b, ret_found);
		ret = 1;
	}
	if (!b->active && risen >= b->min_bytes)
		begin(b, after - ring_at(b, 0)->level);
	if (b->active && after > b->peak) {
		b->peak = after;
		b->found.end_ns = x->ts_ns;
		b->found.bytes = after - b->base;
	}
	return ret;
}

int burst_add(struct burst *b, uint64_t ts_ns, uint64_t bytes, uint64_t level,
	      struct burst_found *ret_found)
{
	const struct burst_event x = { ts_ns, bytes, level, b->all };
	int ret = b->is_growth ? add_step(b, &x, ret_found) : add_bytes(b, &x, ret_found);

	b->last_ns = ts_ns;
	b->all += bytes;
	return ret;
}

void burst_shift(struct burst *b, int64_t delta)
{
	for (size_t i = 0; i < b->cnt; i++)
		ring_at(b, i)->level += (uint64_t)delta;
	b->peak += (uint64_t)delta;
	b->base += (uint64_t)delta;
}

uint64_t burst_risen(const struct burst *b, uint64_t ts_ns, uint64_t level)
{
	size_t i = 0;

	while (i < b->cnt && is_old(b, ring_at(b, i)->ts_ns, ts_ns))
		i++;
	return i < b->cnt && level > ring_at(b, i)->level ? level - ring_at(b, i)->level : 0;
}

int burst_finish(struct burst *b, struct burst_found *ret_found)
{
	if (!b->active)
		return 0;
	end(b, ret_found);
	return 1;
}
