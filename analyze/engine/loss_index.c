/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * A loss touches [from, to) unless it begins at or after "to" or ends at or before "from". With
 * the beginnings and the ends each sorted and summed up, the answer is one subtraction.
 */
#include "analyze/engine/loss_index.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

static const char *const class_names[LOSS_CLASS_CNT] = { "task", "sched", "alloc", "block" };

static int compare_edges(const void *pa, const void *pb)
{
	const struct loss_edge *a = pa, *b = pb;

	return a->ts_ns < b->ts_ns ? -1 : a->ts_ns > b->ts_ns;
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

static int index_gaps(struct loss_index *x)
{
	struct trace_hole h = { 0 };
	uint64_t *gaps;
	size_t cnt;

	trace_blocks(x->trace, &cnt);
	gaps = calloc(2 * (cnt + 1), sizeof(*gaps));
	if (!gaps)
		return -ENOMEM;
	free(x->gaps);
	x->gaps = gaps;
	x->gap_cnt = 0;
	trace_damages(x->trace, &x->damage_cnt);
	while (x->gap_cnt <= cnt && trace_hole_next(x->trace, &h)) {
		x->gaps[2 * x->gap_cnt] = h.from_ns;
		x->gaps[2 * x->gap_cnt++ + 1] = h.to_ns;
	}
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
	return ret < 0 ? ret : index_gaps(x);
}

void loss_index_done(struct loss_index *x)
{
	unsigned int c;

	for (c = 0; c < LOSS_CLASS_CNT; c++) {
		free(x->from[c]);
		free(x->to[c]);
	}
	free(x->gaps);
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

uint64_t loss_index_off_ns(const struct loss_index *x, const char *what, uint64_t from_ns,
			   uint64_t to_ns)
{
	size_t cnt, i;
	const struct trace_gap *g = trace_gaps(x->trace, &cnt);
	uint64_t done = from_ns, sum = 0;

	/* by their beginning: what several have in common counts once */
	for (i = 0; i < cnt && g[i].from_ns < to_ns; i++) {
		uint64_t from = g[i].from_ns > done ? g[i].from_ns : done;
		uint64_t to = g[i].to_ns < to_ns ? g[i].to_ns : to_ns;

		if (from >= to || !is_needed_for(g[i].source, what))
			continue;
		sum += to - from;
		done = to;
	}
	return sum;
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
	if (cnt != x->damage_cnt && index_gaps(x) < 0)
		return false;
	if (from_ns < x->start_ns || to_ns > x->end_ns)
		return false;
	for (i = 0; i < x->gap_cnt; i++)
		if (x->gaps[2 * i] < to_ns && x->gaps[2 * i + 1] > from_ns)
			return false;
	return true;
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
