/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * cgroup_path: finds the container and the systemd unit of a cgroup from its path.
 *
 *     /system.slice/docker-0123456789ab...scope      docker:0123456789ab
 *     /kubepods/burstable/podUID/0123456789ab...     k8s:UID/0123456789ab
 *     /user.slice/user-1000.slice/user@1000.service/app.slice/app-x.service
 *                                                    user@1000.service/app-x.service
 *
 * The result depends only on the path, not on the machine. Threads: any.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define CGROUP_NAME_MAX 600	/* size of the buffers below, including the NUL */

/*
 * Writes the name of the innermost container to buf: MANAGER:ID, or k8s:POD/ID. Hexadecimal ids are
 * cut to 12 characters. Cgroups of programs that manage a container (conmon, lxc.monitor) are not
 * part of the container. False: not a container, and buf is "".
 */
bool cgroup_path_container(const char *path, char buf[CGROUP_NAME_MAX]);

/*
 * Writes the name of the unit to buf, by the rules of systemd's cg_path_get_unit(): the first part
 * of the path that is not a slice. For a user's service manager (user@UID.service), a slash and the
 * manager's own unit follow. If the path has only slices, the last slice is the unit. False: not in
 * a unit, and buf is "".
 */
bool cgroup_path_unit(const char *path, char buf[CGROUP_NAME_MAX]);

/*
 * A part of a path, between slashes: a fixed prefix, an id, and a suffix such as ".scope". Lengths
 * are in bytes.
 */
struct cgroup_part {
	size_t prefix_len;	/* length of the prefix: "docker-", "kubepods-burstable-pod" */
	size_t id_len;		/* length of the id or name after the prefix; 0: only a prefix */
};
/* Splits a part. False: a user chose the name. */
bool cgroup_path_part(const char *s, size_t len, struct cgroup_part *ret);

/*
 * Returns true if s is the id of a container or pod: at least 32 hexadecimal digits, with optional
 * dashes or underscores after the first digit.
 */
bool cgroup_path_is_id(const char *s, size_t len);
