/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * store_snapshot: saves the current state of a trace as a finished trace of its own.
 *
 *     TRACE/ (being written, or not) --[store_snapshot]--> COPY/
 *
 * Closed chunk files are linked, else cloned, else copied; of the newest file the complete blocks
 * are copied. It reads the directory like any reader, without the recorder's help. Files that the
 * recorder removes during the copy are missing at the copy's beginning.
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
	const char *path;	/* the copy, which must not exist */
	uid_t uid;		/* owner of the copy; -1: no change */
	gid_t gid;
	const struct store_snapshot_note *notes;	/* additional manifest entries */
	size_t note_cnt;
};

int store_snapshot_take(int dir_fd, const struct store_snapshot *s, struct err *e);
