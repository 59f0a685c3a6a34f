/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * launch: connects recorder and child by a socket. The child reports whether the command can be
 * run, and then waits for a byte that releases it; end of file means that the command is not to be
 * run. A successful exec closes the socket; after a failed exec, the child sends the errno.
 */
#include "record/launch.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <linux/capability.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/privilege.h"
#include "bpf/wire.h"
#include "probe/probe.h"
#include "record/encode/block_writer.h"
#include "record/session.h"
#include "record/tasks/id_names.h"
#include "store/store_writer.h"

struct launch {
	pid_t pid;
	int pid_fd;
	int fd;			/* the recorder's end of the socket; -1 after the release */
	bool ended;
	int exit_code;
	int refusal;		/* errno of the tried exec; 0: none */
};

struct run_as {
	bool change;
	struct account account;
	gid_t groups[PRIVILEGE_GROUPS_MAX];
	int group_cnt;
};

static int find_user(const char *user, struct run_as *id, struct err *e)
{
	struct account *a = &id->account;

	memset(id, 0, sizeof(*id));
	if (!user)
		return 0;
	if (account_find(a, user))
		return err_set(e, -ENOENT, "no such user: %s", user);
	/* if the process already is this user and cannot change groups, nothing is changed */
	id->change = geteuid() != a->uid || privilege_has(CAP_SETGID);
	if (id->change && (!privilege_has(CAP_SETUID) || !privilege_has(CAP_SETGID)))
		return err_set(e, -EPERM,
			       "-u %s: to become another user takes CAP_SETUID and CAP_SETGID; "
			       "run with sudo",
			       user);
	id->group_cnt = account_groups(a->name, a->gid, id->groups, PRIVILEGE_GROUPS_MAX);
	return 0;
}

/*
 * Changes to the user. Returns 0 or errno. Changes the groups first, because this may no longer be
 * possible after the change of the user.
 */
static int become(const struct run_as *id)
{
	const struct account *a = &id->account;

	if (!id->change)
		return 0;
	if (setgroups((size_t)id->group_cnt, id->groups) || setresgid(a->gid, a->gid, a->gid) ||
	    setresuid(a->uid, a->uid, a->uid))
		return errno;
	setenv("HOME", a->home, 1);
	setenv("USER", a->name, 1);
	setenv("LOGNAME", a->name, 1);
	if (a->shell[0])
		setenv("SHELL", a->shell, 1);
	return 0;
}

/*
 * Resets signals that the recorder handles to the default action, except signals that the caller
 * ignores: a script's background job ignores SIGINT, nohup ignores SIGHUP, and children of Python
 * often ignore SIGPIPE.
 */
static void restore_signals(const sigset_t *ignored)
{
	static const int handled[] = { SIGHUP, SIGINT, SIGPIPE, SIGTERM, SIGUSR2, SIGXFSZ };

	for (unsigned int i = 0; i < sizeof(handled) / sizeof(handled[0]); i++)
		signal(handled[i], sigismember(ignored, handled[i]) == 1 ? SIG_IGN : SIG_DFL);
}

/* Returns 0, or the errno of an exec that fails because path is missing or not executable. */
static int check_file(const char *path)
{
	struct stat st;

	if (stat(path, &st))
		return errno;
	return S_ISREG(st.st_mode) && !faccessat(AT_FDCWD, path, X_OK, AT_EACCESS) ? 0 : EACCES;
}

int launch_find(const char *name, char path[PATH_MAX])
{
	const char *dir = getenv("PATH") ?: "/bin:/usr/bin", *end;
	int err = ENOENT, one;

	snprintf(path, PATH_MAX, "%s", name);
	if (strchr(name, '/') || !*name)
		return check_file(path);
	for (;; dir = end + 1) {
		end = strchrnul(dir, ':');
		snprintf(path, PATH_MAX, "%.*s%s%s", (int)(end - dir), dir, end > dir ? "/" : "",
			 name);
		one = check_file(path);
		if (!one)
			return 0;
		if (one == EACCES)
			err = EACCES;
		if (!*end)
			return err;
	}
}

/*
 * Returns the errno with which the exec would fail; 0: success, or unknown. Tries the exec in a
 * traced process: the kernel stops the process after the exec, before its first instruction, and
 * this function kills it. If tracing is not allowed (Yama, seccomp, another tracer), checks the
 * file instead.
 */
static int try_exec(char *const *argv, const struct run_as *id)
{
	pid_t pid = fork();
	char path[PATH_MAX];
	int status = 0;

	if (!pid) {
		if (become(id))
			_exit(0);
		if (ptrace(PTRACE_TRACEME, 0, NULL, NULL))
			_exit(launch_find(argv[0], path));
		privilege_drop_ambient();
		execvp(argv[0], argv);
		_exit(errno == EPERM ? 0 : errno);	/* EPERM may be caused by tracing */
	}
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (WIFSTOPPED(status)) {
		ptrace(PTRACE_KILL, pid, NULL, NULL);
		waitpid(pid, NULL, 0);
		return 0;
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : 0;
}

static __attribute__((noreturn)) void child_main(int fd, char *const *argv,
						 const struct run_as *id, const sigset_t *ignored,
						 char *const *env)
{
	char go;
	int err;

	restore_signals(ignored);
	err = try_exec(argv, id);
	if (send(fd, &err, sizeof(err), MSG_NOSIGNAL) < 0 || err)
		_exit(127);
	if (read(fd, &go, 1) != 1)
		_exit(0);
	err = become(id);
	privilege_drop_ambient();
	for (; env && *env; env++)
		putenv(*env);
	if (!err) {
		execvp(argv[0], argv);
		err = errno;
	}
	(void)!send(fd, &err, sizeof(err), MSG_NOSIGNAL);
	_exit(127);
}

/* Reads the errno of the child's exec. 0: the command runs, or the child was killed. */
static int read_errno(const struct launch *l)
{
	int child_errno = 0;
	ssize_t n;

	do {
		n = read(l->fd, &child_errno, sizeof(child_errno));
	} while (n < 0 && errno == EINTR);
	return n == sizeof(child_errno) ? child_errno : 0;
}

int launch_new(struct launch **ret, char *const *argv, const char *user, const sigset_t *ignored,
	       char *const *env, struct err *e)
{
	struct run_as id;
	struct launch *l;
	int fds[2], err;

	err = find_user(user, &id, e);
	if (err)
		return err;
	l = calloc(1, sizeof(*l));
	if (!l)
		return err_set(e, -ENOMEM, "out of memory");
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds)) {
		err = err_set(e, -errno, "cannot make a socket: %s", strerror(errno));
		free(l);
		return err;
	}
	l->pid = fork();
	if (l->pid < 0) {
		err = err_set(e, -errno, "cannot start a process: %s", strerror(errno));
		close(fds[0]);
		close(fds[1]);
		free(l);
		return err;
	}
	if (!l->pid) {
		close(fds[0]);
		child_main(fds[1], argv, &id, ignored, env);
	}
	close(fds[1]);
	l->fd = fds[0];
	l->pid_fd = syscall(SYS_pidfd_open, l->pid, 0);
	l->refusal = read_errno(l);
	*ret = l;
	return 0;
}

pid_t launch_pid(const struct launch *l)
{
	return l->pid;
}

int launch_fd(const struct launch *l)
{
	return l->pid_fd;
}

int launch_refusal(const struct launch *l)
{
	return l->refusal;
}

int launch_release(struct launch *l)
{
	int child_errno = l->refusal;

	/* if the waiting child was killed, launch_wait() reports that */
	if (!child_errno) {
		(void)!send(l->fd, "g", 1, MSG_NOSIGNAL);
		child_errno = read_errno(l);
	}
	close(l->fd);
	l->fd = -1;
	if (child_errno)
		launch_wait(l, 1, &l->exit_code);
	return child_errno;
}

int launch_wait(struct launch *l, int block, int *ret_exit)
{
	int status;
	pid_t pid;

	if (!l->ended) {
		do {
			pid = waitpid(l->pid, &status, block ? 0 : WNOHANG);
		} while (pid < 0 && errno == EINTR && block);
		if (pid != l->pid)
			return 0;
		l->ended = true;
		l->exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	}
	*ret_exit = l->exit_code;
	return 1;
}

void launch_free(struct launch *l)
{
	int code;

	if (!l)
		return;
	if (l->fd >= 0) {
		close(l->fd);	/* a child that is not released exits */
		launch_wait(l, 1, &code);
	}
	if (l->pid_fd >= 0)
		close(l->pid_fd);
	free(l);
}

/*
 * target: marks the processes of the workload. -p marks single processes; --cgroup marks the
 * processes of a group and of its descendants. BPF programs mark processes that join later.
 */

/* Makes the full path of a cgroup. If path is not below the mount, it is appended to the mount. */
static int cgroup_dir(const char *path, char full[PATH_MAX], struct err *e)
{
	char mount[PATH_MAX];
	int err = cgroup_find_mount(NULL, mount);

	if (err)
		return err_set(e, err, "--cgroup %s: no cgroup v2 file system is mounted", path);
	if (!strncmp(path, mount, strlen(mount)))
		snprintf(full, PATH_MAX, "%s", path);
	else if (snprintf(full, PATH_MAX, "%s/%s", mount, path + strspn(path, "/")) >= PATH_MAX)
		return err_set(e, -ENAMETOOLONG, "--cgroup %s: the path is too long", path);
	return 0;
}

int target_cgroup_id(const char *path, uint64_t *ret_id, struct err *e)
{
	char full[PATH_MAX];
	int err = cgroup_dir(path, full, e);

	if (err)
		return err;
	err = cgroup_id_of(full, ret_id);
	if (err)
		return err_set(e, err, "--cgroup %s: %s; give a path below the cgroup v2 mount",
			       path, strerror(-err));
	return 0;
}

static int seed(struct probe *probe, struct block_writer *writer, uint32_t pid)
{
	int err = probe_add_target(probe, pid);

	return err ? err : block_writer_add_workload(writer, pid);
}

struct seeding {
	struct probe *probe;
	struct block_writer *writer;
	int dir_fd;
};

/* Marks the processes of one cgroup; path begins with a slash. */
static int seed_from_cgroup(void *ctx, uint64_t id, const char *path)
{
	const struct seeding *s = ctx;
	char file[PATH_MAX + 16];
	unsigned int pid;
	int fd, err = 0;
	FILE *f;

	snprintf(file, sizeof(file), ".%s/cgroup.procs", path);
	fd = openat(s->dir_fd, file, O_RDONLY | O_CLOEXEC);
	f = fd < 0 ? NULL : fdopen(fd, "r");
	while (f && !err && fscanf(f, "%u", &pid) == 1)
		err = seed(s->probe, s->writer, pid);
	if (f)
		fclose(f);
	return err;
}

int target_seed(struct probe *probe, struct block_writer *writer, pid_t command_pid,
		const struct session_options *o, struct err *e)
{
	struct seeding s = { .probe = probe, .writer = writer };
	char dir[PATH_MAX];
	int err = 0;

	if (command_pid)
		err = seed(probe, writer, command_pid);
	for (unsigned int i = 0; !err && i < o->pid_cnt; i++)
		err = seed(probe, writer, o->pids[i]);
	if (!err && o->cgroup) {
		err = cgroup_dir(o->cgroup, dir, e);
		s.dir_fd = err ? -1 : open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (s.dir_fd >= 0) {
			err = cgroup_walk(s.dir_fd, seed_from_cgroup, &s);
			close(s.dir_fd);
		}
	}
	return err ? err_set(e, err, "cannot mark the workload: %s", strerror(-err)) : 0;
}

static bool is_target(const struct session_options *o, const struct wire_snap *s)
{
	if (o->all_cmdlines || s->task.hdr.flags & WIRE_F_TARGET)
		return true;
	for (unsigned int i = 0; i < o->pid_cnt; i++) {
		if (o->pids[i] == s->task.pid)
			return true;
	}
	return false;
}

int target_read_cmdlines(struct block_writer *writer, const struct session_options *o,
			 const struct buf *snapshot)
{
	const struct wire_snap *rows = (const struct wire_snap *)snapshot->data;
	size_t cnt = snapshot->len / sizeof(*rows), i;
	char path[64], args[4096];
	ssize_t n;
	int fd, err = 0;

	for (i = 0; i < cnt && !err; i++) {
		if (rows[i].task.tid != rows[i].task.pid || !is_target(o, &rows[i]))
			continue;
		snprintf(path, sizeof(path), "/proc/%u/cmdline", rows[i].task.pid);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		if (fd < 0)
			continue;	/* the process has ended */
		n = read(fd, args, sizeof(args));
		close(fd);
		if (n > 0)
			err = block_writer_set_cmdline(writer, rows[i].task.pid, args, n);
	}
	return err;
}

int target_set_note(struct store_writer *w, const char *note, struct err *e)
{
	const char *eq = strchr(note, '=');
	char key[80];

	if (!eq || eq == note || eq - note > 64)
		return err_set(e, -EINVAL,
			       "--note %s: give KEY=VALUE, with a key of at most 64 characters",
			       note);
	snprintf(key, sizeof(key), "note.%.*s", (int)(eq - note), note);
	for (size_t i = 5; key[i]; i++) {
		key[i] = tolower((unsigned char)key[i]);
		if (!isalnum((unsigned char)key[i]) && !strchr("._-", key[i]))
			return err_set(e, -EINVAL,
				       "--note %s: a key has letters, digits, '.', '_' and '-'",
				       note);
	}
	return store_writer_set(w, key, eq + 1);
}
