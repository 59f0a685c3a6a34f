/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * block_count: the first pass over a slice's wire records. It counts them by hook and CPU, which gives block_fill the
 * places of rows and the caller its statistics, and finds the task records, in order of time.
 *
 * Every record passes here, so the loop does nothing that can be found out from the sums afterwards.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "chunk/block_state.h"
#include "chunk/chunk.h"

static int add_task(struct block_writer *w, const struct wire_hdr *h)
{
	if (w->task_cnt == w->task_cap) {
		size_t cap = w->task_cap ? w->task_cap * 2 : 1024;
		const struct wire_hdr **v = realloc(w->tasks, cap * sizeof(*v));

		if (!v)
			return -ENOMEM;
		w->tasks = v;
		w->task_cap = cap;
	}
	w->tasks[w->task_cnt++] = h;
	return 0;
}

/* What has no columns: task records, and rows of snapshots, which are no events and of no CPU. */
static int count_task(struct block_writer *w, const struct wire_hdr *h)
{
	if (h->hook != WIRE_TASK_SNAP) {
		if (h->cpu >= w->config.cpu_cnt) {
			w->stats.bad_cnt++;
			return 0;
		}
		w->stats.event_cnt[wire_hook_class[h->hook]]++;
		w->stats.late_cnt += h->ts_ns < w->from_ns;
	}
	return add_task(w, h);
}

static int count_segment(struct block_writer *w, const struct block_segment *g)
{
	const uint8_t *p = g->data, *end = p + g->bytes;
	unsigned int cpu_cnt = w->config.cpu_cnt;
	uint32_t *tally = w->tally;
	int r;

	while (p < end) {
		const struct wire_hdr *h = (const struct wire_hdr *)p;
		size_t bytes = wire_record_size_fast(p, (size_t)(end - p));

		if (!bytes) {
			w->stats.bad_cnt++;
			break;
		}
		p += bytes;
		__builtin_prefetch(p + BLOCK_AHEAD_BYTES);
		if (!wire_hook_kind[h->hook]) {
			r = count_task(w, h);
			if (r < 0)
				return r;
		} else if (h->cpu < cpu_cnt) {
			tally[h->cpu * WIRE_HOOK_MAX + h->hook]++;
		} else {
			w->stats.bad_cnt++;
		}
	}
	return 0;
}

/* What was counted by hook, by kind and by class. */
static void sum_tally(struct block_writer *w)
{
	unsigned int cpu, hook;

	memset(w->pos, 0, (size_t)EVENT_KIND_CNT * w->config.cpu_cnt * sizeof(*w->pos));
	for (cpu = 0; cpu < w->config.cpu_cnt; cpu++) {
		for (hook = 0; hook < WIRE_HOOK_MAX; hook++) {
			uint32_t n = w->tally[cpu * WIRE_HOOK_MAX + hook];

			w->pos[cpu * EVENT_KIND_CNT + wire_hook_kind[hook]] += n;
			w->stats.event_cnt[wire_hook_class[hook]] += n;
		}
	}
}

/* Keeps the order of arrival among equals: merge sort, which qsort() is not said to be. */
static int sort_tasks(struct block_writer *w)
{
	const struct wire_hdr **a = w->tasks, **b, **swap, **free_me;
	size_t n = w->task_cnt, step, i;

	b = malloc((n + 1) * sizeof(*b));
	if (!b)
		return -ENOMEM;
	free_me = b;
	for (step = 1; step < n; step *= 2) {
		for (i = 0; i < n; i += 2 * step) {
			size_t mid = i + step < n ? i + step : n;
			size_t end = mid + step < n ? mid + step : n;
			size_t l = i, r = mid, o = i;

			while (l < mid && r < end)
				b[o++] = a[l]->ts_ns <= a[r]->ts_ns ? a[l++] : a[r++];
			while (l < mid)
				b[o++] = a[l++];
			while (r < end)
				b[o++] = a[r++];
		}
		swap = a;
		a = b;
		b = swap;
	}
	if (a != w->tasks)
		memcpy(w->tasks, a, n * sizeof(*a));
	free(free_me);
	return 0;
}

int block_count_records(struct block_writer *w, const struct block_slice *s)
{
	uint64_t total = 0;
	size_t i;
	int r;

	memset(w->tally, 0, (size_t)WIRE_HOOK_MAX * w->config.cpu_cnt * sizeof(*w->tally));
	memset(&w->stats, 0, sizeof(w->stats));
	w->task_cnt = 0;
	for (i = 0; i < s->segment_cnt; i++) {
		r = count_segment(w, &s->segments[i]);
		if (r < 0)
			return r;
	}
	sum_tally(w);
	for (i = 0; i < 4; i++)
		total += w->stats.event_cnt[i];
	if (total > CHUNK_EVENTS_MAX)
		return -E2BIG;
	return sort_tasks(w);
}
