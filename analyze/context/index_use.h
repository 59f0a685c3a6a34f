/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* index_use: how an analysis uses an index, and the parts of an index that a query needs. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct analysis_follow;

/*
 * Allows the use of an index (schema/FORMAT.md, "The index"), whose parts are made when first
 * needed. Results are the same with and without an index, except that order statistics of many
 * values have an error of up to 0.4 %.
 */
struct analysis_index_use {
	bool use;
	bool always;	/* use an index even if the trace is so small that it saves no time */
	bool save;	/* save the index beside the trace, or in the user's cache */
	/* minimum number of events between two checkpoints for cuts; 0: depends on their sizes */
	uint64_t checkpoint_events;
	/*
	 * Keeps the index of a live trace in memory. Queries must be about windows that begin at
	 * follow_from_ns or later, and end before the last block, which may still get late records.
	 * NULL: use the trace's own index.
	 */
	struct analysis_follow *follow;
	uint64_t follow_from_ns;
	/*
	 * Called a few times per second while parts are made, and finally with equal numbers. May
	 * be NULL.
	 */
	void (*progress)(void *ctx, uint64_t done_events, uint64_t all_events);
	void *ctx;
};

/*
 * State of an index in memory, which is kept when a live trace is refreshed or analysed again, so
 * that only new events are decoded. The first analysis reads up to a minute before its
 * follow_from_ns; the history of threads, requests and memory begins there, as if the recording had
 * begun there. analysis_follow_new() returns 0 or -ENOMEM; freeing NULL is fine.
 */
int analysis_follow_new(struct analysis_follow **ret);
void analysis_follow_free(struct analysis_follow *f);

/*
 * Bit in a mask of kinds that selects the states of threads, a separate part that other queries
 * about the same kinds do not need.
 */
#define ANALYSIS_STATES (1u << 31)
/*
 * As ANALYSIS_STATES, for the bytes that processes allocated over time, from which most spikes can
 * be found.
 */
#define ANALYSIS_RATES (1u << 30)
/*
 * As ANALYSIS_STATES, for the checkpoints that a cut needs. part: enum checkpoint_part, at most
 * CHECKPOINT_IRQ.
 */
#define ANALYSIS_CARRIED(part) (1u << (27 + (part)))
/* All parts except ANALYSIS_STATES and ANALYSIS_CARRIED. */
#define ANALYSIS_KINDS (ANALYSIS_RATES | (ANALYSIS_CARRIED(0) - 1))
