/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * trace_read: additional access for code that makes traces from traces (src/edit): stored blocks,
 * rows of any list, and files of the trace's directory.
 *
 * Threads: one, unless stated otherwise. Errors: as in trace.h.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/block.h"
#include "store/chunk_scan.h"
#include "store/manifest.h"
#include "trace/trace.h"

/* More data of the trace_block with the same index. */
struct trace_block_more {
	uint64_t file;		/* number of the chunk file */
	uint64_t late_ns;	/* lowest first_ns of this and all later blocks */
	struct disk_block head;
	uint32_t *running;	/* head.cpu_cnt utids, from the keyframe */
	/* head.cpu_cnt entries if the block has CPU_END; else NULL */
	struct row_cpu_end *ends;
	bool damaged;		/* protected by drop_lock while cursors run in threads */
	bool verified;		/* every byte was read and is valid */
};

/*
 * File, buffer and decoder for reading blocks. The trace has a reader, and each cursor has its own,
 * so that the cursor may run in another thread.
 */
struct trace_reader {
	int fd;			/* last opened chunk file; -1: none */
	uint64_t fd_number;
	struct zunpack *zunpack;
};

struct trace_block_open {
	struct block_meta *meta;
	struct chunk_io io;
};

/* ---- the trace ---- */

/* Returns the trace's directory; -1: the trace is a bundle. */
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
 * Returns the descriptor of a chunk file, either kept open or newly opened; release it with
 * trace_file_close(). < 0: the error of open().
 */
int trace_file_open(const struct trace *t, uint64_t number);
void trace_file_close(const struct trace *t, int fd);

#define TRACE_FILE_MISSING "file is missing"	/* reason of a damage */

/* ---- lists ---- */

/*
 * Numbers of the lists of rows: enum chunk_section_type for small sections (RSS_STATE: the
 * baselines), then the following.
 */
enum trace_list_id {
	TRACE_LIST_MM_RESETS = CHUNK_SMALL_END,	/* sorted by trace_mm_resets_prepare() */
	TRACE_LIST_NAMES,	/* + enum trace_name_type, from 1; the list CHUNK_NAMES is unused */
	TRACE_LIST_CNT = TRACE_LIST_NAMES + TRACE_NAME_TYPE_CNT,
};

/* Returns the key of a name: the id, or for a file a hash of inode number and file system. */
static inline uint64_t trace_name_key(enum trace_name_type type, uint64_t id, uint64_t arg)
{
	return type == TRACE_NAME_FILE ? id ^ (arg + 1) * 0x9e3779b97f4a7c15ull : id;
}

/* Returns the type of a list's rows; NULL: the list is not stored. */
const struct row_type *trace_list_type(unsigned int list);
/* Returns all rows of a list. */
const void *trace_rows(const struct trace *t, unsigned int list, size_t *ret_cnt);
/* Returns row i of a list; NULL: i is out of range. */
const void *trace_row_at(const struct trace *t, unsigned int list, size_t i);
/* Returns the row with an id; NULL: not found. */
const void *trace_row_find(const struct trace *t, unsigned int list, uint64_t key);

/* ---- blocks ---- */

static inline size_t trace_block_cnt(const struct trace *t)
{
	size_t cnt;

	trace_blocks(t, &cnt);
	return cnt;
}

/* Returns block i; NULL: i is out of range. */
static inline const struct trace_block *trace_block_at(const struct trace *t, size_t i)
{
	size_t cnt;
	const struct trace_block *b = trace_blocks(t, &cnt);

	return i < cnt ? b + i : NULL;
}

struct trace_block_more *trace_more_at(const struct trace *t, size_t i);

/*
 * Opens a block again, without its event columns. The descriptor in *ret belongs to r and is valid
 * until the next call with r.
 */
int trace_block_open(const struct trace *t, struct trace_reader *r, size_t block,
		     struct trace_block_open *ret, struct err *e);
/* Marks a block as damaged. */
int trace_block_drop(struct trace *t, size_t block, const char *reason);

/*
 * irq_holes: the instants from which a trace lacks interrupt events, because sched.irq was off, or
 * a block is missing or damaged.
 *
 * A reader of events calls irq_track_hole() at each of these instants, before the events of that
 * time. Threads: one.
 */
struct irq_holes {
	uint64_t *at_ns;	/* ascending */
	size_t cnt, next;
};

int irq_holes_find(struct irq_holes *h, const struct trace *t);	/* 0 or -ENOMEM */
void irq_holes_done(struct irq_holes *h);
/* Advances past all holes before below_ns. True: there was at least one since the last call. */
bool irq_holes_pass(struct irq_holes *h, uint64_t below_ns);
