/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * ident: threads and processes of a trace under dense numbers, for arrays.
 *
 *     utid, upid --[ident]--> 0 .. cnt-1
 *
 * Numbers 0..15 are the pseudo ids (EVENT_ID_*) themselves, 16 + i is row i of
 * trace_threads() or trace_processes(). An id that is in neither list is EVENT_ID_UNKNOWN.
 * Threads: one. The trace must outlive it.
 */
#ifndef IDENT_H
#define IDENT_H

#include <stdbool.h>
#include <stdint.h>

#include "event/trace.h"

struct ident {
	const struct trace_thread *threads;
	const struct trace_process *processes;
	uint32_t thread_cnt, process_cnt;	/* with the 16 pseudo ones */
	uint32_t *thread_process;		/* dense thread -> dense process */
};

int ident_init(struct ident *d, const struct trace *t);
void ident_done(struct ident *d);

uint32_t ident_thread(const struct ident *d, uint32_t utid);
uint32_t ident_process(const struct ident *d, uint32_t upid);

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
