/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * derived_file: the one file beside a trace that holds what can be made again from its blocks.
 *
 *     trace_lists, analyze/fold/index --add--> [derived_file] --> TRACE/derived.idx
 *                  --read--> the same two, edit/checkpoint
 *
 * The file holds parts. A part has a type, a key that is unique within its type, and bytes with a
 * checksum. Each user has part types of its own, and adds its parts when it has made them; the
 * parts of the others stay. The file is bound to its trace by a hash over the place and the header
 * CRC of every block, and by a hash over the process of every thread. A file that is damaged, or
 * that belongs to other blocks, is not used and is made anew. Deleting it changes no answer.
 * Layout: schema/FORMAT.md, "The derived file".
 *
 * Adding goes through a new file without a name, which takes over the old parts and replaces the
 * old file when it is whole. So nobody ever sees half a file, and who has the old one open keeps
 * it. When two programs add at the same time, the later one wins; the other's parts are made again.
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
#include "store/chunk_name.h"

struct derived_file;
struct trace;
struct zpack;

/* Types of parts. The values are in files: after a change of any, raise DERIVED_VERSION. */
enum derived_type {
	DERIVED_LIST = 0,	/* + enum trace_list_id: rows of a list (trace_lists.c) */
	DERIVED_FILES = 44,	/* the chunk files, as they were */
	DERIVED_BLOCKS = 45,
	/* what is made by the jobs of the index begins here */
	DERIVED_FIRST_OF_INDEX = 46,
	/* key: part and block; what a cut carries over (edit/checkpoint_file.c) */
	DERIVED_CHECKPOINT = 46,
	/* key: number of the job (analyze/fold/index.c); of how many intervals it made its parts */
	DERIVED_INDEX_INFO = 47,
	DERIVED_INDEX = 48, /* + enum index_part, up to 32 of them; key: number of the interval */
	DERIVED_INDEX_TAIL = 80,	/* + enum index_tail, up to 16 of them; key: 0 */
	DERIVED_TYPE_CNT = 96,
};

/* One part, as the file's directory has it. */
struct derived_part {
	uint64_t key;
	uint64_t offset;
	uint32_t stored_bytes, raw_bytes;
	uint32_t crc;		/* of the stored bytes */
	uint32_t row_cnt;	/* the user's own number; 0 where rows are not counted */
	uint16_t type;		/* enum derived_type */
	uint8_t pack;		/* enum chunk_pack */
	uint8_t is_new;		/* in memory: it was added or taken over since; in the file 0 */
	uint32_t zero;
};

enum derived_flags {
	DERIVED_SAVE = 1,	/* parts will be added: choose a place that can be written to */
	DERIVED_BESIDE = 2,	/* only the trace's own directory will do, not the user's cache */
	DERIVED_UNBOUND = 4,	/* do not compare with the trace: its blocks are not read yet */
	DERIVED_APART = 8,	/* no file: what is added stays in memory */
};

/*
 * Opens the derived file of a trace: derived.idx in its directory; else, unless DERIVED_BESIDE,
 * one in $XDG_CACHE_HOME/ebpfrec (~/.cache/ebpfrec). When there is none that can be used, the
 * result has no parts; derived_file_state() says why. -ENOMEM.
 */
int derived_file_open(struct derived_file **ret, struct trace *t, unsigned int flags);
void derived_file_close(struct derived_file *d);	/* NULL is fine */

/*
 * 1: the file was opened and belongs to the trace; 0: there is none; -EBADMSG: it is damaged;
 * -ESTALE: it was made by another version, or of other blocks. *ret_why (may be NULL) says the
 * last two for people, as in "derived.idx WHY".
 */
int derived_file_state(const struct derived_file *d, const char **ret_why);
/*
 * After DERIVED_UNBOUND: compares with the trace. 0; -ESTALE, and there are no parts any more. Of a
 * trace that has grown since, only the parts of the index are left.
 */
int derived_file_bind(struct derived_file *d, struct trace *t);
/* Returns whether adding makes a file that stays, and not only one in memory. */
bool derived_file_has_place(const struct derived_file *d);
/* trace_thread_hash() of the threads there were when the file was made. */
uint64_t derived_file_thread_hash(const struct derived_file *d);
/* the size of the file that was opened */
uint64_t derived_file_bytes(const struct derived_file *d);

/* ---- reading ---- */

/* The part with this key. 1: there is one; 0: there is none; -EBADMSG, -ENOMEM. */
int derived_file_get(const struct derived_file *d, unsigned int type, uint64_t key,
		     struct derived_part *ret);
/*
 * All parts of a type by ascending key; the array is valid until a part is added or dropped. 0;
 * -EBADMSG or -ENOMEM, and *ret_cnt is 0.
 */
int derived_file_parts(const struct derived_file *d, unsigned int type,
		       const struct derived_part **ret, size_t *ret_cnt);
/*
 * The unpacked bytes of a part. mem is the caller's buffer, grown as needed; *ret points into it
 * and has p->raw_bytes. -EBADMSG, -ENOMEM, -EIO.
 */
int derived_file_read(const struct derived_file *d, const struct derived_part *p, struct buf *mem,
		      const uint8_t **ret);
/* The first half of that: the stored bytes, p->stored_bytes of them, with the right checksum. */
int derived_file_read_stored(const struct derived_file *d, const struct derived_part *p, void *to);
/* Reads every part and looks at its checksum. 0 or as derived_file_read(). */
int derived_file_verify(const struct derived_file *d);

/* ---- adding ---- */

/*
 * Begins a new file, unless one was begun and not put in place. save: it takes over all parts there
 * are, and derived_file_commit() puts it in place. Without save, or without a place, parts are
 * added in memory, and go with d.
 */
int derived_file_begin(struct derived_file *d, bool save);
/*
 * Adds a part, packed by z when that makes it smaller, or replaces the one with this type and key.
 * Without z it is readable without unpacking. Empty bytes make no part. The part can be read at
 * once. -ENOMEM, -EFBIG, -ENOSPC and the like.
 */
int derived_file_add(struct derived_file *d, struct zpack *z, unsigned int type, uint64_t key,
		     uint32_t row_cnt, const struct buf *raw);
/* Drops all parts of the types [first, end). */
void derived_file_drop(struct derived_file *d, unsigned int first, unsigned int end);
/*
 * Puts the new file in its place. block_cnt: of how many of the trace's blocks, from the first on,
 * its parts are made. Best effort: without a place nothing happens; after an error the parts can
 * still be read. More parts may be added after another derived_file_begin().
 */
int derived_file_commit(struct derived_file *d, struct trace *t, size_t block_cnt);

/* The file proved damaged: removes it. The parts of d stay as they are. Threads: any. */
void derived_file_forget(struct derived_file *d);
