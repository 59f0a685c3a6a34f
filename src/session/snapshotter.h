/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * snapshotter: copies of the trace while it is recorded, in a thread of their own.
 *
 *     SIGUSR2, triggers --> [snapshotter] --> TRACE.snapshot-<time>
 *
 * It has that name when it is whole, and not before (base/draft_dir.h); what has such a name already is left alone.
 * One at a time. Threads: functions are for the session's; the one that copies is internal.
 */
#ifndef SNAPSHOTTER_H
#define SNAPSHOTTER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

struct snapshotter;

/* dir_fd is the trace's, and stays the caller's until this is freed. uid, gid: owner, -1 each leaves it. */
int snapshotter_new(struct snapshotter **ret, int dir_fd, const char *trace_path, uid_t uid,
		    gid_t gid);
/* Waits for the one under way. NULL is fine. */
void snapshotter_free(struct snapshotter *s);

/*
 * Begins one. trigger: why, for the manifest; NULL: it was asked for. ts_ns: the instant it is about
 * (CLOCK_MONOTONIC). -EBUSY: one is under way.
 */
int snapshotter_begin(struct snapshotter *s, const char *trigger, uint64_t ts_ns);
bool snapshotter_is_busy(const struct snapshotter *s);
/*
 * Whether one has ended since the last call; wait: ends the one under way first. 1: *ret_path is
 * where it is (valid until the next begin); < 0: it failed; 0: nothing ended.
 */
int snapshotter_reap(struct snapshotter *s, bool wait, const char **ret_path, struct err *e);

#endif /* SNAPSHOTTER_H */
