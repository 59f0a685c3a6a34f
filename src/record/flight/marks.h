/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * marks: instants with a name, on their way into the next block.
 *
 *     `ebpfrec mark` (control_socket), lines of --mark-fd, triggers --> [marks] --> block
 *
 * A sender can neither block the recorder nor make it use much memory: lines are cut, and marks
 * beyond MARKS_MAX in a slice are counted and dropped. Threads: one.
 */
#ifndef MARKS_H
#define MARKS_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "format/rows.h"

#define MARKS_MAX 4096

struct control_socket;

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

#endif /* MARKS_H */
