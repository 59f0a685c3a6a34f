/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Ids are handed out in sequence by the recorder, so row i nearly always has id 16 + i: the number
 * is the id then, and a byte says so. Others are looked up in the trace each time.
 */
#include "analyze/context/dense_ids.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int dense_init(struct dense_ids *d, const struct trace *t)
{
	size_t thread_cnt = trace_thread_cnt(t), process_cnt = trace_process_cnt(t);

	memset(d, 0, sizeof(*d));
	if (thread_cnt > UINT32_MAX / 2 || process_cnt > UINT32_MAX / 2)
		return -EFBIG;
	d->trace = t;
	d->thread_cnt = EVENT_ID_FIRST + (uint32_t)thread_cnt;
	d->process_cnt = EVENT_ID_FIRST + (uint32_t)process_cnt;
	d->thread_is_id = calloc(d->thread_cnt, sizeof(*d->thread_is_id));
	d->process_is_id = calloc(d->process_cnt, sizeof(*d->process_is_id));
	d->process_of = calloc(d->thread_cnt, sizeof(*d->process_of));
	if (!d->thread_is_id || !d->process_is_id || !d->process_of) {
		dense_done(d);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < EVENT_ID_FIRST; i++) {
		d->thread_is_id[i] = d->process_is_id[i] = dense_pseudo_name(i) != NULL;
		d->process_of[i] = i + 1;
	}
	return 0;
}

void dense_done(struct dense_ids *d)
{
	free((void *)d->thread_is_id);
	free((void *)d->process_is_id);
	free((void *)d->process_of);
	memset(d, 0, sizeof(*d));
}

static uint32_t look_up(size_t row, uint32_t id, _Atomic uint8_t *is_id)
{
	uint32_t dense;

	if (row == SIZE_MAX)
		return EVENT_ID_UNKNOWN;
	dense = EVENT_ID_FIRST + (uint32_t)row;
	if (dense == id)
		atomic_store_explicit(&is_id[id], 1, memory_order_relaxed);
	return dense;
}

uint32_t dense_look_up_thread(const struct dense_ids *d, uint32_t utid)
{
	return look_up(utid < EVENT_ID_FIRST ? SIZE_MAX : trace_thread_index(d->trace, utid), utid,
		       d->thread_is_id);
}

uint32_t dense_look_up_process(const struct dense_ids *d, uint32_t upid)
{
	return look_up(upid < EVENT_ID_FIRST ? SIZE_MAX : trace_process_index(d->trace, upid), upid,
		       d->process_is_id);
}

uint32_t dense_look_up_process_of(const struct dense_ids *d, uint32_t thread)
{
	uint32_t p = dense_process(d, trace_thread_at(d->trace, thread - EVENT_ID_FIRST)->upid);

	atomic_store_explicit(&d->process_of[thread], p + 1, memory_order_relaxed);
	return p;
}

/* Numbers that stand for no task wrap around, and are behind the last row. */
const struct trace_thread *dense_thread_row(const struct dense_ids *d, uint32_t thread)
{
	return trace_thread_at(d->trace, thread - EVENT_ID_FIRST);
}

const struct trace_process *dense_process_row(const struct dense_ids *d, uint32_t process)
{
	return trace_process_at(d->trace, process - EVENT_ID_FIRST);
}

const char *dense_pseudo_name(uint32_t id)
{
	switch (id) {
	case EVENT_ID_IDLE:
		return "[idle]";
	case EVENT_ID_UNKNOWN:
		return "[unknown]";
	case EVENT_ID_IRQ:
		return "[irq]";
	case EVENT_ID_FILTERED:
		return "[filtered]";
	default:
		return NULL;
	}
}

static const char *pseudo_or_unknown(uint32_t id)
{
	const char *name = dense_pseudo_name(id);

	return name ? name : dense_pseudo_name(EVENT_ID_UNKNOWN);
}

const char *dense_thread_comm(const struct dense_ids *d, uint32_t thread)
{
	const struct trace_thread *row = dense_thread_row(d, thread);

	return row ? row->comm : pseudo_or_unknown(thread);
}

const char *dense_process_comm(const struct dense_ids *d, uint32_t process)
{
	const struct trace_process *row = dense_process_row(d, process);

	return row ? row->comm : pseudo_or_unknown(process);
}

uint32_t dense_utid(const struct dense_ids *d, uint32_t thread)
{
	const struct trace_thread *row = dense_thread_row(d, thread);

	return row ? row->utid : thread;
}

uint32_t dense_upid(const struct dense_ids *d, uint32_t process)
{
	const struct trace_process *row = dense_process_row(d, process);

	return row ? row->upid : process;
}
