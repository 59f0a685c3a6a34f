/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * trace_finalize: completes a trace's lists when the rows of all blocks are loaded: it sorts the
 * lists, links them, and derives what needs all rows.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "format/hook.h"
#include "trace/trace_state.h"

static int process_cmp(const void *a, const void *b)
{
	const struct trace_process *x = a, *y = b;

	return x->upid < y->upid ? -1 : x->upid > y->upid;
}

static int thread_cmp(const void *a, const void *b)
{
	const struct trace_thread *x = a, *y = b;

	return x->utid < y->utid ? -1 : x->utid > y->utid;
}

static int name_cmp(const void *a, const void *b)
{
	const struct trace_name *x = a, *y = b;

	if (x->id != y->id)
		return x->id < y->id ? -1 : 1;
	return x->arg < y->arg ? -1 : x->arg > y->arg;
}

static void sort_list(struct trace_list *l, size_t item_bytes,
		      int (*cmp)(const void *, const void *))
{
	const char *v = l->v;
	size_t i;

	/* usually in order already: ids count up, and a refresh adds few */
	for (i = 1; i < l->cnt; i++)
		if (cmp(v + (i - 1) * item_bytes, v + i * item_bytes) > 0)
			break;
	if (i < l->cnt)
		qsort(l->v, l->cnt, item_bytes, cmp);
}

struct timed {
	uint64_t ts_ns;
	size_t at;
};

static int timed_cmp(const void *a, const void *b)
{
	const struct timed *x = a, *y = b;

	if (x->ts_ns != y->ts_ns)
		return x->ts_ns < y->ts_ns ? -1 : 1;
	return x->at < y->at ? -1 : x->at > y->at;
}

/* A stable sort by the uint64_t at the start of each item. */
static int sort_by_time(struct trace_list *l, size_t item_bytes)
{
	struct timed *order;
	bool sorted = true;
	char *v = l->v, *out;
	size_t i;

	order = malloc((l->cnt + 1) * sizeof(*order));
	if (!order)
		return -ENOMEM;
	for (i = 0; i < l->cnt; i++) {
		memcpy(&order[i].ts_ns, v + i * item_bytes, sizeof(uint64_t));
		order[i].at = i;
		sorted = sorted && (!i || order[i - 1].ts_ns <= order[i].ts_ns);
	}
	if (!sorted) {
		qsort(order, l->cnt, sizeof(*order), timed_cmp);
		out = malloc(l->cnt * item_bytes);
		if (!out) {
			free(order);
			return -ENOMEM;
		}
		for (i = 0; i < l->cnt; i++)
			memcpy(out + i * item_bytes, v + order[i].at * item_bytes, item_bytes);
		free(v);
		l->v = out;
		l->cap = l->cnt;
	}
	free(order);
	return 0;
}

_Static_assert(offsetof(struct trace_task_event, ts_ns) == 0, "sort_by_time");
_Static_assert(offsetof(struct trace_rss, ts_ns) == 0, "sort_by_time");
_Static_assert(offsetof(struct trace_clock, mono_ns) == 0, "sort_by_time");
_Static_assert(offsetof(struct trace_loss, from_ns) == 0, "sort_by_time");
_Static_assert(offsetof(struct trace_gap, from_ns) == 0, "sort_by_time");
_Static_assert(offsetof(struct trace_mark, ts_ns) == 0, "sort_by_time");

static int link_tasks(struct trace *t)
{
	struct trace_process *p = t->processes.v;
	struct trace_thread *h = t->threads.v;
	size_t i;

	sort_list(&t->processes, sizeof(*p), process_cmp);
	sort_list(&t->threads, sizeof(*h), thread_cmp);
	/* all keys are in the maps, so putting them again allocates nothing */
	for (i = 0; i < t->processes.cnt; i++)
		if (hash_map_put(&t->by_upid, p[i].upid, (void *)(uintptr_t)(i + 1)) < 0)
			return -ENOMEM;
	for (i = 0; i < t->threads.cnt; i++) {
		const struct trace_process *of = trace_process_find(t, h[i].upid);

		if (hash_map_put(&t->by_utid, h[i].utid, (void *)(uintptr_t)(i + 1)) < 0)
			return -ENOMEM;
		if (of)
			h[i].flags |= of->flags & (TRACE_TASK_RECORDER | TRACE_TASK_WORKLOAD);
	}
	return 0;
}

/* A refresh needs the map, because it adds names. */
static int finalize_names(struct trace *t, unsigned int type)
{
	struct trace_name *n = t->names[type].v;
	size_t i;

	sort_list(&t->names[type], sizeof(*n), name_cmp);
	for (i = 0; i < t->names[type].cnt; i++)
		if (hash_map_put(&t->by_name[type], trace_name_key(type, n[i].id, n[i].arg),
				 (void *)(uintptr_t)(i + 1)) < 0)
			return -ENOMEM;
	return 0;
}

/* The pool keeps equal texts once. */
static int number_marks(struct trace *t)
{
	struct trace_mark *m = t->marks.v;
	struct hash_map seen = { 0 };
	size_t i;
	int r = 0;

	for (i = 0; i < t->marks.cnt && r == 0; i++) {
		uint64_t text = (uintptr_t)m[i].text;

		m[i].nr = (uint32_t)(uintptr_t)hash_map_get(&seen, text) + 1;
		r = hash_map_put(&seen, text, (void *)(uintptr_t)m[i].nr);
	}
	hash_map_done(&seen);
	return r;
}

static int make_baselines(struct trace *t)
{
	const struct trace_rss *row = t->rss_snaps.v;
	size_t i;

	for (i = 0; i < t->rss_snaps.cnt; i++) {
		const struct trace_process *p = trace_process_find(t, row[i].upid);

		/*
		 * A process born during the recording starts from nothing, and its events have the
		 * rest.
		 */
		if (p && p->flags & TRACE_TASK_AT_START && trace_load_baseline(t, &row[i]) < 0)
			return -ENOMEM;
	}
	return 0;
}

static void estimate_costs(struct trace *t)
{
	struct trace_hook_stat *h = t->hook_stats.v;
	struct hook_mean means[256] = { { 0 } };	/* by hook, a byte */
	size_t i;

	for (i = 0; i < t->hook_stats.cnt; i++)
		hook_mean_add(&means[h[i].hook], &h[i]);
	for (i = 0; i < t->hook_stats.cnt; i++)
		h[i].cost_ns = hook_cost_ns(&h[i], &means[h[i].hook]);
}

int trace_finalize_list(struct trace *t, enum chunk_section_type type)
{
	switch (type) {
	case CHUNK_TASK_EVENTS:
		return sort_by_time(&t->task_events, sizeof(struct trace_task_event));
	case CHUNK_RSS_SNAPS:
		return sort_by_time(&t->rss_snaps, sizeof(struct trace_rss));
	case CHUNK_HOOK_STATS:
		estimate_costs(t);
		return 0;
	case CHUNK_SITES:
		return trace_sites_link(t);
	case CHUNK_CLOCKS:
		return sort_by_time(&t->clocks, sizeof(struct trace_clock));
	case CHUNK_LOSS:
		return sort_by_time(&t->losses, sizeof(struct trace_loss));
	case CHUNK_GAPS:
		return sort_by_time(&t->gaps, sizeof(struct trace_gap));
	case CHUNK_MARKS:
		if (sort_by_time(&t->marks, sizeof(struct trace_mark)) < 0)
			return -ENOMEM;
		return number_marks(t);
	default:
		return 0;
	}
}

void trace_finalize_blocks(struct trace *t)
{
	struct trace_block_more *m = t->more.v;
	const struct trace_block *b = t->blocks.v;
	uint64_t late = UINT64_MAX;
	size_t i;

	for (i = t->blocks.cnt; i-- > 0;) {
		if (b[i].first_ns < late)
			late = b[i].first_ns;
		m[i].late_ns = late;
	}
}

int trace_load_finish(struct trace *t)
{
	static const enum chunk_section_type lists[] = {
		CHUNK_HOOK_STATS, CHUNK_SITES, CHUNK_TASK_EVENTS, CHUNK_RSS_SNAPS,
		CHUNK_CLOCKS,	  CHUNK_LOSS,  CHUNK_MARKS,	  CHUNK_GAPS,
	};
	unsigned int type;
	size_t i;

	trace_finalize_blocks(t);
	t->has_mm_resets = false;
	if (link_tasks(t) < 0)
		return -ENOMEM;
	for (type = 1; type < TRACE_NAME_TYPE_CNT; type++)
		if (finalize_names(t, type) < 0)
			return -ENOMEM;
	for (i = 0; i < sizeof(lists) / sizeof(*lists); i++)
		if (trace_finalize_list(t, lists[i]) < 0)
			return -ENOMEM;
	return make_baselines(t);
}
