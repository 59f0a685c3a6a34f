/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * slice_merge: one cursor per ring; with some dozens at most, a linear search finds the earliest.
 */
#include "record/flight/slice_merge.h"

#include <errno.h>
#include <stdlib.h>

#include "record/encode/block_writer.h"

struct cursor {
	const struct ring_slab *slab;
	size_t at;		/* offset of the record after now */
	const struct wire_hdr *now;
};

struct slice_merge {
	uint32_t hooks;
	size_t cnt;		/* cursors with a record */
	struct cursor cursors[];
};

/* Advances to the next record of the hooks; false: the ring has no more. */
static bool advance(struct cursor *c, uint32_t hooks)
{
	while (c->slab) {
		c->now = slab_next_record(c->slab, &c->at);
		if (!c->now) {
			c->slab = c->slab->next;
			c->at = 0;
		} else if (c->now->hook < 32 && hooks & 1u << c->now->hook) {
			return true;
		}
	}
	return false;
}

int slice_merge_new(struct slice_merge **ret, const struct ring_slice *slices, size_t cnt,
		    uint32_t hooks)
{
	struct slice_merge *m = calloc(1, sizeof(*m) + cnt * sizeof(m->cursors[0]));
	size_t i;

	if (!m)
		return -ENOMEM;
	m->hooks = hooks;
	for (i = 0; i < cnt; i++) {
		struct cursor *c = &m->cursors[m->cnt];

		*c = (struct cursor){ .slab = slices[i].first };
		m->cnt += advance(c, hooks);
	}
	*ret = m;
	return 0;
}

void slice_merge_free(struct slice_merge *m)
{
	free(m);
}

const struct wire_hdr *slice_merge_next(struct slice_merge *m)
{
	const struct wire_hdr *h;
	size_t i, low = 0;

	if (!m->cnt)
		return NULL;
	for (i = 1; i < m->cnt; i++)
		if (m->cursors[i].now->ts_ns < m->cursors[low].now->ts_ns)
			low = i;
	h = m->cursors[low].now;
	if (!advance(&m->cursors[low], m->hooks))
		m->cursors[low] = m->cursors[--m->cnt];
	return h;
}
