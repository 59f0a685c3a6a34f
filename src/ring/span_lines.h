/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * span_lines: begins, ends and steps of requests, which the workload writes as lines to a socket.
 *
 *     COMMAND --datagrams--> [span_lines] --wire records--> ring
 *
 * The kernel notes in each datagram when it was written, and by which process. So the record has
 * the writer's time and process, however late it is read. A full socket makes the writer wait, and
 * nothing is lost. A datagram has one line or several:
 *
 *     begin NAME [ID]   end [ID]   fail [ID]   step NAME   attach ID      each [tid=N]
 *
 * Threads: span_lines_next() and span_lines_unread() are for one thread, span_lines_count() for
 * any, the others for the controlling one. The lines are untrusted: a bad one counts as lost.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "bpf/wire.h"
#include "ring/ring.h"

struct span_lines;

/*
 * Makes a pair of sockets: fd, a number of no open descriptor, is what COMMAND inherits and writes
 * to. Returns the other one, or -errno; -EEXIST: fd is open.
 */
int span_lines_socket(int fd);

/* socket: of span_lines_socket(); the caller keeps it. NULL: out of memory. */
struct span_lines *span_lines_new(int socket);
void span_lines_free(struct span_lines *s);	/* NULL is fine */

/* Functions of a struct ring_feed. */
const struct wire_hdr *span_lines_next(void *lines, uint64_t end_ns, size_t *ret_bytes);
void span_lines_unread(void *lines);
struct ring_feed_count span_lines_count(const void *lines, unsigned int hook);

/* Returns the first bad line, shortened, without control characters; "": none. */
const char *span_lines_first_bad(const struct span_lines *s);

/*
 * Returns a process with several threads that wrote a line without tid=N, which is taken for the
 * main thread's; 0: none was seen. Any thread.
 */
uint32_t span_lines_unsure_pid(const struct span_lines *s);

/* Fills action, id, name and hdr.tid (0: none given) from a line. False: the line is bad. */
bool span_lines_parse(const char *line, size_t len, struct wire_span *ret);
