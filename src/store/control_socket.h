/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * control_socket: a datagram socket in a trace's directory, for messages to the trace's recorder.
 *
 *     `ebpfrec mark` --[control_socket_send]--> TRACE/control --[.._receive]--> session
 *
 * If connect() succeeds, the trace is being recorded; the socket of a dead recorder refuses. The
 * socket has mode 0600 in a directory of mode 0700. Only messages from root, the recorder's user
 * and the trace's owner are accepted. Senders cannot make the recorder wait.
 *
 * A message is at most CONTROL_MESSAGE_MAX bytes: a time (CLOCK_MONOTONIC ns, decimal), a blank,
 * and a text. Threads: one per socket. Errors: 0 or -errno.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define CONTROL_SOCKET_NAME "control"
#define CONTROL_MESSAGE_MAX 512

struct control_socket;

/* Creates the socket in dir_fd, which the caller keeps open. owner: (uid_t)-1 = no change. */
int control_socket_open(struct control_socket **ret, int dir_fd, uid_t owner, gid_t group);
/* Removes the socket. NULL is fine. */
void control_socket_close(struct control_socket *p);
/* Returns the descriptor, which is readable if there is a message. */
int control_socket_fd(const struct control_socket *p);
/*
 * Receives a message. 1: a message; 0: none. Drops malformed messages and messages of untrusted
 * senders.
 */
int control_socket_receive(struct control_socket *p, uint64_t *ret_ts_ns,
			   char text[CONTROL_MESSAGE_MAX]);

/*
 * Sends a message. -ENOENT, -ECONNREFUSED: no recorder is writing to the directory; -EACCES: not
 * permitted; -E2BIG: the text is too long; -EAGAIN: the socket's queue was full for ten seconds.
 */
int control_socket_send(int dir_fd, uint64_t ts_ns, const char *text);
/* Returns whether a recorder is writing to the directory. Sends nothing. */
bool control_socket_has_owner(int dir_fd);
