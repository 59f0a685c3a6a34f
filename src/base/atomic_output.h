/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * atomic_output: creates files and directories that are either complete or absent.
 *
 *     atomic_output_begin()   a directory .ebpfrec-new.XXXXXX beside the output
 *     ... the caller makes o.path in it ...
 *     atomic_output_commit()  renames o.path to the output
 *     atomic_output_drop()    removes the rest
 *
 * The directory is locked while it is in use. A program that is killed leaves it unlocked, and the
 * next atomic_output_begin() in the same place removes it. After atomic_output_catch_signals(), a
 * signal that ends the program also removes the directory.
 *
 * Threads: any; an output belongs to one thread. Errors: 0 or -errno; never prints.
 */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>

#include "base/err.h"

struct atomic_output {
	char *dir; /* the temporary directory; NULL: none */
	int fd; /* descriptor of dir; holds the lock */
	char *path; /* path in dir, with the output's name; created by the caller */
};

/*
 * Makes the directory, mode 0700. The output need not exist and is not changed. -EEXIST: the output
 * exists and is_new is set, or the output is a device, pipe or socket.
 */
int atomic_output_begin(struct atomic_output *o, const char *output, bool is_new, struct err *e);

/* Returns the path of an item of dir, malloc'ed. NULL: out of memory. */
char *atomic_output_item(const struct atomic_output *o, const char *name);

/*
 * Renames o->path, a file or a directory, to output. The new name is on the disk before this
 * returns, if the file system can sync directories. With replace, an existing file is replaced.
 * -EEXIST: the name exists, without replace.
 */
int atomic_output_commit(const struct atomic_output *o, const char *output, bool replace,
			 struct err *e);
/* Like atomic_output_commit(), for the item `name` of dir, which may contain slashes. */
int atomic_output_commit_item(const struct atomic_output *o, const char *name, const char *output,
			      bool replace, struct err *e);

/*
 * Creates one file of mode 0600; fill() writes its contents to a stream and returns 0, or -errno
 * and a message in e. replace: as in atomic_output_commit(). Without replace, an existing output is
 * an error (-EEXIST) before fill() is called.
 */
int atomic_output_file(const char *output, bool replace,
		       int (*fill)(void *ctx, FILE *f, struct err *e), void *ctx, struct err *e);

/* Removes dir and its contents; does nothing if dir is NULL. */
void atomic_output_drop(struct atomic_output *o);

/*
 * After this call, SIGINT, SIGTERM and SIGHUP remove the directory in use before they end the
 * program. Ignored signals (nohup) stay ignored; SIGPIPE and SIGXFSZ become errors of write(). Call
 * this before the program starts other threads. Repeated calls have no effect. Afterwards only one
 * output may be in use at a time, by one thread. Best effort: if this fails, a later
 * atomic_output_begin() removes the directory.
 */
void atomic_output_catch_signals(void);

/*
 * path_parent: opens the directory part of a path and stores the last component. Later changes of
 * the path do not affect the descriptor.
 *
 * Symbolic links on the way are followed only if a trusted user made them: a link in a directory
 * that is writable for group or others must belong to the caller, to root or to the owner of that
 * directory. This resembles the kernel's protected_symlinks, but is always on and does not require
 * the sticky bit. The last component is not examined. Threads: any.
 */
struct path_parent {
	int dir_fd;			/* O_PATH; for the *at() functions */
	char name[NAME_MAX + 1];
};

/*
 * -ELOOP: the path contains an untrusted link; -ENAMETOOLONG; -EINVAL: the path has no last
 * component; other errors as open().
 */
int path_parent_open(struct path_parent *ret, const char *path);
void path_parent_close(struct path_parent *p);
/*
 * Syncs the directory, so that its names are durable. Best effort: some file systems cannot sync
 * directories, and a writable directory need not be readable.
 */
void path_parent_sync(const struct path_parent *p);

/*
 * Writes the directory of the running program, without a trailing slash, to ret (PATH_MAX bytes).
 * False: its path is unknown.
 */
bool path_of_program(char *ret);
