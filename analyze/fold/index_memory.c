/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * index_memory: the trace is read by one fold per group of sources. Every change is added to its
 * owner's row and to all sets that contain the owner.
 *
 * Once the number of rows written since the last base reaches the number of levels, the next
 * interval gets a base: all levels at its beginning. So computing the levels at some time requires
 * a base and a number of rows that hardly exceeds the number of levels.
 */
#include "analyze/fold/index_memory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/fold/fold_sums.h"
#include "analyze/fold/index_job.h"
#include "base/array.h"
#include "format/columns.h"
#include "model/live_objects.h"
#include "model/mem_levels.h"
#include "trace/derived_file.h"

/* index_rates: one array contains the rates of all processes, in time order. */

struct rate {			/* bytes that a process allocated in a granule */
	uint64_t granule, bytes;
	uint32_t number;	/* slot * process_cnt + process */
};

/* Returns 0 or -ENOMEM. */
static int index_rates_init(struct index_rates *r, const struct analysis *a)
{
	*r = (struct index_rates){ .a = a };
	r->last = calloc((size_t)a->ids.process_cnt * INDEX_SLOT_CNT, sizeof(*r->last));
	return r->last ? 0 : -ENOMEM;
}

static void index_rates_done(struct index_rates *r)
{
	free(r->last);
	free(r->rates);
}

/*
 * Adds an allocation of a process; allocations without a process are ignored. Granules must be in
 * time order. 0 or -ENOMEM.
 */
static int index_rates_add(struct index_rates *r, unsigned int slot, uint32_t process,
			   uint64_t ts_ns, uint64_t bytes)
{
	uint64_t at_ns = ts_ns - r->a->start_ns;
	uint32_t number = slot * r->a->ids.process_cnt + process, *last = &r->last[number];

	if (process < EVENT_ID_FIRST)
		return 0;
	/* the last change usually is in the same granule, which avoids a slow division */
	if (at_ns - r->granule * INDEX_GRANULE_NS >= INDEX_GRANULE_NS)
		r->granule = at_ns / INDEX_GRANULE_NS;
	if (!*last || r->rates[*last - 1].granule != r->granule) {
		if (array_add(&r->rates, &r->cap, &r->cnt,
			      (struct rate){ .granule = r->granule, .number = number }) < 0)
			return -ENOMEM;
		*last = (uint32_t)r->cnt;
	}
	r->rates[*last - 1].bytes += bytes;
	return 0;
}

static int compare_rates(const void *a, const void *b)
{
	return compare_numbers(((const struct rate *)a)->number, ((const struct rate *)b)->number);
}

/* Writes the rates, ordered by granule and number, and clears them. */
static void index_rates_put(struct index_rates *r, struct buf *out)
{
	const struct dense_ids *d = &r->a->ids;
	uint64_t granule = 0;

	for (size_t i = 0, end = 0; i < r->cnt; i++) {
		const struct rate *x = &r->rates[i];

		while (end <= i || (end < r->cnt && r->rates[end].granule == x->granule))
			end++;
		if (!i || r->rates[i - 1].granule != x->granule)
			qsort(&r->rates[i], end - i, sizeof(*x), compare_rates);
		packed_put(out, x->granule - granule);
		packed_put(out, (uint64_t)dense_upid(d, x->number % d->process_cnt) << 1 |
					x->number / d->process_cnt);
		packed_put(out, x->bytes);
		granule = x->granule;
		r->last[x->number] = 0;
	}
	r->cnt = 0;
}

int index_rates_read(const struct index *x, const struct analysis *a, enum index_group group,
		     size_t interval, index_rates_each each, void *ctx)
{
	struct buf mem = { 0 };
	struct packed_in in;
	uint64_t granule = 0;
	int ret = *a->stop ? -EINTR : index_read(x, interval, INDEX_RATES + group, &mem, &in);

	while (!ret && in.p != in.end) {
		uint64_t more = packed_get(&in), id = packed_get(&in), bytes = packed_get(&in);
		int source = index_memory_source(group, id & 1);

		granule += more;
		ret = in.bad || source < 0 ?
			      -EBADMSG : each(ctx, dense_process(&a->ids, (uint32_t)(id >> 1)),
					      (unsigned int)source, granule, bytes);
	}
	buf_done(&mem);
	return ret;
}

/* ---- the fold: allocations, without a state ---- */

static const struct rate_kind {
	uint8_t source, column;		/* enum alloc_source; column of the size */
} rate_kinds[EVENT_KIND_CNT] = {
	[EVENT_SLAB_ALLOC] = { ALLOC_SLAB, EV_SLAB_ALLOC_BYTES },
	[EVENT_PAGE_ALLOC] = { ALLOC_PAGE, EV_PAGE_ALLOC_PAGE_ORDER },
	[EVENT_HEAP_ALLOC] = { ALLOC_HEAP, EV_HEAP_ALLOC_BYTES },
};

/* Returns the bytes of an allocation, from the value of its kind's column in rate_kinds. */
static uint64_t rate_bytes(const struct analysis *a, unsigned int kind, uint64_t value)
{
	if (kind == EVENT_PAGE_ALLOC)
		return (uint64_t)trace_page_bytes(a->trace) << (value & 63);
	return kind == EVENT_HEAP_ALLOC ? heap_weight_bytes(a->heap_mean, value) : value;
}

/* Reports an allocation like fold_memory.c. */
static int rates_event(void *machine, const struct event *ev)
{
	const struct fold_machine *m = machine;
	const struct dense_ids *d = &m->a->ids;
	const struct rate_kind *k = &rate_kinds[ev->kind];
	struct alloc_change c = { .ts_ns = ev->ts_ns, .kind = ALLOC_CHANGE_ALLOC,
				  .source = k->source };

	c.delta = (int64_t)rate_bytes(m->a, ev->kind, ev->v[k->column]);
	c.thread = dense_thread(d, object_event_utid(ev));
	c.process = dense_process_of(d, c.thread);
	return fold_found(m, &c);
}

static const uint32_t rates_columns[EVENT_KIND_CNT] = {
	[EVENT_SLAB_ALLOC] = EVENT_COL_UTID | EVENT_COL_FLAGS | 1u << EV_SLAB_ALLOC_BYTES,
	[EVENT_PAGE_ALLOC] = EVENT_COL_UTID | EVENT_COL_FLAGS | 1u << EV_PAGE_ALLOC_PAGE_ORDER,
	[EVENT_HEAP_ALLOC] = EVENT_COL_UTID | 1u << EV_HEAP_ALLOC_BYTES,
};

const struct fold_def fold_rates = {
	.kinds = 1u << EVENT_SLAB_ALLOC | 1u << EVENT_PAGE_ALLOC | 1u << EVENT_HEAP_ALLOC,
	.asks = ANALYSIS_RATES,
	.columns = rates_columns, .begin = FOLD_FROM_ANYWHERE, .bytes = sizeof(struct fold_machine),
	.event = rates_event,
};

/*
 * ---- the job ----
 *
 * Within a granule, the order of allocations does not matter. So the job reads unsorted ranges of
 * rows, granule by granule: sorting the events would take most of the time.
 */

struct rates_job {
	struct index_job *j;
	struct index_rates of[ALLOC_SOURCE_CNT];	/* slab, page and heap */
	struct buf out;
};

static int add_rows(void *ctx, const struct kind_columns *k, uint32_t row, uint32_t end)
{
	struct rates_job *s = ctx;
	const struct analysis *a = s->j->a;
	const struct rate_kind *r = &rate_kinds[k->kind];
	const uint64_t *value = k->value[r->column], *of_tuple = k->tuple_value[r->column];
	int ret = 0;

	for (; row < end && !ret; row++) {
		uint32_t tuple = k->tuple ? k->tuple[row] : 0, thread;

		/* allocations in interrupts belong to no process */
		if (k->flags && k->flags[tuple] & EVENT_F_IRQ)
			continue;
		thread = dense_thread(&a->ids, k->utid[row]);
		ret = index_rates_add(&s->of[r->source], 0, dense_process_of(&a->ids, thread),
				      k->ts_ns[row],
				      rate_bytes(a, k->kind, value ? value[row] : of_tuple[tuple]));
	}
	return ret;
}

static int add_rates(struct rates_job *s, size_t interval, enum index_group group)
{
	struct index_rates *r = &s->of[index_memory_source(group, 0)];

	buf_reset(&s->out);
	index_rates_put(r, &s->out);
	return index_add(s->j->x, s->j->z, interval, INDEX_RATES + group, &s->out);
}

static int add_interval(struct rates_job *s, struct event_cursor *c, size_t interval)
{
	uint64_t start_ns = s->j->a->start_ns, at_ns = index_interval_from(s->j->x, interval);
	uint64_t to_ns = index_interval_to(s->j->x, interval);
	int ret = 0;

	while (at_ns < to_ns && !ret) {
		at_ns += INDEX_GRANULE_NS - (at_ns - start_ns) % INDEX_GRANULE_NS;
		ret = event_cursor_ranges(c, at_ns < to_ns ? at_ns : to_ns, add_rows, s, s->j->e);
	}
	ret = ret ?: add_rates(s, interval, INDEX_SLAB) ?: add_rates(s, interval, INDEX_PAGE);
	return ret ?: add_rates(s, interval, INDEX_HEAP);
}

int index_rates_job(struct index_job *j)
{
	struct rates_job s = { .j = j };
	struct event_cursor *c = NULL;
	int ret = event_cursor_open_columns(&c, j->a->trace, fold_rates.kinds, rates_columns,
					    index_interval_from(j->x, j->from),
					    index_interval_to(j->x, j->end - 1), j->e);

	ret = ret ?: index_rates_init(&s.of[ALLOC_SLAB], j->a);
	ret = ret ?: index_rates_init(&s.of[ALLOC_PAGE], j->a);
	ret = ret ?: index_rates_init(&s.of[ALLOC_HEAP], j->a);
	for (size_t i = j->from; i < j->end && !ret; i++)
		ret = add_interval(&s, c, i) ?: index_job_did(j, i);
	event_cursor_close(c);
	for (unsigned int i = 0; i < ALLOC_SOURCE_CNT; i++)
		index_rates_done(&s.of[i]);
	buf_done(&s.out);
	return ret;
}

/* ---- owners ---- */

static uint32_t owner_cnt(const struct analysis *a)
{
	return a->ids.thread_cnt + a->ids.process_cnt;
}

uint32_t index_memory_owner(const struct analysis *a, const struct alloc_change *c)
{
	bool whole = c->source == ALLOC_RSS || c->source == ALLOC_VM ||
		     (c->source == ALLOC_HEAP && c->kind == ALLOC_CHANGE_EXIT);

	return whole ? a->ids.thread_cnt + c->process : c->thread;
}

uint32_t index_memory_process(const struct analysis *a, uint32_t owner)
{
	uint32_t threads = a->ids.thread_cnt;

	return owner < threads ? dense_process_of(&a->ids, owner) : owner - threads;
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

static void put_owner(const struct analysis *a, uint32_t owner, unsigned int slot, struct buf *out)
{
	uint64_t id = owner_id(a, owner);

	packed_put(out, id >> 1 << 2 | slot << 1 | (id & 1));
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

/* ---- rows ---- */

/* Adds to *r the growth *more, which follows it in time. */
static void move_level(struct memory_growth *r, const struct memory_growth *more)
{
	int64_t most = r->delta + (int64_t)more->most;
	/* unpredictable, therefore computed without a branch */
	bool is_higher = most > (int64_t)r->most;

	r->delta += more->delta;
	r->most = is_higher ? (uint64_t)most : r->most;
	r->most_ns = is_higher ? more->most_ns : r->most_ns;
}

static void put_growth(const struct memory_growth *r, uint64_t interval_ns, struct buf *out)
{
	packed_put(out, r->most);
	if (r->most)
		packed_put(out, r->most_ns - interval_ns);
}

static int get_growth(struct packed_in *in, uint64_t interval_ns, struct memory_growth *ret)
{
	ret->most = packed_get(in);
	ret->most_ns = ret->most ? interval_ns + packed_get(in) : 0;
	return in->bad ? -EBADMSG : 0;
}

int index_memory_next(const struct analysis *a, struct packed_in *in, uint64_t interval_ns,
		      struct index_memory_row *ret)
{
	if (get_owner(a, in, &ret->owner, &ret->slot) < 0)
		return -EBADMSG;
	for (unsigned int i = 0; i < MEMORY_COUNT_CNT; i++)
		ret->counts[i] = packed_get(in);
	ret->growth.delta = packed_get_signed(in);
	ret->image.is_new = packed_get(in) & 1;
	if (ret->image.is_new) {
		ret->image.most = packed_get_signed(in);
		ret->image.most_ns = interval_ns + packed_get(in);
	}
	return get_growth(in, interval_ns, &ret->growth);
}

int index_memory_next_set(struct packed_in *in, uint64_t interval_ns, struct index_memory_set *ret)
{
	ret->slot = (uint8_t)(packed_get(in) & 1);
	ret->hash = packed_get(in);
	ret->growth.delta = 0;
	return get_growth(in, interval_ns, &ret->growth);
}

/* ---- levels ---- */

/* Levels, by slot and owner. Most owners of a long trace have ended, and have no level. */
static const struct fold_sums_def level_def = { .bytes = sizeof(int64_t) };

/* Returns 0 or -ENOMEM. */
static int add_level(struct fold_sums *levels, unsigned int slot, uint32_t owner, int64_t delta)
{
	int64_t *level = fold_sums_of(levels, slot, owner);

	if (level)
		*level += delta;
	return level ? 0 : -ENOMEM;
}

static int add_base(const struct analysis *a, struct packed_in *in, struct fold_sums *levels)
{
	size_t n = packed_get_cnt(in);
	uint32_t owner;
	uint8_t slot;

	for (; n; n--) {
		if (get_owner(a, in, &owner, &slot) < 0)
			return -EBADMSG;
		if (add_level(levels, slot, owner, packed_get_signed(in)) < 0)
			return -ENOMEM;
	}
	return in->bad ? -EBADMSG : 0;
}

static int add_deltas(const struct analysis *a, struct packed_in *in, struct fold_sums *levels)
{
	struct index_memory_row row;
	size_t n = in->p == in->end ? 0 : packed_get_cnt(in);

	for (; n; n--) {
		if (index_memory_next(a, in, 0, &row) < 0)
			return -EBADMSG;
		if (add_level(levels, row.slot, row.owner, row.growth.delta) < 0)
			return -ENOMEM;
	}
	return in->bad ? -EBADMSG : 0;
}

static int find_levels(const struct index *x, const struct analysis *a, enum index_group group,
		       size_t interval, struct fold_sums *levels)
{
	struct buf mem = { 0 };
	struct packed_in in;
	size_t base = interval;
	int ret = 0;

	while (base && (ret = index_has(x, base, INDEX_BASE + group)) == 0)
		base--;
	if (ret >= 0)
		ret = index_read(x, base, INDEX_BASE + group, &mem, &in);
	ret = ret ?: add_base(a, &in, levels);
	for (; !ret && base < interval; base++) {
		ret = index_read(x, base, INDEX_SUMS + group, &mem, &in);
		ret = ret ?: add_deltas(a, &in, levels);
	}
	buf_done(&mem);
	return ret;
}

int index_memory_first(const struct index *x, enum index_group group, size_t *ret)
{
	const struct derived_part *v;
	size_t cnt, i;
	int r = derived_file_parts(x->d, DERIVED_INDEX + INDEX_BASE + group, &v, &cnt);

	if (r)
		return r;
	i = lower_bound(v, cnt, key, x->key_base);
	*ret = i < cnt ? (size_t)(v[i].key - x->key_base) : x->interval_cnt;
	return 0;
}

int index_memory_levels(const struct index *x, const struct analysis *a, enum index_group group,
			size_t interval, index_memory_level each, void *ctx)
{
	struct fold_sums levels;
	int ret;

	fold_sums_init(&levels, &level_def);
	ret = find_levels(x, a, group, interval, &levels);
	for (size_t i = 0; i < fold_sums_cnt(&levels) && !ret; i++) {
		const struct fold_row *r = fold_sums_at(&levels, i);
		int64_t level = *(const int64_t *)r->sum;
		int source = level ? index_memory_source(group, (unsigned int)r->a) : -1;

		if (source >= 0)
			ret = each(ctx, (uint32_t)r->b, (unsigned int)source, level);
	}
	fold_sums_done(&levels);
	return ret;
}

/* ---- building ---- */

enum { SET_PROCESS, SET_COMM, SET_ALL, SET_CNT };

struct owner_sum {
	uint64_t counts[MEMORY_COUNT_CNT];
	struct memory_growth growth;
	struct memory_image image;
	/* rows of the sets that contain the owner and at least one other member */
	uint32_t sets[SET_CNT], set_cnt;
};

struct set_sum {
	uint64_t hash;
	struct memory_growth growth;	/* valid if there are at least two members */
	uint32_t members;
	uint32_t first;			/* row of the first member */
};

static const struct fold_sums_def owner_def = { .bytes = sizeof(struct owner_sum) },
				  set_def = { .bytes = sizeof(struct set_sum) },
				  kept_def = { .bytes = sizeof(struct memory_growth) };

struct memory_job {
	struct index_job *j;
	enum index_group group;
	/* the first interval has begun; before that, changes only affect levels */
	bool is_begun;
	struct fold_sums levels;
	uint64_t interval_ns;		/* beginning of the current interval */
	/* nonzero: number of levels that are not 0; since_base: rows written since the last base */
	size_t nonzero, since_base;
	struct fold_sums owners;	/* by slot and owner */
	/* [slot * owner_cnt() + owner]: row + 1; 0: no row */
	uint32_t *owner_rows;
	struct fold_sums sets;		/* by slot << 8 | kind of set, and the set's number */
	struct fold_sums kept;		/* sets to write, by slot and hash */
	bool has_rates;			/* the index contains the rates already */
	struct index_rates rates;
	struct grouping comms;
	struct buf out;
};

/* Returns the number of a process's set among the sets of one kind. */
static uint32_t set_of(struct memory_job *s, unsigned int which, uint32_t process)
{
	if (which == SET_COMM)
		return grouping_of_process(&s->comms, process, s->interval_ns - 1, NULL);
	return which == SET_PROCESS ? process : 0;
}

/*
 * Adds an owner to a set. A set with one member uses that member's growth; when a second member
 * joins, the set gets its own copy.
 */
static void join_set(struct memory_job *s, struct set_sum *x, uint32_t set, uint32_t row)
{
	struct owner_sum *o = (struct owner_sum *)fold_sums_at(&s->owners, row)->sum, *first;

	if (!x->members++) {
		x->first = row;
		return;
	}
	if (x->members == 2) {
		first = (struct owner_sum *)fold_sums_at(&s->owners, x->first)->sum;
		first->sets[first->set_cnt++] = set;
		x->growth = first->growth;
	}
	o->sets[o->set_cnt++] = set;
}

/* Adds an empty sum for an owner, and adds the owner to its process's sets. */
static struct owner_sum *new_sum(struct memory_job *s, unsigned int slot, uint32_t owner,
				 uint32_t process)
{
	struct owner_sum *o = fold_sums_of(&s->owners, slot, owner);
	uint32_t row = (uint32_t)s->owners.last;
	uint64_t hash;

	if (!o)
		return NULL;
	s->owner_rows[(size_t)slot * owner_cnt(s->j->a) + owner] = row + 1;
	hash = index_memory_hash(s->j->a, owner);
	for (unsigned int i = 0; i < SET_CNT; i++) {
		uint32_t number = set_of(s, i, process);
		struct set_sum *x;

		if (number == GROUPING_FAILED)
			return NULL;
		x = fold_sums_of(&s->sets, slot << 8 | i, number);
		if (!x)
			return NULL;
		x->hash += hash;
		join_set(s, x, (uint32_t)s->sets.last, row);
	}
	return o;
}

/*
 * Changes the level of an owner, outside of intervals: before the first, or after an interval's
 * end. 0 or -ENOMEM.
 */
static int set_level(struct memory_job *s, unsigned int slot, uint32_t owner, int64_t delta)
{
	int64_t *level = fold_sums_of(&s->levels, slot, owner);

	if (!level)
		return -ENOMEM;
	s->nonzero -= *level != 0;
	*level += delta;
	s->nonzero += *level != 0;
	return 0;
}

static int on_change(void *ctx, const void *found)
{
	struct memory_job *s = ctx;
	const struct alloc_change *c = found;
	const struct analysis *a = s->j->a;
	const struct memory_growth step = { c->delta, c->delta > 0 ? (uint64_t)c->delta : 0,
					  c->ts_ns };
	unsigned int slot = c->source == ALLOC_VM, i;
	uint32_t owner = index_memory_owner(a, c), row;
	size_t number = (size_t)slot * owner_cnt(a) + owner;
	struct owner_sum *o;

	if (!s->is_begun)
		return set_level(s, slot, owner, c->delta);
	row = s->owner_rows[number];
	/* a thread belongs to the groups of its process, which may be unknown */
	o = row ? (struct owner_sum *)fold_sums_at(&s->owners, row - 1)->sum :
		  new_sum(s, slot, owner, index_memory_process(a, owner));
	if (!o)
		return -ENOMEM;
	memory_count(o->counts, c);
	move_level(&o->growth, &step);
	o->image.is_new |= c->kind == ALLOC_CHANGE_EXEC;
	if (o->image.is_new && mem_level_is_peak(o->growth.delta, o->image.most,
						 c->kind == ALLOC_CHANGE_EXEC)) {
		o->image.most = o->growth.delta;
		o->image.most_ns = c->ts_ns;
	}
	for (i = 0; i < o->set_cnt; i++)
		move_level(&((struct set_sum *)fold_sums_at(&s->sets, o->sets[i])->sum)->growth,
			   &step);
	return s->has_rates || c->kind != ALLOC_CHANGE_ALLOC ? 0 :
		index_rates_add(&s->rates, slot, c->process, c->ts_ns, (uint64_t)c->delta);
}

static void put_levels(const struct memory_job *s, struct buf *out)
{
	packed_put(out, s->nonzero);
	for (size_t i = 0; i < fold_sums_cnt(&s->levels); i++) {
		const struct fold_row *r = fold_sums_at(&s->levels, i);
		int64_t level = *(const int64_t *)r->sum;

		if (!level)
			continue;
		put_owner(s->j->a, (uint32_t)r->b, (unsigned int)r->a, out);
		packed_put_signed(out, level);
	}
}

static int put_set(void *ctx, struct fold_row *r)
{
	struct memory_job *s = ctx;

	packed_put(&s->out, r->a);
	packed_put(&s->out, r->b);
	put_growth((const struct memory_growth *)r->sum, s->interval_ns, &s->out);
	return 0;
}

/* Several sets may have the same owners: they are written only once. */
static int put_sets(struct memory_job *s)
{
	int ret;

	for (size_t i = 0; i < fold_sums_cnt(&s->sets); i++) {
		const struct fold_row *r = fold_sums_at(&s->sets, i);
		const struct set_sum *x = (const struct set_sum *)r->sum;
		struct memory_growth *kept;

		if (x->members < 2)
			continue;
		kept = fold_sums_of(&s->kept, r->a >> 8, x->hash);
		if (!kept)
			return -ENOMEM;
		*kept = x->growth;
	}
	packed_put(&s->out, fold_sums_cnt(&s->kept));
	ret = fold_sums_each(&s->kept, true, put_set, s);
	fold_sums_clear(&s->kept);
	return ret;
}

static int put_sums(struct memory_job *s, uint64_t interval_ns)
{
	s->interval_ns = interval_ns;
	packed_put(&s->out, fold_sums_cnt(&s->owners));
	for (size_t i = 0; i < fold_sums_cnt(&s->owners); i++) {
		const struct fold_row *r = fold_sums_at(&s->owners, i);
		const struct owner_sum *o = (const struct owner_sum *)r->sum;

		put_owner(s->j->a, (uint32_t)r->b, (unsigned int)r->a, &s->out);
		for (size_t k = 0; k < MEMORY_COUNT_CNT; k++)
			packed_put(&s->out, o->counts[k]);
		packed_put_signed(&s->out, o->growth.delta);
		packed_put(&s->out, o->image.is_new);
		if (o->image.is_new) {
			packed_put_signed(&s->out, o->image.most);
			packed_put(&s->out, o->image.most_ns - interval_ns);
		}
		put_growth(&o->growth, interval_ns, &s->out);
	}
	return put_sets(s);
}

static int add(struct memory_job *s, size_t interval, unsigned int part)
{
	int ret = index_add(s->j->x, s->j->z, interval, part + s->group, &s->out);

	buf_reset(&s->out);
	return ret;
}

static int begin_interval(void *ctx, size_t interval)
{
	struct memory_job *s = ctx;
	int ret = 0;

	if (interval == s->j->from || s->since_base >= s->nonzero) {
		put_levels(s, &s->out);
		ret = add(s, interval, INDEX_BASE);
		s->since_base = 0;
	}
	s->is_begun = true;
	return ret;
}

static void put_tail(void *ctx, struct buf *out)
{
	put_levels(ctx, out);
}

static int put_interval(void *ctx, size_t interval)
{
	struct memory_job *s = ctx;
	int ret = 0;

	if (fold_sums_cnt(&s->owners))
		ret = put_sums(s, index_interval_from(s->j->x, interval));
	ret = ret ?: add(s, interval, INDEX_SUMS);
	if (ret < 0)
		return ret;
	s->since_base += fold_sums_cnt(&s->owners) + 1;
	for (size_t i = 0; i < fold_sums_cnt(&s->owners); i++) {
		const struct fold_row *r = fold_sums_at(&s->owners, i);

		ret = ret ?: set_level(s, (unsigned int)r->a, (uint32_t)r->b,
				       ((const struct owner_sum *)r->sum)->growth.delta);
		s->owner_rows[r->a * owner_cnt(s->j->a) + r->b] = 0;
	}
	fold_sums_clear(&s->owners);
	fold_sums_clear(&s->sets);
	if (ret < 0 || s->has_rates)
		return ret;
	index_rates_put(&s->rates, &s->out);
	return add(s, interval, INDEX_RATES);
}

/* Loads the levels at the beginning of the job's first interval, which an earlier job saved. */
static int load_levels(struct memory_job *s)
{
	struct buf mem = { 0 };
	struct packed_in in;
	int ret = index_read_tail(s->j->x, INDEX_TAIL_MEMORY + s->group, &mem, &in);

	ret = ret ?: add_base(s->j->a, &in, &s->levels);
	for (size_t i = 0; i < fold_sums_cnt(&s->levels); i++)
		s->nonzero += *(const int64_t *)fold_sums_at(&s->levels, i)->sum != 0;
	buf_done(&mem);
	return ret;
}

static int prepare(struct memory_job *s)
{
	const struct analysis *a = s->j->a;
	unsigned int slots = index_memory_source(s->group, 1) < 0 ? 1 : INDEX_SLOT_CNT;

	fold_sums_init(&s->owners, &owner_def);
	fold_sums_init(&s->sets, &set_def);
	fold_sums_init(&s->kept, &kept_def);
	fold_sums_init(&s->levels, &level_def);
	s->owner_rows = calloc((size_t)owner_cnt(a) * slots, sizeof(*s->owner_rows));
	s->has_rates = s->group != INDEX_LEVELS &&
		       s->j->x->made_cnt[JOB_RATES] == s->j->x->end;
	if (!s->owner_rows || index_rates_init(&s->rates, a) < 0 ||
	    grouping_init(&s->comms, &a->ids, KEY(COMM)) < 0)
		return -ENOMEM;
	return s->j->start == FOLD_READER_TAIL ? load_levels(s) : 0;
}

int index_memory_job(struct index_job *j, enum index_group group)
{
	struct memory_job s = { .j = j, .group = group };
	const struct fold_def *fold = fold_memory(group);
	const struct index_keeper keeper = { .sink = { &s, on_change }, .begin = begin_interval,
					     .put_tail = put_tail, .put = put_interval };
	int ret = prepare(&s);

	ret = ret ?: index_fold_job(j, &fold, 1, &keeper);
	grouping_done(&s.comms);
	fold_sums_done(&s.owners);
	fold_sums_done(&s.sets);
	fold_sums_done(&s.kept);
	fold_sums_done(&s.levels);
	free(s.owner_rows);
	index_rates_done(&s.rates);
	buf_done(&s.out);
	return ret;
}
