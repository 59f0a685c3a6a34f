/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * lists_disk: the bytes of lists.idx (schema/INDEX.md), and what lists_make.c (making them), lists_file.c
 * (the file) and trace_lists.c (the trace's lists from it) share. Nobody else.
 */
#ifndef LISTS_DISK_H
#define LISTS_DISK_H

#include <sys/stat.h>

#include "base/buf.h"
#include "event/trace_state.h"

#define LISTS_MAGIC "EBRLIST\n"
#define LISTS_VERSION 4
#define LISTS_PIECE_ROWS 256	/* see lists_is_by_piece(); the last piece has what is left */
#define LISTS_RAW_MAX (1u << 28)	/* of a piece */
#define LISTS_RATIO_MAX 256	/* more is stored as it is: a file makes a reader take so many times its size */

/* Types of pieces: those of the blocks' small sections, and */
enum lists_piece_type {
	LISTS_FILES = 0x100,
	LISTS_BLOCKS = 0x101,
	LISTS_TURNS = 0x102,
};

struct disk_lists {
	uint8_t magic[8];
	uint16_t version, kind_cnt;
	uint32_t piece_cnt;
	uint64_t dir_offset;	/* behind the pieces; its end is the file's */
	uint64_t thread_hash;	/* trace_thread_hash() of all */
	uint32_t dir_crc;
	uint32_t crc;		/* of the 36 bytes before */
};

struct disk_piece {
	uint64_t offset;
	uint32_t stored_bytes, raw_bytes;
	uint32_t crc;		/* of the stored bytes */
	uint16_t type;
	uint8_t name_type;	/* of CHUNK_NAMES */
	uint8_t pack;		/* enum chunk_pack */
	uint32_t row_cnt;
	uint32_t zero;
	uint64_t first;		/* its first row's id, of turns ts_ns; of what is read as a whole 0 */
};

struct disk_list_file {
	uint64_t number, bytes;
	uint64_t changed_ns;	/* its ctime; 0: too fresh to tell a change by */
};

/* Room by kind, with no hole behind it; what is not a kind's is 0. */
#define LISTS_KINDS ((EVENT_KIND_CNT + 1u) & ~1u)

/* Followed by cpu_cnt utids running at its beginning, and with LISTS_BLOCK_ENDS by those of CPU_END; 4 bytes each. */
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
	LISTS_BLOCK_REMADE = 2,
	LISTS_BLOCK_ENDS = 4,
	LISTS_BLOCK_CUT = 8,
};

/* Of struct trace_turn, in its order. */
struct disk_turn {
	uint64_t ts_ns;
	uint32_t upid, kind;
};

_Static_assert(sizeof(struct disk_turn) == 16, "layout of disk_turn");
_Static_assert(sizeof(struct disk_lists) == 40, "layout of disk_lists");
_Static_assert(sizeof(struct disk_piece) == 40, "layout of disk_piece");
_Static_assert(sizeof(struct disk_list_file) == 24, "layout of disk_list_file");
_Static_assert(sizeof(struct disk_list_block) == 80 + 4 * LISTS_KINDS,
	       "layout of disk_list_block");

/* Lists of rows, in the order of their pieces. X(type, row of row_codec, struct, list) */
#define LISTS_OF_ROWS(X)                                                \
	X(CHUNK_PROCESSES, process, trace_process, processes)           \
	X(CHUNK_THREADS, thread, trace_thread, threads)                 \
	X(CHUNK_TASK_EVENTS, task_event, trace_task_event, task_events) \
	X(CHUNK_RSS_STATE, rss, trace_rss, baselines)                   \
	X(CHUNK_RSS_SNAPS, rss, trace_rss, rss_snaps)                   \
	X(CHUNK_LOSS, loss, trace_loss, losses)                         \
	X(CHUNK_COST, cost, trace_cost, costs)                          \
	X(CHUNK_HOOK_STATS, hook_stat, trace_hook_stat, hook_stats)     \
	X(CHUNK_CLOCKS, clock, trace_clock, clocks)                     \
	X(CHUNK_MARKS, mark, trace_mark, marks)                         \
	X(CHUNK_GAPS, gap, trace_gap, gaps)                             \
	X(CHUNK_SITES, site, trace_site, sites)                         \
	X(CHUNK_FRAMES, frame, trace_frame, frames)

/* Of such a type rows are read by the piece, which has LISTS_PIECE_ROWS. */
static inline bool lists_is_by_piece(unsigned int type)
{
	return type == CHUNK_PROCESSES || type == CHUNK_THREADS || type == LISTS_TURNS;
}

/* ---- lists_file.c ---- */

struct lists_file {
	int fd;
	struct disk_lists head;
	struct disk_piece *dir;
	struct zunpack *zunpack;
};

/* 0; -ENOENT: there is none; -EBADMSG: it is none; other errors. ret_dir is malloc'ed. */
int lists_file_open(struct lists_file *f, const struct trace *t);
void lists_file_close(struct lists_file *f);
int lists_read_head(int fd, struct disk_lists *ret, struct disk_piece **ret_dir);
/* The raw bytes of a piece, malloc'ed. -EBADMSG: damaged. */
int lists_read_piece(const struct lists_file *f, const struct disk_piece *p, uint8_t **ret);
/*
 * 0: the chunk files are there, as long as they were. ret_changed, by file: it may have been changed all the same.
 * -ESTALE: they are others.
 */
int lists_files_fit(const struct trace *t, const struct lists_file *f, const uint64_t *numbers, size_t cnt,
		    bool *ret_changed);

/* ---- lists_make.c ---- */

/*
 * The pieces of a trace that was read from its blocks, one after the other: type, name_type, row_cnt, first and
 * raw_bytes of p, and the raw bytes. What the sink returns below 0 ends it.
 */
typedef int (*lists_sink)(void *ctx, const struct disk_piece *p, const struct buf *raw);
int lists_make(const struct trace *t, lists_sink sink, void *ctx);

/*
 * The file of such a trace, open for reading, and in its place if that can be written; else in memory if in_memory.
 * < 0: there is none.
 */
int lists_make_file(const struct trace *t, bool in_memory);

/* When a chunk file was changed last, as a file of lists knows it. */
uint64_t lists_changed_ns(const struct stat *st);

#endif /* LISTS_DISK_H */
