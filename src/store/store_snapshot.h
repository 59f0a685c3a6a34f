/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
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
#pragma once

#include <stddef.h>
#include <sys/types.h>

#include "base/err.h"

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
