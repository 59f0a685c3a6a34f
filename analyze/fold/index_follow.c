/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * index_follow: an index in memory that continues as a live trace grows. It has the tails of its
 * jobs, machines that continue in place, and the parts of the last intervals: machines that begin
 * at a clean keyframe may begin some intervals earlier, and so may a burst.
 *
 * The recorder of a flight trace removes its oldest blocks, and then the trace has to be opened
 * again, which changes the numbers of intervals, threads and processes. In this case machines are
 * converted to tails, too. Parts keep their keys: key_base is added to an interval's number.
 */
#include "analyze/fold/index_job.h"

#include <errno.h>
#include <stdlib.h>

#include "analyze/fold/fold.h"
#include "base/array.h"
#include "trace/derived_file.h"

#define BEGIN_NS 60000000000ull	/* duration that is read before the first window, */
#define BEGIN_EVENTS 2000000	/* but limited to about this many events */
#define KEEP_NS 2000000000ull	/* duration for which parts are kept */
#define DROP_INTERVALS 4	/* old parts are dropped each time after this many intervals */

struct analysis_follow {
	struct derived_file *d;	/* NULL: nothing was kept */
	uint64_t at_ns, at_key;	/* the next interval: its beginning, and the key of its parts */
	uint64_t start_ns;	/* of the trace, from which granules of rates are counted */
};

int analysis_follow_new(struct analysis_follow **ret)
{
	*ret = calloc(1, sizeof(**ret));
	return *ret ? 0 : -ENOMEM;
}

void analysis_follow_free(struct analysis_follow *f)
{
	if (f)
		derived_file_close(f->d);
	free(f);
}

/* ---- opening ---- */

static size_t first_interval(const struct index *x)
{
	uint64_t from_ns = x->a->index_use.follow_from_ns, events;
	size_t end = index_interval_at(x, from_ns), i;

	i = index_interval_at(x, from_ns > BEGIN_NS ? from_ns - BEGIN_NS : 0);
	events = index_events(x, i, end, UINT32_MAX);
	for (; i < end && events > BEGIN_EVENTS; i++)
		events -= index_events(x, i, i + 1, UINT32_MAX);
	while (i && !x->a->block_is_clean[i])
		i--;
	return i;
}

/* Leaves out the last block, which may still get late records. */
static void leave_out_last(struct index *x)
{
	if (x->end && trace_is_live(x->a->trace))
		x->end--;
}

static uint32_t utid_at(const struct index *x, size_t cnt)
{
	return cnt ? trace_thread_at(x->a->trace, cnt - 1)->utid : 0;
}

static uint32_t upid_at(const struct index *x, size_t cnt)
{
	return cnt ? trace_process_at(x->a->trace, cnt - 1)->upid : 0;
}

/* Stores how threads and processes are numbered. */
static void note_ids(struct index *x)
{
	x->thread_cnt = trace_thread_cnt(x->a->trace);
	x->process_cnt = trace_process_cnt(x->a->trace);
	x->last_utid = utid_at(x, x->thread_cnt);
	x->last_upid = upid_at(x, x->process_cnt);
}

int index_follow_open(struct index *x)
{
	struct analysis_follow *f = x->follow;
	size_t i = lower_bound_plain(x->from_ns, x->interval_cnt, f->at_ns);

	leave_out_last(x);
	note_ids(x);
	if (!f->d || i > x->end || i == x->interval_cnt || x->from_ns[i] != f->at_ns) {
		derived_file_close(f->d);
		f->d = NULL;
		x->begin = first_interval(x);
		return derived_file_open(&x->d, x->a->trace, DERIVED_APART);
	}
	x->d = f->d;
	f->d = NULL;
	x->begin = i;
	x->key_base = f->at_key - i;
	if (f->start_ns != x->a->start_ns)
		derived_file_drop(x->d, DERIVED_INDEX + INDEX_RATES,
				  DERIVED_INDEX + INDEX_RATES + INDEX_GROUP_CNT);
	return 0;
}

/* ---- continuing ---- */

/* Returns the first interval whose parts are kept. */
static size_t first_kept(const struct index *x)
{
	size_t i = x->end;

	while (i && (!x->a->block_is_clean[i] || x->from_ns[x->end] - x->from_ns[i] < KEEP_NS))
		i--;
	return i;
}

/* Copies the parts of a type from a key on. */
static int keep_type(const struct index *x, struct derived_file *to, unsigned int type,
		     uint64_t key, struct buf *mem)
{
	const struct derived_part *v;
	const uint8_t *raw;
	size_t cnt, i;
	int r = derived_file_parts(x->d, type, &v, &cnt);

	for (i = lower_bound(v, cnt, key, key); i < cnt && !r; i++) {
		r = derived_file_read(x->d, &v[i], mem, &raw);
		if (!r)
			r = derived_file_add(to, NULL, type, v[i].key, 0,
					     &(struct buf){ .data = (uint8_t *)raw,
							    .len = v[i].raw_bytes });
	}
	return r;
}

/*
 * Returns the key of the first part of a type that intervals from a key on need. Levels need the
 * last INDEX_BASE before it, and the sums from there.
 */
static uint64_t first_key(const struct index *x, unsigned int type, uint64_t key)
{
	unsigned int base = type >= INDEX_BASE ? INDEX_BASE : INDEX_SUMS;
	const struct derived_part *v;
	size_t cnt, i;

	if (type < base || type >= base + INDEX_GROUP_CNT ||
	    derived_file_parts(x->d, DERIVED_INDEX + INDEX_BASE + type - base, &v, &cnt))
		return key;
	i = lower_bound(v, cnt, key, key + 1);
	return i ? v[i - 1].key : key;
}

/* Copies the parts from an interval on to another file. */
static int keep_parts(const struct index *x, size_t from, struct derived_file *to)
{
	uint64_t key = from + x->key_base;
	struct buf mem = { 0 }, info = { 0 };
	int r = derived_file_begin(to, false);

	for (unsigned int i = 0; i < INDEX_PART_CNT && !r; i++)
		r = keep_type(x, to, DERIVED_INDEX + i, first_key(x, i, key), &mem);
	for (unsigned int i = 0; i < INDEX_TAIL_CNT && !r; i++)
		r = keep_type(x, to, DERIVED_INDEX_TAIL + i, 0, &mem);
	for (unsigned int i = 0; i < JOB_CNT && !r; i++) {
		if (!(x->has_tail & 1u << i))
			continue;
		buf_reset(&info);
		packed_put(&info, x->made_cnt[i] + x->key_base);
		r = derived_file_add(to, NULL, DERIVED_INDEX_INFO, i, 0, &info);
	}
	buf_done(&mem);
	buf_done(&info);
	return r;
}

static int drop_old_parts(struct index *x)
{
	struct derived_file *to;
	int r = derived_file_open(&to, x->a->trace, DERIVED_APART);

	r = r ?: keep_parts(x, first_kept(x), to);
	if (r < 0) {
		derived_file_close(to);
		return r;
	}
	derived_file_close(x->d);
	x->d = to;
	x->begin = x->end;
	return 0;
}

bool index_follow_on(struct index *x)
{
	size_t before = x->end;

	if (!index_is_true(x) || x->failed || x->end >= x->interval_cnt)
		return false;
	if (before >= x->begin + DROP_INTERVALS && drop_old_parts(x) < 0)
		return false;
	if (index_place(x) < 0 || utid_at(x, x->thread_cnt) != x->last_utid ||
	    upid_at(x, x->process_cnt) != x->last_upid)
		return false;
	leave_out_last(x);
	note_ids(x);
	for (unsigned int i = 0; i < JOB_CNT; i++)
		if (!(x->has_tail & 1u << i))
			x->made_cnt[i] = before;
	return true;
}

/* ---- closing ---- */

/* Saves a machine as the second part of its tail; the job has written the first part. */
static int save_kept(struct index *x, unsigned int job)
{
	struct fold_machine *m = x->kept[job];
	const struct fold_state_def *state = m->def->state;
	unsigned int tail = state->tail + m->def->group;
	struct buf mem = { 0 }, out = { 0 };
	struct packed_in in;
	int r = index_read_tail(x, tail, &mem, &in);

	if (!r) {
		buf_add(&out, in.p, (size_t)(in.end - in.p));
		state->save(m, x->from_ns[x->end], &out);
		r = index_add_tail(x, NULL, tail, &out);
	}
	buf_done(&mem);
	buf_done(&out);
	return r;
}

static void keep(struct index *x)
{
	struct analysis_follow *f = x->follow;
	struct derived_file *to;
	int r = 0;

	/* the trace may have been refreshed without a query */
	x->end = index_read_cnt(x);
	for (unsigned int i = 0; i < JOB_CNT; i++)
		if (x->made_cnt[i] != x->end)
			x->has_tail &= ~(1u << i);
	/* after the end of a recording no interval follows, and empty intervals are rare */
	if (!index_is_true(x) || x->failed || !x->end || x->end == x->interval_cnt ||
	    x->from_ns[x->end - 1] == x->from_ns[x->end] ||
	    derived_file_open(&to, x->a->trace, DERIVED_APART) < 0)
		return;
	for (unsigned int i = 0; i < JOB_CNT && !r; i++)
		r = x->kept[i] && x->has_tail & 1u << i ? save_kept(x, i) : 0;
	if (r < 0 || keep_parts(x, first_kept(x), to) < 0) {
		derived_file_close(to);
		return;
	}
	f->d = to;
	f->at_ns = x->from_ns[x->end];
	f->at_key = x->end + x->key_base;
	f->start_ns = x->a->start_ns;
}

void index_follow_close(struct index *x)
{
	keep(x);
	for (unsigned int i = 0; i < JOB_CNT; i++)
		fold_machine_free(x->kept[i]);
}
