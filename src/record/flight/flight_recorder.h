/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * flight_recorder: what a recording does besides recording: it takes marks, evaluates triggers and
 * makes snapshots.
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

#include "format/rows.h"
#include "record/flight/trigger.h"

struct control_socket;
struct store_writer;
struct flight_recorder;

struct flight_options {
	const char *const *triggers;	/* --trigger, as in trigger.h */
	unsigned int trigger_cnt;
	uint64_t trigger_max;		/* snapshots that triggers make at most; 0 = 10 */
	int mark_fd;	/* each line read from it is a mark; the caller keeps it; -1: none */
};

/*
 * Checks the triggers. The caller keeps o and notices. sources: the recorded ones; has_command: a
 * command is recorded.
 */
int flight_recorder_new(struct flight_recorder **ret, const struct flight_options *o,
			const struct notices *notices, uint32_t sources, bool has_command,
			struct err *e);
/*
 * output: the trace, beside which snapshots lie. The caller keeps both, and closes store only after
 * flight_recorder_end(). own_pids: as in trigger.h.
 */
int flight_recorder_begin(struct flight_recorder *w, struct store_writer *store, const char *output,
			  const uint32_t own_pids[TRIGGER_OWN_MAX], struct err *e);
/* NULL is fine. */
void flight_recorder_free(struct flight_recorder *w);

enum { FLIGHT_RECORDER_POLLS = 2 };
/* Fills fds[FLIGHT_RECORDER_POLLS] with what to poll; fd is -1 where there is nothing. */
void flight_recorder_polls(const struct flight_recorder *w, struct pollfd *fds);

/* To be called often: takes marks, and reports finished snapshots. */
int flight_recorder_look(struct flight_recorder *w, uint64_t start_ns, uint64_t now_ns,
			 struct err *e);

/* Asks for a snapshot of everything up to now. Safe in a signal handler. */
void flight_recorder_ask_snapshot(struct flight_recorder *w);
/* True when a snapshot waits for a slice to be cut. */
bool flight_recorder_wants_slice(const struct flight_recorder *w);

/*
 * To be called before a slice, whose losses are known, is encoded: evaluates triggers, and puts the
 * marks into the slice, valid until flight_recorder_written().
 */
int flight_recorder_slice(struct flight_recorder *w, const struct ring_slice *slices,
			  size_t slice_cnt, const struct buf *snapshot, struct block_slice *slice,
			  struct err *e);
/*
 * The block that ends at to_ns has been written: forgets its marks, begins snapshots that are due.
 */
void flight_recorder_written(struct flight_recorder *w, uint64_t to_ns);

/* The command has ended, before the last slice. */
int flight_recorder_exit(struct flight_recorder *w, uint64_t now_ns, int status, struct err *e);
/* The last block has been written: makes the snapshots still due, and waits for them. */
void flight_recorder_end(struct flight_recorder *w);

/*
 * Marks: instants with a name, on their way into the next block. They come from `ebpfrec mark`
 * (control_socket.h), from lines of --mark-fd and from triggers. A sender can neither block the
 * recorder nor make it use much memory: lines are cut, and marks beyond MARKS_MAX in a slice are
 * counted and dropped.
 */
#define MARKS_MAX 4096

/* The caller sets the first two and keeps them; the rest begins as zeros. */
struct marks {
	struct control_socket *socket;	/* may be NULL */
	int fd;			/* lines to read; -1: none, or the end was reached */
	uint64_t dropped;	/* how many marks were thrown away */
	char line[TRACE_MARK_TEXT_MAX + 1];
	size_t line_len;	/* may exceed the buffer: the rest was cut */
	struct buf rows;	/* struct trace_mark; owns the texts */
};

void marks_done(struct marks *m);

/* Takes what has arrived, and ignores marks outside of [start_ns, now_ns]. 0 or -ENOMEM. */
int marks_read(struct marks *m, uint64_t start_ns, uint64_t now_ns);
int marks_add(struct marks *m, uint64_t ts_ns, enum trace_mark_origin origin, const char *text);

/* The marks since the last marks_clear(), valid until the next one. */
size_t marks_rows(struct marks *m, const struct trace_mark **ret);
void marks_clear(struct marks *m);
