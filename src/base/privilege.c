/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * privilege: uses system calls directly. The C library's setresuid() changes all threads at once,
 * and aborts the process if this fails for a thread; here each thread changes only itself.
 */
#include "base/privilege.h"

#include <dirent.h>
#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/*
 * account: a dynamic program calls the C library; a static program reads /etc/passwd and
 * /etc/group.
 */

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
	/* a number above all uids is not a user, and must not be truncated to 32 bits */
	return !*end && !errno && uid < (uid_t)-1 ? find(ret, NULL, (uid_t)uid) : -ENOENT;
}

int account_find_uid(struct account *ret, uid_t uid)
{
	return find(ret, NULL, uid);
}

#define CAPS_MAX 64

struct caps {
	uint64_t effective, permitted, inheritable;
};

static int caps_get(struct caps *c)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2];

	*c = (struct caps){ 0 };
	if (syscall(SYS_capget, &head, data))
		return -errno;
	c->effective = data[0].effective | (uint64_t)data[1].effective << 32;
	c->permitted = data[0].permitted | (uint64_t)data[1].permitted << 32;
	c->inheritable = data[0].inheritable | (uint64_t)data[1].inheritable << 32;
	return 0;
}

static int caps_set(const struct caps *c)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = {
		{ c->effective, c->permitted, c->inheritable },
		{ c->effective >> 32, c->permitted >> 32, c->inheritable >> 32 },
	};

	return syscall(SYS_capset, &head, data) ? -errno : 0;
}

bool privilege_has(int cap)
{
	struct caps c;

	return !caps_get(&c) && c.effective & PRIVILEGE_BIT(cap);
}

bool privilege_is_global(void)
{
	unsigned long long inside = 0, outside = 1, cnt = 0;
	FILE *f = fopen("/proc/self/uid_map", "re");

	/* without /proc assume the initial namespace: if this is wrong, the kernel refuses later */
	if (!f)
		return true;
	if (fscanf(f, "%llu %llu %llu", &inside, &outside, &cnt) != 3)
		cnt = 0;
	fclose(f);
	return !inside && !outside && cnt == UINT32_MAX;
}

void privilege_find_user(struct privilege_user *ret, uid_t uid, gid_t gid)
{
	struct account a;

	memset(ret, 0, sizeof(*ret));
	ret->change = true;
	ret->uid = uid;
	ret->gid = gid;
	ret->groups[0] = gid;
	ret->group_cnt = 1;
	if (!account_find_uid(&a, uid))
		ret->group_cnt = account_groups(a.name, gid, ret->groups, PRIVILEGE_GROUPS_MAX);
}

int privilege_without(int (*fn)(void *ctx), void *ctx)
{
	struct caps had, none;
	int err = caps_get(&had), result;

	if (err)
		return err;
	none = had;
	none.effective = 0;
	err = caps_set(&none);
	if (err)
		return err;
	result = fn(ctx);
	err = caps_set(&had);
	return err ? err : result;
}

static int become(const struct privilege_user *user)
{
	/*
	 * Without keepcaps, the change from uid 0 drops all permitted capabilities.
	 * privilege_drop() drops the unwanted capabilities later.
	 */
	if (prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) ||
	    syscall(SYS_setgroups, (size_t)user->group_cnt, user->groups) ||
	    syscall(SYS_setresgid, user->gid, user->gid, user->gid) ||
	    syscall(SYS_setresuid, user->uid, user->uid, user->uid))
		return -errno;
	return prctl(PR_SET_KEEPCAPS, 0, 0, 0, 0) ? -errno : 0;
}

int privilege_drop(uint64_t keep, const struct privilege_user *user)
{
	struct caps c;
	int err, cap;

	/*
	 * Without CAP_SETPCAP this fails, which is harmless: no_new_privs prevents an exec from
	 * adding capabilities.
	 */
	for (cap = 0; cap < CAPS_MAX; cap++)
		prctl(PR_CAPBSET_DROP, cap, 0, 0, 0);
	privilege_drop_ambient();
	err = user && user->change ? become(user) : 0;
	if (err)
		return err;
	err = caps_get(&c);
	if (err)
		return err;
	c.permitted &= keep;
	c.effective = c.permitted;
	c.inheritable = 0;
	err = caps_set(&c);
	if (!err && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		err = -errno;
	return err;
}

void privilege_drop_ambient(void)
{
	struct caps c;

	prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	if (!caps_get(&c) && c.inheritable) {
		c.inheritable = 0;
		caps_set(&c);
	}
}

static int check_thread(const char *tid, uint64_t keep, struct err *e)
{
	unsigned long long caps = ~0ULL;
	unsigned int no_new_privs = 0;
	char path[64], line[256];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/task/%.20s/status", tid);
	f = fopen(path, "re");
	if (!f)
		return errno == ENOENT ? 0 : -errno;	/* the thread has ended */
	while (fgets(line, sizeof(line), f)) {
		sscanf(line, "CapPrm: %llx", &caps);
		sscanf(line, "NoNewPrivs: %u", &no_new_privs);
	}
	fclose(f);
#ifdef SANITIZED_thread
	/* The sanitizer has its own thread, which cannot drop its privileges. */
	return 0;
#endif
	if (caps & ~keep || !no_new_privs)
		return err_set(e, -EPERM, "thread %s still has capabilities %llx", tid, caps);
	return 0;
}

bool privilege_is_locked_down(void)
{
	FILE *f = fopen("/sys/kernel/security/lockdown", "re");
	char line[64] = "";

	if (!f)
		return false;
	if (!fgets(line, sizeof(line), f))
		line[0] = '\0';
	fclose(f);
	return strstr(line, "[confidentiality]");
}

int privilege_check_threads(uint64_t keep, struct err *e)
{
	DIR *d = opendir("/proc/self/task");
	struct dirent *entry;
	int err = 0;

	if (!d && errno == ENOENT)
		return 0;	/* no /proc: rely on the results of privilege_drop() */
	if (!d)
		return err_set(e, -errno, "cannot list the recorder's threads: %s",
			       strerror(errno));
	while (!err && (entry = readdir(d))) {
		if (entry->d_name[0] != '.')
			err = check_thread(entry->d_name, keep, e);
	}
	closedir(d);
	return err;
}

/*
 * helper: forks without exec. Other descriptors are closed by close_range() (Linux 5.9) or, without
 * it, one by one.
 */

static void close_others(int keep)
{
	int fd, max = (int)sysconf(_SC_OPEN_MAX);

#ifdef SYS_close_range
	if ((!keep || !syscall(SYS_close_range, 0, keep - 1, 0)) &&
	    !syscall(SYS_close_range, keep + 1, ~0U, 0))
		return;
#endif
	for (fd = 0; fd < max; fd++) {
		if (fd != keep)
			close(fd);
	}
}

static void become_helper(const char *name, uint64_t caps, int fd)
{
	static const int ignored[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2 };

	/*
	 * Ctrl-C is meant for the recorder. When the recorder ends, its socket closes, which ends
	 * serve().
	 */
	for (unsigned int i = 0; i < sizeof(ignored) / sizeof(ignored[0]); i++)
		signal(ignored[i], SIG_IGN);
	prctl(PR_SET_NAME, name, 0, 0, 0);
	close_others(fd);
	if (privilege_drop(caps, NULL))
		_exit(1);
}

int helper_start(struct helper *ret, const char *name, uint64_t caps, int socket_type,
		 void (*serve)(int fd))
{
	int fds[2], err;
	pid_t pid;

	if (socketpair(AF_UNIX, socket_type | SOCK_CLOEXEC, 0, fds))
		return -errno;
	pid = fork();
	if (pid < 0) {
		err = -errno;
		close(fds[0]);
		close(fds[1]);
		return err;
	}
	if (!pid) {
		become_helper(name, caps, fds[1]);
		serve(fds[1]);
		_exit(0);
	}
	close(fds[1]);
	*ret = (struct helper){ .pid = pid, .fd = fds[0] };
	return 0;
}

void helper_end(const struct helper *h)
{
	if (!h->pid)
		return;
	close(h->fd);
	while (waitpid(h->pid, NULL, 0) < 0 && errno == EINTR)
		;
}
