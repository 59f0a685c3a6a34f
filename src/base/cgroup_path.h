/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * cgroup_path: which container and which systemd unit the path of a cgroup stands for.
 *
 *     /system.slice/docker-0123456789ab...scope      docker:0123456789ab
 *     /kubepods/burstable/podUID/0123456789ab...     k8s:UID/0123456789ab
 *     /user.slice/user-1000.slice/user@1000.service/app.slice/app-x.service
 *                                                    user@1000.service/app-x.service
 *
 * Nothing but the path is looked at, so the answer is the same on any machine. Threads: any.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define CGROUP_NAME_MAX 600	/* of a text below, with its NUL */

/*
 * The innermost container: MANAGER:ID, or k8s:POD/ID. Hexadecimal ids are cut to 12 characters. The
 * processes that only look after a container (conmon, lxc.monitor) are in none. False: there is
 * none, and buf is "".
 */
bool cgroup_path_container(const char *path, char buf[CGROUP_NAME_MAX]);

/*
 * The unit, by the rules of systemd's cg_path_get_unit(): the first part of the path that is no
 * slice. Where that is a user's manager, the unit that the manager runs follows behind a slash. A
 * path of slices alone stands for the last slice. False: there is none, and buf is "".
 */
bool cgroup_path_unit(const char *path, char buf[CGROUP_NAME_MAX]);

/* A part of a path, between slashes, is made of prefix, id, and a suffix such as ".scope". */
struct cgroup_part {
	size_t prefix_len;	/* of what every machine has: "docker-", "kubepods-burstable-pod" */
	size_t id_len;		/* of the id or name behind it; 0: the prefix is all there is */
};
/* Takes a part apart. False: its name is one that somebody chose. */
bool cgroup_path_part(const char *s, size_t len, struct cgroup_part *ret);

/* An id of hexadecimal digits, and dashes or underscores between them: a container's or pod's. */
bool cgroup_path_is_id(const char *s, size_t len);
