/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * loss_index: a loss overlaps [from, to) unless it begins at or after `to` or ends at or before
 * `from`. With prefix sums over the sorted beginnings and over the sorted ends, lost events are
 * counted by a subtraction.
 */
#include "analyze/context/loss_index.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/words.h"
#include "format/event.h"

static const char *const class_names[LOSS_CLASS_CNT] = { "task", "sched", "alloc", "block",
							 "cpu", "mem", "app" };

static void sum_up(struct loss_edge *edges, size_t cnt)
{
	qsort(edges, cnt, sizeof(*edges), compare_u64);
	for (size_t i = 1; i < cnt; i++) {
		edges[i].lost_cnt += edges[i - 1].lost_cnt;
		edges[i].lasting_cnt += edges[i - 1].lasting_cnt;
	}
}

/* Adds lost events to the edges of a source, which have space for max losses. 0 or -ENOMEM. */
static int add_loss(struct loss_index *x, const char *source, unsigned int cls, uint64_t from_ns,
		    uint64_t to_ns, uint64_t lost, uint64_t lasting, size_t max)
{
	struct loss_edges *s = x->edges;

	while (s < x->edges + x->source_cnt && strcmp(s->source, source))
		s++;
	if (s == x->edges + LOSS_SOURCE_CNT)
		return 0;
	if (s == x->edges + x->source_cnt) {
		*s = (struct loss_edges){ .source = source, .cls = cls };
		x->source_cnt++;
		s->from = calloc(max, sizeof(*s->from));
		s->to = calloc(max, sizeof(*s->to));
		if (!s->from || !s->to)
			return -ENOMEM;
	}
	s->from[s->cnt] = (struct loss_edge){ from_ns, lost, lasting };
	/* an empty interval counts as an instant */
	s->to[s->cnt++] =
		(struct loss_edge){ to_ns > from_ns ? to_ns : from_ns + 1, lost, lasting };
	return 0;
}

static int index_losses(struct loss_index *x, const struct trace *t)
{
	static const char before[] = "cut.lost_before.";
	size_t cnt, key_cnt, i;
	const struct trace_loss *losses = trace_losses(t, &cnt);
	const struct manifest_entry *m = trace_manifest(t, &key_cnt);
	int r = 0;

	for (i = 0; i < cnt && r == 0; i++) {
		const struct trace_loss *l = &losses[i];
		const struct hook_name *h = hook_name_find(l->hook);
		uint64_t lost = l->full_cnt + l->other_cnt + l->missed_cnt;

		/* use the class's name if this version of the program does not have the hook */
		if (l->cls < LOSS_CLASS_CNT && lost)
			r = add_loss(x, h && h->cls == l->cls ? h->source : class_names[l->cls],
				     l->cls, l->from_ns, l->to_ns, lost, trace_loss_lasting(l),
				     cnt + 1);
	}
	/* the time of losses before a cut is unknown: count them at time 0 */
	for (i = 0; i < key_cnt && r == 0; i++) {
		const char *source = m[i].key + sizeof(before) - 1;
		uint64_t lost;

		if (strncmp(m[i].key, before, sizeof(before) - 1))
			continue;
		lost = trace_get_number(t, m[i].key);
		if (lost && loss_source_class(source) < LOSS_CLASS_CNT)
			r = add_loss(x, source, loss_source_class(source), 0, 1, lost, lost,
				     cnt + 1);
	}
	for (struct loss_edges *s = x->edges; r == 0 && s < x->edges + x->source_cnt; s++) {
		sum_up(s->from, s->cnt);
		sum_up(s->to, s->cnt);
	}
	return r;
}

static int index_holes(struct loss_index *x)
{
	struct trace_hole h = { 0 };
	struct loss_span *holes;
	size_t cnt;

	trace_blocks(x->trace, &cnt);
	holes = calloc(cnt + 1, sizeof(*holes));
	if (!holes)
		return -ENOMEM;
	free(x->holes);
	x->holes = holes;
	x->hole_cnt = 0;
	trace_damages(x->trace, &x->damage_cnt);
	while (x->hole_cnt <= cnt && trace_hole_next(x->trace, &h))
		x->holes[x->hole_cnt++] = (struct loss_span){ h.from_ns, h.to_ns };
	return 0;
}

int loss_index_init(struct loss_index *x, const struct trace *t)
{
	int ret;

	memset(x, 0, sizeof(*x));
	x->trace = t;
	x->start_ns = trace_start_ns(t);
	x->end_ns = trace_end_ns(t);
	ret = index_losses(x, t);
	return ret < 0 ? ret : index_holes(x);
}

void loss_index_done(struct loss_index *x)
{
	for (unsigned int i = 0; i < x->source_cnt; i++) {
		free(x->edges[i].from);
		free(x->edges[i].to);
	}
	free(x->holes);
	memset(x, 0, sizeof(*x));
}

/* ---- lists of sources ---- */

/*
 * Returns the next source or class of a list, without its '?'. *ret_if_recorded: the word had a
 * '?'.
 */
static struct word next_source(const char **list, bool *ret_if_recorded)
{
	struct word w = word_next(list);

	*ret_if_recorded = w.len && w.s[w.len - 1] == '?';
	w.len -= *ret_if_recorded;
	return w;
}

/* Returns whether w and source are equal, or one is the class of the other. */
static bool is_of(const char *source, struct word w)
{
	int len = (int)strlen(source), both = len < w.len ? len : w.len;

	return !strncmp(source, w.s, both) &&
	       (len == w.len || (len > w.len ? source[w.len] : w.s[len]) == '.');
}

static bool is_in(const char *source, const char *list)
{
	bool if_recorded;

	while (*list)
		if (is_of(source, next_source(&list, &if_recorded)))
			return true;
	return false;
}

/*
 * Returns whether the list needs the source. A source that is recorded only on request is needed
 * only if the list contains its own name, not just its class.
 */
static bool is_needed_in(const char *source, const char *list)
{
	bool if_recorded;

	while (*list) {
		struct word w = next_source(&list, &if_recorded);

		if (is_of(source, w) && (strcmp(source, "sched.irq") || memchr(w.s, '.', w.len)))
			return true;
	}
	return false;
}

struct loss_needs loss_needs_of(struct loss_needs view, const char *source,
				char room[LOSS_SOURCES_MAX])
{
	if (*source) {
		snprintf(room, LOSS_SOURCES_MAX, "%s.%s", view.sources, source);
		view.sources = room;
	}
	return view;
}

/* ---- losses ---- */

/* Returns the sums of the edges before ts. */
static struct loss_edge sums_below(const struct loss_edge *edges, size_t cnt, uint64_t ts_ns)
{
	size_t below = lower_bound(edges, cnt, ts_ns, ts_ns);

	return below ? edges[below - 1] : (struct loss_edge){ 0 };
}

/*
 * Returns the number of events lost in losses that end in the window. *ret_touch: the number lost
 * in losses that overlap the window.
 */
static uint64_t lost_of(const struct loss_edges *s, uint64_t from_ns, uint64_t to_ns,
			uint64_t *ret_touch)
{
	/* also subtracts losses that end exactly at from_ns */
	uint64_t before = sums_below(s->to, s->cnt, from_ns + 1).lost_cnt;

	*ret_touch = 0;
	if (from_ns >= to_ns)
		return 0;
	*ret_touch = sums_below(s->from, s->cnt, to_ns).lost_cnt - before;
	return sums_below(s->to, s->cnt, to_ns + 1).lost_cnt - before;
}

uint64_t loss_index_lost(const struct loss_index *x, const char *sources, uint64_t from_ns,
			 uint64_t to_ns)
{
	const struct loss_edges *s;
	uint64_t lost = 0, touch;

	for (s = x->edges; s < x->edges + x->source_cnt; s++)
		lost += is_in(s->source, sources) ? lost_of(s, from_ns, to_ns, &touch) : 0;
	return lost;
}

/* ---- times off ---- */

uint64_t loss_index_off_ns(const struct loss_index *x, const char *sources, uint64_t from_ns,
			   uint64_t to_ns)
{
	size_t cnt, i;
	const struct trace_gap *g = trace_gaps(x->trace, &cnt);
	uint64_t off_ns = 0, done = from_ns;

	/* gaps are sorted by their beginnings; gaps of different sources may overlap */
	for (i = 0; i < cnt && g[i].from_ns < to_ns; i++) {
		uint64_t from = g[i].from_ns > done ? g[i].from_ns : done;
		uint64_t to = g[i].to_ns < to_ns ? g[i].to_ns : to_ns;

		if (from >= to || !is_needed_in(g[i].source, sources))
			continue;
		off_ns += to - from;
		done = to;
	}
	return off_ns;
}

/* ---- completeness ---- */

/* Returns the *ret_cnt holes that overlap the window, in order. NULL: out of memory. */
static const struct loss_span *find_holes(struct loss_index *x, uint64_t from_ns, uint64_t to_ns,
					  size_t *ret_cnt)
{
	size_t cnt, i, end;

	trace_damages(x->trace, &cnt);
	if (cnt != x->damage_cnt && index_holes(x) < 0)
		return NULL;
	i = lower_bound(x->holes, x->hole_cnt, to_ns, from_ns + 1);
	for (end = i; end < x->hole_cnt && x->holes[end].from_ns < to_ns; end++)
		;
	*ret_cnt = end - i;
	return x->holes + i;
}

bool loss_index_covered(struct loss_index *x, uint64_t from_ns, uint64_t to_ns)
{
	size_t cnt;

	return from_ns >= x->start_ns && to_ns <= x->end_ns &&
	       find_holes(x, from_ns, to_ns, &cnt) && !cnt;
}

/* Query and result of loss_index_is_complete(). */
struct ask {
	struct loss_index *x;
	struct loss_needs needs;
	uint64_t from_ns, to_ns;
	void (*tell)(void *ctx, const struct loss_missing *m);
	void *ctx;
	bool is_complete;
};

static void miss(struct ask *a, struct loss_missing m)
{
	a->is_complete = false;
	if (a->tell)
		a->tell(a->ctx, &m);
}

static void ask_lost(struct ask *a)
{
	const struct loss_index *x = a->x;

	for (unsigned int c = 0; c < LOSS_CLASS_CNT; c++) {
		/* a lost task event may affect the names in all later rows of any view */
		bool lasts = a->needs.reach & LOSS_STATE || c == EVENT_CLASS_TASK;
		uint64_t lost = 0, touch = 0, most = 0, before = 0;

		for (unsigned int i = 0; i < x->source_cnt; i++) {
			const struct loss_edges *s = &x->edges[i];

			if (s->cls != c || !is_in(s->source, a->needs.sources))
				continue;
			lost += lost_of(s, a->from_ns, a->to_ns, &touch);
			most += touch;
			before += lasts ? sums_below(s->to, s->cnt, a->from_ns + 1).lasting_cnt : 0;
		}
		if (most)
			miss(a, (struct loss_missing){ LOSS_EVENTS, .what = class_names[c],
						       .cnt = lost, .most = most });
		if (before)
			miss(a, (struct loss_missing){ LOSS_EARLIER, .what = class_names[c],
						       .cnt = before });
	}
}

static void ask_recorded(struct ask *a)
{
	const char *list = a->needs.sources;
	bool if_recorded;
	char source[32];

	while (*list) {
		struct word w = next_source(&list, &if_recorded);

		snprintf(source, sizeof(source), "%.*s", w.len, w.s);
		if (!if_recorded && !trace_was_recorded(a->x->trace, source))
			miss(a, (struct loss_missing){ LOSS_NOT_RECORDED, .what = source });
	}
}

/*
 * Allocations are not recorded in processes that use their own malloc, or that run without the
 * library.
 */
static void ask_heaps(struct ask *a)
{
	uint64_t own = trace_get_number(a->x->trace, "heap.own_malloc");
	uint64_t without = trace_get_number(a->x->trace, "heap.without");

	if (!is_needed_in("alloc.heap", a->needs.sources))
		return;
	if (own)
		miss(a, (struct loss_missing){
				.why = LOSS_HEAPS, .cnt = own,
				.what = trace_get(a->x->trace, "heap.own_malloc_pid") ?: "?" });
	if (without)
		miss(a, (struct loss_missing){ LOSS_HEAPS, .cnt = without });
}

static void ask_off(struct ask *a)
{
	uint64_t from = a->needs.reach & LOSS_LEVELS ? 0 : a->from_ns;
	size_t cnt, i, k;
	const struct trace_gap *g = trace_gaps(a->x->trace, &cnt);

	if (!loss_index_off_ns(a->x, a->needs.sources, from, a->to_ns))
		return;
	a->is_complete = false;
	for (i = 0; a->tell && i < cnt; i++) {
		uint64_t ns = is_needed_in(g[i].source, a->needs.sources) ?
				      loss_index_off_ns(a->x, g[i].source, from, a->to_ns) : 0;

		for (k = 0; ns && k < i; k++) /* report each source once */
			ns = strcmp(g[k].source, g[i].source) ? ns : 0;
		if (ns)
			miss(a, (struct loss_missing){ LOSS_OFF, .what = g[i].source, .cnt = ns,
						       .reason = g[i].reason });
	}
}

static void ask_covered(struct ask *a)
{
	struct loss_index *x = a->x;
	const char *lost = trace_get(x->trace, "manifest.lost");
	size_t cnt = 0;
	const struct loss_span *hole =
		find_holes(x, a->needs.reach & LOSS_BEFORE ? 0 : a->from_ns,
			   a->needs.reach & LOSS_AFTER ? UINT64_MAX : a->to_ns, &cnt);

	if (lost)
		miss(a, (struct loss_missing){ LOSS_MANIFEST, .reason = lost });
	if (a->to_ns <= x->start_ns || a->from_ns >= x->end_ns) {
		miss(a, (struct loss_missing){ LOSS_OUTSIDE });
	} else {
		if (a->from_ns < x->start_ns)
			miss(a, (struct loss_missing){ LOSS_TOO_EARLY });
		if (a->to_ns > x->end_ns)
			miss(a, (struct loss_missing){ LOSS_TOO_LATE });
	}
	a->is_complete &= hole && !cnt;
	if (a->needs.reach & LOSS_BEFORE && trace_get_number(x->trace, "cut.missing_before_ns"))
		miss(a, (struct loss_missing){ LOSS_HOLE_EARLIER });
	if (cnt)
		miss(a, (struct loss_missing){ LOSS_HOLE, .from_ns = hole->from_ns,
					       .to_ns = hole->to_ns });
	if (cnt > 1)
		miss(a, (struct loss_missing){ LOSS_HOLES, .cnt = cnt - 1 });
}

bool loss_index_is_complete(struct loss_index *x, struct loss_needs needs, uint64_t from_ns,
			    uint64_t to_ns, void (*tell)(void *ctx, const struct loss_missing *m),
			    void *ctx)
{
	struct ask a = { x, needs, from_ns, to_ns, tell, ctx, true };

	ask_lost(&a);
	ask_recorded(&a);
	ask_heaps(&a);
	ask_off(&a);
	ask_covered(&a);
	return a.is_complete;
}

const char *loss_class_name(unsigned int cls)
{
	return cls < LOSS_CLASS_CNT ? class_names[cls] : NULL;
}

unsigned int loss_source_class(const char *source)
{
	unsigned int c = LOSS_CLASS_CNT;
	bool if_recorded;
	struct word w = next_source(&source, &if_recorded);

	if (!*source)
		for (c = 0; c < LOSS_CLASS_CNT; c++)
			if (w.len >= (int)strlen(class_names[c]) && is_of(class_names[c], w))
				break;
	return c;
}
