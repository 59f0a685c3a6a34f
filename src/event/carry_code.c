/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* carry_code: rows of memory, the kind of every event in order, then the columns of each kind. */
#include "event/carry_code.h"

#include <errno.h>
#include <stdlib.h>

#include "event/index_number.h"

/* Where the events of each kind are: at[first[kind]] .. at[first[kind + 1] - 1], in order. */
struct by_kind {
	size_t first[EVENT_KIND_CNT + 1];
	uint32_t *at;
};

static int sort_kinds(struct by_kind *k, const struct event *ev, size_t cnt)
{
	size_t next[EVENT_KIND_CNT], i;
	unsigned int kind;

	*k = (struct by_kind){ .at = malloc((cnt + 1) * sizeof(*k->at)) };
	if (!k->at)
		return -ENOMEM;
	for (i = 0; i < cnt; i++)
		k->first[ev[i].kind + 1]++;
	for (kind = 0; kind < EVENT_KIND_CNT; kind++) {
		k->first[kind + 1] += k->first[kind];
		next[kind] = k->first[kind];
	}
	for (i = 0; i < cnt; i++)
		k->at[next[ev[i].kind]++] = (uint32_t)i;
	return 0;
}

/* Columns are time, CPU, flags, thread, then the values of the kind. */
enum { COL_TS, COL_CPU, COL_FLAGS, COL_UTID, COL_VALUES };

static uint64_t get_column(const struct event *ev, unsigned int column)
{
	switch (column) {
	case COL_TS:
		return ev->ts_ns;
	case COL_CPU:
		return ev->cpu;
	case COL_FLAGS:
		return ev->flags;
	case COL_UTID:
		return ev->utid;
	default:
		return ev->v[column - COL_VALUES];
	}
}

/* false: the number has no place there. */
static bool set_column(struct event *ev, unsigned int column, uint64_t v)
{
	switch (column) {
	case COL_TS:
		ev->ts_ns = v;
		return true;
	case COL_CPU:
		ev->cpu = (uint16_t)v;
		return v <= UINT16_MAX;
	case COL_FLAGS:
		ev->flags = (uint8_t)v;
		return v <= UINT8_MAX;
	case COL_UTID:
		ev->utid = (uint32_t)v;
		return v <= UINT32_MAX;
	default:
		ev->v[column - COL_VALUES] = v;
		return true;
	}
}

static void put_memory(const struct trace_carry *c, struct buf *out)
{
	unsigned int k;
	size_t i;

	index_put(out, c->memory_cnt);
	for (i = 0; i < c->memory_cnt; i++) {
		index_put(out, c->memory[i].upid);
		index_put(out, c->memory[i].unknown);
		for (k = 0; k < 4; k++)
			index_put(out, c->memory[i].bytes[k]);
		index_put(out, c->memory[i].total_vm_bytes);
	}
}

int carry_encode(const struct trace_carry *c, uint64_t at_ns, struct buf *out)
{
	unsigned int kind, column;
	struct by_kind k;
	size_t i;

	put_memory(c, out);
	index_put(out, c->event_cnt);
	for (i = 0; i < c->event_cnt; i++)
		index_put(out, c->events[i].kind);
	if (sort_kinds(&k, c->events, c->event_cnt) < 0)
		return -ENOMEM;
	for (kind = 1; kind < EVENT_KIND_CNT; kind++)
		for (column = 0; column < COL_VALUES + event_kind_values(kind); column++) {
			uint64_t last = column == COL_TS ? at_ns : 0, v;

			for (i = k.first[kind]; i < k.first[kind + 1]; i++) {
				v = get_column(&c->events[k.at[i]], column);
				index_put_signed(out, (int64_t)(v - last));
				last = v;
			}
		}
	free(k.at);
	return out->failed ? -ENOMEM : 0;
}

static int get_memory(struct index_in *in, uint64_t at_ns, struct trace_carry *c)
{
	size_t cnt = index_get_cnt(in), i;
	unsigned int k;

	c->memory = calloc(cnt + 1, sizeof(*c->memory));
	if (!c->memory)
		return -ENOMEM;
	for (i = 0; i < cnt; i++) {
		struct trace_rss *m = &c->memory[i];

		m->ts_ns = at_ns;
		m->upid = (uint32_t)index_get(in);
		m->unknown = (uint32_t)index_get(in);
		for (k = 0; k < 4; k++)
			m->bytes[k] = index_get(in);
		m->total_vm_bytes = index_get(in);
		if (i && m->upid <= m[-1].upid)
			return -EBADMSG;
	}
	c->memory_cnt = cnt;
	return in->bad ? -EBADMSG : 0;
}

static bool is_kind(uint64_t kind)
{
	return kind && kind < EVENT_KIND_CNT && event_kind_values((unsigned int)kind);
}

static int get_kinds(struct index_in *in, struct trace_carry *c)
{
	size_t cnt = index_get_cnt(in), i;
	uint64_t kind;

	/* the kind, four columns, and a value at least: a file makes a reader take so many times its size */
	if (cnt > (size_t)(in->end - in->p) / 6)
		return -EBADMSG;
	c->events = calloc(cnt + 1, sizeof(*c->events));
	if (!c->events)
		return -ENOMEM;
	for (i = 0; i < cnt; i++) {
		kind = index_get(in);
		if (!is_kind(kind))
			return -EBADMSG;
		c->events[i].kind = (uint8_t)kind;
	}
	c->event_cnt = cnt;
	return in->bad || cnt > UINT32_MAX ? -EBADMSG : 0;
}

static int get_columns(struct index_in *in, uint64_t at_ns, struct trace_carry *c)
{
	unsigned int kind, column;
	struct by_kind k;
	bool fits = true;
	size_t i;

	if (sort_kinds(&k, c->events, c->event_cnt) < 0)
		return -ENOMEM;
	for (kind = 1; kind < EVENT_KIND_CNT; kind++)
		for (column = 0; column < COL_VALUES + event_kind_values(kind); column++) {
			uint64_t last = column == COL_TS ? at_ns : 0;

			for (i = k.first[kind]; i < k.first[kind + 1]; i++) {
				last += (uint64_t)index_get_signed(in);
				fits &= set_column(&c->events[k.at[i]], column, last);
			}
		}
	free(k.at);
	return in->bad || !fits ? -EBADMSG : 0;
}

int carry_decode(const void *bytes, size_t cnt, uint64_t at_ns, unsigned int cpu_cnt,
		 struct trace_carry *ret)
{
	struct index_in in = { .p = bytes, .end = (const uint8_t *)bytes + cnt };
	struct trace_carry c = { 0 };
	size_t i;
	int r = get_memory(&in, at_ns, &c);

	if (r == 0)
		r = get_kinds(&in, &c);
	if (r == 0)
		r = get_columns(&in, at_ns, &c);
	for (i = 0; i < c.event_cnt && r == 0; i++)
		if (c.events[i].cpu >= cpu_cnt || c.events[i].ts_ns >= at_ns ||
		    (i && c.events[i].ts_ns < c.events[i - 1].ts_ns))
			r = -EBADMSG;
	if (r == 0 && in.p != in.end)
		r = -EBADMSG;
	if (r < 0) {
		trace_carry_done(&c);
		return r;
	}
	*ret = c;
	return 0;
}
