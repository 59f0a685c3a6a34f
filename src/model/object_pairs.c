/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* object_pairs: one live_objects per family, and a number for the heap of each process. */
#include "model/object_pairs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const struct {
	uint8_t family, is_alloc;	/* family: + 1 */
} kinds[EVENT_KIND_CNT] = {
	[EVENT_SLAB_ALLOC] = { OBJECT_SLAB + 1, 1 }, [EVENT_SLAB_FREE] = { OBJECT_SLAB + 1, 0 },
	[EVENT_PAGE_ALLOC] = { OBJECT_PAGE + 1, 1 }, [EVENT_PAGE_FREE] = { OBJECT_PAGE + 1, 0 },
	[EVENT_HEAP_ALLOC] = { OBJECT_HEAP + 1, 1 }, [EVENT_HEAP_FREE] = { OBJECT_HEAP + 1, 0 },
};

int object_family_of(uint64_t kind)
{
	return kind < EVENT_KIND_CNT ? kinds[kind].family - 1 : -1;
}

uint32_t object_event_utid(const struct event *ev)
{
	bool is_heap = object_family_of(ev->kind) == OBJECT_HEAP;

	return !is_heap && ev->flags & EVENT_F_IRQ ? EVENT_ID_IRQ : ev->utid;
}

static void read_kind(const struct event *ev, uint32_t page_bytes, struct live_kind *k)
{
	memset(k, 0, sizeof(*k));
	k->irq = !!(ev->flags & EVENT_F_IRQ);
	switch (ev->kind) {
	case EVENT_SLAB_ALLOC:
		k->bytes_req = ev->v[EV_SLAB_ALLOC_BYTES_REQ];
		k->bytes = ev->v[EV_SLAB_ALLOC_BYTES];
		k->call_site = ev->v[EV_SLAB_ALLOC_CALL_SITE];
		k->cache = ev->v[EV_SLAB_ALLOC_CACHE];
		break;
	case EVENT_PAGE_ALLOC:
		k->gfp = (uint32_t)ev->v[EV_PAGE_ALLOC_GFP];
		k->migratetype = (uint16_t)ev->v[EV_PAGE_ALLOC_MIGRATETYPE];
		break;
	case EVENT_HEAP_ALLOC:
		k->bytes = k->bytes_req = ev->v[EV_HEAP_ALLOC_BYTES];
		k->call_site = ev->v[EV_HEAP_ALLOC_CALL_SITE];
		break;
	}
	if (object_family_of(ev->kind) != OBJECT_PAGE)
		return;
	k->order = LIVE_ORDER_MAX + 1;
	if (ev->v[EV_PAGE_ALLOC_PAGE_ORDER] > LIVE_ORDER_MAX)
		return;
	k->order = (uint8_t)ev->v[EV_PAGE_ALLOC_PAGE_ORDER];
	k->bytes = k->bytes_req = (uint64_t)page_bytes << k->order;
}

bool object_event_read(const struct event *ev, uint32_t page_bytes, struct object_event *ret)
{
	int family = object_family_of(ev->kind);

	if (family < 0)
		return false;
	ret->addr = ev->v[0];
	ret->family = (uint8_t)family;
	ret->is_alloc = kinds[ev->kind].is_alloc;
	ret->utid = object_event_utid(ev);
	read_kind(ev, page_bytes, &ret->kind);
	return true;
}

int object_pairs_init(struct object_pairs *p, uint32_t page_bytes, uint32_t process_cnt,
		      bool has_instants)
{
	int ret = 0;

	*p = (struct object_pairs){ .page_bytes = page_bytes, .next_heap_space = UINT32_MAX };
	p->heap_spaces = calloc(process_cnt + 1, sizeof(*p->heap_spaces));
	for (unsigned int i = 0; i < OBJECT_FAMILY_CNT && !ret; i++)
		ret = live_objects_new(&p->of[i], i == OBJECT_PAGE ? page_bytes : 0,
				       has_instants || i == OBJECT_HEAP);
	return p->heap_spaces ? ret : -ENOMEM;
}

int object_pairs_grow(struct object_pairs *p, uint32_t before, uint32_t cnt)
{
	uint32_t *spaces = realloc(p->heap_spaces, ((size_t)cnt + 1) * sizeof(*spaces));

	if (!spaces)
		return -ENOMEM;
	p->heap_spaces = spaces;
	if (cnt > before)
		memset(&spaces[before], 0, (cnt - before) * sizeof(*spaces));
	return 0;
}

void object_pairs_done(struct object_pairs *p)
{
	for (unsigned int i = 0; i < OBJECT_FAMILY_CNT; i++)
		live_objects_free(p->of[i]);
	free(p->heap_spaces);
}

void object_pairs_reset(struct object_pairs *p, uint32_t process)
{
	p->heap_spaces[process] = p->next_heap_space--;
}

uint32_t object_pairs_space(const struct object_pairs *p, unsigned int family, uint32_t process)
{
	if (family != OBJECT_HEAP)
		return 0;
	return p->heap_spaces[process] ? p->heap_spaces[process] : process;
}

int object_pairs_event(struct object_pairs *p, const struct object_event *o, uint64_t ts_ns,
		       uint32_t owner, uint32_t process, live_objects_sink sink, void *ctx,
		       uint64_t *ret_unknown)
{
	uint32_t space = object_pairs_space(p, o->family, process);

	*ret_unknown = 0;
	if (o->is_alloc)
		return live_objects_add(p->of[o->family], space, o->addr, ts_ns, owner, &o->kind,
					sink, ctx);
	return live_objects_end(p->of[o->family], space, o->addr, o->kind.order, sink, ctx,
				ret_unknown);
}
