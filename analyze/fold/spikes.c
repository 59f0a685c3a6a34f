/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Bins are counted from the trace's start. A bin is hot for a candidate when it and the one before
 * reach the threshold together: while a burst is on, every event is in a hot bin, and events are
 * less than a window apart, so a burst lies in one run of neighbouring hot bins and the bin before
 * it. At the beginning of that bin no burst is on, and what came before is out of every window that
 * matters. So reading the intervals of such a run finds the run's bursts, whatever else is read or
 * left out.
 *
 * A burst ends in a hot bin. One that follows within a window begins in that bin or the next, so
 * the bins that it has hot begin at most two further on. So the bursts of a spike lie in one chain
 * of hot bins with at most one other bin between neighbours, and chains are read as a whole.
 */
#include "analyze/fold/spikes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/fold/fold_reader.h"
#include "analyze/fold/index_memory.h"
#include "analyze/fold/index_rates.h"
#include "base/array.h"

#define SPIKE_MIN_BYTES (16ull << 20)
#define SPIKE_MEDIANS 10
#define CHAIN_BINS 2	/* from a hot bin to the next one of the chain, at most */
#define SHORT_WINDOW 4	/* less than this part of the trace */

struct bin {
	uint64_t number, bytes;
};

struct candidate {		/* one process and source */
	uint32_t process;
	uint8_t source;
	bool is_chosen;		/* it may have a spike */
	struct bin *bins;	/* those with any bytes, ascending */
	size_t cnt, cap;
	uint64_t pair_max;	/* the most in two neighbouring bins */
	uint64_t median;	/* of the bins of the process's life */
	uint64_t threshold;
	int64_t level;
	struct burst burst;
	bool is_held;
	struct burst_found held;	/* a spike that may go on */
	uint64_t low;			/* of growth: the lowest base of its bursts */
};

struct spikes {
	struct analysis *a;
	const struct index *index;	/* NULL: none, or none that helps */
	struct spikes_query q;
	struct hash_map map;		/* (process, source) -> candidates */
	struct candidate *candidates;
	size_t cnt, cap;
	bool is_second;		/* the second pass: those that are not chosen are left out */
	/* which of its changes count: the sources (1u << ALLOC_x), and from when on */
	uint32_t counted;
	uint64_t counted_ns;
	uint8_t *marks;		/* by interval: it is decoded */
};

static void spikes_done(struct spikes *s)
{
	size_t i;

	for (i = 0; i < s->cnt; i++) {
		burst_done(&s->candidates[i].burst);
		free(s->candidates[i].bins);
	}
	free(s->candidates);
	free(s->marks);
	hash_map_done(&s->map);
}

/* ---- bytes per bin ---- */

static struct candidate *candidate_of(struct spikes *s, uint32_t process, unsigned int source)
{
	uint32_t i;
	int ret = hash_map_intern(&s->map, process, source, &i);

	if (ret < 0 || array_reserve(&s->candidates, &s->cap, i + 1) < 0)
		return NULL;
	if (ret) {
		s->candidates[i] =
			(struct candidate){ .process = process, .source = (uint8_t)source };
		s->cnt = i + 1;
	}
	return &s->candidates[i];
}

/* The same, unless it was not chosen; NULL: it is none. */
static struct candidate *chosen(const struct spikes *s, uint32_t process, unsigned int source)
{
	uint32_t i;

	return hash_map_find(&s->map, process, source, &i) && s->candidates[i].is_chosen ?
		       &s->candidates[i] : NULL;
}

static uint64_t pair_at(const struct candidate *c, size_t i)
{
	bool has_one_before = i && c->bins[i - 1].number + 1 == c->bins[i].number;

	return c->bins[i].bytes + (has_one_before ? c->bins[i - 1].bytes : 0);
}

/* In order of bins, for each process and source. */
static int add_bytes(struct spikes *s, uint32_t process, unsigned int source, uint64_t bin,
		     uint64_t bytes)
{
	struct candidate *c = s->is_second ? chosen(s, process, source) :
					     candidate_of(s, process, source);

	if (!c)
		return s->is_second ? 0 : -ENOMEM;
	if (!c->cnt || c->bins[c->cnt - 1].number != bin) {
		if (array_reserve(&c->bins, &c->cap, c->cnt + 1) < 0)
			return -ENOMEM;
		c->bins[c->cnt++] = (struct bin){ bin, 0 };
	}
	c->bins[c->cnt - 1].bytes += bytes;
	if (pair_at(c, c->cnt - 1) > c->pair_max)
		c->pair_max = pair_at(c, c->cnt - 1);
	return 0;
}

static int on_rate(void *ctx, uint32_t process, unsigned int source, uint64_t granule,
		   uint64_t bytes)
{
	struct spikes *s = ctx;

	return add_bytes(s, process, source, granule / (s->q.window_ns / INDEX_GRANULE_NS), bytes);
}

/* Adds what the index has of intervals [from, to) of a group. */
static int read_rates(struct spikes *s, const struct index *x, unsigned int group, size_t from,
		      size_t to)
{
	int ret = 0;

	for (; from < to && !ret; from++)
		ret = index_rates_read(x, s->a, (enum index_group)group, from, on_rate, s);
	return ret;
}

/*
 * Those bins of the process's life without any bytes are the zeros in front. sums: room for all
 * bins.
 */
static uint64_t median(const struct spikes *s, const struct candidate *c, uint64_t *sums)
{
	const struct trace_process *p = dense_process_row(&s->a->ids, c->process);
	uint64_t from = p && p->start_ns > s->a->start_ns ? p->start_ns : s->a->start_ns;
	uint64_t to = p && p->end_ns && p->end_ns < s->a->end_ns ? p->end_ns : s->a->end_ns;
	uint64_t bins = (to > from ? to - from : 0) / s->q.window_ns + 1, zeros;
	size_t i;

	zeros = bins > c->cnt ? bins - c->cnt : 0;
	bins = zeros + c->cnt;
	if (bins / 2 < zeros)
		return 0;
	for (i = 0; i < c->cnt; i++)
		sums[i] = c->bins[i].bytes;
	qsort(sums, c->cnt, sizeof(*sums), compare_u64);
	return sums[bins / 2 - zeros];
}

static int find_medians(struct spikes *s)
{
	uint64_t *sums;
	size_t i, max = 0;

	for (i = 0; i < s->cnt; i++)
		max = s->candidates[i].cnt > max ? s->candidates[i].cnt : max;
	sums = malloc((max + 1) * sizeof(*sums));
	if (!sums)
		return -ENOMEM;
	for (i = 0; i < s->cnt; i++)
		s->candidates[i].median = median(s, &s->candidates[i], sums);
	free(sums);
	return 0;
}

/* ---- the first pass, as an index keeps it ---- */

int spikes_save(struct index *x, struct zpack *z, struct analysis *a, enum index_group group)
{
	struct spikes s = { .a = a, .q.window_ns = SPIKE_WINDOW_NS };
	struct buf out = { 0 };
	size_t i, cnt = 0;
	int ret = read_rates(&s, x, group, 0, index_interval_cnt(x));

	if (!ret)
		ret = find_medians(&s);
	for (i = 0; i < s.cnt; i++)
		cnt += s.candidates[i].pair_max >= SPIKE_MIN_BYTES;
	packed_put(&out, cnt);
	for (i = 0; i < s.cnt; i++) {
		const struct candidate *c = &s.candidates[i];

		if (c->pair_max < SPIKE_MIN_BYTES)
			continue;
		packed_put(&out, (uint64_t)dense_upid(&s.a->ids, c->process) << 1 |
					 (c->source == ALLOC_VM));
		packed_put(&out, c->median);
		packed_put(&out, c->pair_max);
	}
	if (!ret)
		ret = index_add_tail(x, z, INDEX_TAIL_SPIKES + group, &out);
	buf_done(&out);
	spikes_done(&s);
	return ret;
}

/* 1: the group's medians and pairs are read; 0: they are not there. present: NULL: all. */
static int load_group(struct spikes *s, unsigned int group, const struct hash_map *present)
{
	struct buf mem = { 0 };
	struct packed_in in;
	int ret = index_read_tail(s->index, INDEX_TAIL_SPIKES + group, &mem, &in), source;
	bool is_there = !ret && in.p != in.end;
	size_t n;

	for (n = is_there ? packed_get_cnt(&in) : 0; n && !ret; n--) {
		uint64_t id = packed_get(&in), median_bytes = packed_get(&in),
			 pair = packed_get(&in);
		struct candidate *c;
		uint32_t i;

		source = index_memory_source((enum index_group)group, id & 1);
		if (source < 0) {
			ret = -EBADMSG;
			break;
		}
		if (present && !hash_map_find(present, id >> 1, (uint64_t)source, &i))
			continue;
		c = candidate_of(s, dense_process(&s->a->ids, (uint32_t)(id >> 1)),
				 (unsigned int)source);
		ret = c ? 0 : -ENOMEM;
		if (c) {
			c->median = median_bytes;
			c->pair_max = pair;
		}
	}
	if (!ret && in.bad)
		ret = -EBADMSG;
	buf_done(&mem);
	return ret < 0 ? ret : is_there;
}

static bool is_asked(const struct spikes *s, unsigned int group)
{
	return fold_memory((enum index_group)group)->arg & s->q.source_mask;
}

/* Reads intervals [from, to) of all groups that are asked for. */
static int read_asked(struct spikes *s, const struct index *x, size_t from, size_t to)
{
	unsigned int g;
	int ret = 0;

	for (g = 0; g < INDEX_GROUP_CNT && !ret; g++)
		if (is_asked(s, g))
			ret = read_rates(s, x, g, from, to);
	return ret;
}

/*
 * Who allocated anything in the window's intervals, as (upid, source): no one else can have a
 * spike that begins there. Of all who ever might have had one, a short window needs to know few.
 */
static int find_present(const struct spikes *s, size_t from, size_t to,
			struct hash_map *ret_present)
{
	struct spikes here = { .a = s->a, .q = s->q };
	uint32_t number;
	size_t i;
	int ret = read_asked(&here, s->index, from, to);

	for (i = 0; i < here.cnt && ret >= 0; i++)
		ret = hash_map_intern(ret_present,
				      dense_upid(&s->a->ids, here.candidates[i].process),
				      here.candidates[i].source, &number);
	spikes_done(&here);
	return ret < 0 ? ret : 0;
}

/* What the index has summed up already. 1: all there is to know; 0: the granules must be read. */
static int load_sums(struct spikes *s)
{
	size_t from = index_interval_at(s->index, s->q.from_ns),
	       to = index_interval_at(s->index, s->q.to_ns - 1) + 1;
	bool is_short = to - from < index_interval_cnt(s->index) / SHORT_WINDOW;
	struct hash_map present = { 0 };
	unsigned int g;
	int ret = 1;

	if (s->q.window_ns != SPIKE_WINDOW_NS ||
	    (s->q.min_bytes && s->q.min_bytes < SPIKE_MIN_BYTES))
		return 0;
	if (is_short) {
		ret = find_present(s, from, to, &present);
		ret = ret < 0 ? ret : 1;
	}
	for (g = 0; g < INDEX_GROUP_CNT && ret > 0; g++)
		if (is_asked(s, g))
			ret = load_group(s, g, is_short ? &present : NULL);
	hash_map_done(&present);
	return ret;
}

/* ---- the first pass ---- */

static int on_first_pass(void *ctx, const void *found)
{
	struct spikes *s = ctx;
	const struct alloc_change *c = found;

	if (c->kind != ALLOC_CHANGE_ALLOC || c->process < EVENT_ID_FIRST ||
	    c->ts_ns < s->a->start_ns || !scope_has_process(&s->a->scope, c->process))
		return 0;
	return add_bytes(s, c->process, c->source, (c->ts_ns - s->a->start_ns) / s->q.window_ns,
			 (uint64_t)c->delta);
}

/* Reads what a fold finds in a range of the trace. */
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

/* From the trace's start to its end: a burst that begins inside the window is whole. */
static int run_all(struct spikes *s, int (*found)(void *ctx, const void *found), struct err *e)
{
	const struct fold_range range = { .to_ns = s->a->end_ns, .start = FOLD_READER_TRACE };
	struct fold_def def;

	fold_memory_of(&def, s->q.source_mask);
	return run(s, &def, &range, found, e);
}

static int first_pass(struct spikes *s, struct err *e)
{
	int ret;

	if (!s->index) {
		ret = run_all(s, on_first_pass, e);
		return ret ? ret : find_medians(s);
	}
	ret = load_sums(s);
	if (ret)
		return ret < 0 ? ret : 0;
	ret = read_asked(s, s->index, 0, index_interval_cnt(s->index));
	return ret ? ret : find_medians(s);
}

/* Who may have a spike; only their sources matter from now on. False: nobody. */
static bool choose(struct spikes *s)
{
	uint32_t sources = 0;
	size_t i;

	for (i = 0; i < s->cnt; i++) {
		struct candidate *c = &s->candidates[i];

		c->threshold = s->q.min_bytes;
		if (!c->threshold)
			c->threshold = c->median > SPIKE_MIN_BYTES / SPIKE_MEDIANS
					       ? c->median * SPIKE_MEDIANS
					       : SPIKE_MIN_BYTES;
		c->is_chosen = c->pair_max >= c->threshold &&
			       s->q.source_mask & 1u << c->source &&
			       scope_has_process(&s->a->scope, c->process);
		if (c->is_chosen)
			sources |= 1u << c->source;
		burst_init(&c->burst, s->q.window_ns, c->threshold,
			   c->source == ALLOC_RSS || c->source == ALLOC_VM);
	}
	s->is_second = true;
	s->q.source_mask = sources;
	return sources;
}

/* ---- the second pass ---- */

static int give(const struct spikes *s, struct candidate *c)
{
	const struct spike spike = { c->process, c->source, c->threshold, c->held };

	if (!c->is_held)
		return 0;
	c->is_held = false;
	return s->q.found(s->q.ctx, &spike);
}

/*
 * A burst: part of the spike under way, or the beginning of the next. Bytes are those of all events
 * from the first to the last; growth is the most that the level rose from a burst's base on.
 */
static int add_burst(const struct spikes *s, struct candidate *c, const struct burst_found *f)
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
	c->low = f->base;
	c->is_held = true;
	return ret;
}

static int on_second_pass(void *ctx, const void *found)
{
	const struct spikes *s = ctx;
	const struct alloc_change *change = found;
	struct candidate *c = chosen(s, change->process, change->source);
	struct burst_found f;
	uint64_t level;
	int ret;

	if (!c || !(s->counted & 1u << change->source) || change->ts_ns < s->counted_ns)
		return 0;
	level = c->level > 0 ? (uint64_t)c->level : 0;
	c->level += change->delta;
	if (change->kind == ALLOC_CHANGE_BASELINE) {
		burst_shift(&c->burst, change->delta);
		c->low += (uint64_t)change->delta;
	}
	/* what a cut carried over is part of the level, and of no burst */
	if (change->kind != ALLOC_CHANGE_ALLOC || change->ts_ns < s->a->start_ns)
		return 0;
	ret = burst_add(&c->burst, change->ts_ns, (uint64_t)change->delta, level, &f);
	return ret > 0 ? add_burst(s, c, &f) : ret;
}

/* No more changes: what is under way ends. */
static int finish(struct spikes *s)
{
	struct burst_found f;
	size_t i;
	int ret = 0;

	for (i = 0; i < s->cnt && ret >= 0; i++) {
		struct candidate *c = &s->candidates[i];

		if (burst_finish(&c->burst, &f))
			ret = add_burst(s, c, &f);
		if (ret >= 0)
			ret = give(s, c);
	}
	return ret;
}

struct stretch {		/* intervals whose granules are known, and the window */
	size_t lo, hi;
	uint64_t from_bin, to_bin;	/* bins a burst of the window may have hot, [from, to) */
	uint64_t first, end;	/* bins whose pairs are known, [first, end) */
};

static void mark_intervals(struct spikes *s, uint64_t first_bin, uint64_t last_bin)
{
	uint64_t start = s->a->start_ns, w = s->q.window_ns;
	size_t i = index_interval_at(s->index, start + (first_bin ? first_bin - 1 : 0) * w);

	for (; i < index_interval_cnt(s->index) &&
	       index_interval_from(s->index, i) < start + (last_bin + 1) * w; i++)
		s->marks[i] = 1;
}

/*
 * Marks the candidate's chains of hot bins that touch the window. True: one may go beyond the
 * known.
 */
static bool mark_hot(struct spikes *s, const struct stretch *t, const struct candidate *c)
{
	const struct bin *b = c->bins;
	bool beyond = false;
	size_t i, k, last;

	for (i = 0; i < c->cnt; i = k) {
		k = i + 1;
		if (b[i].number < t->first || b[i].number >= t->end ||
		    pair_at(c, i) < c->threshold)
			continue;
		for (last = i; k < c->cnt && b[k].number <= b[last].number + CHAIN_BINS &&
			       b[k].number < t->end; k++)
			if (pair_at(c, k) >= c->threshold)
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
 * Reads granules of ever more intervals around the window until no chain of hot bins goes beyond.
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
		memset(s->marks, 0, cnt);
		for (i = 0; i < s->cnt; i++)
			if (sources & 1u << s->candidates[i].source)
				s->candidates[i].cnt = 0;
		ret = read_rates(s, x, group, t.lo, t.hi);
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
	struct candidate *c = chosen(s, index_memory_process(s->a, owner), source);

	if (c)
		c->level += level;
	return 0;
}

/* Objects need not be paired if nobody wants to know what a process held before a spike. */
static bool has_only_rates(const struct spikes *s, unsigned int group)
{
	return s->q.any_baseline && fold_memory((enum index_group)group)->kinds & fold_rates.kinds;
}

/* Decodes intervals [from, to) of a group. */
static int decode(struct spikes *s, unsigned int group, size_t from, size_t to, struct err *e)
{
	const struct index *x = s->index;
	const struct fold_range range = { index_interval_from(x, from),
					  index_interval_to(x, to - 1), x, FOLD_READER_AT };
	size_t i;
	int ret;

	for (i = 0; i < s->cnt; i++)
		s->candidates[i].level = 0;
	s->counted = fold_memory((enum index_group)group)->arg;
	s->counted_ns = range.from_ns;
	if (has_only_rates(s, group))
		return run(s, &fold_rates, &range, on_second_pass, e);
	s->counted_ns = 0;
	ret = index_memory_levels(x, s->a, (enum index_group)group, from, add_level, s);
	return ret ? ret : run(s, fold_memory((enum index_group)group), &range, on_second_pass, e);
}

static int second_pass(struct spikes *s, struct err *e)
{
	size_t cnt = s->index ? index_interval_cnt(s->index) : 0, i, end;
	unsigned int g;
	int ret = 0;

	if (!s->index) {
		ret = run_all(s, on_second_pass, e);
		return ret ? ret : finish(s);
	}
	s->marks = malloc(cnt + 1);
	if (!s->marks)
		return -ENOMEM;
	for (g = 0; g < INDEX_GROUP_CNT && !ret; g++) {
		if (!is_asked(s, g))
			continue;
		ret = find_marks(s, g);
		for (i = 0; i < cnt && !ret; i = end + 1) {
			for (end = i; end < cnt && s->marks[end]; end++)
				;
			if (end > i)
				ret = decode(s, g, i, end, e);
		}
	}
	return ret ? ret : finish(s);
}

/* The parts of the index that are needed: the rates of objects, or all of them. */
static uint32_t parts_asked(const struct spikes *s, bool only_rates)
{
	uint32_t asks = 0, kinds;
	unsigned int g;

	for (g = 0; g < INDEX_GROUP_CNT; g++) {
		kinds = fold_memory((enum index_group)g)->kinds;
		if (is_asked(s, g))
			asks |= only_rates && kinds & fold_rates.kinds ? fold_rates.asks : kinds;
	}
	return asks;
}

int spikes_find(struct analysis *a, const struct spikes_query *q, struct err *e)
{
	struct spikes s = { .a = a, .q = *q, .counted = UINT32_MAX };
	int ret = 0;

	if (q->window_ns % INDEX_GRANULE_NS == 0)
		ret = analysis_index_of(a, parts_asked(&s, true), &s.index, e);
	if (ret < 0)
		return ret;
	ret = first_pass(&s, e);
	if (!ret && choose(&s)) {
		if (s.index)
			ret = analysis_index_of(a, parts_asked(&s, q->any_baseline), &s.index, e);
		if (!ret)
			ret = second_pass(&s, e);
	}
	spikes_done(&s);
	if (ret == -ENOMEM)
		err_set(e, ret, "out of memory");
	return ret == -EBADMSG && s.index ? index_fail(s.index, ret, e) : ret;
}
