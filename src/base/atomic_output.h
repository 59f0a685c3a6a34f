/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * atomic_output: makes files and directories so that the output is either complete or not there.
 *
 *     atomic_output_begin()   a directory .ebpfrec-new.XXXXXX beside the output
 *     ... the caller makes o.path in it ...
 *     atomic_output_commit()  renames o.path to the output
 *     atomic_output_drop()    removes the rest
 *
 * The directory is locked while it is in use. A program that is killed leaves it unlocked, and the
 * next atomic_output_begin() in the same place removes it. If a program calls
 * atomic_output_catch_signals() first, the directory is also removed when a signal ends the
 * program.
 *
 * Threads: any; an output belongs to one thread. Errors: 0 or -errno; never prints.
 */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>

#include "base/err.h"

struct atomic_output {
	char *dir; /* NULL: none */
	int fd; /* of dir; holds the lock */
	char *path; /* in dir, with the name of the output; the caller makes it */
};

/*
 * Makes the directory, mode 0700. The output need not exist and is not changed. With is_new an
 * existing output is refused; a device, a pipe or a socket is always refused: -EEXIST.
 */
int atomic_output_begin(struct atomic_output *o, const char *output, bool is_new, struct err *e);

/* Returns the path of another item in dir; malloc'ed. NULL: out of memory. */
char *atomic_output_item(const struct atomic_output *o, const char *name);

/*
 * Renames o->path, a file or a directory, to output. The new name is on the disk before this
 * returns, if the file system can sync directories. With replace, the output may replace a file;
 * otherwise the result is -EEXIST if the name exists.
 */
int atomic_output_commit(const struct atomic_output *o, const char *output, bool replace,
			 struct err *e);
/* The same for an item of dir; name may contain slashes. */
int atomic_output_commit_item(const struct atomic_output *o, const char *name, const char *output,
			      bool replace, struct err *e);

/*
 * All steps for one file of mode 0600, which fill() writes to a stream. fill returns 0 or -errno
 * with text. replace: as in atomic_output_commit(); without it, an existing output is -EEXIST
 * before anything is written.
 */
int atomic_output_file(const char *output, bool replace,
		       int (*fill)(void *ctx, FILE *f, struct err *e), void *ctx, struct err *e);

/* Removes dir and its contents. Does nothing without dir. */
void atomic_output_drop(struct atomic_output *o);

/*
 * From now on SIGINT, SIGTERM and SIGHUP remove the directory in use before they end the program.
 * Ignored signals (nohup) stay ignored; SIGPIPE and SIGXFSZ become errors of write(). Call it
 * before the program starts other threads, any number of times. Afterwards only one output may be
 * in use at a time, by one thread. Best effort: without it, the next program removes the directory.
 */
void atomic_output_catch_signals(void);

/*
 * path_parent: opens the directory of a path and keeps the last name, so that a concurrent change
 * of the path cannot lead the caller elsewhere.
 *
 * Symbolic links on the way are followed only if a trusted user made them: a link in a directory
 * that others may write to must belong to the caller, to root or to the owner of that directory (as
 * with the kernel's protected_symlinks, but always on and for any such directory). The last name is
 * not examined. Threads: any.
 */
struct path_parent {
	int dir_fd;			/* O_PATH; for the *at() functions */
	char name[NAME_MAX + 1];
};

/*
 * -ELOOP: the path leads through an untrusted link; -ENAMETOOLONG; -EINVAL: it has no last name;
 * others as open().
 */
int path_parent_open(struct path_parent *ret, const char *path);
void path_parent_close(struct path_parent *p);
/*
 * Makes the names in the directory durable. Best effort: some file systems cannot, and a directory
 * may allow writing but not opening.
 */
void path_parent_sync(const struct path_parent *p);

/*
 * Writes the directory of the running program, without a trailing slash, to ret (PATH_MAX bytes).
 * False: unknown.
 */
bool path_of_program(char *ret);
