/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * draft_dir: the directory beside an output in which it is made, .ebpfrec-new.XXXXXX, so that under the output's name there
 * is all of it or nothing.
 *
 *     draft_dir_clear()  draft_dir_make()  making in .path...  draft_dir_place()  draft_dir_drop()
 *
 * It is locked while it is in use. A program that was killed left it unlocked: draft_dir_clear() tells the two apart, and
 * every maker of a draft calls it first. Threads: any; a draft is one thread's. Errors: 0 or -errno; never prints.
 */
#ifndef DRAFT_DIR_H
#define DRAFT_DIR_H

#include <stdbool.h>

struct draft_dir {
	char *path;	/* NULL: there is none */
	int fd;		/* of it; holds the lock */
};

/* Removes what was abandoned in output's directory, and is the caller's own. */
void draft_dir_clear(const char *output);

/* In output's directory, mode 0700; output itself need not exist, and is not looked at. */
int draft_dir_make(struct draft_dir *d, const char *output);

/*
 * What is in it under name becomes output: a file, or a directory; on the disk before this returns, where directories can
 * be synced. replace: in place of a file that is there. Else -EEXIST when anything has that name, which is left alone.
 */
int draft_dir_place(const struct draft_dir *d, const char *name, const char *output, bool replace);

/* With all that is left in it. Fine without one. */
void draft_dir_drop(struct draft_dir *d);

#endif /* DRAFT_DIR_H */
