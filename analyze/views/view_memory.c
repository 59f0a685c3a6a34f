/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * alloc_usage(from_ns, to_ns, every_ns, by): what each group allocated, freed and held, per bin and
 * source.
 *
 * Levels: rss and vm are what the processes have, baseline included; slab, page and heap are what
 * was allocated since the trace's start and not freed yet. peak_bytes is the highest level inside
 * the bin, the level at its beginning included. The peak of a group is that of its sum, not the sum
 * of its processes' peaks. A group has a row in a bin when something happened, rss and vm also when
 * there was anything at all.
 *
 * Each group of sources walks by itself. Of a whole interval the index has the sums of every
 * owner, and the highest level of the sets of owners that groups usually are; where it has not
 * the set that is asked for, and it could be the highest, the interval is decoded.
 */
#include <errno.h>
#include <stdlib.h>

#include "analyze/fold/index_memory.h"
#include "analyze/views/view.h"
#include "base/array.h"

static const struct table_column memory_cols[] = {
	WINDOW_COLUMNS,
	{ "upid", COLUMN_INT },
	{ "utid", COLUMN_INT },
	{ "name", COLUMN_TEXT },
	{ "source", COLUMN_TEXT },
	{ "allocs", COLUMN_INT },
	{ "frees", COLUMN_INT },
	{ "alloc_bytes", COLUMN_INT },
	{ "free_bytes", COLUMN_INT },
	{ "net_bytes", COLUMN_INT },
	{ "peak_bytes", COLUMN_INT },
	{ "peak_ns", COLUMN_INT },
	{ "now_bytes", COLUMN_INT },
	{ "lost_frees", COLUMN_INT },
	WINDOW_ARGS,
	{ "by", COLUMN_TEXT },
};

enum { MEMORY_COLS = WINDOW_COLS + 13 };

struct owner {			/* one group and source */
	uint32_t group;
	uint8_t source;
	bool counted;		/* has counts of the current bin */
	int64_t level, peak;
	uint64_t peak_ns;
	uint64_t allocs, frees, lost_frees;
	uint64_t alloc_bytes, free_bytes;
	/* of the interval being merged */
	uint32_t merge, members;	/* merge: its number, from 1 */
	uint64_t hash, growth, growth_ns;	/* growth: of all its members, each by itself */
	int64_t delta;
};

struct memory_view;

struct memory_walk {		/* of a group of sources */
	struct memory_view *view;
	enum index_group group;
	struct fold_run run;
};

struct memory_view {
	struct view v;
	struct memory_walk walks[INDEX_GROUP_CNT];
	struct hash_map map;	/* (group, source) -> owners */
	struct owner *owners;
	size_t cap;
	struct hash_map set_map;	/* (slot, hash) -> sets of the interval being merged */
	struct index_memory_set *sets;
	size_t set_cap;
	uint32_t *touched;	/* owners with rows in the interval being merged */
	size_t touched_cnt, touched_cap;
	uint32_t merges;
	struct buf mem;
};

static struct owner *owner_of(struct memory_view *s, uint32_t group, uint8_t source)
{
	uint32_t i;
	int ret = hash_map_intern(&s->map, group, source, &i);

	if (ret < 0 || group == GROUPING_FAILED)
		return NULL;
	if (array_reserve(&s->owners, &s->cap, i + 1) < 0)
		return NULL;
	if (ret)
		s->owners[i] = (struct owner){ .group = group, .source = source };
	return &s->owners[i];
}

/* The first change of an owner in a bin: what it had until now is the bin's first level. */
static void begin_counts(struct memory_view *s, struct owner *h)
{
	h->counted = true;
	h->peak = h->level;
	h->peak_ns = s->v.bin_from_ns;
	h->allocs = h->frees = h->lost_frees = h->alloc_bytes = h->free_bytes = 0;
}

/* Whether the question is about whoever holds; *ret_group is the row it goes to. */
static bool group_of(struct memory_view *s, uint32_t owner, uint32_t *ret_group)
{
	uint32_t threads = s->v.a->ids.thread_cnt;
	bool whole = owner >= threads;

	if (whole ? !scope_has_process(&s->v.a->scope, owner - threads)
		  : !scope_has_thread(&s->v.a->scope, owner))
		return false;
	*ret_group = whole ? grouping_of_process(&s->v.groups, owner - threads)
			   : grouping_of_thread(&s->v.groups, owner);
	return true;
}

static int on_change(void *ctx, const void *found)
{
	const struct memory_walk *m = ctx;
	const struct alloc_change *c = found;
	struct memory_view *s = m->view;
	struct owner *h;
	uint32_t group;

	if (!group_of(s, index_memory_owner(s->v.a, c), &group))
		return 0;
	h = owner_of(s, group, c->source);
	if (!h)
		return -ENOMEM;
	if (!h->counted && !m->run.before)
		begin_counts(s, h);
	h->level += c->delta;
	if (m->run.before)
		return 0;
	if (h->level > h->peak) {
		h->peak = h->level;
		h->peak_ns = c->ts_ns > s->v.bin_from_ns ? c->ts_ns : s->v.bin_from_ns;
	}
	switch (c->kind) {
	case ALLOC_CHANGE_ALLOC:
		h->allocs++;
		h->alloc_bytes += (uint64_t)c->delta;
		break;
	case ALLOC_CHANGE_BASELINE:	/* it was there before it was seen: nothing was allocated */
		break;
	default:
		h->frees += c->kind == ALLOC_CHANGE_FREE || c->kind == ALLOC_CHANGE_UNPAIRED;
		h->lost_frees += c->kind == ALLOC_CHANGE_LOST;
		h->free_bytes += (uint64_t)-c->delta;
	}
	return 0;
}

/* ---- merging ---- */

static int touch(struct memory_view *s, struct owner *h)
{
	if (array_reserve(&s->touched, &s->touched_cap, s->touched_cnt + 1) < 0)
		return -ENOMEM;
	s->touched[s->touched_cnt++] = (uint32_t)(h - s->owners);
	h->merge = s->merges;
	h->members = 0;
	h->hash = h->growth = 0;
	h->delta = 0;
	return 0;
}

/* Sums up the interval's rows by group, beside what the groups have. */
static int sum_rows(struct memory_walk *m, struct packed_in *in, uint64_t interval_ns, bool apply)
{
	struct memory_view *s = m->view;
	struct index_memory_row row;
	struct owner *h;
	uint32_t group;
	size_t n;

	for (n = packed_get_cnt(in); n; n--) {
		if (index_memory_next(s->v.a, in, interval_ns, &row) < 0)
			return -EBADMSG;
		if (!group_of(s, row.owner, &group))
			continue;
		h = owner_of(s, group, (uint8_t)index_memory_source(m->group, row.slot));
		if (!h)
			return -ENOMEM;
		if (apply) {
			h->allocs += row.allocs;
			h->frees += row.frees;
			h->lost_frees += row.lost_frees;
			h->alloc_bytes += row.alloc_bytes;
			h->free_bytes += row.free_bytes;
			continue;
		}
		if (h->merge != s->merges && touch(s, h) < 0)
			return -ENOMEM;
		h->members++;
		h->hash += index_memory_hash(s->v.a, row.owner);
		h->growth += row.growth;
		h->growth_ns = row.growth_ns;
		h->delta += row.delta;
	}
	return in->bad ? -EBADMSG : 0;
}

static int read_sets(struct memory_view *s, struct packed_in *in, uint64_t interval_ns)
{
	struct index_memory_set set;
	uint32_t i;
	size_t n;
	int ret;

	hash_map_clear(&s->set_map);
	for (n = packed_get_cnt(in); n; n--) {
		if (index_memory_next_set(in, interval_ns, &set) < 0)
			return -EBADMSG;
		ret = hash_map_intern(&s->set_map, set.slot, set.hash, &i);
		if (ret < 0)
			return ret;
		if (array_reserve(&s->sets, &s->set_cap, i + 1) < 0)
			return -ENOMEM;
		s->sets[i] = set;
	}
	return in->bad ? -EBADMSG : 0;
}

/*
 * The highest level of each group in the interval, in growth and growth_ns. False: it is not
 * known. What all members rose by, each at its own time, is as much as the group can have risen
 * by.
 */
static bool find_peaks(struct memory_walk *m)
{
	struct memory_view *s = m->view;
	size_t i;

	for (i = 0; i < s->touched_cnt; i++) {
		struct owner *h = &s->owners[s->touched[i]];
		int64_t peak = h->counted ? h->peak : h->level;
		uint32_t set;

		if (h->members < 2)
			continue;
		if (h->level + (int64_t)h->growth <= peak) {
			h->growth = 0;
			continue;
		}
		if (!hash_map_find(&s->set_map, h->source == ALLOC_VM, h->hash, &set))
			return false;
		h->growth = s->sets[set].growth;
		h->growth_ns = s->sets[set].growth_ns;
	}
	return true;
}

static void apply_levels(struct memory_view *s)
{
	size_t i;

	for (i = 0; i < s->touched_cnt; i++) {
		struct owner *h = &s->owners[s->touched[i]];

		if (!h->counted)
			begin_counts(s, h);
		if (h->growth && h->level + (int64_t)h->growth > h->peak) {
			h->peak = h->level + (int64_t)h->growth;
			h->peak_ns = h->growth_ns;
		}
		h->level += h->delta;
	}
}

static int merge_interval(void *ctx, const struct index *x, size_t interval, struct err *e)
{
	struct memory_walk *m = ctx;
	struct memory_view *s = m->view;
	uint64_t interval_ns = index_interval_from(x, interval);
	struct packed_in in, again;
	int ret = index_read(x, interval, INDEX_SUMS + m->group, &s->mem, &in);

	again = in;
	if (!ret && in.p == in.end)
		return 1;
	s->merges++;
	s->touched_cnt = 0;
	if (!ret)
		ret = sum_rows(m, &in, interval_ns, false);
	if (!ret)
		ret = read_sets(s, &in, interval_ns);
	if (ret < 0)
		return index_fail(x, ret, e);
	if (!find_peaks(m))
		return 0;
	apply_levels(s);
	ret = sum_rows(m, &again, interval_ns, true);
	return ret < 0 ? index_fail(x, ret, e) : 1;
}

/* ---- the view ---- */

/* What everybody holds at the beginning of the interval the window begins in. */
static int begin_levels(struct memory_view *s, const struct index *x, enum index_group group)
{
	uint32_t cnt = index_memory_owner_cnt(s->v.a), i;
	int64_t *levels = calloc((size_t)cnt * INDEX_SLOT_CNT, sizeof(*levels));
	unsigned int slot;
	int ret;

	if (!levels)
		return -ENOMEM;
	ret = index_memory_levels(x, s->v.a, group, index_interval_at(x, s->v.w.from_ns), levels);
	for (slot = 0; slot < INDEX_SLOT_CNT && !ret; slot++) {
		for (i = 0; i < cnt && !ret; i++) {
			int64_t level = levels[(size_t)slot * cnt + i];
			struct owner *h;
			uint32_t to;

			if (!level || !group_of(s, i, &to))
				continue;
			h = owner_of(s, to, (uint8_t)index_memory_source(group, slot));
			if (h)
				h->level += level;
			else
				ret = -ENOMEM;
		}
	}
	free(levels);
	return ret;
}

static int begin(struct view *v, struct err *e)
{
	struct memory_view *s = (struct memory_view *)v;
	unsigned int g;
	int ret = 0;

	for (g = 0; g < INDEX_GROUP_CNT && !ret; g++) {
		struct memory_walk *m = &s->walks[g];
		const struct fold_run_config c = { .def = fold_memory((enum index_group)g),
						   .window = &v->w, .sink = { m, on_change },
						   .merge = merge_interval, .ctx = m };

		m->view = s;
		m->group = (enum index_group)g;
		ret = fold_run_begin(&m->run, v->a, &c, e);
		if (!ret && m->run.index) {
			ret = begin_levels(s, m->run.index, m->group);
			if (ret < 0)
				return index_fail(m->run.index, ret, e);
		}
		/* rows come in the order in which their groups turn up */
		if (!ret)
			ret = fold_run_enter(&m->run, e);
	}
	return ret;
}

static void close_view(struct view *v)
{
	struct memory_view *s = (struct memory_view *)v;
	unsigned int g;

	for (g = 0; g < INDEX_GROUP_CNT; g++)
		fold_run_done(&s->walks[g].run);
	hash_map_done(&s->map);
	hash_map_done(&s->set_map);
	buf_done(&s->mem);
	free(s->sets);
	free(s->touched);
	free(s->owners);
}

static int give_row(struct view *v, const struct owner *h)
{
	struct cell *c = view_row(v);

	if (!c)
		return -ENOMEM;
	view_label_cells(&v->groups, h->group, &c[3]);
	cell_text(&c[6], alloc_source_name(h->source));
	cell_int(&c[7], (int64_t)h->allocs);
	cell_int(&c[8], (int64_t)h->frees);
	cell_int(&c[9], (int64_t)h->alloc_bytes);
	cell_int(&c[10], (int64_t)h->free_bytes);
	cell_int(&c[11], (int64_t)(h->alloc_bytes - h->free_bytes));
	/* [unknown] has frees only: below 0 is no level anyone held */
	cell_int(&c[12], h->peak > 0 ? h->peak : 0);
	cell_int(&c[13], context_rel(v->a, h->peak_ns));
	cell_int(&c[14], h->level > 0 ? h->level : 0);
	cell_int(&c[15], (int64_t)h->lost_frees);
	return 0;
}

static int run_bin(struct view *v, struct err *e)
{
	struct memory_view *s = (struct memory_view *)v;
	uint64_t decided;
	unsigned int g;
	size_t i;
	int ret = 0;

	for (g = 0; g < INDEX_GROUP_CNT && !ret; g++)
		ret = fold_run_to(&s->walks[g].run, v->bin_to_ns, &decided, e);
	if (ret < 0)
		return ret;
	for (i = 0; i < s->map.cnt; i++) {
		struct owner *h = &s->owners[i];
		bool shown =
			h->counted && (h->allocs || h->frees || h->lost_frees || h->free_bytes);

		if (!h->counted)
			begin_counts(s, h);
		shown = shown || ((h->source == ALLOC_RSS || h->source == ALLOC_VM) && h->peak > 0);
		if (shown && give_row(v, h) < 0)
			return err_set(e, -ENOMEM, "out of memory");
		h->counted = false;
	}
	return 0;
}

static const struct view_def memory_view = {
	.bytes = sizeof(struct memory_view), .close = close_view, .begin = begin,
	.run_bin = run_bin,
};

const struct table_def tables_of_memory[] = {
	VIEW_TABLE("alloc_usage", "memory allocated, freed and held per bin, group and source",
		   memory_cols, MEMORY_COLS, 4, memory_view),
	{ .name = NULL },
};
