/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * derived_file: a file in a trace's directory for all data that can be derived again from its
 * blocks.
 *
 *     trace_lists, analyze/fold/index --add--> [derived_file] --> TRACE/derived.idx
 *                  --read--> the same two, edit/checkpoint
 *
 * The file consists of parts. A part has a type, a key that is unique within the type, and bytes
 * with a checksum. Each user has its own part types and adds only its own parts. The file is bound
 * to its trace by a hash over the offset and the header CRC of every block, and by a hash over the
 * process of every thread. A file that is damaged, or that belongs to other blocks, is ignored and
 * made again. Deleting the file does not change any result. Layout: schema/FORMAT.md, "The derived
 * file".
 *
 * Parts are added to a new, unnamed file, which begins with a copy of the old parts and replaces
 * the old file when it is complete. A reader therefore never sees an incomplete file, and a process
 * that has opened the old file can continue to read it. If two programs add parts at the same time,
 * the file committed last remains, and the other parts are made again.
 *
 * Threads: any number may call derived_file_get(), derived_file_read() and derived_file_add() at
 * the same time, also after derived_file_begin(); all other functions, one thread at a time.
 * Errors: 0 or -errno. -EBADMSG means that the file is damaged: call derived_file_forget(), and
 * make the parts from the blocks.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "store/chunk_scan.h"

struct derived_file;
struct trace;

/* Types of parts. The values are stored in files: raise DERIVED_VERSION after any change. */
enum derived_type {
	DERIVED_LIST = 0,	/* + enum trace_list_id: rows of a list (trace.c) */
	DERIVED_FILES = 56,	/* chunk files when the lists were saved */
	DERIVED_BLOCKS = 57,
	/* first type of the parts that jobs of the index make */
	DERIVED_FIRST_OF_INDEX = 58,
	/* key: checkpoint_key(); state at the beginning of a block (edit/checkpoint.c) */
	DERIVED_CHECKPOINT = 58,
	/*
	 * key: number of the job (analyze/fold/index.c); contents: number of intervals in its parts
	 */
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
	uint32_t row_cnt;	/* set by the user of the part; 0 if rows are not counted */
	uint16_t type;		/* enum derived_type */
	uint8_t pack;		/* enum chunk_pack */
	uint8_t is_new;		/* in memory: the part is in the new file; 0 in files */
	uint32_t zero;
};

enum derived_flags {
	DERIVED_SAVE = 1,	/* parts will be added: choose a writable directory */
	DERIVED_BESIDE = 2,	/* use only the trace's own directory, not the user's cache */
	DERIVED_UNBOUND = 4,	/* do not compare with the trace: its blocks are not read yet */
	DERIVED_APART = 8,	/* do not use a file: added parts remain in memory */
};

/*
 * Opens the derived file of a trace: derived.idx in its directory or, unless DERIVED_BESIDE, a file
 * in $XDG_CACHE_HOME/ebpfrec (~/.cache/ebpfrec). If no file is usable, 0 is returned, *ret has no
 * parts, and derived_file_state() returns the reason. 0 or -errno.
 */
int derived_file_open(struct derived_file **ret, struct trace *t, unsigned int flags);
void derived_file_close(struct derived_file *d);	/* d may be NULL */

/*
 * Returns 1: the file is open and belongs to the trace; 0: no file; -EBADMSG: the file is damaged;
 * -ESTALE: the file was made by another version, or from other blocks. *ret_why (may be NULL)
 * explains the last two, as in "derived.idx WHY".
 */
int derived_file_state(const struct derived_file *d, const char **ret_why);
/*
 * Compares a file opened with DERIVED_UNBOUND with the trace. 0; -ESTALE: they differ, and all
 * parts are dropped. If the trace has grown since, only parts of the index remain.
 */
int derived_file_bind(struct derived_file *d, struct trace *t);
/* Returns true if added parts can be stored in a file, not only in memory. */
bool derived_file_has_place(const struct derived_file *d);
/* Returns trace_thread_hash() as it was when the file was made. */
uint64_t derived_file_thread_hash(const struct derived_file *d);
/* Returns the size of the opened file. */
uint64_t derived_file_bytes(const struct derived_file *d);

/* ---- reading ---- */

/* Finds the part with this key. 1: found; 0: no such part; -EBADMSG, -ENOMEM. */
int derived_file_get(const struct derived_file *d, unsigned int type, uint64_t key,
		     struct derived_part *ret);
/*
 * Finds all parts of a type, in ascending order of keys. The array is valid until a part is added
 * or dropped. 0; -EBADMSG or -ENOMEM, with 0 in *ret_cnt.
 */
int derived_file_parts(const struct derived_file *d, unsigned int type,
		       const struct derived_part **ret, size_t *ret_cnt);
/*
 * Reads and unpacks a part. mem is a buffer of the caller, which grows as needed; *ret points to
 * p->raw_bytes in it. -EBADMSG, -ENOMEM, -EIO.
 */
int derived_file_read(const struct derived_file *d, const struct derived_part *p, struct buf *mem,
		      const uint8_t **ret);
/* Reads a part's p->stored_bytes without unpacking them, and verifies the checksum. */
int derived_file_read_stored(const struct derived_file *d, const struct derived_part *p, void *to);
/* Reads every part and verifies its checksum. 0 or as derived_file_read(). */
int derived_file_verify(const struct derived_file *d);

/* ---- adding ---- */

/*
 * Begins a new file, unless one is begun and not committed. save: copies all existing parts, and
 * derived_file_commit() will install the file. Without save, or without a directory, added parts
 * remain in memory until d is closed.
 */
int derived_file_begin(struct derived_file *d, bool save);
/*
 * Adds a part, or replaces the part with this type and key. z packs the part if that makes it
 * smaller; without z, the part is stored unpacked. If raw is empty, no part is added. The part is
 * readable immediately. -ENOMEM, -EFBIG, -ENOSPC and other errors of write().
 */
int derived_file_add(struct derived_file *d, struct zpack *z, unsigned int type, uint64_t key,
		     uint32_t row_cnt, const struct buf *raw);
/* Drops all parts of the types [first, end). */
void derived_file_drop(struct derived_file *d, unsigned int first, unsigned int end);
/*
 * Installs the new file. block_cnt: number of the trace's first blocks from which the parts were
 * made. Best effort: does nothing without a directory; after an error the parts remain readable.
 * Call derived_file_begin() again before adding more parts.
 */
int derived_file_commit(struct derived_file *d, struct trace *t, size_t block_cnt);

/* Removes the file because it is damaged. The parts of d do not change. Threads: any. */
void derived_file_forget(struct derived_file *d);
