/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * view_memory: alloc_usage(from_ns, to_ns, every_ns, by): bytes that each group allocated, freed
 * and held, per bin and source.
 *
 * The level of rss and vm is all memory of the processes; the level of slab, page and heap is what
 * was allocated since the trace's start and not freed yet. peak_bytes is the highest level in the
 * bin, including the level at its beginning. A group's peak is the peak of the group's sum, not the
 * sum of its processes' peaks. A group has a row in each bin in which its memory changes. For rss
 * and vm, and for every source if bins have equal lengths, the group also has a row in each bin
 * with a level above 0.
 *
 * The window is read separately for each group of sources. The index has, per interval, the sums of
 * every owner and the highest level of the usual sets of owners. An interval is decoded if a
 * queried set is not in the index and may have its highest level in the interval.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/fold/index_memory.h"
#include "analyze/views/view.h"
#include "base/array.h"
#include "model/live_objects.h"
#include "model/mem_levels.h"
#include "table_columns.h"

struct holder {			/* one group and source */
	struct view_carried carried;
	int64_t level;
	/* the members from peak to counts are about the present bin */
	int64_t peak;
	uint64_t peak_ns, net_bytes;
	uint64_t counts[MEMORY_COUNT_CNT];
	const char *source_name;
	/* the members from merge to image are about the interval being merged */
	uint32_t merge, members;	/* merge: the interval's number, from 1 */
	uint64_t hash;
	struct memory_growth growth;	/* most: the sum of the members' maxima */
	struct memory_image image;	/* of the member, if there is only one */
};

/* The level of an owner with several names, and the group in which it counts. */
struct owned {
	int64_t level;
	uint32_t group;		/* group + 1; 0: not in the scope */
	uint32_t owner;
	uint32_t next;		/* 1 + index of the next row of the process; 0: none */
	uint8_t source;
};

static const struct fold_sums_def holders_def = { .bytes = sizeof(struct holder) },
				  sets_def = { .bytes = sizeof(struct memory_growth) },
				  owned_def = { .bytes = sizeof(struct owned) };

struct memory_view;

struct memory_walk {		/* reads the window for one group of sources */
	struct memory_view *view;
	enum index_group group;
	struct fold_run run;
	size_t next_rename;	/* index of the next rename to follow */
};

struct memory_view {
	struct view v;
	struct memory_walk walks[INDEX_GROUP_CNT];
	uint32_t source_mask;	/* bit per source that the query needs */
	struct fold_sums sets;	/* sets of the interval being merged, by slot and hash */
	uint32_t *merging;	/* indexes of holders with rows in the interval being merged */
	size_t merging_cnt, merging_cap;
	uint32_t merges;
	struct buf mem;
	bool by_name;		/* groups or scope depend on names */
	struct fold_sums owned;	/* by owner and source, if by_name */
	uint32_t *owned_of;	/* by dense process: 1 + its first row in owned */
	uint64_t base_ns;	/* instant at which the levels of the index apply */
};

/* A holder enters a bin: its level so far is the first peak. */
static void enter(struct view *v, void *row)
{
	struct holder *h = row;

	h->peak = h->level;
	h->peak_ns = v->bin_from_ns;
	memset(h->counts, 0, sizeof(h->counts));
}

static int holder_at(struct memory_view *s, uint32_t group, unsigned int source,
		     struct holder **ret)
{
	*ret = group == GROUPING_FAILED ? NULL : view_carry(&s->v, group, source);
	if (!*ret)
		return -ENOMEM;
	(*ret)->source_name = alloc_source_name(source);
	return 1;
}

/*
 * Returns whether a row is about the RSS or VM of one process. An exec resets the peak of such a
 * row.
 */
static bool has_program(const struct memory_view *s, unsigned int source)
{
	const struct grouping *g = &s->v.groups;

	return (source == ALLOC_RSS || source == ALLOC_VM) &&
	       g->by & (KEY(PROCESS) | KEY(THREAD)) && !g->groups;
}

/* Finds the owner's group at ts_ns. Returns 1; 0: not in the scope. */
static int group_at(struct memory_view *s, uint32_t owner, uint64_t ts_ns, uint32_t *ret)
{
	struct view *v = &s->v;
	uint32_t threads = v->a->ids.thread_cnt;
	bool whole = owner >= threads;

	if (whole ? !scope_has_process_at(v->scope, owner - threads, ts_ns, NULL)
		  : !scope_has_thread_at(v->scope, owner, ts_ns, NULL))
		return 0;
	*ret = whole ? grouping_of_process(&v->groups, owner - threads, ts_ns, NULL)
		     : grouping_of_thread(&v->groups, owner, ts_ns, NULL);
	return 1;
}

/* Adds delta to the owner's level, which a rename moves to another group. Returns 0 or -ENOMEM. */
static int change_owned(struct memory_view *s, uint32_t owner, unsigned int source, int64_t delta,
			uint64_t ts_ns)
{
	const struct dense_ids *d = &s->v.a->ids;
	uint32_t process = index_memory_process(s->v.a, owner), row, group, *first;
	bool is_new;
	struct owned *o;

	if (!s->by_name || (!d->names->cnt[owner] && !d->names->cnt[d->thread_cnt + process]))
		return 0;
	is_new = !hash_map_find(&s->owned.map, owner, source, &row);
	o = fold_sums_of(&s->owned, owner, source);
	if (!o)
		return -ENOMEM;
	if (is_new) {
		first = &s->owned_of[process];
		*o = (struct owned){ .owner = owner, .next = *first, .source = (uint8_t)source };
		*first = (uint32_t)s->owned.last + 1;
		if (group_at(s, owner, ts_ns, &group))
			o->group = group + 1;
	}
	o->level += delta;
	return 0;
}

/*
 * Finds the holder for an owner whose level changes by delta. Returns 1; 0: not in the scope;
 * -ENOMEM. A change at the instant of a rename belongs to the old name, as does the memory that an
 * exec frees.
 */
static int holder_of(struct memory_view *s, uint32_t owner, unsigned int source, int64_t delta,
		     uint64_t ts_ns, struct holder **ret)
{
	uint32_t group;
	int r = change_owned(s, owner, source, delta, ts_ns - 1);

	if (r < 0 || !group_at(s, owner, ts_ns - 1, &group))
		return r;
	return holder_at(s, group, source, ret);
}

static void raise_peak(struct view *v, struct holder *h, uint64_t ts_ns, bool is_new_program)
{
	if (!mem_level_is_peak(h->level, h->peak, is_new_program))
		return;
	h->peak = h->level;
	h->peak_ns = ts_ns > v->bin_from_ns ? ts_ns : v->bin_from_ns;
}

/* Moves an owner's level to the group of the name that the owner has from ts_ns on. */
static int move_owned(struct memory_walk *m, uint32_t row, uint64_t ts_ns)
{
	struct memory_view *s = m->view;
	struct owned *o = (struct owned *)fold_sums_at(&s->owned, row)->sum;
	uint32_t from = o->group, to = 0;
	struct holder *h;

	to = group_at(s, o->owner, ts_ns, &to) ? to + 1 : 0;
	o->group = to;
	if (from == to || !o->level)
		return 0;
	for (unsigned int i = 0; i < 2; i++) {
		uint32_t group = i ? to : from;

		if (!group)
			continue;
		if (holder_at(s, group - 1, o->source, &h) < 0)
			return -ENOMEM;
		if (!m->run.before)
			view_enter(&s->v, h);
		h->level += i ? o->level : -o->level;
		if (i && !m->run.before)
			raise_peak(&s->v, h, ts_ns, false);
	}
	return 0;
}

/* Moves the levels of threads and processes that were renamed before to_ns. */
static int follow_renames(struct memory_walk *m, uint64_t to_ns)
{
	struct memory_view *s = m->view;
	const struct dense_ids *d = &s->v.a->ids;
	const struct task_names *n = d->names;
	int r = 0;

	if (!s->by_name)
		return 0;
	for (; m->next_rename < n->rename_cnt && n->renames[m->next_rename].ts_ns < to_ns && !r;
	     m->next_rename++) {
		const struct task_rename *x = &n->renames[m->next_rename];
		uint32_t at = s->owned_of[index_memory_process(s->v.a, x->member)];

		for (uint32_t row; at && !r; at = row) {
			const struct owned *o =
				(const struct owned *)fold_sums_at(&s->owned, at - 1)->sum;

			row = o->next;
			if (fold_memory(m->group)->arg & 1u << o->source)
				r = move_owned(m, at - 1, x->ts_ns);
		}
	}
	return r;
}

static int on_change(void *ctx, const void *found)
{
	const struct memory_walk *m = ctx;
	const struct alloc_change *c = found;
	struct view *v = &m->view->v;
	struct holder *h;
	int ret = follow_renames((struct memory_walk *)ctx, c->ts_ns);

	if (ret < 0)
		return ret;
	ret = holder_of(m->view, index_memory_owner(v->a, c), c->source, c->delta, c->ts_ns, &h);
	if (ret <= 0)
		return ret;
	if (!m->run.before)
		view_enter(v, h);
	h->level += c->delta;
	if (m->run.before)
		return 0;
	raise_peak(v, h, c->ts_ns,
		   c->kind == ALLOC_CHANGE_EXEC && has_program(m->view, c->source));
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

/* Sums up the interval's rows by group; if apply, adds them to the groups' counts. */
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
				(unsigned int)index_memory_source(m->group, row.slot),
				apply ? row.growth.delta : 0, interval_ns, &h);
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
 * Finds the peak growth of each group in the interval. Returns false if a peak is unknown. The sum
 * of the members' maxima is an upper bound: the maxima may be at different times.
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
	const struct task_names *n = s->v.a->ids.names;
	struct packed_in in, again;
	int ret = follow_renames(m, interval_ns);

	/* The index's sums of owners are not split by name: decode an interval with a rename. */
	if (!ret && s->by_name && m->next_rename < n->rename_cnt &&
	    n->renames[m->next_rename].ts_ns < index_interval_to(x, interval))
		return 0;
	ret = ret ?: index_read(x, interval, INDEX_SUMS + m->group, &s->mem, &in);
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
	struct memory_view *s = ctx;
	struct holder *h;
	int ret = holder_of(s, owner, source, level, s->base_ns, &h);

	if (ret > 0)
		h->level += level;
	return ret < 0 ? ret : 0;
}

/*
 * Restricts the sources to the one in a condition source = '...'. Further rows of its group of
 * sources are harmless: SQLite checks the condition again.
 */
static int open_view(struct view *v, const struct table_query *q, struct err *e)
{
	struct memory_view *s = (struct memory_view *)v;
	int source = q->has_key && q->key.type == VALUE_TEXT ?
			     alloc_source_find(q->key.s, strlen(q->key.s)) : -1;

	int r = window_grouping(&v->groups, v->a, &q->args[3], e);

	s->source_mask = source < 0 ? UINT32_MAX : 1u << source;
	s->by_name = r >= 0 && (grouping_is_by_name(&v->groups) || v->scope->names);
	if (!s->by_name)
		return r;
	fold_sums_init(&s->owned, &owned_def);
	s->owned_of = calloc(v->a->ids.process_cnt, sizeof(*s->owned_of));
	return s->owned_of ? 0 : err_set(e, -ENOMEM, "out of memory");
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
	/* one call for all kinds, so that the groups' indexes are built in parallel */
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
		s->base_ns = x ? index_interval_from(x, index_interval_at(x, v->w.from_ns)) :
				 v->a->start_ns;
		m->next_rename = s->by_name ? task_renames_from(&v->a->ids, s->base_ns) : 0;
		if (!ret && x) {
			/* levels at the start of the interval that contains the window's start */
			ret = index_memory_levels(x, v->a, m->group,
						  index_interval_at(x, v->w.from_ns), add_level, s);
			if (ret < 0)
				return index_fail(x, ret, e);
		}
		/* Build the state now: rows are in the order in which groups first appear. */
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
	if (s->owned.def)
		fold_sums_done(&s->owned);
	free(s->owned_of);
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
			ret = fold_run_to(&s->walks[g].run, v->bin_to_ns, &decided, e) ?:
			      follow_renames(&s->walks[g], v->bin_to_ns);
	return ret;
}

static void give_row(struct view *v, const struct view_place *at, void *sum)
{
	struct holder *h = sum;
	uint64_t unit = at->b == ALLOC_HEAP ? heap_weight_unit(v->a->heap_mean) : 1;
	bool is_level = at->b == ALLOC_RSS || at->b == ALLOC_VM || (v->w.every_ns && !v->w.edges);

	if (!h->counts[MEMORY_ALLOCS] && !h->counts[MEMORY_FREES] &&
	    !h->counts[MEMORY_LOST_FREES] && !h->counts[MEMORY_FREE_BYTES] &&
	    !h->counts[MEMORY_EXIT_BYTES] && (!is_level || h->peak <= 0))
		return;
	for (unsigned int i = MEMORY_ALLOCS; i <= MEMORY_LOST_FREES; i++)
		h->counts[i] = (h->counts[i] + unit / 2) / unit;
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
