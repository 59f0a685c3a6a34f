/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * trace_state: private state of the trace reader. The reader consists of trace_rows.c (parts of a
 * trace, code and stacks), trace_load.c (one block, small sections into lists, links between rows),
 * trace.c (lists from the derived file, opening) and event_cursor.c. Each file calls only files
 * that precede it in this list. Other code uses trace.h and trace_read.h.
 */
#pragma once

#include <pthread.h>
#include <stdatomic.h>

#include "base/buf.h"
#include "base/hash_map.h"
#include "base/strpool.h"
#include "format/columns.h"
#include "format/event.h"
#include "trace/trace_read.h"
#include "store/bundle.h"

/* Flags of a process that its threads also have. */
#define TASK_FLAGS_OF_PROCESS (TRACE_TASK_RECORDER | TRACE_TASK_WORKLOAD)

struct trace_list {
	void *v;
	size_t cnt, cap;
	size_t row_bytes;	/* size of a row, for the lists in struct trace.rows */
	size_t sorted_cnt;	/* number of leading rows known to be sorted */
};

#define TRACE_LISTS_ROWS 256	/* rows per part, except in the last part */

struct trace_list_part {
	const struct derived_part *part;
	const uint8_t *stored;
	uint8_t *raw;		/* buffer for the unpacked bytes, to which strings of rows point */
	_Atomic bool is_ready;	/* its rows are unpacked */
};

struct trace_stored_list {
	struct trace_list_part *parts;
	size_t part_cnt;
	uint8_t *bytes;		/* buffer for the stored and then the unpacked bytes of all parts */
	_Atomic bool is_ready;	/* all its rows are unpacked */
};

/* Lists from the derived file; set up by trace.c. */
struct trace_lists {
	struct derived_file *d;
	uint64_t thread_hash;		/* from d */
	struct trace_stored_list lists[TRACE_LIST_CNT];
	struct zunpack *zunpack;	/* under drop_lock */
};

struct trace {
	char *path;
	int dir_fd;		/* -1: the trace is a bundle */
	/*
	 * A bundle, or chunk files of a directory that were opened early and stay readable: a
	 * recorder with a limit may remove them at any time.
	 */
	struct bundle held;
	struct trace_reader reader;
	bool is_live;		/* the trace is being recorded */
	/* chunk files are read up to scanned_file, scanned_bytes; a refresh continues from there */
	bool scanned;
	uint64_t first_file, scanned_file, scanned_bytes;
	uint64_t id;		/* id in the manifest; 0: none */
	char uuid[MANIFEST_UUID_BYTES];	/* the id as text; "": none */
	uint64_t span_from_ns, span_to_ns;	/* recorded span of a finished trace; 0: unknown */
	uint64_t whole_below;	/* chunk files with lower numbers are complete */
	struct manifest manifest;
	bool no_manifest;	/* missing, or its checksum is wrong */
	_Atomic uint64_t decoded_blocks;
	uint64_t headers_read;
	bool quick;		/* lists may come from the derived file */
	struct trace_lists *lists;	/* NULL: the lists come from the blocks */
	struct strpool *strings;
	struct trace_list blocks, more, damages;
	struct trace_list rows[TRACE_LIST_CNT];	/* index: enum trace_list_id */
	size_t sorted_reset_cnt;	/* number of leading memory resets that are sorted */
	uint32_t unordered;	/* mask of 1 << list: rows not in order of their ends */
	struct hook_mean hook_means[256];	/* by number of the hook, which is a byte */
	/* hook_stats: number of rows that are in the means, and of rows with an estimated cost */
	size_t hook_mean_cnt, hook_cost_cnt;
	bool must_link;		/* some threads lack flags of their process */
	bool has_orphans;	/* some threads belong to processes not loaded yet */
	/*
	 * Index + 1 of the row with a key, used while rows are added. Keys: id of a process or
	 * thread, trace_name_key(), stack (row of its first frame), upid of a baseline.
	 */
	struct hash_map by_key[TRACE_LIST_CNT];
	struct hash_map site_code, site_row;	/* numbers of sites; see number_site() */
	/* struct trace_stack, by stack; valid if the frames are unpacked */
	struct trace_list stacks;
	unsigned int cpu_cnt;
	struct trace_list rss;	/* result of the last trace_block_rss() */
	/* protects damages, strings, trace_block_more.damaged and the unpacking of lists */
	pthread_mutex_t drop_lock;
};

/* Appends a zeroed item. NULL: out of memory. Invalidates earlier pointers into the list. */
void *trace_list_add(struct trace_list *l, size_t item_bytes);

/* Drops all blocks. */
void trace_blocks_done(struct trace *t);

int trace_add_damage(struct trace *t, const char *file, uint64_t offset, uint64_t bytes,
		     const char *reason);

/* Returns the descriptor of a chunk file that is kept open; -1: none. */
int trace_file_held(const struct trace *t, uint64_t number);

/*
 * Returns the index of the first row whose first field is at least key, or the number of rows. The
 * list must be sorted by that field (processes, threads, resets of memory, names, task events).
 */
size_t trace_rows_from(const struct trace *t, unsigned int list, uint64_t key);

/* Returns the end of the last loaded block; 0: no blocks. */
uint64_t trace_blocks_end_ns(const struct trace *t);

void trace_estimate_costs(struct trace *t);	/* sets the costs of hook_stats */
/* fills t->stacks, after trace_stacks_reserve() */
void trace_stacks_index(struct trace *t);
/* Unpacks all rows of a list. Requires t->lists. Threads: any. */
void trace_lists_rows(const struct trace *t, unsigned int list);

/* ---- trace_load.c ---- */

/*
 * Scans one chunk file and adds its blocks to the lists. Damage is not an error. is_last: no later
 * file exists yet.
 */
int trace_load_file(struct trace *t, uint64_t number, bool is_last, struct err *e);
/* Adds a block with unknown threads on its CPUs. file: name of the chunk file, in t's pool. */
int trace_load_block(struct trace *t, const char *file, uint64_t file_number, uint64_t offset,
		     const struct disk_block *head);

/* Sorts and links the lists. Call this after the last file. */
int trace_load_finish(struct trace *t);
void trace_finalize_blocks(struct trace *t);
int trace_number_marks(struct trace *t);

/* ---- code and stacks: trace_rows.c ---- */

int trace_site_load(struct trace *t, const struct trace_site *row);
int trace_sites_link(struct trace *t);

struct trace_stack {
	uint64_t stack;
	size_t first;		/* index of its innermost frame */
};

int trace_frame_load(struct trace *t, const struct trace_frame *row);
/* Allocates t->stacks for the stacks of frame_cnt frames. */
int trace_stacks_reserve(struct trace *t, size_t frame_cnt);

/* ---- one block: trace_load.c ---- */

int trace_reader_init(struct trace_reader *r);	/* 0 or -ENOMEM */
void trace_reader_done(const struct trace *t, struct trace_reader *r);

/* Locates a block. *ret belongs to r and is valid until the next call with r. */
int trace_block_seek(const struct trace *t, struct trace_reader *r, size_t block,
		     struct chunk_io *ret, struct err *e);
/* Compares the block's header with the header loaded on opening. 0; -EBADMSG: changed. */
int trace_block_head(const struct trace *t, size_t block, struct chunk_io *io,
		     const char **ret_why);
