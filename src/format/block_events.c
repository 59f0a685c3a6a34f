/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * block_events: puts events into the arrays of column_writer: first it counts them by kind and CPU,
 * then it fills the rows, which keep the events' order.
 */
#include "format/block_events.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/hash_map.h"
#include "base/varint.h"
#include "format/column_reader.h"
#include "format/column_writer.h"

struct fill_events {
	struct kind_rows rows[EVENT_KIND_CNT];
	uint32_t *pos;			/* next row by CPU and kind */
	struct hash_map by_utid;		/* slot + 1 */
	uint32_t *utids, *hits, *rank, *order;
	uint32_t slot_cnt;
	size_t utid_cap, hit_cap;
	unsigned int cpu_cnt;
};

static void fill_done(struct fill_events *f)
{
	unsigned int k;

	for (k = 0; k < EVENT_KIND_CNT; k++)
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
	unsigned int k;
	size_t n;

	f->pos = calloc((size_t)EVENT_KIND_CNT * f->cpu_cnt + 1, sizeof(*f->pos));
	if (!f->pos)
		return -ENOMEM;
	for (n = 0; n < cnt; n++) {
		if (!ev[n].kind || ev[n].kind >= EVENT_KIND_CNT || ev[n].cpu >= f->cpu_cnt)
			return -EINVAL;
		f->pos[ev[n].cpu * EVENT_KIND_CNT + ev[n].kind]++;
	}
	for (k = 1; k < EVENT_KIND_CNT; k++)
		if (kind_rows_init(&f->rows[k], k, f->cpu_cnt) < 0 ||
		    kind_rows_place(&f->rows[k], k, &f->pos[k], f->cpu_cnt) < 0)
			return -ENOMEM;
	return 0;
}

/* UINT32_MAX: out of memory. */
static uint32_t slot_of(struct fill_events *f, uint32_t utid)
{
	uintptr_t at = (uintptr_t)hash_map_get(&f->by_utid, (uint64_t)utid + 1);

	if (!at) {
		if (array_reserve(&f->utids, &f->utid_cap, f->slot_cnt + 1) < 0 ||
		    array_reserve(&f->hits, &f->hit_cap, f->slot_cnt + 1) < 0)
			return UINT32_MAX;
		f->utids[f->slot_cnt] = utid;
		f->hits[f->slot_cnt] = 0;
		at = ++f->slot_cnt;
		if (hash_map_put(&f->by_utid, (uint64_t)utid + 1, (void *)at) < 0)
			return UINT32_MAX;
	}
	f->hits[at - 1]++;
	return (uint32_t)at - 1;
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
	struct disk_section what = { .type = CHUNK_UTIDS, .encoding = CHUNK_ENC_VARINT_DELTAS };
	struct buf b = { 0 };
	uint64_t prev = 0;
	int i, n;

	f->rank = calloc(f->slot_cnt + 1, sizeof(*f->rank));
	f->order = calloc(f->slot_cnt + 1, sizeof(*f->order));
	if (!f->rank || !f->order)
		return -ENOMEM;
	n = column_rank(f->hits, f->slot_cnt, f->rank, f->order);
	if (n < 0)
		return n;
	for (i = 0; i < n; i++) {
		buf_add_varint(&b, zigzag_encode(f->utids[f->order[i]] - prev));
		prev = f->utids[f->order[i]];
	}
	what.item_cnt = (uint32_t)n;
	if (!b.failed)
		block_out_add(o, &what, b.data, b.len);
	n = b.failed ? -ENOMEM : o->error;
	buf_done(&b);
	return n;
}

int block_events_add(struct block_out *o, const struct event *events, size_t cnt,
		     struct disk_block *head)
{
	struct fill_events f = { .cpu_cnt = head->cpu_cnt };
	struct column_writer columns = { 0 };
	unsigned int k;
	size_t i;
	int r;

	if (cnt > CHUNK_EVENTS_MAX)
		return -E2BIG;
	r = count(&f, events, cnt);
	for (i = 0; i < cnt && r == 0; i++)
		r = fill(&f, &events[i]);
	if (r == 0)
		r = add_utids(&f, o);
	head->first_ns = cnt ? events[0].ts_ns : UINT64_MAX;
	head->last_ns = cnt ? events[cnt - 1].ts_ns : 0;
	for (k = 0; k < EVENT_KIND_CNT; k++)
		head->kind_cnt[k] = f.rows[k].cnt;
	if (r == 0 && cnt)
		r = column_write_all(&columns, o, f.rows, f.cpu_cnt, head->first_ns, f.rank);
	column_writer_done(&columns);
	fill_done(&f);
	return r < 0 ? r : o->error;
}

/* ---- reading ---- */

struct event_order {
	uint64_t ts_ns;
	uint32_t cpu_kind, at;	/* at: in order of kind, CPU and row */
};

static int order_cmp(const void *a, const void *b)
{
	const struct event_order *x = a, *y = b;

	if (x->ts_ns != y->ts_ns)
		return x->ts_ns < y->ts_ns ? -1 : 1;
	if (x->cpu_kind != y->cpu_kind)
		return x->cpu_kind < y->cpu_kind ? -1 : 1;
	return x->at < y->at ? -1 : x->at > y->at;
}

static void get_row(const struct kind_columns *k, uint32_t row, uint32_t cpu, struct event *ev)
{
	unsigned int i;

	ev->ts_ns = k->ts_ns[row];
	ev->utid = k->utid[row];
	ev->cpu = (uint16_t)cpu;
	ev->kind = (uint8_t)k->kind;
	ev->flags = (uint8_t)k->flags[k->tuple ? k->tuple[row] : 0];
	for (i = 0; i < k->value_cnt; i++)
		ev->v[i] = kind_columns_value(k, i, row);
}

/* Appends the rows of a kind to the *cnt events already read. */
static int get_kind(const struct column_source *s, unsigned int kind, struct event *events,
		    size_t *cnt)
{
	struct kind_columns k;
	const char *why;
	uint32_t i, row;
	int r = column_read_kind(&k, s, kind, COLUMN_ASK_ALL, &why);

	if (r < 0)
		return r;
	for (i = 0; i < k.run_cnt; i++)
		for (row = k.runs[i].start; row < k.runs[i].start + k.runs[i].cnt; row++)
			get_row(&k, row, k.runs[i].cpu, &events[(*cnt)++]);
	kind_columns_done(&k);
	return 0;
}

static int sort_events(const struct event *events, size_t cnt, struct event *ret)
{
	struct event_order *order = malloc((cnt + 1) * sizeof(*order));
	size_t i;

	if (!order)
		return -ENOMEM;
	for (i = 0; i < cnt; i++)
		order[i] = (struct event_order){ events[i].ts_ns,
						 (uint32_t)events[i].cpu << 8 | events[i].kind,
						 (uint32_t)i };
	if (cnt)
		qsort(order, cnt, sizeof(*order), order_cmp);
	for (i = 0; i < cnt; i++)
		ret[i] = events[order[i].at];
	free(order);
	return 0;
}

int block_events_read(struct block_meta *f, const struct block_io *io, struct zunpack *z,
		      struct event **ret, size_t *ret_cnt)
{
	struct column_source s = { .front = f, .io = *io, .zunpack = z };
	struct event *by_kind, *events;
	uint32_t *utids = NULL;
	size_t all = 0, cnt = 0;
	unsigned int kind;
	int r = block_meta_utids(f, z, &utids, &s.utid_cnt);

	s.utids = utids;
	for (kind = 1; kind < EVENT_KIND_CNT; kind++)
		all += f->head.kind_cnt[kind];
	by_kind = calloc(all + 1, sizeof(*by_kind));
	events = malloc((all + 1) * sizeof(*events));
	if (r == 0 && (!by_kind || !events))
		r = -ENOMEM;
	for (kind = 1; r == 0 && kind < EVENT_KIND_CNT; kind++)
		if (f->head.kind_cnt[kind])
			r = get_kind(&s, kind, by_kind, &cnt);
	if (r == 0)
		r = sort_events(by_kind, cnt, events);
	free(utids);
	free(by_kind);
	if (r < 0) {
		free(events);
		return r;
	}
	*ret = events;
	*ret_cnt = cnt;
	return 0;
}
