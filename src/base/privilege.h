/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * privilege: reads the capabilities of the calling thread, and drops them irrevocably.
 *
 * Capabilities, identity and no_new_privs belong to a thread, not to a process: every running
 * thread calls privilege_drop() for itself, and threads started later inherit the rest.
 * privilege_check_threads() verifies that no thread was forgotten.
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

/* The user to become. */
struct privilege_user {
	bool change;			/* false: keep the current user */
	uid_t uid;
	gid_t gid;
	gid_t groups[PRIVILEGE_GROUPS_MAX];
	int group_cnt;
};

/* True when the capability is in effect for the calling thread. */
bool privilege_has(int cap);

/*
 * True in the initial user namespace. In another one, capabilities look the same but apply only to
 * objects of that namespace, which BPF programs never are.
 */
bool privilege_is_global(void);

/* True in the confidentiality mode of kernel lockdown: BPF cannot read kernel memory. */
bool privilege_is_locked_down(void);
#define PRIVILEGE_LOCKED_DOWN \
	"kernel lockdown is in confidentiality mode, in which BPF programs cannot read kernel " \
	"memory; boot with lockdown=integrity or without lockdown="

/* Fills in a user's groups from the system's databases, at most PRIVILEGE_GROUPS_MAX of them. */
void privilege_find_user(struct privilege_user *ret, uid_t uid, gid_t gid);

/* Calls fn with no capability in effect, and restores them afterwards. Returns fn's result. */
int privilege_without(int (*fn)(void *ctx), void *ctx);

/*
 * Irrevocably for the calling thread: becomes user (NULL: no change), keeps the capabilities of
 * keep that the thread has, drops all others from every set (the bounding set needs CAP_SETPCAP),
 * and sets no_new_privs. < 0: the thread must not continue.
 */
int privilege_drop(uint64_t keep, const struct privilege_user *user);

/* For a child before its exec: the new program inherits no capability from this one. */
void privilege_drop_ambient(void);

/*
 * 0 if every thread of this process has at most the capabilities of keep and no_new_privs; -EPERM
 * otherwise, and the text names a thread and its capabilities.
 */
int privilege_check_threads(uint64_t keep, struct err *e);

/*
 * account: users and their groups, from all databases that nsswitch.conf names. A static program
 * reads only /etc/passwd and /etc/group, because the C library would load modules that fit only the
 * library it was built with. Threads: one.
 */
struct account {
	uid_t uid;
	gid_t gid;
	char name[64], home[256], shell[256];
};

/* Finds a user by name, or by number if no user has that name. -ENOENT: not found. */
int account_find(struct account *ret, const char *name_or_uid);
int account_find_uid(struct account *ret, uid_t uid);

/*
 * Fills gids with a user's groups, gid first, at most max (1 or more). Returns the number filled.
 */
int account_groups(const char *name, gid_t gid, gid_t *groups, int max);

/*
 * helper: a process of this program that keeps a capability which the recorder drops, and serves
 * requests over a socket. It ends when the recorder's end of the socket closes, for any reason.
 * Threads: one.
 */
/* All zeros: no process. */
struct helper {
	pid_t pid;
	int fd;		/* the recorder's end of the socket */
};

/*
 * Starts a process called name that keeps the capabilities caps (PRIVILEGE_BIT), closes every
 * descriptor except its end of the socket, and runs serve(fd) until serve returns. socket_type:
 * SOCK_STREAM or SOCK_SEQPACKET. 0 or -errno.
 */
int helper_start(struct helper *ret, const char *name, uint64_t caps, int socket_type,
		 void (*serve)(int fd));
/* Closes the socket and waits for the process, if there is one. */
void helper_end(const struct helper *h);
