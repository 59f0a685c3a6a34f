/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * derived_file: the one file beside a trace for data that can be derived again from its blocks.
 *
 *     trace_lists, analyze/fold/index --add--> [derived_file] --> TRACE/derived.idx
 *                  --read--> the same two, edit/checkpoint
 *
 * The file holds parts. A part has a type, a key that is unique within its type, and bytes with a
 * checksum. Each user has part types of its own, and adds its parts once it has made them; parts of
 * other users stay. The file is bound to its trace by a hash over the offset and the header CRC of
 * every block, and by a hash over the process of every thread. A file that is damaged, or that
 * belongs to other blocks, is ignored and made again. Deleting it changes no answer. Layout:
 * schema/FORMAT.md, "The derived file".
 *
 * Parts are added to a new, unnamed file, which copies the old parts and replaces the old file when
 * it is complete. So a reader never sees half a file, and a process that has the old file open
 * keeps it. If two programs add at the same time, the later one wins; the other's parts are made
 * again.
 *
 * Threads: derived_file_get(), derived_file_read() and derived_file_add() from any, at the same
 * time, also after derived_file_begin(); everything else from one at a time. Errors: 0 or -errno.
 * -EBADMSG means that the file is damaged: call derived_file_forget(), and make the parts from the
 * blocks.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "store/chunk_scan.h"

struct derived_file;
struct trace;
struct zpack;

/* Types of parts. The values are in files: after any change, raise DERIVED_VERSION. */
enum derived_type {
	DERIVED_LIST = 0,	/* + enum trace_list_id: rows of a list (trace.c) */
	DERIVED_FILES = 56,	/* the chunk files at the time of saving */
	DERIVED_BLOCKS = 57,
	/* parts made by the jobs of the index begin here */
	DERIVED_FIRST_OF_INDEX = 58,
	/* key: part and block; state that a cut carries over (edit/checkpoint.c) */
	DERIVED_CHECKPOINT = 58,
	/* key: number of the job (analyze/fold/index.c); number of intervals in its parts */
	DERIVED_INDEX_INFO = 59,
	DERIVED_INDEX = 60, /* + enum index_part, up to 32 of them; key: number of the interval */
	DERIVED_INDEX_TAIL = 92,	/* + enum index_tail, up to 16 of them; key: 0 */
	DERIVED_TYPE_CNT = 108,
};

/* A part's entry in the file's directory. */
struct derived_part {
	uint64_t key;
	uint64_t offset;
	uint32_t stored_bytes, raw_bytes;
	uint32_t crc;		/* of the stored bytes */
	uint32_t row_cnt;	/* set by the user; 0 if rows are not counted */
	uint16_t type;		/* enum derived_type */
	uint8_t pack;		/* enum chunk_pack */
	uint8_t is_new;		/* in memory: added or copied to the new file; in the file 0 */
	uint32_t zero;
};

enum derived_flags {
	DERIVED_SAVE = 1,	/* parts will be added: choose a writable directory */
	DERIVED_BESIDE = 2,	/* use only the trace's own directory, not the user's cache */
	DERIVED_UNBOUND = 4,	/* do not compare with the trace: its blocks are not read yet */
	DERIVED_APART = 8,	/* no file: parts are only added in memory */
};

/*
 * Opens the derived file of a trace: derived.idx in its directory; else, unless DERIVED_BESIDE, one
 * in $XDG_CACHE_HOME/ebpfrec (~/.cache/ebpfrec). If no file can be used, the result has no parts;
 * derived_file_state() returns the reason. -ENOMEM.
 */
int derived_file_open(struct derived_file **ret, struct trace *t, unsigned int flags);
void derived_file_close(struct derived_file *d);	/* NULL is fine */

/*
 * 1: the file was opened and belongs to the trace; 0: no file; -EBADMSG: it is damaged; -ESTALE: it
 * was made by another version, or from other blocks. *ret_why (may be NULL) explains the last two,
 * as in "derived.idx WHY".
 */
int derived_file_state(const struct derived_file *d, const char **ret_why);
/*
 * Compares the file with the trace, after DERIVED_UNBOUND. 0; -ESTALE, and all parts are dropped.
 * If the trace has grown since, only the parts of the index stay.
 */
int derived_file_bind(struct derived_file *d, struct trace *t);
/* Returns whether added parts go into a lasting file, and not only into memory. */
bool derived_file_has_place(const struct derived_file *d);
/* Returns trace_thread_hash() of the threads at the time when the file was made. */
uint64_t derived_file_thread_hash(const struct derived_file *d);
/* Returns the size of the opened file. */
uint64_t derived_file_bytes(const struct derived_file *d);

/* ---- reading ---- */

/* Returns the part with this key. 1: found; 0: no such part; -EBADMSG, -ENOMEM. */
int derived_file_get(const struct derived_file *d, unsigned int type, uint64_t key,
		     struct derived_part *ret);
/*
 * Returns all parts of a type by ascending key; the array is valid until a part is added or
 * dropped. 0; -EBADMSG or -ENOMEM, and *ret_cnt is 0.
 */
int derived_file_parts(const struct derived_file *d, unsigned int type,
		       const struct derived_part **ret, size_t *ret_cnt);
/*
 * Reads and unpacks a part. mem is the caller's buffer, grown as needed; *ret points into it and
 * has p->raw_bytes. -EBADMSG, -ENOMEM, -EIO.
 */
int derived_file_read(const struct derived_file *d, const struct derived_part *p, struct buf *mem,
		      const uint8_t **ret);
/* Reads a part without unpacking it: p->stored_bytes, with the right checksum. */
int derived_file_read_stored(const struct derived_file *d, const struct derived_part *p, void *to);
/* Reads every part and checks its checksum. 0 or as derived_file_read(). */
int derived_file_verify(const struct derived_file *d);

/* ---- adding ---- */

/*
 * Begins a new file, unless one was begun and not committed. save: copies all existing parts, and
 * derived_file_commit() installs the file. Without save, or without a directory, parts are added in
 * memory, and freed with d.
 */
int derived_file_begin(struct derived_file *d, bool save);
/*
 * Adds a part, or replaces the part with this type and key. z packs it if that makes it smaller.
 * Without z the part is readable without unpacking. Empty bytes add no part. The part can be read
 * at once. -ENOMEM, -EFBIG, -ENOSPC and the like.
 */
int derived_file_add(struct derived_file *d, struct zpack *z, unsigned int type, uint64_t key,
		     uint32_t row_cnt, const struct buf *raw);
/* Drops all parts of the types [first, end). */
void derived_file_drop(struct derived_file *d, unsigned int first, unsigned int end);
/*
 * Installs the new file. block_cnt: the parts are made from this many of the trace's first blocks.
 * Best effort: without a directory it does nothing; after an error the parts can still be read.
 * More parts may be added after another derived_file_begin().
 */
int derived_file_commit(struct derived_file *d, struct trace *t, size_t block_cnt);

/* Removes the file, which proved damaged. The parts of d stay as they are. Threads: any. */
void derived_file_forget(struct derived_file *d);
