/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * gaps: remembers a closed gap for a while, because a record may arrive later than the slice it
 * belongs to.
 */
#include "record/guard/gaps.h"

#include <errno.h>
#include <string.h>

#include "record/encode/block_writer.h"

#define LATE_NS 5000000000ULL	/* no record arrives later than this */

_Static_assert(WIRE_HOOK_MAX <= 64, "a mask of hooks has 64 bits");

struct gap {
	struct trace_gap row;	/* to_ns UINT64_MAX: still open */
	uint64_t hooks;
};

void gaps_done(struct gaps *g)
{
	buf_done(&g->list);
	buf_done(&g->rows);
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

struct filter {
	const struct gap *list;
	size_t cnt;
	uint64_t *dropped;
};

static bool lies_in_none(void *ctx, const struct wire_hdr *h)
{
	const struct filter *f = ctx;
	size_t i;

	for (i = 0; i < f->cnt; i++) {
		const struct gap *g = &f->list[i];

		if (g->hooks >> h->hook & 1 && h->ts_ns >= g->row.from_ns &&
		    h->ts_ns < g->row.to_ns) {
			f->dropped[h->hook]++;
			return false;
		}
	}
	return true;
}

void gaps_filter(struct gaps *g, struct ring_slice *slices, unsigned int slice_cnt,
		 uint64_t dropped[WIRE_HOOK_MAX])
{
	struct filter f = { .dropped = dropped };

	f.list = gaps_list(g, &f.cnt);
	if (f.cnt)
		slices_filter(slices, slice_cnt, lies_in_none, &f);
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
