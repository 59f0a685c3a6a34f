/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * atomic_output: uses mkdtemp(), flock() and renameat2(). Only directories whose names match NAME
 * and that belong to the caller are removed.
 *
 * Signals are blocked in all threads. One thread receives them with sigwait(), so it may call any
 * function to remove the directory. After a signal this thread holds signal_lock until the process
 * ends, so a command can neither commit its output nor report that its files have vanished.
 */
#include "base/atomic_output.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/*
 * path_parent: opens the components of a path one by one, without following symbolic links. A link
 * is checked and read through the same descriptor, so it cannot change between check and read.
 */

#define LINKS_MAX 40

struct walk {
	int dir_fd;
	char rest[2 * PATH_MAX];	/* the part of the path still to walk */
	unsigned int link_cnt;
};

static int open_start(struct walk *w)
{
	int fd = open(w->rest[0] == '/' ? "/" : ".", O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	w->dir_fd = fd;
	return 0;
}

static bool is_trusted(const struct stat *link, const struct stat *dir)
{
	return !(dir->st_mode & 022) || !link->st_uid || link->st_uid == geteuid() ||
	       link->st_uid == dir->st_uid;
}

/* Inserts the target of a symbolic link before the rest of the path. fd: the link, just opened. */
static int follow(struct walk *w, int fd, const struct stat *link)
{
	char target[PATH_MAX], rest[PATH_MAX];
	struct stat dir;
	ssize_t n;

	if (fstat(w->dir_fd, &dir) < 0)
		return -errno;
	if (!is_trusted(link, &dir) || ++w->link_cnt > LINKS_MAX)
		return -ELOOP;
	n = readlinkat(fd, "", target, sizeof(target) - 1);
	if (n < 0)
		return -errno;
	target[n] = 0;
	if (snprintf(rest, sizeof(rest), "%s", w->rest) >= (int)sizeof(rest))
		return -ENAMETOOLONG;
	snprintf(w->rest, sizeof(w->rest), "%s/%s", target, rest);
	if (target[0] != '/')
		return 0;
	close(w->dir_fd);
	w->dir_fd = -1;
	return open_start(w);
}

/* Enters the directory `name`. */
static int step(struct walk *w, const char *name)
{
	int fd = openat(w->dir_fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC), r = 0;
	struct stat st;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) < 0)
		r = -errno;
	else if (S_ISLNK(st.st_mode))
		r = follow(w, fd, &st);
	else if (!S_ISDIR(st.st_mode))
		r = -ENOTDIR;
	if (r < 0 || S_ISLNK(st.st_mode)) {
		close(fd);
		return r;
	}
	close(w->dir_fd);
	w->dir_fd = fd;
	return 0;
}

int path_parent_open(struct path_parent *ret, const char *path)
{
	struct walk w = { .dir_fd = -1 };
	char name[NAME_MAX + 1];
	size_t len, skip;
	int r;

	if (snprintf(w.rest, sizeof(w.rest), "%s", path) >= PATH_MAX)
		return -ENAMETOOLONG;
	r = open_start(&w);
	while (r == 0) {
		skip = strspn(w.rest, "/");
		len = strcspn(w.rest + skip, "/");
		if (len > NAME_MAX)
			r = -ENAMETOOLONG;
		else if (!len)
			r = -EINVAL;
		if (r < 0)
			break;
		memcpy(name, w.rest + skip, len);
		name[len] = 0;
		skip += len;
		if (!w.rest[skip + strspn(w.rest + skip, "/")]) {
			ret->dir_fd = w.dir_fd;
			memcpy(ret->name, name, len + 1);
			return 0;
		}
		memmove(w.rest, w.rest + skip, strlen(w.rest + skip) + 1);
		r = step(&w, name);
	}
	if (w.dir_fd >= 0)
		close(w.dir_fd);
	return r;
}

void path_parent_close(struct path_parent *p)
{
	close(p->dir_fd);
}

void path_parent_sync(const struct path_parent *p)
{
	int fd = openat(p->dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return;
	(void)fsync(fd);
	close(fd);
}

bool path_of_program(char *ret)
{
	char path[PATH_MAX];
	ssize_t len = readlink("/proc/self/exe", path, sizeof(path) - 1);

	if (len <= 0)
		return false;
	path[len] = 0;
	*strrchr(path, '/') = 0;
	strcpy(ret, path);
	return true;
}

#define NAME ".ebpfrec-new."
#define BEGIN_TRIES 5
#define DEPTH_MAX 8 /* more than the depth of any directory of this program */
/* Removal is retried, because the command may create files while the signal thread removes them. */
#define REMOVE_TRIES 1000
#define REMOVE_WAIT_NS 1000000

/* Held while a directory is created, committed or removed, and after a signal. */
static pthread_mutex_t signal_lock = PTHREAD_MUTEX_INITIALIZER;
static bool catches_signals;
static const struct atomic_output *in_use; /* with catches_signals: the directory to remove */

/* ---- removing ---- */

static int remove_level(int dir_fd, const char *name, dev_t dev, bool is_top, int depth);

static int remove_entry(int dir_fd, const char *name, dev_t dev, int depth)
{
	struct stat st;
	int r;

	/* Another thread may have removed the file since readdir(). */
	if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		r = -errno;
	else if (S_ISDIR(st.st_mode))
		r = remove_level(dir_fd, name, dev, false, depth);
	else
		r = unlinkat(dir_fd, name, 0) < 0 ? -errno : 0;
	return r == -ENOENT ? 0 : r;
}

static int remove_level(int dir_fd, const char *name, dev_t dev, bool is_top, int depth)
{
	int fd = openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC), r = 0;
	struct dirent *e;
	struct stat st;
	DIR *d;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) < 0)
		r = -errno;
	else if (!depth || (!is_top && st.st_dev != dev))
		r = -EXDEV;
	d = r ? NULL : fdopendir(fd);
	if (!d) {
		r = r ? r : -errno;
		close(fd);
		return r;
	}
	while (r == 0 && (e = readdir(d)))
		if (strcmp(e->d_name, ".") && strcmp(e->d_name, ".."))
			r = remove_entry(fd, e->d_name, st.st_dev, depth - 1);
	closedir(d);
	return r == 0 && unlinkat(dir_fd, name, AT_REMOVEDIR) < 0 ? -errno : r;
}

/*
 * Removes a directory and its contents, without entering symbolic links or other file systems.
 * -ENOTEMPTY: another thread or process creates files in it.
 */
static int remove_tree(const char *path)
{
	return remove_level(AT_FDCWD, path, 0, true, DEPTH_MAX);
}

/* Returns the length of the directory part: "a/" for "a/b" and "a/b/". */
static int dir_length(const char *output)
{
	size_t n = strlen(output);

	while (n > 1 && output[n - 1] == '/')
		n--;
	while (n && output[n - 1] != '/')
		n--;
	return (int)n;
}

/* Removes an unlocked directory: its process was killed. */
static void remove_if_abandoned(const char *path)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;

	if (fd < 0)
		return;
	if (fstat(fd, &st) == 0 && st.st_uid == geteuid() && flock(fd, LOCK_EX | LOCK_NB) == 0)
		(void)remove_tree(path);
	close(fd);
}

/* Removes the abandoned directories beside output. glob() treats the directory part literally. */
static void remove_abandoned(const char *output)
{
	size_t dir_len = (size_t)dir_length(output), i;
	char *pattern = calloc(1, dir_len * 2 + sizeof(NAME) + 8), *to = pattern;
	glob_t found;

	if (!pattern)
		return;
	for (i = 0; i < dir_len; i++) {
		if (strchr("*?[\\", output[i]))
			*to++ = '\\';
		*to++ = output[i];
	}
	strcpy(to, NAME "??????");
	if (glob(pattern, GLOB_NOSORT, NULL, &found) == 0) {
		for (i = 0; i < found.gl_pathc; i++)
			remove_if_abandoned(found.gl_pathv[i]);
		globfree(&found);
	}
	free(pattern);
}

/* ---- signals ---- */

static void remove_in_use(void)
{
	const struct timespec wait = { .tv_nsec = REMOVE_WAIT_NS };
	struct stat ours, there;

	/* Another program may have renamed the directory and given its name to another file. */
	if (!in_use || fstat(in_use->fd, &ours) < 0 || lstat(in_use->dir, &there) < 0 ||
	    ours.st_dev != there.st_dev || ours.st_ino != there.st_ino)
		return;
	for (int i = 0; i < REMOVE_TRIES && remove_tree(in_use->dir) == -ENOTEMPTY; i++)
		nanosleep(&wait, NULL);
}

static void *wait_for_signal(void *ctx)
{
	sigset_t *set = ctx, mine;
	int number;

	if (sigwait(set, &number))
		return NULL;
	pthread_mutex_lock(&signal_lock);
	/* Later errors of the command result from the interruption: suppress their messages. */
	(void)ftrylockfile(stderr);
	remove_in_use();
	signal(number, SIG_DFL);
	sigemptyset(&mine);
	sigaddset(&mine, number);
	pthread_sigmask(SIG_UNBLOCK, &mine, NULL);
	kill(getpid(), number);
	return NULL;
}

void atomic_output_catch_signals(void)
{
	static const int numbers[] = { SIGINT, SIGTERM, SIGHUP };
	static sigset_t set;
	struct sigaction old;
	pthread_t thread;

	if (catches_signals)
		return;
	sigemptyset(&set);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		if (!sigaction(numbers[i], NULL, &old) && old.sa_handler == SIG_DFL)
			sigaddset(&set, numbers[i]);
	if (pthread_sigmask(SIG_BLOCK, &set, NULL))
		return;
	if (pthread_create(&thread, NULL, wait_for_signal, &set)) {
		pthread_sigmask(SIG_UNBLOCK, &set, NULL);
		return;
	}
	pthread_detach(thread);
	/* A reader that closes stdout, or `ulimit -f`, must not end the program either. */
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
	catches_signals = true;
}

/* ---- the directory ---- */

static void drop(struct atomic_output *o)
{
	if (o->dir)
		(void)remove_tree(o->dir);
	if (in_use == o)
		in_use = NULL;
	if (o->dir && o->fd >= 0)
		close(o->fd);
	free(o->dir);
	free(o->path);
	*o = (struct atomic_output){ .fd = -1 };
}

/* Opens and locks the directory. -EAGAIN: another program removed it first, as abandoned. */
static int lock_dir(struct atomic_output *o)
{
	struct stat st;

	o->fd = open(o->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (o->fd < 0 || flock(o->fd, LOCK_EX | LOCK_NB) < 0 || fstat(o->fd, &st) < 0 ||
	    !st.st_nlink)
		return -EAGAIN;
	return 0;
}

static int make_dir(struct atomic_output *o, const char *output)
{
	int r;

	*o = (struct atomic_output){ .fd = -1 };
	if (asprintf(&o->dir, "%.*s" NAME "XXXXXX", dir_length(output), output) < 0) {
		o->dir = NULL;
		return -ENOMEM;
	}
	if (!mkdtemp(o->dir)) {
		r = -errno;
		free(o->dir);
		o->dir = NULL;
		return r;
	}
	r = lock_dir(o);
	if (r < 0)
		drop(o);
	return r;
}

char *atomic_output_item(const struct atomic_output *o, const char *name)
{
	char *path;

	return asprintf(&path, "%s/%s", o->dir, name) < 0 ? NULL : path;
}

/*
 * Returns the path of an item in o->dir with the name of the output (its last component), because
 * messages about o->path show this name. For "." and ".." the name is "new".
 */
static char *item_path(const struct atomic_output *o, const char *output)
{
	const char *name = output + dir_length(output);
	size_t n = strcspn(name, "/");
	char *path;

	if (!n || (n <= 2 && !memcmp(name, "..", n)))
		return atomic_output_item(o, "new");
	return asprintf(&path, "%s/%.*s", o->dir, (int)n, name) < 0 ? NULL : path;
}

/* Returns false for devices, pipes and sockets: other programs use them by name. */
static bool is_replaceable(const struct stat *st)
{
	return S_ISREG(st->st_mode) || S_ISDIR(st->st_mode) || S_ISLNK(st->st_mode);
}

int atomic_output_begin(struct atomic_output *o, const char *output, bool is_new, struct err *e)
{
	int tries = BEGIN_TRIES, r;
	struct stat st;

	*o = (struct atomic_output){ .fd = -1 };
	if (!lstat(output, &st) && (is_new || !is_replaceable(&st))) {
		err_set(e, -EEXIST,
			"'%s' exists already%s, and is left alone; name a new one with -o",
			output, is_new ? "" : " and is no file");
		return -EEXIST;
	}
	remove_abandoned(output);
	pthread_mutex_lock(&signal_lock);
	do
		r = make_dir(o, output);
	while (r == -EAGAIN && --tries);
	if (r == 0) {
		o->path = item_path(o, output);
		r = o->path ? 0 : -ENOMEM;
	}
	if (r == 0 && catches_signals)
		in_use = o;
	if (r < 0)
		drop(o);
	pthread_mutex_unlock(&signal_lock);
	if (r < 0)
		err_set(e, r, "cannot make a directory beside '%s': %s", output, strerror(-r));
	return r;
}

void atomic_output_drop(struct atomic_output *o)
{
	if (!o->dir)
		return;
	pthread_mutex_lock(&signal_lock);
	drop(o);
	pthread_mutex_unlock(&signal_lock);
}

/* ---- commit ---- */

/*
 * Moves an item on a file system without RENAME_NOREPLACE, such as NFS. Files use linkat(), which
 * never replaces a file. Directories use mkdirat() and renameat(), which replaces only an empty
 * directory; a program killed between the two calls leaves an empty directory.
 */
static int move_old_way(const struct atomic_output *o, const char *name,
			const struct path_parent *to)
{
	struct stat st;
	int r;

	if (fstatat(o->fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	if (!S_ISDIR(st.st_mode))
		return linkat(o->fd, name, to->dir_fd, to->name, 0) < 0 ? -errno : 0;
	if (mkdirat(to->dir_fd, to->name, 0700) < 0)
		return -errno;
	if (renameat(o->fd, name, to->dir_fd, to->name) == 0)
		return 0;
	r = -errno;
	(void)unlinkat(to->dir_fd, to->name, AT_REMOVEDIR);
	return r;
}

static int move_item(const struct atomic_output *o, const char *name, const struct path_parent *to,
		     bool replace)
{
	if (renameat2(o->fd, name, to->dir_fd, to->name, replace ? 0 : RENAME_NOREPLACE) == 0)
		return 0;
	return errno != EINVAL || replace ? -errno : move_old_way(o, name, to);
}

static int rename_item(const struct atomic_output *o, const char *name, const char *output,
		       bool replace)
{
	struct path_parent to;
	int r = path_parent_open(&to, output);

	if (r < 0)
		return r;
	r = move_item(o, name, &to, replace);
	/* make the new name durable before reporting success */
	if (r == 0)
		path_parent_sync(&to);
	path_parent_close(&to);
	return r;
}

int atomic_output_commit_item(const struct atomic_output *o, const char *name, const char *output,
			      bool replace, struct err *e)
{
	int r;

	pthread_mutex_lock(&signal_lock);
	r = rename_item(o, name, output, replace);
	pthread_mutex_unlock(&signal_lock);
	if (r == -EEXIST)
		return err_set(e, r, "'%s' exists, and is left alone: it was not there before",
			       output);
	return r < 0 ? err_set(e, r, "cannot make '%s': %s", output, strerror(-r)) : 0;
}

int atomic_output_commit(const struct atomic_output *o, const char *output, bool replace,
			 struct err *e)
{
	return atomic_output_commit_item(o, basename(o->path), output, replace, e);
}

/* Writes the file o->path and syncs it to the disk. */
static int fill_file(const struct atomic_output *o, const char *output,
		     int (*fill)(void *ctx, FILE *f, struct err *e), void *ctx, struct err *e)
{
	int r, fd = open(o->path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	FILE *f = fd < 0 ? NULL : fdopen(fd, "w");

	if (!f) {
		r = err_set(e, -errno, "cannot make '%s': %s", output, strerror(errno));
		if (fd >= 0)
			close(fd);
		return r;
	}
	r = fill(ctx, f, e);
	if (!r && (fflush(f) || fsync(fd)))
		r = err_set(e, -errno, "cannot write '%s': %s", output, strerror(errno));
	(void)fclose(f);	/* already synced, or discarded after an error */
	return r;
}

int atomic_output_file(const char *output, bool replace,
		       int (*fill)(void *ctx, FILE *f, struct err *e), void *ctx, struct err *e)
{
	struct atomic_output o = { 0 };
	int r = atomic_output_begin(&o, output, !replace, e);

	r = r ?: fill_file(&o, output, fill, ctx, e);
	r = r ?: atomic_output_commit(&o, output, replace, e);
	atomic_output_drop(&o);
	return r;
}
