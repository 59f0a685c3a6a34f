/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * A loss touches [from, to) unless it begins at or after "to" or ends at or before "from". With
 * the beginnings and the ends each sorted and summed up, the answer is one subtraction. So is that
 * of the time in which a source was off: its times are joined and summed up when first asked for.
 */
#include "analyze/context/loss_index.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

static const char *const class_names[LOSS_CLASS_CNT] = { "task", "sched", "alloc", "block" };

static int compare_edges(const void *pa, const void *pb)
{
	const struct loss_edge *a = pa, *b = pb;

	return compare_numbers(a->ts_ns, b->ts_ns);
}

static void sum_up(struct loss_edge *edges, size_t cnt)
{
	size_t i;

	qsort(edges, cnt, sizeof(*edges), compare_edges);
	for (i = 1; i < cnt; i++)
		edges[i].sum_cnt += edges[i - 1].sum_cnt;
}

static int index_losses(struct loss_index *x, const struct trace *t)
{
	size_t cnt, i;
	const struct trace_loss *losses = trace_losses(t, &cnt);
	unsigned int c;

	for (c = 0; c < LOSS_CLASS_CNT; c++) {
		x->from[c] = calloc(cnt + 1, sizeof(**x->from));
		x->to[c] = calloc(cnt + 1, sizeof(**x->to));
		if (!x->from[c] || !x->to[c])
			return -ENOMEM;
	}
	for (i = 0; i < cnt; i++) {
		const struct trace_loss *l = &losses[i];
		uint64_t lost = l->full_cnt + l->other_cnt + l->missed_cnt;

		c = l->cls;
		if (c >= LOSS_CLASS_CNT || !lost)
			continue;
		x->from[c][x->cnt[c]] = (struct loss_edge){ l->from_ns, lost };
		/* an interval without length is an instant */
		x->to[c][x->cnt[c]++] = (struct loss_edge){
			l->to_ns > l->from_ns ? l->to_ns : l->from_ns + 1, lost };
	}
	for (c = 0; c < LOSS_CLASS_CNT; c++) {
		sum_up(x->from[c], x->cnt[c]);
		sum_up(x->to[c], x->cnt[c]);
	}
	return 0;
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
		x->holes[x->hole_cnt++] = (struct loss_span){ h.from_ns, h.to_ns, 0 };
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
	unsigned int c;

	for (c = 0; c < LOSS_CLASS_CNT; c++) {
		free(x->from[c]);
		free(x->to[c]);
	}
	for (c = 0; c < LOSS_OFF_CNT; c++) {
		free(x->off[c].what);
		free(x->off[c].spans);
	}
	free(x->holes);
	memset(x, 0, sizeof(*x));
}

/* Sum of the edges at instants below ts. */
static uint64_t sum_below(const struct loss_edge *edges, size_t cnt, uint64_t ts_ns)
{
	size_t below = lower_bound(edges, cnt, ts_ns, ts_ns);

	return below ? edges[below - 1].sum_cnt : 0;
}

uint64_t loss_index_lost(const struct loss_index *x, unsigned int cls, uint64_t from_ns,
			 uint64_t to_ns)
{
	uint64_t lost = 0;
	unsigned int c;

	if (from_ns >= to_ns)
		return 0;
	for (c = 0; c < LOSS_CLASS_CNT; c++) {
		if (cls < LOSS_CLASS_CNT && c != cls)
			continue;
		lost += sum_below(x->from[c], x->cnt[c], to_ns);
		/* ends at or before from: below from + 1 */
		lost -= sum_below(x->to[c], x->cnt[c], from_ns + 1);
	}
	return lost;
}

static bool is_of(const char *source, const char *what)
{
	size_t len = strlen(what);

	return !strcmp(what, "all") || !strcmp(source, what) ||
	       (!strncmp(source, what, len) && source[len] == '.');
}

/* What is recorded on request is for questions that name it: nothing else of its class needs it. */
static bool is_needed_for(const char *source, const char *what)
{
	return is_of(source, what) && (strcmp(source, "sched.irq") || strcmp(what, "sched"));
}

/* The times in which what was off, each instant once. */
static int index_off(const struct loss_index *x, const char *what, struct loss_off *ret)
{
	size_t cnt, i, n = 0;
	const struct trace_gap *g = trace_gaps(x->trace, &cnt);
	struct loss_span *spans = calloc(cnt + 1, sizeof(*spans));
	uint64_t done = 0, sum = 0;

	ret->what = strdup(what);
	ret->spans = spans;
	if (!ret->what || !spans) {
		free(ret->what);
		free(spans);
		*ret = (struct loss_off){ 0 };
		return -ENOMEM;
	}
	for (i = 0; i < cnt; i++) {
		uint64_t from = g[i].from_ns > done ? g[i].from_ns : done;

		if (from >= g[i].to_ns || !is_needed_for(g[i].source, what))
			continue;
		done = g[i].to_ns;
		spans[n++] = (struct loss_span){ from, done, sum };
		sum += done - from;
	}
	ret->cnt = n;
	return 0;
}

/* NULL: out of memory. */
static const struct loss_off *find_off(struct loss_index *x, const char *what)
{
	struct loss_off *off;
	unsigned int i;

	for (i = 0; i < LOSS_OFF_CNT; i++)
		if (x->off[i].what && !strcmp(x->off[i].what, what))
			return &x->off[i];
	off = &x->off[x->next_off++ % LOSS_OFF_CNT];
	free(off->what);
	free(off->spans);
	return index_off(x, what, off) < 0 ? NULL : off;
}

/* How much of the time before an instant the spans have. */
static uint64_t span_sum(const struct loss_off *off, uint64_t ts_ns)
{
	size_t n = lower_bound(off->spans, off->cnt, from_ns, ts_ns);
	const struct loss_span *s = n ? &off->spans[n - 1] : NULL;

	return s ? s->sum_ns + (ts_ns < s->to_ns ? ts_ns : s->to_ns) - s->from_ns : 0;
}

uint64_t loss_index_off_ns(struct loss_index *x, const char *what, uint64_t from_ns,
			   uint64_t to_ns)
{
	const struct loss_off *off = from_ns < to_ns ? find_off(x, what) : NULL;

	if (from_ns >= to_ns)
		return 0;
	return off ? span_sum(off, to_ns) - span_sum(off, from_ns) : to_ns - from_ns;
}

bool loss_index_recorded(const struct loss_index *x, const char *what)
{
	static const char *const needs[][2] = {
		{ "sched", "sched.switch" }, { "sched", "sched.wakeup" }, { "alloc", "alloc.rss" },
		{ "alloc", "alloc.slab" },   { "alloc", "alloc.page" },
	};
	size_t i;

	if (strcmp(what, "all") && !trace_was_recorded(x->trace, what))
		return false;
	for (i = 0; i < sizeof(needs) / sizeof(*needs); i++)
		if (!strcmp(what, needs[i][0]) && !trace_was_recorded(x->trace, needs[i][1]))
			return false;
	return true;
}

bool loss_index_covered(struct loss_index *x, uint64_t from_ns, uint64_t to_ns)
{
	size_t cnt, i;

	trace_damages(x->trace, &cnt);
	if (cnt != x->damage_cnt && index_holes(x) < 0)
		return false;
	if (from_ns < x->start_ns || to_ns > x->end_ns)
		return false;
	/* the first hole that ends behind "from" */
	i = lower_bound(x->holes, x->hole_cnt, to_ns, from_ns + 1);
	return i == x->hole_cnt || x->holes[i].from_ns >= to_ns;
}

const char *loss_class_name(unsigned int cls)
{
	return cls < LOSS_CLASS_CNT ? class_names[cls] : NULL;
}

unsigned int loss_source_class(const char *source)
{
	unsigned int c;

	for (c = 0; c < LOSS_CLASS_CNT; c++)
		if (is_of(source, class_names[c]))
			break;
	return c;
}

int loss_class_find(const char *name)
{
	unsigned int c;

	for (c = 0; c < LOSS_CLASS_CNT; c++)
		if (!strcmp(name, class_names[c]))
			return (int)c;
	return strcmp(name, "all") ? -1 : LOSS_CLASS_CNT;
}

bool loss_index_is_complete(struct loss_index *x, const char *what, unsigned int cls,
			    uint64_t from_ns, uint64_t to_ns)
{
	return !loss_index_lost(x, cls, from_ns, to_ns) &&
	       loss_index_covered(x, from_ns, to_ns) && loss_index_recorded(x, what) &&
	       !loss_index_off_ns(x, what, from_ns, to_ns);
}
