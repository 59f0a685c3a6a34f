/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * trace_state: state shared by the parts of the trace reader, and private to them: trace_rows.c
 * (parts of a trace, code and stacks), trace_load.c (one block, small sections into lists, links
 * between rows), trace.c (lists from the derived file, opening), event_cursor.c. Each calls only
 * those before it. Other code reads through trace.h and trace_read.h.
 */
#pragma once

#include <pthread.h>
#include <stdatomic.h>

#include "base/buf.h"
#include "base/hash_map.h"
#include "base/strpool.h"
#include "format/column_reader.h"
#include "format/event.h"
#include "trace/trace_read.h"
#include "store/bundle.h"

/* Threads have these flags of their process. */
#define TASK_FLAGS_OF_PROCESS (TRACE_TASK_RECORDER | TRACE_TASK_WORKLOAD)

struct trace_list {
	void *v;
	size_t cnt, cap;
	size_t row_bytes;	/* of struct trace.rows */
	size_t sorted_cnt;	/* number of first rows that are known to be in order */
};

#define TRACE_LISTS_ROWS 256	/* rows of a part, except the last part */

struct trace_list_part {
	const struct derived_part *part;
	const uint8_t *stored;
	uint8_t *raw;		/* buffer for its unpacked bytes; the rows' strings point into it */
	_Atomic bool is_ready;	/* its rows are unpacked */
};

struct trace_stored_list {
	struct trace_list_part *parts;
	size_t part_cnt;
	uint8_t *bytes;		/* of all parts: stored, then unpacked bytes */
	_Atomic bool is_ready;	/* all its rows are unpacked */
};

/* Lists that come from the derived file: trace.c sets them up. */
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
	 * The bundle; or of a directory, chunk files that were kept open when it was opened: a
	 * recorder with a limit may remove them at any time, and they stay readable.
	 */
	struct bundle held;
	struct trace_reader reader;
	bool is_live;		/* the trace is being recorded */
	/* chunk files were read until scanned_file, scanned_bytes; a refresh continues there */
	bool scanned;
	uint64_t first_file, scanned_file, scanned_bytes;
	uint64_t id;		/* of the manifest; 0: none */
	char uuid[MANIFEST_UUID_BYTES];	/* the same as text; "": none */
	uint64_t span_from_ns, span_to_ns;	/* span that a finished trace covered; 0: unknown */
	uint64_t whole_below;	/* chunk files with lower numbers were written completely */
	struct manifest manifest;
	bool no_manifest;	/* missing, or its checksum is wrong */
	_Atomic uint64_t decoded_blocks;
	uint64_t headers_read;
	bool quick;		/* lists may come from the derived file */
	struct trace_lists *lists;	/* NULL: the lists come from the blocks */
	struct strpool *strings;
	struct trace_list blocks, more, damages;
	struct trace_list rows[TRACE_LIST_CNT];	/* by enum trace_list_id */
	size_t sorted_reset_cnt;	/* number of memory resets that are in order */
	uint32_t unordered;	/* mask of 1 << list: its rows are not in the order of their ends */
	/* of hook_stats: the number of rows in the means, and of rows with an estimated cost */
	struct hook_mean hook_means[256];	/* by hook, a byte */
	size_t hook_mean_cnt, hook_cost_cnt;
	bool must_link;		/* a thread lacks flags of its process */
	bool has_orphans;	/* a thread's process was not read yet */
	/*
	 * Row of a key, as index + 1, while rows are added: processes and threads by id, names by
	 * trace_name_key(), frames by stack (its first frame), baselines by upid.
	 */
	struct hash_map by_key[TRACE_LIST_CNT];
	struct hash_map site_code, site_row;	/* see trace_rows.c */
	/* struct trace_stack, by number; valid together with the frames */
	struct trace_list stacks;
	unsigned int cpu_cnt;
	struct trace_list rss;	/* result of the last call */
	/* protects damages, strings, trace_block_more.damaged and unpacking of lists */
	pthread_mutex_t drop_lock;
};

/* Appends a zeroed item; NULL: out of memory. Earlier pointers into the list become invalid. */
void *trace_list_add(struct trace_list *l, size_t item_bytes);

/* Drops all blocks. */
void trace_blocks_done(struct trace *t);

int trace_add_damage(struct trace *t, const char *file, uint64_t offset, uint64_t bytes,
		     const char *reason);

/* Returns the descriptor of a chunk file that stays open, or -1. */
int trace_file_held(const struct trace *t, uint64_t number);

/*
 * Returns the first row whose first field is at least key, in a list sorted by it (processes,
 * threads, resets of memory, names); or the number of rows.
 */
size_t trace_rows_from(const struct trace *t, unsigned int list, uint64_t key);

/* Returns where the last loaded block ends; 0: there is none. */
uint64_t trace_blocks_end_ns(const struct trace *t);

void trace_estimate_costs(struct trace *t);	/* of hook_stats */
/* fills the list of stacks, whose memory is reserved */
void trace_stacks_index(struct trace *t);
/* Unpacks all rows of a list, if t->lists. Threads: any. */
void trace_lists_rows(const struct trace *t, unsigned int list);

/* ---- trace_load.c ---- */

/*
 * Scans one chunk file into the lists. Damage is not an error. is_last: no later file exists yet.
 */
int trace_load_file(struct trace *t, uint64_t number, bool is_last, struct err *e);
/* Adds a block whose CPUs run unknown threads. file is the chunk file's name in t's pool. */
int trace_load_block(struct trace *t, const char *file, uint64_t file_number, uint64_t offset,
		     const struct disk_block *head);

/* Sorts and links the lists, and drops contradictions. Call it after the last file. */
int trace_load_finish(struct trace *t);
void trace_finalize_blocks(struct trace *t);
int trace_number_marks(struct trace *t);

/* ---- code and stacks: trace_rows.c ---- */

int trace_site_load(struct trace *t, const struct trace_site *row);
int trace_sites_link(struct trace *t);

struct trace_stack {
	uint64_t stack;
	size_t first;		/* its innermost frame */
};

int trace_frame_load(struct trace *t, const struct trace_frame *row);
/* Allocates the memory for the stacks of frame_cnt frames. */
int trace_stacks_reserve(struct trace *t, size_t frame_cnt);

/* ---- one block: trace_load.c ---- */

int trace_reader_init(struct trace_reader *r);	/* 0 or -ENOMEM */
void trace_reader_done(const struct trace *t, struct trace_reader *r);

/* Locates block i. *ret belongs to r and is valid until the next call. */
int trace_block_seek(const struct trace *t, struct trace_reader *r, size_t block,
		     struct chunk_io *ret, struct err *e);
/* Compares the block's header with the one when the trace was opened. 0; -EBADMSG: it changed. */
int trace_block_head(const struct trace *t, size_t block, struct chunk_io *io,
		     const char **ret_why);
