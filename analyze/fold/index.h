/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * index: sums over whole intervals of a trace, and the states of machines at the intervals' edges.
 *
 *     trace --[index.c]--> parts, one per interval and kind --[index]--> window functions
 *
 * An interval is the slice of one block, [its from_ns, the next block's from_ns). It contains every
 * event with a timestamp in that range, even if the event is in another block. The intervals of a
 * trace cover its span. An interval with stored sums need not be decoded; an interval with stored
 * states can be decoded alone. Results never depend on an index: without one, reading begins at the
 * trace's start.
 *
 * Layout of the file and of every part: schema/FORMAT.md, section 8. The file is untrusted: its
 * bytes are checked against checksums and bounds, and -EBADMSG means "build it again". Ids are the
 * trace's own utids and upids.
 *
 * Threads: index_add(), index_read() and their variants for tails may be called from any thread,
 * all other functions from one thread at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

struct analysis;
struct analysis_index_use;
struct index;

/* Groups of memory sources that share events and a state. */
enum index_group {
	INDEX_SLAB = 0,
	INDEX_PAGE = 1,
	INDEX_LEVELS = 2,	/* rss and vm */
	INDEX_HEAP = 3,
	INDEX_GROUP_CNT = 4,
};

/* Index parts that exist for each interval. Append at the end, and raise DERIVED_VERSION. */
enum index_part {
	INDEX_CPU = 0,		/* time on CPUs */
	INDEX_STATES,		/* states of threads, and waits for a CPU */
	INDEX_STATE_STATE,	/* threads and their requests at the interval's beginning */
	INDEX_REQUESTS,		/* block requests that ended */
	INDEX_REQUEST_STATE,	/* requests at the interval's beginning */
	INDEX_SUMS,		/* + group: memory allocated and freed */
	/* + group: older objects that end in the interval */
	INDEX_STATE = INDEX_SUMS + INDEX_GROUP_CNT,
	/* + group: levels at the beginning of some intervals */
	INDEX_BASE = INDEX_STATE + INDEX_GROUP_CNT,
	/* + group: bytes allocated per process and granule */
	INDEX_RATES = INDEX_BASE + INDEX_GROUP_CNT,
	/* interrupts being served at the interval's beginning */
	INDEX_IRQ_STATE = INDEX_RATES + INDEX_GROUP_CNT,
	INDEX_PART_CNT,
};

/*
 * Index parts that exist once: the whole states after the last interval, from which a later build
 * continues.
 */
enum index_tail {
	INDEX_TAIL_STATES = 0,
	INDEX_TAIL_REQUESTS,
	INDEX_TAIL_MEMORY,	/* + group */
	/* + group: medians; only in finished traces */
	INDEX_TAIL_SPIKES = INDEX_TAIL_MEMORY + INDEX_GROUP_CNT,
	INDEX_TAIL_IRQ = INDEX_TAIL_SPIKES + INDEX_GROUP_CNT,
	/* + enum checkpoint_part, up to CHECKPOINT_IRQ */
	INDEX_TAIL_CARRIED,
	INDEX_TAIL_CNT = INDEX_TAIL_CARRIED + 3,
};

#define INDEX_GRANULE_NS 10000000ull	/* granule of INDEX_RATES, counted from the trace's start */

/* ---- intervals ---- */

size_t index_interval_cnt(const struct index *x);
uint64_t index_interval_from(const struct index *x, size_t interval);
uint64_t index_interval_to(const struct index *x, size_t interval);
/* Returns the interval that contains a time of the trace's span. */
size_t index_interval_at(const struct index *x, uint64_t ts_ns);

/*
 * Returns the number of events of some kinds (1u << EVENT_x) in the blocks of intervals [from, to).
 */
uint64_t index_events(const struct index *x, size_t from, size_t to, uint32_t kinds);

/* ---- parts ---- */

/*
 * Reads a part of an interval into *mem, the caller's buffer, which grows as needed; ret points
 * into *mem. 0; -EBADMSG: damaged; -ENOMEM or another error of reading. A missing part is empty.
 */
int index_read(const struct index *x, size_t interval, unsigned int part, struct buf *mem,
	       struct packed_in *ret);
/* Returns 1 if the part exists, 0 if not, or -errno as index_read(). */
int index_has(const struct index *x, size_t interval, unsigned int part);
int index_read_tail(const struct index *x, unsigned int tail, struct buf *mem,
		    struct packed_in *ret);

/* Add a part while the index is built. 0 or -errno. Empty parts are not stored. */
struct zpack;
int index_add(struct index *x, struct zpack *z, size_t interval, unsigned int part,
	      const struct buf *b);
int index_add_tail(struct index *x, struct zpack *z, unsigned int tail, const struct buf *b);
/*
 * Adds a checkpoint: the state that a trace cut at the interval's beginning starts with
 * (edit/checkpoint.h).
 */
struct checkpoint;
int index_add_checkpoint(struct index *x, struct zpack *z, unsigned int part, size_t interval,
			 const struct checkpoint *c);

/* ---- the whole index ---- */

/*
 * Opens the index of the analysis's trace, with the parts in its derived file. save: parts will be
 * added, which requires a writable directory. 0 or -ENOMEM.
 */
int index_open(struct index **ret, struct analysis *a, bool save, struct err *e);
/*
 * Makes the missing parts for queries about events of some kinds (1u << EVENT_x), as `use` allows.
 * 1: the parts exist; 0: none were made, because the trace is small (use->always) or an earlier
 * attempt failed; -errno: no further parts will be made. -EBADMSG: damage was discovered in the
 * trace or in the file; open another index.
 */
int index_need(struct index *x, uint32_t kinds, const struct analysis_index_use *use,
	       struct err *e);
/* Returns the number of blocks that were verified when parts were made. */
size_t index_read_cnt(const struct index *x);
void index_free(struct index *x);
/*
 * Continues after the trace that the index follows has grown. False: impossible; open another
 * index.
 */
bool index_follow_on(struct index *x);
/*
 * Returns false if a block of the trace or a part of the index was found damaged after the parts
 * were made or opened.
 */
bool index_is_true(const struct index *x);
/*
 * Handles the error ret of a function of this header, or of a reader of a part's bytes: describes
 * it in e and returns ret. After -EBADMSG the index is no longer valid, and its file is removed.
 */
int index_fail(const struct index *x, int ret, struct err *e);

/* ---- the index of an analysis ---- */

/*
 * Sets *ret to the index with its existing parts; opens it on first use, and again after damage.
 * NULL: no index is used. 0 or -errno.
 */
int index_open_if_used(struct analysis *a, struct index **ret, struct err *e);
/*
 * Sets *ret to the index for queries about events of some kinds (1u << EVENT_x), with at least the
 * parts that these queries need, which are made on first use. NULL: no index, or its parts cannot
 * be made. 0 or -errno; of the errors while parts are made only -ENOMEM is returned.
 */
int analysis_index_of(struct analysis *a, uint32_t kinds, const struct index **ret, struct err *e);

/* Returns true if the index in use proved invalid; the query may then be repeated. */
bool analysis_index_failed(const struct analysis *a);
