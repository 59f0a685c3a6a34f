/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * store_sync: syncs chunk files to the disk in a thread, so that their writer need not wait.
 *
 *     [store_writer] --"this file, please"--> [store_sync: a thread] --> files->sync()
 *
 * A sync can take seconds on a busy disk. During a sync, further blocks are written to the page
 * cache, where they survive a crash of the recorder; queued requests for the same file are merged.
 * A block is therefore on the disk after at most two syncs of its file.
 *
 * After an error, all later calls return this error and do nothing. Files passed for closing are
 * closed in any case.
 *
 * Threads: one controlling thread calls the functions; the syncing thread is internal.
 */
#pragma once

#include <stdint.h>

#include "store/files.h"
#include "store/manifest.h"

struct store_sync;

/* The caller keeps files until store_sync_free(). -ENOMEM; -EAGAIN: no thread could be started. */
int store_sync_new(struct store_sync **ret, const struct files *files);
/* Finishes the queue (after an error, only closes its files) and frees s. NULL is fine. */
void store_sync_free(struct store_sync *s);

/*
 * Queues a sync of the bytes written to fd so far. The caller keeps fd. number identifies the file
 * in errors.
 */
int store_sync_ask(struct store_sync *s, int fd, uint64_t number);
/* Queues a sync of fd, which is closed afterwards: the caller must no longer use it. */
int store_sync_close(struct store_sync *s, int fd, uint64_t number);
/* Queues the replacement of a directory's manifest by text, which is freed afterwards. */
int store_sync_manifest(struct store_sync *s, const struct manifest_place *place, char *text,
			size_t bytes);
/* Waits until the queue is empty. */
int store_sync_wait(struct store_sync *s);

struct store_sync_stats {
	uint64_t cnt;
	uint64_t max_ns;	/* longest time from a request to the end of its sync */
	/* 1 + number of the last file that was closed by store_sync_close(); 0: none */
	uint64_t whole_below;
	uint64_t failed_number;	/* number of the file whose sync failed */
};
void store_sync_get_stats(struct store_sync *s, struct store_sync_stats *ret);
