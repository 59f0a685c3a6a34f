/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * spikes(from_ns, to_ns, spike_window_ns, spike_min_bytes, sources): bursts of allocation of single
 * processes. For slab, page and heap what was allocated counts, freed or not; for rss and vm how
 * far the level rose.
 *
 * Two passes. The first sums up allocated bytes per process and source in bins of the spike window,
 * over the whole trace: ten times their median is the process's own threshold, 16 MiB at least,
 * unless spike_min_bytes is given. A window of that length lies in two neighbouring bins, so
 * whoever has no such pair over its threshold has no spike. The second pass runs only if somebody
 * has: it finds the bursts, event by event, and the level before each. A burst is reported when it
 * begins in [from_ns, to_ns).
 *
 * An index has the sums of the first pass, and the second decodes only intervals in which a
 * candidate has such a pair (spike_search.c).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/fold/fold_reader.h"
#include "analyze/fold/spike_search.h"
#include "analyze/engine/table.h"
#include "analyze/fold/window.h"

#define SPIKE_MEDIANS 10
#define SHORT_WINDOW 4	/* less than this part of the trace */
/* page: its bytes are slab's and rss's again; vm: nothing is used by mapping it */
#define SPIKE_SOURCES "rss,slab,heap"

static const struct table_column spike_cols[] = {
	{ "upid", COLUMN_INT },
	{ "source", COLUMN_TEXT },
	{ "start_ns", COLUMN_INT },
	{ "end_ns", COLUMN_INT },
	{ "dur_ns", COLUMN_INT },
	{ "bytes", COLUMN_INT },
	{ "bytes_per_s", COLUMN_REAL },
	{ "baseline_bytes", COLUMN_INT },
	{ "threshold_bytes", COLUMN_INT },
	{ "from_ns", COLUMN_INT },
	{ "to_ns", COLUMN_INT },
	{ "spike_window_ns", COLUMN_INT },
	{ "spike_min_bytes", COLUMN_INT },
	{ "sources", COLUMN_TEXT },
};

enum { SPIKE_COLS = 9 };

struct spike_scan {
	struct analysis *a;
	struct window w;
	uint64_t window_ns, min_bytes;
	uint32_t source_mask;
	const struct index *index;	/* NULL: none, or none that helps */
	struct spike_rates rates;
	struct spike_search search;
	bool done;
	struct rowbuf *out;
};

/* ---- first pass ---- */

static int on_first_pass(void *ctx, const void *found)
{
	struct spike_scan *s = ctx;
	const struct alloc_change *c = found;

	if (c->kind != ALLOC_CHANGE_ALLOC || c->process < EVENT_ID_FIRST ||
	    c->ts_ns < s->a->start_ns || !scope_has_process(&s->a->scope, c->process))
		return 0;
	return spike_rates_add(&s->rates, c->process, c->source,
			       (c->ts_ns - s->a->start_ns) / s->window_ns, (uint64_t)c->delta);
}

static bool group_is_asked(const struct spike_scan *s, unsigned int group)
{
	return fold_memory((enum index_group)group)->arg & s->source_mask;
}

/*
 * Who allocated anything in the window's intervals, as (upid, source): no one else can have a
 * spike that begins there. Of all who ever might have had one, a short window needs to know few.
 */
static int find_present(const struct spike_scan *s, size_t from, size_t to,
			struct hash_map *ret_present)
{
	struct spike_rates here;
	unsigned int g;
	uint32_t number;
	size_t i;
	int ret = 0;

	spike_rates_init(&here, s->a, s->window_ns);
	for (g = 0; g < INDEX_GROUP_CNT && !ret; g++)
		if (group_is_asked(s, g))
			ret = spike_rates_read(&here, s->index, (enum index_group)g, from, to);
	for (i = 0; i < here.cnt && ret >= 0; i++)
		ret = hash_map_intern(ret_present, dense_upid(&s->a->ids, here.rates[i].process),
				    here.rates[i].source, &number);
	spike_rates_done(&here);
	return ret < 0 ? ret : 0;
}

/* What the index has summed up already. 1: all there is to know; 0: the granules must be read. */
static int load_rates(struct spike_scan *s)
{
	size_t from = index_interval_at(s->index, s->w.from_ns),
	       to = index_interval_at(s->index, s->w.to_ns - 1) + 1;
	bool is_short = to - from < index_interval_cnt(s->index) / SHORT_WINDOW;
	struct hash_map present = { 0 };
	unsigned int g;
	int ret = 1;

	if (s->window_ns != SPIKE_WINDOW_NS || (s->min_bytes && s->min_bytes < SPIKE_MIN_BYTES))
		return 0;
	if (is_short) {
		ret = find_present(s, from, to, &present);
		ret = ret < 0 ? ret : 1;
	}
	for (g = 0; g < INDEX_GROUP_CNT && ret > 0; g++)
		if (group_is_asked(s, g))
			ret = spike_rates_load(&s->rates, s->index, (enum index_group)g,
					       is_short ? &present : NULL);
	hash_map_done(&present);
	return ret;
}

static int first_pass_index(struct spike_scan *s)
{
	unsigned int g;
	int ret = load_rates(s);

	if (ret)
		return ret < 0 ? ret : 0;
	spike_rates_done(&s->rates);
	spike_rates_init(&s->rates, s->a, s->window_ns);
	for (g = 0; g < INDEX_GROUP_CNT && !ret; g++)
		if (group_is_asked(s, g))
			ret = spike_rates_read(&s->rates, s->index, (enum index_group)g, 0,
					       index_interval_cnt(s->index));
	return ret ? ret : spike_rates_finish(&s->rates);
}

/* From the trace's start to its end: a burst that begins inside the window is whole. */
static int run_pass(struct spike_scan *s, const struct fold_sink *sink, struct err *e)
{
	const struct fold_range range = { .to_ns = s->a->end_ns, .start = FOLD_READER_TRACE };
	struct fold_def def;
	const struct fold_use use = { &def, *sink };
	struct fold_reader *reader;
	int ret;

	fold_memory_of(&def, s->source_mask);
	ret = fold_reader_open(&reader, s->a, &range, &use, 1, e);
	if (ret < 0)
		return ret;
	ret = fold_reader_run(reader, s->a->end_ns, SIZE_MAX, NULL, e);
	fold_reader_close(reader);
	return ret;
}

static int pick_candidates(struct spike_scan *s)
{
	size_t i;
	int ret = 0;

	for (i = 0; i < s->rates.cnt && !ret; i++) {
		const struct spike_rate *r = &s->rates.rates[i];
		uint64_t threshold = s->min_bytes;

		if (!threshold)
			threshold = r->median > SPIKE_MIN_BYTES / SPIKE_MEDIANS
					    ? r->median * SPIKE_MEDIANS
					    : SPIKE_MIN_BYTES;
		if (r->pair_max < threshold || !(s->source_mask & 1u << r->source) ||
		    !scope_has_process(&s->a->scope, r->process))
			continue;
		ret = spike_search_add(&s->search, r->process, r->source, threshold);
	}
	return ret;
}

/* ---- rows ---- */

static int give_spike(void *ctx, const struct spike_candidate *r, const struct burst_found *f)
{
	struct spike_scan *s = ctx;
	struct cell *c;

	if (f->start_ns < s->w.from_ns || f->start_ns >= s->w.to_ns)
		return 0;
	c = rowbuf_add(s->out);
	if (!c)
		return -ENOMEM;
	cell_int(&c[0], dense_upid(&s->a->ids, r->process));
	cell_text(&c[1], alloc_source_name(r->source));
	cell_int(&c[2], context_rel(s->a, f->start_ns));
	cell_int(&c[3], context_rel(s->a, f->end_ns));
	cell_int(&c[4], (int64_t)(f->end_ns - f->start_ns));
	cell_int(&c[5], (int64_t)f->bytes);
	if (f->end_ns > f->start_ns)
		cell_real(&c[6], (double)f->bytes * 1e9 / (double)(f->end_ns - f->start_ns));
	cell_int(&c[7], (int64_t)f->baseline);
	cell_int(&c[8], (int64_t)r->threshold);
	return 0;
}

static void spikes_close(void *state)
{
	struct spike_scan *s = state;

	spike_rates_done(&s->rates);
	spike_search_done(&s->search);
	free(s);
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

static int spikes_open(struct analysis *a, const struct table_def *def, const struct table_query *q,
		       void **ret_state, struct err *e)
{
	struct spike_scan *s = calloc(1, sizeof(*s));
	struct table_query window = *q;
	int ret;

	if (!s)
		return err_set(e, -ENOMEM, "out of memory");
	s->a = a;
	s->window_ns = q->args[2].type == VALUE_INT && q->args[2].i > 0 ? (uint64_t)q->args[2].i
									: SPIKE_WINDOW_NS;
	s->min_bytes =
		q->args[3].type == VALUE_INT && q->args[3].i > 0 ? (uint64_t)q->args[3].i : 0;
	ret = parse_sources(&s->source_mask,
			    q->args[4].type == VALUE_TEXT ? q->args[4].s : SPIKE_SOURCES, e);
	memset(&window.args[2], 0, sizeof(window.args[2]));
	if (!ret)
		ret = window_init(&s->w, a, &window, e);
	spike_rates_init(&s->rates, a, s->window_ns);
	spike_search_init(&s->search, a, s->window_ns, give_spike, s);
	if (ret < 0) {
		spikes_close(s);
		return ret;
	}
	*ret_state = s;
	return 0;
}

static int spikes_step(void *state, struct rowbuf *out, struct err *e)
{
	struct spike_scan *s = state;
	int ret;

	if (s->done || s->w.from_ns == s->w.to_ns)
		return 0;
	s->done = true;
	s->out = out;
	ret = analysis_index(s->a, &s->index, e);
	if (ret < 0)
		return ret;
	if (s->window_ns % INDEX_GRANULE_NS)
		s->index = NULL;
	if (s->index) {
		ret = first_pass_index(s);
		if (ret < 0)
			return index_fail(s->index, ret, e);
	} else {
		ret = run_pass(s, &(struct fold_sink){ s, on_first_pass }, e);
		if (!ret)
			ret = spike_rates_finish(&s->rates);
	}
	if (!ret)
		ret = pick_candidates(s);
	if (ret < 0 || !s->search.cnt)
		return ret < 0 ? err_set(e, ret, "%s", err_text(NULL, ret)) : 0;
	if (s->index) {
		ret = spike_search_index(&s->search, s->index, s->w.from_ns, s->w.to_ns, e);
		return ret == -EBADMSG ? index_fail(s->index, ret, e) : ret;
	}
	ret = run_pass(s, &(struct fold_sink){ &s->search, spike_search_change }, e);
	if (!ret)
		ret = spike_search_finish(&s->search);
	return ret < 0 ? err_set(e, ret, "out of memory") : 0;
}

const struct table_def tables_of_spikes[] = {
	{
		.name = "spikes", .doc = "bursts of allocation of single processes",
		.cols = spike_cols, .col_cnt = SPIKE_COLS, .arg_cnt = 5,
		.time_col = -1, .cpu_col = -1, .utid_col = -1, .key_col = -1,
		.open = spikes_open, .step = spikes_step, .close = spikes_close,
	},
	{ .name = NULL },
};
