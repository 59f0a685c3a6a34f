/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * lists_disk: the bytes of a trace's lists in the derived file (schema/FORMAT.md, "The derived
 * file"), which lists_make.c writes and trace_lists.c reads. Private to them.
 */
#ifndef LISTS_DISK_H
#define LISTS_DISK_H

#include <fcntl.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "trace/derived_file.h"
#include "trace/trace_state.h"

#define LISTS_PART_BYTES (1u << 20)	/* a full part has this many bytes */
#define LISTS_ROWS 256		/* or, in a list unpacked by the part, this many rows */

/* The part DERIVED_FILES has one for each chunk file. */
struct disk_list_file {
	uint64_t number, bytes;
	uint64_t changed_ns;	/* its ctime; 0: too recent to detect a change by */
};

/* An even number, so that no hole follows; entries beyond the kinds are 0. */
#define LISTS_KINDS ((EVENT_KIND_CNT + 1u) & ~1u)

/*
 * Followed by the cpu_cnt utids that run at the block's beginning and, with LISTS_BLOCK_ENDS, by
 * those of CPU_END; 4 bytes each.
 */
struct disk_list_block {
	uint64_t file, offset, bytes;
	uint64_t from_ns, to_ns, first_ns, last_ns;
	uint64_t number;
	uint32_t front_bytes, head_crc;
	uint32_t flags;		/* LISTS_BLOCK_* */
	uint32_t cpu_cnt;
	uint32_t kind_cnt[LISTS_KINDS];
};

enum {
	LISTS_BLOCK_CARRIED = 1,
	LISTS_BLOCK_REWRITTEN = 2,
	LISTS_BLOCK_ENDS = 4,
	LISTS_BLOCK_CUT = 8,
};

_Static_assert(sizeof(struct disk_list_file) == 24, "layout of disk_list_file");
_Static_assert(sizeof(struct disk_list_block) == 80 + 4 * LISTS_KINDS,
	       "layout of disk_list_block");

#define LISTS_ROW_MM_RESET(U, T, S) T(ts_ns) U(upid) U(kind)
#define LISTS_ROW_NAME(U, T, S) U(id) U(arg) S(name)

/*
 * Every list, in the order of its parts. X(id, part type, type of names, struct, list of struct
 * trace, fields)
 */
#define LISTS_OF_ROWS(X)                                                                         \
	X(process, CHUNK_PROCESSES, 0, trace_process, processes, ROW_PROCESS)                    \
	X(thread, CHUNK_THREADS, 0, trace_thread, threads, ROW_THREAD)                           \
	X(task_event, CHUNK_TASK_EVENTS, 0, trace_task_event, task_events, ROW_TASK_EVENT)       \
	X(baseline, CHUNK_RSS_STATE, 0, trace_rss, baselines, ROW_RSS)                           \
	X(rss_snap, CHUNK_RSS_SNAPS, 0, trace_rss, rss_snaps, ROW_RSS)                           \
	X(loss, CHUNK_LOSS, 0, trace_loss, losses, ROW_LOSS)                                     \
	X(cost, CHUNK_COST, 0, trace_cost, costs, ROW_COST)                                      \
	X(hook_stat, CHUNK_HOOK_STATS, 0, trace_hook_stat, hook_stats, ROW_HOOK_STAT)            \
	X(clock, CHUNK_CLOCKS, 0, trace_clock, clocks, ROW_CLOCK)                                \
	X(mark, CHUNK_MARKS, 0, trace_mark, marks, ROW_MARK)                                     \
	X(gap, CHUNK_GAPS, 0, trace_gap, gaps, ROW_GAP)                                          \
	X(site, CHUNK_SITES, 0, trace_site, sites, ROW_SITE)                                     \
	X(frame, CHUNK_FRAMES, 0, trace_frame, frames, ROW_FRAME)                                \
	X(mm_reset, DERIVED_MM_RESETS, 0, trace_mm_reset, mm_resets, LISTS_ROW_MM_RESET)         \
	X(cache, CHUNK_NAMES, TRACE_NAME_CACHE, trace_name, names[1], LISTS_ROW_NAME)            \
	X(device, CHUNK_NAMES, TRACE_NAME_DEVICE, trace_name, names[2], LISTS_ROW_NAME)          \
	X(cgroup, CHUNK_NAMES, TRACE_NAME_CGROUP, trace_name, names[3], LISTS_ROW_NAME)          \
	X(symbol, CHUNK_NAMES, TRACE_NAME_SYMBOL, trace_name, names[4], LISTS_ROW_NAME)          \
	X(file, CHUNK_NAMES, TRACE_NAME_FILE, trace_name, names[5], LISTS_ROW_NAME)              \
	X(irq, CHUNK_NAMES, TRACE_NAME_IRQ, trace_name, names[6], LISTS_ROW_NAME)

_Static_assert(TRACE_NAME_CACHE == 1 && TRACE_NAME_IRQ == 6 && TRACE_NAME_TYPE_CNT == 7,
	       "LISTS_OF_ROWS has the names of every type");

#define LISTS_ONE(field) +1
#define LISTS_FIELD_CNT(fields) (0 fields(LISTS_ONE, LISTS_ONE, LISTS_ONE))

/* True when a list with parts of this type is unpacked by the part. */
static inline bool lists_is_lazy(unsigned int type)
{
	return type == CHUNK_PROCESSES || type == CHUNK_THREADS || type == CHUNK_NAMES ||
	       type == DERIVED_MM_RESETS;
}

/* The time of a chunk file's last change, as in DERIVED_FILES. */
static inline uint64_t lists_changed_ns(const struct stat *st)
{
	return (uint64_t)st->st_ctim.tv_sec * 1000000000u + (uint64_t)st->st_ctim.tv_nsec;
}

#endif /* LISTS_DISK_H */
