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
 * Each group of sources walks by itself. Of a whole cell the index has the sums of every holder, and
 * the highest level of the sets of holders that groups usually are; where it has not the set that is
 * asked for, and it could be the highest, the cell is decoded.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/alloc_account.h"
#include "analyze/index_memory.h"
#include "event/keymap.h"
#include "analyze/table.h"
#include "analyze/walk.h"
#include "analyze/window.h"

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

struct holder {			/* one group and source */
	uint32_t group;
	uint8_t source;
	bool counted;		/* has counts of the current bin */
	int64_t level, peak;
	uint64_t peak_ns;
	uint64_t allocs, frees, lost_frees;
	uint64_t alloc_bytes, free_bytes;
	/* of the cell being merged */
	uint32_t cell, members;	/* cell: number of the merge, from 1 */
	uint64_t hash, rise, rise_ns;	/* rise: of all its members, each by itself */
	int64_t delta;
};

struct memory_walk {		/* of a group of sources */
	struct memory_scan *scan;
	enum index_group group;
	struct walk walk;
	struct alloc_account *account;	/* while something is decoded */
};

struct memory_scan {
	struct analysis *a;
	struct window w;
	struct grouping groups;
	struct memory_walk walks[INDEX_GROUP_CNT];
	struct keymap map;	/* (group, source) -> holders */
	struct holder *holders;
	size_t cap;
	struct keymap set_map;	/* (slot, hash) -> sets of the cell being merged */
	struct index_memory_set *sets;
	size_t set_cap;
	uint32_t *touched;	/* holders with rows in the cell being merged */
	size_t touched_cnt, touched_cap;
	uint32_t merges;
	struct buf mem;
	uint64_t bin, bin_from_ns;	/* bin_from_ns UINT64_MAX: before the window */
	bool open;
};

static struct holder *holder_of(struct memory_scan *s, uint32_t group, uint8_t source)
{
	uint32_t i;
	int ret = keymap_intern(&s->map, group, source, &i);

	if (ret < 0 || group == GROUPING_FAILED)
		return NULL;
	if (i >= s->cap) {
		size_t cap = s->cap ? s->cap * 2 : 256;
		struct holder *holders = realloc(s->holders, cap * sizeof(*holders));

		if (!holders)
			return NULL;
		s->holders = holders;
		s->cap = cap;
	}
	if (ret)
		s->holders[i] = (struct holder){ .group = group, .source = source };
	return &s->holders[i];
}

/* The first change of a holder in a bin: what it had until now is the bin's first level. */
static void begin_counts(struct memory_scan *s, struct holder *h)
{
	h->counted = true;
	h->peak = h->level;
	h->peak_ns = s->bin_from_ns;
	h->allocs = h->frees = h->lost_frees = h->alloc_bytes = h->free_bytes = 0;
}

/* Whether the question is about whoever holds; *ret_group is the row it goes to. */
static bool group_of(struct memory_scan *s, uint32_t holder, uint32_t *ret_group)
{
	uint32_t threads = s->a->ident.thread_cnt;
	bool whole = holder >= threads;

	if (whole ? !scope_has_process(&s->a->scope, holder - threads)
		  : !scope_has_thread(&s->a->scope, holder))
		return false;
	*ret_group = whole ? grouping_of_process(&s->groups, holder - threads)
			   : grouping_of_thread(&s->groups, holder);
	return true;
}

static int on_change(void *ctx, const struct alloc_change *c)
{
	struct memory_scan *s = ctx;
	struct holder *h;
	uint32_t group;

	if (!group_of(s, index_memory_holder(s->a, c), &group))
		return 0;
	h = holder_of(s, group, c->source);
	if (!h)
		return -ENOMEM;
	if (!h->counted && s->bin_from_ns != UINT64_MAX)
		begin_counts(s, h);
	h->level += c->delta;
	if (s->bin_from_ns == UINT64_MAX)
		return 0;
	if (h->level > h->peak) {
		h->peak = h->level;
		h->peak_ns = c->ts_ns > s->bin_from_ns ? c->ts_ns : s->bin_from_ns;
	}
	switch (c->kind) {
	case ALLOC_CHANGE_ALLOC:
		h->allocs++;
		h->alloc_bytes += (uint64_t)c->delta;
		break;
	case ALLOC_CHANGE_BASELINE: /* it was there before it was seen: a level, nothing allocated
				     */
		break;
	default:
		h->frees += c->kind == ALLOC_CHANGE_FREE || c->kind == ALLOC_CHANGE_UNPAIRED;
		h->lost_frees += c->kind == ALLOC_CHANGE_LOST;
		h->free_bytes += (uint64_t)-c->delta;
	}
	return 0;
}

/* ---- merging ---- */

static int touch(struct memory_scan *s, struct holder *h)
{
	if (s->touched_cnt == s->touched_cap) {
		size_t cap = s->touched_cap ? s->touched_cap * 2 : 256;
		uint32_t *touched = realloc(s->touched, cap * sizeof(*touched));

		if (!touched)
			return -ENOMEM;
		s->touched = touched;
		s->touched_cap = cap;
	}
	s->touched[s->touched_cnt++] = (uint32_t)(h - s->holders);
	h->cell = s->merges;
	h->members = 0;
	h->hash = h->rise = 0;
	h->delta = 0;
	return 0;
}

/* Sums up the cell's rows by group, beside what the groups have. */
static int sum_rows(struct memory_walk *m, struct index_in *in, uint64_t cell_ns, bool apply)
{
	struct memory_scan *s = m->scan;
	struct index_memory_row row;
	struct holder *h;
	uint32_t group;
	size_t n;

	for (n = index_get_cnt(in); n; n--) {
		if (index_memory_next(s->a, in, cell_ns, &row) < 0)
			return -EBADMSG;
		if (!group_of(s, row.holder, &group))
			continue;
		h = holder_of(s, group, (uint8_t)index_memory_source(m->group, row.slot));
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
		if (h->cell != s->merges && touch(s, h) < 0)
			return -ENOMEM;
		h->members++;
		h->hash += index_memory_hash(s->a, row.holder);
		h->rise += row.rise;
		h->rise_ns = row.rise_ns;
		h->delta += row.delta;
	}
	return in->bad ? -EBADMSG : 0;
}

static int read_sets(struct memory_scan *s, struct index_in *in, uint64_t cell_ns)
{
	struct index_memory_set set;
	uint32_t i;
	size_t n;
	int ret;

	keymap_clear(&s->set_map);
	for (n = index_get_cnt(in); n; n--) {
		if (index_memory_next_set(in, cell_ns, &set) < 0)
			return -EBADMSG;
		ret = keymap_intern(&s->set_map, set.slot, set.hash, &i);
		if (ret < 0)
			return ret;
		if (i >= s->set_cap) {
			size_t cap = s->set_cap ? s->set_cap * 2 : 64;
			void *p = realloc(s->sets, cap * sizeof(*s->sets));

			if (!p)
				return -ENOMEM;
			s->sets = p;
			s->set_cap = cap;
		}
		s->sets[i] = set;
	}
	return in->bad ? -EBADMSG : 0;
}

/*
 * The highest level of each group in the cell, in rise and rise_ns. False: it is not known. What all
 * members rose by, each at its own time, is as much as the group can have risen by.
 */
static bool find_peaks(struct memory_walk *m)
{
	struct memory_scan *s = m->scan;
	size_t i;

	for (i = 0; i < s->touched_cnt; i++) {
		struct holder *h = &s->holders[s->touched[i]];
		int64_t peak = h->counted ? h->peak : h->level;
		uint32_t set;

		if (h->members < 2)
			continue;
		if (h->level + (int64_t)h->rise <= peak) {
			h->rise = 0;
			continue;
		}
		if (!keymap_find(&s->set_map, h->source == ALLOC_VM, h->hash, &set))
			return false;
		h->rise = s->sets[set].rise;
		h->rise_ns = s->sets[set].rise_ns;
	}
	return true;
}

static void apply_levels(struct memory_scan *s)
{
	size_t i;

	for (i = 0; i < s->touched_cnt; i++) {
		struct holder *h = &s->holders[s->touched[i]];

		if (!h->counted)
			begin_counts(s, h);
		if (h->rise && h->level + (int64_t)h->rise > h->peak) {
			h->peak = h->level + (int64_t)h->rise;
			h->peak_ns = h->rise_ns;
		}
		h->level += h->delta;
	}
}

static int merge_cell(void *ctx, size_t cell, struct err *e)
{
	struct memory_walk *m = ctx;
	struct memory_scan *s = m->scan;
	uint64_t cell_ns = index_cell_from(m->walk.index, cell);
	struct index_in in, again;
	int ret = index_read(m->walk.index, cell, INDEX_SUMS + m->group, &s->mem, &in);

	again = in;
	if (!ret && in.p == in.end)
		return 1;
	s->merges++;
	s->touched_cnt = 0;
	if (!ret)
		ret = sum_rows(m, &in, cell_ns, false);
	if (!ret)
		ret = read_sets(s, &in, cell_ns);
	if (ret < 0)
		return index_fail(m->walk.index, ret, e);
	if (!find_peaks(m))
		return 0;
	apply_levels(s);
	ret = sum_rows(m, &again, cell_ns, true);
	return ret < 0 ? index_fail(m->walk.index, ret, e) : 1;
}

/* ---- decoding ---- */

static int open_cell(void *ctx, size_t cell, struct err *e)
{
	struct memory_walk *m = ctx;
	struct memory_scan *s = m->scan;
	uint32_t mask = index_memory_mask(m->group);
	struct alloc_account_start start;
	struct index_in in;
	int ret;

	if (cell == WALK_START)
		return alloc_account_open(&m->account, s->a, mask, s->w.to_ns, on_change, s, e);
	ret = index_read(m->walk.index, cell, INDEX_STATE + m->group, &s->mem, &in);
	if (ret < 0)
		return index_fail(m->walk.index, ret, e);
	start = (struct alloc_account_start){ index_cell_from(m->walk.index, cell), &in, false };
	ret = alloc_account_open_cell(&m->account, s->a, mask, &start, s->w.to_ns, on_change, s,
				      e);
	return ret == -EBADMSG ? index_fail(m->walk.index, ret, e) : ret;
}

static int run_to(void *ctx, uint64_t to_ns, struct err *e)
{
	struct memory_walk *m = ctx;

	return alloc_account_run(m->account, to_ns, e);
}

static void close_cell(void *ctx)
{
	struct memory_walk *m = ctx;

	alloc_account_close(m->account);
	m->account = NULL;
}

static const struct walk_ops memory_walk = { merge_cell, open_cell, run_to, close_cell };

/* What everybody holds at the beginning of the cell the window begins in. */
static int begin_levels(struct memory_scan *s, const struct index *x, enum index_group group)
{
	uint32_t cnt = index_memory_holder_cnt(s->a), i;
	int64_t *levels = calloc((size_t)cnt * INDEX_SLOT_CNT, sizeof(*levels));
	unsigned int slot;
	int ret;

	if (!levels)
		return -ENOMEM;
	ret = index_memory_levels(x, s->a, group, index_cell_at(x, s->w.from_ns), levels);
	for (slot = 0; slot < INDEX_SLOT_CNT && !ret; slot++) {
		for (i = 0; i < cnt && !ret; i++) {
			int64_t level = levels[(size_t)slot * cnt + i];
			struct holder *h;
			uint32_t to;

			if (!level || !group_of(s, i, &to))
				continue;
			h = holder_of(s, to, (uint8_t)index_memory_source(group, slot));
			if (h)
				h->level += level;
			else
				ret = -ENOMEM;
		}
	}
	free(levels);
	return ret;
}

static int begin_walks(struct memory_scan *s, struct err *e)
{
	const struct index *x;
	unsigned int g;
	int ret = analysis_index(s->a, &x, e);

	for (g = 0; g < INDEX_GROUP_CNT && !ret; g++) {
		struct memory_walk *m = &s->walks[g];

		m->scan = s;
		m->group = (enum index_group)g;
		if (x)
			ret = begin_levels(s, x, m->group);
		if (ret < 0)
			return index_fail(x, ret, e);
		ret = walk_begin(&m->walk, s->a, &memory_walk, m, s->w.from_ns, s->w.to_ns, e);
	}
	return ret;
}

static void memory_close(void *state)
{
	struct memory_scan *s = state;
	unsigned int g;

	for (g = 0; g < INDEX_GROUP_CNT; g++)
		if (s->walks[g].scan)
			walk_end(&s->walks[g].walk);
	grouping_done(&s->groups);
	keymap_done(&s->map);
	keymap_done(&s->set_map);
	buf_done(&s->mem);
	free(s->sets);
	free(s->touched);
	free(s->holders);
	free(s);
}

static int memory_open(struct analysis *a, const struct table_def *def, const struct table_query *q,
		       void **ret_state, struct err *e)
{
	struct memory_scan *s = calloc(1, sizeof(*s));
	int ret;

	if (!s)
		return err_set(e, -ENOMEM, "out of memory");
	s->a = a;
	s->bin_from_ns = UINT64_MAX;
	ret = window_init(&s->w, a, q, e);
	if (!ret)
		ret = window_grouping(&s->groups, a, &q->args[3], e);
	if (!ret && s->w.from_ns < s->w.to_ns) {
		ret = begin_walks(s, e);
		s->bin = s->w.first_bin;
		s->open = true;
	}
	if (ret < 0) {
		memory_close(s);
		return ret;
	}
	*ret_state = s;
	return 0;
}

static int give_row(struct memory_scan *s, const struct holder *h, struct rowbuf *out)
{
	struct grouping_label label;
	struct cell *c = rowbuf_add(out);

	if (!c)
		return -ENOMEM;
	window_cells(&s->w, s->bin, c);
	grouping_label(&s->groups, h->group, &label);
	if (label.upid >= 0)
		cell_int(&c[3], label.upid);
	if (label.utid >= 0)
		cell_int(&c[4], label.utid);
	cell_text(&c[5], label.name);
	cell_text(&c[6], alloc_source_name(h->source));
	cell_int(&c[7], (int64_t)h->allocs);
	cell_int(&c[8], (int64_t)h->frees);
	cell_int(&c[9], (int64_t)h->alloc_bytes);
	cell_int(&c[10], (int64_t)h->free_bytes);
	cell_int(&c[11], (int64_t)(h->alloc_bytes - h->free_bytes));
	/* [unknown] has frees only: below 0 is no level anyone held */
	cell_int(&c[12], h->peak > 0 ? h->peak : 0);
	cell_int(&c[13], context_rel(s->a, h->peak_ns));
	cell_int(&c[14], h->level > 0 ? h->level : 0);
	cell_int(&c[15], (int64_t)h->lost_frees);
	return 0;
}

static int memory_step(void *state, struct rowbuf *out, struct err *e)
{
	struct memory_scan *s = state;
	unsigned int g;
	uint64_t to;
	size_t i;
	int ret = 0;

	if (!s->open)
		return 0;
	window_bin_span(&s->w, s->bin, &s->bin_from_ns, &to);
	for (g = 0; g < INDEX_GROUP_CNT && !ret; g++)
		ret = walk_to(&s->walks[g].walk, to, e);
	if (ret < 0)
		return ret;
	for (i = 0; i < s->map.cnt; i++) {
		struct holder *h = &s->holders[i];
		bool shown =
			h->counted && (h->allocs || h->frees || h->lost_frees || h->free_bytes);

		if (!h->counted)
			begin_counts(s, h);
		shown = shown || ((h->source == ALLOC_RSS || h->source == ALLOC_VM) && h->peak > 0);
		if (shown && give_row(s, h, out) < 0)
			return err_set(e, -ENOMEM, "out of memory");
		h->counted = false;
	}
	s->open = ++s->bin < s->w.end_bin;
	return s->open;
}

const struct table_def tables_of_memory[] = {
	{
		.name = "alloc_usage",
		.doc = "memory allocated, freed and held per bin, group and source",
		.cols = memory_cols,
		.col_cnt = MEMORY_COLS,
		.arg_cnt = 4,
		.time_col = -1,
		.cpu_col = -1,
		.utid_col = -1,
		.key_col = -1,
		.open = memory_open,
		.step = memory_step,
		.close = memory_close,
	},
	{ .name = NULL },
};
