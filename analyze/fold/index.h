/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * index: the sums of whole slices of a trace, and the states of machines at their edges.
 *
 *     trace --[index.c]--> parts, one per interval and kind --[index]--> window functions
 *
 * An interval is the slice of one block, [its from_ns, the next block's from_ns), and holds every
 * event with a timestamp in there, whichever block keeps it. The intervals of a trace fill its
 * span. An interval whose sums are stored need not be decoded. An interval whose states are stored
 * can be decoded alone. No answer needs an index: without one, reading begins at the trace's start.
 *
 * Layout of the file and of every part: schema/FORMAT.md, section 8. Anybody may have
 * changed the file: its bytes are checked against checksums and bounds, and -EBADMSG stands for
 * "build it again". Ids are the trace's own utids and upids.
 *
 * Threads: index_add(), index_read() and their tails from any, the rest from one at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/packed.h"

struct analysis;
struct analysis_index_use;
struct index;

/* Memory sources that share events and a state. */
enum index_group {
	INDEX_SLAB = 0,
	INDEX_PAGE = 1,
	INDEX_LEVELS = 2,	/* rss and vm */
	INDEX_HEAP = 3,
	INDEX_GROUP_CNT = 4,
};

/* The index keeps these parts per interval. Append at the end, and raise DERIVED_VERSION. */
enum index_part {
	INDEX_CPU = 0,		/* time on CPUs */
	INDEX_STATES,		/* states of threads, and waits for a CPU */
	INDEX_STATE_STATE,	/* threads and their requests at the interval's beginning */
	INDEX_REQUESTS,		/* block requests that ended */
	INDEX_REQUEST_STATE,	/* requests at the interval's beginning */
	INDEX_SUMS,		/* + group: memory allocated and freed */
	/* + group: older objects that end in the interval */
	INDEX_STATE = INDEX_SUMS + INDEX_GROUP_CNT,
	/* + group: levels at its beginning, of some intervals */
	INDEX_BASE = INDEX_STATE + INDEX_GROUP_CNT,
	/* + group: bytes allocated per process and granule */
	INDEX_RATES = INDEX_BASE + INDEX_GROUP_CNT,
	/* interrupts being served at the interval's beginning */
	INDEX_IRQ_STATE = INDEX_RATES + INDEX_GROUP_CNT,
	INDEX_PART_CNT,
};

/*
 * The index keeps these parts once: the whole states behind the last interval, where a later build
 * goes on.
 */
enum index_tail {
	INDEX_TAIL_STATES = 0,
	INDEX_TAIL_REQUESTS,
	INDEX_TAIL_MEMORY,	/* + group */
	/* + group: medians, of a finished trace */
	INDEX_TAIL_SPIKES = INDEX_TAIL_MEMORY + INDEX_GROUP_CNT,
	INDEX_TAIL_IRQ = INDEX_TAIL_SPIKES + INDEX_GROUP_CNT,
	/* + enum checkpoint_part, up to CHECKPOINT_IRQ */
	INDEX_TAIL_CARRIED,
	INDEX_TAIL_CNT = INDEX_TAIL_CARRIED + 3,
};

#define INDEX_GRANULE_NS 10000000ull	/* of INDEX_RATES, from the trace's start */

/* ---- intervals ---- */

size_t index_interval_cnt(const struct index *x);
uint64_t index_interval_from(const struct index *x, size_t interval);
uint64_t index_interval_to(const struct index *x, size_t interval);
/* The interval that holds an instant of the trace's span. */
size_t index_interval_at(const struct index *x, uint64_t ts_ns);

/* Returns how many events of some kinds (1u << EVENT_x) the blocks of intervals [from, to) have. */
uint64_t index_events(const struct index *x, size_t from, size_t to, uint32_t kinds);

/* ---- parts ---- */

/*
 * A part of an interval. *ret_mem is the caller's buffer, grown as needed, and what in points into.
 * 0; -EBADMSG: damaged; -ENOMEM, or what read gives. A part that is not there has no bytes.
 */
int index_read(const struct index *x, size_t interval, unsigned int part, struct buf *mem,
	       struct packed_in *ret);
/* 1: there is such a part; 0: there is none; < 0 as index_read(). */
int index_has(const struct index *x, size_t interval, unsigned int part);
int index_read_tail(const struct index *x, unsigned int tail, struct buf *mem,
		    struct packed_in *ret);

/* While it is built: 0 or -errno. Empty parts take no room. */
struct zpack;
int index_add(struct index *x, struct zpack *z, size_t interval, unsigned int part,
	      const struct buf *b);
int index_add_tail(struct index *x, struct zpack *z, unsigned int tail, const struct buf *b);
/* Reads what a cut takes over at the interval's beginning (edit/checkpoint.h). */
struct checkpoint;
int index_add_checkpoint(struct index *x, struct zpack *z, unsigned int job, size_t interval,
			 const struct checkpoint *c);

/* ---- the whole ---- */

/*
 * The index of the analysis' trace, with the parts that its derived file has. save: a place is
 * wanted where parts can be added. -ENOMEM.
 */
int index_open(struct index **ret, struct analysis *a, bool save, struct err *e);
/*
 * Makes the parts that questions about events of some kinds (1u << EVENT_x) are answered from, as
 * far as they are not there and use allows. 1: they are there; 0: none are wanted; -errno, and no
 * parts are made any more. -EBADMSG: damage came to light, in the trace or in the file; another
 * index has to be opened.
 */
int index_need(struct index *x, uint32_t kinds, const struct analysis_index_use *use,
	       struct err *e);
/* So many blocks were read whole, and found good, when parts were made. */
size_t index_read_cnt(const struct index *x);
void index_free(struct index *x);
/*
 * The trace that the index follows has grown. False: it cannot go on, and another one has to be
 * opened.
 */
bool index_follow_on(struct index *x);
/* False when the trace has lost a block since, or a part of the index was found damaged. */
bool index_is_true(const struct index *x);
/*
 * A function of this header, or a reader of its bytes, failed with ret: describes it in e, and
 * returns ret. After -EBADMSG the index is not true any more, and its file is gone.
 */
int index_fail(const struct index *x, int ret, struct err *e);

/* ---- of an analysis ---- */

/* The index with what it has, opened on first use, and again after damage came to light. */
int index_open_if_used(struct analysis *a, struct index **ret, struct err *e);
/*
 * The index to answer questions about events of some kinds (1u << EVENT_x) with: it has at least
 * the parts that these need, made on first use. NULL when there is none. 0 or -errno: one that
 * cannot be made is none, so errors are those that would hit any answer (-ENOMEM).
 */
int analysis_index_of(struct analysis *a, uint32_t kinds, const struct index **ret, struct err *e);

/* The index in use proved untrue: the question may be asked again. */
bool analysis_index_failed(const struct analysis *a);
