/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * spikes: bins are counted from the trace's start. A bin is hot for a candidate if the bin and its
 * predecessor together reach the threshold. While a burst is active, every event is in a hot bin,
 * and events are less than a window apart. So a burst is inside one run of adjacent hot bins and
 * the bin before the run. At the beginning of this earlier bin no burst is active, and events
 * before the bin are outside every window that matters. So reading may begin with this bin.
 *
 * A burst ends in a hot bin. A burst that follows within a window begins in that bin or the next,
 * so its hot bins begin at most two bins later. So the bursts of a spike are in one chain of hot
 * bins with gaps of at most one bin, and chains are read as a whole.
 */
#include "analyze/fold/spikes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/fold/fold_reader.h"
#include "analyze/fold/index_memory.h"

#define CHAIN_BINS 2	/* largest distance between hot bins of a chain */

/* ---- the first pass, from results in the index ---- */

static int load_candidate(struct spikes *s, unsigned int group, struct packed_in *in)
{
	uint64_t id = packed_get(in), saved = packed_get(in), pair = packed_get(in),
		 ages = packed_get(in), medians[SPIKE_AGES];
	int source = index_memory_source((enum index_group)group, id & 1);
	uint32_t process = dense_process(&s->a->ids, (uint32_t)(id >> 1)), member;
	struct spike_candidate *c;

	if (source < 0 || ages > SPIKE_AGES || saved >= SPIKE_BY_MAX)
		return -EBADMSG;
	for (unsigned int i = 0; i < ages; i++)
		medians[i] = packed_get(in);
	for (unsigned int i = 0; i < s->q.by_cnt; i++) {
		member = spikes_member(s, i, process);
		if (s->q.by[i] != spike_saved[saved] || member == EVENT_ID_UNKNOWN)
			continue;
		c = spikes_candidate(s, i, member, (unsigned int)source);
		if (!c)
			return -ENOMEM;
		c->pair_max = pair >> 1;
		c->is_hot = pair & 1;
		c->age_cnt = (uint8_t)ages;
		memcpy(c->medians, medians, ages * sizeof(*medians));
	}
	return 0;
}

/* Loads a group's medians and pairs from the index. 1: loaded; 0: not in the index; -errno. */
static int load_group(struct spikes *s, unsigned int group)
{
	struct buf mem = { 0 };
	struct packed_in in;
	int ret = index_read_tail(s->index, INDEX_TAIL_SPIKES + group, &mem, &in);
	bool is_there = !ret && in.p != in.end;

	for (size_t n = is_there ? packed_get_cnt(&in) : 0; n && !ret; n--)
		ret = load_candidate(s, group, &in);
	if (!ret && in.bad)
		ret = -EBADMSG;
	buf_done(&mem);
	return ret < 0 ? ret : is_there;
}

static bool is_asked(const struct spikes *s, unsigned int group)
{
	return fold_memory((enum index_group)group)->arg & s->q.source_mask;
}

/* Reads the rates of intervals [from, to) of all groups that the query needs. */
static int read_asked(struct spikes *s, const struct index *x, size_t from, size_t to)
{
	int ret = 0;

	for (unsigned int g = 0; g < INDEX_GROUP_CNT && !ret; g++)
		if (is_asked(s, g))
			ret = spikes_read_rates(s, x, g, from, to);
	return ret;
}

/*
 * Loads the results of the first pass from the index. 1: they suffice; 0: the granules must be
 * read; -errno.
 */
static int load_sums(struct spikes *s)
{
	int ret = 1;

	if (s->q.window_ns != SPIKE_WINDOW_NS ||
	    (s->q.min_bytes && s->q.min_bytes < SPIKE_MIN_BYTES))
		return 0;
	for (unsigned int i = 0; i < s->q.by_cnt; i++)
		if ((s->q.by[i] && s->q.by[i] != KEY(PROCESS) && s->q.by[i] != KEY(COMM)) ||
		    (s->group_of[i] && scope_is_of_some(&s->a->question->scope)))
			return 0;
	for (unsigned int g = 0; g < INDEX_GROUP_CNT && ret > 0; g++)
		if (is_asked(s, g))
			ret = load_group(s, g);
	return ret;
}

/* ---- the first pass ---- */

static int on_first_pass(void *ctx, const void *found)
{
	struct spikes *s = ctx;
	const struct alloc_change *c = found;

	if (c->kind != ALLOC_CHANGE_ALLOC || c->process < EVENT_ID_FIRST ||
	    c->ts_ns < s->a->start_ns || !scope_has_process(&s->a->question->scope, c->process))
		return 0;
	return spikes_add_bytes(s, c->process, c->source,
				(c->ts_ns - s->a->start_ns) / s->q.window_ns, (uint64_t)c->delta);
}

/* Passes a fold's findings in a range of the trace to found(). */
static int run(struct spikes *s, const struct fold_def *def, const struct fold_range *range,
	       int (*found)(void *ctx, const void *found), struct err *e)
{
	const struct fold_use use = { def, { s, found } };
	struct fold_reader *reader;
	int ret = fold_reader_open(&reader, s->a, range, &use, 1, e);

	if (ret < 0)
		return ret;
	ret = fold_reader_run(reader, range->to_ns, SIZE_MAX, NULL, e);
	fold_reader_close(reader);
	return ret;
}

/* Reads the whole trace, so that bursts which begin inside the window are complete. */
static int run_all(struct spikes *s, int (*found)(void *ctx, const void *found), struct err *e)
{
	const struct fold_range range = { .to_ns = s->a->end_ns, .start = FOLD_READER_TRACE };
	int ret = 0;

	for (unsigned int g = 0; g < INDEX_GROUP_CNT && !ret; g++)
		if (is_asked(s, g))
			ret = run(s, fold_memory((enum index_group)g), &range, found, e);
	return ret;
}

static int first_pass(struct spikes *s, struct err *e)
{
	int ret;

	if (!s->index) {
		ret = run_all(s, on_first_pass, e);
		return ret ? ret : spikes_find_medians(s);
	}
	ret = load_sums(s);
	if (ret)
		return ret < 0 ? ret : 0;
	ret = read_asked(s, s->index, 0, index_interval_cnt(s->index));
	return ret ? ret : spikes_find_medians(s);
}

/*
 * Chooses the candidates that may have a spike, and limits the query to their sources. Returns
 * false if there are none.
 */
static bool choose(struct spikes *s)
{
	uint32_t sources = 0;

	for (size_t i = 0; i < s->cnt; i++) {
		struct spike_candidate *c = &s->candidates[i];

		c->is_chosen = (s->q.min_bytes ? c->pair_max >= s->q.min_bytes : c->is_hot) &&
			       s->q.source_mask & 1u << c->source &&
			       (s->group_of[c->by] ||
				scope_has_process(&s->a->question->scope, c->process));
		if (c->is_chosen)
			sources |= 1u << c->source;
		burst_init(&c->burst, s->q.window_ns, s->q.min_bytes,
			   spikes_is_growth(c->source));
	}
	s->is_second = true;
	s->q.source_mask = sources;
	return sources;
}

/* ---- the second pass ---- */

static int give(const struct spikes *s, struct spike_candidate *c)
{
	const struct spike spike = { c->process, s->q.by[c->by], c->source, c->held_threshold,
				     c->held };

	if (!c->is_held)
		return 0;
	c->is_held = false;
	return s->q.found(s->q.ctx, &spike);
}

/*
 * Adds a burst to the current spike, or starts the next spike. The bytes of a spike are the bytes
 * of all events from its beginning to its end or, for growth, the largest rise of the level above
 * the lowest base of its bursts.
 */
static int add_burst(const struct spikes *s, struct spike_candidate *c, const struct burst_found *f)
{
	struct burst_found *h = &c->held;
	int ret;

	if (c->is_held && f->start_ns <= h->end_ns + s->q.window_ns) {
		c->low = f->base < c->low ? f->base : c->low;
		if (!c->burst.is_growth)
			h->bytes = f->before + f->bytes - h->before;
		else if (f->peak - c->low > h->bytes)
			h->bytes = f->peak - c->low;
		h->end_ns = f->end_ns;
		return 0;
	}
	ret = give(s, c);
	c->held = *f;
	c->held_threshold = spikes_threshold(c, s->q.min_bytes,
					     (f->start_ns - s->a->start_ns) / s->q.window_ns);
	c->low = f->base;
	c->is_held = true;
	return ret;
}

static int add_change(const struct spikes *s, struct spike_candidate *c,
		      const struct alloc_change *change)
{
	struct burst_found f;
	uint64_t level;
	int ret;

	level = c->level > 0 ? (uint64_t)c->level : 0;
	c->level += change->delta;
	if (change->kind == ALLOC_CHANGE_BASELINE) {
		burst_shift(&c->burst, change->delta);
		c->low += (uint64_t)change->delta;
	}
	/* events that a cut kept from before its window affect the level, but not bursts */
	if (change->kind != ALLOC_CHANGE_ALLOC || change->ts_ns < s->a->start_ns)
		return 0;
	c->burst.min_bytes = spikes_threshold(c, s->q.min_bytes, s->bin);
	ret = burst_add(&c->burst, change->ts_ns, (uint64_t)change->delta, level, &f);
	return ret > 0 ? add_burst(s, c, &f) : ret;
}

static int on_second_pass(void *ctx, const void *found)
{
	struct spikes *s = ctx;
	const struct alloc_change *change = found;
	uint64_t at_ns = change->ts_ns - s->a->start_ns;
	struct spike_candidate *c;
	int ret = 0;

	if (!(s->counted & 1u << change->source) || change->ts_ns < s->counted_ns)
		return 0;
	/* the last change usually is in the same bin, which avoids a slow division */
	if (at_ns - s->bin * s->q.window_ns >= s->q.window_ns)
		s->bin = at_ns / s->q.window_ns;
	for (unsigned int i = 0; i < s->q.by_cnt && !ret; i++) {
		c = spikes_chosen(s, i, change->process, change->source);
		if (c)
			ret = add_change(s, c, change);
	}
	return ret;
}

/* Ends the current bursts and spikes after the last change. */
static int finish(struct spikes *s)
{
	struct burst_found f;
	int ret = 0;

	for (size_t i = 0; i < s->cnt && ret >= 0; i++) {
		struct spike_candidate *c = &s->candidates[i];

		if (burst_finish(&c->burst, &f))
			ret = add_burst(s, c, &f);
		if (ret >= 0)
			ret = give(s, c);
	}
	return ret;
}

struct stretch {		/* the intervals whose granules have been read, and the window */
	size_t lo, hi;
	/* bins that may be hot in a burst of the window: [from, to) */
	uint64_t from_bin, to_bin;
	uint64_t first, end;	/* bins whose pair is complete: [first, end) */
};

static void mark_intervals(struct spikes *s, uint64_t first_bin, uint64_t last_bin)
{
	uint64_t start = s->a->start_ns, w = s->q.window_ns;
	uint64_t from_ns = start + (first_bin ? first_bin - 1 : 0) * w;
	uint64_t to_ns = start + (last_bin + 1) * w;
	size_t i = index_interval_at(s->index, from_ns);

	for (; i < index_interval_cnt(s->index) && index_interval_from(s->index, i) < to_ns; i++) {
		struct spike_mark *m = &s->marks[i];

		if (!m->to_ns || from_ns < m->from_ns)
			m->from_ns = from_ns;
		if (to_ns > m->to_ns)
			m->to_ns = to_ns;
	}
}

static bool is_hot(const struct spikes *s, const struct spike_candidate *c, size_t i)
{
	return spikes_pair_at(c, i) >= spikes_threshold(c, s->q.min_bytes, c->bins[i].number);
}

/*
 * Marks the candidate's chains of hot bins that overlap the window. Returns true if a chain may
 * extend beyond the bins read so far.
 */
static bool mark_hot(struct spikes *s, const struct stretch *t, const struct spike_candidate *c)
{
	const struct spike_bin *b = c->bins;
	bool beyond = false;
	size_t i, k, last;

	for (i = 0; i < c->cnt; i = k) {
		k = i + 1;
		if (b[i].number < t->first || b[i].number >= t->end ||
		    !is_hot(s, c, i))
			continue;
		for (last = i; k < c->cnt && b[k].number <= b[last].number + CHAIN_BINS &&
			       b[k].number < t->end; k++)
			if (is_hot(s, c, k))
				last = k;
		if (b[last].number < t->from_bin || b[i].number >= t->to_bin)
			continue;
		beyond = beyond || (t->lo && b[i].number < t->first + CHAIN_BINS) ||
			 b[last].number + CHAIN_BINS >= t->end;
		mark_intervals(s, b[i].number, b[last].number);
	}
	return beyond;
}

/*
 * Reads the granules of a growing range of intervals around the window, until no chain of hot bins
 * extends beyond the range.
 */
static int find_marks(struct spikes *s, unsigned int group)
{
	const struct index *x = s->index;
	uint32_t sources = fold_memory((enum index_group)group)->arg;
	uint64_t start = s->a->start_ns, w = s->q.window_ns;
	size_t cnt = index_interval_cnt(x), more, i;
	struct stretch t = { .lo = index_interval_at(x, s->q.from_ns),
			     .hi = index_interval_at(x, s->q.to_ns - 1) + 1,
			     .from_bin = (s->q.from_ns - start) / w,
			     .to_bin = (s->q.to_ns - 1 - start) / w + 2 };
	bool beyond = true;
	int ret = 0;

	while (beyond && !ret) {
		t.first = t.lo ? (index_interval_from(x, t.lo) - start + w - 1) / w + 1 : 0;
		t.end = t.hi == cnt ? UINT64_MAX : (index_interval_to(x, t.hi - 1) - start) / w;
		beyond = t.first > t.from_bin || t.end < t.to_bin;
		memset(s->marks, 0, cnt * sizeof(*s->marks));
		for (i = 0; i < s->cnt; i++)
			if (sources & 1u << s->candidates[i].source)
				s->candidates[i].cnt = 0;
		ret = spikes_read_rates(s, x, group, t.lo, t.hi);
		for (i = 0; i < s->cnt && !ret; i++)
			if (sources & 1u << s->candidates[i].source)
				beyond |= mark_hot(s, &t, &s->candidates[i]);
		more = t.hi - t.lo + 1;
		t.lo = t.lo > more ? t.lo - more : 0;
		t.hi = cnt - t.hi > more ? t.hi + more : cnt;
	}
	return ret;
}

static int add_level(void *ctx, uint32_t owner, unsigned int source, int64_t level)
{
	struct spikes *s = ctx;
	uint32_t process = index_memory_process(s->a, owner);

	for (unsigned int i = 0; i < s->q.by_cnt; i++) {
		struct spike_candidate *c = spikes_chosen(s, i, process, source);

		if (c)
			c->level += level;
	}
	return 0;
}

/*
 * Returns whether reading allocations suffices: objects need not be paired with their frees if the
 * level before a spike is unused.
 */
static bool has_only_rates(const struct spikes *s, unsigned int group)
{
	return s->q.any_baseline && group != INDEX_PAGE &&
	       fold_memory((enum index_group)group)->kinds & fold_rates.kinds;
}

/* Decodes intervals [from, to) of a group. */
static int decode(struct spikes *s, unsigned int group, size_t from, size_t to, struct err *e)
{
	const struct index *x = s->index;
	struct fold_range range = { index_interval_from(x, from), index_interval_to(x, to - 1), x,
				    FOLD_READER_AT };
	size_t first;
	int ret;

	for (size_t i = 0; i < s->cnt; i++)
		s->candidates[i].level = 0;
	s->counted = fold_memory((enum index_group)group)->arg;
	s->counted_ns = range.from_ns;
	if (has_only_rates(s, group)) {
		if (range.from_ns < s->marks[from].from_ns)
			s->counted_ns = range.from_ns = s->marks[from].from_ns;
		if (range.to_ns > s->marks[to - 1].to_ns)
			range.to_ns = s->marks[to - 1].to_ns;
		return run(s, &fold_rates, &range, on_second_pass, e);
	}
	s->counted_ns = 0;
	/* skip intervals without known levels: a chain that begins there began before the window */
	ret = index_memory_first(x, (enum index_group)group, &first);
	from = from > first ? from : first;
	if (ret || from >= to)
		return ret;
	range.from_ns = index_interval_from(x, from);
	ret = index_memory_levels(x, s->a, (enum index_group)group, from, add_level, s);
	return ret ? ret : run(s, fold_memory((enum index_group)group), &range, on_second_pass, e);
}

static int second_pass(struct spikes *s, struct err *e)
{
	size_t cnt = s->index ? index_interval_cnt(s->index) : 0, i, end;
	int ret = 0;

	ret = spikes_list_chosen(s);
	if (ret < 0)
		return ret;
	if (!s->index) {
		ret = run_all(s, on_second_pass, e);
		return ret ? ret : finish(s);
	}
	s->marks = malloc((cnt + 1) * sizeof(*s->marks));
	if (!s->marks)
		return -ENOMEM;
	for (unsigned int g = 0; g < INDEX_GROUP_CNT && !ret; g++) {
		if (!is_asked(s, g))
			continue;
		ret = find_marks(s, g);
		for (i = 0; i < cnt && !ret; i = end + 1) {
			for (end = i; end < cnt && s->marks[end].to_ns; end++)
				;
			if (end > i)
				ret = decode(s, g, i, end, e);
		}
	}
	return ret ? ret : finish(s);
}

/*
 * Returns the parts of the index that a pass needs: the rates of objects if they suffice, else all
 * parts.
 */
static uint32_t parts_asked(const struct spikes *s, bool is_first)
{
	uint32_t asks = 0, kinds;

	for (unsigned int g = 0; g < INDEX_GROUP_CNT; g++) {
		kinds = fold_memory((enum index_group)g)->kinds;
		if (is_asked(s, g))
			asks |= (is_first ? kinds & fold_rates.kinds : has_only_rates(s, g)) ?
					fold_rates.asks : kinds;
	}
	return asks;
}

int spikes_find(struct analysis *a, const struct spikes_query *q, struct err *e)
{
	struct spikes s = { .a = a, .q = *q, .counted = UINT32_MAX };
	int ret = 0;

	ret = spikes_group(&s, true);
	if (!ret && q->window_ns % INDEX_GRANULE_NS == 0)
		ret = analysis_index_of(a, parts_asked(&s, true), &s.index, e);
	ret = ret < 0 ? ret : first_pass(&s, e);
	if (!ret && choose(&s)) {
		if (s.index)
			ret = analysis_index_of(a, parts_asked(&s, false), &s.index, e);
		ret = ret ?: second_pass(&s, e);
	}
	spikes_done(&s);
	return ret == -EBADMSG && s.index ? index_fail(s.index, ret, e) : ret;
}
