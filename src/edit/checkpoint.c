/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* checkpoint: collects and sorts the rows of a checkpoint. */
#include "edit/checkpoint.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"

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

	/* a process that starts later starts without memory */
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
