/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * privilege: reads the capabilities of the calling thread, and drops them irrevocably.
 *
 * Capabilities, identity and no_new_privs belong to a thread, not to a process: every running
 * thread must call privilege_drop(), and threads started later inherit the remaining capabilities.
 * privilege_check_threads() verifies all threads.
 *
 * Capabilities are the numbers of linux/capability.h; masks have bit 1 << number.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

#define PRIVILEGE_BIT(cap) (1ULL << (cap))
#define PRIVILEGE_GROUPS_MAX 256

/* The user that privilege_drop() changes to. */
struct privilege_user {
	bool change;			/* false: keep the current user */
	uid_t uid;
	gid_t gid;
	gid_t groups[PRIVILEGE_GROUPS_MAX];
	int group_cnt;
};

/* True if the capability is effective in the calling thread. */
bool privilege_has(int cap);

/*
 * True in the initial user namespace. In another namespace, capabilities apply only to objects that
 * belong to that namespace; BPF programs do not.
 */
bool privilege_is_global(void);

/* True in the confidentiality mode of kernel lockdown: BPF cannot read kernel memory. */
bool privilege_is_locked_down(void);
#define PRIVILEGE_LOCKED_DOWN \
	"kernel lockdown is in confidentiality mode, in which BPF programs cannot read kernel " \
	"memory; boot with lockdown=integrity or without lockdown="

/*
 * Fills ret with uid, gid and, from the system's databases, at most PRIVILEGE_GROUPS_MAX groups of
 * the user.
 */
void privilege_find_user(struct privilege_user *ret, uid_t uid, gid_t gid);

/*
 * Calls fn without effective capabilities, and restores the capabilities afterwards. Returns fn's
 * result, or -errno.
 */
int privilege_without(int (*fn)(void *ctx), void *ctx);

/*
 * Changes the calling thread irrevocably: changes to user (NULL: no change), drops all capabilities
 * that are not in keep from every set (from the bounding set only with CAP_SETPCAP), and sets
 * no_new_privs. < 0: the thread must not continue.
 */
int privilege_drop(uint64_t keep, const struct privilege_user *user);

/*
 * Clears the ambient and inheritable sets of a child before exec, so that the new program inherits
 * no capability.
 */
void privilege_drop_ambient(void);

/*
 * Returns 0 if every thread of this process has no_new_privs and no capabilities outside keep.
 * -EPERM otherwise; the text names a thread and its capabilities.
 */
int privilege_check_threads(uint64_t keep, struct err *e);

/*
 * account: users and their groups, from all databases that nsswitch.conf names. A static program
 * reads only /etc/passwd and /etc/group, because nsswitch modules, which are loaded at run time,
 * require the exact version of the C library. Threads: one.
 */
struct account {
	uid_t uid;
	gid_t gid;
	char name[64], home[256], shell[256];
};

/* Finds a user by name or, if no user has that name, by uid. -ENOENT: not found. */
int account_find(struct account *ret, const char *name_or_uid);
int account_find_uid(struct account *ret, uid_t uid);

/*
 * Fills groups with a user's groups, gid first, at most max (1 or more). Returns the number of
 * groups.
 */
int account_groups(const char *name, gid_t gid, gid_t *groups, int max);

/*
 * helper: a forked process that keeps a capability which the recorder drops, and serves requests
 * over a socket. The process ends when the recorder's end of the socket is closed. Threads: one.
 */
/* A running helper; all zeros: none. */
struct helper {
	pid_t pid;
	int fd;		/* the recorder's end of the socket */
};

/*
 * Forks a process named `name`. The process drops all capabilities except caps (a mask of
 * PRIVILEGE_BIT()), closes every descriptor except its end of the socket, and exits when serve(fd)
 * returns. socket_type: SOCK_STREAM or SOCK_SEQPACKET. 0 or -errno.
 */
int helper_start(struct helper *ret, const char *name, uint64_t caps, int socket_type,
		 void (*serve)(int fd));
/* Closes the socket and waits for the process, if there is one. */
void helper_end(const struct helper *h);
