/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * index_job: making one share of an index: the parts that one kind of state machine gives.
 *
 *     [index_build: threads] --job--> events of some kinds, in order --> blobs of cells [from, end)
 *
 * Jobs have nothing in common but the trace, and run side by side. Private to index_*.c.
 * Threads: a job belongs to one.
 */
#ifndef INDEX_JOB_H
#define INDEX_JOB_H

#include <stdatomic.h>

#include "analyze/context.h"
#include "analyze/index.h"

struct zpack;

struct index_job {
	struct analysis *a;
	struct index *x;
	struct zpack *z;
	size_t from, end;	/* cells to make */
	size_t last;		/* the tail is the state at this cell's beginning; end: there is none */
	uint32_t kinds;		/* of events it reads */
	_Atomic uint64_t done_events;	/* for progress: of the cells that are done */
	_Atomic bool *stop;	/* somebody failed */
	struct err e;
};

/* The beginning of the first cell to make: before it events only make state. */
static inline uint64_t index_job_from_ns(const struct index_job *j)
{
	return index_cell_from(j->x, j->from);
}

/* Cell is done. -ECANCELED when there is no need to go on. */
int index_job_done_cell(struct index_job *j, size_t cell);

int index_sched_job(struct index_job *j);
int index_block_job(struct index_job *j);
int index_irq_job(struct index_job *j);
int index_memory_job(struct index_job *j, enum index_group group);

#endif /* INDEX_JOB_H */
