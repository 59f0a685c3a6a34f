/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * index_file: the intervals of a trace, and their parts in the trace's derived file. A part of an
 * interval has the interval's number as its key; how many intervals the file has is a part, too.
 */
#include "analyze/fold/index.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/engine/context.h"
#include "analyze/fold/index_state.h"
#include "base/array.h"
#include "trace/derived_file.h"

/* ---- intervals ---- */

size_t index_interval_cnt(const struct index *x)
{
	return x->interval_cnt;
}

uint64_t index_interval_from(const struct index *x, size_t interval)
{
	return x->from_ns[interval];
}

uint64_t index_interval_to(const struct index *x, size_t interval)
{
	return interval + 1 < x->interval_cnt ? x->from_ns[interval + 1] : x->a->end_ns;
}

size_t index_interval_at(const struct index *x, uint64_t ts_ns)
{
	size_t i = ts_ns == UINT64_MAX ? x->interval_cnt :
					 lower_bound_plain(x->from_ns, x->interval_cnt, ts_ns + 1);

	/* intervals may have no length: the last that begins there holds the instant */
	return i ? i - 1 : 0;
}

/* ---- parts ---- */

static int read_part(const struct index *x, unsigned int type, uint64_t key, struct buf *mem,
		     struct packed_in *ret)
{
	struct derived_part p;
	const uint8_t *raw;
	int r;

	*ret = (struct packed_in){ 0 };
	r = derived_file_get(x->d, type, key, &p);
	if (r <= 0)
		return r;
	r = derived_file_read(x->d, &p, mem, &raw);
	if (r == 0)
		*ret = (struct packed_in){ .p = raw, .end = raw + p.raw_bytes };
	return r;
}

int index_read(const struct index *x, size_t interval, unsigned int part, struct buf *mem,
	       struct packed_in *ret)
{
	return read_part(x, DERIVED_INDEX + part, interval, mem, ret);
}

int index_has(const struct index *x, size_t interval, unsigned int part)
{
	struct derived_part p;

	return derived_file_get(x->d, DERIVED_INDEX + part, interval, &p);
}

int index_read_tail(const struct index *x, unsigned int tail, struct buf *mem,
		    struct packed_in *ret)
{
	return read_part(x, DERIVED_INDEX_TAIL + tail, 0, mem, ret);
}

int index_add(struct index *x, struct zpack *z, size_t interval, unsigned int part,
	      const struct buf *b)
{
	return derived_file_add(x->d, z, DERIVED_INDEX + part, interval, 0, b);
}

int index_add_tail(struct index *x, struct zpack *z, unsigned int tail, const struct buf *b)
{
	return derived_file_add(x->d, z, DERIVED_INDEX_TAIL + tail, 0, 0, b);
}

/* ---- the whole ---- */

void index_free(struct index *x)
{
	if (!x)
		return;
	index_free(x->before);
	derived_file_close(x->d);
	free(x->from_ns);
	free(x);
}

/* How many intervals the file has. */
static size_t saved_cells(const struct index *x)
{
	struct buf mem = { 0 };
	struct packed_in in;
	uint64_t cnt = 0;

	if (read_part(x, DERIVED_INDEX_INFO, 0, &mem, &in) == 0)
		cnt = packed_get(&in);
	buf_done(&mem);
	return cnt > x->interval_cnt || in.bad ? 0 : cnt;
}

int index_new(struct index **ret, struct analysis *a, bool save)
{
	struct index *x = calloc(1, sizeof(*x));
	const struct trace_block *blocks;
	size_t i;
	int r;

	if (!x)
		return -ENOMEM;
	x->a = a;
	blocks = trace_blocks(a->trace, &x->interval_cnt);
	trace_damages(a->trace, &x->damage_cnt);
	x->from_ns = calloc(x->interval_cnt + 1, sizeof(*x->from_ns));
	r = x->from_ns ? derived_file_open(&x->d, a->trace, save ? DERIVED_SAVE : 0) : -ENOMEM;
	if (r < 0) {
		index_free(x);
		return r;
	}
	for (i = 0; i < x->interval_cnt; i++)
		x->from_ns[i] = blocks[i].from_ns;
	x->saved_cnt = saved_cells(x);
	*ret = x;
	return 0;
}

bool index_is_true(const struct index *x)
{
	size_t cnt;

	trace_damages(x->a->trace, &cnt);
	return !x->damaged && cnt == x->damage_cnt;
}

int index_fail(const struct index *x, int ret, struct err *e)
{
	if (ret != -EBADMSG)
		return err_set(e, ret, "analysis index: %s", err_text(NULL, ret));
	((struct index *)x)->damaged = true;
	derived_file_forget(x->d);
	return err_set(e, ret,
		       "the analysis index is damaged, and was removed: ask again, and it is "
		       "made anew");
}

void index_follow(struct index *next, struct index *before)
{
	next->before = before;
}

void index_forget_saved(struct index *x)
{
	x->saved_cnt = 0;
	derived_file_drop(x->d, DERIVED_INDEX_INFO, DERIVED_TYPE_CNT);
}

int index_begin(struct index *x, bool save)
{
	int r = derived_file_begin(x->d, save);

	/* where the old file could not be taken over, nothing is saved */
	x->saved_cnt = saved_cells(x);
	if (!x->saved_cnt)
		index_forget_saved(x);
	return r;
}

int index_save(struct index *x, size_t cnt)
{
	struct buf info = { 0 };
	int r;

	/* the other parts are of a trace without damage */
	if (x->damage_cnt)
		derived_file_drop(x->d, 0, DERIVED_INDEX_INFO);
	packed_put(&info, cnt);
	r = derived_file_add(x->d, NULL, DERIVED_INDEX_INFO, 0, 0, &info);
	buf_done(&info);
	return r < 0 ? r : derived_file_commit(x->d, x->a->trace, cnt);
}
