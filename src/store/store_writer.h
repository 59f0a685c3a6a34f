/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * store_writer: a trace directory being written.
 *
 *     src/record --block--> [store_writer] --> TRACE/manifest, TRACE/chunk-000000.ebr, ...
 *
 * Appends blocks to the current chunk file, syncs it, and starts a new file at a size or age. A
 * chunk file is synced before it is closed. With a limit on the kept size or time, removes the
 * oldest files and counts them in the manifest. The manifest is a small text, replaced atomically.
 * Files have mode 0600, the directory 0700.
 *
 * Losses in a crash: if only the recorder crashes (kill -9), no appended block is lost, because all
 * are in the page cache. If the machine crashes, blocks that are not yet on the disk are lost.
 * Another thread syncs each appended block (store_sync); the file's name is synced before its
 * first block. With a block about every 0.8 s and a disk that syncs in 0.2 s, a crash loses about a
 * second. If a write or sync fails, the trace ends there, and the next call returns the error.
 *
 * Threads: one. Errors: 0 or -errno and a struct err; earlier blocks remain valid.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "store/files.h"
#include "store/manifest.h"

/* Counters of the thread that syncs. */
struct store_sync_stats {
	uint64_t cnt;
	uint64_t max_ns;	/* longest time from a request to the end of its sync */
	/* 1 + number of the last file that was closed by store_sync_close(); 0: none */
	uint64_t whole_below;
	uint64_t failed_number;	/* number of the file whose sync failed */
};

struct store_writer;

struct store_config {
	/*
	 * A new chunk file is started if another block as large as the last one would exceed this
	 * size.
	 */
	uint64_t file_bytes;	/* 0 = 64 MiB, or a part of keep_bytes */
	/*
	 * A new chunk file is also started if the current one is older than this. 0 = 10 min, or a
	 * part of keep_ns.
	 */
	uint64_t file_age_ns;
	/*
	 * Flight recorder: the oldest chunk file is removed if the others have at least keep_bytes,
	 * or at least keep_ns of time; 0 = no such limit. The chunk files together never exceed
	 * keep_bytes plus the size of the oldest one.
	 */
	uint64_t keep_bytes, keep_ns;
	uint64_t trace_id;	/* id of the trace of which this is a copy; 0: a new trace */
	uid_t uid;		/* owner of everything created; (uid_t)-1: no change */
	gid_t gid;
	const struct files *files;	/* NULL: the kernel's operations */
	/* append waits for the disk; for tests that need a fixed order of operations */
	bool sync_inline;
};

/*
 * Creates the directory path, which must not exist (-EEXIST), with a manifest that has
 * state=recording. For an existing directory, see store_backup().
 */
int store_writer_create(struct store_writer **ret, const char *path,
			const struct store_config *config, struct err *e);

/* Call after the directory was renamed to path: later messages have this name. */
int store_writer_renamed(struct store_writer *w, const char *path);

/*
 * Sets a manifest entry. Keys: [a-z0-9._-]+; values: any bytes (escaped in the file). The next
 * flush writes the entry, or fails if there was no memory for it.
 */
int store_writer_set(struct store_writer *w, const char *key, const char *value);
int store_writer_set_number(struct store_writer *w, const char *key, uint64_t value);
int store_writer_flush_manifest(struct store_writer *w, struct err *e);

/* Appends a block; sync: also queues a sync. */
int store_writer_append(struct store_writer *w, const void *block, size_t bytes, int sync,
			struct err *e);

/* Returns whether the next block will begin a chunk file; the next append does accordingly. */
bool store_writer_begins_file(struct store_writer *w);

/* Returns the size of all blocks written so far. */
uint64_t store_writer_bytes(const struct store_writer *w);
void store_writer_sync_stats(const struct store_writer *w, struct store_sync_stats *ret);

/*
 * struct store_keep decides which chunk files of a growing trace may be removed: the oldest file,
 * if the others still have at least keep_bytes, or at least keep_ns of time. With both limits, the
 * first one that is reached decides. The trace is never larger than keep_bytes plus one chunk file.
 * The newest file is never removed. These functions do not access files.
 */
struct store_file {
	uint64_t number;
	uint64_t bytes;
	uint64_t from_ns, to_ns;	/* from_ns == to_ns: no blocks yet */
	uint64_t block_cnt, event_cnt;
};

struct store_keep {
	uint64_t keep_bytes, keep_ns;	/* 0: no limit */
	struct store_file *files;	/* existing files, oldest first */
	size_t cnt, cap;
	uint64_t bytes;			/* size of all files */
	/* totals of the removed files */
	uint64_t dropped_files, dropped_blocks, dropped_events, dropped_bytes;
};

void store_keep_done(struct store_keep *k);

/* Adds a new, empty file. -ENOMEM. */
int store_keep_add_file(struct store_keep *k, uint64_t number);
/* Removes a file that could not be created; ignores unknown numbers. */
void store_keep_undo_file(struct store_keep *k, uint64_t number);
void store_keep_add_block(struct store_keep *k, uint64_t bytes, uint64_t from_ns, uint64_t to_ns,
			  uint64_t event_cnt);

/*
 * Returns whether the oldest file may be removed before writing a block of this size that ends at
 * to_ns. Call this before writing, so that the limit is never exceeded.
 */
bool store_keep_has_excess(const struct store_keep *k, uint64_t bytes, uint64_t to_ns);
/* Returns when the first remaining block begins; 0: no files. */
uint64_t store_keep_from_ns(const struct store_keep *k);
/* Call after the oldest file was removed: adds it to the dropped totals. */
void store_keep_drop(struct store_keep *k);

/* Returns the existing files and the dropped totals; valid as long as the writer. */
const struct store_keep *store_writer_keep(const struct store_writer *w);

/* Returns the directory's descriptor, which the writer owns. */
int store_writer_dir_fd(const struct store_writer *w);
/* Return the values of store_config. */
uid_t store_writer_uid(const struct store_writer *w);
gid_t store_writer_gid(const struct store_writer *w);
/* Sets the number of the next chunk file. */
void store_writer_set_next_file(struct store_writer *w, uint64_t number);

/*
 * Returns the control socket; NULL: the file system does not support sockets. Valid as long as the
 * writer.
 */
struct control_socket *store_writer_control_socket(const struct store_writer *w);

/*
 * Call after closed files of another trace were linked or copied into the directory. number: the
 * lowest number of these files; from_ns: start of the trace's first block.
 */
void store_writer_begins_with(struct store_writer *w, uint64_t number, uint64_t from_ns);
/* Writes the manifest (state=finished, span.*), closes all files, and always frees w. */
int store_writer_finish(struct store_writer *w, struct err *e);
/*
 * Closes all files, but does not mark the trace as finished; appended blocks still reach the disk.
 * Frees w; NULL is fine.
 */
void store_writer_abort(struct store_writer *w);
/*
 * Removes a trace directory that this program made and that store_writer_abort() has closed:
 * manifest and chunk files. -ENOTEMPTY: it has other files; nothing is removed.
 */
int store_remove(const char *path, struct err *e);

/*
 * If path is a trace, renames it to path.old and returns 1. If path.old exists already: with force,
 * first removes it if it is a trace, and returns 2; otherwise -EEXIST. If path exists but is not a
 * trace: -ENOTEMPTY or -EEXIST. If other users may write to the parent directory, a trace must
 * belong to the caller or to user, else -EPERM. user (uid_t)-1: none.
 */
int store_backup(const char *path, int force, uid_t user, struct err *e);
/*
 * Returns what store_backup() would return, but changes nothing. *ret_real_ns: start of the
 * existing trace's recording, by the wall clock (0: unknown).
 */
int store_backup_check(const char *path, int force, uid_t user, uint64_t *ret_real_ns,
		       struct err *e);

/*
 * store_snapshot: saves the current state of a trace as a separate, finished trace.
 *
 *     TRACE/ (being written, or not) --[store_snapshot]--> COPY/
 *
 * Closed chunk files are linked, cloned or copied, in order of preference; from the newest file,
 * complete blocks are copied. The directory is read without the recorder's help, as by any reader.
 * Files that the recorder removes in the meantime are missing at the copy's beginning.
 *
 * Threads: any. Errors: 0 or -errno and a struct err; an error leaves nothing behind.
 */
struct store_snapshot_note {
	const char *key, *value;
};

struct store_snapshot {
	const char *path;	/* directory of the copy; must not exist */
	uid_t uid;		/* owner of the copy; -1: no change */
	gid_t gid;
	const struct store_snapshot_note *notes;	/* additional manifest entries */
	size_t note_cnt;
};

int store_snapshot_take(int dir_fd, const struct store_snapshot *s, struct err *e);
