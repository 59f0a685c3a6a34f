/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * block_events: counts the events by kind and CPU, then fills the arrays of column_writer with
 * them, in the same order.
 */
#include "format/block_events.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/hash_map.h"
#include "format/column_writer.h"

struct fill_events {
	struct kind_rows rows[EVENT_KIND_CNT];
	uint32_t *pos;			/* by CPU and kind: the next row */
	struct hash_map by_utid;	/* by utid: its slot */
	uint32_t *utids, *hits, *rank, *order;
	size_t utid_cap, hit_cap;
	unsigned int cpu_cnt;
};

static void fill_done(struct fill_events *f)
{
	for (unsigned int k = 0; k < EVENT_KIND_CNT; k++)
		kind_rows_done(&f->rows[k]);
	free(f->pos);
	hash_map_done(&f->by_utid);
	free(f->utids);
	free(f->hits);
	free(f->rank);
	free(f->order);
}

static int count(struct fill_events *f, const struct event *ev, size_t cnt)
{
	f->pos = calloc((size_t)EVENT_KIND_CNT * f->cpu_cnt + 1, sizeof(*f->pos));
	if (!f->pos)
		return -ENOMEM;
	for (size_t n = 0; n < cnt; n++) {
		if (!ev[n].kind || ev[n].kind >= EVENT_KIND_CNT || ev[n].cpu >= f->cpu_cnt)
			return -EINVAL;
		f->pos[ev[n].cpu * EVENT_KIND_CNT + ev[n].kind]++;
	}
	for (unsigned int k = 1; k < EVENT_KIND_CNT; k++)
		if (kind_rows_init(&f->rows[k], k, f->cpu_cnt) < 0 ||
		    kind_rows_place(&f->rows[k], k, &f->pos[k], f->cpu_cnt) < 0)
			return -ENOMEM;
	return 0;
}

/* Returns the slot of a utid; UINT32_MAX: out of memory. */
static uint32_t slot_of(struct fill_events *f, uint32_t utid)
{
	uint32_t slot;
	int r = hash_map_intern(&f->by_utid, utid, 0, &slot);

	if (r < 0 || array_reserve(&f->utids, &f->utid_cap, slot + 1) < 0 ||
	    array_reserve(&f->hits, &f->hit_cap, slot + 1) < 0)
		return UINT32_MAX;
	if (r)
		f->utids[slot] = utid;
	f->hits[slot]++;
	return slot;
}

static int fill(struct fill_events *f, const struct event *ev)
{
	struct kind_rows *r = &f->rows[ev->kind];
	uint32_t at = f->pos[ev->cpu * EVENT_KIND_CNT + ev->kind]++;
	uint64_t tuple[TUPLE_WIDTH_MAX] = { ev->flags };
	unsigned int width = 1, i;

	r->ts_ns[at] = ev->ts_ns;
	r->utid[at] = slot_of(f, ev->utid);
	if (r->utid[at] == UINT32_MAX)
		return -ENOMEM;
	for (i = 0; i < EVENT_VALUES; i++) {
		unsigned int codec = column_codec(ev->kind, i);

		if (codec == EVENT_CODEC_TUPLE) {
			tuple[width++] = ev->v[i];
		} else if (codec == EVENT_CODEC_UTID) {
			r->ref[at] = slot_of(f, (uint32_t)ev->v[i]);
			if (r->ref[at] == UINT32_MAX)
				return -ENOMEM;
		} else if (codec) {
			r->val[i][at] = ev->v[i];
		}
	}
	r->tuple[at] = tuple_dict_add(&r->tuples, tuple, r->tuples.width);
	return r->tuple[at] == TUPLE_NONE ? -ENOMEM : 0;
}

static int add_utids(struct fill_events *f, struct block_out *o)
{
	f->rank = calloc(f->by_utid.cnt + 1, sizeof(*f->rank));
	f->order = calloc(f->by_utid.cnt + 1, sizeof(*f->order));
	if (!f->rank || !f->order)
		return -ENOMEM;
	return column_add_utids(o, f->utids, f->hits, f->by_utid.cnt, f->rank, f->order);
}

int block_events_add(struct block_out *o, const struct event *events, size_t cnt,
		     struct disk_block *head)
{
	struct fill_events f = { .cpu_cnt = head->cpu_cnt };
	struct column_writer columns = { 0 };
	int r;

	if (cnt > CHUNK_EVENTS_MAX)
		return -E2BIG;
	r = count(&f, events, cnt);
	for (size_t i = 0; i < cnt && r == 0; i++)
		r = fill(&f, &events[i]);
	r = r ?: add_utids(&f, o);
	head->first_ns = cnt ? events[0].ts_ns : UINT64_MAX;
	head->last_ns = cnt ? events[cnt - 1].ts_ns : 0;
	for (unsigned int k = 0; k < EVENT_KIND_CNT; k++)
		head->kind_cnt[k] = f.rows[k].cnt;
	if (r == 0 && cnt)
		r = column_write_all(&columns, o, f.rows, f.cpu_cnt, head->first_ns, f.rank);
	column_writer_done(&columns);
	fill_done(&f);
	return r < 0 ? r : o->error;
}
