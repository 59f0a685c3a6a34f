/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Ids are handed out in sequence by the recorder, so row i nearly always has id 16 + i: that
 * is tried first, a binary search stands behind it.
 */
#include "analyze/ident.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int ident_init(struct ident *d, const struct trace *t)
{
	size_t thread_cnt, process_cnt, i;

	memset(d, 0, sizeof(*d));
	d->threads = trace_threads(t, &thread_cnt);
	d->processes = trace_processes(t, &process_cnt);
	if (thread_cnt > UINT32_MAX / 2 || process_cnt > UINT32_MAX / 2)
		return -EFBIG;
	d->thread_cnt = EVENT_ID_FIRST + (uint32_t)thread_cnt;
	d->process_cnt = EVENT_ID_FIRST + (uint32_t)process_cnt;
	d->thread_process = malloc(d->thread_cnt * sizeof(*d->thread_process));
	if (!d->thread_process)
		return -ENOMEM;
	for (i = 0; i < EVENT_ID_FIRST; i++)
		d->thread_process[i] = (uint32_t)i;
	for (i = 0; i < thread_cnt; i++)
		d->thread_process[EVENT_ID_FIRST + i] = ident_process(d, d->threads[i].upid);
	return 0;
}

void ident_done(struct ident *d)
{
	free(d->thread_process);
	memset(d, 0, sizeof(*d));
}

#define IDENT_FIND(name, rows, cnt, field)                                                         \
	uint32_t name(const struct ident *d, uint32_t id)                                          \
	{                                                                                          \
		uint32_t lo = 0, hi = d->cnt - EVENT_ID_FIRST, mid;                                \
                                                                                                   \
		if (id < EVENT_ID_FIRST)                                                           \
			return ident_pseudo_name(id) ? id : EVENT_ID_UNKNOWN;                      \
		if (id < d->cnt && d->rows[id - EVENT_ID_FIRST].field == id)                       \
			return id;                                                                 \
		while (lo < hi) {                                                                  \
			mid = lo + (hi - lo) / 2;                                                  \
			if (d->rows[mid].field < id)                                               \
				lo = mid + 1;                                                      \
			else                                                                       \
				hi = mid;                                                          \
		}                                                                                  \
		if (lo < d->cnt - EVENT_ID_FIRST && d->rows[lo].field == id)                       \
			return EVENT_ID_FIRST + lo;                                                \
		return EVENT_ID_UNKNOWN;                                                           \
	}

IDENT_FIND(ident_thread, threads, thread_cnt, utid)
IDENT_FIND(ident_process, processes, process_cnt, upid)

const struct trace_thread *ident_thread_row(const struct ident *d, uint32_t thread)
{
	if (thread < EVENT_ID_FIRST || thread >= d->thread_cnt)
		return NULL;
	return &d->threads[thread - EVENT_ID_FIRST];
}

const struct trace_process *ident_process_row(const struct ident *d, uint32_t process)
{
	if (process < EVENT_ID_FIRST || process >= d->process_cnt)
		return NULL;
	return &d->processes[process - EVENT_ID_FIRST];
}

const char *ident_pseudo_name(uint32_t id)
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
	const char *name = ident_pseudo_name(id);

	return name ? name : ident_pseudo_name(EVENT_ID_UNKNOWN);
}

const char *ident_thread_comm(const struct ident *d, uint32_t thread)
{
	const struct trace_thread *row = ident_thread_row(d, thread);

	return row ? row->comm : pseudo_or_unknown(thread);
}

const char *ident_process_comm(const struct ident *d, uint32_t process)
{
	const struct trace_process *row = ident_process_row(d, process);

	return row ? row->comm : pseudo_or_unknown(process);
}

uint32_t ident_utid(const struct ident *d, uint32_t thread)
{
	const struct trace_thread *row = ident_thread_row(d, thread);

	return row ? row->utid : thread;
}

uint32_t ident_upid(const struct ident *d, uint32_t process)
{
	const struct trace_process *row = ident_process_row(d, process);

	return row ? row->upid : process;
}
