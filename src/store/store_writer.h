/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * store_writer: a trace directory being written.
 *
 *     src/record --block--> [store_writer] --> TRACE/manifest, TRACE/chunk-000000.ebr, ...
 *
 * Appends blocks to the current chunk file, syncs, and starts a new file at a size or age. A chunk
 * file is synced before it is closed. With a limit on the kept size or time, the oldest files are
 * removed, which the manifest records. The manifest is small text, replaced atomically. Files are
 * made 0600, the directory 0700.
 *
 * Losses in a crash: if only the recorder crashes (kill -9), no appended block is lost; they are in
 * the page cache. If the machine crashes, the blocks not yet on the disk are lost. Every block is
 * queued for the disk as soon as it is appended, by a thread that the caller does not wait for
 * (store_sync.h); names are synced before the first block is. With a block about every 0.8 s and a
 * disk that syncs in 0.2 s, this loses a second. A write or sync that fails ends the trace there:
 * the next call returns the error.
 *
 * Threads: one. Errors: 0 or -errno and a struct err; blocks appended before stay valid.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "store/files.h"
#include "store/store_sync.h"

struct control_socket;
struct store_writer;

struct store_config {
	/* A new chunk file is started if another block of the last one's size would exceed this. */
	uint64_t file_bytes;	/* 0 = 64 MiB, or a part of keep_bytes */
	/* or if the file is older than this; 0 = 10 min, or a part of keep_ns */
	uint64_t file_age_ns;
	/*
	 * Flight recorder: the oldest chunk file is removed if the rest is at least keep_bytes, or
	 * at least keep_ns of time; 0 = no such limit. So all chunk files together never exceed
	 * keep_bytes and the size of the oldest one.
	 */
	uint64_t keep_bytes, keep_ns;
	uint64_t trace_id;	/* of the trace that this is a copy of; 0: a new trace */
	uid_t uid;		/* owner of everything created; (uid_t)-1: no change */
	gid_t gid;
	const struct files *files;	/* NULL: the kernel's operations */
	bool sync_inline;	/* append waits for the disk; for tests that need a fixed order */
};

/*
 * Creates the directory path, which must not exist (-EEXIST), with a manifest that has
 * state=recording. store_backup() handles an existing directory.
 */
int store_writer_create(struct store_writer **ret, const char *path,
			const struct store_config *config, struct err *e);

/* The directory was renamed to path; later messages use that name. */
int store_writer_renamed(struct store_writer *w, const char *path);

/*
 * Sets a manifest entry; keys [a-z0-9._-]+, values any bytes (escaped in the file). The next flush
 * writes it, or fails if memory for it was missing.
 */
int store_writer_set(struct store_writer *w, const char *key, const char *value);
int store_writer_set_number(struct store_writer *w, const char *key, uint64_t value);
int store_writer_flush_manifest(struct store_writer *w, struct err *e);

/* Appends one block; with sync, queues it for the disk. */
int store_writer_append(struct store_writer *w, const void *block, size_t bytes, int sync,
			struct err *e);

/* Returns whether the next block will begin a chunk file. The answer is binding for that block. */
bool store_writer_begins_file(struct store_writer *w);

/* size of all blocks written so far */
uint64_t store_writer_bytes(const struct store_writer *w);
void store_writer_sync_stats(const struct store_writer *w, struct store_sync_stats *ret);

/*
 * Decides which chunk files of a growing trace may be removed. The oldest file may be removed if
 * the rest still has at least keep_bytes, or at least keep_ns of time. With both limits, the first
 * one reached decides. So the trace is never larger than keep_bytes and one chunk file. The file
 * being written is never removed. This is only book-keeping: it touches no file.
 */
struct store_file {
	uint64_t number;
	uint64_t bytes;
	uint64_t from_ns, to_ns;	/* from_ns == to_ns: no block yet */
	uint64_t block_cnt, event_cnt;
};

struct store_keep {
	uint64_t keep_bytes, keep_ns;	/* 0: no limit */
	struct store_file *files;	/* present files, oldest first */
	size_t cnt, cap;
	uint64_t bytes;			/* of all files */
	/* of the removed files */
	uint64_t dropped_files, dropped_blocks, dropped_events, dropped_bytes;
};

void store_keep_done(struct store_keep *k);

/* Adds a new file. -ENOMEM. */
int store_keep_add_file(struct store_keep *k, uint64_t number);
/* Removes a file that could not be created after all; ignores unknown ones. */
void store_keep_undo_file(struct store_keep *k, uint64_t number);
void store_keep_add_block(struct store_keep *k, uint64_t bytes, uint64_t from_ns, uint64_t to_ns,
			  uint64_t event_cnt);

/*
 * True if the oldest file may be removed before a block of this size, ending at to_ns, is written.
 * Ask before writing, so that the limit holds at all times.
 */
bool store_keep_has_excess(const struct store_keep *k, uint64_t bytes, uint64_t to_ns);
/* Returns when the first remaining block begins; 0: no file yet. */
uint64_t store_keep_from_ns(const struct store_keep *k);
/* The oldest file has been removed: adds it to the dropped ones. */
void store_keep_drop(struct store_keep *k);

/*
 * Returns the current files, and what the limits of store_config removed; valid as long as the
 * writer.
 */
const struct store_keep *store_writer_keep(const struct store_writer *w);

/* The directory's descriptor; the writer keeps it. */
int store_writer_dir_fd(const struct store_writer *w);
/* As in store_config. */
uid_t store_writer_uid(const struct store_writer *w);
gid_t store_writer_gid(const struct store_writer *w);
/* Sets the next chunk file's number. */
void store_writer_set_next_file(struct store_writer *w, uint64_t number);

/* The socket for marks; NULL if the file system has no sockets. Valid as long as the writer. */
struct control_socket *store_writer_control_socket(const struct store_writer *w);

/* Files from this number on were adopted; the trace's first block begins at from_ns. */
void store_writer_begins_with(struct store_writer *w, uint64_t number, uint64_t from_ns);
/* Writes the manifest (state=finished, span.*) and closes; frees w in every case. */
int store_writer_finish(struct store_writer *w, struct err *e);
/*
 * Closes without marking the trace as finished; appended blocks still reach the disk; frees w. NULL
 * is fine.
 */
void store_writer_abort(struct store_writer *w);
/*
 * Removes a trace directory that this program made (manifest and chunk files, nothing else), after
 * abort. Removes nothing if it has other files: -ENOTEMPTY.
 */
int store_remove(const char *path, struct err *e);

/*
 * If path exists and is a trace: renames it to path.old, and returns 1. If path.old exists, too:
 * with force a trace of that name is removed first, and 2 is returned; otherwise -EEXIST. If path
 * exists and is not a trace: -ENOTEMPTY or -EEXIST. If others may write here, a trace that belongs
 * neither to the caller nor to user is refused: -EPERM. user (uid_t)-1: none.
 */
int store_backup(const char *path, int force, uid_t user, struct err *e);
/*
 * Checks that store_backup() would succeed: it returns the same, and changes nothing. *ret_real_ns:
 * when the recording of an existing trace began, by the wall clock (0: unknown).
 */
int store_backup_check(const char *path, int force, uid_t user, uint64_t *ret_real_ns,
		       struct err *e);
