/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * files: every operation on a file system that writing a trace needs, as a table, so that tests can
 * put a failing or a crashing disk (tests/crash/) under the writer that ships.
 *
 *     [store_writer] --> struct files --> the kernel | a simulated disk
 *
 * All functions return 0 (or what is said) or -errno; interruptions are retried. Names are relative to a directory's
 * descriptor and never followed when they are symbolic links. Threads: any, at the same time.
 */
#ifndef FILES_H
#define FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct files {
	void *ctx;
	/* A new directory. Its name is on the disk when this returns, if the one it is in can be synced at all. */
	int (*make_dir)(void *ctx, const char *path, mode_t mode);
	int (*remove_dir)(void *ctx, const char *path);
	/* Of an empty directory (-ENOTEMPTY: it is not) a descriptor; *ret_uid and *ret_mode (permission bits) are the directory's, for the caller to judge. */
	int (*open_dir)(void *ctx, const char *path, uid_t *ret_uid, mode_t *ret_mode);
	/* A new file for writing, mode 0600: a descriptor; -EEXIST when the name is taken by anything. */
	int (*create)(void *ctx, int dir_fd, const char *name);
	int (*set_owner)(void *ctx, int fd, uid_t uid, gid_t gid);
	/* Bytes written: at least 1, perhaps fewer than asked for. */
	ssize_t (*write_at)(void *ctx, int fd, const void *data, size_t bytes, uint64_t offset);
	int (*truncate)(void *ctx, int fd, uint64_t bytes);
	/* Returns when the file's data, and what is needed to find it, is on the disk. */
	int (*sync)(void *ctx, int fd);
	/* The same of the names in a directory. */
	int (*sync_dir)(void *ctx, int dir_fd);
	/* 0, or -ENOENT: somebody removed the file, and what is written to it is gone when it is closed. */
	int (*still_there)(void *ctx, int fd);
	int (*rename)(void *ctx, int dir_fd, const char *from, const char *to);
	int (*unlink)(void *ctx, int dir_fd, const char *name);
	int (*close)(void *ctx, int fd);
};

/* The kernel's. */
extern const struct files files_kernel;

/* Writes all of it. */
int files_write_all(const struct files *f, int fd, const void *data, size_t bytes, uint64_t offset);

#endif /* FILES_H */
