/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* account: a dynamic program calls the C library; a static one (EBPFREC_STATIC) reads the files. */
#include "base/account.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void keep(struct account *ret, const struct passwd *pw)
{
	memset(ret, 0, sizeof(*ret));
	ret->uid = pw->pw_uid;
	ret->gid = pw->pw_gid;
	snprintf(ret->name, sizeof(ret->name), "%s", pw->pw_name);
	snprintf(ret->home, sizeof(ret->home), "%s", pw->pw_dir);
	snprintf(ret->shell, sizeof(ret->shell), "%s", pw->pw_shell);
}

#ifdef EBPFREC_STATIC

static int find(struct account *ret, const char *name, uid_t uid)
{
	FILE *f = fopen("/etc/passwd", "re");
	struct passwd *pw;
	int err = -ENOENT;

	while (f && err && (pw = fgetpwent(f))) {
		if (name ? strcmp(pw->pw_name, name) : pw->pw_uid != uid)
			continue;
		keep(ret, pw);
		err = 0;
	}
	if (f)
		fclose(f);
	return err;
}

int account_groups(const char *name, gid_t gid, gid_t *groups, int max)
{
	FILE *f = fopen("/etc/group", "re");
	struct group *gr;
	int cnt = 1, i;

	groups[0] = gid;
	while (f && cnt < max && (gr = fgetgrent(f))) {
		for (i = 0; gr->gr_mem[i] && strcmp(gr->gr_mem[i], name); i++)
			;
		if (gr->gr_mem[i] && gr->gr_gid != gid)
			groups[cnt++] = gr->gr_gid;
	}
	if (f)
		fclose(f);
	return cnt;
}

#else

static int find(struct account *ret, const char *name, uid_t uid)
{
	struct passwd *pw = name ? getpwnam(name) : getpwuid(uid);

	if (!pw)
		return -ENOENT;
	keep(ret, pw);
	return 0;
}

int account_groups(const char *name, gid_t gid, gid_t *groups, int max)
{
	int cnt = max;

	return getgrouplist(name, gid, groups, &cnt) < 0 ? max : cnt;
}

#endif

int account_find(struct account *ret, const char *name_or_uid)
{
	unsigned long long uid;
	char *end;

	if (!find(ret, name_or_uid, 0))
		return 0;
	if (*name_or_uid < '0' || *name_or_uid > '9')
		return -ENOENT;
	errno = 0;
	uid = strtoull(name_or_uid, &end, 10);
	/* a number above all uids names no user, and must not be truncated to 32 bits */
	return !*end && !errno && uid < (uid_t)-1 ? find(ret, NULL, (uid_t)uid) : -ENOENT;
}

int account_find_uid(struct account *ret, uid_t uid)
{
	return find(ret, NULL, uid);
}
