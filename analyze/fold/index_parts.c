/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * index_parts: intervals of a trace, and their parts in the trace's derived file. The key of a part
 * is the number of its interval plus key_base.
 */
#include "analyze/fold/index_job.h"

#include <errno.h>
#include <stdlib.h>

#include "analyze/fold/index_memory.h"
#include "base/array.h"
#include "trace/derived_file.h"

/* ---- intervals ---- */

int index_place(struct index *x)
{
	const struct trace_block *blocks = trace_blocks(x->a->trace, &x->interval_cnt);

	trace_damages(x->a->trace, &x->damage_cnt);
	x->end = x->interval_cnt;
	free(x->from_ns);
	x->from_ns = calloc(x->interval_cnt + 1, sizeof(*x->from_ns));
	for (size_t i = 0; i < x->interval_cnt && x->from_ns; i++)
		x->from_ns[i] = blocks[i].from_ns;
	return x->from_ns ? 0 : -ENOMEM;
}

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

	/* of several intervals that begin at the same time, all except the last are empty */
	return i ? i - 1 : 0;
}

uint64_t index_events(const struct index *x, size_t from, size_t to, uint32_t kinds)
{
	size_t cnt;
	const struct trace_block *b = trace_blocks(x->a->trace, &cnt);
	uint64_t events = 0;

	for (; from < to; from++)
		events += trace_block_events(&b[from], kinds);
	return events;
}

size_t index_read_cnt(const struct index *x)
{
	size_t cnt = 0;

	for (unsigned int job = 0; job < JOB_CNT; job++)
		cnt = x->made_cnt[job] > cnt ? x->made_cnt[job] : cnt;
	return cnt;
}

/* ---- parts ---- */

int index_read_part(const struct index *x, unsigned int type, uint64_t key, struct buf *mem,
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
	return index_read_part(x, DERIVED_INDEX + part, interval + x->key_base, mem, ret);
}

int index_has(const struct index *x, size_t interval, unsigned int part)
{
	struct derived_part p;

	return derived_file_get(x->d, DERIVED_INDEX + part, interval + x->key_base, &p);
}

int index_read_tail(const struct index *x, unsigned int tail, struct buf *mem,
		    struct packed_in *ret)
{
	return index_read_part(x, DERIVED_INDEX_TAIL + tail, 0, mem, ret);
}

int index_add(struct index *x, struct zpack *z, size_t interval, unsigned int part,
	      const struct buf *b)
{
	return derived_file_add(x->d, x->follow ? NULL : z, DERIVED_INDEX + part,
				interval + x->key_base, 0, b);
}

int index_add_tail(struct index *x, struct zpack *z, unsigned int tail, const struct buf *b)
{
	return derived_file_add(x->d, x->follow ? NULL : z, DERIVED_INDEX_TAIL + tail, 0, 0, b);
}

int index_add_checkpoint(struct index *x, struct zpack *z, unsigned int part, size_t interval,
			 const struct checkpoint *c)
{
	return checkpoint_store(x->d, z, checkpoint_key(part, interval), x->from_ns[interval], c);
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

int index_memory_source(enum index_group group, unsigned int slot)
{
	static const int8_t sources[INDEX_GROUP_CNT][INDEX_SLOT_CNT] = {
		[INDEX_SLAB] = { ALLOC_SLAB, -1 },
		[INDEX_PAGE] = { ALLOC_PAGE, -1 },
		[INDEX_LEVELS] = { ALLOC_RSS, ALLOC_VM },
		[INDEX_HEAP] = { ALLOC_HEAP, -1 },
	};

	return sources[group][slot];
}
