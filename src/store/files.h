/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * files: a table of the file system operations that writing a trace needs. With other functions in
 * the table, tests run the real writer on a failing or crashing disk (tests/crash/).
 *
 *     [store_writer] --> struct files --> the kernel | a simulated disk
 *
 * Functions return 0 or -errno, unless documented otherwise, and retry interrupted calls. Names are
 * relative to a directory's descriptor; symbolic links are never followed. Threads: any,
 * concurrently.
 */
#pragma once

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
