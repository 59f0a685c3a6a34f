/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * spikes(from_ns, to_ns, spike_window_ns, spike_min_bytes, sources, by): bursts of allocation of
 * processes or of groups of them (analyze/fold/spikes.h). A burst is reported when it begins in
 * [from_ns, to_ns).
 */
#include <errno.h>
#include <string.h>

#include "analyze/fold/fold_memory.h"
#include "analyze/fold/spikes.h"
#include "analyze/views/view.h"
#include "table_columns.h"

/* page: most of its bytes are slab's and rss's again; vm: nothing is used by mapping it */
#define SPIKE_SOURCES "rss,slab,heap"

struct spikes_view {
	struct view v;
	struct spikes_query q;
};

static int give_spike(void *ctx, const struct spike *s)
{
	struct view *v = ctx;
	const struct burst_found *f = &s->found;
	struct cell *c;

	if (f->start_ns < v->w.from_ns || f->start_ns >= v->w.to_ns)
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
	for (; *list; list += strspn(list, ", ")) {
		size_t len = strcspn(list, ", ");
		int source = alloc_source_find(list, len);

		if (source < 0)
			return err_set(
				e, -EINVAL,
				"argument sources: \"%.*s\" is none of rss, slab, page, vm, heap",
				(int)(len < 40 ? len : 40), list);
		*mask |= 1u << source;
		list += len;
	}
	return 0;
}

/* "all": by process, by name, and all processes together. */
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
