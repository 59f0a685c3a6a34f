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
	const char *const *triggers;	/* --trigger: see trigger.h */
	unsigned int trigger_cnt;
	uint64_t trigger_max;		/* maximum number of snapshots for triggers; 0 = 10 */
	/* each line read from this descriptor is a mark; owned by the caller; -1: none */
	int mark_fd;
};

/*
 * Checks the triggers. o, notices and requests must outlive *ret. sources: mask of the recorded
 * sources; requests: functions of --request; has_command: a command is recorded.
 */
int flight_recorder_new(struct flight_recorder **ret, const struct flight_options *o,
			const struct notices *notices, uint32_t sources,
			const struct span_probes *requests, bool has_command, struct err *e);
/*
 * output: directory of the trace; snapshots are written beside it. The caller owns store and
 * output, and closes store after flight_recorder_end() or flight_recorder_free(). own_pids: see
 * trigger.h.
 */
int flight_recorder_begin(struct flight_recorder *w, struct store_writer *store, const char *output,
			  const uint32_t own_pids[TRIGGER_OWN_MAX], struct err *e);
/* NULL is fine. */
void flight_recorder_free(struct flight_recorder *w);

enum { FLIGHT_RECORDER_POLLS = 2 };
/* Sets fds[FLIGHT_RECORDER_POLLS] to the descriptors to poll; fd is -1 in unused entries. */
void flight_recorder_polls(const struct flight_recorder *w, struct pollfd *fds);

/* Reads marks and reports finished snapshots. Call this often. */
int flight_recorder_look(struct flight_recorder *w, uint64_t start_ns, uint64_t now_ns,
			 struct err *e);

/* Requests a snapshot of the trace up to now. Async-signal-safe. */
void flight_recorder_ask_snapshot(struct flight_recorder *w);
/* Returns whether a snapshot is waiting for the end of a slice. */
bool flight_recorder_wants_slice(const struct flight_recorder *w);

/*
 * Evaluates triggers, and adds marks to the slice. The marks are valid until
 * flight_recorder_written(). Call this before a slice is encoded, when its losses are known.
 */
int flight_recorder_slice(struct flight_recorder *w, const struct ring_slice *slices,
			  size_t slice_cnt, const struct buf *snapshot, struct block_slice *slice,
			  struct err *e);
/*
 * Drops the marks of the block that ends at to_ns, and begins snapshots that are due. Call this
 * after the block was written.
 */
void flight_recorder_written(struct flight_recorder *w, uint64_t to_ns);

/* Evaluates exit triggers. Call this after the command has ended, before the last slice. */
int flight_recorder_exit(struct flight_recorder *w, uint64_t now_ns, int status, struct err *e);
/* Makes due snapshots, and waits for them to end. Call this after the last block was written. */
void flight_recorder_end(struct flight_recorder *w);

/*
 * Marks are named points in time, for the next block. They come from `ebpfrec mark`
 * (control_socket_send()), from lines of --mark-fd and from triggers. Senders can neither block the
 * recorder nor make it use much memory: lines are truncated, and marks beyond MARKS_MAX per slice
 * are counted and dropped.
 */
#define MARKS_MAX 4096

/* The caller sets socket and fd and owns their objects; all other members are 0 initially. */
struct marks {
	struct control_socket *socket;	/* may be NULL */
	int fd;			/* descriptor to read lines from; -1: none, or end of file */
	uint64_t dropped;	/* number of dropped marks */
	char line[TRACE_MARK_TEXT_MAX + 1];
	size_t line_len;	/* length of the line so far; bytes beyond the buffer are dropped */
	struct buf rows;	/* struct trace_mark; owns the texts */
};

void marks_done(struct marks *m);

/* Reads the marks that have arrived; drops marks outside [start_ns, now_ns]. 0 or -ENOMEM. */
int marks_read(struct marks *m, uint64_t start_ns, uint64_t now_ns);
int marks_add(struct marks *m, uint64_t ts_ns, enum trace_mark_origin origin, const char *text);

/* Returns the marks since the last marks_clear(), valid until the next marks_clear(). */
size_t marks_rows(struct marks *m, const struct trace_mark **ret);
void marks_clear(struct marks *m);

/*
 * snapshotter: copies the trace in a separate thread while the trace is being recorded.
 *
 *     SIGUSR2, triggers --> [snapshotter] --> TRACE.snapshot-<time>
 *
 * A snapshot gets its name when it is complete, and never replaces a file (base/atomic_output.h).
 * One snapshot is made at a time. Threads: the session's thread calls all functions; the copying
 * thread is internal.
 */
struct snapshotter;

/*
 * dir_fd: directory of the trace; the caller keeps it open until snapshotter_free(). uid, gid:
 * owner of copies; -1: no change.
 */
int snapshotter_new(struct snapshotter **ret, int dir_fd, const char *trace_path, uid_t uid,
		    gid_t gid);
/* Waits for a snapshot in progress. NULL is fine. */
void snapshotter_free(struct snapshotter *s);

/*
 * Begins a snapshot. trigger: the reason, for the manifest; NULL: requested by signal. ts_ns: time
 * of the cause (CLOCK_MONOTONIC). -EBUSY: another snapshot is in progress.
 */
int snapshotter_begin(struct snapshotter *s, const char *trigger, uint64_t ts_ns);
/*
 * Returns the result of a snapshot that ended since the last call. wait: first waits for a snapshot
 * in progress. 1: *ret_path is its path (valid until the next begin); < 0: it failed; 0: no
 * snapshot ended.
 */
int snapshotter_reap(struct snapshotter *s, bool wait, const char **ret_path, struct err *e);
