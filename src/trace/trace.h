/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * trace: opens a recorded trace for reading.
 *
 *     store/ files --> format/ (validate, decode) --> [trace] --> model, edit, analyze
 *
 * Opening a trace reads the manifest, and the headers and small sections (tasks, names, losses,
 * costs, clocks) of every valid block, but no events. Memory use grows with blocks, tasks and
 * names, not with events.
 *
 * All data of a trace is untrusted. Damaged blocks are skipped and listed, and sizes are checked
 * before any allocation. Strings are NUL-terminated, but may contain any bytes and are not safe for
 * a terminal.
 *
 * Times are CLOCK_MONOTONIC ns of the recorded machine unless a name says otherwise. The recorder
 * attempted to record every event of the selected sources between the trace's start and end.
 * Returned pointers stay valid until trace_close() or trace_refresh().
 *
 * Threads: a trace belongs to one thread. Each cursor that this thread opened may run in its own
 * thread, while the trace's thread only reads lists.
 *
 * If the trace is still being recorded, all blocks that are complete so far are opened. Reading
 * takes no lock and never disturbs the recorder. Opened data stays readable, even if the recorder
 * removes old chunk files.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "format/event.h"
#include "format/rows.h"

struct trace;

struct trace_damage {
	const char *file;		/* name of the chunk file */
	uint64_t offset, bytes;		/* the skipped bytes */
	const char *reason;
};

struct trace_block {
	const char *file;
	uint64_t offset, bytes;		/* in the chunk file */
	uint64_t from_ns, to_ns;	/* half-open span of time that the block covers */
	/*
	 * Lowest and highest timestamp of the events; both are from_ns if there are no events. Late
	 * records make first_ns less than from_ns.
	 */
	uint64_t first_ns, last_ns;
	uint64_t kind_cnt[EVENT_KIND_CNT];
};

/*
 * Returns the number of a block's events of the kinds in a mask of 1 << kind. Task events have no
 * kind.
 */
static inline uint64_t trace_block_events(const struct trace_block *b, uint32_t kinds)
{
	uint64_t events = 0;

	for (unsigned int k = 0; k < EVENT_KIND_CNT; k++)
		if (kinds & 1u << k)
			events += b->kind_cnt[k];
	return events;
}

/*
 * Opens a trace: a directory or a bundle (bundle.h). -ENOENT, -EACCES and other errors of open();
 * -EINVAL: not a trace; -EPROTONOSUPPORT: a newer format. A damaged trace can be opened (see
 * trace_damages()), and so can a trace without a valid block if its manifest is valid.
 */
int trace_open(struct trace **ret, const char *path, struct err *e);
/* Like trace_open(), but also opens chunk files without a valid manifest, for check and repair. */
int trace_open_anyway(struct trace **ret, const char *path, struct err *e);
/*
 * Like trace_open(), but takes the lists of a finished trace from the derived file if
 * trace_lists_save() has saved them. The small sections of a block are then read and checked only
 * when the block is opened.
 */
int trace_open_quick(struct trace **ret, const char *path, struct err *e);
/*
 * Saves the lists of a finished, undamaged trace with many blocks in its derived file
 * (derived_file.h), for trace_open_quick(). Best effort: errors are ignored.
 */
void trace_lists_save(struct trace *t);

void trace_close(struct trace *t);

/*
 * Reads the data recorded since the trace was opened or refreshed. 0; -ESTALE: the oldest chunk
 * files were removed, and new data requires opening the trace again (its old data stays readable);
 * other errors as trace_open(), after which the trace may only be closed.
 */
int trace_refresh(struct trace *t, struct err *e);

const char *trace_path(const struct trace *t);
/*
 * Return the span of the trace: of a finished trace the recorded span, even if its first or last
 * blocks are missing now; otherwise the span of its blocks. 0 without blocks.
 */
uint64_t trace_start_ns(const struct trace *t);
uint64_t trace_end_ns(const struct trace *t);
/*
 * A hole: time between start and end that no valid block covers. Initialize with { 0 }; each call
 * of trace_hole_next() finds the next hole, in order of time. Damage found later adds holes.
 */
struct trace_hole {
	uint64_t from_ns, to_ns;
	size_t block;		/* private: next block to search */
	uint64_t covered_ns;
};
bool trace_hole_next(const struct trace *t, struct trace_hole *h);
/*
 * Returns the start of a trace that was cut from another trace; otherwise 0. In such a trace,
 * events before this time only describe the state at the cut, and are not counted as its events.
 */
uint64_t trace_carried_ns(const struct trace *t);
/*
 * Returns true if the trace was cut from a longer trace: requests and allocations that are open at
 * its end may have ended later.
 */
bool trace_is_cut_short(const struct trace *t);
bool trace_is_finished(const struct trace *t);	/* false: still recorded, or the recorder died */
bool trace_is_live(const struct trace *t); /* recording was in progress when the trace was opened */
const char *trace_get(const struct trace *t, const char *key);	/* manifest value or NULL */
/* Like trace_get(), as a number; 0: no such key. */
uint64_t trace_get_number(const struct trace *t, const char *key);
const char *trace_uuid(const struct trace *t);	/* the trace's id as a UUID; "": none */
uint32_t trace_page_bytes(const struct trace *t);	/* of the recorded machine */
/*
 * Returns true if a source ("sched.switch"), or any source of a class ("alloc"), was requested for
 * the recording, or if the manifest does not list sources. A source that a cut leaves out counts as
 * recorded, with gaps.
 */
bool trace_was_recorded(const struct trace *t, const char *source);

#define TRACE_LIST(name, type)                                                                     \
	const struct type *trace_##name(const struct trace *t, size_t *ret_cnt)
TRACE_LIST(manifest, manifest_entry);
TRACE_LIST(blocks, trace_block);
TRACE_LIST(processes, trace_process);	/* by upid, ascending; without pseudo ids */
TRACE_LIST(threads, trace_thread);	/* by utid, ascending */
TRACE_LIST(task_events, trace_task_event);
/* Counts task events in [from_ns, to_ns), without rows of snapshots. */
uint64_t trace_task_event_cnt(const struct trace *t, uint64_t from_ns, uint64_t to_ns);
TRACE_LIST(rss_baselines, trace_rss);	/* memory of older processes at the start */
TRACE_LIST(rss_snaps, trace_rss);	/* snapshots at start and end, in order of time */
TRACE_LIST(losses, trace_loss);
TRACE_LIST(costs, trace_cost);
TRACE_LIST(hook_stats, trace_hook_stat);
TRACE_LIST(gaps, trace_gap);	/* by from_ns */
TRACE_LIST(quotas, trace_quota);	/* by from_ns */
TRACE_LIST(sites, trace_site);	/* by upid, then addr, then from_ns */
TRACE_LIST(frames, trace_frame);	/* frames of a stack are adjacent, innermost first */
TRACE_LIST(clocks, trace_clock);
TRACE_LIST(marks, trace_mark);		/* in order of time */
/* Finds the nr-th mark with this text; nr counts from 1. NULL: not found. */
const struct trace_mark *trace_mark_find(const struct trace *t, const char *text, uint64_t nr);
TRACE_LIST(damages, trace_damage);
const struct trace_name *trace_names(const struct trace *t, enum trace_name_type type,
				     size_t *ret_cnt); /* by id */

/* Return NULL for pseudo ids and unknown ids. */
const struct trace_thread *trace_thread_find(const struct trace *t, uint32_t utid);
const struct trace_process *trace_process_find(const struct trace *t, uint32_t upid);
/*
 * Access by index: the number of rows, the row at an index, and the index of an id (SIZE_MAX: not
 * found).
 */
size_t trace_thread_cnt(const struct trace *t);
size_t trace_process_cnt(const struct trace *t);
const struct trace_thread *trace_thread_at(const struct trace *t, size_t i);
const struct trace_process *trace_process_at(const struct trace *t, size_t i);
size_t trace_thread_index(const struct trace *t, uint32_t utid);
size_t trace_process_index(const struct trace *t, uint32_t upid);

/*
 * Resets of processes' memory by exec or exit, sorted by time, then exec before exit, then by upid.
 * The trace's thread must first call trace_mm_resets_prepare(): 0 or -ENOMEM.
 */
int trace_mm_resets_prepare(struct trace *t);
size_t trace_mm_reset_cnt(const struct trace *t);
const struct trace_mm_reset *trace_mm_reset_at(const struct trace *t, size_t i);
/* Returns the index of the first reset at ts_ns or later. */
size_t trace_mm_reset_from(const struct trace *t, uint64_t ts_ns);

/*
 * Return the index of the first row that may end at ts_ns or later: 0 if the rows are not in order
 * of their ends.
 */
size_t trace_costs_ending(const struct trace *t, uint64_t ts_ns);
size_t trace_hook_stats_ending(const struct trace *t, uint64_t ts_ns);
size_t trace_blocks_ending(const struct trace *t, uint64_t ts_ns);

/* Hash over (utid, upid) of the first cnt threads. Equal hashes: the ids have the same meaning. */
uint64_t trace_thread_hash(const struct trace *t, size_t cnt);
/*
 * Hash over position, slice, header CRC and damage of the first cnt blocks. Equal hashes: the
 * blocks are the same.
 */
uint64_t trace_blocks_hash(const struct trace *t, size_t cnt);
/*
 * Compares the lists in d with the lists of t's blocks. 0: equal, or d has no lists; -ESTALE:
 * different; -EBADMSG, -ENOMEM.
 */
struct derived_file;
int trace_lists_compare(struct trace *t, struct derived_file *d);
const struct trace_name *trace_name_find(const struct trace *t, enum trace_name_type type,
					 uint64_t id);	/* for all types except files */
/* Returns the last known name of a file, by file system and inode number; NULL: unknown. */
const struct trace_name *trace_file_find(const struct trace *t, uint32_t dev, uint64_t ino);

/* Returns the site of a code address in process upid at ts_ns; NULL: not in the trace. */
const struct trace_site *trace_site_find(const struct trace *t, uint32_t upid, uint64_t addr,
					 uint64_t ts_ns);
/*
 * Sets a name that was found after the recording, in row nr of trace_sites(); the name is valid
 * until trace_close(). 0 or -ENOMEM.
 */
int trace_site_name(struct trace *t, size_t nr, const char *symbol, uint64_t symbol_offset);

/* Returns the frames of a stack, innermost first; NULL: not in the trace. */
const struct trace_frame *trace_stack_find(const struct trace *t, uint64_t stack, size_t *ret_cnt);

/*
 * Convert a time of CLOCK_MONOTONIC to CLOCK_REALTIME and back, by the nearest clock reading. If
 * the clock was set back, a wall-clock time that occurred twice is converted to its first
 * occurrence. If the clock was set forward, a skipped time is converted to the instant of the
 * change.
 */
uint64_t trace_real_ns(const struct trace *t, uint64_t mono_ns);
uint64_t trace_mono_from_real_ns(const struct trace *t, uint64_t real_ns);

/*
 * A step of the wall clock relative to the trace's clock between two readings, at an unknown
 * instant: the clock was set, by set_ns, or the machine was suspended. Wall-clock times of instants
 * in [from_ns, to_ns) may be wrong by set_ns + suspended_ns. Slewing by up to 500 ppm is not a
 * step.
 */
struct trace_clock_step {
	uint64_t from_ns, to_ns;
	int64_t set_ns;
	uint64_t suspended_ns;
};
/* Finds the first step that overlaps (from_ns, to_ns). False: none. */
bool trace_clock_step_find(const struct trace *t, uint64_t from_ns, uint64_t to_ns,
			   struct trace_clock_step *ret);

/*
 * Returns the memory of each process at the start of a block (the keyframe), by upid. Valid until
 * the next call.
 */
int trace_block_rss(struct trace *t, size_t block, const struct trace_rss **ret, size_t *ret_cnt,
		    struct err *e);

/*
 * Checks every byte of a block. 0; -EBADMSG: its event columns are damaged, the block is now listed
 * in trace_damages(), and its events are skipped. A cursor treats damage in the same way.
 */
int trace_block_verify(struct trace *t, size_t block, struct err *e);
bool trace_block_is_damaged(const struct trace *t, size_t block);

/* Returns the thread on cpu at the start of a block: a utid or pseudo id. */
uint32_t trace_block_running(const struct trace *t, size_t block, unsigned int cpu);
/* Returns the thread on cpu at the end of a block (FORMAT.md, CPU_END). NULL: not in the trace. */
const struct row_cpu_end *trace_block_end(const struct trace *t, size_t block, unsigned int cpu);
/* Returns the number of CPUs: the highest recorded or possible CPU number + 1. */
unsigned int trace_cpu_cnt(const struct trace *t);

/* ---- reading events ---- */

struct event_cursor;

/*
 * Opens a cursor on the events of the kinds in kind_mask (1u << EVENT_x) with from_ns <= ts_ns <
 * to_ns, in order of (ts_ns, cpu, kind, order of arrival). Blocks without such events are not read.
 * One block (rarely two) is decoded at a time. A damaged block is skipped as a whole and added to
 * trace_damages().
 */
int event_cursor_open(struct event_cursor **ret, struct trace *t, uint32_t kind_mask,
		      uint64_t from_ns, uint64_t to_ns, struct err *e);
/*
 * Like event_cursor_open(), but reads and decodes only some columns: columns[EVENT_x] has bits 1 <<
 * EV_x for values, EVENT_COL_UTID and EVENT_COL_FLAGS. Other values, utid and flags are 0.
 */
#define EVENT_COL_UTID (1u << EVENT_VALUES)
#define EVENT_COL_FLAGS (1u << (EVENT_VALUES + 1))
int event_cursor_open_columns(struct event_cursor **ret, struct trace *t, uint32_t kind_mask,
			      const uint32_t columns[EVENT_KIND_CNT], uint64_t from_ns,
			      uint64_t to_ns, struct err *e);
/*
 * Makes the cursor skip blocks that do not refer to this thread. From the other blocks, it returns
 * the events of all threads. Call this before the first event.
 */
void event_cursor_want_thread(struct event_cursor *c, uint32_t utid);
/*
 * Makes the cursor return only events of this CPU, without sorting the others. Call this before the
 * first event.
 */
void event_cursor_want_cpu(struct event_cursor *c, uint32_t cpu);
/* Returns 1: *ret points to the next event, valid until the next call; 0: end; -errno. */
int event_cursor_next(struct event_cursor *c, const struct event **ret, struct err *e);
/* Like event_cursor_next(), but returns all events that are decoded already, at least one. */
int event_cursor_next_all(struct event_cursor *c, const struct event **ret, size_t *ret_cnt,
			  struct err *e);
/*
 * Passes on all events before to_ns that were not passed on yet, as ranges of rows [row, end) of
 * one CPU and kind. The rows of a range are in order of time, but the ranges are not, which avoids
 * sorting. Do not call this function and event_cursor_next() for the same cursor. each() and this
 * function return 0 or -errno.
 */
struct kind_columns;
typedef int (*event_cursor_range)(void *ctx, const struct kind_columns *k, uint32_t row,
				  uint32_t end);
int event_cursor_ranges(struct event_cursor *c, uint64_t to_ns, event_cursor_range each, void *ctx,
			struct err *e);
void event_cursor_close(struct event_cursor *c);

/*
 * trace_layout: reports how many bytes of a trace each event column, each small section and
 * everything else takes. Reads the section tables of all blocks, but no events. Threads: the
 * trace's.
 */

/* Parts that are not sections. The numbers differ from all section types. */
enum trace_layout_part {
	TRACE_LAYOUT_FILE_HEADERS = 0x10000,
	TRACE_LAYOUT_BLOCK_HEADERS,	/* including section tables and padding; raw = stored */
	TRACE_LAYOUT_DAMAGED,
	TRACE_LAYOUT_REST,	/* bytes of an unfinished block */
	TRACE_LAYOUT_MANIFEST,
};

/* Sum over all parts of one type. A column includes its tokens, bits and tables. */
struct trace_layout {
	uint32_t part;			/* enum trace_layout_part or a section type */
	uint8_t kind, column;		/* of event columns (CHUNK_COLUMN, CHUNK_TUPLES), else 0 */
	bool is_event;			/* the part is an event column, CHUNK_COLUMN */
	const char *kind_name, *name;	/* "switch", "ts_ns"; "?": from a later version */
	const char *codec;		/* "XREF", "rows", ... */
	uint64_t row_cnt;		/* events of the kind, rows of the section, files, blocks */
	uint64_t raw_bytes;		/* unpacked */
	uint64_t stored_bytes;	/* on disk; all rows add up to the size of the trace's files */
};

/*
 * Sets *ret to a malloc'ed array: event columns first, by kind and column. The sizes are those of
 * the files at the time of the call.
 */
int trace_layout_read(struct trace *t, struct trace_layout **ret, size_t *ret_cnt, struct err *e);
