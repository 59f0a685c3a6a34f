/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * thread_makers: implementation. First threads are looked up on first use: a trace that is opened
 * quickly has not read its threads.
 */
#include <errno.h>
#include <stdlib.h>

#include "analyze/context/thread_makers.h"
#include "model/call.h"

int thread_makers_init(struct thread_makers *m, const struct dense_ids *ids)
{
	*m = (struct thread_makers){ .ids = ids };
	m->first_of = calloc(ids->process_cnt + 1, sizeof(*m->first_of));
	m->waker_of = calloc(ids->thread_cnt + 1, sizeof(*m->waker_of));
	return m->first_of && m->waker_of ? 0 : -ENOMEM;
}

void thread_makers_note(struct thread_makers *m, const struct thread_wait *w)
{
	uint32_t *waker = &m->waker_of[w->thread];

	if (!*waker && !w->slept && w->waker >= EVENT_ID_FIRST && w->waker < m->ids->thread_cnt)
		*waker = w->waker;
	if (*waker == w->waker && !m->held_to_ns && w->waker &&
	    dense_thread_row(m->ids, w->thread)->start_call == CALL_HELD)
		m->held_to_ns = w->from_ns - 1;
}

void thread_makers_done(struct thread_makers *m)
{
	free(m->first_of);
	free(m->waker_of);
}

static void read_first_threads(struct thread_makers *m)
{
	const struct trace_thread *threads;
	size_t cnt;

	threads = trace_threads(m->ids->trace, &cnt);
	for (size_t i = 0; i < cnt; i++) {
		const struct trace_thread *h = &threads[i];
		const struct trace_process *p = trace_process_find(m->ids->trace, h->upid);

		if (p && h->tid == p->pid)
			m->first_of[dense_process(m->ids, h->upid)] =
				dense_thread(m->ids, h->utid);
	}
	m->is_read = true;
}

uint32_t thread_maker(struct thread_makers *m, uint32_t thread, uint64_t *ret_start_ns)
{
	const struct trace_thread *h = dense_thread_row(m->ids, thread);
	uint32_t process = dense_process_of(m->ids, thread);
	const struct trace_process *p = dense_process_row(m->ids, process);

	*ret_start_ns = h ? h->start_ns : 0;
	if (!h || !p)
		return 0;
	if (h->start_call == CALL_HELD && m->held_to_ns)
		*ret_start_ns = m->held_to_ns;
	if (m->waker_of[thread])
		return m->waker_of[thread];
	if (!m->is_read)
		read_first_threads(m);
	return m->first_of[h->tid == p->pid ? dense_process(m->ids, p->parent_upid) : process];
}
