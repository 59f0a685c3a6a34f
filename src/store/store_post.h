/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * store_post: the letter box of a trace that is being recorded: a datagram socket in its directory.
 *
 *     `ebpfrec mark` --[store_post_send]--> TRACE/control --[store_post_receive]--> src/session
 *
 * While somebody listens, the trace is being recorded; a socket whose owner died refuses. The socket
 * has mode 0600 in a directory of mode 0700, and letters are only taken from root, the recorder's
 * user and the trace's owner. Nobody who sends can make the recorder wait.
 *
 * A letter is at most STORE_POST_MAX bytes: an instant (CLOCK_MONOTONIC ns, decimal), a blank, and a
 * text. Threads: one per post. Errors: 0 or -errno.
 */
#ifndef STORE_POST_H
#define STORE_POST_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define STORE_POST_NAME "control"
#define STORE_POST_MAX 512

struct store_post;

/* Makes the socket in dir_fd, which stays the caller's and must stay open. owner: (uid_t)-1 leaves it. */
int store_post_open(struct store_post **ret, int dir_fd, uid_t owner, gid_t group);
/* Removes the socket. NULL is fine. */
void store_post_close(struct store_post *p);
/* Readable when there is a letter. */
int store_post_fd(const struct store_post *p);
/* 1: a letter; 0: there is none. Letters that make no sense, or come from strangers, are thrown away. */
int store_post_receive(struct store_post *p, uint64_t *ret_ts_ns, char text[STORE_POST_MAX]);

/*
 * -ENOENT, -ECONNREFUSED: nobody is recording into that directory; -EACCES: not ours; -E2BIG: the
 * text is too long; -EAGAIN: the box was full for ten seconds.
 */
int store_post_send(int dir_fd, uint64_t ts_ns, const char *text);
/* Whether somebody records into that directory now. Sends nothing. */
bool store_post_has_owner(int dir_fd);

#endif /* STORE_POST_H */
