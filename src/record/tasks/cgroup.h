/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * cgroup: finds paths, ids and CPU quotas of control groups, of version 2 or of a version 1
 * hierarchy. The id of a group is the id in its kernfs file handle.
 */
#pragma once

#include <limits.h>
#include <stdint.h>

/*
 * Finds the mount of cgroup v2 or, with a controller, of this controller's version 1 hierarchy.
 * -ENOTSUP: not mounted.
 */
int cgroup_find_mount(const char *controller, char dir[PATH_MAX]);

/* Finds the id of the group whose directory has the full path dir. -ENOENT: no such directory. */
int cgroup_id_of(const char *dir, uint64_t *ret_id);

/*
 * Calls row for every cgroup, with its id and its path relative to the mount ("/": the root). A
 * result < 0 of row ends the walk and is returned. Requires no capability. Skips cgroups nested
 * deeper than 64.
 */
int cgroup_walk(int mount_fd, int (*row)(void *ctx, uint64_t id, const char *path), void *ctx);

struct trace_quota;
/*
 * Sets limit_id, quota_ns and period_ns to the quota that applies to the group at path ("/a/b"):
 * its own quota, or the quota of the nearest ancestor that has one. limit_id is an inode number. 0;
 * 1: no quota; -ENOENT: no such group.
 */
int cgroup_quota(int mount_fd, const char *path, struct trace_quota *ret);
