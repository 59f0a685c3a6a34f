/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * span_lines: reads the begins, ends and steps of requests that the workload writes as lines to a
 * socket.
 *
 *     COMMAND --datagrams--> [span_lines] --wire records--> ring
 *
 * The kernel adds to each datagram the time of writing and the writing process: the record has
 * these, however late the datagram is read. A full socket makes the writer wait: nothing is lost. A
 * datagram has one or more lines:
 *
 *     begin NAME [ID]   end [ID]   fail [ID]   step NAME   attach ID      each [tid=N]
 *
 * Threads: the reader's thread calls span_lines_next() and span_lines_unread(), any thread
 * span_lines_count(), and the controlling thread the other functions. The lines are untrusted: a
 * bad line counts as lost.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "bpf/wire.h"
#include "ring/ring.h"

struct span_lines;

/*
 * Creates a pair of sockets. COMMAND inherits fd, an unused descriptor number, and writes to it.
 * Returns the other socket, or -errno; -EEXIST: fd is in use.
 */
int span_lines_socket(int fd);

/* socket: from span_lines_socket(); owned by the caller. NULL: out of memory. */
struct span_lines *span_lines_new(int socket);
void span_lines_free(struct span_lines *s);	/* NULL is fine */

/* Functions of a struct ring_feed. */
const struct wire_hdr *span_lines_next(void *lines, uint64_t end_ns, size_t *ret_bytes);
void span_lines_unread(void *lines);
struct ring_feed_count span_lines_count(const void *lines, unsigned int hook);

/* Returns the first bad line, shortened, without control characters; "": none. */
const char *span_lines_first_bad(const struct span_lines *s);

/*
 * Returns the pid of a process that has several threads and wrote a line without tid=N, which
 * counts for its main thread; 0: none. Any thread.
 */
uint32_t span_lines_unsure_pid(const struct span_lines *s);

/* Parses a line into action, id, name and hdr.tid (0: no tid=N). False: the line is bad. */
bool span_lines_parse(const char *line, size_t len, struct wire_span *ret);
