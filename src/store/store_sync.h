/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * store_sync: writes chunk files to the disk without making their writer wait.
 *
 *     [store_writer] --"this file, please"--> [store_sync: a thread] --> files->sync()
 *
 * A sync can take seconds on a busy disk. During that time blocks are written to the page cache,
 * where they survive the recorder; waiting requests for the same file are merged. So a block is on
 * the disk after at most two syncs, and no file waits for another one's blocks.
 *
 * The first error stays: all later calls return it and do nothing. Files passed for closing are
 * closed in any case.
 *
 * Threads: functions are for one controlling thread; the syncing thread is internal.
 */
#pragma once

#include <stdint.h>

#include "store/files.h"
#include "store/manifest.h"

struct store_sync;

/* files must outlive it. -ENOMEM; -EAGAIN: no thread could be started. */
int store_sync_new(struct store_sync **ret, const struct files *files);
/* Finishes the queue, or after an error only closes the files in it; frees s. NULL is fine. */
void store_sync_free(struct store_sync *s);

/* Queues a sync of the bytes written to fd so far. The caller keeps fd. An error names number. */
int store_sync_ask(struct store_sync *s, int fd, uint64_t number);
/* Queues a sync of fd, takes fd over and closes it afterwards. */
int store_sync_close(struct store_sync *s, int fd, uint64_t number);
/* Queues the replacement of a directory's manifest by text (malloc'ed, taken over). */
int store_sync_manifest(struct store_sync *s, const struct manifest_place *place, char *text,
			size_t bytes);
/* Waits until the queue is empty. */
int store_sync_wait(struct store_sync *s);

struct store_sync_stats {
	uint64_t cnt;
	uint64_t max_ns;	/* from the request to the end of its sync */
	/* one more than the number of the last file that store_sync_close() closed; 0: none yet */
	uint64_t whole_below;
	uint64_t failed_number;	/* of the file whose sync failed */
};
void store_sync_get_stats(struct store_sync *s, struct store_sync_stats *ret);
