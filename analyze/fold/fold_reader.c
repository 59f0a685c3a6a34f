/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * A feed with one listener per machine; between two intervals of the index it stops to load
 * states.
 */
#include "analyze/fold/fold_reader.h"

#include <errno.h>
#include <stdlib.h>

#include "analyze/fold/feed.h"
#include "base/array.h"

#define MINUTE_NS 60000000000ull

struct fold_reader {
	struct analysis *a;
	const struct index *index;
	struct feed *feed;
	struct fold_use uses[FEED_LISTENERS_MAX];
	void *machines[FEED_LISTENERS_MAX];
	uint64_t from_ns[FEED_LISTENERS_MAX];	/* where each machine begins */
	unsigned int cnt;
	size_t first_block;
	bool has_edges;
	uint64_t begin_ns;		/* of first_block */
	uint64_t reload_ns;		/* the next interval, whose states are to be loaded */
	struct buf mem;
};

uint64_t fold_edge_after(const struct analysis *a, uint64_t ts_ns)
{
	size_t cnt, i;
	const struct trace_block *b = trace_blocks(a->trace, &cnt);

	i = lower_bound(b, cnt, from_ns, ts_ns);
	if (i && ts_ns <= b[i - 1].to_ns)
		return b[i - 1].to_ns;
	return i < cnt ? b[i].from_ns : ts_ns > a->end_ns ? ts_ns : a->end_ns;
}

/* What a damaged index means is said by who uses it. */
static int fail(struct err *e, int ret)
{
	return ret == -EBADMSG ? ret : err_set(e, ret, "out of memory");
}

/* The last block at or before an instant whose keyframe and later events tell all. */
static size_t clean_block_at(const struct analysis *a, uint64_t ts_ns)
{
	size_t cnt, i, at = 0;
	const struct trace_block *b = trace_blocks(a->trace, &cnt);

	for (i = 0; i < cnt && b[i].from_ns <= ts_ns; i++)
		if (a->block_is_clean[i])
			at = i;
	return at;
}

static int load(struct fold_reader *r, unsigned int n, size_t interval)
{
	const struct fold_state_def *s = r->uses[n].def->state;
	struct packed_in in;
	int ret = index_read(r->index, interval, s->part, &r->mem, &in);

	return ret < 0 ? ret
		       : s->load(r->machines[n], index_interval_from(r->index, interval), &in,
				 false);
}

/* Finds the next instant at which a machine needs another state. */
static void set_reload(struct fold_reader *r, size_t interval)
{
	unsigned int n;

	r->reload_ns = UINT64_MAX;
	for (n = 0; n < r->cnt; n++)
		if (r->uses[n].def->state && !r->uses[n].def->state->is_whole &&
		    interval + 1 < index_interval_cnt(r->index))
			r->reload_ns = index_interval_to(r->index, interval);
}

/* The states that the machines begin with, and from where on they have to be fed. */
static int place_machine(struct fold_reader *r, const struct fold_range *range, unsigned int n,
			 struct err *e)
{
	const struct fold_def *def = r->uses[n].def;
	uint64_t ns = range->start == FOLD_READER_TRACE ? 0 : range->from_ns;
	size_t block = 0;
	struct packed_in in;
	int ret;

	if (def->state && range->start == FOLD_READER_TAIL) {
		r->from_ns[n] = ns;
		ret = index_read_tail(range->index, def->state->tail, &r->mem, &in);
		return ret < 0 ? ret : def->state->load(r->machines[n], ns, &in, true);
	}
	if (def->state && r->index && range->start == FOLD_READER_AT) {
		size_t interval = index_interval_at(r->index, ns);

		r->from_ns[n] = index_interval_from(r->index, interval);
		return load(r, n, interval);
	}
	if (def->begin == FOLD_FROM_EDGE) {
		block = clean_block_at(r->a, ns);
		r->first_block = block;
		r->begin_ns = r->a->start_ns;
		if (block) {
			size_t cnt;

			r->begin_ns = trace_blocks(r->a->trace, &cnt)[block].from_ns;
		}
		r->from_ns[n] = r->begin_ns;
	} else if (def->begin == FOLD_FROM_MINUTE) {
		r->from_ns[n] = ns > MINUTE_NS ? ns - MINUTE_NS : 0;
	}
	return def->start ? def->start(r->machines[n], r->from_ns[n], block, e) : 0;
}

static int open_feed(struct fold_reader *r, const struct fold_range *range, struct err *e)
{
	struct feed_range feed = { UINT64_MAX, range->to_ns, r->first_block };
	struct feed_listener listeners[FEED_LISTENERS_MAX];
	unsigned int n;

	for (n = 0; n < r->cnt; n++) {
		const struct fold_def *def = r->uses[n].def;

		listeners[n] = (struct feed_listener){
			.kinds = def->kinds, .columns = def->columns, .from_ns = r->from_ns[n],
			.ctx = r->machines[n], .event = def->event, .edge = def->edge,
			.reset = def->reset,
		};
		if (r->from_ns[n] < feed.from_ns)
			feed.from_ns = r->from_ns[n];
		if (def->edge)
			feed.to_ns = fold_edge_after(r->a, range->to_ns);
		if (def->undecided_ns)
			feed.to_ns = UINT64_MAX;
	}
	return feed_open(&r->feed, r->a, &feed, listeners, r->cnt, e);
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
	for (; r->cnt < cnt && !err; r->cnt++) {
		unsigned int n = r->cnt;

		r->uses[n] = uses[n];
		r->has_edges |= uses[n].def->edge != NULL;
		err = uses[n].def->open(&r->machines[n], uses[n].def, a, &uses[n].sink);
		if (!err)
			err = place_machine(r, range, n, e);
	}
	if (r->index && !err)
		set_reload(r, index_interval_at(r->index, range->from_ns));
	if (err < 0)
		fail(e, err);
	else
		err = open_feed(r, range, e);
	if (err < 0) {
		fold_reader_close(r);
		return err;
	}
	*ret = r;
	return 0;
}

void fold_reader_close(struct fold_reader *r)
{
	unsigned int n;

	if (!r)
		return;
	feed_close(r->feed);
	for (n = 0; n < r->cnt; n++)
		if (r->machines[n])
			r->uses[n].def->close(r->machines[n]);
	buf_done(&r->mem);
	free(r);
}

/* The machines are at the beginning of another interval. */
static int reload(struct fold_reader *r)
{
	size_t interval = index_interval_at(r->index, r->reload_ns);
	unsigned int n;
	int ret = 0;

	for (n = 0; n < r->cnt && !ret; n++)
		if (r->uses[n].def->state && !r->uses[n].def->state->is_whole)
			ret = load(r, n, interval);
	set_reload(r, interval);
	return ret;
}

static int tell_until(struct fold_reader *r, uint64_t to_ns)
{
	unsigned int n;
	int ret = 0;

	for (n = 0; n < r->cnt && ret >= 0; n++)
		if (r->uses[n].def->until)
			ret = r->uses[n].def->until(r->machines[n], to_ns);
	return ret;
}

int fold_reader_run(struct fold_reader *r, uint64_t to_ns, size_t max, uint64_t *ret_decided_ns,
		    struct err *e)
{
	int ret;

	if (r->has_edges)
		to_ns = fold_edge_after(r->a, to_ns);
	while (r->reload_ns < to_ns) {
		ret = feed_run(r->feed, r->reload_ns, max, e);
		if (ret)
			return ret;
		ret = reload(r);
		if (ret < 0)
			return fail(e, ret);
	}
	ret = feed_run(r->feed, to_ns, max, e);
	if (ret)
		return ret;
	ret = tell_until(r, to_ns);
	if (ret < 0)
		return err_set(e, ret, "out of memory");
	if (ret_decided_ns)
		*ret_decided_ns = to_ns;
	return 0;
}

int fold_reader_run_on(struct fold_reader *r, uint64_t to_ns, struct err *e)
{
	const struct fold_def *def = r->uses[0].def;
	int ret;

	while (def->undecided_ns && def->undecided_ns(r->machines[0]) < to_ns) {
		ret = feed_run(r->feed, UINT64_MAX, 1, e);
		if (ret < 0)
			return ret;
		if (ret)
			continue;
		ret = def->end ? def->end(r->machines[0]) : 0;
		return ret < 0 ? err_set(e, ret, "out of memory") : 0;
	}
	return 0;
}

void *fold_reader_machine(const struct fold_reader *r, unsigned int n)
{
	return r->machines[n];
}

uint64_t fold_reader_begin_ns(const struct fold_reader *r)
{
	return r->begin_ns;
}
