/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * trace_finalize: completes a trace's lists once the rows of all blocks are loaded: it sorts and
 * links the lists, and derives data that needs all rows. The resets of memory, which few callers
 * need, are derived on request; or they come with the lists of the derived file.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "trace/trace_state.h"

static uint64_t key_of(unsigned int list, const void *row)
{
	const struct trace_name *n = row;

	return list < TRACE_LIST_NAMES ? *(const uint32_t *)row
				       : trace_name_key(list - TRACE_LIST_NAMES, n->id, n->arg);
}

/* Returns whether a list is in order; marks it as sorted, since the caller then sorts it. */
static bool is_sorted(struct trace_list *l, int (*cmp)(const void *, const void *))
{
	const char *v = l->v;
	size_t i = l->sorted_cnt ?: 1;

	l->sorted_cnt = l->cnt;
	for (; i < l->cnt; i++)
		if (cmp(v + (i - 1) * l->row_bytes, v + i * l->row_bytes) > 0)
			return false;
	return true;
}

/*
 * Sorts a list by id, and updates the map of keys if the order changed: a refresh adds rows and
 * needs it.
 */
static int sort_by_id(struct trace *t, unsigned int list, int (*cmp)(const void *, const void *))
{
	struct trace_list *l = &t->rows[list];
	const char *v = l->v;

	/* usually in order already: ids count up, and a refresh adds few */
	if (is_sorted(l, cmp))
		return 0;
	qsort(l->v, l->cnt, l->row_bytes, cmp);
	/* all keys are in the map, so setting them again allocates nothing */
	for (size_t i = 0; i < l->cnt; i++)
		if (hash_map_put(&t->by_key[list], key_of(list, v + i * l->row_bytes),
				 (void *)(i + 1)) < 0)
			return -ENOMEM;
	return 0;
}

/* A stable sort by the uint64_t at the start of each row. */
static int sort_by_time(struct trace *t, unsigned int list)
{
	struct trace_list *l = &t->rows[list];
	size_t bytes = l->row_bytes, i;
	char *v = l->v, *out;
	size_t *order;

	if (is_sorted(l, compare_u64))
		return 0;
	order = array_order(v, l->cnt, bytes);
	out = malloc(l->cnt * bytes);
	if (!order || !out) {
		free(order);
		free(out);
		return -ENOMEM;
	}
	for (i = 0; i < l->cnt; i++)
		memcpy(out + i * bytes, v + order[i] * bytes, bytes);
	free(order);
	free(v);
	l->v = out;
	l->cap = l->cnt;
	return 0;
}

_Static_assert(offsetof(struct trace_task_event, ts_ns) == 0, "sort_by_time");
_Static_assert(offsetof(struct trace_rss, ts_ns) == 0, "sort_by_time");
_Static_assert(offsetof(struct trace_clock, mono_ns) == 0, "sort_by_time");
_Static_assert(offsetof(struct trace_loss, from_ns) == 0, "sort_by_time");
_Static_assert(offsetof(struct trace_gap, from_ns) == 0, "sort_by_time");
_Static_assert(offsetof(struct trace_quota, from_ns) == 0, "sort_by_time");
_Static_assert(offsetof(struct trace_mark, ts_ns) == 0, "sort_by_time");

/*
 * A thread gets the flags of its process when it is read, unless the process comes later or
 * changes. Mostly a thread has the process of the thread before, or the next one.
 */
static void link_tasks(struct trace *t)
{
	struct trace_thread *h = t->rows[CHUNK_THREADS].v;
	const struct trace_process *p = t->rows[CHUNK_PROCESSES].v;
	size_t cnt = trace_process_cnt(t), at = 0, i;

	if (!t->must_link)
		return;
	t->must_link = t->has_orphans = false;
	for (i = 0; i < trace_thread_cnt(t); i++) {
		at += at + 1 < cnt && p[at].upid < h[i].upid;
		if (at >= cnt || p[at].upid != h[i].upid)
			at = trace_process_index(t, h[i].upid);
		if (at < cnt)
			h[i].flags |= p[at].flags & TASK_FLAGS_OF_PROCESS;
		else
			at = 0, t->has_orphans |= h[i].upid >= EVENT_ID_FIRST;
	}
}

/* Numbers marks with equal text. The pool keeps equal texts once, so pointers identify them. */
int trace_number_marks(struct trace *t)
{
	struct trace_mark *m = t->rows[CHUNK_MARKS].v;
	struct hash_map seen = { 0 };
	int r = 0;

	for (size_t i = 0; i < t->rows[CHUNK_MARKS].cnt && r == 0; i++) {
		const char *text = strpool_put(t->strings, m[i].text);

		if (!text) {
			r = -ENOMEM;
			break;
		}
		m[i].nr = (uint32_t)(uintptr_t)hash_map_get(&seen, (uintptr_t)text) + 1;
		r = hash_map_put(&seen, (uintptr_t)text, (void *)(uintptr_t)m[i].nr);
	}
	hash_map_done(&seen);
	return r;
}

/*
 * A recorder reads its counters after the end of a slice. The losses that it found last count at
 * the trace's end, so that the losses of all windows add up to those of the trace. A trace that
 * still grows may yet cover the time of such a loss, and a loss that ends after a cut counts in the
 * next cut.
 */
static void end_losses(struct trace *t)
{
	struct trace_loss *l = t->rows[CHUNK_LOSS].v;
	uint64_t end_ns = trace_end_ns(t);
	size_t i;

	/* this may change the order of the losses */
	if (!t->is_live)
		t->rows[CHUNK_LOSS].sorted_cnt = 0;
	for (i = 0; i < t->rows[CHUNK_LOSS].cnt && !t->is_live && !trace_get(t, "cut.to_ns"); i++) {
		if (l[i].from_ns >= end_ns)
			l[i].from_ns = end_ns - 1;
		if (l[i].to_ns > end_ns)
			l[i].to_ns = end_ns;
	}
}

static int make_baselines(struct trace *t)
{
	const struct trace_rss *row = t->rows[CHUNK_RSS_SNAPS].v;

	for (size_t i = 0; i < t->rows[CHUNK_RSS_SNAPS].cnt; i++) {
		const struct trace_process *p = trace_process_find(t, row[i].upid);

		/*
		 * A process forked during the recording starts from nothing, and its events have
		 * the rest.
		 */
		if (p && p->flags & TRACE_TASK_AT_START && trace_load_baseline(t, &row[i]) < 0)
			return -ENOMEM;
	}
	return 0;
}

void trace_finalize_blocks(struct trace *t)
{
	struct trace_block_more *m = t->more.v;
	const struct trace_block *b = t->blocks.v;
	uint64_t late = UINT64_MAX;

	for (size_t i = t->blocks.cnt; i-- > 0;) {
		if (b[i].first_ns < late)
			late = b[i].first_ns;
		if (m[i].late_ns == late) /* set before a refresh; so are those of earlier blocks */
			break;
		m[i].late_ns = late;
	}
}

int trace_load_finish(struct trace *t)
{
	static const uint8_t by_time[] = { CHUNK_TASK_EVENTS, CHUNK_RSS_SNAPS, CHUNK_CLOCKS,
					   CHUNK_LOSS, CHUNK_MARKS, CHUNK_GAPS,
					   CHUNK_QUOTAS };

	trace_finalize_blocks(t);
	end_losses(t);
	if (sort_by_id(t, CHUNK_PROCESSES, compare_u32) < 0 ||
	    sort_by_id(t, CHUNK_THREADS, compare_u32) < 0)
		return -ENOMEM;
	link_tasks(t);
	for (unsigned int type = 1; type < TRACE_NAME_TYPE_CNT; type++)
		if (sort_by_id(t, TRACE_LIST_NAMES + type, compare_u64_pair) < 0)
			return -ENOMEM;
	for (size_t i = 0; i < sizeof(by_time); i++)
		if (sort_by_time(t, by_time[i]) < 0)
			return -ENOMEM;
	if (trace_number_marks(t) < 0 || trace_sites_link(t) < 0 ||
	    trace_stacks_reserve(t, t->rows[CHUNK_FRAMES].cnt) < 0)
		return -ENOMEM;
	trace_stacks_index(t);
	trace_estimate_costs(t);
	return make_baselines(t);
}

/* ---- resets of all processes' memory, by time ---- */

static int mm_reset_cmp(const void *a, const void *b)
{
	const struct trace_mm_reset *x = a, *y = b;

	return compare_numbers(x->ts_ns, y->ts_ns) ?: compare_numbers(x->kind, y->kind) ?:
	       compare_numbers(x->upid, y->upid);
}

/* Merges the rows from cnt on, which are in order, with those before. */
static int merge_resets(struct trace_mm_reset *v, size_t cnt, size_t all)
{
	size_t left = all - cnt, at = all;
	struct trace_mm_reset *added;

	if (!cnt || mm_reset_cmp(&v[cnt - 1], &v[cnt]) <= 0)
		return 0;
	added = malloc(left * sizeof(*added));
	if (!added)
		return -ENOMEM;
	memcpy(added, &v[cnt], left * sizeof(*added));
	while (left)
		v[--at] = cnt && mm_reset_cmp(&v[cnt - 1], &added[left - 1]) > 0 ? v[--cnt] :
										  added[--left];
	free(added);
	return 0;
}

int trace_mm_resets_prepare(struct trace *t)
{
	struct trace_list *l = &t->rows[TRACE_LIST_MM_RESETS];
	size_t cnt = t->sorted_reset_cnt, i;
	struct trace_mm_reset *v = l->v;

	if (t->lists || cnt == l->cnt)
		return 0;
	for (i = cnt; i < l->cnt; i++)
		if (!trace_process_find(t, v[i].upid))
			v[i].upid = EVENT_ID_UNKNOWN;
	qsort(&v[cnt], l->cnt - cnt, sizeof(*v), mm_reset_cmp);
	if (merge_resets(v, cnt, l->cnt) < 0)
		return -ENOMEM;
	t->sorted_reset_cnt = l->cnt;
	return 0;
}

size_t trace_mm_reset_cnt(const struct trace *t)
{
	return t->rows[TRACE_LIST_MM_RESETS].cnt;
}

const struct trace_mm_reset *trace_mm_reset_at(const struct trace *t, size_t i)
{
	return trace_row_at(t, TRACE_LIST_MM_RESETS, i);
}

size_t trace_mm_reset_from(const struct trace *t, uint64_t ts_ns)
{
	return trace_rows_from(t, TRACE_LIST_MM_RESETS, ts_ns);
}
