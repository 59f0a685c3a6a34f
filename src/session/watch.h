/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * watch: what a recording does beside recording: takes marks, looks for triggers, makes snapshots.
 *
 *     marks, SIGUSR2, slices --> [watch] --> rows for the next block, TRACE.snapshot-<time>
 *
 * Threads: the session's, except watch_ask_snapshot(). Errors: 0 or -errno and a struct err.
 */
#ifndef WATCH_H
#define WATCH_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "chunk/rows.h"
#include "ring/ring.h"
#include "session/session.h"

struct store_writer;
struct watch;

/* Whether the triggers of o make sense, before anything is begun. sources: those recorded. */
int watch_check(const struct session_options *o, uint32_t sources, struct err *e);

/* o and store stay the caller's; store may be closed only after watch_end(). */
int watch_new(struct watch **ret, const struct session_options *o, uint32_t sources,
	      struct store_writer *store, struct err *e);
/* NULL is fine. */
void watch_free(struct watch *w);

enum { WATCH_POLLS = 2 };
/* Fills fds[WATCH_POLLS] with what to wait for; fd is -1 where there is nothing. */
void watch_polls(const struct watch *w, struct pollfd *fds);

/* Often: takes marks and tells of snapshots that are done. */
int watch_look(struct watch *w, uint64_t start_ns, uint64_t now_ns, struct err *e);

/* Wants a snapshot of what is there up to now. Safe in a signal handler. */
void watch_ask_snapshot(struct watch *w);
/* A snapshot waits for a slice to be cut now. */
bool watch_wants_slice(const struct watch *w);

/*
 * Before a slice that ends at to_ns is encoded: looks for triggers in it, and gives the marks that go with
 * it, valid until watch_written().
 */
int watch_slice(struct watch *w, const struct ring_slice *slices, size_t slice_cnt,
		const struct buf *snapshot, uint64_t lost_cnt, uint64_t to_ns,
		const struct trace_mark **ret_marks, size_t *ret_mark_cnt, struct err *e);
/* Its block, ending at to_ns, has been written: marks are taken care of, snapshots that are due begin. */
void watch_written(struct watch *w, uint64_t to_ns);

/* The command has ended, before the last slice. */
int watch_exit(struct watch *w, uint64_t now_ns, int status, struct err *e);
/* The last block has been written: snapshots still due are made, and waited for. */
void watch_end(struct watch *w);

#endif /* WATCH_H */
