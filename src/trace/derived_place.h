/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * derived_place: where derived files are kept besides the trace's own directory, and how a new one
 * gets to its place. Private to derived_file.c. Threads: any.
 */
#ifndef DERIVED_PLACE_H
#define DERIVED_PLACE_H

#include <stdbool.h>

/*
 * A descriptor of $XDG_CACHE_HOME/ebpfrec, the caller's to close. make: it is made if
 * need be. -1: there is none.
 */
int derived_cache_dir(bool make);

/*
 * Gives a file without a name (O_TMPFILE) its name in dir_fd, in place of the file that has it.
 * Under root it then belongs to the owner of the directory. 0 or -errno.
 */
int derived_place_file(int fd, int dir_fd, const char *name);

#endif /* DERIVED_PLACE_H */
