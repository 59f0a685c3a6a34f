/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * gaps: remembers a closed gap for a while, because a record may arrive later than the slice it
 * belongs to.
 */
#include "record/guard/gaps.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "record/encode/block_writer.h"

#define LATE_NS 5000000000ULL	/* no record arrives later than this */

_Static_assert(WIRE_HOOK_MAX <= 64, "a mask of hooks has 64 bits");

struct gap {
	struct trace_gap row;	/* to_ns UINT64_MAX: still open */
	uint64_t hooks;
};

struct gaps {
	struct buf list;	/* struct gap */
	struct buf rows;	/* struct trace_gap */
};

int gaps_new(struct gaps **ret)
{
	struct gaps *g = calloc(1, sizeof(*g));

	if (!g)
		return -ENOMEM;
	*ret = g;
	return 0;
}

void gaps_free(struct gaps *g)
{
	if (!g)
		return;
	buf_done(&g->list);
	buf_done(&g->rows);
	free(g);
}

static struct gap *gaps_list(struct gaps *g, size_t *ret_cnt)
{
	*ret_cnt = g->list.len / sizeof(struct gap);
	return (struct gap *)g->list.data;
}

int gaps_open(struct gaps *g, const struct trace_gap *gap, uint64_t hooks)
{
	struct gap x = { .row = *gap, .hooks = hooks };

	x.row.to_ns = UINT64_MAX;
	buf_add(&g->list, &x, sizeof(x));
	return g->list.failed ? -ENOMEM : 0;
}

void gaps_close(struct gaps *g, const char *source, uint64_t to_ns)
{
	size_t cnt, i;
	struct gap *list = gaps_list(g, &cnt);

	for (i = 0; i < cnt; i++) {
		if (list[i].row.to_ns == UINT64_MAX && !strcmp(list[i].row.source, source))
			list[i].row.to_ns = to_ns;
	}
}

static bool lies_in_one(const struct gap *list, size_t cnt, const struct wire_hdr *h)
{
	size_t i;

	for (i = 0; i < cnt; i++) {
		if (list[i].hooks >> (h->hook & 63) & 1 && h->ts_ns >= list[i].row.from_ns &&
		    h->ts_ns < list[i].row.to_ns)
			return true;
	}
	return false;
}

void gaps_filter(struct gaps *g, struct ring_slice *slices, unsigned int slice_cnt,
		 uint64_t dropped[WIRE_HOOK_MAX])
{
	struct ring_slab *s;
	size_t cnt, at, to, bytes;
	const struct gap *list = gaps_list(g, &cnt);
	uint64_t hooks = 0;
	unsigned int i;

	for (i = 0; i < cnt; i++)
		hooks |= list[i].hooks;
	if (!hooks)
		return;
	for (i = 0; i < slice_cnt; i++) {
		for (s = slices[i].first; s; s = s->next) {
			for (at = to = 0; at < s->bytes; at += bytes) {
				const struct wire_hdr *h = (const void *)(s->data + at);

				bytes = wire_record_size(h, s->bytes - at);
				if (!bytes)
					break;
				if (hooks >> (h->hook & 63) & 1 && lies_in_one(list, cnt, h)) {
					dropped[h->hook % WIRE_HOOK_MAX]++;
					continue;
				}
				if (to != at)
					memmove(s->data + to, h, bytes);
				to += bytes;
			}
			s->bytes = to;
		}
	}
}

/* Forgets gaps that no slice to come can touch. */
static void forget(struct gaps *g, uint64_t from_ns)
{
	size_t cnt, i, to = 0;
	struct gap *list = gaps_list(g, &cnt);

	for (i = 0; i < cnt; i++) {
		if (list[i].row.to_ns == UINT64_MAX || list[i].row.to_ns + LATE_NS > from_ns)
			list[to++] = list[i];
	}
	g->list.len = to * sizeof(*list);
}

int gaps_rows(struct gaps *g, uint64_t from_ns, uint64_t to_ns, const struct trace_gap **ret,
	      size_t *ret_cnt)
{
	const struct gap *list;
	struct trace_gap row;
	size_t cnt, i;

	forget(g, from_ns);
	buf_reset(&g->rows);
	list = gaps_list(g, &cnt);
	for (i = 0; i < cnt; i++) {
		row = list[i].row;
		if (row.from_ns < from_ns)
			row.from_ns = from_ns;
		if (row.to_ns > to_ns)
			row.to_ns = to_ns;
		if (row.from_ns < row.to_ns)
			buf_add(&g->rows, &row, sizeof(row));
	}
	*ret = (const struct trace_gap *)g->rows.data;
	*ret_cnt = g->rows.len / sizeof(row);
	return g->rows.failed ? -ENOMEM : 0;
}
