/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * trace: a recorded trace, opened for reading.
 *
 *     store/ files --> format/ (validate, decode) --> [trace] --> model, edit, analyze
 *
 * Opening reads the manifest, the headers and the small sections (tasks, names, losses, costs,
 * clocks) of every valid block, and no events. Memory grows with blocks, tasks and names, not with
 * events.
 *
 * Everything in a trace is untrusted. Damaged blocks are skipped and listed, sizes are checked
 * before any allocation, and strings may hold any byte: they are NUL-terminated here, but not safe
 * for a terminal.
 *
 * Times are CLOCK_MONOTONIC ns of the recorded machine unless a name says otherwise. Between
 * start_ns and end_ns every event of the selected sources was attempted. Returned pointers stay
 * valid until trace_close() or trace_refresh().
 *
 * Threads: a trace belongs to one thread. Cursors that this thread opened may each run in a thread
 * of their own, while the trace's own thread only reads lists.
 *
 * A trace that is being recorded opens as a prefix of whole blocks: those written so far. Reading
 * takes no lock and never disturbs the recorder. Opened data stays readable, even if the recorder
 * removes old chunk files.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "format/rows.h"
#include "format/event.h"

struct trace;

struct trace_damage {
	const char *file;		/* chunk file name */
	uint64_t offset, bytes;		/* the skipped bytes */
	const char *reason;
};

struct trace_block {
	const char *file;
	uint64_t offset, bytes;		/* in the chunk file */
	uint64_t from_ns, to_ns;	/* slice of time that the block covers, half-open */
	/*
	 * The lowest and the highest timestamp of its events; both are from_ns if it has none. Late
	 * records make first_ns less than from_ns.
	 */
	uint64_t first_ns, last_ns;
	uint64_t kind_cnt[EVENT_KIND_CNT];
};

/* Returns the number of a block's events of kinds, a mask. Task events have no kind. */
static inline uint64_t trace_block_events(const struct trace_block *b, uint32_t kinds)
{
	uint64_t events = 0;

	for (unsigned int k = 0; k < EVENT_KIND_CNT; k++)
		if (kinds & 1u << k)
			events += b->kind_cnt[k];
	return events;
}

/*
 * Opens TRACE, a directory or a bundle (bundle.h). -ENOENT/-EACCES/-ENOTDIR..., -EINVAL not a
 * trace, -EPROTONOSUPPORT a newer format. A trace with damage opens (see trace_damages); a trace
 * without a valid block opens with 0 blocks if its manifest is valid.
 */
int trace_open(struct trace **ret, const char *path, struct err *e);
/*
 * The same, but also opens a directory with chunk files whose manifest is missing or damaged: for
 * check and repair.
 */
int trace_open_anyway(struct trace **ret, const char *path, struct err *e);
/*
 * The same, but the lists of a finished trace may come from the derived file, where
 * trace_lists_save() has saved them. Then the small sections of a block are read, and checked, only
 * when the block is opened.
 */
int trace_open_quick(struct trace **ret, const char *path, struct err *e);
/*
 * Saves the lists of a finished and undamaged trace of many blocks in its derived file
 * (derived_file.h) for trace_open_quick(). Best effort; failure is ignored.
 */
void trace_lists_save(struct trace *t);

void trace_close(struct trace *t);

/*
 * Adds the data that was recorded since the trace was opened or refreshed; reads only that. 0;
 * -ESTALE: the oldest chunk files have been removed, so the trace has to be opened again (its data
 * stays readable); other errors as trace_open(), after which it may only be closed.
 */
int trace_refresh(struct trace *t, struct err *e);

const char *trace_path(const struct trace *t);
/*
 * Return the span that the trace covered when it was closed, even if its first or last blocks are
 * missing now; otherwise the span of its blocks. Without blocks, 0.
 */
uint64_t trace_start_ns(const struct trace *t);
uint64_t trace_end_ns(const struct trace *t);
/*
 * Time between start and end that no valid block covers. Begin with { 0 }; true: from_ns and to_ns
 * are the next hole, in order of time. Damage that is found later adds holes.
 */
struct trace_hole {
	uint64_t from_ns, to_ns;
	size_t block;		/* private: next block to search */
	uint64_t covered_ns;
};
bool trace_hole_next(const struct trace *t, struct trace_hole *h);
/*
 * Returns the start of a trace that was cut from another one. Earlier events were carried over as
 * state only; they do not count as its events. Otherwise 0.
 */
uint64_t trace_carried_ns(const struct trace *t);
/*
 * Returns whether the trace was cut from a longer one: the ends of requests and allocations after
 * its end are unknown.
 */
bool trace_is_cut_short(const struct trace *t);
bool trace_is_finished(const struct trace *t);	/* false: still recorded, or the recorder died */
bool trace_is_live(const struct trace *t); /* it was being recorded when it was opened */
const char *trace_get(const struct trace *t, const char *key);	/* manifest value or NULL */
/* the same; 0: no such key */
uint64_t trace_get_number(const struct trace *t, const char *key);
const char *trace_uuid(const struct trace *t);	/* its trace_id as a UUID; "": none */
uint32_t trace_page_bytes(const struct trace *t);	/* of the recorded machine */
/*
 * Returns whether a source ("sched.switch"), or any of a class ("alloc"), was requested when the
 * trace was recorded. True if the manifest does not say. A source that a cut leaves out counts as
 * recorded, and has gaps.
 */
bool trace_was_recorded(const struct trace *t, const char *source);

#define TRACE_LIST(name, type)                                                                     \
	const struct type *trace_##name(const struct trace *t, size_t *ret_cnt)
TRACE_LIST(manifest, manifest_entry);
TRACE_LIST(blocks, trace_block);
TRACE_LIST(processes, trace_process);	/* by upid, ascending; without pseudo ids */
TRACE_LIST(threads, trace_thread);	/* by utid, ascending */
TRACE_LIST(task_events, trace_task_event);
/* Counts task events in [from_ns, to_ns); rows of snapshots do not count. */
uint64_t trace_task_event_cnt(const struct trace *t, uint64_t from_ns, uint64_t to_ns);
TRACE_LIST(rss_baselines, trace_rss);	/* at the trace's start, of older processes */
TRACE_LIST(rss_snaps, trace_rss);	/* snapshots at start and end, in order of time */
TRACE_LIST(losses, trace_loss);
TRACE_LIST(costs, trace_cost);
TRACE_LIST(hook_stats, trace_hook_stat);
TRACE_LIST(gaps, trace_gap);	/* by from_ns */
TRACE_LIST(quotas, trace_quota);	/* by from_ns */
TRACE_LIST(sites, trace_site);	/* by upid, addr, from_ns */
TRACE_LIST(frames, trace_frame);	/* frames of a stack are adjacent, innermost first */
TRACE_LIST(clocks, trace_clock);
TRACE_LIST(marks, trace_mark);		/* in order of time */
/* Finds the nr-th mark with this text, from 1; NULL: not found. */
const struct trace_mark *trace_mark_find(const struct trace *t, const char *text, uint64_t nr);
TRACE_LIST(damages, trace_damage);
const struct trace_name *trace_names(const struct trace *t, enum trace_name_type type,
				     size_t *ret_cnt); /* by id */

/* NULL: pseudo id or unknown. */
const struct trace_thread *trace_thread_find(const struct trace *t, uint32_t utid);
const struct trace_process *trace_process_find(const struct trace *t, uint32_t upid);
/*
 * Row counts of trace_threads() and trace_processes(), the row at an index, and the index of an id
 * (SIZE_MAX: none).
 */
size_t trace_thread_cnt(const struct trace *t);
size_t trace_process_cnt(const struct trace *t);
const struct trace_thread *trace_thread_at(const struct trace *t, size_t i);
const struct trace_process *trace_process_at(const struct trace *t, size_t i);
size_t trace_thread_index(const struct trace *t, uint32_t utid);
size_t trace_process_index(const struct trace *t, uint32_t upid);

/*
 * Resets of all processes' memory, in order of time; at one instant exec comes before exit, then
 * the order is by upid. Call trace_mm_resets_prepare() first, in the trace's thread: 0 or -ENOMEM.
 */
int trace_mm_resets_prepare(struct trace *t);
size_t trace_mm_reset_cnt(const struct trace *t);
const struct trace_mm_reset *trace_mm_reset_at(const struct trace *t, size_t i);
/* Returns the index of the first reset at ts_ns or later. */
size_t trace_mm_reset_from(const struct trace *t, uint64_t ts_ns);

/*
 * Return the index of the first row that may end at ts_ns or later. Rows mostly are in order of
 * their ends; if they are not, it is 0.
 */
size_t trace_costs_ending(const struct trace *t, uint64_t ts_ns);
size_t trace_hook_stats_ending(const struct trace *t, uint64_t ts_ns);
size_t trace_blocks_ending(const struct trace *t, uint64_t ts_ns);

/* Hash over (utid, upid) of the first cnt threads: equal if the ids have the same meaning. */
uint64_t trace_thread_hash(const struct trace *t, size_t cnt);
/*
 * Hash over place, slice, header CRC and damage of the first cnt blocks: equal if the blocks are
 * the same.
 */
uint64_t trace_blocks_hash(const struct trace *t, size_t cnt);
/*
 * 0: the lists in d equal those of t's blocks, or d has no lists; -ESTALE: they differ; -EBADMSG,
 * -ENOMEM.
 */
struct derived_file;
int trace_lists_compare(struct trace *t, struct derived_file *d);
const struct trace_name *trace_name_find(const struct trace *t, enum trace_name_type type,
					 uint64_t id);	/* not for files */
/* Returns the last name of a file, by file system and inode number; NULL: unknown. */
const struct trace_name *trace_file_find(const struct trace *t, uint32_t dev, uint64_t ino);

/*
 * Returns the site of process upid at a user-space code address at ts_ns; NULL: not in the trace.
 */
const struct trace_site *trace_site_find(const struct trace *t, uint32_t upid, uint64_t addr,
					 uint64_t ts_ns);
/*
 * Gives the nr-th of trace_sites() a name that was found after the recording, until trace_close().
 * 0 or -ENOMEM.
 */
int trace_site_name(struct trace *t, size_t nr, const char *symbol, uint64_t symbol_offset);

/* Returns the frames of a stack, innermost first; NULL: not in the trace. */
const struct trace_frame *trace_stack_find(const struct trace *t, uint64_t stack, size_t *ret_cnt);

/*
 * Convert a monotonic time to the wall clock (CLOCK_REALTIME ns) and back, by the nearest clock
 * rows. If the clock was set back, a wall-clock time that occurred twice is converted to the first
 * occurrence. A time that the clock skipped is converted to the instant when it was set.
 */
uint64_t trace_real_ns(const struct trace *t, uint64_t mono_ns);
uint64_t trace_mono_from_real_ns(const struct trace *t, uint64_t real_ns);

/*
 * A change of the wall clock against the trace's clock between two readings, at an unknown time:
 * the clock was set, by set_ns, or the machine was suspended. Wall-clock times of instants in
 * [from_ns, to_ns) may be wrong by the sum. Slewing by up to 500 ppm does not count.
 */
struct trace_clock_step {
	uint64_t from_ns, to_ns;
	int64_t set_ns;
	uint64_t suspended_ns;
};
/* Finds the first step that ends after from_ns and begins before to_ns. False: none. */
bool trace_clock_step_find(const struct trace *t, uint64_t from_ns, uint64_t to_ns,
			   struct trace_clock_step *ret);

/*
 * Returns the memory of each process at the start of block i (the keyframe), by upid. Valid until
 * the next call.
 */
int trace_block_rss(struct trace *t, size_t block, const struct trace_rss **ret, size_t *ret_cnt,
		    struct err *e);

/*
 * Checks every byte of block i. 0, or -EBADMSG: its event columns are damaged; it is then listed in
 * trace_damages() and its events are skipped from now on. The same happens if a cursor meets
 * damage.
 */
int trace_block_verify(struct trace *t, size_t block, struct err *e);
bool trace_block_is_damaged(const struct trace *t, size_t block);

/* Returns the thread on cpu at the start of block i: a utid or pseudo id. */
uint32_t trace_block_running(const struct trace *t, size_t block, unsigned int cpu);
/* Returns the thread on cpu at the end of block i (FORMAT.md, CPU_END). NULL: not in the trace. */
const struct row_cpu_end *trace_block_end(const struct trace *t, size_t block, unsigned int cpu);
/* Returns one more than the highest CPU number that was seen or is possible. */
unsigned int trace_cpu_cnt(const struct trace *t);

/* ---- reading events ---- */

struct event_cursor;

/*
 * Opens a cursor on the events of the kinds in kind_mask (1u << EVENT_x) with from_ns <= ts_ns <
 * to_ns, in order of (ts_ns, cpu, kind, order of arrival). Blocks that cannot hold any are not
 * read, and columns that are not requested are neither read nor decoded. One block (rarely two) is
 * decoded at a time. A damaged block is skipped as a whole and added to trace_damages().
 */
int event_cursor_open(struct event_cursor **ret, struct trace *t, uint32_t kind_mask,
		      uint64_t from_ns, uint64_t to_ns, struct err *e);
/*
 * The same with the requested columns: columns[EVENT_x] has bit 1 << EV_x for values,
 * EVENT_COL_UTID and EVENT_COL_FLAGS for the rest; other fields of struct event are 0.
 */
#define EVENT_COL_UTID (1u << EVENT_VALUES)
#define EVENT_COL_FLAGS (1u << (EVENT_VALUES + 1))
int event_cursor_open_columns(struct event_cursor **ret, struct trace *t, uint32_t kind_mask,
			      const uint32_t columns[EVENT_KIND_CNT], uint64_t from_ns,
			      uint64_t to_ns, struct err *e);
/*
 * From now on skips blocks without any trace of this thread; of other blocks all events are
 * returned. Call before the first event.
 */
void event_cursor_want_thread(struct event_cursor *c, uint32_t utid);
/*
 * Returns only events of this CPU, which also avoids sorting the others. Call before the first
 * event.
 */
void event_cursor_want_cpu(struct event_cursor *c, uint32_t cpu);
/* 1: *ret points to the next event, valid until the next call; 0: end; negative errno: failed. */
int event_cursor_next(struct event_cursor *c, const struct event **ret, struct err *e);
/* The same for all events that are ready, at least one. */
int event_cursor_next_all(struct event_cursor *c, const struct event **ret, size_t *ret_cnt,
			  struct err *e);
void event_cursor_close(struct event_cursor *c);
