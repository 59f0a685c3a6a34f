/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * files: the operations on the files of a trace's directory, and the socket in it.
 *
 * A table has the file system operations that writing a trace needs. With other functions in the
 * table, tests run the real writer on a failing or crashing disk (tests/crash/).
 *
 *     [store_writer] --> struct files --> the kernel | a simulated disk
 *
 * Functions return 0 or -errno, unless documented otherwise, and retry interrupted calls. Names are
 * relative to a directory's descriptor; symbolic links are never followed. Threads: any,
 * concurrently.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct files {
	void *ctx;
	/*
	 * Makes a directory. When this returns, the name is durable, if the parent can be synced.
	 */
	int (*make_dir)(void *ctx, const char *path, mode_t mode);
	int (*remove_dir)(void *ctx, const char *path);
	/*
	 * Opens an empty directory; -ENOTEMPTY. The caller has to check *ret_uid and *ret_mode
	 * (permission bits).
	 */
	int (*open_dir)(void *ctx, const char *path, uid_t *ret_uid, mode_t *ret_mode);
	/* Creates a file of mode 0600 and opens it for writing. Returns a descriptor; -EEXIST. */
	int (*create)(void *ctx, int dir_fd, const char *name);
	int (*set_owner)(void *ctx, int fd, uid_t uid, gid_t gid);
	/* Returns the bytes written: at least 1, perhaps fewer than requested. */
	ssize_t (*write_at)(void *ctx, int fd, const void *data, size_t bytes, uint64_t offset);
	int (*truncate)(void *ctx, int fd, uint64_t bytes);
	/* Returns after the file's data and metadata have reached the disk. */
	int (*sync)(void *ctx, int fd);
	/* Makes a directory's entries durable. */
	int (*sync_dir)(void *ctx, int dir_fd);
	/* -ENOENT: the file was removed, so that its data will be lost when it is closed. */
	int (*still_there)(void *ctx, int fd);
	int (*rename)(void *ctx, int dir_fd, const char *from, const char *to);
	int (*unlink)(void *ctx, int dir_fd, const char *name);
	int (*close)(void *ctx, int fd);
};

/* The kernel's operations. */
extern const struct files files_kernel;

/* Writes all bytes. */
int files_write_all(const struct files *f, int fd, const void *data, size_t bytes, uint64_t offset);

/*
 * Calls f for every name in a directory, in no particular order, until f returns non-zero; returns
 * this result. -errno: the directory cannot be read.
 */
int files_each(int dir_fd, int (*f)(void *ctx, const char *name), void *ctx);

/*
 * control_socket: a datagram socket in a trace's directory, for messages to the trace's recorder.
 *
 *     `ebpfrec mark` --[control_socket_send]--> TRACE/control --[.._receive]--> session
 *
 * If connect() succeeds, the trace is being recorded; a dead recorder's socket refuses
 * connections. The socket has mode 0600 in a directory of mode 0700. Only messages from root, the
 * recorder's user and the trace's owner are accepted. Senders cannot make the recorder wait.
 *
 * A message is at most CONTROL_MESSAGE_MAX bytes: a time (CLOCK_MONOTONIC ns, decimal), a blank,
 * and a text. Threads: one per socket. Errors: 0 or -errno.
 */

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
