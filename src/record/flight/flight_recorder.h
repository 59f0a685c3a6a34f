/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * flight_recorder: handles marks, triggers and snapshots while a recording runs.
 *
 *     marks, SIGUSR2, slices --> [flight_recorder] --> rows of the next block, snapshots
 *
 * Threads: the session's, except flight_recorder_ask_snapshot(). Errors: 0 or -errno and a struct
 * err.
 */
#pragma once

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "format/rows.h"
#include "record/flight/trigger.h"

struct span_probes;

struct control_socket;
struct store_writer;
struct flight_recorder;

struct flight_options {
	const char *const *triggers;	/* --trigger, as in trigger.h */
	unsigned int trigger_cnt;
	uint64_t trigger_max;		/* most snapshots that triggers make; 0 = 10 */
	/* each line read from this descriptor is a mark; the caller keeps it; -1: none */
	int mark_fd;
};

/*
 * Checks the triggers. The caller keeps o and notices. sources: the recorded ones; requests: those
 * of --request; has_command: a command is recorded.
 */
int flight_recorder_new(struct flight_recorder **ret, const struct flight_options *o,
			const struct notices *notices, uint32_t sources,
			const struct span_probes *requests, bool has_command, struct err *e);
/*
 * output: the trace; snapshots are written beside it. The caller keeps both, and closes store only
 * after flight_recorder_end(). own_pids: as in trigger.h.
 */
int flight_recorder_begin(struct flight_recorder *w, struct store_writer *store, const char *output,
			  const uint32_t own_pids[TRIGGER_OWN_MAX], struct err *e);
/* NULL is fine. */
void flight_recorder_free(struct flight_recorder *w);

enum { FLIGHT_RECORDER_POLLS = 2 };
/* Fills fds[FLIGHT_RECORDER_POLLS] with the descriptors to poll; fd is -1 in unused entries. */
void flight_recorder_polls(const struct flight_recorder *w, struct pollfd *fds);

/* Reads marks, and reports finished snapshots. Call it often. */
int flight_recorder_look(struct flight_recorder *w, uint64_t start_ns, uint64_t now_ns,
			 struct err *e);

/* Requests a snapshot of everything until now. Safe in a signal handler. */
void flight_recorder_ask_snapshot(struct flight_recorder *w);
/* True if a snapshot waits for a slice to be cut. */
bool flight_recorder_wants_slice(const struct flight_recorder *w);

/*
 * Evaluates triggers, and adds the marks to the slice, valid until flight_recorder_written(). Call
 * it before a slice is encoded, once its losses are known.
 */
int flight_recorder_slice(struct flight_recorder *w, const struct ring_slice *slices,
			  size_t slice_cnt, const struct buf *snapshot, struct block_slice *slice,
			  struct err *e);
/*
 * The block that ends at to_ns has been written: forgets its marks, begins snapshots that are due.
 */
void flight_recorder_written(struct flight_recorder *w, uint64_t to_ns);

/* The command has ended; call before the last slice. */
int flight_recorder_exit(struct flight_recorder *w, uint64_t now_ns, int status, struct err *e);
/* Call after the last block was written: makes the snapshots still due, and waits for them. */
void flight_recorder_end(struct flight_recorder *w);

/*
 * Marks: named instants, to be written into the next block. They come from `ebpfrec mark`
 * (control_socket.h), from lines of --mark-fd and from triggers. A sender can neither block the
 * recorder nor make it use much memory: lines are cut, and marks beyond MARKS_MAX in a slice are
 * counted and dropped.
 */
#define MARKS_MAX 4096

/* The caller sets the first two members and keeps them; the rest starts as zeros. */
struct marks {
	struct control_socket *socket;	/* may be NULL */
	int fd;			/* lines to read; -1: none, or end of file */
	uint64_t dropped;	/* number of dropped marks */
	char line[TRACE_MARK_TEXT_MAX + 1];
	size_t line_len;	/* may exceed the buffer: the rest was cut */
	struct buf rows;	/* struct trace_mark; owns the texts */
};

void marks_done(struct marks *m);

/* Reads the marks that have arrived, and ignores those outside [start_ns, now_ns]. 0 or -ENOMEM. */
int marks_read(struct marks *m, uint64_t start_ns, uint64_t now_ns);
int marks_add(struct marks *m, uint64_t ts_ns, enum trace_mark_origin origin, const char *text);

/* Returns the marks since the last marks_clear(), valid until the next one. */
size_t marks_rows(struct marks *m, const struct trace_mark **ret);
void marks_clear(struct marks *m);

/*
 * snapshotter: copies the trace while it is recorded, in a thread of its own.
 *
 *     SIGUSR2, triggers --> [snapshotter] --> TRACE.snapshot-<time>
 *
 * A snapshot gets its name when it is complete, and never replaces a file (base/atomic_output.h).
 * One snapshot is made at a time. Threads: all functions are for the session's thread; the copying
 * thread is internal.
 */
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
/*
 * Reports a snapshot that ended since the last call; wait: first waits for one in progress. 1:
 * *ret_path is its path (valid until the next begin); < 0: it failed; 0: none ended.
 */
int snapshotter_reap(struct snapshotter *s, bool wait, const char **ret_path, struct err *e);
