/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * trace_read: access for code that makes traces from traces (src/edit), in addition to trace.h:
 * blocks as they are stored, rows of any list, and files of the trace's directory.
 *
 * Threads: one, unless a function says more. Errors: as in trace.h.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/block_meta.h"
#include "store/chunk_scan.h"
#include "store/manifest.h"
#include "trace/trace.h"

/* More about the trace_block of the same index. */
struct trace_block_more {
	uint64_t file;		/* number of the chunk file */
	uint64_t late_ns;	/* lowest first_ns of this and all later blocks */
	struct disk_block head;
	uint32_t *running;	/* head.cpu_cnt utids, from the keyframe */
	/* head.cpu_cnt entries if the block has CPU_END; else NULL */
	struct row_cpu_end *ends;
	bool damaged;		/* under drop_lock while cursors run in threads */
	bool verified;		/* every byte was read and is valid */
};

/*
 * File, buffer and decoder for reading blocks. The trace has one reader; a cursor has its own, so
 * that it may run in a thread.
 */
struct trace_reader {
	int fd;			/* the chunk file opened last, -1: none */
	uint64_t fd_number;
	struct zunpack *zunpack;
};

struct trace_block_open {
	struct block_meta *meta;
	struct chunk_io io;
};

/* ---- the trace ---- */

/* -1: the trace is a bundle. */
int trace_dir_fd(const struct trace *t);
uint64_t trace_id(const struct trace *t);	/* 0: none */
bool trace_lacks_manifest(const struct trace *t);	/* missing, or its checksum is wrong */
const struct manifest *trace_stored_manifest(const struct trace *t);
struct trace_reader *trace_own_reader(struct trace *t);

static inline bool trace_is_damaged(const struct trace *t)
{
	size_t cnt;

	trace_damages(t, &cnt);
	return cnt;
}

/* Returns the numbers of the chunk files, ascending, malloc'ed. */
int trace_file_list(const struct trace *t, uint64_t **ret, size_t *ret_cnt);
/*
 * Returns the descriptor of a chunk file, either held or newly opened; release it with
 * trace_file_close(). < 0: the error of open().
 */
int trace_file_open(const struct trace *t, uint64_t number);
void trace_file_close(const struct trace *t, int fd);

#define TRACE_FILE_MISSING "file is missing"	/* reason of the damage */

/* ---- its lists ---- */

/*
 * The lists of rows of a trace: those of small sections by enum chunk_section_type (RSS_STATE: the
 * baselines), and others.
 */
enum trace_list_id {
	TRACE_LIST_MM_RESETS = CHUNK_SMALL_END,	/* in order after trace_mm_resets_prepare() */
	TRACE_LIST_NAMES,	/* + enum trace_name_type, from 1; CHUNK_NAMES itself is empty */
	TRACE_LIST_CNT = TRACE_LIST_NAMES + TRACE_NAME_TYPE_CNT,
};

/* The key of a file is inode number and file system, that of every other name its id. */
static inline uint64_t trace_name_key(enum trace_name_type type, uint64_t id, uint64_t arg)
{
	return type == TRACE_NAME_FILE ? id ^ (arg + 1) * 0x9e3779b97f4a7c15ull : id;
}

/* The type of the rows of a list, by enum chunk_section_type; NULL: the list is not stored. */
const struct row_type *trace_list_type(unsigned int list);
/* All rows of a list. */
const void *trace_rows(const struct trace *t, unsigned int list, size_t *ret_cnt);
/* Row i of a list; NULL: out of range. */
const void *trace_row_at(const struct trace *t, unsigned int list, size_t i);
/* The row of a list by id; NULL: not found. */
const void *trace_row_find(const struct trace *t, unsigned int list, uint64_t key);

/* ---- its blocks ---- */

static inline size_t trace_block_cnt(const struct trace *t)
{
	size_t cnt;

	trace_blocks(t, &cnt);
	return cnt;
}

/* NULL: i is out of range. */
static inline const struct trace_block *trace_block_at(const struct trace *t, size_t i)
{
	size_t cnt;
	const struct trace_block *b = trace_blocks(t, &cnt);

	return i < cnt ? b + i : NULL;
}

struct trace_block_more *trace_more_at(const struct trace *t, size_t i);

/*
 * Opens block i again, without its event columns. The descriptor in ret belongs to r and is valid
 * until the next call.
 */
int trace_block_open(const struct trace *t, struct trace_reader *r, size_t block,
		     struct trace_block_open *ret, struct err *e);
/* Marks block i as damaged. */
int trace_block_drop(struct trace *t, size_t block, const char *reason);

/*
 * irq_holes: the times from which a trace lacks interrupt events: sched.irq was off, or a block is
 * missing or damaged.
 *
 * A reader of a trace's events calls irq_track_hole() at each of them, before the events of that
 * time. Threads: one.
 */
struct irq_holes {
	uint64_t *at_ns;	/* ascending */
	size_t cnt, next;
};

int irq_holes_find(struct irq_holes *h, const struct trace *t);	/* 0 or -ENOMEM */
void irq_holes_done(struct irq_holes *h);
/* True: a hole that no earlier call has passed is before below_ns. */
bool irq_holes_pass(struct irq_holes *h, uint64_t below_ns);
