/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * cgroup_path: the container and the systemd unit that the path of a cgroup belongs to.
 *
 *     /system.slice/docker-0123456789ab...scope      docker:0123456789ab
 *     /kubepods/burstable/podUID/0123456789ab...     k8s:UID/0123456789ab
 *     /user.slice/user-1000.slice/user@1000.service/app.slice/app-x.service
 *                                                    user@1000.service/app-x.service
 *
 * Only the path is used, so the answer is the same on any machine. Threads: any.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define CGROUP_NAME_MAX 600	/* most bytes of a text below, with its NUL */

/*
 * Writes the innermost container: MANAGER:ID, or k8s:POD/ID. Hexadecimal ids are cut to 12
 * characters. Processes that manage a container (conmon, lxc.monitor) do not belong to it. False:
 * not a container, and buf is "".
 */
bool cgroup_path_container(const char *path, char buf[CGROUP_NAME_MAX]);

/*
 * Writes the unit, by the rules of systemd's cg_path_get_unit(): the first part of the path that is
 * not a slice. If that is a user's manager, the unit that the manager runs follows after a slash.
 * If the path has only slices, the last slice is the unit. False: not in a unit, and buf is "".
 */
bool cgroup_path_unit(const char *path, char buf[CGROUP_NAME_MAX]);

/* A part of a path, between slashes, consists of prefix, id, and a suffix such as ".scope". */
struct cgroup_part {
	size_t prefix_len;	/* of the fixed prefix: "docker-", "kubepods-burstable-pod" */
	size_t id_len;		/* of the id or name after it; 0: only the prefix */
};
/* Splits a part. False: the name was chosen by a user. */
bool cgroup_path_part(const char *s, size_t len, struct cgroup_part *ret);

/*
 * Returns whether s is an id of a container or pod: hexadecimal digits, with dashes or underscores.
 */
bool cgroup_path_is_id(const char *s, size_t len);
