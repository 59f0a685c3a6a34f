/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * view_spikes: bursts of allocation.
 *
 * spikes(from_ns, to_ns, spike_window_ns, spike_min_bytes, sources, by): bursts of allocation of
 * processes or of groups of processes (analyze/fold/spikes.h), by source.
 *
 * memory_spikes(from_ns, to_ns, spike_window_ns, spike_min_bytes, by): the same bursts without
 * repetition: one row per burst, even if several sources or groups show it.
 *
 *     spikes of processes, groups, the machine --[overlap in time]--> same burst? --> one row
 *
 * All reports use memory_spikes. A burst is reported if it begins in [from_ns, to_ns).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/fold/fold_memory.h"
#include "analyze/fold/spikes.h"
#include "analyze/views/view.h"
#include "base/array.h"
#include "base/words.h"
#include "table_columns.h"

/* Not page: slab and rss contain most of its bytes. Not vm: mapping uses no memory. */
#define SPIKE_SOURCES "rss,slab,heap"

enum spike_kind { SPIKE_PROCESS, SPIKE_GROUP, SPIKE_MACHINE };

/* A row of memory_spikes. */
struct shown_spike {
	struct spike spike;
	enum spike_kind kind;
	const char *group;	/* name of the group, or of the process's group; "": the machine */
	uint32_t also;			/* bits 1u << ALLOC_x: other sources that show the burst */
	char also_names[32];		/* joined by commas */
	bool is_dropped;		/* the burst is in another row */
};

struct spikes_view {
	struct view v;
	struct spikes_query q;
	struct shown_spike *shown;	/* for memory_spikes, ascending by start */
	size_t cnt, cap;
};

/*
 * Returns whether the burst begins in the window and, with a filter by name, belongs to a process
 * that has the name in the middle of the burst. For a group of a name, the group's first process
 * decides.
 */
static bool is_wanted(const struct view *v, const struct spike *s)
{
	const struct burst_found *f = &s->found;
	bool is_of_name = s->by == KEY(PROCESS) || s->by == KEY(COMM);

	return f->start_ns >= v->w.from_ns && f->start_ns < v->w.to_ns &&
	       (!is_of_name || scope_has_process_at(&v->a->question->scope, s->process,
						    f->start_ns + (f->end_ns - f->start_ns) / 2,
						    NULL));
}

static int give_spike(void *ctx, const struct spike *s)
{
	struct view *v = ctx;
	const struct burst_found *f = &s->found;
	struct cell *c;

	if (!is_wanted(v, s))
		return 0;
	c = view_row(v, 0, (void *)s);
	if (s->by == KEY(PROCESS))
		cell_int(&c[COL_SPIKES_UPID], dense_upid(&v->a->ids, s->process));
	else if (s->by)
		view_text(v, &c[COL_SPIKES_NAME],
			  task_keys_text(&v->a->keys, (enum report_by)__builtin_ctz(s->by),
					 s->process));
	else
		cell_text(&c[COL_SPIKES_NAME], "");
	cell_text(&c[COL_SPIKES_SOURCE], alloc_source_name(s->source));
	cell_int(&c[COL_SPIKES_DUR_NS], (int64_t)(f->end_ns - f->start_ns));
	if (f->end_ns > f->start_ns)
		cell_real(&c[COL_SPIKES_BYTES_PER_S],
			  (double)f->bytes * 1e9 / (double)(f->end_ns - f->start_ns));
	return 0;
}

static int parse_sources(uint32_t *mask, const char *list, struct err *e)
{
	while (*list) {
		struct word w = word_next(&list);
		int source = alloc_source_find(w.s, (size_t)w.len);

		if (source < 0)
			return err_set(
				e, -EINVAL,
				"argument sources: \"%.*s\" is none of rss, slab, page, vm, heap",
				w.len < 40 ? w.len : 40, w.s);
		*mask |= 1u << source;
	}
	return 0;
}

/* Parses the argument "by". "all": per process, per name, and all processes together. */
static int parse_by(struct spikes_query *s, const struct cell *arg, struct err *e)
{
	unsigned int by = KEY(PROCESS);

	s->by_cnt = 1;
	if (arg->type == VALUE_TEXT && !strcmp(arg->s, "all")) {
		s->by[s->by_cnt++] = KEY(COMM);
		s->by[s->by_cnt++] = 0;
	} else if (arg->type != VALUE_NULL &&
		   (arg->type != VALUE_TEXT || !keys_parse(arg->s, &by) || by & (by - 1) ||
		    by & ~(KEYS_TEXT | KEY(PROCESS)))) {
		return err_set(e, -EINVAL, "argument by: one key of processes is expected, such as "
					   "'process', 'comm', 'tree' or 'none', or 'all'");
	}
	s->by[0] = by;
	return 0;
}

static uint64_t number_or(const struct cell *arg, uint64_t otherwise)
{
	return arg->type == VALUE_INT && arg->i > 0 ? (uint64_t)arg->i : otherwise;
}

static int open_view(struct view *v, const struct table_query *q, struct err *e)
{
	struct spikes_query *s = &((struct spikes_view *)v)->q;
	int ret;

	*s = (struct spikes_query){ .window_ns = number_or(&q->args[2], SPIKE_WINDOW_NS),
				    .min_bytes = number_or(&q->args[3], 0),
				    .from_ns = v->w.from_ns, .to_ns = v->w.to_ns,
				    .any_baseline =
					    !(v->cols_used & 1u << COL_SPIKES_BASELINE_BYTES),
				    .found = give_spike, .ctx = v };
	ret = parse_by(s, &q->args[5], e);
	return ret ?: parse_sources(&s->source_mask,
			     q->args[4].type == VALUE_TEXT ? q->args[4].s : SPIKE_SOURCES, e);
}

static int run_bin(struct view *v, struct err *e)
{
	return spikes_find(v->a, &((struct spikes_view *)v)->q, e);
}

static const struct view_def spikes_view = {
	.is_one_bin = true, .open = open_view,
	.run_bin = run_bin,
};

const struct table_def table_spikes = VIEW_TABLE(SPIKES, spikes_view, struct spikes_view);

/* ---- memory_spikes ---- */

static int add_shown(void *ctx, const struct spike *s)
{
	struct spikes_view *x = ctx;
	struct shown_spike row = { .spike = *s, .group = "" };
	enum report_by key = (enum report_by)__builtin_ctz(x->q.by[1]);

	row.kind = s->by == KEY(PROCESS) ? SPIKE_PROCESS : s->by ? SPIKE_GROUP : SPIKE_MACHINE;
	if (s->by)
		row.group = task_keys_text(&x->v.a->keys, key, s->process);
	if (!row.group || array_add(&x->shown, &x->cap, &x->cnt, row) < 0)
		return -ENOMEM;
	return 0;
}

static int compare_starts(const void *a, const void *b)
{
	const struct spike *x = a, *y = b;

	if (x->found.start_ns != y->found.start_ns)
		return x->found.start_ns < y->found.start_ns ? -1 : 1;
	return x->source < y->source ? -1 : x->source > y->source;
}

/* Returns whether two bursts overlap for at least half of the longer one. */
static bool is_same_time(const struct burst_found *a, const struct burst_found *b)
{
	uint64_t start = a->start_ns > b->start_ns ? a->start_ns : b->start_ns;
	uint64_t end = a->end_ns < b->end_ns ? a->end_ns : b->end_ns;

	return start <= end && a->end_ns - a->start_ns <= 2 * (end - start) &&
	       b->end_ns - b->start_ns <= 2 * (end - start);
}

/* Returns whether b shows the burst of a. Both must be of the same process or group. */
static bool is_same(const struct shown_spike *a, const struct shown_spike *b)
{
	uint64_t bytes = a->spike.found.bytes, other = b->spike.found.bytes;

	/* pages beyond twice b's bytes are page cache, tmpfs or copies after a fork */
	if (a->spike.source == ALLOC_PAGE)
		return b->spike.source != ALLOC_PAGE && bytes <= 2 * other;
	return a->spike.source == ALLOC_HEAP && b->spike.source == ALLOC_RSS &&
	       bytes <= 2 * other && other <= 2 * bytes &&
	       is_same_time(&a->spike.found, &b->spike.found);
}

static void drop_into(struct shown_spike *a, struct shown_spike *b, unsigned int source)
{
	if (a->spike.source != source || !is_same(a, b))
		return;
	a->is_dropped = true;
	b->also |= a->also | 1u << source;
}

/* Drops a row of this source if another source of the same task shows the burst. */
static void drop_sources(struct shown_spike *a, struct shown_spike *b, unsigned int source)
{
	if (a->kind != b->kind || a->spike.process != b->spike.process)
		return;
	drop_into(a, b, source);
	drop_into(b, a, source);
}

static bool is_of_group(const struct shown_spike *process, const struct shown_spike *group)
{
	return process->kind == SPIKE_PROCESS && group->kind == SPIKE_GROUP &&
	       !strcmp(process->group, group->group);
}

/* Drops a group if one of its processes has at least half of the burst. */
static void drop_group(struct shown_spike *a, struct shown_spike *b)
{
	if (is_of_group(b, a) && 2 * b->spike.found.bytes >= a->spike.found.bytes)
		a->is_dropped = true;
}

static void drop_process(struct shown_spike *a, struct shown_spike *b)
{
	if (is_of_group(a, b))
		a->is_dropped = true;
}

enum { DROP_PAGE, DROP_HEAP, DROP_GROUPS, DROP_PROCESSES, DROP_STEPS };

/* Applies a step to all pairs of rows that overlap in time. */
static void drop(struct spikes_view *x, unsigned int step)
{
	for (size_t i = 0; i < x->cnt; i++) {
		struct shown_spike *a = &x->shown[i], *b;

		for (b = a + 1; b < x->shown + x->cnt &&
				b->spike.found.start_ns <= a->spike.found.end_ns; b++) {
			if (a->is_dropped || b->is_dropped)
				continue;
			if (step == DROP_PAGE) {
				drop_sources(a, b, ALLOC_PAGE);
			} else if (step == DROP_HEAP) {
				drop_sources(a, b, ALLOC_HEAP);
			} else if (step == DROP_GROUPS) {
				drop_group(a, b);
				drop_group(b, a);
			} else {
				drop_process(a, b);
				drop_process(b, a);
			}
		}
	}
}

/* Drops the machine's row if rows of processes and groups add up to at least half of the burst. */
static int drop_machine(struct spikes_view *x)
{
	uint64_t *sums = calloc(x->cnt + 1, sizeof(*sums));

	if (!sums)
		return -ENOMEM;
	for (size_t i = 0; i < x->cnt; i++) {
		const struct shown_spike *a = &x->shown[i], *b;

		for (b = a + 1; b < x->shown + x->cnt &&
				b->spike.found.start_ns <= a->spike.found.end_ns; b++) {
			if (a->is_dropped || b->is_dropped)
				continue;
			if (a->kind == SPIKE_MACHINE && b->kind != SPIKE_MACHINE)
				sums[i] += b->spike.found.bytes;
			if (b->kind == SPIKE_MACHINE && a->kind != SPIKE_MACHINE)
				sums[b - x->shown] += a->spike.found.bytes;
		}
	}
	for (size_t i = 0; i < x->cnt; i++)
		if (x->shown[i].kind == SPIKE_MACHINE &&
		    2 * sums[i] >= x->shown[i].spike.found.bytes)
			x->shown[i].is_dropped = true;
	free(sums);
	return 0;
}

static void give_shown(struct view *v, struct shown_spike *s)
{
	static const char *const kinds[] = { "process", "group", "machine" };
	const struct burst_found *f = &s->spike.found;
	struct cell *c;

	if (s->is_dropped || !is_wanted(v, &s->spike))
		return;
	for (unsigned int i = 0; i < ALLOC_SOURCE_CNT; i++)
		if (s->also & 1u << i) {
			strcat(s->also_names, *s->also_names ? "," : "");
			strcat(s->also_names, alloc_source_name(i));
		}
	c = view_row(v, 0, s);
	if (s->kind == SPIKE_PROCESS)
		cell_int(&c[COL_MEMORY_SPIKES_UPID], dense_upid(&v->a->ids, s->spike.process));
	cell_text(&c[COL_MEMORY_SPIKES_KIND], kinds[s->kind]);
	view_text(v, &c[COL_MEMORY_SPIKES_NAME], s->group);
	cell_text(&c[COL_MEMORY_SPIKES_SOURCE], alloc_source_name(s->spike.source));
	if (s->also)
		cell_text(&c[COL_MEMORY_SPIKES_ALSO], s->also_names);
	cell_int(&c[COL_MEMORY_SPIKES_DUR_NS], (int64_t)(f->end_ns - f->start_ns));
	if (f->end_ns > f->start_ns)
		cell_real(&c[COL_MEMORY_SPIKES_BYTES_PER_S],
			  (double)f->bytes * 1e9 / (double)(f->end_ns - f->start_ns));
}

static int open_shown(struct view *v, const struct table_query *q, struct err *e)
{
	struct spikes_view *x = (struct spikes_view *)v;
	unsigned int by = KEY(COMM);
	const struct cell *arg = &q->args[4];

	if (arg->type != VALUE_NULL &&
	    (arg->type != VALUE_TEXT || !keys_parse(arg->s, &by) || by & (by - 1) ||
	     by & ~(KEYS_TEXT | KEY(PROCESS))))
		return err_set(e, -EINVAL, "argument by: one key of processes is expected, such as "
					   "'comm' or 'tree'");
	x->q = (struct spikes_query){
		.window_ns = number_or(&q->args[2], SPIKE_WINDOW_NS),
		.min_bytes = number_or(&q->args[3], 0),
		.source_mask = 1u << ALLOC_RSS | 1u << ALLOC_SLAB | 1u << ALLOC_PAGE |
			       1u << ALLOC_HEAP,
		.by = { KEY(PROCESS), by == KEY(PROCESS) ? KEY(COMM) : by, 0 },
		.by_cnt = 3, .from_ns = v->w.from_ns, .to_ns = v->w.to_ns,
		.any_baseline = !(v->cols_used & 1u << COL_MEMORY_SPIKES_BASELINE_BYTES),
		.found = add_shown, .ctx = x,
	};
	return 0;
}

static int run_shown(struct view *v, struct err *e)
{
	struct spikes_view *x = (struct spikes_view *)v;
	int ret;

	x->cnt = 0;
	ret = spikes_find(v->a, &x->q, e);
	if (ret)
		return ret;
	if (x->cnt)
		qsort(x->shown, x->cnt, sizeof(*x->shown), compare_starts);
	for (unsigned int step = 0; step < DROP_STEPS; step++)
		drop(x, step);
	ret = drop_machine(x);
	for (size_t i = 0; i < x->cnt && !ret; i++)
		give_shown(v, &x->shown[i]);
	return ret;
}

static void close_shown(struct view *v)
{
	free(((struct spikes_view *)v)->shown);
}

static const struct view_def shown_view = {
	.is_one_bin = true, .open = open_shown, .run_bin = run_shown, .close = close_shown,
};

const struct table_def table_memory_spikes =
	VIEW_TABLE(MEMORY_SPIKES, shown_view, struct spikes_view);
