/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * path_parent: opens the directory of a path and keeps the last name, so that a concurrent change
 * of the path cannot lead the caller elsewhere.
 *
 * Symbolic links on the way are followed only if a trusted user made them: a link in a directory
 * that others may write to must belong to the caller, to root or to the owner of that directory (as
 * with the kernel's protected_symlinks, but always on and for any such directory). The last name is
 * not examined. Threads: any.
 */
#pragma once

#include <limits.h>
#include <stdbool.h>

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
