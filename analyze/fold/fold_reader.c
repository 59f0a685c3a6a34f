/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * fold_reader: merges three streams: events, edges of blocks, and resets of memory. Most entries
 * are events, so run() finds the next entry of the other streams, and passes on all events before
 * it without further checks. Between two intervals of the index, reading stops to load states.
 */
#include "analyze/fold/fold_reader.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"

#define ALL_COLUMNS (EVENT_COL_FLAGS * 2 - 1)

struct fold_reader {
	struct analysis *a;
	const struct index *index;
	struct fold_machine *machines[FOLD_USES_MAX];
	uint64_t from_ns[FOLD_USES_MAX];	/* start time of each machine */
	unsigned int cnt;
	uint64_t begin_ns;		/* the first edge passed on */
	/* beginning of the next interval for which states must be loaded */
	uint64_t reload_ns;
	struct buf mem;

	struct event_cursor *cursor;
	const struct event *next;	/* next_cnt events that have been read, but not passed on */
	size_t next_cnt;
	bool at_end;
	const struct trace_block *blocks;
	/*
	 * edge: the next edge, 2 * block for a block's beginning, 2 * block + 1 for its end.
	 * edge_cnt 0: no machine needs edges
	 */
	size_t edge, edge_cnt;
	/* the next reset; NULL: not read yet, its index is reset_at */
	const struct trace_mm_reset *reset;
	size_t reset_at, reset_cnt;
};

/*
 * Returns the first time at or after ts_ns up to which CPU time can be known: a block's edge, or
 * the trace's end.
 */
static uint64_t edge_after(const struct analysis *a, uint64_t ts_ns)
{
	size_t cnt, i;
	const struct trace_block *b = trace_blocks(a->trace, &cnt);

	i = lower_bound(b, cnt, from_ns, ts_ns);
	if (i && ts_ns <= b[i - 1].to_ns)
		return b[i - 1].to_ns;
	return i < cnt ? b[i].from_ns : ts_ns > a->end_ns ? ts_ns : a->end_ns;
}

/* ---- opening ---- */

/* Reports that the index is damaged if a machine's state could not be loaded. Returns ret. */
static int fail(const struct fold_reader *r, int ret, struct err *e)
{
	return ret == -EBADMSG && r->index ? index_fail(r->index, ret, e) : ret;
}

/*
 * Returns the last block that begins at or before ts_ns and is clean: no later block has an earlier
 * record.
 */
static size_t clean_block_at(const struct analysis *a, uint64_t ts_ns)
{
	size_t cnt, i, at = 0;
	const struct trace_block *b = trace_blocks(a->trace, &cnt);

	for (i = 0; i < cnt && b[i].from_ns <= ts_ns; i++)
		if (a->block_is_clean[i])
			at = i;
	return at;
}

/* Loads the state of an interval; is_tail: the whole state saved at the interval's beginning. */
static int load(struct fold_reader *r, const struct index *x, unsigned int n, size_t interval,
		bool is_tail)
{
	const struct fold_def *def = r->machines[n]->def;
	struct packed_in in;
	int ret = is_tail ? index_read_tail(x, def->state->tail + def->group, &r->mem, &in) :
			    index_read(x, interval, def->state->part + def->group, &r->mem, &in);

	return ret < 0 ? ret : def->state->load(r->machines[n], index_interval_from(x, interval),
						&in, is_tail);
}

/* Sets reload_ns to the end of the interval if a machine needs a new state there. */
static void set_reload(struct fold_reader *r, size_t interval)
{
	r->reload_ns = UINT64_MAX;
	for (unsigned int n = 0; n < r->cnt; n++)
		if (r->machines[n]->def->state && r->machines[n]->def->state->put_interval &&
		    interval + 1 < index_interval_cnt(r->index))
			r->reload_ns = index_interval_to(r->index, interval);
}

/*
 * Starts a machine at a clean keyframe at or before ns. A machine with a state loads the state of
 * the interval that begins there; without an index it starts at the trace's start instead.
 */
static int place_at_edge(struct fold_reader *r, const struct fold_range *range, unsigned int n,
			 uint64_t ns, struct err *e)
{
	const struct fold_def *def = r->machines[n]->def;
	size_t block = def->state && !range->index ? 0 : clean_block_at(r->a, ns), cnt;
	int ret;

	if (def->edge)
		r->edge = 2 * block;
	r->begin_ns = block ? trace_blocks(r->a->trace, &cnt)[block].from_ns : r->a->start_ns;
	r->from_ns[n] = block || !def->state ? r->begin_ns : 0;
	ret = def->start ? def->start(r->machines[n], r->begin_ns, block, e) : 0;
	if (ret < 0 || !block || !def->state || range->start == FOLD_READER_NEW)
		return ret;
	return load(r, range->index, n, block,
		    range->start == FOLD_READER_TAIL && r->begin_ns == range->from_ns);
}

/* Sets a machine's initial state, and the time from which it needs events. */
static int place_machine(struct fold_reader *r, const struct fold_range *range, unsigned int n,
			 struct err *e)
{
	const struct fold_def *def = r->machines[n]->def;
	uint64_t ns = range->start == FOLD_READER_TRACE ? 0 : range->from_ns;
	size_t interval = range->index ? index_interval_at(range->index, ns) : 0;

	if (range->checkpoint) {
		r->from_ns[n] = range->from_ns;
		return def->restore(r->machines[n], range->from_ns, range->checkpoint);
	}
	if (def->begin == FOLD_FROM_EDGE)
		return place_at_edge(r, range, n, ns, e);
	if (def->begin == FOLD_FROM_ANYWHERE) {
		r->from_ns[n] = ns;
		return 0;
	}
	if (range->start == FOLD_READER_NEW) {
		r->from_ns[n] = ns;
		return def->start ? def->start(r->machines[n], ns, interval, e) : 0;
	}
	if (def->state && range->index && range->start != FOLD_READER_TRACE) {
		r->from_ns[n] = index_interval_from(range->index, interval);
		return load(r, range->index, n, interval, range->start == FOLD_READER_TAIL);
	}
	return def->start ? def->start(r->machines[n], 0, 0, e) : 0;
}

static int open_cursor(struct fold_reader *r, uint64_t from_ns, uint64_t to_ns, struct err *e)
{
	uint32_t columns[EVENT_KIND_CNT] = { 0 }, kinds = 0, k;

	for (unsigned int n = 0; n < r->cnt; n++) {
		const struct fold_def *def = r->machines[n]->def;

		kinds |= def->kinds;
		for (k = 0; k < EVENT_KIND_CNT; k++)
			if (def->kinds & 1u << k)
				columns[k] |= def->columns ? def->columns[k] : ALL_COLUMNS;
	}
	return event_cursor_open_columns(&r->cursor, r->a->trace, kinds, columns, from_ns, to_ns,
					 e);
}

/* Opens the streams that the machines need, from the earliest start time of a machine. */
static int open_streams(struct fold_reader *r, uint64_t to_ns, struct err *e)
{
	uint64_t from_ns = UINT64_MAX, end_ns = to_ns;
	bool wants_resets = false;
	int ret;

	for (unsigned int n = 0; n < r->cnt; n++) {
		const struct fold_def *def = r->machines[n]->def;

		from_ns = r->from_ns[n] < from_ns ? r->from_ns[n] : from_ns;
		wants_resets |= def->reset != NULL;
		if (def->edge && end_ns != UINT64_MAX)
			end_ns = edge_after(r->a, to_ns);
		if (def->undecided_ns)
			end_ns = UINT64_MAX;
	}
	if (wants_resets) {
		ret = trace_mm_resets_prepare(r->a->trace);
		if (ret < 0)
			return ret;
		r->reset_cnt = trace_mm_reset_cnt(r->a->trace);
		if (from_ns && r->reset_cnt)
			r->reset_at = trace_mm_reset_from(r->a->trace, from_ns);
	}
	return open_cursor(r, from_ns, end_ns, e);
}

/* Continues a machine from its current state. */
static int resume_machine(struct fold_reader *r, const struct fold_range *range,
			  const struct fold_use *use)
{
	struct fold_machine *m = *use->kept;

	*use->kept = NULL;
	m->sink = use->sink;
	r->from_ns[r->cnt] = range->from_ns;
	r->machines[r->cnt++] = m;
	return use->def->resume(m);
}

static int open_machine(struct fold_reader *r, const struct fold_range *range,
			const struct fold_use *use, struct err *e)
{
	unsigned int n = r->cnt;
	struct fold_machine *m;
	int ret;

	if (use->kept && *use->kept)
		return resume_machine(r, range, use);
	m = calloc(1, use->def->bytes);
	if (!m)
		return -ENOMEM;
	r->machines[r->cnt++] = m;
	*m = (struct fold_machine){ r->a, use->def, use->sink };
	if (use->def->edge) {
		r->blocks = trace_blocks(r->a->trace, &r->edge_cnt);
		r->edge_cnt *= 2;
	}
	ret = use->def->open ? use->def->open(m) : 0;
	return ret < 0 ? ret : place_machine(r, range, n, e);
}

int fold_reader_open(struct fold_reader **ret, struct analysis *a, const struct fold_range *range,
		     const struct fold_use *uses, unsigned int cnt, struct err *e)
{
	struct fold_reader *r = calloc(1, sizeof(*r));
	int err = 0;

	if (!r)
		return err_set(e, -ENOMEM, "out of memory");
	r->a = a;
	r->index = range->start == FOLD_READER_AT ? range->index : NULL;
	r->reload_ns = UINT64_MAX;
	for (unsigned int n = 0; n < cnt && !err; n++)
		err = open_machine(r, range, &uses[n], e);
	if (r->index && !err)
		set_reload(r, index_interval_at(r->index, range->from_ns));
	err = err < 0 ? fail(r, err, e) : open_streams(r, range->to_ns, e);
	if (err < 0) {
		fold_reader_close(r);
		return err;
	}
	*ret = r;
	return 0;
}

void fold_machine_free(struct fold_machine *m)
{
	if (m && m->def->close)
		m->def->close(m);
	free(m);
}

void fold_reader_close(struct fold_reader *r)
{
	if (!r)
		return;
	event_cursor_close(r->cursor);
	for (unsigned int n = 0; n < r->cnt; n++)
		fold_machine_free(r->machines[n]);
	buf_done(&r->mem);
	free(r);
}

/* ---- the three streams ---- */

static int read_event(struct fold_reader *r, struct err *e)
{
	int ret;

	if (r->next_cnt || r->at_end)
		return 0;
	ret = event_cursor_next_all(r->cursor, &r->next, &r->next_cnt, e);
	r->at_end = !ret;
	return ret < 0 ? ret : 0;
}

static uint64_t edge_ns(const struct fold_reader *r)
{
	const struct trace_block *b;

	if (r->edge == r->edge_cnt)
		return UINT64_MAX;
	b = &r->blocks[r->edge / 2];
	return r->edge % 2 ? b->to_ns : b->from_ns;
}

static uint64_t reset_ns(struct fold_reader *r)
{
	if (!r->reset && r->reset_at < r->reset_cnt)
		r->reset = trace_mm_reset_at(r->a->trace, r->reset_at++);
	return r->reset ? r->reset->ts_ns : UINT64_MAX;
}

static int hand_out_to(const struct fold_reader *r, unsigned int n, const struct event *ev,
		       size_t cnt)
{
	const struct fold_def *def = r->machines[n]->def;
	const struct event *end = ev + cnt;
	uint32_t kinds = def->kinds;
	int ret = 0;

	while (ev < end && ev->ts_ns < r->from_ns[n])
		ev++;
	if (def->events && r->cnt == 1)
		return ev < end ? def->events(r->machines[n], ev, (size_t)(end - ev)) : 0;
	for (; ev < end && ret >= 0; ev++) {
		if (!(kinds >> ev->kind & 1))
			continue;
		ret = def->events ? def->events(r->machines[n], ev, 1) :
				    def->event(r->machines[n], ev);
	}
	return ret;
}

static int hand_out_events(struct fold_reader *r, const struct event *ev, size_t cnt)
{
	int ret = 0;

	for (unsigned int n = 0; n < r->cnt && ret >= 0; n++)
		ret = hand_out_to(r, n, ev, cnt);
	return ret;
}

static int hand_out_edge(struct fold_reader *r)
{
	int ret = 0;

	for (unsigned int i = 0; i < r->cnt && ret >= 0; i++)
		if (r->machines[i]->def->edge)
			ret = r->machines[i]->def->edge(r->machines[i], r->edge / 2, r->edge % 2);
	r->edge++;
	return ret;
}

static int hand_out_reset(struct fold_reader *r)
{
	int ret = 0;

	for (unsigned int i = 0; i < r->cnt && ret >= 0; i++)
		if (r->machines[i]->def->reset)
			ret = r->machines[i]->def->reset(r->machines[i], r->reset);
	r->reset = NULL;
	return ret;
}

/* Passes on events before to_ns and not after last_ns, at most *max. */
static int run_events(struct fold_reader *r, uint64_t to_ns, uint64_t last_ns, size_t *max,
		      struct err *e)
{
	uint64_t end_ns = last_ns < to_ns ? last_ns + 1 : to_ns;
	int ret = 0;

	while (ret >= 0 && *max) {
		const struct event *ev;
		size_t cnt = 0, most;

		ret = read_event(r, e);
		if (ret < 0)
			return ret;
		ev = r->next;
		most = r->next_cnt < *max ? r->next_cnt : *max;
		while (cnt < most && ev[cnt].ts_ns < end_ns)
			cnt++;
		if (!cnt)
			return 0;
		r->next += cnt;
		r->next_cnt -= cnt;
		*max -= cnt;
		ret = hand_out_events(r, ev, cnt);
	}
	return ret < 0 ? ret : 0;
}

/*
 * Passes on all events and resets before to_ns, and all edges at or before to_ns, at most max
 * entries in total. 1: entries are left; 0: all were passed on; -errno.
 */
static int run(struct fold_reader *r, uint64_t to_ns, size_t max, struct err *e)
{
	while (max) {
		uint64_t edge = edge_ns(r), reset = reset_ns(r);
		int ret = run_events(r, edge < to_ns ? edge : to_ns, reset, &max, e);

		if (ret < 0)
			return ret;
		if (!max)
			break;
		if (edge <= to_ns && edge <= reset && r->edge < r->edge_cnt)
			ret = hand_out_edge(r);
		else if (reset < to_ns)
			ret = hand_out_reset(r);
		else
			return 0;
		if (ret < 0)
			return ret;
		max--;
	}
	return 1;
}

/* ---- reading ---- */

/* Loads the states of the interval that the machines have reached. */
static int reload(struct fold_reader *r)
{
	size_t interval = index_interval_at(r->index, r->reload_ns);
	int ret = 0;

	for (unsigned int n = 0; n < r->cnt && !ret; n++)
		if (r->machines[n]->def->state && r->machines[n]->def->state->put_interval)
			ret = load(r, r->index, n, interval, false);
	set_reload(r, interval);
	return ret;
}

static int tell_until(struct fold_reader *r, uint64_t to_ns)
{
	int ret = 0;

	for (unsigned int n = 0; n < r->cnt && ret >= 0; n++)
		if (r->machines[n]->def->until)
			ret = r->machines[n]->def->until(r->machines[n], to_ns);
	return ret;
}

int fold_reader_run(struct fold_reader *r, uint64_t to_ns, size_t max, uint64_t *ret_decided_ns,
		    struct err *e)
{
	int ret;

	if (r->edge_cnt)
		to_ns = edge_after(r->a, to_ns);
	while (r->reload_ns < to_ns) {
		ret = run(r, r->reload_ns, max, e);
		if (ret)
			return ret;
		ret = reload(r);
		if (ret < 0)
			return fail(r, ret, e);
	}
	ret = run(r, to_ns, max, e);
	if (ret)
		return ret;
	ret = tell_until(r, to_ns);
	if (ret >= 0 && ret_decided_ns)
		*ret_decided_ns = to_ns;
	return ret < 0 ? ret : 0;
}

int fold_reader_run_on(struct fold_reader *r, uint64_t to_ns, struct err *e)
{
	const struct fold_def *def = r->machines[0]->def;
	int ret;

	while (def->undecided_ns && def->undecided_ns(r->machines[0]) < to_ns) {
		ret = run(r, UINT64_MAX, 1, e);
		if (ret < 0)
			return ret;
		if (ret)
			continue;
		return def->end ? def->end(r->machines[0]) : 0;
	}
	return 0;
}

void *fold_reader_machine(const struct fold_reader *r, unsigned int n)
{
	return r->machines[n];
}

struct fold_machine *fold_reader_take(struct fold_reader *r, unsigned int n)
{
	struct fold_machine *m = r->machines[n];

	r->machines[n] = NULL;
	return m;
}

uint64_t fold_reader_begin_ns(const struct fold_reader *r)
{
	return r->begin_ns;
}
