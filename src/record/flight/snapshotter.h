/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * snapshotter: copies the trace while it is recorded, in a thread of its own.
 *
 *     SIGUSR2, triggers --> [snapshotter] --> TRACE.snapshot-<time>
 *
 * A snapshot gets its name when it is complete, and never replaces a file (base/atomic_output.h).
 * One snapshot is made at a time. Threads: all functions are for the session's thread; the copying
 * thread is internal.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

struct snapshotter;

/*
 * dir_fd is the trace's; the caller keeps it open until snapshotter_free(). uid, gid: the owner, -1
 * = no change.
 */
int snapshotter_new(struct snapshotter **ret, int dir_fd, const char *trace_path, uid_t uid,
		    gid_t gid);
/* Waits for a snapshot under way. NULL is fine. */
void snapshotter_free(struct snapshotter *s);

/*
 * Begins a snapshot. trigger: the reason, for the manifest; NULL: requested by signal. ts_ns: the
 * instant that caused it (CLOCK_MONOTONIC). -EBUSY: one is in progress.
 */
int snapshotter_begin(struct snapshotter *s, const char *trigger, uint64_t ts_ns);
bool snapshotter_is_busy(const struct snapshotter *s);
/*
 * Reports a snapshot that ended since the last call; wait: first waits for one in progress. 1:
 * *ret_path is its path (valid until the next begin); < 0: it failed; 0: none ended.
 */
int snapshotter_reap(struct snapshotter *s, bool wait, const char **ret_path, struct err *e);
