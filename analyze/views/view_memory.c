/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * alloc_usage(from_ns, to_ns, every_ns, by): what each group allocated, freed and held, per bin and
 * source.
 *
 * Levels: rss and vm are what the processes have, baseline included; slab, page and heap are what
 * was allocated since the trace's start and not freed yet. peak_bytes is the highest level inside
 * the bin, the level at its beginning included. The peak of a group is that of its sum, not the sum
 * of its processes' peaks. A group has a row when something happened; of rss and vm, and of every
 * source in bins of one length, also when there was anything at all.
 *
 * Each group of sources runs through the window by itself. The index has the sums of every owner in
 * an interval, and the highest level of the usual sets of owners. If it does not have a set that is
 * asked for, and the set may have its highest level there, the interval is decoded.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/fold/index_memory.h"
#include "analyze/views/view.h"
#include "base/array.h"
#include "model/mem_levels.h"
#include "table_columns.h"

struct holder {			/* one group and source */
	struct view_carried carried;
	int64_t level;
	int64_t peak;			/* of the bin, as all up to counts */
	uint64_t peak_ns, net_bytes;
	uint64_t counts[MEMORY_COUNT_CNT];
	const char *source_name;
	/* of the interval being merged */
	uint32_t merge, members;	/* merge: its number, from 1 */
	uint64_t hash;
	struct memory_growth growth;	/* most: of all its members, each by itself */
	struct memory_image image;	/* of the only member */
};

static const struct fold_sums_def holders_def = { .bytes = sizeof(struct holder) },
				  sets_def = { .bytes = sizeof(struct memory_growth) };

struct memory_view;

struct memory_walk {		/* of a group of sources */
	struct memory_view *view;
	enum index_group group;
	struct fold_run run;
};

struct memory_view {
	struct view v;
	struct memory_walk walks[INDEX_GROUP_CNT];
	uint32_t source_mask;	/* of the sources that are asked for */
	struct fold_sums sets;	/* of the interval being merged, by slot and hash */
	uint32_t *merging;	/* holders with rows in the interval being merged */
	size_t merging_cnt, merging_cap;
	uint32_t merges;
	struct buf mem;
};

/* The first change in a bin: what was there until now is the bin's first level. */
static void enter(struct view *v, void *row)
{
	struct holder *h = row;

	h->peak = h->level;
	h->peak_ns = v->bin_from_ns;
	memset(h->counts, 0, sizeof(h->counts));
}

/* Finds who holds what an owner has, in the question's groups. 1: *ret; 0: nobody; -ENOMEM. */
static int holder_of(struct memory_view *s, uint32_t owner, unsigned int source,
		     struct holder **ret)
{
	struct view *v = &s->v;
	uint32_t threads = v->a->ids.thread_cnt, group;
	bool whole = owner >= threads;

	if (whole ? !scope_has_process(&v->a->scope, owner - threads)
		  : !scope_has_thread(&v->a->scope, owner))
		return 0;
	group = whole ? grouping_of_process(&v->groups, owner - threads)
		      : grouping_of_thread(&v->groups, owner);
	*ret = group == GROUPING_FAILED ? NULL : view_carry(v, group, source);
	if (!*ret)
		return -ENOMEM;
	(*ret)->source_name = alloc_source_name(source);
	return 1;
}

/* A row of RSS or VM is that of one process, and its peak that of the process's program. */
static bool has_program(const struct memory_view *s, unsigned int source)
{
	const struct grouping *g = &s->v.groups;

	return (source == ALLOC_RSS || source == ALLOC_VM) &&
	       g->by & (KEY(PROCESS) | KEY(THREAD)) && !g->groups;
}

static int on_change(void *ctx, const void *found)
{
	const struct memory_walk *m = ctx;
	const struct alloc_change *c = found;
	struct view *v = &m->view->v;
	struct holder *h;
	int ret = holder_of(m->view, index_memory_owner(v->a, c), c->source, &h);

	if (ret <= 0)
		return ret;
	if (!m->run.before)
		view_enter(v, h);
	h->level += c->delta;
	if (m->run.before)
		return 0;
	if (mem_level_is_peak(h->level, h->peak, c->kind == ALLOC_CHANGE_EXEC &&
						 has_program(m->view, c->source))) {
		h->peak = h->level;
		h->peak_ns = c->ts_ns > v->bin_from_ns ? c->ts_ns : v->bin_from_ns;
	}
	memory_count(h->counts, c);
	return 0;
}

/* ---- merging ---- */

static struct holder *merging_at(const struct memory_view *s, size_t i)
{
	return (struct holder *)fold_sums_at(&s->v.sums, s->merging[i])->sum;
}

static int begin_merging(struct memory_view *s, struct holder *h)
{
	if (h->merge == s->merges)
		return 0;
	if (array_reserve(&s->merging, &s->merging_cap, s->merging_cnt + 1) < 0)
		return -ENOMEM;
	s->merging[s->merging_cnt++] = (uint32_t)s->v.sums.last;
	h->merge = s->merges;
	h->members = 0;
	h->hash = 0;
	h->growth = (struct memory_growth){ 0 };
	return 0;
}

/* Sums up the interval's rows by group, beside what the groups have; apply: adds the counts. */
static int sum_rows(struct memory_walk *m, struct packed_in *in, uint64_t interval_ns, bool apply)
{
	struct memory_view *s = m->view;
	struct index_memory_row row;
	struct holder *h;
	int ret;

	for (size_t n = packed_get_cnt(in); n; n--) {
		if (index_memory_next(s->v.a, in, interval_ns, &row) < 0)
			return -EBADMSG;
		ret = holder_of(s, row.owner,
				(unsigned int)index_memory_source(m->group, row.slot), &h);
		if (!ret)
			continue;
		if (ret < 0 || (!apply && begin_merging(s, h) < 0))
			return -ENOMEM;
		for (unsigned int i = 0; i < MEMORY_COUNT_CNT && apply; i++)
			h->counts[i] += row.counts[i];
		if (apply)
			continue;
		h->members++;
		h->hash += index_memory_hash(s->v.a, row.owner);
		h->growth.most += row.growth.most;
		h->growth.most_ns = row.growth.most_ns;
		h->growth.delta += row.growth.delta;
		h->image = row.image;
	}
	return in->bad ? -EBADMSG : 0;
}

static int read_sets(struct memory_view *s, struct packed_in *in, uint64_t interval_ns)
{
	struct index_memory_set set;
	struct memory_growth *growth;

	fold_sums_clear(&s->sets);
	for (size_t n = packed_get_cnt(in); n; n--) {
		if (index_memory_next_set(in, interval_ns, &set) < 0)
			return -EBADMSG;
		growth = fold_sums_of(&s->sets, set.slot, set.hash);
		if (!growth)
			return -ENOMEM;
		*growth = set.growth;
	}
	return in->bad ? -EBADMSG : 0;
}

/*
 * The highest level of each group in the interval, in its growth. False: it is not known. What all
 * members rose by, each at its own time, is as much as the group can have risen by.
 */
static bool find_peaks(struct memory_view *s)
{
	for (size_t i = 0; i < s->merging_cnt; i++) {
		const struct fold_row *at = fold_sums_at(&s->v.sums, s->merging[i]);
		struct holder *h = merging_at(s, i);
		bool is_entered = h->carried.entered == s->v.bin + 1;
		const struct memory_growth *growth;
		uint32_t set;

		if (h->members < 2)
			continue;
		if (h->level + (int64_t)h->growth.most <= (is_entered ? h->peak : h->level)) {
			h->growth.most = 0;
			continue;
		}
		if (!hash_map_find(&s->sets.map, at->b == ALLOC_VM, h->hash, &set))
			return false;
		growth = (const struct memory_growth *)fold_sums_at(&s->sets, set)->sum;
		h->growth.most = growth->most;
		h->growth.most_ns = growth->most_ns;
	}
	return true;
}

static void apply_levels(struct memory_view *s)
{
	for (size_t i = 0; i < s->merging_cnt; i++) {
		const struct fold_row *at = fold_sums_at(&s->v.sums, s->merging[i]);
		struct holder *h = merging_at(s, i);

		view_enter(&s->v, h);
		if (h->image.is_new && has_program(s, (unsigned int)at->b)) {
			h->peak = h->level + h->image.most;
			h->peak_ns = h->image.most_ns;
		} else if (h->growth.most && h->level + (int64_t)h->growth.most > h->peak) {
			h->peak = h->level + (int64_t)h->growth.most;
			h->peak_ns = h->growth.most_ns;
		}
		h->level += h->growth.delta;
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
	s->merging_cnt = 0;
	ret = ret ?: sum_rows(m, &in, interval_ns, false) ?: read_sets(s, &in, interval_ns);
	if (ret < 0)
		return index_fail(x, ret, e);
	if (!find_peaks(s))
		return 0;
	apply_levels(s);
	ret = sum_rows(m, &again, interval_ns, true);
	return ret < 0 ? index_fail(x, ret, e) : 1;
}

/* ---- the view ---- */

static int add_level(void *ctx, uint32_t owner, unsigned int source, int64_t level)
{
	struct holder *h;
	int ret = holder_of(ctx, owner, source, &h);

	if (ret > 0)
		h->level += level;
	return ret < 0 ? ret : 0;
}

/* source = '...' is a condition that SQLite checks again: more may be given out. */
static int open_view(struct view *v, const struct table_query *q, struct err *e)
{
	struct memory_view *s = (struct memory_view *)v;
	int source = q->has_key && q->key.type == VALUE_TEXT ?
			     alloc_source_find(q->key.s, strlen(q->key.s)) : -1;

	s->source_mask = source < 0 ? UINT32_MAX : 1u << source;
	return window_grouping(&v->groups, v->a, &q->args[3], e);
}

static bool is_asked(const struct memory_view *s, unsigned int group)
{
	return fold_memory((enum index_group)group)->arg & s->source_mask;
}

static int begin(struct view *v, struct err *e)
{
	struct memory_view *s = (struct memory_view *)v;
	const struct index *all;
	uint32_t kinds = 0;
	int ret;

	fold_sums_init(&s->sets, &sets_def);
	for (unsigned int g = 0; g < INDEX_GROUP_CNT; g++)
		if (is_asked(s, g))
			kinds |= fold_memory((enum index_group)g)->kinds;
	/* all at once, so that the groups are made side by side */
	ret = analysis_index_of(v->a, kinds, &all, e);
	for (unsigned int g = 0; g < INDEX_GROUP_CNT && !ret; g++) {
		struct memory_walk *m = &s->walks[g];
		const struct fold_run_config c = { .def = fold_memory((enum index_group)g),
						   .window = &v->w, .sink = { m, on_change },
						   .merge = merge_interval, .ctx = m };
		const struct index *x;

		if (!is_asked(s, g))
			continue;
		m->view = s;
		m->group = (enum index_group)g;
		ret = fold_run_begin(&m->run, v->a, &c, e);
		x = m->run.index;
		if (!ret && x) {
			/* the levels at the beginning of the interval that the window begins in */
			ret = index_memory_levels(x, v->a, m->group,
						  index_interval_at(x, v->w.from_ns), add_level, s);
			if (ret < 0)
				return index_fail(x, ret, e);
		}
		/* rows come in the order in which their groups turn up */
		ret = ret ?: fold_run_enter(&m->run, e);
	}
	return ret;
}

static void close_view(struct view *v)
{
	struct memory_view *s = (struct memory_view *)v;

	for (unsigned int g = 0; g < INDEX_GROUP_CNT; g++)
		fold_run_done(&s->walks[g].run);
	if (s->sets.def)
		fold_sums_done(&s->sets);
	buf_done(&s->mem);
	free(s->merging);
}

static int run_bin(struct view *v, struct err *e)
{
	struct memory_view *s = (struct memory_view *)v;
	uint64_t decided;
	int ret = 0;

	for (unsigned int g = 0; g < INDEX_GROUP_CNT && !ret; g++)
		if (is_asked(s, g))
			ret = fold_run_to(&s->walks[g].run, v->bin_to_ns, &decided, e);
	return ret;
}

static void give_row(struct view *v, const struct view_place *at, void *sum)
{
	struct holder *h = sum;
	bool is_level = at->b == ALLOC_RSS || at->b == ALLOC_VM || (v->w.every_ns && !v->w.edges);

	if (!h->counts[MEMORY_ALLOCS] && !h->counts[MEMORY_FREES] &&
	    !h->counts[MEMORY_LOST_FREES] && !h->counts[MEMORY_FREE_BYTES] &&
	    !h->counts[MEMORY_EXIT_BYTES] && (!is_level || h->peak <= 0))
		return;
	h->net_bytes = h->counts[MEMORY_ALLOC_BYTES] - h->counts[MEMORY_FREE_BYTES] -
		       h->counts[MEMORY_EXIT_BYTES];
	view_row(v, at->group, h);
}

static const struct view_def memory_view = {
	.open = open_view, .close = close_view,
	.sums = &holders_def, .enter = enter, .begin = begin, .run_bin = run_bin, .row = give_row,
};

const struct table_def table_alloc_usage =
	VIEW_TABLE_BY(COL_ALLOC_USAGE_SOURCE, ALLOC_USAGE, memory_view, struct memory_view);
