/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* The reader's half: what is in the blobs that index_levels.c makes. */
#include "analyze/fold/index_memory.h"

#include <errno.h>
#include <string.h>

#include "analyze/engine/context.h"

int index_memory_source(enum index_group group, unsigned int slot)
{
	static const int8_t sources[INDEX_GROUP_CNT][INDEX_SLOT_CNT] = {
		[INDEX_SLAB] = { ALLOC_SLAB, -1 },
		[INDEX_PAGE] = { ALLOC_PAGE, -1 },
		[INDEX_LEVELS] = { ALLOC_RSS, ALLOC_VM },
		[INDEX_HEAP] = { ALLOC_HEAP, -1 },
	};

	return sources[group][slot];
}

uint32_t index_memory_owner_cnt(const struct analysis *a)
{
	return a->ids.thread_cnt + a->ids.process_cnt;
}

uint32_t index_memory_owner(const struct analysis *a, const struct alloc_change *c)
{
	bool whole = c->source == ALLOC_RSS || c->source == ALLOC_VM ||
		     (c->source == ALLOC_HEAP && c->kind == ALLOC_CHANGE_EXIT);

	return whole ? a->ids.thread_cnt + c->process : c->thread;
}

static uint64_t owner_id(const struct analysis *a, uint32_t owner)
{
	const struct dense_ids *d = &a->ids;

	return owner < d->thread_cnt ? (uint64_t)dense_utid(d, owner) << 1
				      : (uint64_t)dense_upid(d, owner - d->thread_cnt) << 1 | 1;
}

uint64_t index_memory_hash(const struct analysis *a, uint32_t owner)
{
	uint64_t h = (owner_id(a, owner) + 1) * 0x9e3779b97f4a7c15ull;

	h = (h ^ h >> 30) * 0xbf58476d1ce4e5b9ull;
	h = (h ^ h >> 27) * 0x94d049bb133111ebull;
	return h ^ h >> 31;
}

static int get_owner(const struct analysis *a, struct packed_in *in, uint32_t *ret_owner,
		      uint8_t *ret_slot)
{
	uint64_t id = packed_get(in);
	uint32_t n = (uint32_t)(id >> 2);

	*ret_slot = (uint8_t)(id >> 1 & 1);
	*ret_owner = id & 1 ? a->ids.thread_cnt + dense_process(&a->ids, n)
			     : dense_thread(&a->ids, n);
	return in->bad ? -EBADMSG : 0;
}

int index_memory_next(const struct analysis *a, struct packed_in *in, uint64_t interval_ns,
		      struct index_memory_row *ret)
{
	if (get_owner(a, in, &ret->owner, &ret->slot) < 0)
		return -EBADMSG;
	ret->allocs = packed_get(in);
	ret->frees = packed_get(in);
	ret->lost_frees = packed_get(in);
	ret->alloc_bytes = packed_get(in);
	ret->free_bytes = packed_get(in);
	ret->delta = packed_get_signed(in);
	ret->growth = packed_get(in);
	ret->growth_ns = ret->growth ? interval_ns + packed_get(in) : 0;
	return in->bad ? -EBADMSG : 0;
}

int index_memory_next_set(struct packed_in *in, uint64_t interval_ns, struct index_memory_set *ret)
{
	ret->slot = (uint8_t)(packed_get(in) & 1);
	ret->hash = packed_get(in);
	ret->growth = packed_get(in);
	ret->growth_ns = ret->growth ? interval_ns + packed_get(in) : 0;
	return in->bad ? -EBADMSG : 0;
}

static int add_base(const struct analysis *a, struct packed_in *in, int64_t *levels)
{
	uint32_t cnt = index_memory_owner_cnt(a), owner;
	size_t n = packed_get_cnt(in);
	uint8_t slot;

	for (; n; n--) {
		if (get_owner(a, in, &owner, &slot) < 0)
			return -EBADMSG;
		levels[(size_t)slot * cnt + owner] += packed_get_signed(in);
	}
	return in->bad ? -EBADMSG : 0;
}

static int add_deltas(const struct analysis *a, struct packed_in *in, int64_t *levels)
{
	uint32_t cnt = index_memory_owner_cnt(a);
	struct index_memory_row row;
	size_t n = in->p == in->end ? 0 : packed_get_cnt(in);

	for (; n; n--) {
		if (index_memory_next(a, in, 0, &row) < 0)
			return -EBADMSG;
		levels[(size_t)row.slot * cnt + row.owner] += row.delta;
	}
	return in->bad ? -EBADMSG : 0;
}

int index_memory_levels(const struct index *x, const struct analysis *a, enum index_group group,
			size_t interval, int64_t *levels)
{
	struct buf mem = { 0 };
	struct packed_in in;
	size_t base = interval;
	int ret = 0;

	while (base && (ret = index_has(x, base, INDEX_BASE + group)) == 0)
		base--;
	if (ret >= 0)
		ret = index_read(x, base, INDEX_BASE + group, &mem, &in);
	if (!ret)
		ret = add_base(a, &in, levels);
	for (; !ret && base < interval; base++) {
		ret = index_read(x, base, INDEX_SUMS + group, &mem, &in);
		if (!ret)
			ret = add_deltas(a, &in, levels);
	}
	buf_done(&mem);
	return ret;
}

int index_rate_begin(const struct analysis *a, struct packed_in *in, struct index_rate *ret)
{
	uint64_t id;

	if (in->p == in->end)
		return in->bad ? -EBADMSG : 0;
	id = packed_get(in);
	ret->slot = (uint8_t)(id & 1);
	ret->process = dense_process(&a->ids, (uint32_t)(id >> 1));
	ret->cnt = packed_get_cnt(in);
	ret->granule = 0;
	return in->bad ? -EBADMSG : 1;
}

int index_rate_next(struct packed_in *in, struct index_rate *r, uint64_t *ret_bytes)
{
	r->granule += packed_get(in);
	*ret_bytes = packed_get(in);
	return in->bad ? -EBADMSG : 0;
}
