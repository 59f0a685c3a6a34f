/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * cgroup: paths and ids of control groups, version 2. A group's id is its kernfs file handle.
 */
#ifndef CGROUP_H
#define CGROUP_H

#include <limits.h>
#include <stdint.h>

/* Finds the mount of cgroup v2. -ENOTSUP: it is not mounted. */
int cgroup_find_mount(char dir[PATH_MAX]);

/* The id of the group whose directory is dir (a full path). -ENOENT: no such directory. */
int cgroup_id_of(const char *dir, uint64_t *ret_id);

/*
 * Calls row for every cgroup below the mount with its id and its path below the mount ("/" for the
 * mount itself). A result < 0 of row ends the walk and is returned. Needs no capability. Leaves out
 * cgroups nested deeper than 64.
 */
int cgroup_walk(int mount_fd, int (*row)(void *ctx, uint64_t id, const char *path), void *ctx);

#endif /* CGROUP_H */
