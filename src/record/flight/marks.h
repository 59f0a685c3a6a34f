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

#include "format/rows.h"

#define MARKS_MAX 4096

struct marks;
struct control_socket;

/* socket may be NULL; fd -1: no --mark-fd. The caller keeps both. */
int marks_new(struct marks **ret, struct control_socket *socket, int fd);
void marks_free(struct marks *m);

/* The descriptor to poll; -1: there is none. */
int marks_socket_fd(const struct marks *m);
int marks_line_fd(const struct marks *m);

/* Takes what has arrived, and ignores marks outside of [start_ns, now_ns]. 0 or -ENOMEM. */
int marks_read(struct marks *m, uint64_t start_ns, uint64_t now_ns);
int marks_add(struct marks *m, uint64_t ts_ns, enum trace_mark_origin origin, const char *text);

/* The marks since the last marks_clear(), valid until the next one. */
size_t marks_rows(struct marks *m, const struct trace_mark **ret);
void marks_clear(struct marks *m);
/* The number of marks dropped so far. */
uint64_t marks_dropped(const struct marks *m);

#endif /* MARKS_H */
