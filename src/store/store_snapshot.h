/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * store_snapshot: a trace as it is now, as a finished trace of its own.
 *
 *     TRACE/ (being written, or not) --[store_snapshot]--> COPY/
 *
 * Closed chunk files are linked, or cloned or copied where that cannot be; of the newest one the whole
 * blocks are copied. It reads the directory like any reader: whoever records into it is neither asked
 * nor stopped, and files it removes meanwhile are left out from the beginning.
 *
 * Threads: any. Errors: 0 or -errno and a struct err; nothing is left behind.
 */
#ifndef STORE_SNAPSHOT_H
#define STORE_SNAPSHOT_H

#include <stddef.h>
#include <sys/types.h>

#include "base/err.h"

struct store_snapshot_note {
	const char *key, *value;
};

struct store_snapshot {
	const char *path;	/* of the copy, which must not exist */
	uid_t uid;		/* owner of what is made; -1 each leaves it */
	gid_t gid;
	const struct store_snapshot_note *notes;	/* more manifest entries */
	size_t note_cnt;
};

int store_snapshot_take(int dir_fd, const struct store_snapshot *s, struct err *e);

#endif /* STORE_SNAPSHOT_H */
