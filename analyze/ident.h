/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * ident: threads and processes of a trace under dense numbers, for arrays.
 *
 *     utid, upid --[ident]--> 0 .. cnt-1
 *
 * Numbers 0..15 are the pseudo ids (EVENT_ID_*) themselves, 16 + i is row i of
 * trace_threads() or trace_processes(). An id that is in neither list is EVENT_ID_UNKNOWN.
 * What is found out about one is found out when it is first asked for: of a trace opened quickly, rows that
 * nobody asks for are not read. Threads: any. The trace must outlive it.
 */
#ifndef IDENT_H
#define IDENT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "event/trace.h"

struct ident {
	const struct trace *trace;
	uint32_t thread_cnt, process_cnt;	/* with the 16 pseudo ones */
	/* by dense number; relaxed: each stands for itself */
	_Atomic uint8_t *thread_is_id, *process_is_id;	/* 1: it is known that the number is the id */
	_Atomic uint32_t *process_of;	/* a thread's process + 1; 0: not looked up yet */
};

int ident_init(struct ident *d, const struct trace *t);
void ident_done(struct ident *d);

/* The same for what is not in the tables yet. */
uint32_t ident_look_up_thread(const struct ident *d, uint32_t utid);
uint32_t ident_look_up_process(const struct ident *d, uint32_t upid);
uint32_t ident_look_up_process_of(const struct ident *d, uint32_t thread);

static inline uint32_t ident_thread(const struct ident *d, uint32_t utid)
{
	if (utid < d->thread_cnt &&
	    atomic_load_explicit(&d->thread_is_id[utid], memory_order_relaxed))
		return utid;
	return ident_look_up_thread(d, utid);
}

static inline uint32_t ident_process(const struct ident *d, uint32_t upid)
{
	if (upid < d->process_cnt &&
	    atomic_load_explicit(&d->process_is_id[upid], memory_order_relaxed))
		return upid;
	return ident_look_up_process(d, upid);
}

/* The dense process of a dense thread. */
static inline uint32_t ident_process_of(const struct ident *d, uint32_t thread)
{
	uint32_t p = atomic_load_explicit(&d->process_of[thread], memory_order_relaxed);

	return p ? p - 1 : ident_look_up_process_of(d, thread);
}

/* By dense number; NULL for a pseudo one. */
const struct trace_thread *ident_thread_row(const struct ident *d, uint32_t thread);
const struct trace_process *ident_process_row(const struct ident *d, uint32_t process);

/* "[idle]", "[unknown]", "[irq]", "[filtered]"; NULL for an id that is no pseudo id in use. */
const char *ident_pseudo_name(uint32_t id);

/* Names by dense number, never NULL. */
const char *ident_thread_comm(const struct ident *d, uint32_t thread);
const char *ident_process_comm(const struct ident *d, uint32_t process);
/* The ids as the trace has them. */
uint32_t ident_utid(const struct ident *d, uint32_t thread);
uint32_t ident_upid(const struct ident *d, uint32_t process);

#endif /* IDENT_H */
