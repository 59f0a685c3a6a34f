/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * trace_state: what the parts of the trace reader share: trace.c (open, getters), trace_load.c
 * (small sections into lists), trace_block.c (one block again), event_cursor.c. Nobody else.
 */
#ifndef TRACE_STATE_H
#define TRACE_STATE_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/buf.h"
#include "base/idmap.h"
#include "base/strpool.h"
#include "chunk/block_front.h"
#include "chunk/column_reader.h"
#include "event/trace.h"
#include "store/bundle_reader.h"
#include "store/chunk_scan.h"
#include "store/manifest.h"

struct trace_list {
	void *v;
	size_t cnt, cap;
};

/* What goes with a struct trace_block of the same number. */
struct trace_block_more {
	uint64_t file;		/* number of the chunk file */
	uint64_t number;	/* the block's own */
	uint64_t late_ns;	/* lowest first_ns of this and all later blocks */
	uint32_t front_bytes;
	uint32_t cpu_cnt;
	uint32_t *running;	/* cpu_cnt; in the keyframe */
	bool carried;		/* CHUNK_BLOCK_CARRIED */
	bool remade;		/* CHUNK_BLOCK_REMADE */
	bool cut;		/* CHUNK_BLOCK_CUT */
	uint32_t *ends;		/* cpu_cnt, of a block with CPU_END; else NULL */
	bool damaged;		/* under drop_lock while cursors run in threads */
	uint32_t head_crc;	/* of its header, which has those of all its sections behind it */
	bool verified;		/* every byte of it was read and found good */
};

struct trace_held {
	uint64_t number;
	int fd;
};

/* What reading blocks needs. The trace has one; a cursor has its own, so that it may run in a thread. */
struct trace_reader {
	int fd;			/* the chunk file opened last, -1: none */
	uint64_t fd_number;
	struct zunpack *zunpack;
};

struct trace {
	char *path;
	int dir_fd;		/* -1: it is a bundle */
	struct bundle bundle;
	struct trace_reader reader;
	/*
	 * Chunk files a recorder with a limit may remove at any time: their descriptors are taken when
	 * the trace is opened, so that what it holds stays readable.
	 */
	struct trace_held *held;
	size_t held_cnt;
	bool is_live;		/* it is being recorded */
	bool scanned;		/* a chunk file was read, up to here: a refresh goes on there */
	uint64_t first_file, scanned_file, scanned_bytes;
	struct manifest manifest;
	bool no_manifest;	/* opened all the same */
	_Atomic uint64_t decoded_blocks;
	uint64_t headers_read;
	bool quick;		/* lists may come from a file of them */
	struct trace_lists *lists;	/* they do: what of them is asked for is read then (trace_lists.c); else NULL */
	struct strpool *strings;
	struct trace_list kv, blocks, more, processes, threads, task_events, baselines, rss_snaps;
	struct trace_list losses, costs, hook_stats, clocks, marks, damages, gaps, sites, frames;
	struct trace_list names[TRACE_NAME_TYPE_CNT];
	struct trace_list turns;	/* with lists, or once has_turns */
	bool has_turns;
	struct idmap by_utid, by_upid;	/* to index + 1 */
	struct idmap by_name[TRACE_NAME_TYPE_CNT];	/* by trace_name_key() */
	struct idmap by_site;		/* see trace_sites.c */
	uint64_t site_seed;
	struct idmap by_stack;		/* number to the index of its first frame + 1 */
	struct idmap by_baseline;	/* upids that have one */
	unsigned int cpu_cnt;
	struct trace_list summary, rss;	/* of the last call */
	pthread_mutex_t drop_lock;	/* damages, strings, trace_block_more.damaged and lists that are read, for threads */
};

/* A file is known by inode number and file system, every other name by its id. */
static inline uint64_t trace_name_key(enum trace_name_type type, uint64_t id, uint64_t arg)
{
	return type == TRACE_NAME_FILE ? id ^ (arg + 1) * 0x9e3779b97f4a7c15ull : id;
}

/* Room for one more, zeroed; NULL: out of memory. Earlier pointers into the list move. */
void *trace_list_add(struct trace_list *l, size_t item_bytes);

/* Forgets all blocks. */
void trace_blocks_done(struct trace *t);

int trace_add_damage(struct trace *t, const char *file, uint64_t offset, uint64_t bytes,
		     const char *reason);

/* Numbers of the chunk files, ascending, malloc'ed. */
int trace_file_list(const struct trace *t, uint64_t **ret, size_t *ret_cnt);

/* ---- trace_load.c ---- */

/*
 * The descriptor of a chunk file, held or just opened; the latter is for the caller to close with
 * trace_file_close(). < 0: what open() said.
 */
int trace_file_open(const struct trace *t, uint64_t number);
void trace_file_close(const struct trace *t, int fd);

/* Scans one chunk file into the lists. Damage is no error. is_last: nothing comes after it yet. */
int trace_load_file(struct trace *t, uint64_t number, bool is_last, struct err *e);
/* Rows of all blocks as one section of them would have. CHUNK_RSS_STATE: the baselines. */
int trace_load_rows(struct trace *t, enum chunk_section_type type, struct row_reader *r);
/* A row of the baselines, unless its process has one. */
int trace_load_baseline(struct trace *t, const struct trace_rss *row);

/* ---- trace_settle.c ---- */

/* After the last file: sorts, links, and drops what contradicts. */
int trace_load_finish(struct trace *t);
/* The same for one list, for the names of one type, and for the blocks. */
int trace_settle_list(struct trace *t, enum chunk_section_type type);
int trace_settle_names(struct trace *t, unsigned int type);
void trace_settle_blocks(struct trace *t);

/* ---- trace_sites.c ---- */

int trace_site_load(struct trace *t, struct trace_site *row);	/* its strings become t's */
int trace_sites_link(struct trace *t);

/* ---- trace_stacks.c ---- */

int trace_frame_load(struct trace *t, const struct trace_frame *row);

/* ---- trace_lists.c ---- */

/* What is read when it is first asked for. */
enum trace_need {
	TRACE_NEED_TASK_EVENTS,
	TRACE_NEED_BASELINES,
	TRACE_NEED_RSS_SNAPS,
	TRACE_NEED_COSTS,
	TRACE_NEED_HOOK_STATS,
	TRACE_NEED_SITES,
	TRACE_NEED_FRAMES,
	TRACE_NEED_NAMES,	/* + enum trace_name_type */
	TRACE_NEED_CNT = TRACE_NEED_NAMES + TRACE_NAME_TYPE_CNT,
};

/* Lists of which rows are read by the piece. */
enum trace_rows { TRACE_ROWS_PROCESSES, TRACE_ROWS_THREADS, TRACE_ROWS_TURNS, TRACE_ROWS_CNT };

/* Lists from the file trace_lists_save() made. 1: t->lists has them; 0: there is none that fits, and nothing is changed. */
int trace_lists_load(struct trace *t, const uint64_t *numbers, size_t cnt);
void trace_lists_close(struct trace *t);
/* Of a trace with t->lists: reads what is not there yet. What cannot be read is empty, and trouble (trace.h). */
void trace_lists_need(struct trace *t, unsigned int what);
void trace_lists_need_rows(struct trace *t, enum trace_rows of);
void trace_lists_need_row(struct trace *t, enum trace_rows of, size_t row);
/* The first row whose id, of turns its instant, is key or higher; the number of rows: there is none. */
size_t trace_lists_lower_bound(struct trace *t, enum trace_rows of, uint64_t key);
size_t trace_lists_find(struct trace *t, enum trace_rows of, uint32_t id);	/* SIZE_MAX: there is none */
uint64_t trace_lists_thread_hash(const struct trace *t);
/*
 * The same file against the lists as they were read from the blocks. 1: it holds; 0: there is none; -EBADMSG, -ESTALE: it is
 * damaged, or of other files or blocks; -ENOMEM. *ret_why says so.
 */
int trace_lists_check(struct trace *t, const uint64_t *numbers, size_t cnt, const char **ret_why);

/* ---- trace_turns.c ---- */

int trace_turns_make(const struct trace *t, struct trace_list *ret);	/* 0 or -ENOMEM */

/* ---- trace_block.c ---- */

struct trace_block_open {
	struct block_front *front;
	struct chunk_io io;
};

int trace_reader_init(struct trace_reader *r);	/* 0 or -ENOMEM */
void trace_reader_done(const struct trace *t, struct trace_reader *r);

/* Opens the front of block i again. The descriptor in ret is r's, good until the next such call. */
int trace_block_open(const struct trace *t, struct trace_reader *r, size_t block,
		     struct trace_block_open *ret, struct err *e);
/* As trace_block_summary(): what is stored, and what a count of the events gives. */
int trace_block_stored_summary(struct trace *t, size_t block, const struct trace_summary **ret,
			       size_t *ret_cnt, struct err *e);
int trace_block_recount(struct trace *t, size_t block, const struct trace_summary **ret,
			size_t *ret_cnt, struct err *e);
/* Of a cursor that was just opened: the events of blocks [first, end) only. */
void event_cursor_blocks(struct event_cursor *c, size_t first, size_t end);
uint64_t trace_page_bytes(const struct trace *t);

/* Remembers that block i is damaged. */
int trace_block_drop(struct trace *t, size_t block, const char *reason);

#endif /* TRACE_STATE_H */
