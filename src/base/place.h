/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * place: the directory that a path lies in, held open, and the name in it, so that what follows cannot be
 * led elsewhere by somebody who changes the path meanwhile.
 *
 * Symbolic links on the way are followed only when nobody but their trusted makers could have put them
 * there: a link in a directory that others may write to has to belong to the caller, root or that
 * directory's owner (as the kernel's protected_symlinks, for any such directory and always on). The last
 * name is not looked at. Threads: any.
 */
#ifndef PLACE_H
#define PLACE_H

#include <limits.h>

struct place {
	int dir_fd;			/* O_PATH; to be given to *at() functions */
	char name[NAME_MAX + 1];
};

/* -ELOOP: through a link that is not to be trusted; -ENAMETOOLONG, -EINVAL (no name); others as open(). */
int place_open(struct place *ret, const char *path);
void place_close(struct place *p);

#endif /* PLACE_H */
