/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * privilege: which capabilities the calling thread has, and giving them up for good.
 *
 * Capabilities, identity and no_new_privs belong to a thread, not to a process: every thread
 * that there is calls privilege_drop() for itself, and threads started later inherit what is
 * left. privilege_check_threads() looks that none was forgotten.
 *
 * Capabilities are the numbers of linux/capability.h; masks have bit 1 << number.
 */
#ifndef PRIVILEGE_H
#define PRIVILEGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

#define PRIVILEGE_BIT(cap) (1ULL << (cap))
#define PRIVILEGE_GROUPS_MAX 256

/* Who to become. */
struct privilege_user {
	bool change;			/* false: stay who we are */
	uid_t uid;
	gid_t gid;
	gid_t groups[PRIVILEGE_GROUPS_MAX];
	int group_cnt;
};

/* Whether the capability is in effect for the calling thread. */
bool privilege_has(int cap);

/*
 * Whether this is the initial user namespace. In another one capabilities look the same, but are
 * for what belongs to that namespace, which loading BPF programs never does.
 */
bool privilege_is_global(void);

/* A user's groups, from the system's databases; beyond PRIVILEGE_GROUPS_MAX they are left out. */
void privilege_find_user(struct privilege_user *ret, uid_t uid, gid_t gid);

/* Calls fn with no capability in effect, and has them back afterwards. Returns what fn returned. */
int privilege_without(int (*fn)(void *ctx), void *ctx);

/*
 * For the calling thread, and irrevocably: becomes user (NULL: stays), keeps the capabilities of
 * keep that it has, loses all others from every set it may (the bounding set needs CAP_SETPCAP),
 * and never gains any by an exec (no_new_privs). < 0: the thread is not to go on.
 */
int privilege_drop(uint64_t keep, const struct privilege_user *user);

/* For a child before its exec: what it runs gets no capability through us. */
void privilege_drop_ambient(void);

/*
 * 0 when every thread of this process has at most the capabilities of keep and no_new_privs;
 * -EPERM otherwise, and the text says which thread has what.
 */
int privilege_check_threads(uint64_t keep, struct err *e);

#endif /* PRIVILEGE_H */
