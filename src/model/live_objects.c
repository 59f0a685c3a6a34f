/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * live_objects: open-addressing tables of small entries (address, owner, kind, and if requested,
 * instant and space). Properties that objects share are interned in a kind. Allocators soon reuse
 * addresses: the entry of an ended object remains until its table is rebuilt. Rebuilding needs
 * memory for the old and the new table, so there are several small tables, which are rebuilt one at
 * a time; the memory of the old table is unmapped. Two bit masks limit the lookups of a page: the
 * orders of all live page blocks, and the orders of those near an address.
 *
 * For example, calls and what the sink gets:
 *
 *     add  frames 96 .. 103, owner A
 *     end  frames 98 .. 99            A's 98 .. 99, freed; 96 .. 97 and 100 .. 103 stay live
 *     add  frame 100, owner B         A's 100, lost; 101 and 102 .. 103 stay live
 *     add  0x1000, owner A
 *     add  0x1000, owner B            A's object, lost: its free was not recorded
 *     end  0x1000                     B's object, freed
 *     end  0x2000                     nothing: ret_unknown is 1
 */
#include "model/live_objects.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/array.h"
#include "base/hash_map.h"

#define KIND_EMPTY UINT32_MAX
#define KIND_ENDED (UINT32_MAX - 1)
#define TABLE_BITS 4		/* bits of a hash that select the table */
#define TABLE_CNT (1u << TABLE_BITS)
#define CAP_STEP 256u		/* a table's capacity is a multiple of this */
#define RECENT_KINDS 256
#define NEAR_ORDER 6 /* log2 of the frames in a group, which contains blocks up to this order */
#define NEAR_ORDERS 0x7eu	/* the bits of orders 1 to 6 */
#define HELD_BITS 14

struct live_slot {
	uint64_t addr;
	uint32_t owner;
	uint32_t kind;		/* KIND_EMPTY: no entry; KIND_ENDED: the object ended */
};

struct live_wide_slot {		/* used if live_objects_new() was called with is_detailed */
	struct live_slot slot;
	uint64_t ts_ns;
	uint32_t space;
	uint32_t unused;
};

struct live_table {
	void *slots;
	uint64_t *noted; /* a bit per slot: the object was added after live_objects_begin_notes() */
	size_t cap, cnt;	/* cnt: objects */
	size_t used;		/* entries, including those of ended objects */
};

struct live_objects {
	struct live_table tables[TABLE_CNT];
	size_t cap, cnt;	/* of all tables */
	unsigned int slot_shift;	/* log2 of a slot's bytes */
	bool is_detailed;
	uint32_t page_bytes;
	size_t order_cnt[LIVE_ORDER_MAX + 1];
	uint32_t orders;	/* mask of 1 << order for all live page blocks */
	/*
	 * By hash (held_at()): masks of 1 << order of the page blocks of order 1 and more. Bits of
	 * ended blocks remain until removed_cnt is high.
	 */
	uint32_t *held;
	size_t removed_cnt;
	struct hash_map sites, places, sizes, kinds;	/* a place is a call site and a stack */
	struct live_kind *kind_rows;
	size_t kind_cap;
	uint32_t recent[RECENT_KINDS];	/* recently used kinds, + 1, by hash */
	live_objects_older older;
	void *older_ctx;
};

/* Returns the bytes of a table: its slots, and a bit per slot. */
static size_t table_bytes(const struct live_objects *o, size_t cap)
{
	return (cap << o->slot_shift) + cap / 8;
}

static void free_table(const struct live_objects *o, struct live_table *t)
{
	if (t->cap)
		munmap(t->slots, table_bytes(o, t->cap));
}

int live_objects_new(struct live_objects **ret, uint32_t page_bytes, bool is_detailed)
{
	struct live_objects *o = calloc(1, sizeof(*o));

	if (!o)
		return -ENOMEM;
	o->page_bytes = page_bytes;
	o->is_detailed = is_detailed;
	o->slot_shift = is_detailed ? 5 : 4;
	if (page_bytes)
		o->held = calloc((size_t)1 << HELD_BITS, sizeof(*o->held));
	if (page_bytes && !o->held) {
		free(o);
		return -ENOMEM;
	}
	*ret = o;
	return 0;
}

void live_objects_free(struct live_objects *o)
{
	if (!o)
		return;
	for (unsigned int i = 0; i < TABLE_CNT; i++)
		free_table(o, &o->tables[i]);
	hash_map_done(&o->sites);
	hash_map_done(&o->places);
	hash_map_done(&o->sizes);
	hash_map_done(&o->kinds);
	free(o->kind_rows);
	free(o->held);
	free(o);
}

static void clear_table(const struct live_objects *o, struct live_table *t)
{
	memset(t->slots, 0xff, t->cap << o->slot_shift);
	memset(t->noted, 0, t->cap / 8);
	t->cnt = t->used = 0;
}

void live_objects_clear(struct live_objects *o)
{
	for (unsigned int i = 0; i < TABLE_CNT; i++)
		if (o->tables[i].used)
			clear_table(o, &o->tables[i]);
	o->cnt = 0;
	memset(o->order_cnt, 0, sizeof(o->order_cnt));
	o->orders = 0;
}

static uint64_t hash_of(uint32_t space, uint64_t addr)
{
	return (addr + ((uint64_t)space << 48)) * 0x9e3779b97f4a7c15ull;
}

static const struct live_table *table_of(const struct live_objects *o, uint64_t hash)
{
	return &o->tables[hash >> (64 - TABLE_BITS)];
}

static struct live_slot *slot_at(const struct live_objects *o, const struct live_table *t, size_t i)
{
	return (struct live_slot *)((char *)t->slots + (i << o->slot_shift));
}

/*
 * Returns the first slot for a hash. Slots are in the order of hashes: a rebuild reads and writes
 * tables from one end to the other.
 */
static size_t home_of(const struct live_table *t, uint64_t hash)
{
	return (size_t)((hash << TABLE_BITS >> 32) * t->cap >> 32);
}

static bool is_live(const struct live_slot *s)
{
	return s->kind < KIND_ENDED;
}

static uint32_t space_of(const struct live_objects *o, const struct live_slot *s)
{
	return o->is_detailed ? ((const struct live_wide_slot *)s)->space : 0;
}

static uint64_t instant_of(const struct live_objects *o, const struct live_slot *s)
{
	return o->is_detailed ? ((const struct live_wide_slot *)s)->ts_ns : 0;
}

/*
 * Returns the entry of an address, or the empty entry for it. The table must have an empty entry.
 */
static struct live_slot *find_slot(const struct live_objects *o, const struct live_table *t,
				   uint64_t hash, uint32_t space, uint64_t addr)
{
	size_t i = home_of(t, hash);
	struct live_slot *s = slot_at(o, t, i);

	while (s->kind != KIND_EMPTY && (s->addr != addr || space_of(o, s) != space)) {
		i = i + 1 < t->cap ? i + 1 : 0;
		s = slot_at(o, t, i);
	}
	return s;
}

void live_objects_prefetch(const struct live_objects *o, uint32_t space, uint64_t addr)
{
	uint64_t hash = hash_of(space, addr);
	const struct live_table *t = table_of(o, hash);

	if (t->cap)
		__builtin_prefetch(slot_at(o, t, home_of(t, hash)), 1);
}

static struct live_slot *find_live(const struct live_objects *o, uint32_t space, uint64_t addr)
{
	uint64_t hash = hash_of(space, addr);
	const struct live_table *t = table_of(o, hash);
	struct live_slot *s;

	if (!t->cnt)
		return NULL;
	s = find_slot(o, t, hash, space, addr);
	return is_live(s) ? s : NULL;
}

/* ---- room ---- */

static size_t number_of(const struct live_objects *o, const struct live_table *t,
			const struct live_slot *s)
{
	return (size_t)((const char *)s - (const char *)t->slots) >> o->slot_shift;
}

static bool is_noted(const struct live_table *t, size_t i)
{
	return t->noted[i / 64] >> i % 64 & 1;
}

static void note(struct live_table *t, size_t i)
{
	t->noted[i / 64] |= 1ull << i % 64;
}

/* Replaces a table by one of cap entries; drops entries of ended objects. */
static int resize(struct live_objects *o, struct live_table *t, size_t cap)
{
	struct live_table old = *t;
	/* mmap aligns the table, so an entry is in one cache line */
	char *slots = mmap(NULL, table_bytes(o, cap), PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	if (slots == MAP_FAILED)
		return -ENOMEM;
	*t = (struct live_table){ slots, (uint64_t *)(slots + (cap << o->slot_shift)), cap };
	clear_table(o, t);
	for (size_t i = 0; i < old.cap; i++) {
		const struct live_slot *s = slot_at(o, &old, i);
		struct live_slot *to;
		uint32_t space;

		if (!is_live(s))
			continue;
		space = space_of(o, s);
		to = find_slot(o, t, hash_of(space, s->addr), space, s->addr);
		memcpy(to, s, (size_t)1 << o->slot_shift);
		if (is_noted(&old, i))
			note(t, number_of(o, t, to));
	}
	t->cnt = t->used = old.cnt;
	o->cap += cap - old.cap;
	free_table(o, &old);
	return 0;
}

/* Rebuilds a full table. Its capacity becomes twice the number of live objects, if that is more. */
static int grow(struct live_objects *o, struct live_table *t)
{
	size_t cap = (t->cnt * 2 + CAP_STEP) / CAP_STEP * CAP_STEP;

	return resize(o, t, cap > t->cap ? cap : t->cap);
}

int live_objects_reserve(struct live_objects *o, size_t cnt)
{
	size_t cap = (cnt / TABLE_CNT * 2 + CAP_STEP) / CAP_STEP * CAP_STEP;
	int ret = 0;

	for (unsigned int i = 0; i < TABLE_CNT && !ret; i++)
		if (cap > o->tables[i].cap)
			ret = resize(o, &o->tables[i], cap);
	return ret;
}

static struct live_object object_of(const struct live_objects *o, const struct live_slot *s)
{
	return (struct live_object){ s->addr, instant_of(o, s), s->owner, s->kind,
				     space_of(o, s) };
}

void live_objects_begin_notes(struct live_objects *o, live_objects_older older, void *ctx)
{
	for (unsigned int i = 0; i < TABLE_CNT; i++)
		if (o->tables[i].used)
			memset(o->tables[i].noted, 0, o->tables[i].cap / 8);
	o->older = older;
	o->older_ctx = ctx;
}

/* ---- page blocks by order ---- */

static uint32_t *held_at(const struct live_objects *o, uint64_t addr, unsigned int order)
{
	uint64_t group = order > NEAR_ORDER ? (addr >> order) + ((uint64_t)order << 56) :
					      addr >> NEAR_ORDER;

	return &o->held[group * 0x9e3779b97f4a7c15ull >> (64 - HELD_BITS)];
}

static void hold(struct live_objects *o, const struct live_slot *s)
{
	unsigned int order = o->kind_rows[s->kind].order;

	if (order)
		*held_at(o, s->addr, order) |= 1u << order;
}

static void add_order(struct live_objects *o, const struct live_slot *s)
{
	unsigned int order = o->kind_rows[s->kind].order;

	if (!o->order_cnt[order]++)
		o->orders |= 1u << order;
	hold(o, s);
}

static void remove_order(struct live_objects *o, const struct live_slot *s)
{
	unsigned int order = o->kind_rows[s->kind].order;

	if (!--o->order_cnt[order])
		o->orders &= ~(1u << order);
	o->removed_cnt += order > 0;
	/* rebuild the masks often enough for few stale bits, but rarely enough to cost little */
	if (o->removed_cnt < (size_t)1 << (HELD_BITS - 2) || o->removed_cnt < o->cap / 8)
		return;
	o->removed_cnt = 0;
	memset(o->held, 0, sizeof(*o->held) << HELD_BITS);
	for (unsigned int k = 0; k < TABLE_CNT; k++)
		for (size_t i = 0; i < o->tables[k].cap; i++)
			if (is_live(slot_at(o, &o->tables[k], i)))
				hold(o, slot_at(o, &o->tables[k], i));
}

/* Returns a mask of the orders >= order of which a live block may contain addr. */
static uint32_t orders_holding(const struct live_objects *o, uint64_t addr, unsigned int order)
{
	return o->orders >> order << order &
	       (*held_at(o, addr, NEAR_ORDER) | ~(uint32_t)NEAR_ORDERS);
}

/* ---- adding and removing ---- */

static void remove_slot(struct live_objects *o, struct live_slot *s)
{
	struct live_table *t = (struct live_table *)table_of(o, hash_of(space_of(o, s), s->addr));

	if (o->older && !is_noted(t, number_of(o, t, s))) {
		struct live_object obj = object_of(o, s);

		o->older(o->older_ctx, &obj);
	}
	if (o->page_bytes)
		remove_order(o, s);
	s->kind = KIND_ENDED;
	t->cnt--;
	o->cnt--;
}

/* at: the empty slot for the object's address; NULL: unknown. */
static int insert(struct live_objects *o, const struct live_object *obj, struct live_slot *at)
{
	uint64_t hash = hash_of(obj->space, obj->addr);
	struct live_table *t = (struct live_table *)table_of(o, hash);

	if (t->used * 4 >= t->cap * 3) {
		if (grow(o, t) < 0)
			return -ENOMEM;
		at = NULL;
	}
	at = at ?: find_slot(o, t, hash, obj->space, obj->addr);
	t->used += at->kind == KIND_EMPTY;
	*at = (struct live_slot){ obj->addr, obj->owner, obj->kind };
	if (o->is_detailed) {
		((struct live_wide_slot *)at)->ts_ns = obj->ts_ns;
		((struct live_wide_slot *)at)->space = obj->space;
	}
	note(t, number_of(o, t, at));
	t->cnt++;
	o->cnt++;
	if (o->page_bytes)
		add_order(o, at);
	return 0;
}

static bool same_kind(const struct live_kind *a, const struct live_kind *b)
{
	return a->call_site == b->call_site && a->cache == b->cache &&
	       a->bytes_req == b->bytes_req && a->bytes == b->bytes && a->gfp == b->gfp &&
	       a->migratetype == b->migratetype && a->order == b->order && a->irq == b->irq &&
	       a->stack == b->stack;
}

/*
 * Returns k's slot in the table of recently used kinds, which is tried first because few kinds
 * account for most objects.
 */
static uint32_t *recent_kind(struct live_objects *o, const struct live_kind *k)
{
	uint64_t h = (k->call_site ^ k->bytes << 7 ^ k->bytes_req << 3 ^ k->gfp ^ k->order ^
		      (uint64_t)k->irq << 5 ^ k->cache >> 6 ^ k->stack) * 0x9e3779b97f4a7c15ull;

	return &o->recent[h >> 56];
}

static int intern_slow(struct live_objects *o, const struct live_kind *k, uint32_t *ret)
{
	uint64_t small = (uint64_t)k->gfp << 32 | (uint64_t)k->migratetype << 16 |
			 (uint64_t)k->order << 8 | k->irq;
	uint32_t site, place, size;
	int r;

	if (hash_map_intern(&o->sites, k->call_site, k->cache, &site) < 0 ||
	    hash_map_intern(&o->places, site, k->stack, &place) < 0 ||
	    hash_map_intern(&o->sizes, k->bytes_req, k->bytes, &size) < 0)
		return -ENOMEM;
	r = hash_map_intern(&o->kinds, (uint64_t)place << 32 | size, small, ret);
	if (r <= 0)
		return r;
	if (array_reserve(&o->kind_rows, &o->kind_cap, *ret + 1) < 0)
		return -ENOMEM;
	o->kind_rows[*ret] = *k;
	return 0;
}

static int intern_kind(struct live_objects *o, const struct live_kind *k, uint32_t *ret)
{
	uint32_t *recent = recent_kind(o, k);
	int r;

	if (*recent && same_kind(&o->kind_rows[*recent - 1], k)) {
		*ret = *recent - 1;
		return 0;
	}
	r = intern_slow(o, k, ret);
	if (r >= 0)
		*recent = *ret + 1;
	return r;
}

static int hand_out(const struct live_object *obj, uint64_t bytes, enum live_end end,
		    live_objects_sink sink, void *ctx)
{
	return sink ? sink(ctx, obj, bytes, end) : 0;
}

/* Removes a whole object and passes it to sink. */
static int take(struct live_objects *o, struct live_slot *s, enum live_end end,
		live_objects_sink sink, void *ctx)
{
	struct live_object obj = object_of(o, s);

	remove_slot(o, s);
	return hand_out(&obj, o->kind_rows[obj.kind].bytes, end, sink, ctx);
}

/*
 * Inserts the remainder of a block as smaller blocks, after the part (addr, order) has been
 * removed.
 */
static int split_block(struct live_objects *o, struct live_object whole, uint64_t addr,
		       unsigned int order)
{
	struct live_kind k = o->kind_rows[whole.kind];
	unsigned int j = k.order;
	struct live_object rest = whole;
	int ret;

	while (j-- > order) {
		uint64_t upper = whole.addr + ((uint64_t)1 << j);

		if (addr >= upper) {
			rest.addr = whole.addr;
			whole.addr = upper;
		} else {
			rest.addr = upper;
		}
		k.order = (uint8_t)j;
		k.bytes = k.bytes_req = (uint64_t)o->page_bytes << j;
		ret = intern_kind(o, &k, &rest.kind);
		if (ret < 0)
			return ret;
		ret = insert(o, &rest, NULL);
		if (ret < 0)
			return ret;
	}
	return 0;
}

/*
 * Removes (addr, order) from a block of this or a higher order. 1: removed; 0: no block contains
 * it.
 */
static int take_holding(struct live_objects *o, uint64_t addr, unsigned int order,
			enum live_end end, live_objects_sink sink, void *ctx)
{
	uint32_t orders = orders_holding(o, addr, order);
	unsigned int k;
	int ret;

	for (; orders; orders &= orders - 1) {
		struct live_object part;
		struct live_slot *s;

		k = (unsigned int)__builtin_ctz(orders);
		if (k > NEAR_ORDER && !(*held_at(o, addr, k) >> k & 1))
			continue;
		s = find_live(o, 0, addr & ~(((uint64_t)1 << k) - 1));
		if (!s || o->kind_rows[s->kind].order != k)
			continue;
		part = object_of(o, s);
		remove_slot(o, s);
		if (k > order) {
			ret = split_block(o, part, addr, order);
			if (ret < 0)
				return ret;
		}
		part.addr = addr;
		ret = hand_out(&part, (uint64_t)o->page_bytes << order, end, sink, ctx);
		return ret < 0 ? ret : 1;
	}
	return 0;
}

/* Removes all blocks of lower orders inside the range. Returns 0 and the number of pages. */
static int take_inside(struct live_objects *o, uint64_t addr, unsigned int order, enum live_end end,
		       live_objects_sink sink, void *ctx, uint64_t *ret_pages)
{
	uint64_t p = 0, cnt = (uint64_t)1 << order, found = 0;
	bool has_lower = o->orders & ((1u << order) - 1);
	unsigned int k;
	int ret;

	while (has_lower && p < cnt) {
		struct live_slot *s = find_live(o, 0, addr + p);
		struct live_object part;

		if (!s || o->kind_rows[s->kind].order >= order) {
			p++;
			continue;
		}
		part = object_of(o, s);
		k = o->kind_rows[part.kind].order;
		remove_slot(o, s);
		ret = hand_out(&part, (uint64_t)o->page_bytes << k, end, sink, ctx);
		if (ret < 0)
			return ret;
		found += (uint64_t)1 << k;
		p += (uint64_t)1 << k;
	}
	*ret_pages = found < cnt ? found : cnt;
	return 0;
}

static int take_pages(struct live_objects *o, uint64_t addr, unsigned int order, enum live_end end,
		      live_objects_sink sink, void *ctx, uint64_t *ret_unknown)
{
	uint64_t found = 0;
	int ret;

	if (order > LIVE_ORDER_MAX)
		return 0;
	/* blocks are aligned to their size; an unaligned one is damage, and has no pair */
	if (!(addr & (((uint64_t)1 << order) - 1))) {
		ret = take_holding(o, addr, order, end, sink, ctx);
		if (ret)
			return ret < 0 ? ret : 0;
		ret = take_inside(o, addr, order, end, sink, ctx, &found);
		if (ret < 0)
			return ret;
	}
	*ret_unknown = (((uint64_t)1 << order) - found) * o->page_bytes;
	return 0;
}

int live_objects_end(struct live_objects *o, uint32_t space, uint64_t addr, unsigned int order,
		     live_objects_sink sink, void *ctx, uint64_t *ret_unknown)
{
	struct live_slot *s;

	*ret_unknown = 0;
	if (o->page_bytes)
		return take_pages(o, addr, order, LIVE_FREED, sink, ctx, ret_unknown);
	s = find_live(o, space, addr);
	if (!s) {
		*ret_unknown = 1;
		return 0;
	}
	return take(o, s, LIVE_FREED, sink, ctx);
}

int live_objects_add(struct live_objects *o, uint32_t space, uint64_t addr, uint64_t ts_ns,
		     uint32_t owner, const struct live_kind *kind, live_objects_sink sink,
		     void *ctx)
{
	struct live_object obj = { addr, ts_ns, owner, 0, space };
	uint64_t hash = hash_of(space, addr), unknown;
	const struct live_table *t = table_of(o, hash);
	struct live_slot *at = NULL;
	int ret = 0;

	if (kind->order > LIVE_ORDER_MAX)
		return 0;
	if (o->page_bytes)
		ret = take_pages(o, addr, kind->order, LIVE_LOST, sink, ctx, &unknown);
	if (!ret && t->used) {
		at = find_slot(o, t, hash, space, addr);
		/*
		 * pages: take_pages() leaves a live entry here only if the data is damaged: for an
		 * unaligned block, or a larger block at the same address
		 */
		if (is_live(at))
			ret = take(o, at, LIVE_LOST, sink, ctx);
	}
	if (ret < 0)
		return ret;
	ret = intern_kind(o, kind, &obj.kind);
	return ret < 0 ? ret : insert(o, &obj, at);
}

int live_objects_set_stack(struct live_objects *o, uint32_t space, uint64_t addr, uint64_t ts_ns,
			   uint64_t stack)
{
	struct live_slot *s = find_live(o, space, addr);
	struct live_kind k;

	if (!s || instant_of(o, s) != ts_ns)
		return 0;
	k = o->kind_rows[s->kind];
	k.stack = stack;
	return intern_kind(o, &k, &s->kind);
}

static int rest_of_table(const struct live_objects *o, const struct live_table *t,
			 live_objects_sink sink, void *ctx)
{
	int ret = 0;

	for (size_t i = 0; i < t->cap && ret >= 0; i++) {
		const struct live_slot *s = slot_at(o, t, i);
		struct live_object obj;

		if (!is_live(s))
			continue;
		obj = object_of(o, s);
		ret = hand_out(&obj, o->kind_rows[s->kind].bytes, LIVE_REMAINS, sink, ctx);
	}
	return ret < 0 ? ret : 0;
}

int live_objects_rest(struct live_objects *o, live_objects_sink sink, void *ctx)
{
	int ret = 0;

	for (unsigned int i = 0; i < TABLE_CNT && !ret; i++)
		ret = rest_of_table(o, &o->tables[i], sink, ctx);
	return ret;
}

size_t live_objects_cnt(const struct live_objects *o)
{
	return o->cnt;
}

const struct live_kind *live_objects_kind(const struct live_objects *o, uint32_t kind)
{
	return &o->kind_rows[kind];
}

/* object_pairs: one live_objects per family, and a number for the heap of each process. */

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

/* ---- heap_weight ---- */

#define Z90 1.6448536269514722	/* quantile 0.95 of the normal distribution */

static double weight(uint64_t mean, uint64_t bytes)
{
	/* no allocation of 0 bytes is a sample */
	return mean && bytes ? -1 / expm1(-(double)bytes / (double)mean) : 1;
}

uint64_t heap_weight_cnt(uint64_t mean, uint64_t bytes)
{
	return (uint64_t)llround(weight(mean, bytes) * (double)heap_weight_unit(mean));
}

uint64_t heap_weight_bytes(uint64_t mean, uint64_t bytes)
{
	return mean ? (uint64_t)llround(weight(mean, bytes) * (double)bytes) : bytes;
}

uint64_t heap_weight_error(uint64_t mean, uint64_t bytes)
{
	double z2 = Z90 * Z90 * (double)mean;

	return (uint64_t)llround(z2 / 2 + sqrt(z2 * (double)bytes + z2 * z2 / 4));
}
