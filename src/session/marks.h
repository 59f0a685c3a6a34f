/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * marks: instants with a name, on their way into the next block.
 *
 *     `ebpfrec mark` (store_post), lines of --mark-fd, triggers --> [marks] --rows--> chunk
 *
 * Whoever sends marks can neither block the recorder nor make it use much memory: lines are cut, and
 * beyond MARKS_MAX of a slice they are counted and thrown away. Threads: one.
 */
#ifndef MARKS_H
#define MARKS_H

#include <stddef.h>
#include <stdint.h>

#include "chunk/rows.h"

#define MARKS_MAX 4096

struct marks;
struct store_post;

/* post may be NULL; fd -1: no --mark-fd. Both stay the caller's. */
int marks_new(struct marks **ret, struct store_post *post, int fd);
void marks_free(struct marks *m);

/* What to wait for, -1: nothing. */
int marks_post_fd(const struct marks *m);
int marks_line_fd(const struct marks *m);

/* Takes what has come; marks outside of [start_ns, now_ns] are not believed. 0 or -ENOMEM. */
int marks_read(struct marks *m, uint64_t start_ns, uint64_t now_ns);
int marks_add(struct marks *m, uint64_t ts_ns, enum trace_mark_origin origin, const char *text);

/* Those since the last marks_clear(), valid until then. */
size_t marks_rows(struct marks *m, const struct trace_mark **ret);
void marks_clear(struct marks *m);
/* Marks that were thrown away so far. */
uint64_t marks_dropped(const struct marks *m);

#endif /* MARKS_H */
