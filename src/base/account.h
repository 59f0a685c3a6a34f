/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * account: users and their groups. From all the system's databases (nsswitch), except in a static
 * program: that reads /etc/passwd and /etc/group, because the C library would load modules that
 * fit only the library it was built with. Threads: one.
 */
#ifndef ACCOUNT_H
#define ACCOUNT_H

#include <sys/types.h>

struct account {
	uid_t uid;
	gid_t gid;
	char name[64], home[256], shell[256];
};

/* By name, or by number when there is no such name. -ENOENT: neither. */
int account_find(struct account *ret, const char *name_or_uid);
int account_find_uid(struct account *ret, uid_t uid);

/* The groups of a user, gid first; those beyond max are left out. Returns how many. max is 1 or more. */
int account_groups(const char *name, gid_t gid, gid_t *groups, int max);

#endif /* ACCOUNT_H */
