/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * store_sync: gets chunk files onto the disk without making the one who fills them wait.
 *
 *     [store_writer] --"this file, please"--> [store_sync: a thread] --> files->sync()
 *
 * A sync can take seconds on a busy disk. While one runs, blocks are written on into the page cache,
 * where they outlive the recorder; requests that wait for the same file become one. So a block is on
 * the disk after at most two syncs, and the one being synced holds up no other.
 *
 * The first error stays: all later calls return it, and nothing more is done. What was handed over
 * for closing is closed in any case.
 *
 * Threads: functions are for one controlling thread; the one that syncs is internal.
 */
#ifndef STORE_SYNC_H
#define STORE_SYNC_H

#include <stdint.h>

#include "chunk/chunk.h"
#include "store/files.h"
#include "store/manifest.h"

struct store_sync;

/* files must outlive it. -ENOMEM, -EAGAIN: no thread to be had. */
int store_sync_new(struct store_sync **ret, const struct files *files);
/* Does what was asked for, or after an error only closes what was handed over; frees s. NULL is fine. */
void store_sync_free(struct store_sync *s);

/* Soon, all that was written to fd so far is on the disk. fd stays the caller's. number is told with an error. */
int store_sync_ask(struct store_sync *s, int fd, uint64_t number);
/*
 * Takes over fd: soon, everything in it is on the disk, then trailer at offset is written and on the disk, too,
 * and fd is closed.
 */
int store_sync_close(struct store_sync *s, int fd, uint64_t number,
		     const struct disk_trailer *trailer, uint64_t offset);
/* Soon, text (malloc'ed, taken over) is the manifest of a directory. */
int store_sync_manifest(struct store_sync *s, const struct manifest_place *place, char *text,
			size_t bytes);
/* Waits until all of it is done. */
int store_sync_wait(struct store_sync *s);

/* The file an error was in. */
uint64_t store_sync_failed_number(struct store_sync *s);

struct store_sync_stats {
	uint64_t cnt;
	uint64_t max_ns;	/* from asking for a sync to its end */
};
void store_sync_get_stats(struct store_sync *s, struct store_sync_stats *ret);

#endif /* STORE_SYNC_H */
