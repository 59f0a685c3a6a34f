/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * checkpoint: collects and sorts the rows of a checkpoint, and encodes and decodes its parts.
 *
 * An encoded part consists of: the instant, the size in bytes of the memory rows, these rows (as in
 * RSS_STATE), the number of events, and the events. An event consists of kind, flags, cpu, utid,
 * time since the previous event, and the difference of each value from the previous event of the
 * same kind. All numbers are varints.
 */
#include "edit/checkpoint.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "format/rows.h"
#include "trace/derived_file.h"
#include "trace/trace_read.h"

int checkpoint_add_event(struct checkpoint *c, const struct event *ev)
{
	return array_add(&c->events, &c->event_cap, &c->event_cnt, *ev);
}

int checkpoint_add_object(struct checkpoint *c, uint64_t at_ns, enum checkpoint_part part,
			  const struct live_object *o, const struct live_kind *k, uint32_t utid)
{
	bool is_irq = utid == EVENT_ID_IRQ;
	struct event ev = { .ts_ns = at_ns - 1,
			    .kind = part == CHECKPOINT_SLAB ? EVENT_SLAB_ALLOC :
				    part == CHECKPOINT_PAGE ? EVENT_PAGE_ALLOC : EVENT_HEAP_ALLOC,
			    .utid = is_irq ? EVENT_ID_UNKNOWN : utid,
			    .flags = is_irq ? EVENT_F_IRQ : 0 };

	ev.v[0] = o->addr;
	if (part == CHECKPOINT_PAGE)
		ev.v[EV_PAGE_ALLOC_PAGE_ORDER] = k->order;
	else
		ev.v[part == CHECKPOINT_SLAB ? (unsigned int)EV_SLAB_ALLOC_BYTES :
					       (unsigned int)EV_HEAP_ALLOC_BYTES] = k->bytes;
	return checkpoint_add_event(c, &ev);
}

int checkpoint_add_memory(struct checkpoint *c, uint64_t at_ns, const struct trace_process *p,
			  const struct mem_process *of)
{
	struct trace_rss row;

	/* a process that starts at or after at_ns has no memory yet */
	if (of->ended || !of->known || p->start_ns >= at_ns)
		return 0;
	row = mem_process_row(of);
	row.ts_ns = at_ns;
	row.upid = p->upid;
	return array_add(&c->memory, &c->memory_cap, &c->memory_cnt, row);
}

void checkpoint_done(struct checkpoint *c)
{
	free(c->events);
	free(c->memory);
	*c = (struct checkpoint){ 0 };
}

struct sort_key {
	uint64_t first;
	uint32_t second, at;
};

static int compare_keys(const void *a, const void *b)
{
	const struct sort_key *x = a, *y = b;

	return compare_numbers(x->first, y->first) ?: compare_numbers(x->second, y->second) ?:
	       compare_numbers(x->at, y->at);
}

int checkpoint_sort(struct checkpoint *c, size_t first, bool are_objects)
{
	size_t cnt = c->event_cnt - first, i;
	const struct event *ev = cnt ? c->events + first : NULL;
	struct sort_key *keys = malloc((cnt + 1) * sizeof(*keys));
	struct event *sorted = malloc((c->event_cnt + 1) * sizeof(*sorted));

	if (!keys || !sorted) {
		free(keys);
		free(sorted);
		return -ENOMEM;
	}
	for (i = 0; i < cnt; i++)
		keys[i] = (struct sort_key){ are_objects ? ev[i].v[0] : ev[i].ts_ns,
					     are_objects ? ev[i].utid :
							   (uint32_t)ev[i].cpu << 8 | ev[i].kind,
					     (uint32_t)i };
	if (cnt)
		qsort(keys, cnt, sizeof(*keys), compare_keys);
	for (i = 0; i < first; i++)
		sorted[i] = c->events[i];
	for (i = 0; i < cnt; i++)
		sorted[first + i] = ev[keys[i].at];
	free(keys);
	free(c->events);
	c->events = sorted;
	c->event_cap = c->event_cnt;
	return 0;
}

/* ---- bytes ---- */

void checkpoint_encode(const struct checkpoint *c, uint64_t at_ns, struct buf *out)
{
	struct row_writer rows = { .base_ns = at_ns };
	struct event last[EVENT_KIND_CNT] = { { 0 } };
	uint64_t ts_ns = 0;

	for (size_t i = 0; i < c->memory_cnt; i++)
		row_put_rss(&rows, &c->memory[i]);
	buf_add_varint(out, at_ns);
	buf_add_varint(out, rows.out.len);
	buf_add(out, rows.out.data, rows.out.len);
	buf_add_varint(out, c->event_cnt);
	for (size_t i = 0; i < c->event_cnt; i++) {
		const struct event *ev = &c->events[i];

		buf_add_varint(out, ev->kind);
		buf_add_varint(out, ev->flags);
		buf_add_varint(out, ev->cpu);
		buf_add_varint(out, ev->utid);
		buf_add_varint(out, ev->ts_ns - ts_ns);
		for (unsigned int k = 0; k < event_kind_values(ev->kind); k++)
			buf_add_varint(out, zigzag_encode(ev->v[k] - last[ev->kind].v[k]));
		last[ev->kind] = *ev;
		ts_ns = ev->ts_ns;
	}
	out->failed |= rows.out.failed;
	buf_done(&rows.out);
}

static uint64_t take(struct packed_in *in, uint64_t max)
{
	uint64_t v = packed_get(in);

	in->bad |= v > max;
	return v;
}

static int read_memory(struct packed_in *in, uint64_t at_ns, struct checkpoint *c)
{
	uint64_t bytes = take(in, UINT64_MAX);
	struct row_reader rows = { .base_ns = at_ns };
	struct trace_rss row;
	int r = 0;

	if (in->bad || bytes > (uint64_t)(in->end - in->p))
		return -EBADMSG;
	rows.p = in->p;
	in->p = rows.end = in->p + bytes;
	while (r == 0 && (r = row_get_rss(&rows, &row)) > 0) {
		if (row.ts_ns != at_ns ||
		    (c->memory_cnt && row.upid <= c->memory[c->memory_cnt - 1].upid))
			return -EBADMSG;
		r = array_add(&c->memory, &c->memory_cap, &c->memory_cnt, row);
	}
	return r;
}

static int read_events(struct packed_in *in, uint64_t max, uint64_t at_ns, unsigned int cpu_cnt,
		       struct checkpoint *c)
{
	uint64_t cnt = take(in, max), ts_ns = 0;
	struct event last[EVENT_KIND_CNT] = { { 0 } };

	if (in->bad)
		return -EBADMSG;
	c->events = calloc(cnt + 1, sizeof(*c->events));
	if (!c->events)
		return -ENOMEM;
	c->event_cap = cnt + 1;
	for (; !in->bad && c->event_cnt < cnt; c->event_cnt++) {
		struct event *ev = &c->events[c->event_cnt];

		ev->kind = (uint8_t)take(in, EVENT_KIND_CNT - 1);
		ev->flags = (uint8_t)take(in, UINT8_MAX);
		ev->cpu = (uint16_t)take(in, cpu_cnt - 1);
		ev->utid = (uint32_t)take(in, UINT32_MAX);
		ev->ts_ns = ts_ns += take(in, at_ns - 1 - ts_ns);
		if (!event_kind_values(ev->kind))
			return -EBADMSG;
		for (unsigned int k = 0; k < event_kind_values(ev->kind); k++)
			ev->v[k] = last[ev->kind].v[k] + zigzag_decode(take(in, UINT64_MAX));
		last[ev->kind] = *ev;
	}
	return !in->bad && in->p == in->end ? 0 : -EBADMSG;
}

int checkpoint_decode(const void *bytes, size_t cnt, uint64_t event_max, uint64_t at_ns,
		      unsigned int cpu_cnt, struct checkpoint *ret)
{
	struct packed_in in = { .p = bytes, .end = (const uint8_t *)bytes + cnt };
	struct checkpoint c = { 0 };
	int r = at_ns && take(&in, UINT64_MAX) == at_ns && !in.bad ? 0 : -EBADMSG;

	r = r ?: read_memory(&in, at_ns, &c) ?: read_events(&in, event_max, at_ns, cpu_cnt, &c);
	if (r < 0) {
		checkpoint_done(&c);
		return r;
	}
	*ret = c;
	return 0;
}

/* ---- the derived file ---- */

uint64_t checkpoint_key(enum checkpoint_part part, size_t block)
{
	return (uint64_t)part << 32 | block;
}

int checkpoint_store(struct derived_file *d, struct zpack *z, uint64_t key, uint64_t at_ns,
		     const struct checkpoint *c)
{
	struct derived_part part;
	struct buf raw = { 0 };
	int r;

	checkpoint_encode(c, at_ns, &raw);
	r = derived_file_add(d, z, DERIVED_CHECKPOINT, key, 0, &raw);
	/*
	 * Readers bound their memory by the part's size and therefore reject a part with less than
	 * a byte per event. Store such a part uncompressed.
	 */
	if (r == 0 && derived_file_get(d, DERIVED_CHECKPOINT, key, &part) > 0 &&
	    part.stored_bytes < c->event_cnt)
		r = derived_file_add(d, NULL, DERIVED_CHECKPOINT, key, 0, &raw);
	buf_done(&raw);
	return r;
}

/*
 * Finds the last part at or before at_ns. 1: found; 0: not found; < 0: the derived file's list of
 * parts is unreadable or damaged.
 */
static int find_part(const struct derived_file *d, const struct trace *t, enum checkpoint_part part,
		     uint64_t at_ns, struct derived_part *ret, uint64_t *ret_at_ns)
{
	const struct derived_part *v;
	size_t cnt, i;
	int r = derived_file_parts(d, DERIVED_CHECKPOINT, &v, &cnt);

	for (i = lower_bound(v, cnt, key, checkpoint_key(part + 1, 0)); r == 0 && i--;) {
		const struct trace_block *b = trace_block_at(t, (uint32_t)v[i].key);

		if (v[i].key >> 32 != part || (uint32_t)v[i].key >= trace_block_cnt(t))
			return v[i].key >> 32 == part ? -EBADMSG : 0;
		if (b->from_ns > at_ns)
			continue;
		*ret = v[i];
		*ret_at_ns = b->from_ns;
		return 1;
	}
	return r;
}

int checkpoint_find(struct derived_file *d, const struct trace *t, enum checkpoint_part part,
		    uint64_t at_ns, uint64_t *ret_at_ns, struct checkpoint *ret)
{
	struct derived_part p;
	struct buf mem = { 0 };
	const uint8_t *bytes;
	uint64_t found_ns = 0;
	int r = find_part(d, t, part, at_ns, &p, &found_ns);

	if (r <= 0)
		return r;
	r = derived_file_read(d, &p, &mem, &bytes);
	r = r ?: checkpoint_decode(bytes, p.raw_bytes, p.stored_bytes, found_ns, trace_cpu_cnt(t),
				   ret);
	buf_done(&mem);
	if (r < 0)
		return r == -ENOMEM ? r : -EBADMSG;
	*ret_at_ns = found_ns;
	return 1;
}
