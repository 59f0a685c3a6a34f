/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * trace_state: shared by the parts of the trace reader: trace.c (open, getters), trace_load.c
 * (small sections into lists), trace_block.c (one block again), event_cursor.c; and by src/edit.
 * Private to them.
 */
#ifndef TRACE_STATE_H
#define TRACE_STATE_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/buf.h"
#include "base/hash_map.h"
#include "base/strpool.h"
#include "format/block_meta.h"
#include "format/column_reader.h"
#include "trace/trace.h"
#include "store/bundle_reader.h"
#include "store/chunk_scan.h"
#include "store/manifest.h"

struct trace_list {
	void *v;
	size_t cnt, cap;
};

/* More about the trace_block of the same index. */
struct trace_block_more {
	uint64_t file;		/* number of the chunk file */
	uint64_t number;	/* the block's own */
	uint64_t late_ns;	/* lowest first_ns of this and all later blocks */
	uint32_t front_bytes;
	uint32_t cpu_cnt;
	uint32_t *running;	/* cpu_cnt utids, from the keyframe */
	bool carried;		/* CHUNK_BLOCK_CARRIED */
	bool rewritten;		/* CHUNK_BLOCK_REWRITTEN */
	bool cut;		/* CHUNK_BLOCK_CUT */
	uint32_t *ends;		/* cpu_cnt utids of a block with CPU_END; else NULL */
	bool damaged;		/* under drop_lock while cursors run in threads */
	uint32_t head_crc;	/* the header's CRC, which covers the CRCs of all sections */
	bool verified;		/* every byte was read and is valid */
};

struct trace_held {
	uint64_t number;
	int fd;
};

/*
 * What reading blocks needs. The trace has one; a cursor has its own, so that it may run in a
 * thread.
 */
struct trace_reader {
	int fd;			/* the chunk file opened last, -1: none */
	uint64_t fd_number;
	struct zunpack *zunpack;
};

struct trace {
	char *path;
	int dir_fd;		/* -1: the trace is a bundle */
	struct bundle bundle;
	struct trace_reader reader;
	/*
	 * A recorder with a limit may remove chunk files at any time. Their descriptors are taken
	 * when the trace is opened, so that it stays readable.
	 */
	struct trace_held *held;
	size_t held_cnt;
	bool is_live;		/* the trace is being recorded */
	/* chunk files were read up to scanned_file, scanned_bytes, where a refresh goes on */
	bool scanned;
	uint64_t first_file, scanned_file, scanned_bytes;
	uint64_t id;		/* of the manifest; 0: it has none */
	uint64_t span_from_ns, span_to_ns;	/* what a finished trace stood for; 0: not known */
	uint64_t whole_below;	/* chunk files with lower numbers were completely on the disk */
	struct manifest manifest;
	bool no_manifest;	/* opened although there is no manifest */
	_Atomic uint64_t decoded_blocks;
	uint64_t headers_read;
	bool quick;		/* lists may come from the derived file */
	struct trace_lists *lists;	/* NULL: the lists come from the blocks */
	struct strpool *strings;
	struct trace_list kv, blocks, more, processes, threads, task_events, baselines, rss_snaps;
	struct trace_list losses, costs, hook_stats, clocks, marks, damages, gaps, sites, frames;
	struct trace_list names[TRACE_NAME_TYPE_CNT];
	struct trace_list mm_resets;	/* valid with lists, or once has_mm_resets */
	bool has_mm_resets;
	struct hash_map by_utid, by_upid;	/* to index + 1 */
	struct hash_map by_name[TRACE_NAME_TYPE_CNT];	/* by trace_name_key() */
	struct hash_map by_site;		/* see trace_sites.c */
	uint64_t site_seed;
	struct hash_map by_stack;		/* number to the index of its first frame + 1 */
	struct hash_map by_baseline;	/* upids that have one */
	unsigned int cpu_cnt;
	struct trace_list rss;	/* result of the last call */
	/* damages, strings, trace_block_more.damaged and trace_need(), for threads */
	pthread_mutex_t drop_lock;
};

/* A file is known by inode number and file system, every other name by its id. */
static inline uint64_t trace_name_key(enum trace_name_type type, uint64_t id, uint64_t arg)
{
	return type == TRACE_NAME_FILE ? id ^ (arg + 1) * 0x9e3779b97f4a7c15ull : id;
}

/* Appends a zeroed item; NULL: out of memory. Earlier pointers into the list become invalid. */
void *trace_list_add(struct trace_list *l, size_t item_bytes);

/* Forgets all blocks. */
void trace_blocks_done(struct trace *t);

int trace_add_damage(struct trace *t, const char *file, uint64_t offset, uint64_t bytes,
		     const char *reason);

/* The numbers of the chunk files, ascending, malloc'ed. */
int trace_file_list(const struct trace *t, uint64_t **ret, size_t *ret_cnt);

/* ---- trace_span.c ---- */

#define TRACE_FILE_MISSING "file is missing"	/* reason of such damage */

/* To be called when the manifest was read: what a finished trace says of itself. */
void trace_span_read(struct trace *t);
/* To be called when all chunk files were read: lists as damage what is missing of them. */
int trace_span_check(struct trace *t, const uint64_t *numbers, size_t cnt);

/* ---- trace_load.c ---- */

/*
 * The descriptor of a chunk file, either held or newly opened; release it with trace_file_close().
 * < 0: the error of open().
 */
int trace_file_open(const struct trace *t, uint64_t number);
void trace_file_close(const struct trace *t, int fd);

/* Scans one chunk file into the lists. Damage is no error. is_last: no later file exists yet. */
int trace_load_file(struct trace *t, uint64_t number, bool is_last, struct err *e);
/* Adds a baseline row, unless its process has one. */
int trace_load_baseline(struct trace *t, const struct trace_rss *row);

/* ---- trace_finalize.c ---- */

/* To be called after the last file: sorts and links the lists, and drops contradictions. */
int trace_load_finish(struct trace *t);
/* The same for a single list, and for the blocks. */
int trace_finalize_list(struct trace *t, enum chunk_section_type type);
void trace_finalize_blocks(struct trace *t);

/* ---- trace_sites.c ---- */

int trace_site_load(struct trace *t, struct trace_site *row);	/* the row's strings become t's */
int trace_sites_link(struct trace *t);

/* ---- trace_stacks.c ---- */

int trace_frame_load(struct trace *t, const struct trace_frame *row);

/* ---- trace_lists.c ---- */

/* Takes lists from the derived file. 1: t->lists is set; 0: no lists fit, and nothing changed. */
int trace_lists_load(struct trace *t, const uint64_t *numbers, size_t cnt);
void trace_lists_close(struct trace *t);

/* Lists whose rows are unpacked on demand. */
enum trace_lazy {
	TRACE_LAZY_PROCESSES,
	TRACE_LAZY_THREADS,
	TRACE_LAZY_MM_RESETS,
	TRACE_LAZY_NAMES,	/* + enum trace_name_type, from 1 */
	TRACE_LAZY_CNT = TRACE_LAZY_NAMES + TRACE_NAME_TYPE_CNT,
};
/* To be called before a row, or all rows, of such a list are read, if t->lists. Threads: any. */
void trace_lists_row(const struct trace *t, enum trace_lazy of, size_t row);
void trace_lists_rows(const struct trace *t, enum trace_lazy of);
/* The first row whose id (of mm_resets: instant) is key or higher, or the number of rows. */
size_t trace_lists_lower_bound(const struct trace *t, enum trace_lazy of, uint64_t key);
uint64_t trace_lists_thread_hash(const struct trace *t);
/* True when all of these lists (enum trace_need) are loaded. */
bool trace_has(const struct trace *t, unsigned int what);

/* ---- trace_block.c ---- */

struct trace_block_open {
	struct block_meta *front;
	struct chunk_io io;
};

int trace_reader_init(struct trace_reader *r);	/* 0 or -ENOMEM */
void trace_reader_done(const struct trace *t, struct trace_reader *r);

/*
 * Opens the front of block i again. The descriptor in ret belongs to r and is valid until the next
 * call.
 */
int trace_block_open(const struct trace *t, struct trace_reader *r, size_t block,
		     struct trace_block_open *ret, struct err *e);
uint64_t trace_page_bytes(const struct trace *t);

/* Remembers that block i is damaged. */
int trace_block_drop(struct trace *t, size_t block, const char *reason);

#endif /* TRACE_STATE_H */
