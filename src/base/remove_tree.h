/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * remove_tree: a directory and all that is in it, by descriptors: symbolic links and other file systems in it are not
 * entered. Threads: any.
 */
#ifndef REMOVE_TREE_H
#define REMOVE_TREE_H

/* name lies in the directory dir_fd. 0; -ENOENT: there is none; -ENOTEMPTY: somebody makes files in it; -errno. */
int remove_tree(int dir_fd, const char *name);

#endif /* REMOVE_TREE_H */
