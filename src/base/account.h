/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * account: users and their groups, from all databases that nsswitch.conf names. A static program
 * reads only /etc/passwd and /etc/group, because the C library would load modules that fit only the
 * library it was built with. Threads: one.
 */
#pragma once

#include <sys/types.h>

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
